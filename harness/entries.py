"""Entries: one line of a test list each. Plain data in, plain data out.

A line reads::

    TARGET... [-k "expr"] [-m "expr"] [TIMEOUT (minutes)] [ISOLATION]

It is read from its end, so that an id may hold whatever pytest writes into it: blanks, slashes, ``::``, ``#``, brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

from harness.nearest import ancestors


class ListError(Exception):
    """A list is not what it should be; the message begins with file and line.

    Attributes:
        path: The list.
        line: Where in it.
        found: What stands there, what was expected, and how to mend it.
        rule: ``malformed-entry``, or ``not-a-list`` where the file around the entries is wrong.
    """

    def __init__(self, path: Path, line: int, found: str, rule: str = "not-a-list") -> None:
        super().__init__(f"{path}:{line}: {found}")
        self.path = path
        self.line = line
        self.found = found
        self.rule = rule


@dataclass(frozen=True)
class Entry:
    """One line of a list.

    Attributes:
        targets: Folders, files or node ids, with or without their parameters, relative to the project's root.
        keyword: The expression of ``-k``.
        marks: The expression of ``-m``.
        minutes: The time limit of ``TIMEOUT``.
        isolated: Whether it runs in a process of its own.
        path: The list it stands in.
        line: The line it stands on.
        form: How options and markers stood, so that they print as they did; empty for the usual order.
    """

    targets: tuple[str, ...]
    keyword: str | None
    marks: str | None
    minutes: int | None
    isolated: bool
    path: Path
    line: int
    form: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        rest = (self.form or self._usual_form()).format(keyword=self.keyword, marks=self.marks, minutes=self.minutes)
        return " ".join((*self.targets, rest)).rstrip()

    def _usual_form(self) -> str:
        parts = [
            _option_form(name, "'" if '"' in expression else '"')
            for name, expression in (("k", self.keyword), ("m", self.marks))
            if expression is not None
        ]
        parts += [_TIMEOUT] if self.minutes is not None else []
        parts += [_ISOLATION] if self.isolated else []
        return " ".join(parts)

    def selects(self, node_id: str) -> bool:
        """Whether a target means this test; ``-k`` and ``-m`` are the caller's to evaluate."""
        return not {bare(target) for target in self.targets}.isdisjoint(ancestors(node_id))


_TIMEOUT, _ISOLATION = "TIMEOUT ({minutes})", "ISOLATION"


def _option_form(name: str, quote: str) -> str:
    return f"-{name} {quote}{'{keyword}' if name == 'k' else '{marks}'}{quote}"


class Option(NamedTuple):
    """``-k`` or ``-m``: its letter, its expression, and the quote around it, if any."""

    name: str
    expression: str
    quote: str


_MARKER = re.compile(r"(?<!\s)\s++(?:TIMEOUT\s*+\((?P<minutes>[1-9][0-9]{0,5})\)|ISOLATION)(?P<comma>,?)\Z")
_OPTION = re.compile(
    r"""(?<!\s)\s++-(?P<name>[km])\s++
    (?: (?P<quote>["']) (?P<quoted>(?:(?!(?P=quote)).)++) (?P=quote) | (?P<bare>(?!-)[^\s"'\[\]]++) )\Z""",
    re.VERBOSE | re.DOTALL,
)
_MINUTES = re.compile(r"\s*\([1-9][0-9]{0,5}\)(?=[\s,]|\Z)")
_MARKER_WORD = re.compile(r"(?<!\S)(TIMEOUT|ISOLATION|SKIP|XFAIL|UNSTABLE)(?=[\s(,]|\Z)", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def parse_entry(text: str, path: Path, line: int) -> Entry:
    """Reads one entry.

    Args:
        text: The entry, without what makes it YAML.
        path: The list it stands in.
        line: The line it stands on.

    Raises:
        ListError: It is not of the grammar.
    """
    rest, markers, minutes = _cut_markers(text.strip())
    rest, options = cut_options(rest)
    targets = split_targets(rest)
    found = _problem(text, rest, options, markers) or next(filter(None, map(_problem_of_path, targets)), None)
    if found:
        raise ListError(path, line, f"{text!r}: {found}", "malformed-entry")
    expressions = {option.name: option.expression for option in options}
    return Entry(
        targets,
        expressions.get("k"),
        expressions.get("m"),
        minutes,
        any(marker.startswith(_ISOLATION) for marker in markers),
        path,
        line,
        " ".join([*(_option_form(option.name, option.quote) for option in options), *markers]),
    )


def _cut_markers(text: str) -> tuple[str, list[str], int | None]:
    """Cuts the markers off the end; one that cannot stand there is left, and refused with what else is no target."""
    markers: list[str] = []
    minutes = None
    while match := _MARKER.search(text):
        name = _TIMEOUT if match["minutes"] else _ISOLATION
        if name in [marker.rstrip(",") for marker in markers] or (match["comma"] and not markers):
            break
        minutes = int(match["minutes"]) if match["minutes"] else minutes
        markers.insert(0, name + match["comma"])
        text = text[: match.start()]
    return text, markers, minutes


def cut_options(text: str) -> tuple[str, tuple[Option, ...]]:
    """Cuts ``-k expr`` and ``-m expr`` off the end of a line, each at most once.

    Returns:
        What stands before them, and the options in the order in which they stand.
    """
    options: tuple[Option, ...] = ()
    while (match := _OPTION.search(text)) and match["name"] not in [option.name for option in options]:
        options = (Option(match["name"], match["quoted"] or match["bare"], match["quote"] or ""), *options)
        text = text[: match.start()]
    return text, options


def split_targets(text: str) -> tuple[str, ...]:
    """The targets of a line without its options: one node id if there is a bracket, else a target a word."""
    return (text,) if "[" in text else tuple(text.split())


def _problem(text: str, rest: str, options: Sequence[Option], markers: Sequence[str]) -> str | None:
    """What is wrong with an entry, what was expected, and how to mend it; None if nothing is."""
    if _CONTROL.search(text):
        return "holds a control character, which pytest writes into no id; copy the id from pytest --collect-only"
    # Within brackets anything may stand; what is wrong stands before or behind them.
    before, bracket, inside = rest.partition("[")
    _, closing, behind = inside.rpartition("]")
    outside = before + closing + behind
    if marker := _MARKER_WORD.search(outside):
        return _problem_of_marker(marker[1], outside[marker.end() :], markers)
    if not rest:
        return "an empty entry; expected a folder, a file or a test id; write one, or delete the line"
    if bracket and not closing:
        return "its bracket is not closed; if the id holds ' #' or ': ', put the entry into quotes"
    if option := next((word for word in outside.split() if word.startswith("-")), None):
        return (
            f"{option!r} cannot be read; expected -k 'expr' or -m 'expr', each once, behind the targets and before the "
            "markers; mend its quotes or its place"
        )
    if behind:
        return (
            f"text behind the id: {behind.strip()!r}; expected options and markers there; delete it, or write ' # ' before"
        )
    words = [] if bracket else rest.split()
    if len(words) > 1 and (word := next((w for w in words if "/" not in w and ".py" not in w), None)):
        return (
            f"text behind the id: {word!r}; of several targets on a line each is expected to hold '/' or '.py'; "
            "delete it, or give it a line of its own"
        )
    if blank := next((option for option in options if not option.expression.strip()), None):
        return f"-{blank.name} without an expression, which would select everything; write one, or delete the option"
    return None


def _problem_of_marker(word: str, behind: str, markers: Sequence[str]) -> str:
    upper = word.upper()
    if upper in ("SKIP", "XFAIL", "UNSTABLE"):
        return f"{word} stands in a list; a list says only what runs; move it into waives.txt: ID {upper} (https://link)"
    if word != upper:
        return f"{word!r} in small letters; markers are written in capitals; write {upper}"
    if any(marker.startswith(upper) for marker in markers):
        return f"{upper} stands twice; delete one"
    if upper == "TIMEOUT" and not _MINUTES.match(behind):
        return "TIMEOUT without minutes; expected a whole number from 1 to 999999 in parentheses; write TIMEOUT (90)"
    return f"{upper} at a wrong place; expected it behind the targets and options, at the end; move it there"


def _problem_of_path(target: str) -> str | None:
    file = bare(target.partition("::")[0])
    if file.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", file):
        return f"{target!r} is an absolute path; expected one from the project's root; cut off what is before"
    if {"", ".", ".."} & set(file.split("/")):
        return (
            f"the path of {target!r} holds '//', '.' or '..'; expected one from the project's root; write it as pytest does"
        )
    if file.endswith(","):
        return f"{target!r} ends in a comma; expected one only between two markers; delete it"
    return None


def bare(target: str) -> str:
    """A target as :func:`ancestors` writes it: a folder without the slash at its end."""
    return target if "::" in target else target.rstrip("/")


class _Targeted(Protocol):
    @property
    def targets(self) -> tuple[str, ...]: ...


_T = TypeVar("_T", bound=_Targeted)


class Index(Generic[_T]):
    """Finds what means a test: one look-up for every folder above the test, instead of a question to every entry."""

    def __init__(self, things: Iterable[_T]) -> None:
        self._things = list(things)
        self._positions: dict[str, list[int]] = {}
        for position, thing in enumerate(self._things):
            for target in thing.targets:
                self._positions.setdefault(bare(target), []).append(position)

    def of(self, node_id: str) -> list[_T]:
        """What has a target that means this test, in the order in which it was given."""
        found = {position for name in ancestors(node_id) for position in self._positions.get(name, ())}
        return [self._things[position] for position in sorted(found)]
