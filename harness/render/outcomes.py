"""What a status is to those who know only four outcomes: JUnit's and CTRF's readers."""

from __future__ import annotations

from enum import Enum

from harness.statuses import Status


class Outcome(Enum):
    """What JUnit can say of a test."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


def outcome_of(status: Status) -> Outcome:
    """What the status comes down to: what did not finish is an error, so that nobody takes it for green."""
    if status is Status.PASSED:
        return Outcome.PASSED
    if status.is_failure:
        return Outcome.FAILURE
    return Outcome.ERROR if status in (Status.HARNESS_ERROR, Status.UNFINISHED) else Outcome.SKIPPED
