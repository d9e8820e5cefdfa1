"""The labels of cases, on cases written by hand."""

from __future__ import annotations

import pytest

from suites.strategies.features import features
from suites.strategies.masks import MaskCase, Placement, request

PLAIN = {"token types in int64"}


@pytest.mark.parametrize(
    ("case", "labels"),
    [
        (MaskCase((request("00"),)), set()),
        (MaskCase((request("03"),), 3), {"windowed"}),
        (MaskCase((request("0110"),), 3), {"windowed", "vision", "shorter than window"}),
        (MaskCase((request("0110"),), 2), {"windowed", "vision", "as long as window"}),
        (MaskCase((request("0110"),), 1), {"windowed", "vision", "longer than window"}),
        (MaskCase((request("01|10"),)), {"vision", "prefix", "blob cut by the prefix"}),
        (MaskCase((request("011|0"),)), {"vision", "prefix"}),
        (MaskCase((request("1100"),)), {"vision", "blob at index 0"}),
        (MaskCase((request("0022"),)), {"vision", "blob at the last token"}),
        (MaskCase((request("0120"),)), {"vision", "two blobs touch"}),
        (MaskCase((request("0310"),)), {"vision", "audio beside vision"}),
        (MaskCase((request("0|"), request("0"))), {"prefix", "empty request", "several requests"}),
        (MaskCase((request("0" * 15 + "110"),)), {"vision", "request longer than 16", "blob across 16"}),
        (MaskCase((request("0" * 14 + "110"),)), {"vision", "request longer than 16"}),
        (
            MaskCase((request("0" * 127 + "110"),)),
            {"vision", *(f"{what} {edge}" for edge in (16, 64, 128) for what in ("request longer than", "blob across"))},
        ),
        (MaskCase((request("00"),), tokens=Placement(stride=2)), {"non-contiguous input", "spaced tokens"}),
        (MaskCase((request("00"),), tokens=Placement(stride=0)), {"non-contiguous input", "one value for all tokens"}),
    ],
)
def test_a_case_has_the_labels_of_what_it_exercises_and_no_other(case: MaskCase, labels: set[str]) -> None:
    assert features(case) == labels | PLAIN
