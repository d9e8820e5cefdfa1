"""From what a run recorded to what it is worth. Plain data in, plain data out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec

from harness.exits import ExitCode
from harness.failures import Failure, failure_of, text_of
from harness.records import EXAMPLES, WAIVED, Manifest, RecordError, TestRecord
from harness.statuses import STATUS, Status, bare_reason, status_of


class Verdict(Enum):
    """What a run says about the implementation."""

    CONFORMANT = "conformant"
    """The whole of a list ran, and nothing but passed, waived and not claimed came of it."""
    NOT_CONFORMANT = "not conformant"
    """Nothing failed, and something that a verdict needs did not run."""
    HARNESS_ERROR = "harness error"
    """Nothing failed, and the suite itself did."""
    FAILED = "failed"


EXIT_CODES = {
    Verdict.CONFORMANT: ExitCode.OK,
    Verdict.NOT_CONFORMANT: ExitCode.NOT_CONFORMANT,
    Verdict.HARNESS_ERROR: ExitCode.HARNESS_ERROR,
    Verdict.FAILED: ExitCode.FAILED,
}
"""What ``render`` ends with."""


class TestResult(msgspec.Struct, frozen=True):
    """One test and what became of it.

    Attributes:
        id: Its node id.
        status: The worst that was reported.
        requirements: Ids of the requirements that it checks.
        seconds: How long it took in all.
        examples: How many examples were drawn; None for a test that draws none.
        reason: Why it was skipped or waived.
        waiver: The line of waives.txt that covers it.
        waived_run: What came of it under ``--run-waived``.
        failure: For all that failed.
    """

    __test__ = False

    id: str
    status: Status
    requirements: list[str]
    seconds: float
    examples: int | None = None
    reason: str | None = None
    waiver: str | None = None
    waived_run: str | None = None
    failure: Failure | None = None


class RequirementResult(msgspec.Struct, frozen=True):
    """One requirement: as bad as the worst of its tests.

    Attributes:
        id: Its id.
        sentence: What it demands; empty where the project does not say.
        status: The worst status of its tests; None where no test of the run checks it.
        tests: Node ids.
        examples: Drawn by all of its tests.
    """

    id: str
    sentence: str
    status: Status | None
    tests: list[str]
    examples: int


class Conformance(msgspec.Struct, frozen=True):
    """All that a run is worth: what ``conformance.json`` holds.

    Attributes:
        verdict: In a word.
        why: What stands against ``conformant``, a phrase each.
        manifest: What the run set out to do, and for whom; of merged shards, the whole.
        counts: Status -> tests.
        examples: Drawn in all.
        requirements: By id.
        tests: In the order of collection.
        errors: What failed outside of any test.
        skipped: Files that were skipped whole when they were collected, each with why.
        version: Of this format.
    """

    verdict: Verdict
    why: list[str]
    manifest: Manifest
    counts: dict[str, int]
    examples: int
    requirements: list[RequirementResult]
    tests: list[TestResult]
    errors: list[str]
    skipped: list[str]
    version: int = 1


def judge(manifest: Manifest, events: Iterable[Mapping[str, Any]]) -> Conformance:
    """Reads a verdict out of the records of a run.

    Args:
        manifest: What the run set out to do.
        events: Its reports, as pytest-reportlog writes them.

    Returns:
        The verdict and all it rests on.
    """
    reports: dict[str, list[Mapping[str, Any]]] = {}
    errors, skipped = [], []
    for event in events:
        if event.get("$report_type") == "CollectReport":
            name = event.get("nodeid") or "collection"
            if event.get("outcome") == "failed":
                errors.append(f"{name} could not be collected: {text_of(event)}")
            elif event.get("outcome") == "skipped":
                skipped.append(f"{name}: {_reason(event)}")
        elif "when" in event and "nodeid" in event and "outcome" in event:  # a subtest's, too
            reports.setdefault(event["nodeid"], []).append(event)
        elif event.get("$report_type") == "TestReport":
            raise RecordError(f"{manifest.run}: a report without nodeid, when or outcome: {event}"[:300])
    known = {record.id for record in manifest.tests}
    errors += [
        f"{node_id} failed, and was not selected"
        for node_id, found in reports.items()
        if node_id not in known and any(report["outcome"] == "failed" for report in found)
    ]
    tests = [_result(record, reports.get(record.id, []), manifest.command) for record in manifest.tests]
    return conclude(manifest, tests, errors, skipped)


def conclude(
    manifest: Manifest, tests: Sequence[TestResult], errors: Sequence[str], skipped: Sequence[str] = ()
) -> Conformance:
    """Sums up the tests of a run, or of all its shards."""
    counts = Counter(test.status for test in tests)
    why = _why(manifest, tests, errors, skipped)
    if any(status.is_failure for status in counts):
        verdict = Verdict.FAILED
    elif errors or counts[Status.HARNESS_ERROR]:
        verdict = Verdict.HARNESS_ERROR
    else:
        verdict = Verdict.NOT_CONFORMANT if why else Verdict.CONFORMANT
    return Conformance(
        verdict=verdict,
        why=why,
        manifest=manifest,
        counts={status.value: counts[status] for status in Status if counts[status]},
        examples=sum(test.examples or 0 for test in tests),
        requirements=_requirements(manifest, tests),
        tests=list(tests),
        errors=list(errors),
        skipped=list(skipped),
    )


def exit_code(conformance: Conformance) -> ExitCode:
    """What a pytest run ends with: whether something failed, not whether all is conformant.

    A run of a list on a machine that is what the list asks for must run every test of a requirement; on another
    machine the list runs as far as it can, and only the verdict is not given.
    """
    if conformance.verdict is Verdict.FAILED:
        return ExitCode.FAILED
    if conformance.verdict is Verdict.HARNESS_ERROR:
        return ExitCode.HARNESS_ERROR
    manifest = conformance.manifest
    if not any(test.status in (Status.PASSED, Status.WAIVED) for test in conformance.tests):
        empty_shard = manifest.shard is not None and not manifest.tests and manifest.universe
        return ExitCode.OK if empty_shard else ExitCode.NOTHING_RAN
    described = manifest.lists and (manifest.conditions == "ignore" or not any(one.unmet for one in manifest.lists))
    idle = any(test.status is Status.NOT_RUN and test.requirements for test in conformance.tests) or conformance.skipped
    if described and idle:
        return ExitCode.NOT_CONFORMANT
    if any(test.status is Status.UNFINISHED for test in conformance.tests):
        return ExitCode.HARNESS_ERROR
    return ExitCode.OK


def names_of(manifest: Manifest) -> tuple[str, str]:
    """What is under test and the lists that ran, each in a phrase."""
    judged = ", ".join(f"{option} {name}" for option, name in manifest.implementations.items()) or "the project"
    return judged, ", ".join(one.name for one in manifest.lists) or "no list"


def in_a_line(conformance: Conformance) -> str:
    """The verdict in one line: what, of whom, under which list, and why not."""
    judged, lists = names_of(conformance.manifest)
    counts = ", ".join(f"{count} {status}" for status, count in conformance.counts.items()) or "no test"
    why = f": {'; '.join(conformance.why)}" if conformance.why else ""
    return f"{conformance.verdict.value}: {judged} under {lists} ({counts}; {conformance.examples} examples){why}"


def _why(manifest: Manifest, tests: Sequence[TestResult], errors: Sequence[str], skipped: Sequence[str]) -> list[str]:
    counts = Counter(test.status for test in tests)
    against = [status for status in reversed(Status) if status not in (Status.PASSED, Status.WAIVED, Status.NOT_CLAIMED)]
    why = [f"{counts[status]} {status.value}" for status in against if counts[status]]
    if errors:
        why.append(f"{len(errors)} errors outside of any test")
    why += [f"skipped whole: {file}" for file in skipped]
    if not any(status.is_failure or status in (Status.PASSED, Status.WAIVED) for status in counts):
        why.append("nothing ran")
    if not manifest.lists:
        why.append("no list was chosen (-m)")
    if manifest.conditions != "ignore":
        why += [f"not the machine that {one.name} asks for: {'; '.join(one.unmet)}" for one in manifest.lists if one.unmet]
    if manifest.shard is not None:
        why.append(f"this is shard {manifest.shard.group} of {manifest.shard.splits}")
    elif len(tests) != len(manifest.universe):
        why.append(f"{len(manifest.universe) - len(tests)} tests were selected and are not in the records")
    return why + manifest.narrowed


def _requirements(manifest: Manifest, tests: Sequence[TestResult]) -> list[RequirementResult]:
    carriers: dict[str, list[TestResult]] = {requirement: [] for requirement in manifest.requirements}
    for test in tests:
        for requirement in test.requirements:
            carriers.setdefault(requirement, []).append(test)
    return [
        RequirementResult(
            id=requirement,
            sentence=manifest.requirements.get(requirement, ""),
            status=max((test.status for test in carried), key=lambda status: status.rank, default=None),
            tests=[test.id for test in carried],
            examples=sum(test.examples or 0 for test in carried),
        )
        for requirement, carried in sorted(carriers.items())
    ]


def _result(record: TestRecord, reports: Sequence[Mapping[str, Any]], command: Sequence[str]) -> TestResult:
    found: list[tuple[Status, Mapping[str, Any]]] = []
    ended = False
    for report in reports:
        # A report that no test wrote itself (a crash) ends it as its teardown does.
        ended |= report["when"] not in ("setup", "call") or STATUS in _properties(report)
        status = _status(report)
        if status is Status.WAIVED and record.marker != "XFAIL":
            status = Status.FAILED  # expected by something else than a waiver
        if status is not None:
            found.append((status, report))
    if not ended:
        found.append((Status.UNFINISHED, {}))
    status, report = max(found, key=lambda pair: pair[0].rank, default=(Status.UNFINISHED, {}))
    properties = {name: value for one in reports for name, value in _properties(one).items()}
    failed = status.is_failure or status is Status.HARNESS_ERROR
    examples = properties.get(EXAMPLES)
    return TestResult(
        id=record.id,
        status=status,
        requirements=record.requirements,
        seconds=round(sum(one.get("duration") or 0.0 for one in reports), 6),
        examples=examples if isinstance(examples, int) else None,
        reason=None if failed else _reason(report),
        waiver=record.waiver,
        waived_run=properties.get(WAIVED),
        failure=failure_of(record.id, report, properties, command) if failed else None,
    )


def _properties(report: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in report.get("user_properties", ())}


def _status(report: Mapping[str, Any]) -> Status | None:
    return status_of(
        report["when"],
        report["outcome"],
        _reason(report),
        "wasxfail" in report,
        _properties(report).get(STATUS),
    )


def _reason(report: Mapping[str, Any]) -> str | None:
    if "wasxfail" in report:
        return str(report["wasxfail"])
    text = report.get("longrepr")
    if report.get("outcome") == "skipped" and isinstance(text, list | tuple):
        return bare_reason(str(text[2]))
    return None
