"""``matrix.html`` and ``matrix.md``: requirements down, implementations across. Plain data in, files out."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from harness.failures import Failure
from harness.render import cells, pictures
from harness.render.page import policy, tone
from harness.render.templates import environment, source
from harness.render.text import encodable
from harness.statuses import Status
from harness.verdict import Conformance, RequirementResult, TestResult

CONFORMANT, DEPARTS, NOT_AVAILABLE, NO_VERDICT = "conformant", "departs", "not available", "no verdict"
_TONES = {CONFORMANT: "good", DEPARTS: "bad", NOT_AVAILABLE: "mute", NO_VERDICT: "odd"}
IMAGES = "images"


@dataclass(frozen=True)
class Column:
    """One implementation.

    Attributes:
        title: What it is called.
        kind: ``masks``, ``caches`` or ``stores``.
        result: What its run is worth; None if it did not get as far.
        why: Why not.
        unavailable: What it needs is not installed: that is no fault.
    """

    title: str
    kind: str
    result: Conformance | None
    why: str
    unavailable: bool = False

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.result is None:
            return NOT_AVAILABLE if self.unavailable else NO_VERDICT
        found = {Status(status) for status in self.result.counts}
        if found & {Status.FAILED, Status.CRASHED, Status.TIMED_OUT}:
            return DEPARTS
        # Of what can run here: whether the machine is the list's is not the question.
        whole = found <= {Status.PASSED, Status.WAIVED, Status.NOT_CLAIMED, Status.NOT_RUN} and not self.result.errors
        return CONFORMANT if whole and Status.PASSED in found else NO_VERDICT

    @property
    def about(self) -> str:
        """What it says of itself."""
        return " ".join(self.result.manifest.about.values()) if self.result is not None else ""


@dataclass(frozen=True)
class Cell:
    """One requirement of one implementation.

    Attributes:
        words: Its status, and how many examples were drawn.
        tone: The class of its status in the style sheet.
        anchor: Of the failure that speaks for it; empty if none does.
    """

    words: str
    tone: str
    anchor: str = ""


@dataclass(frozen=True)
class Fault:
    """The smallest failure of some requirements of one implementation.

    Attributes:
        anchor: Names it in the page, and its picture's file.
        requirements: That it speaks for.
        test: The failed test.
        failure: What is known of it.
        image: The picture as PNG; None where there is none.
        words: What is to see on it.
    """

    anchor: str
    requirements: Sequence[str]
    test: str
    failure: Failure
    image: bytes | None
    words: str

    @property
    def uri(self) -> str:
        """``data:`` with the picture."""
        return "data:image/png;base64," + base64.b64encode(self.image or b"").decode()


@dataclass(frozen=True)
class Table:
    """All implementations of one kind.

    Attributes:
        kind: Which.
        columns: The implementations.
        rows: Requirement, sentence, and a cell for each column.
        faults: Of each column.
    """

    kind: str
    columns: Sequence[Column]
    rows: Sequence[tuple[str, str, Sequence[Cell]]]
    faults: Sequence[Sequence[Fault]]


def write_matrix(columns: Sequence[Column], folder: Path) -> list[Path]:
    """Writes the page, the table and the pictures.

    Args:
        columns: The implementations, of any kinds.
        folder: Where to.

    Returns:
        The page and the table.
    """
    kinds = list(dict.fromkeys(column.kind for column in columns))
    tables = [_table(kind, [column for column in columns if column.kind == kind]) for kind in kinds]
    runs = [column.result.manifest for column in columns if column.result is not None]
    common = {
        "tables": tables,
        "day": max((run.started[:10] for run in runs), default=""),
        "machine": runs[0].device if runs else "",
        "versions": runs[0].versions if runs else {},
        "lists": sorted({one.name for run in runs for one in run.lists}),
        "style": source("page.css"),
        "policy": policy(source("page.css"), Markup("")),
        "verdict_tones": _TONES,
    }
    (folder / IMAGES).mkdir(parents=True, exist_ok=True)
    for old in (folder / IMAGES).glob("*.png"):
        old.unlink()
    for table in tables:
        for fault in (fault for faults in table.faults for fault in faults):
            if fault.image is not None:
                (folder / IMAGES / f"{fault.anchor}.png").write_bytes(fault.image)
    written = [folder / "matrix.html", folder / "matrix.md"]
    for path in written:
        text = environment().get_template(f"{path.name}.jinja").render(**common)
        path.write_text(text, encoding="utf-8")
    return written


def _table(kind: str, columns: Sequence[Column]) -> Table:
    clean = [
        Column(one.title, one.kind, encodable(one.result) if one.result else None, one.why, one.unavailable)
        for one in columns
    ]
    faults = [list(_faults(column, f"{kind}-{number}")) for number, column in enumerate(clean, start=1)]
    sentences: dict[str, str] = {}
    found: list[dict[str, RequirementResult]] = []
    for column in clean:
        checked = [one for one in column.result.requirements if one.status is not None] if column.result else []
        sentences |= {one.id: one.sentence for one in checked}
        found.append({one.id: one for one in checked})
    rows = []
    for name, sentence in sorted(sentences.items()):
        cells_of_row = [
            _cell(column, of_column.get(name), of_faults)
            for column, of_column, of_faults in zip(clean, found, faults, strict=True)
        ]
        rows.append((name, sentence, cells_of_row))
    return Table(kind, clean, rows, faults)


def _cell(column: Column, requirement: RequirementResult | None, faults: Sequence[Fault]) -> Cell:
    if requirement is None or requirement.status is None:
        return Cell(column.verdict if column.result is None else "", "mute")
    anchor = next((fault.anchor for fault in faults if requirement.id in fault.requirements), "")
    words = requirement.status.value + (f" ({requirement.examples:,})" if requirement.examples else "")
    return Cell(words, tone(requirement.status), anchor)


def _faults(column: Column, prefix: str) -> Iterator[Fault]:
    """For each failed requirement the smallest failure; one that speaks for several stands once."""
    if column.result is None:
        return
    tests = {test.id: test for test in column.result.tests}
    speaks_for: dict[str, list[str]] = {}
    for requirement in column.result.requirements:
        failed = [tests[name] for name in requirement.tests if tests[name].failure is not None]
        if failed:
            speaks_for.setdefault(min(failed, key=_size).id, []).append(requirement.id)
    for number, (test, requirements) in enumerate(speaks_for.items(), start=1):
        failure = tests[test].failure
        assert failure is not None
        anchor = re.sub(
            r"[^a-z0-9]+", "-", f"{prefix}-{column.title}-{number}".lower()
        )  # titles may differ in what is dropped
        drawn = failure.picture
        yield Fault(
            anchor,
            requirements,
            test,
            failure,
            pictures.png(drawn) if drawn else None,
            cells.in_words(drawn) if drawn else "",
        )


def _size(test: TestResult) -> tuple[bool, int, int]:
    """Pictures first, the smallest of them first."""
    failure = test.failure
    assert failure is not None
    picture = failure.picture
    cells_drawn = sum(map(len, picture.got)) if picture is not None else 0
    return picture is None, cells_drawn, len(failure.example or failure.text)
