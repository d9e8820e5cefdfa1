"""What can become of a test beyond passed and failed. A skip always says which of these it is."""

from __future__ import annotations

from enum import Enum
from typing import NoReturn

import pytest


class Skip(Enum):
    """Why a test did not run; the value begins the reason of its skip."""

    NOT_CLAIMED = "not claimed"
    """The implementation does not say that it can do this."""
    NOT_RUN = "not run"
    """This machine lacks what the test needs: a device, a package."""
    WAIVED = "skipped by waiver"
    """A line of waives.txt says so."""

    @classmethod
    def of(cls, reason: str) -> Skip | None:
        """The kind of skip that a reason begins with; None for a skip that says none of them."""
        reason = reason.removeprefix("Skipped: ")
        return next((kind for kind in cls if reason.startswith(kind.value + ":")), None)


def not_claimed(what: str) -> NoReturn:
    """Ends the test: the implementation does not claim ``what``."""
    pytest.skip(f"{Skip.NOT_CLAIMED.value}: {what}")


def not_run(why: str) -> NoReturn:
    """Ends the test: the machine lacks what it needs."""
    pytest.skip(f"{Skip.NOT_RUN.value}: {why}")
