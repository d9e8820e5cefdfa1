"""``ctrf.json``: the Common Test Report Format (https://ctrf.io), which dashboards and CI actions read."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import msgspec

from harness.render import nodeids
from harness.render.outcomes import Outcome, outcome_of
from harness.render.scope import judged, lists, scope
from harness.statuses import Status
from harness.verdict import Conformance, TestResult

SPEC_VERSION = "0.0.0"
"""Of the format, as its reporters give it."""

STATUSES = ("passed", "failed", "skipped", "pending", "other")
"""What the format can say of a test."""

_STATUS = {
    Outcome.PASSED: "passed",
    Outcome.FAILURE: "failed",
    Outcome.ERROR: "failed",  # "other" would be the better word, but what reads only the number of failures would be green
    Outcome.SKIPPED: "skipped",
}


def ctrf_json(conformance: Conformance) -> bytes:
    """The report. A run does not record its end: ``stop`` is as if the tests ran one after the other."""
    manifest = conformance.manifest
    tests = [_test(test) for test in conformance.tests]
    tests += [_error(number, text) for number, text in enumerate(conformance.errors, start=1)]
    start = _milliseconds(manifest.started)
    counts = Counter(test["status"] for test in tests)
    results = {
        "tool": {"name": "pytest", **({"version": manifest.versions["pytest"]} if "pytest" in manifest.versions else {})},
        "summary": {
            "tests": len(tests),
            **{status: counts[status] for status in STATUSES},
            "suites": len({tuple(test["suite"]) for test in tests}),
            "start": start,
            "stop": start + sum(test["duration"] for test in tests),
        },
        "tests": tests,
        "environment": {
            "reportName": f"{conformance.verdict.value}: {judged(conformance)} under {lists(conformance)}",
            "appName": judged(conformance),
            "testEnvironment": lists(conformance),
            "extra": scope(conformance),
        },
        "extra": {"verdict": conformance.verdict.value, "why": conformance.why},
    }
    report = {"reportFormat": "CTRF", "specVersion": SPEC_VERSION, "results": results}
    return msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"


def _test(test: TestResult) -> dict[str, Any]:
    node = nodeids.split(test.id)
    found: dict[str, Any] = {
        "name": node.name,
        "status": _STATUS[outcome_of(test.status)],
        "duration": max(round(test.seconds * 1000), 0),
        "suite": [node.file, *node.classes],
        "rawStatus": test.status.value,
        "filePath": node.file,
        "tags": test.requirements,
        "extra": {"id": test.id, "examples": test.examples, "waiver": test.waiver, "waivedRun": test.waived_run},
    }
    if test.failure is not None:
        found |= {"message": test.failure.message, "trace": test.failure.text}
        found["extra"] |= {"example": test.failure.example, "replay": test.failure.replay}
    elif test.reason is not None:
        found["message"] = test.reason
    return found


def _error(number: int, text: str) -> dict[str, Any]:
    return {
        "name": f"error {number}",
        "status": _STATUS[Outcome.ERROR],
        "duration": 0,
        "suite": ["outside of any test"],
        "rawStatus": Status.HARNESS_ERROR.value,
        "message": text.split("\n", 1)[0],
        "trace": text,
    }


def _milliseconds(time: str) -> int:
    """Since 1970; 0 for what is no time."""
    try:
        parsed = datetime.fromisoformat(time)
    except ValueError:
        return 0
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    return max(round(parsed.timestamp() * 1000), 0)
