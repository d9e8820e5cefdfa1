"""The suite has teeth: it fails on every mutant, and its table of edits still applies."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from reference.contracts import MaskImplementation
from reference.profiles import PROFILES
from suites.mask.checks import check_dense
from suites.mutants.kernels import EDITS, StaleEditError, load
from suites.strategies.masks import mask_cases

MOST_EXAMPLES = 400


def _property_fails(implementation: MaskImplementation, profile: str, device: str) -> int:
    """Runs the main property; returns after how many examples it failed.

    Raises:
        AssertionError: The mutant survived.
    """
    examples = 0

    @seed(1)
    @settings(max_examples=MOST_EXAMPLES, deadline=None, database=None, phases=[Phase.generate])
    @given(data=st.data())
    def every_cell_is_the_oracles(data: st.DataObject) -> None:
        nonlocal examples
        examples += 1
        check_dense(implementation, data.draw(mask_cases(PROFILES[profile])), profile, device)

    try:
        every_cell_is_the_oracles()
    except AssertionError:
        return examples
    raise AssertionError(f"{implementation.name} survived {examples} examples of {profile}")


@pytest.mark.parametrize("name", EDITS)
def test_the_mutant_is_killed(name: str, device: str, tmp_path: Path) -> None:
    edit = EDITS[name]
    assert _property_fails(load(name, tmp_path), edit.profile, device) <= MOST_EXAMPLES


def test_an_edit_that_no_longer_applies_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = EDITS["window-edge"].__class__("bounds.py", "no such text", "", "gemma3-full", "MASK-WINDOW-1", "")
    monkeypatch.setitem(EDITS, "window-edge", stale)
    with pytest.raises(StaleEditError, match="window-edge: 'no such text' stands 0 times"):
        load("window-edge", tmp_path)
