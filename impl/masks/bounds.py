"""Token types -> the first and the last visible key of every query: the linear half of a mask.

Every row of every rule is one interval of keys that contains the query. A blob is found per block of queries:
the block compares its tokens with each other, and walks out of itself only for the blobs of its first and its
last token.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from impl.masks.table import RequestTable, request_of
from reference.rules import MaskRule, Order, Overlay, Segmentation
from reference.tokens import MaskBatch

BLOCK = 128
"""Queries a program handles; it compares BLOCK x BLOCK pairs of tokens."""

TILE = 32
"""Cached tokens that a program looks at in one step back into the prefix, for each of its queries."""

NO_WINDOW = 2**40
"""W where the rule has none: wider than any request."""

_OVERLAYS = {Overlay.NONE: 0, Overlay.VISION: 1, Overlay.ALL: 2}
_ORDERS = {Order.WINDOW_LAST: 0, Order.OR_LAST: 1, Order.DROP_LONGER: 2}
_SEGMENTATIONS = {Segmentation.RUN: 0, Segmentation.TYPE: 1, Segmentation.ITEM: 2}


def bounds(batch: MaskBatch, rule: MaskRule, table: RequestTable, block: int = BLOCK) -> Tensor:
    """First and last visible key of every query; an OPEN prefix is not in them.

    Args:
        batch: The requests, with at least one query.
        rule: The rule of the layer.
        table: The request table of the batch.
        block: Queries a program handles; a power of two.

    Returns:
        ``[sum Q, 2]`` int32, both ends inclusive, counted from key 0 of the query's request.

    Raises:
        ValueError: The rule segments by item and the batch lacks the item ids.
    """
    by_item = rule.overlay is Overlay.VISION and rule.segmentation is Segmentation.ITEM
    see_prefix = rule.overlay is Overlay.VISION and batch.prefix_types is not None and any(batch.prefix_lengths)
    if by_item:
        batch.require_item_ids()

    items = batch.item_ids if by_item else None
    prefix_types = batch.prefix_types if see_prefix else None
    prefix_items = batch.prefix_item_ids if by_item and see_prefix else None
    total = batch.query_total
    result = torch.empty((total, 2), dtype=torch.int32, device=batch.device)
    _bounds_kernel[(triton.cdiv(total, block),)](
        result,
        table.tensor,
        batch.token_types if rule.overlay is Overlay.VISION else None,
        items,
        prefix_types,
        prefix_items,
        batch.token_types.stride(0),
        0 if items is None else items.stride(0),
        0 if prefix_types is None else prefix_types.stride(0),
        0 if prefix_items is None else prefix_items.stride(0),
        table.tensor.shape[1],
        total,
        (NO_WINDOW if rule.window is None else rule.window) - 1,
        STEPS=table.steps,
        OVERLAY=_OVERLAYS[rule.overlay],
        ORDER=_ORDERS[rule.order],
        SEGMENTATION=_SEGMENTATIONS[rule.segmentation],
        BOUND_FUTURE=rule.bound_future,
        SEE_PREFIX=see_prefix,
        BLOCK=block,
        TILE=TILE,
    )
    return result


@triton.jit
def _ends_blob(types, types_stride, items, items_stride, j, own_kind, own_item, SEGMENTATION: tl.constexpr):
    """Whether token ``j`` cannot lie in one blob with a vision token of ``own_kind`` and, under ITEM, ``own_item``."""
    kind = tl.load(types + j * types_stride)
    if SEGMENTATION == 1:
        ends = kind != own_kind
    else:
        ends = (kind != 1) & (kind != 2)
    if SEGMENTATION == 2:
        ends = ends | (tl.load(items + j * items_stride) != own_item)
    return ends


@triton.jit
def _bounds_kernel(
    result,
    table,
    types,
    items,
    prefix_types,
    prefix_items,
    types_stride,
    items_stride,
    prefix_types_stride,
    prefix_items_stride,
    requests,
    queries,
    reach,
    STEPS: tl.constexpr,
    OVERLAY: tl.constexpr,
    ORDER: tl.constexpr,
    SEGMENTATION: tl.constexpr,
    BOUND_FUTURE: tl.constexpr,
    SEE_PREFIX: tl.constexpr,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
):
    # All of it in 64 bits: the work is linear, and neither an index times a stride nor p + reach can wrap.
    lane = tl.arange(0, BLOCK).to(tl.int64)
    block_first = tl.program_id(0).to(tl.int64) * BLOCK
    # Idle lanes of the last block repeat its last query, so that no access carries a mask.
    i = tl.minimum(block_first + lane, queries - 1)

    slot = table
    if STEPS > 0:
        slot += request_of(table, requests, i, STEPS)
    prefix = tl.load(slot + 2 * requests)
    keys = tl.load(slot + 3 * requests)
    to_position = prefix - tl.load(slot)
    p = i + to_position

    past = tl.maximum(p - reach, 0)
    first = past
    last = p
    if OVERLAY == 2:
        last = keys - 1 + i * 0
    if OVERLAY == 1:
        kind = tl.load(types + i * types_stride)
        vision = (kind == 1) | (kind == 2)
        item = kind
        if SEGMENTATION == 2:
            item = tl.load(items + i * items_stride)

        # Each lane's nearest lane before and behind it that is not of its blob; as _ends_blob, but from registers.
        other = tl.arange(0, BLOCK)[None, :]
        earlier = other < tl.arange(0, BLOCK)[:, None]
        ends = (vision == 0)[None, :]
        if SEGMENTATION == 1:
            ends = kind[None, :] != kind[:, None]
        if SEGMENTATION == 2:
            ends = ends | (item[None, :] != item[:, None])
        before = tl.max(tl.where(earlier, tl.where(ends, other, -1), -1), 1)
        behind = tl.min(tl.where(earlier, BLOCK, tl.where(ends, other, BLOCK)), 1)
        start = block_first + 1 + before
        end = block_first + behind

        # A blob that reaches the block's edge is the blob of the token there: one walk serves all its lanes.
        if block_first > 0:
            head = block_first
            head_kind = tl.load(types + block_first * types_stride)
            head_item = head_kind
            if SEGMENTATION == 2:
                head_item = tl.load(items + block_first * items_stride)
            limit = tl.load(table + request_of(table, requests, block_first, STEPS))  # the first query of its request
            walking = ((head_kind == 1) | (head_kind == 2)) & (head > limit)
            while walking:
                j = tl.maximum(head - 1 - lane, 0)
                stop = _ends_blob(types, types_stride, items, items_stride, j, head_kind, head_item, SEGMENTATION)
                run = tl.min(tl.where(stop | (head - 1 - lane < limit), lane, BLOCK), 0)
                head -= run
                walking = run == BLOCK
            start = tl.where(start <= block_first, head, start)
        if block_first + BLOCK < queries:
            tail = block_first + BLOCK
            tail_kind = tl.load(types + (tail - 1) * types_stride)
            tail_item = tail_kind
            if SEGMENTATION == 2:
                tail_item = tl.load(items + (tail - 1) * items_stride)
            one = table + request_of(table, requests, tail - 1, STEPS)
            limit = tl.load(one) + tl.load(one + 3 * requests) - tl.load(one + 2 * requests)  # behind its last query
            walking = ((tail_kind == 1) | (tail_kind == 2)) & (tail < limit)
            while walking:
                j = tl.minimum(tail + lane, queries - 1)
                stop = _ends_blob(types, types_stride, items, items_stride, j, tail_kind, tail_item, SEGMENTATION)
                run = tl.min(tl.where(stop | (tail + lane >= limit), lane, BLOCK), 0)
                tail += run
                walking = run == BLOCK
            end = tl.where(end >= block_first + BLOCK, tail, end)
        # Tokens of the neighbouring request may look like more of the blob.
        blob_first = tl.maximum(start + to_position, prefix)
        blob_last = tl.minimum(end + to_position, keys) - 1
        if SEE_PREFIX:
            # A blob that begins with the first query may go on in the cached prefix.
            first_prefix = tl.load(slot + 4 * requests)
            reaching = vision & (blob_first == prefix)
            walking = True
            back = tl.arange(0, TILE).to(tl.int64)[None, :]
            while walking:
                cached = reaching[:, None] & (back < blob_first[:, None])
                j = tl.where(cached, (first_prefix + blob_first - 1)[:, None] - back, 0)
                stop = _ends_blob(
                    prefix_types,
                    prefix_types_stride,
                    prefix_items,
                    prefix_items_stride,
                    j,
                    kind[:, None],
                    item[:, None],
                    SEGMENTATION,
                )
                run = tl.min(tl.where(cached & (stop == 0), TILE, back), 1)
                blob_first -= run
                reaching = reaching & (run == TILE)
                walking = tl.max(reaching.to(tl.int32), 0) > 0

        if ORDER == 2:
            vision = vision & (blob_last - blob_first <= reach)
        last = tl.where(vision, blob_last, last)
        if ORDER != 0:
            first = tl.where(vision, tl.minimum(blob_first, past), past)
    if BOUND_FUTURE and (ORDER == 0 or OVERLAY == 2):
        last = tl.minimum(last, p + reach)

    row = result + 2 * i
    tl.store(row, first.to(tl.int32))
    tl.store(row + 1, last.to(tl.int32))
