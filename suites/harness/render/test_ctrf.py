"""``ctrf.json``: the shape that the Common Test Report Format asks for."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from hypothesis import given

from harness.render.ctrf import ctrf_json
from harness.render.text import encodable
from harness.statuses import Status
from harness.verdict import Conformance, TestResult
from suites.harness.render.runs import failing_run, run_of, runs


class _Strict(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The format has no place for other fields."""


class _Tool(_Strict):
    name: str
    version: str | None = None


class _Summary(_Strict):
    tests: int
    passed: int
    failed: int
    pending: int
    skipped: int
    other: int
    start: int
    stop: int
    suites: int | None = None


class _Test(_Strict):
    name: str
    status: Literal["passed", "failed", "skipped", "pending", "other"]
    duration: int
    message: str = ""
    trace: str = ""
    raw_status: str = ""
    suite: list[str] | None = None
    file_path: str = ""
    tags: list[str] = []
    extra: dict[str, Any] = {}


class _Environment(_Strict):
    report_name: str = ""
    app_name: str = ""
    test_environment: str = ""
    extra: dict[str, Any] = {}


class _Results(_Strict):
    tool: _Tool
    summary: _Summary
    tests: list[_Test]
    environment: _Environment
    extra: dict[str, Any] = {}


class _Report(_Strict):
    report_format: Literal["CTRF"]
    spec_version: Literal["0.0.0"]
    results: _Results


def _decoded(conformance: Conformance) -> _Results:
    return msgspec.json.decode(ctrf_json(encodable(conformance)), type=_Report).results


@given(runs())
def test_every_report_has_the_shape_of_the_format(conformance: Conformance) -> None:
    results = _decoded(conformance)
    summary = results.summary
    assert summary.tests == len(results.tests)
    for status in ("passed", "failed", "pending", "skipped", "other"):
        assert getattr(summary, status) == sum(test.status == status for test in results.tests)
    assert all(test.name and test.suite and test.duration >= 0 for test in results.tests)
    assert 0 <= summary.start <= summary.stop


def test_a_run_starts_when_its_manifest_says_so() -> None:
    summary = _decoded(failing_run()).summary
    assert summary.start == 1799051400000
    assert summary.stop - summary.start == sum(test.duration for test in _decoded(failing_run()).tests)


def test_a_failure_brings_its_message_trace_and_replay() -> None:
    test = next(test for test in _decoded(failing_run()).tests if test.name.endswith("oracles[gemma3-sliding]"))
    assert (test.status, test.raw_status) == ("failed", "failed")
    assert test.message.startswith("AssertionError: gemma3-sliding")
    assert "checks.py:61" in test.trace
    assert test.tags == ["MASK-ORDER-1", "MASK-BLOB-1", "MASK-PREFIX-1"]
    assert test.extra["replay"].startswith("python -m pytest ")
    assert test.extra["examples"] == 57


def test_what_did_not_finish_is_not_green() -> None:
    tests = [TestResult(f"a.py::{status.name}", status, [], 0.1) for status in (Status.UNFINISHED, Status.HARNESS_ERROR)]
    results = _decoded(run_of(*tests, errors=["a.py could not be collected"]))
    assert [test.status for test in results.tests] == ["failed"] * 3
    assert [test.raw_status for test in results.tests] == ["not finished", "harness error", "harness error"]


def test_the_environment_says_what_was_judged() -> None:
    environment = _decoded(failing_run()).environment
    assert environment.app_name == "--mask-impl my_engine.masks:build, --cache-impl gemma4"
    assert environment.test_environment == "l0_b200"
    assert environment.extra["versions"]["torch"] == "2.13.0"


def test_a_negative_time_is_none() -> None:
    assert [test.duration for test in _decoded(run_of(TestResult("a.py::t", Status.PASSED, [], -2.0))).tests] == [0]
