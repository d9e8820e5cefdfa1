"""What a run leaves behind, however it ends; and the reports made of that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.__main__ import main
from harness.collecting import collect
from harness.exits import ExitCode
from harness.records import EVENTS, MANIFEST, read_manifest
from suites.harness.conftest import ROOT, result_of, run_folders, statuses

Project = Callable[..., pytest.Pytester]

REPORTS = {"conformance.json", "junit.xml", "ctrf.json", "verdict.txt", "badge.svg", "summary.md", "index.html"}


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_run_leaves_a_manifest_and_its_reports_in_a_folder_that_git_ignores(project: Project, workers: str) -> None:
    made = project("import pytest\n@pytest.mark.requirement('R-1')\ndef test_a(): pass\n")
    made.runpytest_subprocess("-m", "l0_x", workers)
    (folder,) = run_folders(made)
    assert (folder.parent / ".gitignore").read_text() == "*\n"
    manifest = read_manifest(folder)
    assert [(test.id, test.requirements) for test in manifest.tests] == [("suites/test_it.py::test_a", ["R-1"])]
    assert [one.name for one in manifest.lists] == ["l0_x"]
    assert statuses(made) == {"test_a": "passed"}


def test_runs_of_one_process_within_a_second_have_folders_of_their_own(project: Project) -> None:
    made = project("def test_a(): pass\n")
    for _ in range(3):
        made.runpytest_inprocess().assert_outcomes(passed=1)
    assert len(run_folders(made)) == 3


def test_the_folder_can_be_named_and_holds_one_run(project: Project) -> None:
    made = project("def test_a(): pass\n")
    made.runpytest_inprocess("--run-dir", "kept").assert_outcomes(passed=1)
    assert (made.path / "kept" / MANIFEST).exists()
    run = made.runpytest_inprocess("--run-dir", "kept")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert "holds the records of another run" in run.stderr.str() + run.stdout.str()


@pytest.mark.parametrize("folder", ["/proc/no", "suites/test_it.py"])
def test_a_folder_that_cannot_be_made_is_a_usage_error(project: Project, folder: str) -> None:
    run = project("def test_a(): pass\n").runpytest_subprocess(f"--run-dir={folder}")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert "cannot be made" in run.stdout.str() + run.stderr.str()


def test_records_that_are_lost_in_mid_run_are_an_error_of_the_harness(project: Project) -> None:
    run = project("import shutil\ndef test_a(): shutil.rmtree('kept')\n").runpytest_subprocess("--run-dir=kept")
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR
    run.stdout.fnmatch_lines(["the records of this run are lost*"])


def test_reports_that_cannot_be_written_are_a_usage_error(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    made = project("def test_a(): pass\n")
    made.runpytest_inprocess("--run-dir=kept")
    assert main(["render", str(made.path / "kept"), "--out", "/proc/no"]) == ExitCode.USAGE
    assert "cannot be written to" in capsys.readouterr().err


def test_the_folder_may_lie_anywhere(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Pytest takes a path behind an option that it does not know yet for a test's; a worker finds the folder there."""
    folder = tmp_path_factory.mktemp("elsewhere") / "run"
    project("def test_a(): pass\n").runpytest_subprocess("-n1", "--run-dir", str(folder)).assert_outcomes(passed=1)
    assert [test.status.value for test in result_of(folder).tests] == ["passed"]


KILL = """
import glob, os, signal
def test_a(): pass
def test_b():
    while '"teardown"' not in open(glob.glob('kept/events.jsonl')[0]).read():
        pass
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
def test_c(): pass
"""


def test_a_controller_that_is_killed_leaves_every_finished_test_and_the_rest_are_named(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    made = project(KILL)
    made.runpytest_subprocess("-m", "l0_x", "-n1", "--run-dir", "kept", timeout=120)
    folder = made.path / "kept"
    found = {test.id.rsplit("::", 1)[1]: test.status.value for test in result_of(folder).tests}
    assert found == {"test_a": "passed", "test_b": "not finished", "test_c": "not finished"}
    assert main(["render", str(folder)]) == ExitCode.NOT_CONFORMANT
    named = [line for line in capsys.readouterr().out.splitlines() if line.startswith("not finished: ")]
    assert named == [f"not finished: suites/test_it.py::{name}" for name in ("test_b", "test_c")]
    page = (folder / "index.html").read_text(encoding="utf-8").replace("<wbr>", "")
    assert all(f"suites/test_it.py::{name}" in page for name in ("test_b", "test_c"))


def test_a_run_is_rendered_to_every_report(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    made = project("def test_a(): assert 1 == 2\n")
    made.runpytest_inprocess("-m", "l0_x", "--run-dir", "kept")
    assert main(["render", str(made.path / "kept")]) == ExitCode.FAILED
    assert {path.name for path in (made.path / "kept").iterdir()} >= REPORTS
    assert capsys.readouterr().out.splitlines()[-1].startswith("failed: ")


@pytest.mark.parametrize("files", [{}, {MANIFEST: "{}"}, {MANIFEST: "[", EVENTS: ""}])
def test_what_is_no_run_is_refused(tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert main(["render", str(tmp_path)]) == ExitCode.USAGE
    assert MANIFEST in capsys.readouterr().err


@pytest.mark.parametrize("how", ["strict", "surrogateescape"])
def test_output_that_is_no_text_costs_no_report(project: Project, how: str) -> None:
    """A half of a surrogate pair, as a name that is not UTF-8 becomes; Python's streams differ in what they make of it."""
    made = project("def test_a(): print('\\udc80'); assert '\\udc80' == 'x'\ndef test_b(): pass\n")
    subprocess.run(  # with its output left as bytes: with surrogateescape it is not UTF-8
        [sys.executable, "-m", "pytest", "--tb=no", "--show-capture=no"],
        cwd=made.path,
        env=os.environ | {"PYTHONIOENCODING": f"utf-8:{how}"},
        capture_output=True,
        check=False,
    )
    assert statuses(made) == {"test_a": "failed", "test_b": "passed"}
    assert main(["render", str(run_folders(made)[0])]) == ExitCode.FAILED


def test_shards_cover_the_list_and_merge(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    made = project("import pytest\n@pytest.mark.parametrize('n', range(7))\ndef test_a(n): pass\n")
    for group in (1, 2, 3):
        made.runpytest_inprocess("-m", "l0_x", "--splits", "3", "--group", str(group), "--run-dir", f"s{group}")
    folders = [str(made.path / f"s{group}") for group in (1, 2, 3)]
    assert main(["render", *folders, "--out", str(made.path / "whole")]) == ExitCode.OK
    assert (made.path / "whole" / "verdict.txt").read_text().startswith("conformant: ")
    assert main(["render", *folders[:2], "--out", str(made.path / "part")]) == ExitCode.USAGE
    assert "incomplete" in capsys.readouterr().err
    assert main(["render", *folders]) == ExitCode.USAGE


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_an_empty_shard_is_no_error(project: Project, workers: str) -> None:
    made = project("def test_a(): pass\n")
    codes = [
        made.runpytest_subprocess(
            "-m", "l0_x", "--splits", "2", "--group", str(group), "--run-dir", f"s{group}", workers
        ).ret
        for group in (1, 2)
    ]
    assert codes == [0, 0]
    folders = [str(made.path / f"s{group}") for group in (1, 2)]
    assert main(["render", *folders, "--out", str(made.path / "whole")]) == ExitCode.OK


def test_shards_are_cut_by_the_durations_of_this_kind_of_machine(project: Project) -> None:
    made = project("def test_a(): pass\ndef test_b(): pass\n")
    made.runpytest_inprocess("--store-durations")
    (stored,) = (made.path / "test_lists" / "durations").iterdir()
    assert set(json.loads(stored.read_text())) == {"suites/test_it.py::test_a", "suites/test_it.py::test_b"}


def test_this_project_is_collected_in_one_order_whatever_the_hash_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """H16: workers name tests by their number."""
    collected = []
    for seed in ("0", "1", "random"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        collected.append(collect(ROOT).node_ids)
    assert collected[0] == collected[1] == collected[2]
