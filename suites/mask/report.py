"""What a person needs to see of a wrong mask: where it is wrong, and by which rule."""

from __future__ import annotations

import torch
from torch import Tensor

from reference.dense import blob_numbers, request_tokens
from reference.rules import MaskRule, Overlay
from reference.tokens import MaskBatch, Segment

PICTURED = 64
"""Requests of up to this many keys are drawn."""

FIRST_CELLS = 6

MOST_ROWS = 96
MOST_COLUMNS = 192
"""A larger mask is cut to this much around its first wrong cell, for the picture of the reports."""

TILE = 16
"""The smallest tile of the usual kernels: tile edges are drawn at its multiples."""


class WrongMaskError(AssertionError):
    """A mask is not the oracle's.

    Attributes:
        picture: The first wrong request, as the harness draws it in its reports.
    """

    def __init__(self, batch: MaskBatch, rule: MaskRule, profile: str, got: Tensor, want: Tensor) -> None:
        super().__init__(explain(batch, rule, profile, got, want))
        _, segment, got_rows, want_rows = _first_wrong(batch, got, want)
        self.picture = _drawing(batch, rule, profile, segment, got_rows, want_rows)


def assert_same(batch: MaskBatch, rule: MaskRule, profile: str, got: Tensor, want: Tensor) -> None:
    """Passes where a mask is the one that it must be; the arguments are those of :func:`explain`.

    Raises:
        WrongMaskError: It is not.
    """
    if not torch.equal(got, want):
        raise WrongMaskError(batch, rule, profile, got, want)


def explain(batch: MaskBatch, rule: MaskRule, profile: str, got: Tensor, want: Tensor) -> str:
    """Describes the first request whose mask is wrong.

    Args:
        batch: The requests.
        rule: The rule of the layer.
        profile: Its name.
        got: ``[cells]`` uint8 on the CPU, the bytes that the implementation returned.
        want: ``[cells]`` uint8, the oracle's.

    Returns:
        Profile, rule in words, the request, the first wrong cells and, where it is small, a picture.
    """
    wrong = int((got != want).sum())
    lines = [f"{profile}: {rule.in_words()}", f"{wrong} of {want.numel()} cells are wrong"]
    lines += _request(batch, rule, *_first_wrong(batch, got, want))
    return "\n".join(lines)


def _first_wrong(batch: MaskBatch, got: Tensor, want: Tensor) -> tuple[int, Segment, Tensor, Tensor]:
    """The first request whose mask is wrong: its index, its place, and its rows as they are and as they must be."""
    for index, segment in enumerate(batch.segments()):
        cells = slice(segment.first_cell, segment.first_cell + segment.cells)
        if not torch.equal(got[cells], want[cells]):
            shape = segment.queries, segment.keys
            return index, segment, got[cells].reshape(shape), want[cells].reshape(shape)
    raise ValueError("no request of the batch is wrong")


def _drawing(
    batch: MaskBatch, rule: MaskRule, profile: str, segment: Segment, got: Tensor, want: Tensor
) -> dict[str, object]:
    row, column = (got != want).nonzero()[0].tolist()
    top = max(0, min(row - MOST_ROWS // 2, segment.queries - MOST_ROWS))
    left = max(0, min(column - MOST_COLUMNS // 2, segment.keys - MOST_COLUMNS))
    rows, columns = slice(top, top + MOST_ROWS), slice(left, left + MOST_COLUMNS)
    return {
        "title": f"{profile}: {rule.in_words()}",
        "expected": [_cells(cells) for cells in want[rows, columns].tolist()],
        "got": [_cells(cells) for cells in got[rows, columns].tolist()],
        "blobs": "".join(_letters(batch, rule, segment)[columns]),
        "prefix": segment.prefix,
        "first_query": segment.prefix + top,
        "first_key": left,
        "tile": TILE,
    }


def _cells(row: list[int]) -> str:
    return "".join("?" if cell > 1 else "#" if cell else "." for cell in row)


def _letters(batch: MaskBatch, rule: MaskRule, segment: Segment) -> list[str]:
    """For each key the letter of its blob."""
    blobs = blob_numbers(batch, rule, segment).tolist() if rule.overlay is Overlay.VISION else [-1] * segment.keys
    return ["." if blob < 0 else chr(ord("a") + blob % 26) for blob in blobs]


def _request(batch: MaskBatch, rule: MaskRule, index: int, segment: Segment, got: Tensor, want: Tensor) -> list[str]:
    prefix = "no prefix"
    if segment.prefix:
        prefix = f"P={segment.prefix} cached, types {'unknown' if batch.prefix_types is None else 'known'}"
    lines = [f"request {index} of {len(batch.query_lengths)}: Q={segment.queries}, {prefix}"]
    for row, column in (got != want).nonzero()[:FIRST_CELLS].tolist():
        should = "visible" if want[row, column] else "hidden"
        byte = int(got[row, column])
        said = {0: "hidden", 1: "visible"}.get(byte, f"neither, byte 0x{byte:02x}: unwritten?")
        lines.append(
            f"  row {row}: query p={segment.prefix + row}, key c={column} (p-c={segment.prefix + row - column}) "
            f"expected {should}, got {said}"
        )
    if segment.keys <= PICTURED:
        lines += picture(batch, rule, segment, got, want)
    return lines


def picture(batch: MaskBatch, rule: MaskRule, segment: Segment, got: Tensor, want: Tensor) -> list[str]:
    """Expected, got and difference, side by side.

    ``#`` is visible, ``.`` hidden; in the difference ``+`` is wrongly visible, ``-`` wrongly hidden, ``?`` no bool.
    """
    types, _ = request_tokens(batch, rule, segment)

    def line(cells: list[str] | str) -> str:
        bar = "|" if segment.prefix else ""
        return "".join(cells[: segment.prefix]) + bar + "".join(cells[segment.prefix :])

    width = max(len(line(["."] * segment.keys)), len("difference"))
    lines = [
        f"  types      {line([str(t) for t in types])}",
        f"  blobs      {line(_letters(batch, rule, segment))}",
        f"  row  {'expected':<{width}}  {'got':<{width}}  difference",
    ]
    for row in range(segment.queries):
        g, w = got[row].tolist(), want[row].tolist()
        difference = [" " if a == b else "?" if a > 1 else "+" if a else "-" for a, b in zip(g, w, strict=True)]
        lines.append(f"  {row:>3}  {line(_cells(w)):<{width}}  {line(_cells(g)):<{width}}  {line(difference)}".rstrip())
    return lines
