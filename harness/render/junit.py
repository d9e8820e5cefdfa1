"""``junit.xml``: for CI servers. One suite a file; what four outcomes cannot say stands in ``type`` and in properties."""

from __future__ import annotations

import io
from itertools import groupby

import junitparser

from harness.render import nodeids
from harness.render.outcomes import Outcome, outcome_of
from harness.render.scope import scope
from harness.render.text import printable
from harness.verdict import Conformance, TestResult

OUTSIDE = "outside of any test"
"""Name of the suite that holds what failed outside of any test."""

_ELEMENTS = {
    Outcome.FAILURE: junitparser.Failure,
    Outcome.ERROR: junitparser.Error,
    Outcome.SKIPPED: junitparser.Skipped,
}


def junit_xml(conformance: Conformance) -> bytes:
    """The report."""
    root = junitparser.JUnitXml("conformance")
    by_file = sorted(conformance.tests, key=lambda test: nodeids.split(test.id).file)
    for file, tests in groupby(by_file, key=lambda test: nodeids.split(test.id).file):
        root.append(_suite(conformance, file, [_case(test) for test in tests]))
    if conformance.errors:
        root.append(_suite(conformance, OUTSIDE, [_error(n, text) for n, text in enumerate(conformance.errors, start=1)]))
    root.update_statistics()
    buffer = io.BytesIO()
    root.write(buffer)
    return buffer.getvalue() + b"\n"


def _suite(conformance: Conformance, name: str, cases: list[junitparser.TestCase]) -> junitparser.TestSuite:
    suite = junitparser.TestSuite(printable(name))
    suite.timestamp = printable(conformance.manifest.started)
    properties = [("verdict", conformance.verdict.value), *(("why", reason) for reason in conformance.why)]
    for group, facts in scope(conformance).items():
        properties += [(f"{group}.{name}", value) for name, value in facts.items()]
    suite.append(_properties(properties))
    suite.extend(cases)
    return suite


def _case(test: TestResult) -> junitparser.TestCase:
    node = nodeids.split(test.id)
    case = junitparser.TestCase(printable(node.name), printable(node.classname), max(test.seconds, 0.0))
    properties = [("status", test.status.value), *(("requirement", one) for one in test.requirements)]
    if test.examples is not None:
        properties.append(("examples", str(test.examples)))
    for name, value in (("waiver", test.waiver), ("waived run", test.waived_run)):
        if value is not None:
            properties.append((name, value))
    if test.failure is not None:
        properties.append(("replay", test.failure.replay))
    case.append(_properties(properties))
    outcome = outcome_of(test.status)
    if outcome is not Outcome.PASSED:
        message = test.failure.message if test.failure is not None else test.reason or test.status.value
        case.append(_result(outcome, message, test.status.value, _details(test)))
    return case


def _details(test: TestResult) -> str | None:
    if test.failure is None:
        return None
    parts = [test.failure.text, test.failure.example and f"smallest failing example:\n{test.failure.example}"]
    return "\n\n".join(part for part in parts if part)


def _error(number: int, text: str) -> junitparser.TestCase:
    case = junitparser.TestCase(f"error {number}", OUTSIDE, 0.0)
    case.append(_result(Outcome.ERROR, text.split("\n", 1)[0], "harness error", text))
    return case


def _result(outcome: Outcome, message: str, status: str, details: str | None) -> junitparser.Element:
    element = _ELEMENTS[outcome](printable(message), status)
    if details is not None:
        element.text = printable(details)
    return element


def _properties(pairs: list[tuple[str, str]]) -> junitparser.Properties:
    properties = junitparser.Properties()
    for name, value in pairs:
        properties.add_property(junitparser.Property(printable(name), printable(value)))
    return properties
