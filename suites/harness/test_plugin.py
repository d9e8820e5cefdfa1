"""The plugin in a project of its own: lists select, waivers skip, and no run lies about what it did."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.__main__ import main
from suites.harness.conftest import ROOT, statuses

Project = Callable[..., pytest.Pytester]

TWO = "def test_a(): pass\ndef test_b(): pass\n"
LINK = "https://bugs.example/1"


def test_a_list_is_a_marker_that_selects_its_tests(project: Project) -> None:
    run = project(TWO, ("suites/test_it.py::test_a",)).runpytest_inprocess("-m", "l0_x", "-v")
    run.assert_outcomes(passed=1, deselected=1)
    run.stdout.fnmatch_lines(["*test_a PASSED*", "list l0_x: this machine is what it asks for", "conformant: *"])


def test_an_entry_that_matches_nothing_stops_the_run(project: Project) -> None:
    run = project(TWO, ("suites/test_it.py::test_aa",)).runpytest_inprocess()
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*l0_x.yml:5: unmatched-entry: *'suites/test_it.py::test_aa'*did you mean*test_a'?*"])


def test_the_same_from_a_worker(project: Project) -> None:
    run = project(TWO, ("suites/test_it.py::test_aa",)).runpytest_subprocess("-n2")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stdout.fnmatch_lines(["*l0_x.yml:5: unmatched-entry: *'suites/test_it.py::test_aa'*"])


def test_an_entry_whose_file_was_not_asked_for_is_left_alone(project: Project) -> None:
    made = project(TWO, ("suites/test_it.py::test_a", "suites/test_other.py"))
    (made.path / "suites" / "test_other.py").write_text("def test_c(): pass\n", encoding="utf-8")
    made.runpytest_inprocess("suites/test_it.py").assert_outcomes(passed=2)


MARKED = (
    "import pytest\n@pytest.mark.cuda\ndef test_a(): pass\ndef test_b(): pass\n"
    "@pytest.mark.parametrize('x', ['a/b', '(1, 2)-3', 't=1.0', 'c::d', 'e#f', 'g h', 'i[j'])\ndef test_c(x): pass\n"
)


@pytest.mark.parametrize(
    ("entry", "count"),
    [
        ('suites -m "not cuda"', 8),
        ('suites -k "test_a or test_b"', 2),
        ('suites -k test_a -m "not cuda" TIMEOUT (5)', None),
        ("suites/test_it.py::test_c", 7),
        *((f"suites/test_it.py::test_c[{x}]", 1) for x in ("a/b", "(1, 2)-3", "t=1.0", "c::d", "e#f", "g h", "i[j")),
    ],
)
def test_an_entry_selects_by_id_and_by_pytests_own_expressions(project: Project, entry: str, count: int | None) -> None:
    """H13: an id is an id, whatever its parameters hold. An entry whose expressions leave nothing is an error."""
    run = project(MARKED, (entry,)).runpytest_inprocess("-m", "l0_x")
    if count is None:
        assert run.ret == pytest.ExitCode.USAGE_ERROR
        run.stderr.fnmatch_lines(["*l0_x.yml:5: unmatched-entry: *its -k or -m leaves no test*"])
    else:
        run.assert_outcomes(passed=count, deselected=9 - count)


def test_an_expression_that_is_none_stops_the_run(project: Project) -> None:
    run = project(MARKED, ('suites -k "and and"',)).runpytest_inprocess("-m", "l0_x")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*l0_x.yml:5: 'and and' is no expression*"])


def test_a_list_of_another_ending_stops_the_run(project: Project) -> None:
    made = project(TWO)
    (made.path / "test_lists" / "l0_z.yaml").write_text("", encoding="utf-8")
    assert made.runpytest_inprocess().ret == pytest.ExitCode.USAGE_ERROR


def test_a_failure_ends_with_the_command_that_runs_it_again(project: Project) -> None:
    run = project("def test_a(): assert False\n").runpytest_inprocess()
    run.stdout.fnmatch_lines(["replay: python -m pytest suites/test_it.py::test_a -n0"])


def test_an_unknown_list_stops_the_run_and_names_the_nearest(project: Project) -> None:
    run = project(TWO).runpytest_inprocess("-m", "l0_y")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*no list or marker is called 'l0_y'; did you mean 'l0_x'?"])


def test_a_broken_list_stops_the_run(project: Project) -> None:
    made = project(TWO)
    (made.path / "test_lists" / "l0_z.yml").write_text("version: 0.0.1\nl0_z:\n- test: [a]\n", encoding="utf-8")
    run = made.runpytest_inprocess()
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*l0_z.yml:3: unknown key 'test'*"])


def test_a_list_that_is_called_otherwise_inside_stops_the_run(project: Project) -> None:
    made = project(TWO)
    (made.path / "test_lists" / "l0_z.yml").write_text("version: 0.0.1\nl0_y:\n- tests: [suites]\n", encoding="utf-8")
    run = made.runpytest_inprocess()
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*l0_z.yml:2: stem-differs: *"])


def test_a_waived_test_is_skipped_and_shown_as_waived(project: Project) -> None:
    run = project(TWO, waives=f"\nsuites/test_it.py::test_a SKIP ({LINK})\n").runpytest_inprocess()
    run.assert_outcomes(passed=1, skipped=1)
    run.stdout.fnmatch_lines([f"1 x skipped by waiver: waives.txt:2 ({LINK})", "not conformant: *1 passed, 1 skipped by*"])


@pytest.mark.parametrize(("platform", "skipped"), [("X", True), ("x", True), ("DGX_X", False)])
def test_a_waiver_for_another_platform_waives_nothing(project: Project, platform: str, skipped: bool) -> None:
    made = project(TWO, waives=f"full:{platform}/suites/test_it.py::test_a SKIP ({LINK})\n")
    (made.path / "test_lists" / "l0_dgx_x.yml").write_text(
        "version: 0.0.1\nl0_dgx_x:\n- tests: [suites]\n", encoding="utf-8"
    )
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
    run.stdout.fnmatch_lines(["1 x not claimed: x", "1 x not run: needs y", "not conformant: *nothing ran*"])


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
    run.stdout.fnmatch_lines(["*(2 passed; 60 examples)*"])


ONE_GPU = "{ranges: {system_gpu_count: {gte: 1000}}}"


def test_on_another_machine_a_list_runs_and_says_so(project: Project) -> None:
    run = project(TWO, condition=ONE_GPU).runpytest_inprocess("-m", "l0_x")
    assert run.ret == pytest.ExitCode.OK
    run.stdout.fnmatch_lines(["list l0_x: NOT the machine it asks for (system_gpu_count is *", "not conformant: *"])


def test_a_gate_can_insist_on_the_machine(project: Project) -> None:
    run = project(TWO, condition=ONE_GPU).runpytest_inprocess("-m", "l0_x", "--conditions", "enforce")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*this machine is not what the list asks for (l0_x: system_gpu_count is *"])


def test_conditions_can_be_left_alone(project: Project) -> None:
    run = project(TWO, condition=ONE_GPU).runpytest_inprocess("-m", "l0_x", "--conditions", "ignore")
    run.stdout.fnmatch_lines(["conformant: *"])
    run.stdout.no_fnmatch_line("list l0_x*")


def test_of_several_blocks_those_for_this_machine_run(project: Project) -> None:
    made = project(TWO)
    (made.path / "test_lists" / "l0_x.yml").write_text(
        f"version: 0.0.1\nl0_x:\n- condition: {ONE_GPU}\n  tests: ['suites/test_it.py::test_a']\n"
        "- tests: ['suites/test_it.py::test_b']\n",
        encoding="utf-8",
    )
    made.runpytest_inprocess("-m", "l0_x", "-v").stdout.fnmatch_lines(["*test_b PASSED*", "conformant: *(1 passed*"])


@pytest.mark.parametrize(
    "narrowing",
    [
        ["-k", "test_a"],
        ["suites/test_it.py::test_a"],
        ["--ignore=suites/test_other.py"],
        ["--ignore-glob=*other*"],
        ["--deselect=suites/test_it.py::test_b"],
        ["-o", "python_files=test_it.py"],
        ["-m", "(l0_x and not cuda) or waived"],
    ],
)
def test_less_than_the_whole_list_is_no_verdict_of_conformance(project: Project, narrowing: list[str]) -> None:
    made = project(MARKED)
    (made.path / "suites" / "test_other.py").write_text("def test_d(): pass\n", encoding="utf-8")
    run = made.runpytest_inprocess("-m", "l0_x", *narrowing)
    assert run.ret == pytest.ExitCode.OK
    run.stdout.fnmatch_lines(["not conformant: *"])


def test_a_test_of_a_requirement_that_does_not_run_where_the_list_is_at_home_is_not_conformant(project: Project) -> None:
    """H23: a device job in which no device test ran is not green."""
    tests = (
        "import pytest\nfrom harness.statuses import not_run\ndef test_a(): pass\n"
        "@pytest.mark.requirement('R-1')\ndef test_b(): not_run('needs a CUDA device')\n"
    )
    assert project(tests).runpytest_inprocess("-m", "l0_x").ret == 6


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_file_that_cannot_be_read_is_an_error_of_the_suite(project: Project, workers: str) -> None:
    made = project(TWO)
    (made.path / "suites" / "test_other.py").write_text("import no_such_module\n", encoding="utf-8")
    run = made.runpytest_subprocess(workers)
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR
    run.stdout.fnmatch_lines(["*No module named 'no_such_module'*"])
    assert "Traceback" not in run.stderr.str()


def test_properties_of_this_project_are_functions() -> None:
    """H19: on a method, Hypothesis' check of executors fails once it runs twice in a process."""
    for path in (ROOT / "suites").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                drawn = [d for method in node.body for d in getattr(method, "decorator_list", ()) if "given" in ast.dump(d)]
                assert not drawn, f"{path}: {node.name} has a property; make it a function"


def test_a_list_that_is_excluded_within_parentheses_is_not_the_list_that_runs(project: Project) -> None:
    made = project(TWO, ("suites/test_it.py::test_a",))
    made.runpytest_inprocess("-m", "not (l0_x)").stdout.fnmatch_lines(["not conformant: *no list was chosen*"])


@pytest.mark.parametrize(
    "body",
    ["import pytest\npytest.importorskip('no_such_module')", "import pytest\npytest.skip('x', allow_module_level=True)"],
)
@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_file_that_is_skipped_whole_is_not_green_where_the_list_is_at_home(
    project: Project, body: str, workers: str
) -> None:
    made = project(TWO)
    (made.path / "suites" / "test_other.py").write_text(f"{body}\ndef test_c(): pass\n", encoding="utf-8")
    run = made.runpytest_subprocess("-m", "l0_x", workers)
    assert run.ret == 6
    run.stdout.fnmatch_lines(["not conformant: *skipped whole: suites/test_other.py: *"])


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_subtest_that_fails_is_a_failure(project: Project, workers: str) -> None:
    tests = "def test_a(subtests):\n    with subtests.test('x'): assert False\ndef test_b(): pass\n"
    run = project(tests).runpytest_subprocess("-m", "l0_x", workers)
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.stdout.fnmatch_lines(["failed: *"])


@pytest.mark.parametrize(
    "body",
    [
        "import unittest; raise unittest.SkipTest('not claimed: anything')",
        "import pytest; pytest.skip('not claimed: anything')",
        "import pytest; pytest.xfail('not today')",
    ],
)
def test_what_a_test_calls_cannot_excuse_it(project: Project, body: str) -> None:
    """An implementation that skips would judge itself."""
    run = project(f"def test_a(): {body}\ndef test_b(): pass\n").runpytest_inprocess("-m", "l0_x")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.stdout.fnmatch_lines(["failed: *1 passed, 1 failed*"])


def test_an_expected_failure_stands_in_waives_txt_or_nowhere(project: Project) -> None:
    tests = "import pytest\n@pytest.mark.xfail\ndef test_a(): assert False\ndef test_b(): pass\n"
    assert project(tests).runpytest_inprocess().ret == pytest.ExitCode.TESTS_FAILED


def test_xfail_cannot_be_switched_off(project: Project) -> None:
    run = project(TWO).runpytest_inprocess("--runxfail")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*--runxfail*use --run-waived*"])


@pytest.mark.parametrize(("name", "why"), [("isolated", "a marker already"), ("l0-x", "not one word")])
def test_a_list_that_m_cannot_ask_for_stops_the_run(project: Project, name: str, why: str) -> None:
    made = project(TWO)
    (made.path / "test_lists" / f"{name}.yml").write_text(f"version: 0.0.1\n{name}:\n- tests: [suites]\n", encoding="utf-8")
    run = made.runpytest_inprocess()
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines([f"*{name}.yml: *{why}*rename the list"])


def test_a_waiver_of_one_platform_leaves_the_tests_of_another_list(project: Project) -> None:
    made = project(TWO, ("suites/test_it.py::test_a",), waives=f"full:X/suites/test_it.py::test_b SKIP ({LINK})\n")
    other = "version: 0.0.1\nl0_y:\n- tests: ['suites/test_it.py::test_b']\n"
    (made.path / "test_lists" / "l0_y.yml").write_text(other, encoding="utf-8")
    made.runpytest_inprocess("-m", "l0_x or l0_y").assert_outcomes(passed=2)


def test_lists_and_waivers_of_ones_own_stand_beside_the_projects(project: Project) -> None:
    made = project(TWO)
    own = made.mkdir("own")
    (own / "l0_own.yml").write_text("version: 0.0.1\nl0_own:\n- tests: ['suites/test_it.py::test_b']\n", encoding="utf-8")
    (own / "waives.txt").write_text(f"suites/test_it.py::test_b SKIP ({LINK})\n", encoding="utf-8")
    both = ["--test-lists=test_lists", "--test-lists=own", "--waives-file=waives.txt", "--waives-file=own/waives.txt"]
    made.runpytest_inprocess("-m", "l0_own or l0_x", *both)
    assert statuses(made) == {"test_a": "passed", "test_b": "skipped by waiver"}
    (own / "l0_x.yml").write_text("version: 0.0.1\nl0_x:\n- tests: [suites]\n", encoding="utf-8")
    run = made.runpytest_inprocess(*both)
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*own/l0_x.yml:1: is another list l0_x beside *test_lists/l0_x.yml; rename one of them"])


def test_two_waivers_of_one_test_stop_the_run(project: Project) -> None:
    lines = f"suites SKIP ({LINK})\nsuites/test_it.py::test_a XFAIL ({LINK})\n"
    run = project(TWO, waives=lines).runpytest_inprocess()
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*waives.txt:*test_a is waived in line 1 too*"])


def test_another_limit_leaves_an_expected_failure_strict(project: Project) -> None:
    lines = f"suites/test_it.py::test_a XFAIL ({LINK})\nsuites TIMEOUT (5)\nsuites/test_it.py ISOLATION\n"
    run = project(TWO, waives=lines).runpytest_subprocess()
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.stdout.fnmatch_lines(["failed: *1 unexpected pass*"])


def test_rules_that_need_no_tests_hold_for_a_part_of_them(project: Project) -> None:
    made = project(TWO, waives="suites SKIP (because) until=2020-01-01\n")
    run = made.runpytest_inprocess("suites/test_it.py")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*waives.txt:1: expired: *"])


def test_a_waiver_whose_expressions_leave_nothing_stops_the_run_and_lint_finds_it(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    made = project(TWO, ("suites", "suites -k no_such_thing"), waives=f"suites -k no_such_test SKIP ({LINK})\n")
    assert made.runpytest_inprocess().ret == pytest.ExitCode.USAGE_ERROR
    capsys.readouterr()
    assert main(["lint", "--root", str(made.path)]) == 1
    found = capsys.readouterr().out
    assert "l0_x.yml:6: unmatched-entry: " in found
    assert "waives.txt:1: unmatched: " in found


def test_a_condition_on_what_no_machine_has_is_met_by_none(project: Project) -> None:
    run = project(TWO, condition="{terms: {compute_capability: 100000, stage: pre_merge}}").runpytest_inprocess("-m", "l0_x")
    run.stdout.fnmatch_lines(["list l0_x: NOT the machine it asks for (compute_capability is *, not 100000)*"])


def test_a_condition_with_a_slip_of_the_pen_stops_the_run(project: Project) -> None:
    run = project(TWO, condition="{terms: {system_gpu_cuont: 8}}").runpytest_inprocess()
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*unknown-property: no machine has 'system_gpu_cuont'; did you mean 'system_gpu_count'?*"])


@pytest.mark.parametrize("target", ["l0_b200", "nightly_fuzz"])
def test_make_runs_the_lists_and_hands_on_how_they_end(target: str, tmp_path: Path) -> None:
    """H19: a nightly that does nothing is green."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@"\nexit 1\n', encoding="ascii")
    python.chmod(0o755)
    made = ["make", "--assume-old=.venv/installed", f"BIN={tmp_path}", target]
    run = subprocess.run(made, cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"-m pytest -m {target}" in run.stdout
    assert run.returncode != 0
