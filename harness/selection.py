"""Which lists ``-m`` names, and which tests a line means, in pytest's own expressions: their private parts stay here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import pytest
from _pytest.mark import KeywordMatcher, MarkMatcher
from _pytest.mark.expression import Expression

from harness.entries import Entry, Index
from harness.nearest import nearest
from harness.waives import Waiver


def check_marker_expression(expression: str, known: set[str]) -> None:
    """Raises a usage error for a name in ``-m`` that is no marker: pytest would take it for one that no test has."""
    for name in re.findall(r"[A-Za-z_]\w*(?!\w*\s*=)", re.sub(r"\([^()]*=[^()]*\)", "", expression)):
        if name not in known | {"and", "or", "not", "True", "False"}:
            raise pytest.UsageError(f"-m {expression}: no list or marker is called {name!r}{nearest(name, known)}")


def named_lists(expression: str, names: Iterable[str]) -> list[str]:
    """The lists that ``-m`` asks for: those whose tests it selects because they are in the list."""
    if not expression:
        return []
    compiled = _compile(expression, "-m")

    def selects(marked: bool, name: str, others: bool) -> bool:
        return compiled.evaluate(lambda word, /, **_: marked if word == name else others)

    return [
        name
        for name in names
        if any(selects(True, name, others) and not selects(False, name, others) for others in (False, True))
    ]


def check_expressions(lines: Iterable[Entry | Waiver]) -> None:
    """Raises a usage error for ``-k`` or ``-m`` of a line that is no expression."""
    for line in lines:
        for expression in (line.keyword, line.marks):
            if expression is not None:
                _compile(expression, f"{line.path}:{line.line}")


def _compile(expression: str, where: str) -> Expression:
    try:
        return Expression.compile(expression)
    except SyntaxError as error:
        raise pytest.UsageError(f"{where}: {expression!r} is no expression: {error}") from error


def means(line: Entry | Waiver, item: pytest.Item) -> bool:
    """Whether a test that a line names meets its ``-k`` and ``-m``, too."""
    return (line.keyword is None or Expression.compile(line.keyword).evaluate(KeywordMatcher.from_item(item))) and (
        line.marks is None or Expression.compile(line.marks).evaluate(MarkMatcher.from_markers(item.iter_markers()))
    )


def idle(lines: Sequence[Entry | Waiver], items: Sequence[pytest.Item]) -> list[Entry | Waiver]:
    """The lines with an expression that leaves none of the tests they name."""
    narrowed = [line for line in lines if line.keyword is not None or line.marks is not None]
    index = Index(narrowed)
    used = {id(line) for item in items for line in index.of(item.nodeid) if means(line, item)}
    return [line for line in narrowed if id(line) not in used]
