"""From what a run recorded to what it is worth. Plain data in, plain data out."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec

from harness.exits import ExitCode
from harness.records import BLOB, EXAMPLE, EXAMPLES, PICTURE, WAIVED, Manifest, Picture, RecordError
from harness.statuses import STATUS, Status, status_of


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


class Failure(msgspec.Struct, frozen=True):
    """What is known of a failure.

    Attributes:
        message: Its first line.
        text: All that pytest printed of it.
        example: The smallest failing example of a property, as Hypothesis prints it.
        replay: The command that runs the test on that example again.
        picture: The wrong mask, where it is one.
    """

    message: str
    text: str
    example: str | None
    replay: str
    picture: Picture | None


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
    errors = []
    for event in events:
        if event.get("$report_type") == "TestReport":
            reports.setdefault(event["nodeid"], []).append(event)
        elif event.get("$report_type") == "CollectReport" and event.get("outcome") == "failed":
            errors.append(f"{event['nodeid'] or 'collection'} could not be collected: {_text(event)}")
    tests = [
        _result(record.id, record.requirements, record.waiver, reports.get(record.id, []), manifest.command)
        for record in manifest.tests
    ]
    return conclude(manifest, tests, errors)


def conclude(manifest: Manifest, tests: Sequence[TestResult], errors: Sequence[str]) -> Conformance:
    """Sums up the tests of a run, or of all its shards."""
    counts = Counter(test.status for test in tests)
    why = _why(manifest, tests, errors)
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
    if described and any(test.status is Status.NOT_RUN and test.requirements for test in conformance.tests):
        return ExitCode.NOT_CONFORMANT
    return ExitCode.OK


def merge(shards: Sequence[Conformance]) -> Conformance:
    """Joins the shards of one run.

    Raises:
        RecordError: They are not of one run, overlap, or do not cover it.
    """
    first = shards[0].manifest
    owner: dict[str, Manifest] = {}
    for shard in shards:
        manifest = shard.manifest
        for what, one, other in (
            ("lists", [one.name for one in first.lists], [one.name for one in manifest.lists]),
            ("implementations", first.implementations, manifest.implementations),
            ("tests", first.universe, manifest.universe),
            ("shards", first.shard and first.shard.splits, manifest.shard and manifest.shard.splits),
        ):
            if one != other:
                raise RecordError(f"{first.run} and {manifest.run} differ in their {what}: they are not shards of one run")
        for test in manifest.tests:
            if test.id in owner:
                raise RecordError(
                    f"{owner[test.id].run} and {manifest.run} overlap: both ran {test.id}; give each shard once, "
                    "all split with the same durations"
                )
            owner[test.id] = manifest
    missing = [node_id for node_id in first.universe if node_id not in owner]
    if missing:
        groups = sorted(shard.manifest.shard.group for shard in shards if shard.manifest.shard)
        splits = first.shard.splits if first.shard else 1
        raise RecordError(
            f"incomplete: {len(missing)} of {len(first.universe)} tests are in no shard, first {missing[0]}; "
            f"given are the groups {groups} of {splits}: name the folder of each"
        )
    by_id = {test.id: test for shard in shards for test in shard.tests}
    records = {test.id: test for shard in shards for test in shard.manifest.tests}
    unmet = {
        one.name: sorted({reason for shard in shards for other in shard.manifest.lists if other.name == one.name
                          for reason in other.unmet})
        for one in first.lists
    }  # fmt: skip
    whole = msgspec.structs.replace(
        first,
        run=" + ".join(shard.manifest.run for shard in shards),
        lists=[msgspec.structs.replace(one, unmet=unmet[one.name]) for one in first.lists],
        narrowed=sorted({reason for shard in shards for reason in shard.manifest.narrowed}),
        tests=[records[node_id] for node_id in first.universe],
        shard=None,
    )
    errors = [error for shard in shards for error in shard.errors]
    return conclude(whole, [by_id[node_id] for node_id in first.universe], errors)


def in_a_line(conformance: Conformance) -> str:
    """The verdict in one line: what, of whom, under which list, and why not."""
    manifest = conformance.manifest
    judged = ", ".join(f"{option} {name}" for option, name in manifest.implementations.items()) or "the project"
    lists = ", ".join(one.name for one in manifest.lists) or "no list"
    counts = ", ".join(f"{count} {status}" for status, count in conformance.counts.items()) or "no test"
    why = f": {'; '.join(conformance.why)}" if conformance.why else ""
    return f"{conformance.verdict.value}: {judged} under {lists} ({counts}; {conformance.examples} examples){why}"


def _why(manifest: Manifest, tests: Sequence[TestResult], errors: Sequence[str]) -> list[str]:
    counts = Counter(test.status for test in tests)
    against = [status for status in reversed(Status) if status not in (Status.PASSED, Status.WAIVED, Status.NOT_CLAIMED)]
    why = [f"{counts[status]} {status.value}" for status in against if counts[status]]
    if errors:
        why.append(f"{len(errors)} errors outside of any test")
    if not any(status.is_failure or status in (Status.PASSED, Status.WAIVED) for status in counts):
        why.append("nothing ran")
    if not manifest.lists:
        why.append("no list was chosen (-m)")
    if manifest.conditions != "ignore":
        why += [f"not the machine that {one.name} asks for: {'; '.join(one.unmet)}" for one in manifest.lists if one.unmet]
    if manifest.shard is not None:
        why.append(f"this is shard {manifest.shard.group} of {manifest.shard.splits}")
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


def _result(
    node_id: str,
    requirements: list[str],
    waiver: str | None,
    reports: Sequence[Mapping[str, Any]],
    command: Sequence[str],
) -> TestResult:
    found: list[tuple[Status, Mapping[str, Any]]] = []
    ended = False
    for report in reports:
        # A report that no test wrote itself (a crash) ends it as its teardown does.
        ended |= report["when"] not in ("setup", "call") or STATUS in dict(report["user_properties"])
        status = _status(report)
        if status is not None:
            found.append((status, report))
    if not ended:
        found.append((Status.UNFINISHED, {}))
    status, report = max(found, key=lambda pair: pair[0].rank, default=(Status.UNFINISHED, {}))
    properties = {name: value for one in reports for name, value in one["user_properties"]}
    failed = status.is_failure or status is Status.HARNESS_ERROR
    return TestResult(
        id=node_id,
        status=status,
        requirements=requirements,
        seconds=round(sum(one.get("duration", 0.0) for one in reports), 6),
        examples=properties.get(EXAMPLES),
        reason=None if failed else _reason(report),
        waiver=waiver,
        waived_run=properties.get(WAIVED),
        failure=_failure(node_id, report, properties, command) if failed else None,
    )


def _status(report: Mapping[str, Any]) -> Status | None:
    return status_of(
        report["when"],
        report["outcome"],
        _reason(report),
        "wasxfail" in report,
        dict(report["user_properties"]).get(STATUS),
    )


def _reason(report: Mapping[str, Any]) -> str | None:
    if "wasxfail" in report:
        return str(report["wasxfail"])
    text = report.get("longrepr")
    if report.get("outcome") == "skipped" and isinstance(text, list | tuple):
        return str(text[2]).removeprefix("Skipped: ")
    return None


def _failure(node_id: str, report: Mapping[str, Any], properties: Mapping[str, Any], command: Sequence[str]) -> Failure:
    text = _text(report)
    crash = report.get("longrepr")
    message = text
    if isinstance(crash, Mapping) and crash.get("reprcrash"):
        message = str(crash["reprcrash"]["message"])
    picture = properties.get(PICTURE)
    return Failure(
        message=message.split("\n", 1)[0],
        text=text,
        example=properties.get(EXAMPLE),
        replay=replay(node_id, command, properties.get(BLOB)),
        picture=None if picture is None else msgspec.json.decode(picture, type=Picture),
    )


def replay(node_id: str, command: Sequence[str], blob: str | None) -> str:
    """The shell command that runs one test again, on one example of it where there is one."""
    example = [] if blob is None else ["--example", blob]
    return shlex.join(["python", "-m", "pytest", node_id, "-n0", *command, *example])


def _text(report: Mapping[str, Any]) -> str:
    """What pytest prints of a failure, from its serialised form."""
    crash = report.get("longrepr")
    if not isinstance(crash, Mapping):
        return str(crash)
    if crash.get("reprcrash") is None and "longrepr" in crash:
        return str(crash["longrepr"])
    lines = []
    for entry, _, _ in crash.get("chain") or [[crash.get("reprtraceback") or {}, None, None]]:
        for part in entry.get("reprentries", []):
            lines += part["data"].get("lines", [])
            where = part["data"].get("reprfileloc")
            if where:
                lines.append(f"{where['path']}:{where['lineno']}: {where['message']}")
    return "\n".join(lines) or str((crash.get("reprcrash") or {}).get("message", ""))
