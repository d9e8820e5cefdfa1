"""Findings outlive the run, are one a failure, and can be run again, healed and made permanent."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.__main__ import main
from harness.exits import ExitCode
from harness.findings import Finding, FindingError, Sighting, as_code, find, keep, read_finding
from harness.properties import Drawn, PinnedExampleError

Project = Callable[..., pytest.Pytester]

TESTS = """
import pytest
from hypothesis import given, strategies as st
import engine

@pytest.mark.requirement("R-1")
@pytest.mark.parametrize("profile", ["a", "b"])
@given(data=st.data())
def test_small(tmp_path_factory, profile, data):
    number = data.draw(st.integers(0, 1000))
    assert number + data.draw(st.integers(0, 9)) < engine.LIMIT

@pytest.mark.requirement("R-2")
@given(number=st.integers(0, 1000), text=st.text(max_size=3))
def test_big(folder, number, text):
    assert number < engine.BIG

@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("another in every run")
"""
WRONG, RIGHT = "LIMIT, BIG = 500, 77\n", "LIMIT, BIG = 5000, 9999\n"


@pytest.fixture
def engine(project: Project, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project whose implementation is wrong, and can be put right."""
    monkeypatch.setenv("CI", "1")
    made = project(TESTS)
    (made.path / "suites" / "engine.py").write_text(WRONG, encoding="utf-8")
    return made


def put(made: pytest.Pytester, text: str) -> None:
    (made.path / "suites" / "engine.py").write_text(text, encoding="utf-8")
    # It may be as old to the second as what was compiled.
    shutil.rmtree(made.path / "suites" / "__pycache__", ignore_errors=True)


def found_by(made: pytest.Pytester, *arguments: str) -> dict[str, Finding]:
    """What a run keeps, by its requirement."""
    made.runpytest_subprocess("-m", "l0_x", "--findings=kept", *arguments, timeout=120)
    findings = [read_finding(path) for path in find(made.path / "kept")]
    by = {finding.requirements[0]: finding for finding in findings}
    assert len(by) == len(findings)
    return by


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_the_same_example_of_a_requirement_is_one_finding_however_often_it_is_seen(
    engine: pytest.Pytester, workers: str
) -> None:
    first = found_by(engine, workers)
    assert {name: len(finding.sightings) for name, finding in first.items()} == {"R-1": 2, "R-2": 1}
    again = found_by(engine, workers)
    assert {name: finding.id for name, finding in again.items()} == {name: finding.id for name, finding in first.items()}
    assert {name: len(finding.sightings) for name, finding in again.items()} == {"R-1": 2, "R-2": 1}
    assert again["R-1"].sightings[0].run > first["R-1"].sightings[0].run


def test_a_finding_says_all_that_is_known_of_it(engine: pytest.Pytester) -> None:
    by = found_by(engine, "-n0", "--hypothesis-seed=7")
    assert by["R-2"].drawn == {"number": "77", "text": "''"}
    assert by["R-1"].drawn == {"data": "Drawn(491, 9)"} or by["R-1"].drawn == {"data": "Drawn(500, 0)"}
    (sighting,) = by["R-2"].sightings
    assert sighting.test == "suites/test_it.py::test_big"
    assert sighting.seed == "7"
    assert sighting.versions["hypothesis"]
    assert sighting.machine
    assert "assert 77 < 77" in by["R-2"].text


def test_it_is_replayed_until_it_heals_and_comes_back_if_it_fails_again(
    engine: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = {finding.id for finding in found_by(engine, "-n0").values()}
    assert main(["replay", "--all", "kept"]) == ExitCode.FAILED
    assert capsys.readouterr().out.endswith("2 findings: 2 still failing, 0 healed, 0 error\n")
    put(engine, RIGHT)
    assert main(["replay", "--all", "kept"]) == ExitCode.OK
    assert capsys.readouterr().out.endswith("2 findings: 0 still failing, 2 healed, 0 error\n")
    assert find(engine.path / "kept") == []
    assert {path.stem for path in find(engine.path / "kept" / "healed")} == ids
    put(engine, WRONG)
    assert {finding.id for finding in found_by(engine, "-n0").values()} == ids
    assert find(engine.path / "kept" / "healed") == []


def test_it_has_healed_only_if_every_test_that_saw_it_passes(engine: pytest.Pytester) -> None:
    finding = found_by(engine, "-n0")["R-1"]
    path = engine.path / "kept" / f"{finding.id}.json"
    test = engine.path / "suites" / "test_it.py"
    test.write_text(TESTS.replace("assert number + ", "assert profile == 'a' or number + "), encoding="utf-8")
    assert main(["replay", str(path)]) == ExitCode.FAILED
    assert path.exists()


def test_what_cannot_be_replayed_is_an_error_and_stops_no_other(
    engine: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    by = found_by(engine, "-n0")
    kept = engine.path / "kept"
    (kept / "000.json").write_bytes((kept / f"{by['R-1'].id}.json").read_bytes()[:-40])
    (kept / "111.json").write_text('{"answer": 42}', encoding="utf-8")
    gone = msgspec.structs.replace(by["R-2"], id="222", sightings=[seen(test="suites/test_it.py::test_gone")])
    keep(gone, kept)
    assert main(["replay", "--all", "kept"]) == ExitCode.HARNESS_ERROR
    said = capsys.readouterr().out
    assert said.endswith("5 findings: 2 still failing, 0 healed, 3 error\n")
    assert "000.json: is no finding, or a part of one" in said
    assert "111.json: is no finding, or a part of one" in said
    assert "222.json: suites/test_it.py::test_gone: " in said


def test_nothing_to_replay_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay"]) == ExitCode.USAGE
    assert main(["replay", "--all", str(tmp_path / "none")]) == ExitCode.OK
    assert capsys.readouterr().out == "0 findings: 0 still failing, 0 healed, 0 error\n"


def test_an_adopted_finding_fails_ever_after(engine: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    """Its code, put where it says, makes the test fail on that example first, without a search."""
    text = TESTS.replace("import given", "import Phase, example, given, settings")
    text = text.replace("import engine", "import engine\nfrom harness.properties import Drawn")
    for finding in found_by(engine, "-n0").values():
        capsys.readouterr()
        assert main(["adopt", f"kept/{finding.id}.json"]) == ExitCode.OK
        code = capsys.readouterr().out
        function = finding.sightings[0].test.partition("::")[2].partition("[")[0]
        assert f"# above {function} in suites/test_it.py\n" in code
        above = f"@given({'data' if function == 'test_small' else 'number'}="
        text = text.replace(above, f"@settings(phases=[Phase.explicit])\n{code}{above}")
    (engine.path / "suites" / "test_it.py").write_text(text, encoding="utf-8")
    engine.runpytest_subprocess("-m", "l0_x", "-n0").assert_outcomes(failed=3)
    put(engine, RIGHT)
    engine.runpytest_subprocess("-m", "l0_x", "-n0").assert_outcomes(passed=3)


@given(values=st.lists(st.integers(), max_size=4))
def test_drawn_values_come_in_their_order_and_no_more_of_them(values: list[int]) -> None:
    drawn = Drawn(*values)
    assert [drawn.draw(st.nothing()) for _ in values] == values
    with pytest.raises(PinnedExampleError, match="expected one more: the test has changed"):
        drawn.draw(st.nothing())


KILL = """
import os, signal
import pytest
from hypothesis import given, strategies as st
from pathlib import Path

@pytest.mark.requirement("R-1")
@given(st.integers())
def test_a(number):
    assert number < 7

def test_b():
    while not [*Path("kept").glob("*.json")]:
        pass
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_that_is_killed_has_kept_what_it_had_found(project: Project) -> None:
    made = project(KILL)
    made.runpytest_subprocess("-m", "l0_x", "-n1", "--findings=kept", timeout=120)
    (path,) = find(made.path / "kept")
    assert read_finding(path).drawn == {"number": "7"}


OTHERS = """
import os
import pytest
@pytest.mark.requirement("R-1")
def test_crash(): os._exit(1)
def test_fixture(broken): pass
def test_waived(): assert False
@pytest.fixture
def broken(): raise RuntimeError
"""


def test_a_crash_an_error_of_the_suite_and_what_is_waived_are_no_findings(project: Project) -> None:
    made = project(OTHERS, waives="suites/test_it.py::test_waived XFAIL (https://bugs.example/1)\n")
    made.runpytest_subprocess("-m", "l0_x", "-n1", "--findings=kept", timeout=120)
    assert find(made.path / "kept") == []


@pytest.mark.parametrize(("stage", "kept"), [("nightly", 1), ("pre_merge", 0)])
def test_a_nightly_list_keeps_what_it_finds_without_being_asked(project: Project, stage: str, kept: int) -> None:
    made = project("def test_a(): assert False\n", condition=f"{{terms: {{stage: {stage}}}}}")
    made.runpytest_subprocess("-m", "l0_x", "-n0")
    assert len(find(made.path / "findings")) == kept


@pytest.mark.parametrize("folder", ["/proc/no", "suites/test_it.py"])
def test_a_folder_that_cannot_be_written_to_is_a_usage_error(project: Project, folder: str) -> None:
    run = project("def test_a(): pass\n").runpytest_subprocess(f"--findings={folder}", "-n0")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{folder}: cannot be written to" in run.stdout.str() + run.stderr.str()


def seen(test: str = "suites/t.py::test_a[1]", blob: str | None = None) -> Sighting:
    return Sighting(test, blob, "run", "2026-12-01T00:00:00+00:00", "", "cpu", {}, {})


def test_what_does_not_print_as_code_is_not_adopted() -> None:
    finding = Finding("0", ["R-1"], {}, [], "no", "state = Machine()", {}, "", None, [seen(blob="AAA=")])
    with pytest.raises(FindingError, match=r"do not print as code; pin suites/t\.py::test_a\[1\] to --example AAA="):
        as_code(finding)


@given(tests=st.lists(st.sampled_from("abc"), min_size=1, max_size=6))
def test_a_finding_has_one_sighting_a_test_the_newest_last(
    tmp_path_factory: pytest.TempPathFactory, tests: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    for number, test in enumerate(tests):
        keep(Finding("0", [], {}, [], "no", None, {}, "", None, [seen(test, str(number))]), folder)
    (path,) = find(folder)
    newest = {test: str(number) for number, test in enumerate(tests)}
    expected = sorted(newest.items(), key=lambda pair: int(pair[1]))
    assert [(one.test, one.blob) for one in read_finding(path).sightings] == expected
