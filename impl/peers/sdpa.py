"""PyTorch's ``scaled_dot_product_attention``: what it lets through when given masks as ``[B, 1, Q, K]`` bool.

Tried on torch 2.13.0. The masks are our eager ones: judged is that SDPA reads them as we do.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from impl.masks.eager import EAGER
from impl.peers.per_request import check
from reference.contracts import Claims, Layout
from reference.layouts import packed_from_matrices
from reference.rules import MaskRule
from reference.tokens import MaskBatch, Segment

COLUMNS = 256
"""Keys whose weights one call returns, so that the values are no square of all keys."""


class SdpaMasks:
    """A key is visible where it has a weight: the scores are all 0, and the values are unit vectors."""

    about = f"torch {torch.__version__}: which keys have a weight when scaled_dot_product_attention is given our eager mask."
    claims = Claims()

    def build(self, batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> Tensor:
        """As :meth:`reference.contracts.MaskBuilder.build`."""
        check(batch, rule, layout)
        packed = EAGER.build(batch, rule)
        return packed_from_matrices(batch, [_seen(packed, segment) for segment in batch.segments()])


def _seen(packed: Tensor, segment: Segment) -> Tensor:
    """``[Q, P + Q]``: which keys have a weight."""
    mask = packed[segment.first_cell : segment.first_cell + segment.cells].view(1, 1, segment.queries, segment.keys)
    if segment.queries == 0:
        return mask[0, 0]
    query = torch.zeros((1, 1, segment.queries, 8), device=packed.device)
    key = torch.zeros((1, 1, segment.keys, 8), device=packed.device)
    position = torch.arange(segment.keys, device=packed.device)
    weights = []
    for columns in torch.split(position, COLUMNS):
        value = (position[:, None] == columns).to(query.dtype)[None, None]
        weights.append(scaled_dot_product_attention(query, key, value, attn_mask=mask)[0, 0])
    return torch.cat(weights, dim=1) > 0


SDPA = SdpaMasks()
