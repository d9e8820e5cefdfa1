"""Correct implementations that look unlike ours: the suite must pass them, or it judges how a mask is made."""

from __future__ import annotations

import torch
from torch import Tensor

from reference.contracts import Claims, Layout
from reference.dense import packed_mask
from reference.rules import MaskRule
from reference.tokens import MaskBatch


class Rewrapped:
    """The oracle behind copies of its inputs, in another dtype, with another stride, on the CPU."""

    claims = Claims()

    def build(self, batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> Tensor:
        """As :meth:`reference.contracts.MaskBuilder.build`."""
        copies = {
            name: _spread(tensor)
            for name in ("token_types", "prefix_types", "item_ids", "prefix_item_ids")
            if (tensor := getattr(batch, name)) is not None
        }
        again = MaskBatch(query_lengths=batch.query_lengths, prefix_lengths=batch.prefix_lengths, **copies)
        return packed_mask(again, rule).to(batch.device)


def _spread(tensor: Tensor) -> Tensor:
    """A copy in int64 with two other elements between each two."""
    kept = torch.full((3 * tensor.numel() + 1,), 7, dtype=torch.int64)[1::3]
    # uint64 item ids beyond int64 wrap round, each to an id of its own.
    kept[: tensor.numel()] = tensor.cpu().view(torch.int64) if tensor.dtype is torch.uint64 else tensor.cpu().to(torch.int64)
    return kept[: tensor.numel()]


REWRAPPED = Rewrapped()
