"""One bad test hurts no other: hangs are ended, dead workers told apart, poisoned devices left, processes kept apart.

A test's limit is pytest-timeout's (``--timeout``, the marker, ``TIMEOUT`` in a list). When it is over, an exception ends
the test; where none can, because the test holds the GIL or never returns from native code, the process is ended
:data:`GRACE` seconds later by faulthandler, whose watchdog is a thread without Python.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import IO, Any

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key as _STDERR  # where the terminal is, whatever is captured

from harness.records import RecordError, read_events
from harness.statuses import Status, fail

GRACE = 3.0
"""Seconds between the exception that ends a test and the end of its process."""

START_UP = 180.0
"""Seconds that a process of a test's own may take to get to it."""

ISOLATED_TEST = "MM_CONFORMANCE_ISOLATED_TEST"
"""Environment: the one test that this process is for."""
ISOLATED_FOLDER = "MM_CONFORMANCE_ISOLATED_FOLDER"
"""Environment: where it leaves its records."""

_OWN = "own"
_POISONED = "the device cannot be used any more: "


class TimedOut(BaseException):
    """A test took longer than its limit. No Exception: Hypothesis would take it for a failure, and try again."""


class RaisedByTest(Exception):
    """A test raised what would end the run: KeyboardInterrupt, or pytest's Exit."""


class Isolation:
    """The plugin in each process that runs tests, and in the controller of xdist's workers.

    Args:
        config: pytest's.
        folder: Of the run: ``workers/`` in it takes what a dying process has to say.
    """

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._config = config
        self._folder = folder
        self._is_worker = hasattr(config, "workerinput")
        self._crashed_idle = 0
        self._deadline = 0.0
        self._last_words: IO[str] | None = None
        self._poisoned: str | None = None
        self._failed: set[str] = set()

    # In a process that runs tests

    def open_last_words(self) -> None:
        """In a process that another one watches: opens the file for last words, and offers itself when memory runs out."""
        name = os.environ["PYTEST_XDIST_WORKER"] if self._is_worker else _OWN
        self._last_words = _words_of(self._folder, name).open("w", encoding="utf-8")
        faulthandler.enable(self._last_words)
        with contextlib.suppress(OSError):
            # The worker has eaten the memory: it shall die of it, not the controller with everybody's verdicts.
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Around everything that belongs to a test: the hard limit, and leaving a poisoned device."""
        if self._last_words is not None:
            self._last_words.seek(0)
            self._last_words.truncate()
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()
            self._deadline = 0.0
            if self._poisoned is not None:
                self._leave(item)

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> bool:
        """Arms both limits, in the place of pytest-timeout's own."""
        if item.get_closest_marker("isolated") and ISOLATED_TEST not in os.environ:
            return True  # the test's own process does
        limit = float(settings.timeout)

        def end(_signal: int, _frame: FrameType | None) -> None:
            raise TimedOut(f"{item.nodeid} took longer than its limit of {limit:g} s")

        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGALRM, end)
            signal.setitimer(signal.ITIMER_REAL, limit)
        self._deadline = time.monotonic() + limit + GRACE
        self._arm_hard_limit()
        return True

    def _arm_hard_limit(self) -> None:
        seconds = max(self._deadline - time.monotonic(), 0.01)
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._last_words or self._config.stash[_STDERR])

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self) -> None:
        """Arms the hard limit again, which pytest disarms where a test fails: its fixtures may hang yet."""
        if self._deadline and not self._config.option.usepdb:
            self._arm_hard_limit()

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_timeout_cancel_timer(self, item: pytest.Item) -> bool:
        """Disarms the exception. The hard limit stays until the test's last fixture is gone."""
        if threading.current_thread() is threading.main_thread():
            signal.setitimer(signal.ITIMER_REAL, 0)
        return True

    def pytest_enter_pdb(self) -> None:
        """Nobody is hurried who looks for a fault."""
        faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Lets no test end the run, and blames a fault of the device on the test that made it.

        A kernel fails after its launch has returned: without waiting for it, the next test would be blamed.
        """
        try:
            result = yield
        except (KeyboardInterrupt, pytest.exit.Exception) as error:
            if isinstance(error, KeyboardInterrupt) and not self._is_worker:
                raise  # somebody sits at the keyboard
            self._poisoned = device_fault()
            raise RaisedByTest(f"{type(error).__name__}: {error}; a test must not end the run") from error
        except BaseException:
            self._poisoned = device_fault()
            raise
        self._poisoned = device_fault()
        if self._poisoned is not None:
            pytest.fail(f"after this test {_POISONED}{self._poisoned}", pytrace=False)
        return result

    def _leave(self, item: pytest.Item) -> None:
        if self._last_words is None:
            item.session.shouldstop = f"{_POISONED}{self._poisoned}"
            return
        self._last_words.write(f"{_POISONED}{self._poisoned}\n")
        self._last_words.flush()
        os._exit(1)  # its reports are sent; xdist puts a fresh worker in its place

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Says of a test that it timed out, whatever else was expected of it."""
        report = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, TimedOut):
            fail(report, Status.TIMED_OUT)
        return report

    # A process of a test's own

    @pytest.hookimpl(specname="pytest_runtest_protocol")
    def pytest_runtest_protocol_isolated(self, item: pytest.Item) -> bool | None:
        """Runs a test of an ISOLATION entry in a process of its own, and hands on what that one reports."""
        if not item.get_closest_marker("isolated") or ISOLATED_TEST in os.environ:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports_of_own_process(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _reports_of_own_process(self, item: pytest.Item) -> list[pytest.TestReport]:
        index = item.session.items.index(item)
        folder = self._folder / "isolated" / str(index)
        (folder / "workers").mkdir(parents=True)
        args = [str(arg) for arg in self._config.invocation_params.args]
        end = args.index("--") if "--" in args else len(args)
        command = [sys.executable, "-m", "pytest", *args[:end], "-n0", *args[end:]]
        environment = {**os.environ, ISOLATED_TEST: item.nodeid, ISOLATED_FOLDER: str(folder)}
        limit = limit_of(item)
        began = time.time()
        with (folder / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environment,
                cwd=self._config.invocation_params.dir,
            )
            try:
                process.wait(None if limit is None else START_UP + limit + GRACE)
                late = False
            except subprocess.TimeoutExpired:
                late = True
                process.kill()
                process.wait()
        reports = list(self._read_reports(folder, item.nodeid))
        if not reports or reports[-1].when != "teardown":
            words = _read_words(folder, _OWN)
            said = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
            message = f"the process of {item.nodeid} ended with status {process.returncode}, before its test did"
            status = Status.TIMED_OUT if late or _ended_by_limit(words) else Status.CRASHED
            if not reports and process.returncode in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
                status = Status.HARNESS_ERROR
            reports.append(
                _report(item.nodeid, item.location, f"{message}\n{words}\n{said[-4000:]}", status, time.time() - began)
            )
        return reports

    def _read_reports(self, folder: Path, node_id: str) -> Generator[pytest.TestReport, None, None]:
        try:
            for event in read_events(folder):
                if event.get("$report_type") == "TestReport" and event.get("nodeid") == node_id:
                    yield self._config.hook.pytest_report_from_serializable(config=self._config, data=event)
        except RecordError:
            return  # it did not get as far: its output says why

    # In the controller

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remembers what failed: a worker that then leaves a poisoned device has no crash to report."""
        self._crashed_idle = 0
        if report.failed:
            self._failed.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Ends a run whose workers die before they get to a test, again and again."""
        if error is None:
            return
        self._crashed_idle += 1
        if self._crashed_idle > 3:
            words = _read_words(self._folder, node.gateway.id)
            pytest.exit(
                f"workers die before they run a test: {error}; look at what the last one said:\n{words or '(nothing)'}",
                returncode=pytest.ExitCode.INTERNAL_ERROR,
            )

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Tells what became of the test whose worker died: crashed, timed out, or reported already."""
        words = _read_words(self._folder, report.node.gateway.id)
        if words.startswith(_POISONED) and crashitem in self._failed:
            report.outcome = "left"  # type: ignore[assignment]  # its failure is reported; this is no second one
            return
        status = Status.TIMED_OUT if _ended_by_limit(words) else Status.CRASHED
        how = "did not come to an end within its limit" if status is Status.TIMED_OUT else "died"
        silent = "without a word, as one does that is killed (out of memory?) or that calls os._exit"
        report.longrepr = f"the process that ran {crashitem} {how}, {f'and said:{chr(10)}{words}' if words else silent}"
        fail(report, status)


def limit_of(item: pytest.Item) -> float | None:
    """The seconds that a test may take: its marker's, or ``--timeout``, or the configuration's; None without a limit."""
    marker = item.get_closest_marker("timeout")
    value = (marker.args[0] if marker.args else marker.kwargs.get("timeout")) if marker else None
    if value is None:
        value = item.config.getoption("timeout", None) or item.config.getini("timeout") or None
    return float(value) if value else None


def device_fault() -> str | None:
    """Waits for the device and tries a tiny allocation, in a process that uses one.

    Returns:
        What is wrong with the device; None if nothing is, or if it was never used.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    try:
        torch.cuda.synchronize()
        torch.empty(1, device="cuda").fill_(0)
        torch.cuda.synchronize()
    except Exception as error:  # RuntimeError, AcceleratorError, OutOfMemoryError: none of them goes on
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return None


def _report(
    node_id: str, location: tuple[str, int | None, str], message: str, status: Status, seconds: float
) -> pytest.TestReport:
    report = pytest.TestReport(
        nodeid=node_id,
        location=location,
        keywords={},
        outcome="failed",
        longrepr=message,
        when="call",
        duration=seconds,
    )
    fail(report, status)
    return report


def _words_of(folder: Path, worker: str) -> Path:
    return folder / "workers" / f"{worker}.txt"


def _read_words(folder: Path, worker: str) -> str:
    try:
        return _words_of(folder, worker).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _ended_by_limit(words: str) -> bool:
    # The first line of faulthandler's dump: 'Timeout (0:00:05)!'
    return any(line.startswith("Timeout (") and line.endswith(")!") for line in words.splitlines())
