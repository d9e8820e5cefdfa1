"""``junit.xml``: what CI servers are told."""

from __future__ import annotations

import junitparser
import pytest
from hypothesis import given

from harness.render.junit import junit_xml
from harness.render.text import encodable, printable
from harness.statuses import Status
from harness.verdict import Conformance, TestResult
from suites.harness.render.runs import HOSTILE, failing_run, failure, run_of, runs


def _parsed(conformance: Conformance) -> list[junitparser.TestSuite]:
    return list(junitparser.JUnitXml.fromstring(junit_xml(conformance)))


def _properties(element: junitparser.Element) -> list[tuple[str, str]]:
    return [(one.name, one.value) for one in element.child(junitparser.Properties)]


def test_there_is_a_suite_a_file() -> None:
    names = [suite.name for suite in _parsed(failing_run())]
    assert names == sorted({test.id.split("::")[0] for test in failing_run().tests})


def test_a_suite_says_what_its_verdict_holds_for() -> None:
    properties = _properties(_parsed(failing_run())[0])
    assert ("verdict", "failed") in properties
    assert ("why", "1 timed out") in properties
    assert ("implementation.--mask-impl", "my_engine.masks:build") in properties
    assert ("machine.cpu", "x86_64") in properties
    assert ("versions.torch", "2.13.0") in properties
    assert any(name == "list.l0_b200" and "conditions not met" in value for name, value in properties)


def test_a_test_says_its_requirements_status_and_examples() -> None:
    cases = [case for suite in _parsed(failing_run()) for case in suite]
    case = next(case for case in cases if case.name == "test_the_mask_is_the_oracles[gemma3-sliding]")
    assert case.classname == "suites.mask.test_dense"
    requirements = [("requirement", one) for one in ("MASK-ORDER-1", "MASK-BLOB-1", "MASK-PREFIX-1")]
    assert _properties(case)[:-1] == [("status", "failed"), *requirements, ("examples", "57")]
    assert "smallest failing example:\ncase=Case(" in case.result[0].text


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (Status.PASSED, None),
        (Status.WAIVED, junitparser.Skipped),
        (Status.NOT_CLAIMED, junitparser.Skipped),
        (Status.NOT_RUN, junitparser.Skipped),
        (Status.SKIPPED, junitparser.Skipped),
        (Status.UNFINISHED, junitparser.Error),
        (Status.HARNESS_ERROR, junitparser.Error),
        (Status.UNEXPECTED_PASS, junitparser.Failure),
        (Status.FAILED, junitparser.Failure),
        (Status.TIMED_OUT, junitparser.Failure),
        (Status.CRASHED, junitparser.Failure),
    ],
)
def test_a_status_is_an_outcome_whose_type_names_it(status: Status, kind: type | None) -> None:
    failed = status.is_failure or status is Status.HARNESS_ERROR
    test = TestResult("a.py::t", status, [], 0.1, reason="why", failure=failure("a.py::t", "why") if failed else None)
    (suite,) = _parsed(run_of(test))
    (case,) = suite
    if kind is None:
        assert case.is_passed
    else:
        (result,) = case.result
        assert (type(result), result.type) == (kind, status.value)
        assert result.message == (status.value if status is Status.PASSED else "why")


def test_an_error_outside_of_any_test_is_an_error() -> None:
    suites = _parsed(run_of(errors=["a.py could not be collected: SyntaxError\nline 2"]))
    assert [(suite.name, suite.errors) for suite in suites] == [("outside of any test", 1)]


def test_a_negative_time_is_none() -> None:
    (suite,) = _parsed(run_of(TestResult("a.py::t", Status.PASSED, [], -2.0)))
    assert [case.time for case in suite] == [0.0]


@given(runs())
def test_any_text_is_well_formed_xml(conformance: Conformance) -> None:
    clean = encodable(conformance)
    cases = [case for suite in _parsed(clean) for case in suite if suite.name != "outside of any test"]
    assert len(cases) == len(clean.tests)
    for text in (test.failure.text for test in clean.tests if test.failure is not None and test.failure.text):
        assert any(printable(text) in (result.text or "") for case in cases for result in case.result)


def test_markup_in_an_id_is_text() -> None:
    (suite,) = _parsed(run_of(TestResult(f"a.py::t[{HOSTILE}]", Status.PASSED, [], 0.1)))
    assert [case.name for case in suite] == [f"t[{HOSTILE}]"]
