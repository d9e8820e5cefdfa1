"""The health of the generator: a suite that seldom draws the hard cases cannot tell engines apart."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, seed, settings

from suites.strategies.features import features
from suites.strategies.masks import MaskCase, mask_cases

DRAWS = 2000

LEAST = {
    "blob at index 0": 0.15,
    "blob at the last token": 0.15,
    "two blobs touch": 0.15,
    "prefix": 0.30,
    "blob cut by the prefix": 0.20,
    "several requests": 0.20,
    "empty request": 0.05,
    "non-contiguous input": 0.20,
    "request longer than 16": 0.20,
    "request longer than 64": 0.10,
    "request longer than 128": 0.03,
}
"""Share of all draws that show a feature, at least."""

LONGER_THAN_WINDOW = 0.25
"""The same for a blob longer than the window, among draws with a window and vision: there alone the orders differ."""


def test_hard_cases_are_drawn_often() -> None:
    seen: Counter[str] = Counter()

    @seed(20261130)
    @settings(max_examples=DRAWS, database=None, suppress_health_check=list(HealthCheck))
    @given(mask_cases())
    def draw(case: MaskCase) -> None:
        found = features(case)
        seen.update(found)
        if {"vision", "windowed"} <= found:
            seen["windowed vision"] += 1
            seen["of those longer"] += "longer than window" in found
        seen["draws"] += 1

    draw()
    rare = {feature: seen[feature] / seen["draws"] for feature in LEAST if seen[feature] < LEAST[feature] * seen["draws"]}
    assert seen["draws"] >= DRAWS
    assert not rare, f"too rare: {rare}, expected at least {LEAST}"
    assert seen["of those longer"] >= LONGER_THAN_WINDOW * seen["windowed vision"] > 0
