"""The tests of the harness have teeth: they fail every mutant of it, and not the harness as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from suites.mutants.copies import copied, judge
from suites.mutants.edits import StaleEditError
from suites.mutants.machinery import CONTROL, KINDS, MACHINERY
from suites.mutants.mutant import Mutant
from suites.mutants.registry import MUTANTS


@pytest.mark.parametrize("name", MACHINERY)
def test_the_tests_of_the_harness_fail_the_mutant(name: str) -> None:
    answer = judge(MACHINERY[name])
    assert answer["killed"], f"{MACHINERY[name].sentence}: {answer['ran']} tests pass\n{answer['message']}"


def test_the_tests_of_the_harness_pass_what_is_right() -> None:
    """What kills the mutants is their fault, not their being copies."""
    answer = judge(CONTROL, everything=True, limit=600)
    assert answer["code"] == 0, answer
    assert not answer["by"], answer
    assert answer["ran"] > len(MACHINERY), answer


def test_what_cannot_be_imported_is_not_killed() -> None:
    def make(folder: Path) -> object:
        return copied(folder, "broken", "harness/merge.py", "def merge(", "def merge((")

    broken = Mutant("broken", "harness", "F37", "", "suites/harness/test_verdict.py", make)
    assert not judge(broken)["killed"]


def test_an_edit_that_no_longer_applies_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(StaleEditError, match=r"stale: 'no such text' stands 0 times in harness/merge\.py"):
        copied(tmp_path, "stale", "harness/merge.py", "no such text", "")


def test_every_fault_kind_of_the_machinery_has_two_mutants() -> None:
    kinds = [mutant.fault for mutant in MACHINERY.values()]
    assert set(kinds) == KINDS
    assert all(kinds.count(kind) >= 2 for kind in KINDS)


def test_no_two_mutants_have_one_id() -> None:
    assert MACHINERY.keys().isdisjoint(MUTANTS)
