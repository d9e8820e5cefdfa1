"""The suite has teeth: it fails on every mutant, and the tables of edits still apply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from reference.cache_contracts import as_cache_implementation, as_store_implementation
from reference.contracts import as_mask_implementation
from reference.profiles import PROFILES
from suites.cache.test_store import CountingStoreMachine, StoreMachine, test_an_entry_holds_no_graph
from suites.cache.test_store import test_an_entry_is_a_copy_no_larger_than_its_value as test_copies
from suites.cache.test_system import SystemMachine
from suites.mask.checks import check_dense
from suites.mutants.caches import STORE_EDITS, SYSTEM_EDITS
from suites.mutants.edits import Edit, StaleEditError, load
from suites.mutants.kernels import KERNEL_EDITS
from suites.strategies.masks import MaskCase, mask_cases, request

for imported in (test_copies, test_an_entry_holds_no_graph):
    imported.__test__ = False  # called here with mutants, not collected again

# The draws are fixed for what is imported: Hypothesis takes constants from the sources it sees. So the search goes on for
# long: the rarest of these mutants shows in one of about 150 cases.
SETTINGS = settings(max_examples=2000, deadline=None, database=None, phases=[Phase.generate], derandomize=True)


@pytest.mark.parametrize("name", KERNEL_EDITS)
def test_the_mask_mutant_is_killed(name: str, device: str, tmp_path: Path) -> None:
    edit = KERNEL_EDITS[name]
    masks = load("masks", name, edit, tmp_path, "triton_masks").TritonMasks
    implementation = as_mask_implementation(masks(*edit.tiles) if edit.tiles else masks(), name)

    @SETTINGS
    @given(data=st.data())
    def every_cell_is_the_oracles(data: st.DataObject) -> None:
        check_dense(implementation, data.draw(mask_cases(PROFILES[edit.profile])), edit.profile, device)

    with pytest.raises(AssertionError):
        every_cell_is_the_oracles()


def test_an_unchanged_copy_survives(device: str, tmp_path: Path) -> None:
    """What kills the mutants is their fault, not their being copies."""
    nothing = Edit("table.py", "COLUMNS = 5", "COLUMNS = 5", "", "")
    implementation = as_mask_implementation(load("masks", "nothing", nothing, tmp_path, "triton_masks").TRITON, "copy")
    for profile in sorted({edit.profile for edit in KERNEL_EDITS.values()}):
        case = MaskCase((request("0110|1100"), request("011"), request("31120"), request("0|")), 3, prefix_known=True)
        check_dense(implementation, case, profile, device)


@pytest.mark.parametrize("name", SYSTEM_EDITS)
def test_the_cache_mutant_is_killed(name: str, tmp_path: Path) -> None:
    module = load("cache", name, SYSTEM_EDITS[name], tmp_path)
    made = module.GEMMA4_FRAMES if SYSTEM_EDITS[name].requirement == "CACHE-VIDEO-3" else module.GEMMA4
    machine = type("Machine", (SystemMachine,), {"implementation": as_cache_implementation(made, name)})
    # Whatever a bad cache does, an encoder refusing its input or an index error included, is a failure of its own.
    with pytest.raises((AssertionError, LookupError, ValueError, RuntimeError)):
        run_state_machine_as_test(machine, settings=settings(SETTINGS, stateful_step_count=15))


@pytest.mark.parametrize("name", STORE_EDITS)
def test_the_store_mutant_is_killed(name: str, device: str, tmp_path: Path) -> None:
    implementation = as_store_implementation(load("cache", name, STORE_EDITS[name], tmp_path).TensorLRUCache, name)
    bound: dict[str, Any] = {"implementation": implementation, "device": device}

    def judge() -> None:
        if STORE_EDITS[name].requirement == "CACHE-STORE-6":
            test_an_entry_holds_no_graph(implementation, device)
            SETTINGS(test_copies)(implementation, device)
        machine = CountingStoreMachine if STORE_EDITS[name].requirement == "CACHE-STORE-7" else StoreMachine
        run_state_machine_as_test(type("Machine", (machine,), bound), settings=SETTINGS)

    with pytest.raises((AssertionError, LookupError)):
        judge()


def test_an_edit_that_no_longer_applies_is_noticed(tmp_path: Path) -> None:
    stale = Edit("bounds.py", "no such text", "", "MASK-WINDOW-1", "")
    with pytest.raises(StaleEditError, match="stale: 'no such text' stands 0 times"):
        load("masks", "stale", stale, tmp_path)
