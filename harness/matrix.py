"""Several implementations side by side: each judged in a process of its own, all in one table."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from harness.exits import ExitCode
from harness.implementations import OPTIONS, ImplementationError, short_names
from harness.nearest import nearest
from harness.progress import bars
from harness.records import EVENTS, MANIFEST, Manifest, RecordError, read_events, read_manifest
from harness.render.matrix import NO_VERDICT, Column, write_matrix
from harness.verdict import in_a_line, judge

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

OUTPUT = "output.txt"
POLL = 0.5
"""Seconds between two looks at how far a run is."""

Tell = Callable[[int, int], None]
"""Told how many tests of a run have ended, of how many."""


@dataclass(frozen=True)
class Candidate:
    """One column to be.

    Attributes:
        kind: Of :data:`~harness.implementations.OPTIONS`.
        name: A short name or ``MODULE:ATTRIBUTE``.
        profiles: What it is judged by instead of what it claims; empty for that.
    """

    kind: str
    name: str
    profiles: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What its column is called."""
        return f"{self.name} as {', '.join(self.profiles)}" if self.profiles else self.name

    @property
    def arguments(self) -> list[str]:
        """What chooses it on pytest's command line."""
        return ["--only", self.kind, OPTIONS[self.kind], self.name, *(f"--profile={name}" for name in self.profiles)]


def candidate(text: str, root: Path) -> Candidate:
    """Reads ``[KIND/]NAME[@PROFILE,...]``.

    Args:
        text: The kind may be left out of a short name that only one kind has.
        root: The project's folder.

    Raises:
        ImplementationError: There is no such kind or name, or several kinds have the name.
    """
    names = {kind: short_names(kind, root) for kind in OPTIONS}
    rest, _, profiles = text.partition("@")
    kind, slash, name = rest.partition("/")
    if not slash:
        kind, name = "", rest
    elif kind not in OPTIONS:
        raise ImplementationError(f"{text}: no kind is called {kind!r}, expected one of {', '.join(OPTIONS)}")
    if not kind:
        kinds = [one for one in OPTIONS if name in names[one]]
        if len(kinds) != 1:
            every = sorted({one for of_kind in names.values() for one in of_kind})
            why = f"is in {' and '.join(kinds)}" if kinds else f"is no short name{nearest(name, every)}"
            known = f"one of {', '.join(every)}, or KIND/NAME with a KIND of {', '.join(OPTIONS)}"
            raise ImplementationError(f"{text}: {name!r} {why}; expected {known}")
        kind = kinds[0]
    elif ":" not in name and name not in names[kind]:
        raise ImplementationError(f"{text}: {kind} has no short name {name!r}; expected one of {', '.join(names[kind])}")
    if profiles and kind != "masks":
        raise ImplementationError(f"{text}: only masks are judged by profiles; leave out @{profiles}")
    return Candidate(kind, name, tuple(filter(None, profiles.split(","))))


def run(candidates: Sequence[Candidate], list_name: str, out: Path, root: Path, say: Callable[[str], None]) -> ExitCode:
    """Judges candidates one after the other and writes ``matrix.html``, ``matrix.md`` and their pictures.

    Args:
        candidates: In the order of the columns.
        list_name: The test list that each is judged by.
        out: Folder for the page, and for one folder of records a candidate.
        root: The project's folder.
        say: Takes a line on each.

    Returns:
        0 if each has a verdict or is not available, whatever the verdict; the harness's error code otherwise.
    """
    columns = []
    records = out / "runs" / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}"
    with bars() as shown:
        for number, one in enumerate(shown.track(candidates, description="implementations"), start=1):
            bar = shown.add_task(one.title, total=None)
            column = _judge(one, list_name, records / str(number), root, partial(_show, shown, bar))
            shown.remove_task(bar)
            columns.append(column)
            say(f"{one.title}: {in_a_line(column.result) if column.result else column.why}")
    for path in write_matrix(columns, out):
        say(str(path))
    return ExitCode.HARNESS_ERROR if any(one.verdict == NO_VERDICT for one in columns) else ExitCode.OK


def _judge(one: Candidate, list_name: str, folder: Path, root: Path, tell: Tell) -> Column:
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-m", list_name, f"--run-dir={folder.resolve()}", *one.arguments]
    with (folder / OUTPUT).open("wb") as output:
        process = subprocess.Popen(command, cwd=root, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        try:
            while True:
                try:
                    code = process.wait(POLL)
                    break
                except subprocess.TimeoutExpired:
                    tell(*_progress(folder))
        except BaseException:
            process.terminate()
            process.wait()
            raise
    said = (folder / OUTPUT).read_text(encoding="utf-8", errors="replace").strip()
    if code == ExitCode.NOT_AVAILABLE:
        why = said.partition("not available: ")[2].rstrip(" !\n") or said
        return Column(one.title, one.kind, None, why, unavailable=True)
    try:
        return Column(one.title, one.kind, judge(read_manifest(folder), read_events(folder)), "")
    except RecordError:
        return Column(one.title, one.kind, None, f"pytest ended with status {code}: {said[-500:]}")


def _show(shown: Progress, bar: TaskID, ended: int, tests: int) -> None:
    shown.update(bar, completed=ended, total=tests or None)


def _progress(folder: Path) -> tuple[int, int]:
    try:
        tests = len(msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest).tests)
        ended = Counter((folder / EVENTS).read_bytes().split(b'"'))[b"teardown"]
    except (OSError, msgspec.MsgspecError):  # nothing is written yet
        return 0, 0
    return ended, tests
