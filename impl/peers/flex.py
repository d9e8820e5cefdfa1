"""PyTorch's FlexAttention: ``create_mask`` and ``create_block_mask`` from a ``mask_mod`` that states the rule.

Tried on torch 2.13.0.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from impl.peers.available import lacks
from impl.peers.per_request import PerRequest, items_of, types_of
from reference.contracts import Claims
from reference.rules import MaskRule, Order, Overlay, Prefix, Segmentation
from reference.tokens import MaskBatch, Segment, TokenType

try:
    from torch.nn.attention.flex_attention import and_masks, create_block_mask, create_mask, or_masks
except ImportError as error:
    raise lacks("torch", "create_mask and create_block_mask of torch.nn.attention.flex_attention", error, ">=2.9") from error

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""``(batch, head, query, key) -> visible``, as FlexAttention calls it; the query counts from the first new token."""

BLOCK = 16
"""Rows and columns of a block, an eighth of the usual: drawn requests then have several."""


class FlexMasks(PerRequest):
    """One ``create_mask`` a request."""

    about = f"torch {torch.__version__}: create_mask from a mask_mod that states the rule, a call a request."
    claims = Claims()

    def matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        """As :meth:`PerRequest.matrix`."""
        mod = mask_mod(rule, blob_ids(batch, rule, segment), segment.prefix)
        return create_mask(mod, 1, 1, segment.queries, segment.keys, device=str(batch.device))[0, 0]


class FlexBlocks(PerRequest):
    """One ``create_block_mask`` a request, read as its kernels do: of full blocks every cell, of partial ones the rule's."""

    about = f"torch {torch.__version__}: create_block_mask with blocks of {BLOCK} by {BLOCK}, a call a request."
    claims = Claims()

    def matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        """As :meth:`PerRequest.matrix`."""
        mod = mask_mod(rule, blob_ids(batch, rule, segment), segment.prefix)
        shape = (1, 1, segment.queries, segment.keys)
        blocks = create_block_mask(mod, *shape, device=str(batch.device), BLOCK_SIZE=BLOCK)
        partial = create_mask(mod, *shape, device=str(batch.device))[0, 0]
        partial = partial & _cells(blocks.kv_num_blocks, blocks.kv_indices, segment)
        assert blocks.full_kv_num_blocks is not None
        assert blocks.full_kv_indices is not None
        return partial | _cells(blocks.full_kv_num_blocks, blocks.full_kv_indices, segment)


def _cells(counts: Tensor, indices: Tensor, segment: Segment) -> Tensor:
    """``[Q, P + Q]``: the cells of the blocks that are listed, the first ``counts`` of ``indices`` in each row of blocks."""
    listed = torch.arange(indices.shape[-1], device=indices.device) < counts[0, 0, :, None]
    chosen = torch.zeros_like(listed).scatter_(1, indices[0, 0].long(), listed)
    cells = chosen.repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
    return cells[: segment.queries, : segment.keys]


def mask_mod(rule: MaskRule, blobs: Tensor, prefix: int) -> MaskMod:
    """The rule as FlexAttention wants it.

    Args:
        rule: The rule of the layer.
        blobs: ``[P + Q]``, the number of the blob of each token, -1 outside.
        prefix: P.
    """

    def causal(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return k <= q + prefix

    def same_blob(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return (blobs[q + prefix] == blobs[k]) & (blobs[k] >= 0)

    def all_keys(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return k >= 0

    def window(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        distance = q + prefix - k
        width = rule.window or 0
        return (distance < width) & (distance > -width) if rule.bound_future else distance < width

    def cached(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return k < prefix

    mod: MaskMod = all_keys if rule.overlay is Overlay.ALL else causal
    if rule.window is not None and rule.order is not Order.WINDOW_LAST:
        mod = and_masks(mod, window)
    if rule.overlay is Overlay.VISION:
        mod = or_masks(mod, same_blob)
    if rule.window is not None and rule.order is Order.WINDOW_LAST:
        mod = and_masks(mod, window)
    return or_masks(mod, cached) if rule.prefix is Prefix.OPEN else mod


def blob_ids(batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
    """``[P + Q]`` int64: the number of the blob of each token, -1 outside."""
    types = types_of(batch, segment)
    vision = (types == TokenType.IMAGE) | (types == TokenType.VIDEO)
    kinds = vision.long()
    if rule.segmentation is Segmentation.TYPE:
        kinds = types
    elif rule.segments_by_item:
        kinds = items_of(batch, segment)
    starts = vision.clone()
    starts[1:] &= ~vision[:-1] | (kinds[1:] != kinds[:-1])
    blobs = torch.where(vision, starts.cumsum(0) - 1, -1)
    if rule.order is Order.DROP_LONGER and rule.window is not None:
        lengths = torch.bincount(blobs + 1)[blobs + 1]
        blobs = torch.where(lengths > rule.window, -1, blobs)
    return blobs


FLEX = FlexMasks()
FLEX_BLOCKS = FlexBlocks()
