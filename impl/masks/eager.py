"""The mask by torch broadcasting, as engines build it today: index grids and temporaries as large as the mask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from impl.masks.gating import gate
from reference.contracts import Claims, Layout
from reference.rules import MaskRule, Order, Overlay, Prefix, Segmentation
from reference.tokens import MaskBatch, Segment


class EagerMasks:
    """Builds packed dense masks with torch alone, one request after the other.

    The yardstick for memory and speed: it claims neither linear memory nor graph capture.
    """

    claims = Claims(gating=True)

    def build(self, batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> Tensor:
        """As :meth:`reference.contracts.MaskBuilder.build`."""
        if layout != "dense":
            raise ValueError(f"layout is {layout!r}, expected 'dense': the one layout that EagerMasks claims")
        if rule.overlay is Overlay.VISION and rule.segmentation is Segmentation.ITEM:
            batch.require_item_ids()
        masks = [_request(batch, rule, segment).flatten() for segment in batch.segments()]
        return torch.cat(masks) if masks else torch.empty(0, dtype=torch.bool, device=batch.device)

    def gate(self, config: Mapping[str, Any], batch: MaskBatch) -> list[MaskRule | None]:
        """As :func:`reference.gating.gate`, with bare rules."""
        return gate(config, batch)


def _request(batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
    keys = torch.arange(segment.keys, device=batch.device)
    row, column = keys[segment.prefix :, None], keys[None, :]
    if rule.overlay is Overlay.ALL:
        mask = torch.ones((segment.queries, segment.keys), dtype=torch.bool, device=batch.device)
    else:
        mask = column <= row
    distance = row - column
    window = segment.keys + 1 if rule.window is None else rule.window
    if rule.order is not Order.WINDOW_LAST:
        mask &= distance < window
        if rule.bound_future:
            mask &= -distance < window
    if rule.overlay is Overlay.VISION:
        blob = _blob_ids(batch, rule, segment)
        mask |= (blob[None, :] == blob[segment.prefix :, None]) & (blob[None, :] > 0)
    if rule.order is Order.WINDOW_LAST:
        mask &= distance < window
        if rule.bound_future:
            mask &= -distance < window
    if rule.prefix is Prefix.OPEN:
        mask[:, : segment.prefix] = True
    return mask


def _blob_ids(batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
    """``[P + Q]``: a positive number a blob, 0 outside."""
    types = _whole(batch.prefix_types, batch.token_types, segment)
    vision = (types == 1) | (types == 2)
    opens = vision.clone()
    opens[1:] &= ~vision[:-1]
    if rule.segmentation is not Segmentation.RUN and segment.keys:
        if rule.segmentation is Segmentation.TYPE or batch.item_ids is None:
            label = types
        else:
            label = _whole(batch.prefix_item_ids, batch.item_ids, segment)
        opens[1:] |= vision[1:] & (label[1:] != label[:-1])
    ids = torch.where(vision, opens.cumsum(0), 0)
    if rule.order is Order.DROP_LONGER and rule.window is not None:
        length = torch.zeros(segment.keys + 1, dtype=torch.int64, device=ids.device).scatter_add_(0, ids, vision.long())
        ids = torch.where(length[ids] > rule.window, 0, ids)
    return ids


def _whole(prefix: Tensor | None, tokens: Tensor, segment: Segment) -> Tensor:
    """The values of one request from position 0, as int64; an unknown prefix reads 0."""
    queries = tokens[segment.first_query : segment.first_query + segment.queries].to(torch.int64)
    if prefix is None:
        return torch.nn.functional.pad(queries, (segment.prefix, 0))
    return torch.cat([prefix[segment.first_prefix : segment.first_prefix + segment.prefix].to(torch.int64), queries])


EAGER = EagerMasks()
