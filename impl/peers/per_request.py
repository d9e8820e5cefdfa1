"""What adapters share: one matrix a request, and the types of a request from position 0."""

from __future__ import annotations

import torch
from torch import Tensor

from reference.contracts import Claims, Layout
from reference.layouts import packed_from_matrices
from reference.rules import MaskRule
from reference.tokens import MaskBatch, Segment


class PerRequest:
    """Builds the packed mask out of one matrix a request; a subclass asks its engine for the matrix.

    Attributes:
        claims: What the adapter says its engine can do.
    """

    claims: Claims

    def build(self, batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> Tensor:
        """As :meth:`reference.contracts.MaskBuilder.build`."""
        check(batch, rule, layout)
        return packed_from_matrices(batch, [self._matrix(batch, rule, segment) for segment in batch.segments()])

    def matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        """The ``[Q, P + Q]`` bool matrix of a request with at least one query."""
        raise NotImplementedError

    def _matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        if segment.queries == 0:  # engines schedule no such request
            return torch.ones((0, segment.keys), dtype=torch.bool, device=batch.device)
        return self.matrix(batch, rule, segment)


def check(batch: MaskBatch, rule: MaskRule, layout: Layout) -> None:
    """Refuses what no adapter can build.

    Raises:
        ValueError: The layout is not dense, or item ids are missing.
    """
    if layout != "dense":
        raise ValueError(f"layout is {layout!r}, expected 'dense': the one layout that adapters claim")
    if rule.segments_by_item:
        batch.require_item_ids()


def types_of(batch: MaskBatch, segment: Segment) -> Tensor:
    """``[P + Q]`` int64, the types of a request from position 0; a prefix of unknown types reads as text."""
    return _whole(batch.prefix_types, batch.token_types, segment)


def items_of(batch: MaskBatch, segment: Segment) -> Tensor:
    """``[P + Q]`` int64, the item ids of a request from position 0; 0 where the prefix is unknown.

    Raises:
        ValueError: The batch has none.
    """
    batch.require_item_ids()
    assert batch.item_ids is not None
    return _whole(batch.prefix_item_ids, batch.item_ids, segment)


def _whole(prefix: Tensor | None, tokens: Tensor, segment: Segment) -> Tensor:
    queries = tokens[segment.first_query : segment.first_query + segment.queries].to(torch.int64)
    if prefix is None:
        return torch.cat([queries.new_zeros(segment.prefix), queries])
    return torch.cat([prefix[segment.first_prefix : segment.first_prefix + segment.prefix].to(torch.int64), queries])
