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
    for index, segment in enumerate(batch.segments()):
        cells = slice(segment.first_cell, segment.first_cell + segment.cells)
        got_rows = got[cells].reshape(segment.queries, segment.keys)
        want_rows = want[cells].reshape(segment.queries, segment.keys)
        if not torch.equal(got_rows, want_rows):
            lines += _request(batch, rule, index, segment, got_rows, want_rows)
            break
    return "\n".join(lines)


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
    blobs = blob_numbers(batch, rule, segment).tolist() if rule.overlay is Overlay.VISION else [-1] * segment.keys

    def line(cells: list[str]) -> str:
        bar = ["|"] if segment.prefix else []
        return "".join(cells[: segment.prefix] + bar + cells[segment.prefix :])

    width = max(len(line(["."] * segment.keys)), len("difference"))
    letters = ["." if blob < 0 else chr(ord("a") + blob % 26) for blob in blobs]
    lines = [
        f"  types      {line([str(t) for t in types])}",
        f"  blobs      {line(letters)}",
        f"  row  {'expected':<{width}}  {'got':<{width}}  difference",
    ]
    for row in range(segment.queries):
        g, w = got[row].tolist(), want[row].tolist()
        difference = [" " if a == b else "?" if a > 1 else "+" if a else "-" for a, b in zip(g, w, strict=True)]
        expected = line(["#" if cell else "." for cell in w])
        returned = line(["?" if cell > 1 else "#" if cell else "." for cell in g])
        lines.append(f"  {row:>3}  {expected:<{width}}  {returned:<{width}}  {line(difference)}".rstrip())
    return lines
