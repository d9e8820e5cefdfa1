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
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType
from typing import IO, Any

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key as _STDERR  # where the terminal is, whatever is captured

from harness.statuses import Status, fail

GRACE = 3.0
"""Seconds between the exception that ends a test and the end of its process."""

ISOLATED_TEST = "MM_CONFORMANCE_ISOLATED_TEST"
"""Environment: the one test that this process is for."""

OWN = "own"
"""The name of a process that is for one test."""
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
        excuse: Called with the report on a death, which may make less of it.
    """

    def __init__(self, config: pytest.Config, folder: Path, excuse: Callable[[pytest.TestReport], None]) -> None:
        self._config = config
        self._folder = folder
        self._excuse = excuse
        self._pid = os.getpid()
        self._is_worker = hasattr(config, "workerinput")
        self._crashed_idle = 0
        self._deadline = 0.0
        self._name: str | None = None
        self._last_words: IO[str] | None = None
        self._poisoned: str | None = None
        self._failed: set[str] = set()

    # In a process that runs tests

    def open_last_words(self) -> None:
        """In a process that another one watches: opens the file for last words, and offers itself when memory runs out."""
        self._name = os.environ["PYTEST_XDIST_WORKER"] if self._is_worker else OWN
        self._last_words = words_file(self._folder, self._name).open("w", encoding="utf-8")
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
        restore = _process_settings()
        try:
            return (yield)
        finally:
            restore()
            faulthandler.cancel_dump_traceback_later()
            self._deadline = 0.0
            self._note_deadline("")
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
        self._note_deadline(f"{os.getpid()} {self._deadline}")
        self._arm_hard_limit()
        return True

    def _note_deadline(self, text: str) -> None:
        # For who watches from outside: this process may be stopped, or have its watchdog called off by a test.
        if self._name is None:
            return
        with contextlib.suppress(OSError):  # a test may have removed the folder: the run ends with that
            deadline_file(self._folder, self._name).write_text(text, encoding="ascii")

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

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        """Lets no fixture end the run."""
        return (yield from self._guarded())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        """Lets no fixture end the run."""
        return (yield from self._guarded())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Lets no test end the run, and blames a fault of the device on the test that made it.

        A kernel fails after its launch has returned: without waiting for it, the next test would be blamed.
        """
        try:
            result = yield from self._guarded()
        finally:
            self._poisoned = device_fault()
        if self._poisoned is not None:
            pytest.fail(f"after this test {_POISONED}{self._poisoned}", pytrace=False)
        return result

    def _guarded(self) -> Generator[None, object, object]:
        try:
            return (yield)
        except (KeyboardInterrupt, pytest.exit.Exception) as error:
            if isinstance(error, KeyboardInterrupt) and not self._is_worker:
                raise  # somebody sits at the keyboard
            raise RaisedByTest(f"{type(error).__name__}: {error}; a test must not end the run") from error
        finally:
            if os.getpid() != self._pid:
                os._exit(1)  # a child that the test forked, and that came back from it: it has nothing to report

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
        elif call.when == "call" and self._poisoned is not None:
            fail(report, Status.FAILED)  # whatever was expected of it
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(self) -> Generator[None, Any, Any]:
        """Spells out what is no text, half a surrogate pair say: xdist could not send it, and all later reports with it."""
        return _sendable((yield))

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
            words = read_words(self._folder, node.gateway.id)
            pytest.exit(
                f"workers die before they run a test: {error}; look at what the last one said:\n{words or '(nothing)'}",
                returncode=pytest.ExitCode.INTERNAL_ERROR,
            )

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Tells what became of the test whose worker died: crashed, timed out, or reported already."""
        words = read_words(self._folder, report.node.gateway.id)
        if words.startswith(_POISONED) and crashitem in self._failed:
            report.outcome = "left"  # type: ignore[assignment]  # its failure is reported; this is no second one
            return
        status = Status.TIMED_OUT if ended_by_limit(words) else Status.CRASHED
        how = "did not come to an end within its limit" if status is Status.TIMED_OUT else "died"
        silent = "without a word, as one does that is killed (out of memory?) or that calls os._exit"
        report.longrepr = f"the process that ran {crashitem} {how}, {f'and said:{chr(10)}{words}' if words else silent}"
        fail(report, status)
        self._excuse(report)


def _process_settings() -> Callable[[], None]:
    """What a test can leave changed to the harm of the next one.

    Returns:
        A function that sets it back.
    """
    torch: Any = sys.modules.get("torch")
    depth = sys.getrecursionlimit()
    has_torch = torch is not None and hasattr(torch, "get_default_dtype")
    dtype, device = (torch.get_default_dtype(), torch.get_default_device()) if has_torch else (None, None)

    def restore() -> None:
        if sys.getrecursionlimit() != depth:
            sys.setrecursionlimit(depth)
        if has_torch and torch.get_default_dtype() is not dtype:
            torch.set_default_dtype(dtype)
        if has_torch and torch.get_default_device() != device:
            torch.set_default_device(device)

    return restore


def _sendable(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(data, dict):
        return {_sendable(name): _sendable(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(_sendable(value) for value in data)
    return data


def limit_of(item: pytest.Item) -> float | None:
    """The seconds that a test may take: its marker's, or ``--timeout``, or the configuration's; None without a limit."""
    marker = item.get_closest_marker("timeout")
    value = (marker.args[0] if marker.args else marker.kwargs.get("timeout")) if marker else None
    if value is None:
        settings = item.config.getoption("timeout", None), os.environ.get("PYTEST_TIMEOUT"), item.config.getini("timeout")
        value = next((value for value in settings if value), None)
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


def words_file(folder: Path, name: str) -> Path:
    """Where a process of a run leaves its last words."""
    return folder / "workers" / f"{name}.txt"


def deadline_file(folder: Path, name: str) -> Path:
    """Where a process of a run says when, by the monotonic clock, its test must be over: ``PID SECONDS``, or nothing."""
    return folder / "workers" / f"{name}.deadline"


def read_words(folder: Path, name: str) -> str:
    """What a process said last; nothing if it did not say anything."""
    try:
        return words_file(folder, name).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def ended_by_limit(words: str) -> bool:
    """Whether the last words are those of a process that was ended at its test's limit."""
    # The first line of faulthandler's dump: 'Timeout (0:00:05)!'
    return any(line.startswith("Timeout (") and line.endswith(")!") for line in words.splitlines())


def end_if_late(folder: Path, name: str) -> bool:
    """Kills a process of a run that has outlived the deadline of its test, and its own watchdog.

    Returns:
        Whether it was killed.
    """
    try:
        pid, _, deadline = deadline_file(folder, name).read_text(encoding="ascii").partition(" ")
        if not deadline or time.monotonic() < float(deadline) + 1:
            return False
        deadline_file(folder, name).write_text("", encoding="ascii")
        with words_file(folder, name).open("a", encoding="utf-8") as words:
            words.write("\nTimeout (from outside)!\n")
        os.kill(int(pid), signal.SIGKILL)
    except (OSError, ValueError):
        return False
    return True


class Watch(threading.Thread):
    """In the controller: ends workers that are late and cannot end themselves."""

    def __init__(self, folder: Path) -> None:
        super().__init__(name="watch", daemon=True)
        self._folder = folder
        self._over = threading.Event()

    def run(self) -> None:
        """Looks around twice a second."""
        while not self._over.wait(0.5):
            for file in (self._folder / "workers").glob("*.deadline"):
                end_if_late(self._folder, file.stem)

    def end(self) -> None:
        """Stops looking."""
        self._over.set()
        self.join()
