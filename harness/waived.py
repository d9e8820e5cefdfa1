"""How a waived test runs: not at all, expected to fail, or under ``--run-waived`` to see how it does by now."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis.errors import DidNotReproduce, InvalidArgument

from harness.properties import PinnedExampleError, is_property, pinned
from harness.records import WAIVED, RecordError, read_manifest
from harness.statuses import Stated, Status, fail, words_of
from harness.waives import Waiver

WAIVER = pytest.StashKey[Waiver]()
"""On an item: the line that covers it."""

_SEARCH = pytest.StashKey[str]()
"""On an item: the failure that the search found beside the pinned example."""

PASSES_NOW = "passes now"
SAME_FAILURE = "same failure"
OTHER_FAILURE = "other failure"
UNKNOWN_FAILURE = "fails, and the line has no error= to compare with"


class Waived:
    """The plugin in every process of a run.

    Args:
        run_anyway: ``--run-waived``.
        folder: Of the run, for the controller of xdist's workers, which knows tests by their ids alone.
    """

    def __init__(self, run_anyway: bool, folder: Path) -> None:
        self._run_anyway = run_anyway
        self._folder = folder

    def apply(self, item: pytest.Item, waiver: Waiver) -> str | None:
        """Makes a collected test a waived one.

        Returns:
            What is wrong, if it is waived by another line already.
        """
        if waiver.marker == "TIMEOUT" and waiver.minutes is not None:
            item.add_marker(pytest.mark.timeout(60 * waiver.minutes), append=False)
            return None
        if waiver.marker == "ISOLATION":
            item.add_marker(pytest.mark.isolated)
            return None
        other = item.stash.get(WAIVER, None)
        if other is not None:
            return f"{waiver.path}:{waiver.line}: {item.nodeid} is waived in line {other.line} too; delete one of them"
        item.stash[WAIVER] = waiver
        item.add_marker(pytest.mark.waived)
        reason = f"{where(waiver)} ({waiver.link})"
        if self._run_anyway:
            return None
        if waiver.marker == "SKIP":
            item.add_marker(pytest.mark.skip(reason=f"{Status.SKIPPED.value}: {reason}"))
        elif waiver.marker == "XFAIL":
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Judges an XFAIL property by its pinned example: a search that finds nothing is no proof.

        The search runs too: its failures are waived, and a death of its process is not.
        """
        waiver = item.stash.get(WAIVER, None)
        if waiver is None or waiver.marker != "XFAIL" or waiver.example is None or not is_property(item):
            return (yield)
        failure = _failure_of_example(item, waiver)
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            item.stash[_SEARCH] = words_of(error)
        if failure is not None:
            raise failure
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Turns what happened into what it means for a waived test."""
        report = yield
        waiver = item.stash.get(WAIVER, None)
        error = "" if call.excinfo is None else words_of(call.excinfo.value)
        if hasattr(report, "wasxfail") and (waiver is None or waiver.marker != "XFAIL"):
            fail(report, Status.FAILED)
            report.longrepr = f"expected to fail, but no line of the waivers says so: write one with XFAIL\n{error}"
        elif _skipped_in_its_middle(report, call):
            fail(report, Status.FAILED)
            report.longrepr = f"skipped in its middle, and not by harness.statuses.not_run or not_claimed\n{error}"
        if waiver is None:
            return report
        if self._run_anyway:
            if report.failed or (report.passed and call.when == "call"):
                _note(report, where(waiver), _outcome(waiver, error if report.failed else None), waiver.link)
        elif hasattr(report, "wasxfail"):
            if call.when != "call":
                fail(report, Status.HARNESS_ERROR)
            elif waiver.error is not None and waiver.error not in error:
                fail(report, Status.FAILED)
                report.longrepr = (
                    f"another failure than the waived one: {where(waiver)} says error={waiver.error!r}, found\n{error}"
                )
        elif call.when == "call" and waiver.marker == "XFAIL" and report.failed and call.excinfo is None:
            fail(report, Status.UNEXPECTED_PASS)
            report.longrepr = f"it passes now: delete line {waiver.line} of {waiver.path.name}: {waiver}"
            if _SEARCH in item.stash:
                report.longrepr = (
                    f"the example pinned in line {waiver.line} of {waiver.path.name} passes now, but the search still "
                    f"fails: pin what it found\n{item.stash[_SEARCH]}"
                )
        return report

    def excuse(self, report: pytest.TestReport) -> None:
        """Makes the death of a waived test one that blocks nothing, under ``--run-waived``.

        Called where the test's process is no more, and its id alone is known.
        """
        if not self._run_anyway:
            return
        try:
            records = {test.id: test for test in read_manifest(self._folder).tests}
        except RecordError:
            return  # it died before its tests were collected
        record = records.get(report.nodeid)
        if record is not None and record.waiver is not None:
            _note(report, record.waiver, f"{OTHER_FAILURE}: {str(report.longrepr).splitlines()[0]}", None)


def _skipped_in_its_middle(report: pytest.TestReport, call: pytest.CallInfo[None]) -> bool:
    """By something else than the suite: what it calls, an implementation say, has no business to end it."""
    stated = call.excinfo is not None and isinstance(call.excinfo.value, Stated)
    return report.skipped and call.when == "call" and not stated and not hasattr(report, "wasxfail")


def where(waiver: Waiver) -> str:
    """The line, for people."""
    return f"{waiver.path.name}:{waiver.line}"


def _outcome(waiver: Waiver, error: str | None) -> str:
    if error is None:
        return PASSES_NOW
    first = error.splitlines()[0][:200] if error else "no message"
    if waiver.error is None:
        return f"{UNKNOWN_FAILURE}: {first}"
    return f"{SAME_FAILURE if waiver.error in error else OTHER_FAILURE}: {first}"


def _note(report: pytest.TestReport, line: str, outcome: str, link: str | None) -> None:
    """Makes a report one of a test that was skipped by its waiver, with what came of it."""
    if report.failed:
        report.sections.append(("what a waived test did", str(report.longrepr)))
    fail(report, Status.SKIPPED)
    report.outcome = "skipped"
    report.user_properties.append((WAIVED, outcome))
    reason = f"{Status.SKIPPED.value}: {line}{f' ({link})' if link else ''}: {outcome}"
    report.longrepr = (report.location[0], report.location[1] or 0, f"Skipped: {reason}")


def _failure_of_example(item: pytest.Item, waiver: Waiver) -> BaseException | None:
    assert waiver.example is not None
    try:
        with pinned(item, waiver.example):
            item.runtest()
    except DidNotReproduce:
        return None
    except InvalidArgument as error:
        raise PinnedExampleError(f"{where(waiver)}: example={waiver.example}: {error}") from error
    except (Exception, pytest.fail.Exception) as error:
        return error
    return None
