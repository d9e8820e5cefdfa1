"""The oracle: each cell of the mask as SPEC.md states the rule, slowly and plainly."""

from __future__ import annotations

import torch
from torch import Tensor

from reference.rules import MaskRule, Order, Overlay, Prefix, Segmentation
from reference.tokens import VISION, MaskBatch, Segment, TokenType


def packed_mask(batch: MaskBatch, rule: MaskRule) -> Tensor:
    """The packed dense mask that every implementation must return (MASK-PACK-1).

    Args:
        batch: The requests.
        rule: The rule of the layer.

    Returns:
        ``[sum Q * (P + Q)]`` bool on the CPU: the row-major ``[Q, P + Q]`` matrices in batch order.

    Raises:
        ValueError: The rule segments by item and the batch lacks the item ids.
    """
    masks = [request_mask(batch, rule, index).flatten() for index in range(len(batch.query_lengths))]
    return torch.cat(masks) if masks else torch.zeros(0, dtype=torch.bool)


def request_mask(batch: MaskBatch, rule: MaskRule, index: int, rows: range | None = None) -> Tensor:
    """The mask of one request.

    Args:
        batch: The requests.
        rule: The rule of the layer.
        index: Which request.
        rows: Which of its rows, for a matrix too large to be held whole; default all.

    Returns:
        ``[len(rows), P + Q]`` bool on the CPU, True where the query sees the key.

    Raises:
        ValueError: The rule segments by item and the batch lacks the item ids.
    """
    segment = list(batch.segments())[index]
    rows = range(segment.queries) if rows is None else rows
    p = segment.prefix + torch.arange(rows.start, rows.stop)[:, None]
    c = torch.arange(segment.keys)[None, :]

    if rule.overlay is Overlay.VISION:
        blobs = blob_numbers(batch, rule, segment)
        blob = (blobs[p] == blobs[c]) & (blobs[p] >= 0)
    else:
        blob = torch.zeros((), dtype=torch.bool)
    base = torch.ones((), dtype=torch.bool) if rule.overlay is Overlay.ALL else c <= p
    past = torch.ones((), dtype=torch.bool) if rule.window is None else c > p - rule.window
    future = c < p + rule.window if rule.bound_future and rule.window is not None else torch.ones((), dtype=torch.bool)

    if rule.order is Order.WINDOW_LAST:
        visible = (base | blob) & past & future
    else:
        visible = (base & past & future) | blob
    if rule.prefix is Prefix.OPEN:
        visible = visible | (c < segment.prefix)
    return visible.expand(len(rows), segment.keys)


def blob_numbers(batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
    """Which blob each token of a request lies in (MASK-BLOB-2 to -5, MASK-CUT-1, MASK-CUT-2, MASK-ORDER-3).

    Returns:
        ``[P + Q]`` int64, numbered from 0; -1 for a token in no blob.
    """
    types, items = request_tokens(batch, rule, segment)
    numbers = []
    lengths: list[int] = []
    for position, token in enumerate(types):
        if token not in VISION:
            numbers.append(-1)
            continue
        follows = position > 0 and types[position - 1] in VISION
        if follows and rule.segmentation is Segmentation.TYPE:
            follows = types[position - 1] == token
        elif follows and rule.segmentation is Segmentation.ITEM:
            follows = items[position - 1] == items[position]
        if not follows:
            lengths.append(0)
        lengths[-1] += 1
        numbers.append(len(lengths) - 1)
    if rule.order is Order.DROP_LONGER and rule.window is not None:
        numbers = [-1 if number >= 0 and lengths[number] > rule.window else number for number in numbers]
    return torch.tensor(numbers, dtype=torch.int64)


def request_tokens(batch: MaskBatch, rule: MaskRule, segment: Segment) -> tuple[list[int], list[int]]:
    """Types and item ids of one request, prefix first, as plain Python numbers.

    A prefix of unknown types reads as text: it joins no blob (MASK-CUT-2).

    Raises:
        ValueError: The rule segments by item and the batch lacks the item ids.
    """
    queries = slice(segment.first_query, segment.first_query + segment.queries)
    prefix = slice(segment.first_prefix, segment.first_prefix + segment.prefix)
    types = _read(batch.prefix_types, prefix, segment.prefix) + _read(batch.token_types, queries, segment.queries)
    if not rule.segments_by_item:
        return types, [0] * segment.keys
    batch.require_item_ids()
    items = _read(batch.prefix_item_ids, prefix, segment.prefix)
    return types, items + _read(batch.item_ids, queries, segment.queries)


def _read(tensor: Tensor | None, where: slice, length: int) -> list[int]:
    values: list[int] = [TokenType.TEXT.value] * length if tensor is None else tensor[where].tolist()
    return values
