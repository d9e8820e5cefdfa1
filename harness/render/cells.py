"""What a :class:`~harness.records.Picture` shows, cell by cell and in words: no drawing yet."""

from __future__ import annotations

from collections import Counter
from enum import Enum

from harness.records import Picture


class Cell(Enum):
    """What a cell of a panel can be, and what it is called."""

    OUTSIDE = "outside"
    HIDDEN = "hidden"
    VISIBLE = "visible"
    VISIBLE_IN_BOTH = "visible in both"
    WRONGLY_VISIBLE = "wrongly visible"
    WRONGLY_HIDDEN = "wrongly hidden"
    NEITHER = "neither 0 nor 1"


WRONG = (Cell.WRONGLY_VISIBLE, Cell.WRONGLY_HIDDEN, Cell.NEITHER)

Panel = list[list[Cell]]
"""Rows of one length: queries by keys."""

_READ = {"#": Cell.VISIBLE, ".": Cell.HIDDEN, "?": Cell.NEITHER}


def panels(picture: Picture) -> dict[str, Panel]:
    """``expected``, ``got`` and ``difference``.

    They are rectangles of one size whatever was recorded: a report must not fall over the failure that it shows.
    """
    height = max(len(picture.expected), len(picture.got))
    width = max(map(len, [*picture.expected, *picture.got]), default=0)

    def read(rows: list[str]) -> Panel:
        padded = [row.ljust(width) for row in rows] + [" " * width] * (height - len(rows))
        return [[_READ.get(character, Cell.OUTSIDE) for character in row] for row in padded]

    expected, got = read(picture.expected), read(picture.got)
    difference = [list(map(_compare, *rows)) for rows in zip(expected, got, strict=True)]
    return {"expected": expected, "got": got, "difference": difference}


def _compare(want: Cell, got: Cell) -> Cell:
    if want is got:
        return Cell.VISIBLE_IN_BOTH if want is Cell.VISIBLE else want
    return {Cell.VISIBLE: Cell.WRONGLY_VISIBLE, Cell.HIDDEN: Cell.WRONGLY_HIDDEN}.get(got, got)


def in_words(picture: Picture) -> str:
    """The picture for those who do not see it: its extent, how many cells are wrong in which way, and the first of them."""
    difference = panels(picture)["difference"]
    keys = len(difference[0]) if difference else 0
    extent = f"queries from p={picture.first_query}: {len(difference)}, keys from c={picture.first_key}: {keys}"
    wrong = [(row, key, cell) for row, cells in enumerate(difference) for key, cell in enumerate(cells) if cell in WRONG]
    if not wrong:
        return f"Mask ({extent}) in which no cell differs."
    counts = Counter(cell for _, _, cell in wrong)
    told = ", ".join(f"{counts[cell]} {cell.value}" for cell in WRONG if counts[cell])
    row, key, cell = wrong[0]
    where = f"query p={picture.first_query + row}, key c={picture.first_key + key}"
    return f"Expected, got and difference of a mask ({extent}). Wrong cells: {told}; the first at {where}, {cell.value}."
