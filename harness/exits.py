"""What commands end with."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit statuses of pytest under the plugin, and of ``python -m harness``; 0 to 5 mean what they mean to pytest."""

    OK = 0
    """Nothing failed, and something ran. Of ``render``: conformant. Of ``lint``: no findings."""
    FAILED = 1
    """A test failed, crashed, timed out or passed unexpectedly. Of ``lint``: findings."""
    INTERRUPTED = 2
    """Somebody ended the run, or a poisoned device without a worker to replace."""
    HARNESS_ERROR = 3
    """The suite failed, not the implementation: a fixture, a file that cannot be collected, pytest itself."""
    USAGE = 4
    """What was asked for cannot be had: an option, a list, a waiver, a machine under ``--conditions enforce``."""
    NOTHING_RAN = 5
    """No test ran to its end."""
    NOT_CONFORMANT = 6
    """Nothing failed, but a test of a requirement did not run on a machine that is what the list asks for.

    Of ``render``: the verdict is "not conformant".
    """
    NOT_AVAILABLE = 7
    """What was to be judged needs an engine, or a version of one, that is not installed."""
