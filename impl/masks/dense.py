"""Bounds -> the packed dense mask: the quadratic half, which is nothing but writing.

The flat output is cut into equal chunks whatever the row width, and its storage is padded to whole chunks, so that
every store is a full, aligned, unmasked vector. A chunk inside at most two rows is one flat run with two intervals,
and a constant if neither ends in it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from impl.masks.table import RequestTable, request_of
from reference.rules import MaskRule, Prefix
from reference.tokens import MaskBatch

CHUNK = 4096
"""Bytes a program writes; a power of two of at least 16."""

PIECE = 512
"""Bytes that a program writes at a time where every lane looks up its own row: each takes many registers."""


def paint(
    batch: MaskBatch, rule: MaskRule, table: RequestTable, bounds: Tensor, chunk: int = CHUNK, cells: range | None = None
) -> Tensor:
    """Writes the packed dense mask, or a part of it.

    Args:
        batch: The requests, with at least one query.
        rule: The rule of the layer.
        table: The request table of the batch.
        bounds: ``[sum Q, 2]`` int32, first and last visible key of every query.
        chunk: Bytes a program writes; a power of two.
        cells: Which cells of the packed mask, for a mask that is looked at in pieces; default all.

    Returns:
        ``[len(cells)]`` bool, contiguous; its storage ends up to ``chunk`` bytes later.
    """
    cells = range(batch.cells) if cells is None else cells
    programs = triton.cdiv(len(cells), chunk)
    storage = torch.empty(programs * chunk, dtype=torch.bool, device=batch.device)
    if programs:
        _dense_kernel[(programs,)](
            storage.view(torch.uint8),
            bounds,
            table.tensor,
            cells.start,
            table.tensor.shape[1],
            batch.query_total,
            STEPS=table.steps,
            OPEN=rule.prefix is Prefix.OPEN,
            WIDE=2 * table.longest > chunk,
            CHUNK=chunk,
            PIECE=min(chunk, PIECE if batch.device.type == "cuda" else chunk),
        )
    return storage[: len(cells)]


@triton.jit
def _dense_kernel(
    result,
    bounds,
    table,
    first_cell,
    requests,
    queries,
    STEPS: tl.constexpr,
    OPEN: tl.constexpr,
    WIDE: tl.constexpr,
    CHUNK: tl.constexpr,
    PIECE: tl.constexpr,
):
    first_cells = table + requests
    # Offsets into the output are 64 bits wide from here on; only what is relative to the chunk is narrower.
    skipped = tl.program_id(0).to(tl.int64) * CHUNK
    start = skipped + first_cell
    lane = tl.arange(0, CHUNK)
    result += skipped

    flat = False
    if WIDE:
        one = table
        if STEPS > 0:
            one += request_of(first_cells, requests, start, STEPS)
        request_first = tl.load(one)
        cached = tl.load(one + 2 * requests)
        width = tl.load(one + 3 * requests)
        request_end = request_first + width - cached
        offset = start - tl.load(one + requests)
        query_a = request_first + offset // width
        begun = offset % width  # cells of the first row that lie before the chunk
        seam = width - begun  # where the second row begins, counted from the chunk
        flat = (seam + width >= CHUNK) & ((query_a + 1 < request_end) | (seam >= CHUNK))
        if flat:
            query_b = tl.minimum(query_a + 1, request_end - 1)
            # Clipped to the chunk, so that the lanes compare in 32 bits.
            first_a = tl.maximum(tl.load(bounds + 2 * query_a) - begun, 0).to(tl.int32)
            last_a = tl.minimum(tl.load(bounds + 2 * query_a + 1) - begun, CHUNK - 1).to(tl.int32)
            first_b = tl.minimum(tl.load(bounds + 2 * query_b) + seam, CHUNK).to(tl.int32)
            last_b = tl.minimum(tl.load(bounds + 2 * query_b + 1) + seam, CHUNK - 1).to(tl.int32)
            seen = tl.maximum(last_a - first_a + 1, 0) + tl.maximum(last_b - first_b + 1, 0)
            constant = (seen == 0) | (seen == CHUNK)
            if OPEN:
                constant = False
            if constant:
                # Computing a byte costs about ten instructions, more than writing it.
                tl.store(result + lane, tl.full((CHUNK,), 0, tl.uint8) + (seen > 0).to(tl.uint8))
            else:
                seen_a = (lane >= first_a) & (lane <= last_a)
                seen_b = (lane >= first_b) & (lane <= last_b)
                if OPEN:
                    seen_a |= lane < cached - begun
                    seen_b |= (lane >= seam) & (lane < seam + cached)
                tl.store(result + lane, (seen_a | seen_b).to(tl.uint8))
    if not flat:
        # Many rows, or several requests: every lane looks up its own. Lanes past the last cell paint the padding.
        for piece in range(0, CHUNK, PIECE):
            part = piece + tl.arange(0, PIECE)
            cell = start + part
            slot = table
            if STEPS > 0:
                slot += request_of(first_cells, requests, cell, STEPS)
            keys = tl.load(slot + 3 * requests)
            within = cell - tl.load(slot + requests)
            row = within // keys
            column = within - row * keys
            interval = bounds + 2 * tl.minimum(tl.load(slot) + row, queries - 1)
            visible = (column >= tl.load(interval)) & (column <= tl.load(interval + 1))
            if OPEN:
                visible |= column < tl.load(slot + 2 * requests)
            tl.store(result + part, visible.to(tl.uint8))
