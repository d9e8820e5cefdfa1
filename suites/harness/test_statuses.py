"""How a test says why it did not run, and how a report is made one of a failure: without a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.statuses import STATUS, Stated, Status, bare_reason, fail, not_claimed, not_run, skip_kind, status_of, words_of


@pytest.mark.parametrize(("end", "kind"), [(not_claimed, Status.NOT_CLAIMED), (not_run, Status.NOT_RUN)])
def test_a_skip_of_the_suite_says_its_kind_and_why(end: Callable[[str], NoReturn], kind: Status) -> None:
    with pytest.raises(Stated) as caught:
        end("needs a thing")
    for reason in (str(caught.value), f"Skipped: {caught.value}", f"Stated: {caught.value}"):
        assert skip_kind(reason) is kind
        assert bare_reason(reason) == f"{kind.value}: needs a thing"


@given(
    status=st.sampled_from([status for status in Status if status is Status.HARNESS_ERROR or status.is_failure]),
    outcome=st.sampled_from(["passed", "failed", "skipped"]),
    expected=st.booleans(),
    noted=st.lists(st.tuples(st.sampled_from([STATUS, "examples"]), st.sampled_from([one.value for one in Status]))),
)
def test_a_report_that_is_made_a_failure_is_that_failure_whatever_it_was(
    status: Status, outcome: str, expected: bool, noted: list[tuple[str, str]]
) -> None:
    report = pytest.TestReport("a.py::t", ("a.py", 1, "t"), {}, outcome, None, "call", user_properties=noted)  # type: ignore[arg-type]
    if expected:
        report.wasxfail = "waives.txt:1"
    fail(report, status)
    said = [value for name, value in report.user_properties if name == STATUS]
    assert said == [status.value]
    assert not hasattr(report, "wasxfail")
    assert status_of(report.when or "", report.outcome, None, hasattr(report, "wasxfail"), str(said[0])) is status
    assert [pair for pair in report.user_properties if pair[0] != STATUS] == [pair for pair in noted if pair[0] != STATUS]


class _Dumb(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("error", "words"),
    [(OSError("disk"), "OSError: disk"), (KeyError(), "KeyError: "), (_Dumb(), "_Dumb, which cannot be printed")],
)
def test_an_exception_in_words_begins_with_its_kind(error: BaseException, words: str) -> None:
    assert words_of(error) == words
