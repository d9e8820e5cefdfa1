"""The main property: whatever the layout, every cell is the oracle's. And the cases that engines got wrong."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.statuses import not_claimed
from reference.contracts import MaskImplementation
from reference.profiles import PROFILES
from suites.mask.checks import check_dense
from suites.mask.golden import GOLDEN
from suites.mask.poison import PATTERNS
from suites.strategies.features import note
from suites.strategies.masks import MaskCase, large_cases, mask_cases, request


@pytest.mark.requirement(
    "MASK-BASE-1",
    "MASK-WINDOW-1",
    "MASK-WINDOW-2",
    "MASK-WINDOW-3",
    "MASK-BLOB-1",
    "MASK-BLOB-2",
    "MASK-BLOB-3",
    "MASK-BLOB-4",
    "MASK-BLOB-5",
    "MASK-BLOB-6",
    "MASK-ORDER-1",
    "MASK-ORDER-2",
    "MASK-ORDER-3",
    "MASK-SCOPE-1",
    "MASK-SCOPE-2",
    "MASK-SCOPE-3",
    "MASK-SCOPE-4",
    "MASK-PREFIX-1",
    "MASK-PREFIX-2",
    "MASK-CUT-1",
    "MASK-CUT-2",
    "MASK-PACK-1",
    "MASK-PACK-2",
    "MASK-INPUT-1",
    "MASK-INPUT-2",
    "MASK-INPUT-3",
    "MASK-OUTPUT-1",
    "MASK-OUTPUT-2",
    "MASK-OUTPUT-3",
)
@pytest.mark.parametrize("profile", PROFILES)
@given(data=st.data())
def test_every_cell_is_the_oracles(mask_impl: MaskImplementation, device: str, profile: str, data: st.DataObject) -> None:
    case = data.draw(mask_cases(PROFILES[profile])).within(mask_impl.claims)
    note(case)
    check_dense(mask_impl, case, profile, device, data.draw(st.sampled_from(PATTERNS)))


@pytest.mark.requirement(
    "MASK-WINDOW-1",
    "MASK-BLOB-2",
    "MASK-BLOB-3",
    "MASK-BLOB-6",
    "MASK-ORDER-1",
    "MASK-ORDER-2",
    "MASK-SCOPE-1",
    "MASK-SCOPE-2",
    "MASK-SCOPE-3",
    "MASK-SCOPE-4",
    "MASK-MODALITY-1",
    "MASK-PREFIX-1",
    "MASK-PREFIX-2",
    "MASK-CUT-1",
    "MASK-CUT-2",
    "MASK-PACK-1",
    "MASK-PACK-4",
    "MASK-INPUT-1",
)
@pytest.mark.parametrize("golden", GOLDEN)
def test_rows_written_by_hand(mask_impl: MaskImplementation, device: str, golden: str) -> None:
    expected = GOLDEN[golden]
    claims = mask_impl.claims
    if claims.profiles is not None and expected.profile not in claims.profiles:
        not_claimed(f"profile {expected.profile}")
    if expected.case.within(claims) != expected.case:
        not_claimed("this batch: it has a cached prefix or several requests")
    got = check_dense(mask_impl, expected.case, expected.profile, device)
    assert got.tolist() == expected.bytes()


@pytest.mark.requirement("MASK-WINDOW-1", "MASK-BLOB-1", "MASK-ORDER-1", "MASK-PACK-1")
@settings(max_examples=60)
@given(data=st.data())
def test_realistic_sizes(mask_impl: MaskImplementation, device: str, data: st.DataObject) -> None:
    """Faults that begin beyond a tile, a buffer or a table of fixed size."""
    profile = data.draw(st.sampled_from(mask_impl.claims.profile_names), label="profile")
    case = data.draw(large_cases(PROFILES[profile]), label="case").within(mask_impl.claims)
    check_dense(mask_impl, case, profile, device)


@pytest.mark.requirement("MASK-WINDOW-2", "MASK-PACK-1")
@pytest.mark.parametrize("profile", ["gemma4-full"])
def test_a_long_causal_request_ends_in_a_full_row(mask_impl: MaskImplementation, device: str, profile: str) -> None:
    """1025 tokens: one more than eight blocks of 128 (report M58)."""
    got = check_dense(mask_impl, MaskCase((request("0" * 1025),)), profile, device).view(1025, 1025)
    assert torch.equal(got.sum(1), torch.arange(1, 1026))
