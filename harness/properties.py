"""What the harness does with Hypothesis: counts examples, reads off the smallest failing one, runs a pinned one alone."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis.errors import DeadlineExceeded, DidNotReproduce, Flaky, HypothesisException, InvalidArgument
from hypothesis.stateful import RuleBasedStateMachine

from harness.records import BLOB, DRAWN, EXAMPLE, EXAMPLES, PICTURE, Picture
from harness.statuses import Status, fail

_REPRODUCE = re.compile(r"@reproduce_failure\('[^']*', b'([^']*)'\)")
_ATTRIBUTE = "_hypothesis_internal_use_reproduce_failure"  # what @reproduce_failure sets
_STATEFUL = "stateful"


class PinnedExampleError(Exception):
    """A pinned example cannot be run: it is none."""


class Drawn:
    """Stands in an explicit example for ``st.data()``: hands out values in the order in which they were drawn.

    The plugin hands each call of a test one of its own.

    Args:
        values: Of the draws, first one first.
    """

    def __init__(self, *values: Any) -> None:
        self.values = values
        self._left = iter(values)

    def draw(self, strategy: Any, label: Any = None) -> Any:
        """The next value, whatever the strategy.

        Raises:
            PinnedExampleError: The test draws more often than it did when the example was found.
        """
        try:
            return next(self._left)
        except StopIteration:
            had = f"an example of {len(self.values)} draws, expected one more"
            raise PinnedExampleError(f"{self!r} is {had}: the test has changed; take the example out") from None

    def __repr__(self) -> str:
        return f"Drawn({', '.join(map(repr, self.values))})"


class Properties:
    """The plugin in each process that runs tests.

    Args:
        example: Of ``--example``: the one example that every selected property runs on; None to search.
    """

    def __init__(self, example: str | None) -> None:
        self._example = example

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Counts the examples of a property."""
        if not is_property(item):
            return (yield)
        with _counted(item) as count:
            try:
                if self._example is None:
                    return (yield)
                with pinned(item, self._example):
                    return (yield)
            except DidNotReproduce:
                if self._example is None:
                    raise
                return None  # it passes now
            except InvalidArgument as error:
                if self._example is None:
                    raise
                raise PinnedExampleError(f"--example {self._example}: {error}") from error
            finally:
                item.user_properties.append((EXAMPLES, count()))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keeps the smallest failing example and what names it, and tells the suite's own errors from failures."""
        report = yield
        if call.excinfo is not None and (picture := _picture(call.excinfo.value)) is not None:
            report.user_properties.append((PICTURE, picture))
        if call.excinfo is None or call.when != "call" or (report.skipped and not hasattr(report, "wasxfail")):
            return report
        if _is_suite_error(call.excinfo.value):
            fail(report, Status.HARNESS_ERROR)
        notes = _notes(call.excinfo.value)
        blobs = [found[1] for note in notes if (found := _REPRODUCE.search(note))]
        example = "\n".join(note for note in notes if not _REPRODUCE.search(note)).strip()
        report.user_properties += [(EXAMPLE, example)] * bool(example) + [(BLOB, blob) for blob in blobs[:1]]
        report.user_properties += [(DRAWN, " ".join(_drawn(item)))] * bool(example)
        return report


def is_property(item: pytest.Item) -> bool:
    """Whether a test draws examples: by ``@given``, or as a state machine under the marker ``stateful``."""
    return _handle(item) is not None or item.get_closest_marker(_STATEFUL) is not None


@contextmanager
def pinned(item: pytest.Item, blob: str) -> Iterator[None]:
    """Within it the property runs on one example alone.

    It raises :class:`~hypothesis.errors.DidNotReproduce` where the example passes. That an example no longer fits what
    the test draws cannot be told from that: a test that goes on where it once failed draws more than was pinned.
    """
    holder: Any = RuleBasedStateMachine if _handle(item) is None else item.obj  # type: ignore[attr-defined]
    before = getattr(holder, _ATTRIBUTE, None)
    setattr(holder, _ATTRIBUTE, (hypothesis.__version__, blob.encode()))
    try:
        yield
    finally:
        setattr(holder, _ATTRIBUTE, before)


def _is_suite_error(error: BaseException) -> bool:
    # What Hypothesis itself raises speaks against the suite, but where it found the implementation flaky or too slow.
    return isinstance(error, PinnedExampleError | HypothesisException) and not isinstance(error, Flaky | DeadlineExceeded)


def _handle(item: pytest.Item) -> Any:
    return getattr(getattr(item, "obj", None), "hypothesis", None)


@contextmanager
def _counted(item: pytest.Item) -> Iterator[Callable[[], int]]:
    calls = 0
    handle = _handle(item)
    holder, name = (RuleBasedStateMachine, "__init__") if handle is None else (handle, "inner_test")
    body = getattr(holder, name)

    @functools.wraps(body)
    def counting(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        kwargs = {name: Drawn(*value.values) if isinstance(value, Drawn) else value for name, value in kwargs.items()}
        return body(*args, **kwargs)

    setattr(holder, name, counting)
    try:
        yield lambda: calls
    finally:
        setattr(holder, name, body)


def _drawn(item: pytest.Item) -> list[str]:
    """The arguments of a property that are no fixtures."""
    handle = _handle(item)
    if handle is None:
        return []
    fixtures = getattr(item, "fixturenames", ())
    return [name for name in inspect.signature(handle.inner_test).parameters if name not in fixtures]


def _picture(error: BaseException) -> str | None:
    """The attribute ``picture`` of a failure, as JSON. A foreign exception may have one of its own: that is none."""
    try:
        return msgspec.json.encode(msgspec.convert(_first(error).picture, Picture)).decode()  # type: ignore[attr-defined]
    except Exception:
        return None


def _first(error: BaseException) -> BaseException:
    # Of several failures the first is shown.
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _notes(error: BaseException) -> list[str]:
    below = _notes(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else []
    return [note for note in [*getattr(error, "__notes__", []), *below] if isinstance(note, str)]
