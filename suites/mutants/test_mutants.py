"""The suite has teeth: it fails every mutant, each by the tests of the requirement that it breaks, and no correct one."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from suites.mutants.edits import Edit, StaleEditError, load
from suites.mutants.machinery import MACHINERY
from suites.mutants.match import Referee, matches
from suites.mutants.registry import CONTROLS, MUTANTS, UNTESTED
from suites.mutants.report import run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def referee() -> Iterator[Referee]:
    """One process for the mutants that this one is handed."""
    made = Referee()
    yield made
    made.close()


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """0, or what ``--hypothesis-seed`` says: a number, or ``random`` for another search each night."""
    given = pytestconfig.getoption("--hypothesis-seed")
    return random.SystemRandom().randrange(2**32) if given == "random" else int(given or 0)


KILLED = [pytest.param(name, marks=[pytest.mark.cuda] * one.cuda) for name, one in MUTANTS.items()]


@pytest.mark.parametrize("name", KILLED)
def test_the_suite_fails_the_mutant(referee: Referee, seed: int, name: str) -> None:
    answer = referee.judge({"id": name, "seed": seed})
    assert answer["killed"], f"{MUTANTS[name].sentence}: {answer['ran']} tests of {MUTANTS[name].requirement} pass\n{answer}"


# The lists of the suite judge the Triton masks: twice a run is once too often.
@pytest.mark.parametrize("name", [name for name in CONTROLS if name != "right-triton"])
def test_the_suite_passes_what_is_right(referee: Referee, seed: int, name: str) -> None:
    """What kills the mutants is their fault, not their being copies, nor the referee."""
    answer = referee.judge({"id": name, "seed": seed, "everything": True})
    assert not answer["killed"], answer
    assert not answer["message"], answer
    assert answer["ran"] >= 3, answer  # of those that a plain store claims


def test_every_requirement_has_a_mutant() -> None:
    written = set(
        re.findall(r"^\| ((?:MASK|CACHE)-[A-Z]+-\d+) \|", (ROOT / "SPEC.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    broken = {mutant.requirement for mutant in MUTANTS.values()}
    assert broken <= written
    assert written - broken == set(UNTESTED)


def test_every_fault_kind_of_masks_and_caches_has_two_mutants() -> None:
    kinds = [mutant.fault for mutant in MUTANTS.values()]
    assert all(kinds.count(kind) >= 2 for kind in set(kinds)), sorted(kind for kind in set(kinds) if kinds.count(kind) < 2)


def test_an_edit_that_no_longer_applies_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(StaleEditError, match="stale: 'no such text' stands 0 times"):
        load("masks", "stale", Edit("bounds.py", "no such text", "", "MASK-WINDOW-1", ""), tmp_path)


def test_the_table_in_the_docs_has_every_mutant() -> None:
    """It is measured by hand; a mutant that it lacks, or has too many, asks for another measurement."""
    table = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| [^|]+ \| ([a-z0-9-]+) \|", table, re.MULTILINE)
    expected = [name for name, one in (MUTANTS | MACHINERY).items() if not one.cuda]
    assert sorted(set(shown) - {"mutant"}) == sorted(expected)
    assert "**nothing**" not in table


def test_the_command_tells_what_survives(tmp_path: Path) -> None:
    options = {"jobs": 1, "everything": False, "seeds": [0], "correct": False, "alone": False, "out": tmp_path}
    assert run(["misses-uncounted", "budget-of-zero"], without=None, **options) == 0
    assert run(["misses-uncounted"], without="test_every_counter_is_the_models", **options) == 1
    written = json.loads((tmp_path / "mutants.json").read_text(encoding="utf-8"))
    assert written["summary"]["survivors"] == ["misses-uncounted"]
    assert "**nothing**" in (tmp_path / "mutants.md").read_text(encoding="utf-8")
    assert 'class="no"' in (tmp_path / "mutants.html").read_text(encoding="utf-8")


def test_the_command_finds_what_one_test_alone_kills(tmp_path: Path) -> None:
    options = {"jobs": 2, "everything": False, "seeds": [0], "without": None, "correct": False, "out": tmp_path}
    harness = next(name for name, one in MACHINERY.items() if one.requirement == "suites/harness/test_waives.py")
    assert run(["budget-of-zero", harness], alone=True, **options) == 0
    found = json.loads((tmp_path / "mutants.json").read_text(encoding="utf-8"))["summary"]["alone"]
    assert found["test_a_budget_that_is_no_positive_int_is_refused"] == "budget-of-zero"
    assert len(found) == 2


def test_a_search_of_nothing_is_refused(tmp_path: Path) -> None:
    options = {"everything": False, "without": None, "correct": False, "alone": False, "out": tmp_path}
    for jobs, seeds in ((1, range(0)), (0, [0])):
        with pytest.raises(ValueError, match="expected at least one of each"):
            run(["budget-of-zero"], jobs=jobs, seeds=seeds, **options)


def test_a_mutant_that_cannot_be_made_costs_no_other_its_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor a referee that falls over; and neither is a kill."""
    monkeypatch.setattr("suites.mutants.match._of_harness", lambda asked: 1 / 0)
    lost, judged = matches([{"id": next(iter(MACHINERY))}, {"id": "budget-of-zero"}], 1)
    assert not lost["killed"]
    assert "ZeroDivisionError" in lost["message"]
    assert judged["killed"]


def test_the_command_tells_a_false_alarm_from_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"jobs": 1, "everything": False, "seeds": [0], "without": None, "alone": False, "out": tmp_path}
    assert run(["right-copying-store"], correct=True, **options) == 0
    monkeypatch.setattr("suites.mutants.report.matches", lambda asked, *rest: [_alarm(one) for one in asked])
    assert run(["right-copying-store"], correct=True, **options) == 1
    with pytest.raises(ValueError, match="no control is called 'misses-uncounted'"):
        run(["misses-uncounted"], correct=True, **options)


def test_a_control_that_timed_out_has_not_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"jobs": 1, "everything": False, "seeds": [0], "without": None, "alone": False, "out": tmp_path}
    for change in ({"message": "timed out"}, {"ran": 0}):
        answer = {"killed": False, "by": {}, "examples": 0, "seconds": 0.1, "ran": 9, "message": "", **change}
        monkeypatch.setattr("suites.mutants.report.matches", lambda asked, *rest, a=answer: [{**a, "id": asked[0]["id"]}])
        assert run(["right-store"], correct=True, **options) == 1


def _alarm(asked: dict[str, Any]) -> dict[str, Any]:
    by = {"suites/x.py::test_x": ["R-1"]}
    return {"id": asked["id"], "killed": True, "by": by, "examples": 3, "seconds": 0.1, "ran": 1, "message": ""}
