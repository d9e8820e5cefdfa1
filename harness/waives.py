"""Waivers: lines of ``waives.txt``, in TensorRT-LLM's grammar and with named fields after it.

A line reads::

    [full:PLATFORM/]ID MARKER [(argument)] [name=value ...] [# comment]

Plain data in, plain data out: no template is evaluated. The argument is a link, or prose, or the minutes of ``TIMEOUT``; the
fields are those of :data:`FIELDS`, a value with blanks stands in double quotes. A ``#`` begins a comment only behind the
marker or at the beginning of the line: one in an id is part of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path

from harness.entries import ListError, Option, bare, cut_options, split_targets
from harness.nearest import ancestors, nearest
from harness.yaml_nodes import read_text

MARKERS = ("SKIP", "XFAIL", "UNSTABLE", "TIMEOUT", "ISOLATION")

FIELDS = {
    "owner": "who mends the fault",
    "until": "the day after which the line is an error, as YYYY-MM-DD",
    "example": "a blob of Hypothesis: the example by which an XFAIL of a random property is judged",
    "error": "text that the failure must hold",
}

MALFORMED = {
    "not-text": ("a file that cannot be read", "Save it as UTF-8, where it can be read."),
    "no-marker": ("a line without a marker", "Write 'ID SKIP (https://link)', and '# ' before a comment."),
    "unknown-marker": ("a marker that there is not", f"Write one of {', '.join(MARKERS)}."),
    "no-id": ("a marker without an id before it", "Write 'ID SKIP (https://link)', or delete the line."),
    "unclosed-parenthesis": ("an argument without its end", "Close the parenthesis."),
    "stray-text": (
        "text behind the marker that is no argument, field or comment",
        "Write '(argument) name=value # comment', with blanks between them and a value with blanks in double quotes.",
    ),
    "unknown-field": ("a field that there is not", f"Write one of {', '.join(FIELDS)}, or make it a comment: '# ...'."),
    "repeated-field": ("a field that stands twice", "Delete one."),
    "empty-field": ("a field without a value", "Write a value behind the '=', or delete the field."),
    "bad-date": ("a date that is none", "Write a day of the calendar as YYYY-MM-DD, for example until=2027-01-31."),
    "no-minutes": ("TIMEOUT without minutes", "Write a whole number from 1 to 999999: TIMEOUT (90)."),
}
"""What can be wrong with a line alone: each rule's description, and how to mend it."""


def sentences(found: str, mend: str) -> str:
    """What was found, which may end in a question, and how to mend it."""
    return f"{found}{'' if found.endswith('?') else '.'} {mend}"


class WaiverError(Exception):
    """A line is not what it should be; the message begins with file and line.

    Attributes:
        rule: One of :data:`MALFORMED`.
        path: The file.
        line: Where in it.
        found: What stands there.
    """

    def __init__(self, rule: str, path: Path, line: int, found: str) -> None:
        super().__init__(f"{path}:{line}: {sentences(found, MALFORMED[rule][1])}")
        self.rule = rule
        self.path = path
        self.line = line
        self.found = found


@dataclass(frozen=True)
class Waiver:
    """One line.

    Attributes:
        target: A test's id, or a function, class, file or folder for all of its tests; also several paths, or paths with
            ``-k`` and ``-m``, as upstream has them.
        platform: Platform of the lists it holds for (``full:B200/`` for ``l0_b200``); None for all.
        marker: One of :data:`MARKERS`.
        argument: What stands in the parentheses; None without them.
        fields: Names and values, in the order in which they stand.
        comment: What stands behind the ``#``; None without one.
        path: The file it stands in.
        line: The line it stands on.
        quoted: Names of the fields that stand in quotes without need.
    """

    target: str
    platform: str | None
    marker: str
    argument: str | None
    fields: tuple[tuple[str, str], ...]
    comment: str | None
    path: Path
    line: int
    quoted: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        prefix = "" if self.platform is None else f"full:{self.platform}/"
        parts = [prefix + self.target, self.marker]
        parts += [] if self.argument is None else [f"({self.argument})"]
        for name, value in self.fields:
            quote = '"' if name in self.quoted or not value or re.search(r"\s", value) else ""
            parts.append(f"{name}={quote}{value}{quote}")
        parts += [] if self.comment is None else [f"# {self.comment}".rstrip()]
        return " ".join(parts)

    @cached_property
    def _parts(self) -> tuple[tuple[str, ...], tuple[Option, ...]]:
        text, options = cut_options(self.target)
        return split_targets(text), options

    @property
    def targets(self) -> tuple[str, ...]:
        """Folders, files and ids that the target names, without ``-k`` and ``-m``."""
        return self._parts[0]

    @property
    def keyword(self) -> str | None:
        """The expression of ``-k``."""
        return next((option.expression for option in self._parts[1] if option.name == "k"), None)

    @property
    def marks(self) -> str | None:
        """The expression of ``-m``."""
        return next((option.expression for option in self._parts[1] if option.name == "m"), None)

    def covers(self, node_id: str) -> bool:
        """Whether a target means this test; ``-k`` and ``-m`` are the caller's to evaluate."""
        return not {bare(target) for target in self.targets}.isdisjoint(ancestors(node_id))

    @property
    def link(self) -> str | None:
        """Where the fault is tracked: the argument, if it is a link."""
        argument = (self.argument or "").strip()
        return argument if re.fullmatch(r"https?://\S+", argument) else None

    @property
    def minutes(self) -> int | None:
        """The time limit of ``TIMEOUT``."""
        return int(self.argument) if self.marker == "TIMEOUT" and self.argument is not None else None

    @property
    def until(self) -> date | None:
        """The last day on which it holds."""
        value = self._field("until")
        return None if value is None else date.fromisoformat(value)

    @property
    def owner(self) -> str | None:
        """Who mends the fault."""
        return self._field("owner")

    @property
    def example(self) -> str | None:
        """The pinned example of a property, as Hypothesis' ``@reproduce_failure`` takes it."""
        return self._field("example")

    @property
    def error(self) -> str | None:
        """Text that the failure must hold."""
        return self._field("error")

    def _field(self, name: str) -> str | None:
        return dict(self.fields).get(name)


def platform_key(name: str) -> str:
    """A platform as it is compared: without case and underscores, which lists and waivers write differently."""
    return name.lower().replace("_", "")


def read_waivers(path: Path) -> list[Waiver]:
    """Reads a file of waivers; a file that is not there has none.

    Raises:
        WaiverError: The first line that is malformed.
    """
    waivers, errors = scan_waivers(path)
    if errors:
        raise errors[0]
    return waivers


def scan_waivers(path: Path) -> tuple[list[Waiver], list[WaiverError]]:
    """Reads a file of waivers, and on behind malformed lines."""
    waivers: list[Waiver] = []
    errors: list[WaiverError] = []
    try:
        text = read_text(path) if path.exists() else ""
    except ListError as error:
        return [], [WaiverError("not-text", path, error.line, error.found)]
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            waiver = parse_waiver(line, path, number)
        except WaiverError as error:
            errors.append(error)
        else:
            waivers += [] if waiver is None else [waiver]
    return waivers, errors


_PLATFORM = re.compile(r"full:(?P<platform>[^/\s]+)/")
_MARKER = re.compile(rf"(?:^|(?<=\s))(?:{'|'.join(MARKERS)})(?=[\s(]|\Z)")
_WORD = re.compile(r"(?<=\s)[A-Za-z]+(?=[\s(]|\Z)")
_PARENTHESIS = re.compile(r"[()]")
_FIELD = re.compile(r'\s+(?P<name>[A-Za-z_][\w-]*)=(?:"(?P<quoted>[^"]*)"|(?P<bare>(?!")\S*))(?=\s|\Z)')
_COMMENT = re.compile(r"\s+#(?P<comment>.*)\Z", re.DOTALL)
_MINUTES = re.compile(r"[1-9][0-9]{0,5}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class _Malformed(Exception):
    """A rule and what breaks it, where neither file nor line is known."""

    def __init__(self, rule: str, found: str) -> None:
        super().__init__(found)
        self.rule = rule


def parse_waiver(text: str, path: Path, number: int) -> Waiver | None:
    """Reads one line; None for a blank line or a comment.

    Args:
        text: The line.
        path: The file it stands in.
        number: The line's number.

    Raises:
        WaiverError: It is not of the grammar.
    """
    line = text.strip()
    if not line or line.startswith("#"):
        return None
    try:
        platform, target, marker, end = _cut_id(line)
        argument, end = _cut_argument(line, end)
        fields, quoted, end = _cut_fields(line, end)
        comment = _COMMENT.match(line, end)
        if comment is None and line[end:].strip():
            raise _Malformed("stray-text", f"{line[end:].strip()!r} stands behind {marker}")
        if marker == "TIMEOUT" and not _MINUTES.fullmatch(argument or ""):
            raise _Malformed("no-minutes", f"TIMEOUT has {'nothing' if argument is None else repr(argument)} for minutes")
    except _Malformed as malformed:
        raise WaiverError(malformed.rule, path, number, str(malformed)) from None
    note = comment["comment"].strip() if comment else None
    return Waiver(target, platform, marker, argument, fields, note, path, number, quoted)


def _cut_id(line: str) -> tuple[str | None, str, str, int]:
    """Platform, target and marker, and where the line goes on."""
    platform = _PLATFORM.match(line)
    start = platform.end() if platform else 0
    markers = list(_MARKER.finditer(line))
    # The first behind a whole id, since an id may hold one, too; a truncated id is never whole: then the first at all.
    whole = (marker for marker in markers if _is_whole(line[start : marker.start()]))
    marker = next(whole, markers[0] if markers else None)
    if marker is None:
        raise _without_marker(line, start)
    target = line[start : marker.start()].strip()
    if not target:
        raise _Malformed("no-id", f"{marker[0]} has no id before it")
    if comment := _comment_of(target):
        raise _Malformed("no-marker", f"the comment {comment!r} begins before any marker")
    return platform["platform"] if platform else None, target, marker[0], marker.end()


def _is_whole(target: str) -> bool:
    """Whether an id can end here: neither within its brackets nor within the expression of ``-k`` or ``-m``."""
    text = cut_options(target.strip())[0]
    return text.endswith("]") or ("[" not in text and not re.search(r"\s-[km](\s|\Z)", text))


def _without_marker(line: str, start: int) -> _Malformed:
    for word in _WORD.finditer(line):
        upper = word[0].upper()
        if ((word[0] == upper and len(upper) > 1) or upper in MARKERS) and _is_whole(line[start : word.start()]):
            return _Malformed("unknown-marker", f"unknown marker {word[0]!r}{nearest(upper, MARKERS)}")
    return _Malformed("no-marker", f"{line!r} has no marker")


def _comment_of(target: str) -> str | None:
    """A comment behind what can be an id: not within its brackets."""
    before, bracket, inside = target.partition("[")
    _, closing, behind = inside.rpartition("]")
    match = re.search(r"\s#.*", before if not bracket else behind if closing else "")
    return match[0].strip() if match else None


def _cut_argument(line: str, start: int) -> tuple[str | None, int]:
    """What stands in parentheses, which may hold others, and where the line goes on."""
    begin = start + len(line[start:]) - len(line[start:].lstrip())
    if not line.startswith("(", begin):
        return None, start
    depth = 0
    for parenthesis in _PARENTHESIS.finditer(line, begin):
        depth += 1 if parenthesis[0] == "(" else -1
        if depth == 0:
            return line[begin + 1 : parenthesis.start()], parenthesis.end()
    raise _Malformed("unclosed-parenthesis", f"{line[begin:]!r} is not closed")


def _cut_fields(line: str, start: int) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...], int]:
    """The fields, the names of those in quotes, and where the line goes on."""
    fields: dict[str, str] = {}
    quoted: list[str] = []
    while match := _FIELD.match(line, start):
        name = match["name"]
        value = match["bare"] if match["quoted"] is None else match["quoted"]
        if name not in FIELDS:
            raise _Malformed("unknown-field", f"unknown field {match[0].strip()!r}{nearest(name, FIELDS)}")
        if name in fields:
            raise _Malformed("repeated-field", f"the field {name} stands twice: {fields[name]!r} and {value!r}")
        if not value.strip():
            raise _Malformed("empty-field", f"the field {name} has no value")
        if name == "until" and not _is_date(value):
            raise _Malformed("bad-date", f"until={value!r} is no date")
        fields[name] = value
        quoted += [] if match["quoted"] is None else [name]
        start = match.end()
    return tuple(fields.items()), tuple(quoted), start


def _is_date(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return _DATE.fullmatch(value) is not None  # fromisoformat takes 20270131 and weeks, too
