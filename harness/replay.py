"""Findings run again: each in a process of its own, on its smallest example alone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from harness.findings import Finding, Sighting
from harness.records import RecordError, read_events, read_manifest
from harness.statuses import Status
from harness.verdict import judge


class Outcome(Enum):
    """What came of a finding."""

    STILL_FAILING = "still failing"
    HEALED = "healed"
    ERROR = "error"


def replay(finding: Finding, root: Path, instead: Mapping[str, str]) -> tuple[Outcome, str]:
    """Runs every test that saw a finding.

    Args:
        finding: The finding.
        root: The project's folder.
        instead: Implementations to run on instead of those it was found with: option -> name.

    Returns:
        The outcome, and why it is none where it is an error. It has healed only if it has in every test.
    """
    command = _instead(finding.command, instead)
    for sighting in finding.sightings:
        status, why = _run(sighting, command, root)
        if status is Status.FAILED:
            return Outcome.STILL_FAILING, why
        if status is not Status.PASSED:
            return Outcome.ERROR, f"{sighting.test}: {why}"
    return Outcome.HEALED, ""


def _run(sighting: Sighting, command: list[str], root: Path) -> tuple[Status | None, str]:
    example = [] if sighting.blob is None else ["--example", sighting.blob]
    with tempfile.TemporaryDirectory(prefix="replay-") as name:
        folder = Path(name) / "run"
        arguments = [sighting.test, "-n0", "-p", "no:cacheprovider", *command, *example, f"--run-dir={folder}"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        try:
            tests = {test.id: test for test in judge(read_manifest(folder), read_events(folder)).tests}
        except RecordError:
            return None, f"pytest ended with status {done.returncode}: {done.stdout.strip()[-500:]}"
    test = tests.get(sighting.test)
    if test is None:
        return None, f"there is no such test any more; pytest ended with status {done.returncode}"
    return test.status, test.failure.message if test.failure is not None else f"{test.status.value}: {test.reason}"


def _instead(command: list[str], instead: Mapping[str, str]) -> list[str]:
    left = list(command)
    for option in instead:
        while option in left:
            position = left.index(option)
            del left[position : position + 2]
    return [*left, *(word for pair in instead.items() for word in pair)]
