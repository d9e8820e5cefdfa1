"""A process of its own for each test of an ISOLATION entry."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.isolation import GRACE, ISOLATED_TEST, OWN, end_if_late, ended_by_limit, read_words
from harness.records import RecordError, read_events
from harness.statuses import Status, fail

ISOLATED_FOLDER = "MM_CONFORMANCE_ISOLATED_FOLDER"
"""Environment: where the process leaves its records."""

START_UP = 180.0
"""Seconds that a process may take to get to its test."""

SHUT_DOWN = 20.0
"""Seconds that it may take to end behind its last report: on a machine under load an interpreter takes several."""

_OUTPUTS = ("--report-log", "--junitxml", "--junit-xml", "--benchmark-json", "--durations-path", "--cov-report", "--html")
_SWITCHES = ("--store-durations", "--clean-durations")
"""What the process must not write: it would overwrite what the run writes."""


class OwnProcess:
    """The plugin in each process that runs tests.

    Args:
        config: pytest's.
        folder: Of the run.
        excuse: Called with the report on a death, which may make less of it.
    """

    def __init__(self, config: pytest.Config, folder: Path, excuse: Callable[[pytest.TestReport], None]) -> None:
        self._config = config
        self._folder = folder
        self._excuse = excuse

    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Runs an isolated test, and hands on what its process reports."""
        if not item.get_closest_marker("isolated") or ISOLATED_TEST in os.environ:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._run(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _run(self, item: pytest.Item) -> list[pytest.TestReport]:
        folder = self._folder / "isolated" / str(item.session.items.index(item))
        (folder / "workers").mkdir(parents=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST_")}
        environment |= {ISOLATED_TEST: item.nodeid, ISOLATED_FOLDER: str(folder)}
        began = time.monotonic()
        with (folder / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *_arguments([str(arg) for arg in self._config.invocation_params.args])],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environment,
                cwd=self._config.invocation_params.dir,
            )
            late = self._wait(process, folder, item.nodeid)
        reports = list(self._reports(folder, item.nodeid))
        if late or not reports or reports[-1].when != "teardown":
            reports.append(self._death(item, process.returncode, late, folder, time.monotonic() - began))
        return reports

    def _wait(self, process: subprocess.Popen[bytes], folder: Path, node_id: str) -> bool:
        """Waits for the end; whether it had to be brought about."""
        began = time.monotonic()
        over: float | None = None
        while True:
            try:
                process.wait(0.2)
                return False
            except subprocess.TimeoutExpired:
                pass
            now = time.monotonic()
            reports = list(self._reports(folder, node_id))
            if over is None and reports and reports[-1].when == "teardown":
                over = now
            # Behind its last report a process has nothing left to do: a thread of the test keeps it.
            lingers = over is not None and now > over + SHUT_DOWN
            if end_if_late(folder, OWN) or lingers or (not reports and now > began + START_UP + GRACE):
                process.kill()
                process.wait()
                return True

    def _reports(self, folder: Path, node_id: str) -> Iterator[pytest.TestReport]:
        try:
            for event in read_events(folder):
                if event.get("nodeid") == node_id and "when" in event:
                    report = self._config.hook.pytest_report_from_serializable(config=self._config, data=event)
                    if report is not None:
                        yield report
        except RecordError:
            return  # it did not get as far: its output says why

    def _death(self, item: pytest.Item, code: int, late: bool, folder: Path, seconds: float) -> pytest.TestReport:
        words = read_words(folder, OWN)
        said = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
        status = Status.TIMED_OUT if late or ended_by_limit(words) else Status.CRASHED
        if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.INTERNAL_ERROR):
            status = Status.HARNESS_ERROR
        report = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr=f"the process of {item.nodeid} ended with status {code}, and not by itself\n{words}\n{said[-4000:]}",
            when="call",
            duration=seconds,
        )
        fail(report, status)
        self._excuse(report)
        return report


def _arguments(args: list[str]) -> list[str]:
    """The run's own arguments, without what it writes and without workers."""
    kept: list[str] = []
    rest = list(args)
    while rest and rest[0] != "--":
        arg = rest.pop(0)
        if arg in _OUTPUTS:
            del rest[:1]
        elif arg.partition("=")[0] not in _OUTPUTS and arg not in _SWITCHES:
            kept.append(arg)
    return [*kept, "-n0", *rest]
