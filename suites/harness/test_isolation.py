"""One bad test hurts no other. Each of these ends a process, or a run, where nobody looks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from suites.harness.conftest import result_of, run_folders, statuses

Project = Callable[..., pytest.Pytester]

HEAD = "import itertools, os, signal, sys, time\nimport pytest\n"
AFTER = "\ndef test_after(): pass\n"

PROCESS = f"{HEAD}def test_here(): open('here', 'w').write(str(os.getpid()))\n"

ENDS = {
    "a segmentation fault": ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed"),
    "the kernel, out of memory": ("os.kill(os.getpid(), signal.SIGKILL)", "crashed"),
    "an exit without a word": ("os._exit(0)", "crashed"),
    "an exit with an exception": ("sys.exit(0)", "failed"),
    "an end of the whole run": ("pytest.exit('enough')", "failed"),
    "somebody's Ctrl-C": ("raise KeyboardInterrupt", "failed"),
    "no memory for an allocation": ("bytearray(1 << 60)", "failed"),
    "a wait that never ends": ("time.sleep(1000)", "timed out"),
    "a loop that holds the GIL": ("sum(itertools.repeat(0, 10**15))", "timed out"),
}


OUT_OF_REACH = {
    "a process that is stopped": "os.kill(os.getpid(), signal.SIGSTOP)",
    "a test that calls the watchdog off": (
        "import faulthandler\n    faulthandler.cancel_dump_traceback_later()\n"
        "    signal.signal(signal.SIGALRM, signal.SIG_IGN)\n    time.sleep(1000)"
    ),
}


@pytest.mark.parametrize("kind", OUT_OF_REACH)
@pytest.mark.parametrize("entry", ["suites", "suites ISOLATION"])
def test_a_test_out_of_reach_of_its_own_process_is_ended_from_outside(project: Project, kind: str, entry: str) -> None:
    made = project(f"{HEAD}def test_it():\n    {OUT_OF_REACH[kind]}\n{AFTER}", (entry,))
    made.runpytest_subprocess("-n1", "--timeout=1", "-m", "l0_x", timeout=120)
    assert statuses(made) == {"test_it": "timed out", "test_after": "passed"}


def test_a_thread_that_outlives_an_isolated_test_does_not_hold_up_the_run(project: Project) -> None:
    body = "import threading\n    threading.Thread(target=time.sleep, args=(1000,)).start()"
    made = project(f"{HEAD}def test_it():\n    {body}\n{AFTER}", ("suites/test_it.py::test_it ISOLATION", "suites"))
    made.runpytest_subprocess("-n0", "--timeout=5", "-m", "l0_x", timeout=120)
    assert statuses(made) == {"test_it": "timed out", "test_after": "passed"}


@pytest.mark.parametrize("where", ["setup", "teardown"])
@pytest.mark.parametrize("end", ["pytest.exit('enough')", "raise KeyboardInterrupt"])
def test_a_fixture_cannot_end_the_run(project: Project, where: str, end: str) -> None:
    body = f"    {end}\n    yield\n" if where == "setup" else f"    yield\n    {end}\n"
    made = project(f"{HEAD}@pytest.fixture\ndef held():\n{body}def test_it(held): pass\n{AFTER}")
    made.runpytest_subprocess("-n1", timeout=120)
    assert statuses(made) == {"test_it": "harness error", "test_after": "passed"}


NASTY = {
    "a picture of its own": "class Nasty(Exception): picture = object()",
    "a picture that is none": "class Nasty(Exception): picture = 'x'",
    "no words": "class Nasty(Exception):\n    def __str__(self): raise ValueError",
    "strange notes": "class Nasty(Exception): __notes__ = [1, None]",
}


@pytest.mark.parametrize("kind", NASTY)
def test_an_exception_is_only_an_exception(project: Project, kind: str) -> None:
    waives = "suites/test_it.py::test_waived XFAIL (https://bugs.example/1)\n"
    tests = f"{HEAD}{NASTY[kind]}\ndef test_it(): raise Nasty\ndef test_waived(): raise Nasty\n{AFTER}"
    made = project(tests, waives=waives)
    made.runpytest_subprocess("-n1", timeout=120)
    assert statuses(made) == {"test_it": "failed", "test_waived": "waived", "test_after": "passed"}


def test_an_isolated_test_writes_over_nothing_of_its_run(project: Project) -> None:
    made = project(f"{PROCESS}def test_own(): pass\n", ("suites", "suites/test_it.py::test_own ISOLATION"))
    given = ["--report-log=log.jsonl", "--junitxml", "junit.xml"]
    made.runpytest_subprocess("-m", "l0_x", "-n0", *given, timeout=120).assert_outcomes(passed=2)
    for name in ("log.jsonl", "junit.xml"):
        assert "test_here" in (made.path / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ENDS)
def test_a_test_that_ends_its_process_has_one_verdict_and_the_next_its_own(project: Project, kind: str) -> None:
    body, status = ENDS[kind]
    made = project(f"{HEAD}def test_it():\n    {body}\n{AFTER}")
    run = made.runpytest_subprocess("-n1", "--timeout=1", "-m", "l0_x", timeout=120)
    assert statuses(made) == {"test_it": status, "test_after": "passed"}
    assert run.ret == pytest.ExitCode.TESTS_FAILED


def test_a_test_that_swallows_the_end_of_its_time_is_ended_all_the_same(project: Project) -> None:
    body = "while True:\n        try:\n            time.sleep(1000)\n        except BaseException:\n            pass\n"
    made = project(f"{HEAD}def test_it():\n    {body}\n{AFTER}")
    made.runpytest_subprocess("-n1", "--timeout=1", timeout=120)
    assert statuses(made) == {"test_it": "timed out", "test_after": "passed"}


def test_a_hang_behind_a_failure_is_ended_too(project: Project) -> None:
    """pytest-timeout's own timer is off once a test has failed."""
    fixture = "@pytest.fixture\ndef held():\n    yield\n    time.sleep(1000)\n"
    made = project(f"{HEAD}{fixture}def test_it(held):\n    assert False\n{AFTER}")
    made.runpytest_subprocess("-n1", "--timeout=1", timeout=120)
    assert statuses(made) == {"test_it": "timed out", "test_after": "passed"}


def test_an_example_that_hangs_is_not_tried_again(project: Project) -> None:
    """Hypothesis would take an ordinary exception for a failure of the example, and shrink it."""
    tests = (
        f"{HEAD}from hypothesis import given, settings, strategies as st\n"
        "@settings(database=None)\n@given(st.integers())\ndef test_it(n):\n    assert not os.path.exists('seen')\n"
        "    open('seen', 'w').close()\n    time.sleep(1000)\n"
    )
    made = project(tests + AFTER)
    made.runpytest_subprocess("-n1", "--timeout=1", timeout=120)
    assert statuses(made) == {"test_it": "timed out", "test_after": "passed"}


LEFT_BEHIND = {
    "half a surrogate pair in an error": "raise RuntimeError('bad \\udcff')",
    "a recursion limit": "sys.setrecursionlimit(80)",
    "a child that goes on as a worker": "os.fork()",
}


@pytest.mark.parametrize("kind", LEFT_BEHIND)
def test_what_a_test_leaves_behind_hurts_no_other(project: Project, kind: str) -> None:
    made = project(f"{HEAD}def test_it():\n    {LEFT_BEHIND[kind]}\n{AFTER}")
    made.runpytest_subprocess("-n1", "-m", "l0_x", "--show-capture=no", "--tb=no", timeout=120)
    found = statuses(made)
    assert found["test_after"] == "passed"
    assert found["test_it"] == ("failed" if "raise" in LEFT_BEHIND[kind] else "passed")


def test_a_default_of_torch_is_set_back(project: Project) -> None:
    tests = (
        "import torch\ndef test_it():\n    torch.set_default_dtype(torch.float64)\n    torch.set_default_device('meta')\n"
        "def test_after(): assert (torch.ones(1).dtype, torch.ones(1).device.type) == (torch.float32, 'cpu')\n"
    )
    made = project(tests)
    made.runpytest_subprocess("-n0", timeout=120)
    assert statuses(made) == {"test_it": "passed", "test_after": "passed"}


def test_what_a_dying_process_said_is_in_its_failure(project: Project) -> None:
    made = project(f"{HEAD}def test_it():\n    os.kill(os.getpid(), signal.SIGSEGV)\n")
    made.runpytest_subprocess("-n1", timeout=120)
    (test,) = result_of(run_folders(made)[-1]).tests
    assert test.failure is not None
    assert "Segmentation fault" in test.failure.text
    assert "in test_it" in test.failure.text


def test_a_crash_in_the_last_fixture_outweighs_a_pass(project: Project) -> None:
    fixture = "@pytest.fixture\ndef held():\n    yield\n    os._exit(1)\n"
    made = project(f"{HEAD}{fixture}def test_it(held): pass\n{AFTER}")
    made.runpytest_subprocess("-n1", timeout=120)
    assert statuses(made) == {"test_it": "crashed", "test_after": "passed"}


def test_every_test_may_crash_and_each_is_named(project: Project) -> None:
    """H17: restarts do not run out, and no test is started twice."""
    tests = "@pytest.mark.parametrize('n', range(6))\ndef test_it(n):\n    open(f'{n}', 'x').close()\n    os._exit(1)\n"
    made = project(f"{HEAD}{tests}{AFTER}")
    made.runpytest_subprocess("-n1", timeout=240)
    assert statuses(made) == {**{f"test_it[{n}]": "crashed" for n in range(6)}, "test_after": "passed"}


def test_workers_that_die_before_any_test_end_the_run(project: Project) -> None:
    made = project("def test_it(): pass\n")
    with (made.path / "conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(
            "\nimport os\ndef pytest_collection(): \n    os._exit(7) if 'PYTEST_XDIST_WORKER' in os.environ else 0\n"
        )
    run = made.runpytest_subprocess("-n1", timeout=240)
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR
    assert "workers die before they run a test" in run.stdout.str() + run.stderr.str()


def test_a_fixture_that_fails_is_no_fault_of_the_implementation(project: Project) -> None:
    made = project(f"{HEAD}@pytest.fixture\ndef broken(): raise OSError\ndef test_it(broken): pass\n{AFTER}")
    run = made.runpytest_inprocess()
    assert statuses(made) == {"test_it": "harness error", "test_after": "passed"}
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR


def test_what_hypothesis_refuses_is_no_fault_of_the_implementation(project: Project) -> None:
    tests = "from hypothesis import assume, given, strategies as st\n@given(st.integers())\ndef test_it(n): assume(False)\n"
    made = project(tests + AFTER)
    assert made.runpytest_inprocess().ret == pytest.ExitCode.INTERNAL_ERROR
    assert statuses(made) == {"test_it": "harness error", "test_after": "passed"}


DEVICE = """
import sys, types
class Cuda:
    broken = False
    def is_initialized(self): return True
    def synchronize(self):
        if self.broken: raise RuntimeError("CUDA error: an illegal memory access was encountered")
class Tensor:
    def fill_(self, value): return self
cuda = Cuda()
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda, empty=lambda *a, **k: Tensor())
"""
POISON = DEVICE + "def test_before(): pass\ndef test_it():\n    cuda.broken = True\n"


@pytest.mark.parametrize("end", ["pass", "assert False"])
def test_a_poisoned_device_is_blamed_on_the_test_that_did_it_and_left(project: Project, end: str) -> None:
    """H20: a kernel fails after its launch; who comes next is innocent, and gets a fresh process."""
    made = project(f"{POISON}    {end}\n{AFTER}")
    run = made.runpytest_subprocess("-n1", timeout=120)
    assert statuses(made) == {"test_before": "passed", "test_it": "failed", "test_after": "passed"}
    assert run.parseoutcomes() == {"failed": 1, "passed": 2}


@pytest.mark.cuda("a real one is poisoned")
def test_a_real_device_is_left_as_well(project: Project) -> None:
    tests = (
        "import torch\ndef works(): assert torch.ones(1, device='cuda').item() == 1\ndef test_before(): works()\n"
        "def test_it(): torch.zeros(4, device='cuda')[torch.tensor([10], device='cuda')]\ndef test_after(): works()\n"
    )
    made = project(tests)
    made.runpytest_subprocess("-n1", timeout=240)
    assert statuses(made) == {"test_before": "passed", "test_it": "failed", "test_after": "passed"}


def test_without_workers_a_poisoned_device_ends_the_run(project: Project) -> None:
    made = project(f"{POISON}{AFTER}")
    assert made.runpytest_subprocess("-n0").ret == pytest.ExitCode.INTERRUPTED
    assert statuses(made) == {"test_before": "passed", "test_it": "failed", "test_after": "not finished"}


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_an_entry_with_isolation_runs_in_a_process_of_its_own(project: Project, workers: str) -> None:
    """H14: an id with blanks and quotes arrives there as it is."""
    own = "@pytest.mark.parametrize('x', ['x y-\"q\" #$(1)'])\ndef test_own(x): open('own', 'w').write(str(os.getpid()))\n"
    entries = ("suites", 'suites/test_it.py::test_own[x y-"q" #$(1)] ISOLATION')
    made = project(PROCESS + own, entries)
    made.runpytest_subprocess("-m", "l0_x", workers, timeout=120).assert_outcomes(passed=2)
    assert (made.path / "here").read_text() != (made.path / "own").read_text()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("os._exit(0)", "crashed"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed"),
        ("time.sleep(1000)", "timed out"),
        ("sum(itertools.repeat(0, 10**15))", "timed out"),
        ("assert False", "failed"),
        ("from harness.statuses import not_claimed; not_claimed('x')", "not claimed"),
    ],
)
def test_what_an_isolated_test_does_is_told_as_of_any_other(project: Project, body: str, status: str) -> None:
    made = project(f"{HEAD}def test_it():\n    {body}\n{AFTER}", ("suites ISOLATION",))
    made.runpytest_subprocess("-m", "l0_x", "-n0", "--timeout=1", timeout=120)
    assert statuses(made) == {"test_it": status, "test_after": "passed"}


def test_a_limit_of_a_list_is_in_minutes_and_holds_where_the_list_runs(project: Project) -> None:
    """Of several the longest."""
    entries = ("suites TIMEOUT (5)", "suites/test_it.py TIMEOUT (90)", "suites/test_it.py::test_it TIMEOUT (10)")
    made = project("import pytest\n@pytest.mark.timeout(7)\ndef test_it(): pass\n", entries)
    made.runpytest_inprocess("-m", "l0_x")
    made.runpytest_inprocess()
    assert [result_of(folder).manifest.tests[0].limit for folder in run_folders(made)] == [5400, 7]
