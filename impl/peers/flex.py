"""PyTorch's FlexAttention: ``create_mask`` from a ``mask_mod`` that states the rule.

Tried on torch 2.13.0. It departs in nothing: it claims every profile.
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
    from torch.nn.attention.flex_attention import and_masks, create_mask, or_masks
except ImportError as error:
    raise lacks("torch", "torch.nn.attention.flex_attention.create_mask", error, ">=2.9") from error

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""``(batch, head, query, key) -> visible``, as FlexAttention calls it; the query counts from the first new token."""


class FlexMasks(PerRequest):
    """One ``create_mask`` a request."""

    claims = Claims()

    def matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        """As :meth:`PerRequest.matrix`."""
        mod = mask_mod(rule, blob_ids(batch, rule, segment), segment.prefix)
        return create_mask(mod, 1, 1, segment.queries, segment.keys, device=str(batch.device))[0, 0]


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
