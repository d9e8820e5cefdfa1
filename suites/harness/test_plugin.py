"""The plugin in a project of its own: lists select, waivers skip, and no run lies about what it did."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Project = Callable[..., pytest.Pytester]

TWO = "def test_a(): pass\ndef test_b(): pass\n"
LINK = "https://bugs.example/1"


def test_a_list_is_a_marker_that_selects_its_tests(project: Project) -> None:
    run = project(TWO, ("suites/test_it.py::test_a",)).runpytest_inprocess("-m", "l0_x", "-v")
    run.assert_outcomes(passed=1, deselected=1)
    run.stdout.fnmatch_lines(["*test_a PASSED*", "list l0_x: this machine is what it asks for"])


def test_an_entry_that_matches_nothing_stops_the_run(project: Project) -> None:
    run = project(TWO, ("suites/test_it.py::test_aa",)).runpytest_inprocess()
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*l0_x.yml:5: 'suites/test_it.py::test_aa' matches no test; did you mean*test_a'?"])


def test_the_same_from_a_worker(project: Project) -> None:
    run = project(TWO, ("suites/test_it.py::test_aa",)).runpytest_subprocess("-n2")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stdout.fnmatch_lines(["*l0_x.yml:5: 'suites/test_it.py::test_aa' matches no test*"])


def test_an_entry_whose_file_was_not_asked_for_is_left_alone(project: Project) -> None:
    made = project(TWO, ("suites/test_it.py::test_a", "suites/test_other.py"))
    (made.path / "suites" / "test_other.py").write_text("def test_c(): pass\n", encoding="utf-8")
    made.runpytest_inprocess("suites/test_it.py").assert_outcomes(passed=2)


def test_an_unknown_list_stops_the_run_and_names_the_nearest(project: Project) -> None:
    run = project(TWO).runpytest_inprocess("-m", "l0_y")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*no list or marker is called 'l0_y'; did you mean 'l0_x'?"])


def test_a_broken_list_stops_the_run(project: Project) -> None:
    made = project(TWO)
    (made.path / "test_lists" / "l0_z.yml").write_text("version: 0.0.1\nl0_y:\n- tests: [a]\n", encoding="utf-8")
    run = made.runpytest_inprocess()
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*l0_z.yml:3: unknown key 'l0_y'*"])


def test_a_waived_test_is_skipped_and_shown_as_waived(project: Project) -> None:
    run = project(TWO, waives=f"\nsuites/test_it.py::test_a SKIP ({LINK})\n").runpytest_inprocess()
    run.assert_outcomes(passed=1, skipped=1)
    run.stdout.fnmatch_lines([f"1 x skipped by waiver: waives.txt:2 ({LINK})", "*tests: 1 passed, 1 skipped by waiver"])


@pytest.mark.parametrize(("platform", "skipped"), [("X", True), ("B200", False), ("L0", False)])
def test_a_waiver_for_another_platform_waives_nothing(project: Project, platform: str, skipped: bool) -> None:
    made = project(TWO, waives=f"full:{platform}/suites/test_it.py::test_a SKIP ({LINK})\n")
    made.runpytest_inprocess("-m", "l0_x").assert_outcomes(passed=2 - skipped, skipped=int(skipped))


@pytest.mark.parametrize("line", [f"suites/test_it.py::test_c SKIP ({LINK})", "suites/test_it.py::test_a SKIP"])
def test_a_bad_waiver_stops_the_run(project: Project, line: str) -> None:
    run = project(TWO, waives=line).runpytest_inprocess()
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*waives.txt:1: *"])


def test_only_the_failures_of_the_last_run_can_be_run_again(project: Project) -> None:
    made = project("def test_a(): assert False\ndef test_b(): pass\n", ("suites/test_it.py::test_b",))
    made.runpytest_inprocess().assert_outcomes(failed=1, passed=1)
    made.runpytest_inprocess("--lf").assert_outcomes(failed=1)


def test_a_list_that_is_excluded_is_not_the_list_that_runs(project: Project) -> None:
    run = project(TWO, ("suites/test_it.py::test_a",)).runpytest_inprocess("-m", "not l0_x")
    run.assert_outcomes(passed=1, deselected=1)
    run.stdout.no_fnmatch_line("list l0_x*")


def test_a_run_in_which_everything_was_skipped_is_not_green(project: Project) -> None:
    tests = "from harness.statuses import *\ndef test_a(): not_claimed('x')\ndef test_b(): not_run('needs y')\n"
    run = project(tests).runpytest_inprocess()
    assert run.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    run.stdout.fnmatch_lines(["1 x not claimed: x", "1 x not run: needs y", "nothing ran: this is no verdict"])


def test_the_same_from_workers(project: Project) -> None:
    run = project("from harness.statuses import *\ndef test_a(): not_claimed('x')\n").runpytest_subprocess("-n2")
    assert run.ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_examples_are_counted(project: Project, workers: str) -> None:
    tests = (
        "from hypothesis import given, settings, strategies as st\nimport pytest\n"
        "@pytest.mark.parametrize('x', [1, 2])\n"
        "@settings(max_examples=30, database=None)\n@given(st.integers())\ndef test_a(x, n): pass\n"
    )
    run = project(tests).runpytest_subprocess(workers)
    run.assert_outcomes(passed=2)
    run.stdout.fnmatch_lines(["60 examples drawn; tests: 2 passed"])
