"""Waived tests: skipped, expected to fail, or run all the same to see how they do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from suites.harness.conftest import result_of, run_folders, statuses

Project = Callable[..., pytest.Pytester]

LINK = "https://bugs.example/1"
PROPERTY = (
    "from hypothesis import given, settings, strategies as st\n"
    "@settings(database=None, print_blob=True, derandomize=True)\n@given(st.integers(0, 1000))\n"
    "def test_it(n): assert n < LIMIT, f'{n} is over the limit'\n"
)


def _waive(rest: str) -> str:
    return f"suites/test_it.py::test_it {rest}\n"


def _blob(project: Project) -> str:
    """The example that makes :data:`PROPERTY` fail, as a run prints it."""
    made = project(PROPERTY.replace("LIMIT", "100"))
    made.runpytest_inprocess()
    (test,) = result_of(run_folders(made)[-1]).tests
    assert test.failure is not None
    return test.failure.replay.rsplit("--example ", 1)[1]


def test_what_is_expected_to_fail_and_does_is_waived(project: Project) -> None:
    made = project("def test_it(): assert False\n", waives=_waive(f"XFAIL ({LINK})"))
    assert made.runpytest_inprocess().ret == pytest.ExitCode.OK
    assert statuses(made) == {"test_it": "waived"}


def test_what_is_expected_to_fail_and_passes_is_a_failure_that_names_the_line(project: Project) -> None:
    """H11."""
    made = project("def test_it(): pass\n", waives="\n" + _waive(f"XFAIL ({LINK})"))
    run = made.runpytest_inprocess()
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    assert statuses(made) == {"test_it": "unexpected pass"}
    run.stdout.fnmatch_lines(["*it passes now: delete line 2 of waives.txt: suites/test_it.py::test_it XFAIL*"])


def test_a_failure_of_another_kind_than_the_waived_one_is_a_failure(project: Project) -> None:
    """H07."""
    made = project("def test_it(): raise OSError('disk')\n", waives=_waive(f"XFAIL ({LINK}) error=AssertionError"))
    assert made.runpytest_inprocess().ret == pytest.ExitCode.TESTS_FAILED
    assert statuses(made) == {"test_it": "failed"}


def test_a_broken_fixture_is_not_what_was_waived(project: Project) -> None:
    tests = "import pytest\n@pytest.fixture\ndef broken(): raise OSError\ndef test_it(broken): pass\n"
    made = project(tests, waives=_waive(f"XFAIL ({LINK})"))
    made.runpytest_inprocess()
    assert statuses(made) == {"test_it": "harness error"}


def test_a_hang_is_not_what_was_waived(project: Project) -> None:
    made = project("import time\ndef test_it(): time.sleep(1000)\n", waives=_waive(f"XFAIL ({LINK})"))
    made.runpytest_subprocess("--timeout=1")
    assert statuses(made) == {"test_it": "timed out"}


@pytest.mark.parametrize(("limit", "status"), [(100, "waived"), (500, "unexpected pass"), (2000, "unexpected pass")])
def test_a_random_property_is_judged_by_its_pinned_example(
    project: Project, pytester: pytest.Pytester, limit: int, status: str
) -> None:
    """With a limit of 500 the search still fails: its failures are waived, and the example that was pinned is healed."""
    blob = _blob(project)
    (pytester.path / "suites" / "test_it.py").write_text(PROPERTY.replace("LIMIT", str(limit)), encoding="utf-8")
    (pytester.path / "waives.txt").write_text(_waive(f"XFAIL ({LINK}) example={blob}"), encoding="utf-8")
    run = pytester.runpytest_inprocess()
    assert statuses(pytester) == {"test_it": status}
    assert ("passes now, but the search still fails: pin what it found" in run.stdout.str()) == (limit == 500)


def test_an_example_that_is_none_is_an_error_of_the_suite(project: Project) -> None:
    made = project(PROPERTY.replace("LIMIT", "100"), waives=_waive(f"XFAIL ({LINK}) example=nonsense"))
    assert made.runpytest_inprocess().ret == pytest.ExitCode.INTERNAL_ERROR
    assert statuses(made) == {"test_it": "harness error"}


def test_a_random_property_without_a_pinned_example_cannot_be_expected_to_fail(project: Project) -> None:
    run = project(PROPERTY.replace("LIMIT", "100"), waives=_waive(f"XFAIL ({LINK})")).runpytest_inprocess()
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*waives.txt:1: unpinned-xfail: *"])


def test_one_example_can_be_run_alone(project: Project, pytester: pytest.Pytester) -> None:
    blob = _blob(project)
    run = pytester.runpytest_inprocess("--example", blob)
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.stdout.fnmatch_lines(["*100 is over the limit*"])
    (pytester.path / "suites" / "test_it.py").write_text(PROPERTY.replace("LIMIT", "101"), encoding="utf-8")
    assert pytester.runpytest_inprocess("--example", blob).ret == pytest.ExitCode.OK
    (test,) = result_of(run_folders(pytester)[-1]).tests
    assert test.examples == 1


def test_a_state_machine_is_pinned_as_any_property(project: Project, pytester: pytest.Pytester) -> None:
    tests = (
        "import pytest\nfrom hypothesis import settings, strategies as st\n"
        "from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test\n"
        "class Machine(RuleBasedStateMachine):\n    @rule(n=st.integers(0, 1000))\n    def add(self, n): assert n < LIMIT\n"
        "@pytest.mark.stateful\ndef test_it(): run_state_machine_as_test(Machine, settings=settings(\n"
        "    database=None, print_blob=True, derandomize=True))\n"
    )
    made = project(tests.replace("LIMIT", "100"))
    made.runpytest_inprocess()
    (test,) = result_of(run_folders(made)[-1]).tests
    assert test.failure is not None
    assert test.examples is not None
    assert test.examples > 1
    blob = test.failure.replay.rsplit("--example ", 1)[1]
    (pytester.path / "waives.txt").write_text(_waive(f"XFAIL ({LINK}) example={blob}"), encoding="utf-8")
    for limit, status in ((100, "waived"), (2000, "unexpected pass")):
        (pytester.path / "suites" / "test_it.py").write_text(tests.replace("LIMIT", str(limit)), encoding="utf-8")
        pytester.runpytest_inprocess()
        assert statuses(pytester) == {"test_it": status}


@pytest.mark.parametrize("marker", ["SKIP", "XFAIL"])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("pass", "passes now"),
        ("assert 1 == 2", "same failure: AssertionError*"),
        ("raise OSError('disk')", "other failure: OSError: disk"),
    ],
)
def test_waived_tests_can_be_run_and_block_nothing(project: Project, marker: str, body: str, said: str) -> None:
    """H07: a test that nobody runs breaks unseen."""
    waives = _waive(f"{marker} ({LINK}) error=AssertionError")
    made = project(f"def test_it(): {body}\ndef test_after(): pass\n", waives=waives)
    run = made.runpytest_inprocess("--run-waived")
    assert run.ret == pytest.ExitCode.OK
    assert statuses(made) == {"test_it": "skipped by waiver", "test_after": "passed"}
    run.stdout.fnmatch_lines([f"waives.txt:1: suites/test_it.py::test_it {marker}*: {said}"])


def test_without_an_error_to_compare_with_a_waived_failure_is_shown(project: Project) -> None:
    made = project("def test_it(): assert 1 == 2\ndef test_after(): pass\n", waives=_waive(f"SKIP ({LINK})"))
    made.runpytest_inprocess("--run-waived").stdout.fnmatch_lines(["*: fails, and the line has no error=*AssertionError*"])


def test_a_waived_test_that_kills_its_worker_blocks_nothing_either(project: Project) -> None:
    tests = "import os\ndef test_it(): os._exit(1)\ndef test_after(): pass\n"
    made = project(tests, waives=_waive(f"SKIP ({LINK})"))
    run = made.runpytest_subprocess("--run-waived", "-n1", timeout=120)
    assert run.ret == pytest.ExitCode.OK
    assert statuses(made) == {"test_it": "skipped by waiver", "test_after": "passed"}
    run.stdout.fnmatch_lines(["*: other failure: the process that ran *"])


def test_waived_tests_can_be_chosen(project: Project) -> None:
    made = project("def test_it(): pass\ndef test_after(): pass\n", waives=_waive(f"SKIP ({LINK})"))
    made.runpytest_inprocess("-m", "waived", "--run-waived").assert_outcomes(skipped=1, deselected=1)


def test_a_waiver_can_change_a_limit(project: Project) -> None:
    made = project("def test_it(): pass\n", waives=_waive(f"TIMEOUT (3) owner=mask ({LINK})".replace(f" ({LINK})", "")))
    made.runpytest_inprocess()
    assert result_of(run_folders(made)[-1]).manifest.tests[0].limit == 180


def test_a_crash_of_a_test_that_is_only_given_more_time_is_a_crash(project: Project) -> None:
    made = project("import os\ndef test_it(): os._exit(1)\ndef test_after(): pass\n", waives=_waive("TIMEOUT (5)"))
    assert made.runpytest_subprocess("--run-waived", "-n1", timeout=120).ret == pytest.ExitCode.TESTS_FAILED
    assert statuses(made) == {"test_it": "crashed", "test_after": "passed"}


def test_a_waived_test_in_a_process_of_its_own_blocks_nothing_either(project: Project) -> None:
    made = project(
        "import os\ndef test_it(): os._exit(1)\ndef test_after(): pass\n",
        ("suites", "suites/test_it.py::test_it ISOLATION"),
        waives=_waive(f"SKIP ({LINK})"),
    )
    assert made.runpytest_subprocess("-m", "l0_x", "--run-waived", "-n0", timeout=120).ret == pytest.ExitCode.OK
    assert statuses(made) == {"test_it": "skipped by waiver", "test_after": "passed"}


def test_a_flaky_implementation_is_at_fault_not_the_suite(project: Project) -> None:
    tests = (
        "from hypothesis import given, settings, strategies as st\nseen = []\n"
        "@settings(database=None)\n@given(st.integers())\ndef test_it(n):\n    seen.append(n)\n    assert len(seen) != 5\n"
    )
    made = project(tests)
    made.runpytest_inprocess()
    assert statuses(made) == {"test_it": "failed"}


def test_an_example_that_is_none_is_refused(project: Project) -> None:
    made = project(PROPERTY.replace("LIMIT", "2000"))
    assert made.runpytest_inprocess("--example", "nonsense").ret == pytest.ExitCode.INTERNAL_ERROR
    assert statuses(made) == {"test_it": "harness error"}


def test_an_example_that_ends_the_run_ends_only_its_test(project: Project, pytester: pytest.Pytester) -> None:
    blob = _blob(project)
    body = PROPERTY.replace("assert n < LIMIT, f'{n} is over the limit'", "pytest.exit('enough')")
    (pytester.path / "suites" / "test_it.py").write_text(
        f"import pytest\n{body}\ndef test_after(): pass\n", encoding="utf-8"
    )
    (pytester.path / "waives.txt").write_text(_waive(f"XFAIL ({LINK}) example={blob}"), encoding="utf-8")
    pytester.runpytest_subprocess("-n1", timeout=120)
    assert statuses(pytester)["test_after"] == "passed"
