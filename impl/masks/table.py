"""The request table: where each request of a packed batch lies, on the device, 40 bytes a request."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from reference.tokens import MaskBatch

COLUMNS = 5
"""first_query, first_cell, prefix, keys, first_prefix; each a row of the tensor, one slot a request."""


@dataclass(frozen=True)
class RequestTable:
    """The requests of a batch that have queries, for kernels that search them.

    Attributes:
        tensor: ``[COLUMNS, requests]`` int64 on the batch's device.
        steps: Halvings that :func:`request_of` needs.
        longest: Largest K of the batch, in keys.
    """

    tensor: Tensor
    steps: int
    longest: int


def request_table(batch: MaskBatch) -> RequestTable:
    """Makes the table of a batch with at least one query, without waiting for the device.

    Args:
        batch: The requests.

    Returns:
        The table, ordered after earlier work of the current stream.
    """
    # Without the empty requests, the last slot has keys: lanes past the last cell divide by its row width.
    slots = [(s.first_query, s.first_cell, s.prefix, s.keys, s.first_prefix) for s in batch.segments() if s.queries]
    longest = max(keys for _, _, _, keys, _ in slots)
    steps = (len(slots) - 1).bit_length()
    rows = torch.tensor(list(zip(*slots, strict=True)), dtype=torch.int64)
    return RequestTable(_to_device(rows, batch.device), steps, longest)


def _to_device(rows: Tensor, device: torch.device) -> Tensor:
    if device.type != "cuda":
        return rows.to(device)
    if not torch.cuda.is_current_stream_capturing():
        # From pageable memory the driver has taken its own copy when this returns: no wait, nothing to keep alive.
        return rows.to(device, non_blocking=True)
    # A captured copy would read host memory again at each replay; arguments of a kernel are kept in the graph.
    table = torch.empty(rows.shape, dtype=rows.dtype, device=device)
    for slot, column in enumerate(rows.t().tolist()):
        _write_slot[(1,)](table, slot, rows.shape[1], *column)
    return table


@triton.jit(do_not_specialize=["slot", "slots", "first_query", "first_cell", "prefix", "keys", "first_prefix"])
def _write_slot(table, slot, slots, first_query, first_cell, prefix, keys, first_prefix):
    tl.store(table + slot, first_query.to(tl.int64))
    tl.store(table + slots + slot, first_cell.to(tl.int64))
    tl.store(table + 2 * slots + slot, prefix.to(tl.int64))
    tl.store(table + 3 * slots + slot, keys.to(tl.int64))
    tl.store(table + 4 * slots + slot, first_prefix.to(tl.int64))


@triton.jit
def request_of(starts, requests, x, STEPS: tl.constexpr):
    """Index of the last of ``requests`` that starts at or before ``x``, a scalar or a block of int64."""
    found = x * 0
    for step in tl.static_range(STEPS):
        candidate = found | (1 << (STEPS - 1 - step))
        # A candidate beyond the requests reads a later column of the table: it is not believed, nor out of bounds.
        begun = (candidate < requests) & (tl.load(starts + candidate) <= x)
        found = tl.where(begun, candidate, found)
    return found
