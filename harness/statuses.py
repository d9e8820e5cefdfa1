"""What can become of a test. A skip always says which kind it is."""

from __future__ import annotations

from enum import Enum
from typing import NoReturn

import pytest

STATUS = "conformance:status"
"""User property of a report whose status its outcome alone does not tell: crashed, timed out, an unexpected pass."""


class Status(Enum):
    """The verdict on one test, from the best to the worst: of several reports on one test the worst counts."""

    PASSED = "passed"
    WAIVED = "waived"
    """XFAIL in waives.txt, and it failed as it must."""
    NOT_CLAIMED = "not claimed"
    """The implementation does not say that it can do this."""
    NOT_RUN = "not run"
    """This machine lacks what the test needs: a device, a package."""
    SKIPPED = "skipped by waiver"
    """SKIP in waives.txt."""
    UNFINISHED = "not finished"
    """The run ended before the test did."""
    HARNESS_ERROR = "harness error"
    """The suite is at fault, or a fixture: never the implementation."""
    UNEXPECTED_PASS = "unexpected pass"
    """XFAIL in waives.txt, and it passes."""
    FAILED = "failed"
    TIMED_OUT = "timed out"
    CRASHED = "crashed"
    """Its process died."""

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(Status).index(self)

    @property
    def is_failure(self) -> bool:
        """Whether it speaks against the implementation, or against a waiver."""
        return self.rank >= Status.UNEXPECTED_PASS.rank


SKIPS = (Status.NOT_CLAIMED, Status.NOT_RUN, Status.SKIPPED)
"""The statuses that a skip can have; the value begins its reason."""


_MARKED = {status.value: status for status in Status if status.rank >= Status.HARNESS_ERROR.rank}
"""What a failed report may say of itself."""


class Stated(pytest.skip.Exception):  # type: ignore[name-defined, misc]  # pytest hangs it on the function
    """A skip by the suite itself. Whatever else skips in the middle of a test, an implementation say, fails it."""

    __module__ = "builtins"  # as pytest's own: reasons then begin with the bare name


def status_of(when: str, outcome: str, skip_reason: str | None, expected_failure: bool, marked: str | None) -> Status | None:
    """The status that one report gives its test.

    Args:
        when: ``setup``, ``call``, ``teardown``, or something else for a report that no test wrote itself.
        outcome: ``passed``, ``failed`` or ``skipped``.
        skip_reason: Why it was skipped.
        expected_failure: Whether the report is one of a test that was expected to fail.
        marked: The user property ``status``, if the report has it.

    Returns:
        The status; None for a report that says nothing, as the setup of a test that goes on.
    """
    if outcome == "failed" and marked is not None:
        return _MARKED.get(marked, Status.HARNESS_ERROR)
    if outcome == "skipped":
        return Status.WAIVED if expected_failure else skip_kind(skip_reason or "") or Status.NOT_RUN
    if outcome == "failed":
        return Status.FAILED if when == "call" else Status.HARNESS_ERROR
    if outcome == "passed" and when == "call":
        return Status.UNEXPECTED_PASS if expected_failure else Status.PASSED
    return None


def skip_kind(reason: str) -> Status | None:
    """The kind of skip that a reason begins with; None for a skip that says none of them."""
    return next((kind for kind in SKIPS if bare_reason(reason).startswith(kind.value + ":")), None)


def bare_reason(reason: str) -> str:
    """The reason of a skip without the name of the exception that it was raised by."""
    return reason.removeprefix("Skipped: ").removeprefix("Stated: ")


def not_claimed(what: str) -> NoReturn:
    """Ends the test: the implementation does not claim ``what``."""
    raise Stated(f"{Status.NOT_CLAIMED.value}: {what}")


def not_run(why: str) -> NoReturn:
    """Ends the test: the machine lacks what it needs."""
    raise Stated(f"{Status.NOT_RUN.value}: {why}")


def words_of(error: BaseException) -> str:
    """What an exception says. It is foreign: saying it may fail too."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}, which cannot be printed"


def fail(report: pytest.TestReport, status: Status) -> None:
    """Makes a report one of a failure of some kind, whatever else was expected of the test."""
    report.outcome = "failed"
    if hasattr(report, "wasxfail"):
        del report.wasxfail
    report.user_properties[:] = [(name, value) for name, value in report.user_properties if name != STATUS]
    report.user_properties.append((STATUS, status.value))
