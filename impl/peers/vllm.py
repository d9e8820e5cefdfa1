"""vLLM's Triton attention: the predicate ``compute_kv_seq_mask`` on the ranges that its model runner builds.

Tried on vllm 0.33.0, in the Triton interpreter.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from impl.peers.available import lacks, require
from impl.peers.per_request import PerRequest
from impl.peers.spans import spans_of
from impl.peers.stand_ins import load
from reference.contracts import Claims
from reference.rules import MaskRule, Order, Overlay
from reference.tokens import MaskBatch, Segment, TokenType

PIP = "--no-deps vllm"
VERSION = require("vllm", pip=PIP)

try:
    _helpers = load(
        "vllm.v1.attention.ops.triton_attention_helpers", given={"vllm.triton_utils": {"tl": tl, "triton": triton}}
    )
    compute_kv_seq_mask: Any = _helpers.compute_kv_seq_mask
    _utils = load("vllm.v1.attention.backends.utils")
    compute_mm_prefix_ranges: Any = _utils.compute_mm_prefix_ranges
except (ImportError, AttributeError) as error:
    raise lacks("vllm", "compute_kv_seq_mask and compute_mm_prefix_ranges", error, ">=0.33", pip=PIP) from error

MODALITY = {TokenType.IMAGE: "image", TokenType.VIDEO: "video"}
ROWS, TILE = 64, 256


@triton.jit
def _paint(
    result,
    ranges,
    prefix,
    queries,
    keys,
    WINDOW: tl.constexpr,
    RANGES: tl.constexpr,
    CLAMP: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
):
    """A block of rows of the mask, tile by tile, as an attention kernel walks over it."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    for start in range(0, keys, TILE):
        columns = start + tl.arange(0, TILE)
        mask = compute_kv_seq_mask(
            prefix + rows,
            columns,
            0,
            keys,
            ranges,
            SLIDING_WINDOW=WINDOW,
            USE_MM_PREFIX=RANGES > 0,
            MAX_MM_RANGES=RANGES,
            MM_PREFIX_CLAMP_SW=CLAMP,
        )
        cells = result + rows.to(tl.int64) * keys + columns[None, :]
        tl.store(cells, mask.to(tl.uint8), mask=(rows < queries) & (columns[None, :] < keys))


class VllmMasks(PerRequest):
    """The mask of one attention layer of Gemma 3 (the order DROP_LONGER) or Gemma 4."""

    about = (
        f"vllm {VERSION}: compute_kv_seq_mask on the ranges of compute_mm_prefix_ranges. The model runner builds the ranges "
        "of Gemma 3 once for all layers, so that an item longer than the window is text in full layers too: their rule has "
        "no window, and no case shows it."
    )
    claims = Claims(
        frozenset({"vllm-gemma3-full", "vllm-gemma3-sliding", "vllm-gemma4-full", "vllm-gemma4-sliding"}),
    )

    def matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        """As :meth:`PerRequest.matrix`."""
        clamp = rule.order is Order.WINDOW_LAST
        ranges = self._ranges(batch, rule, segment, clamp) if rule.overlay is Overlay.VISION else []
        mask = torch.empty((segment.queries, segment.keys), dtype=torch.uint8, device=batch.device)
        _paint[(triton.cdiv(segment.queries, ROWS),)](
            mask,
            torch.tensor(ranges or [(0, 0)], dtype=torch.int32, device=batch.device),
            segment.prefix,
            segment.queries,
            segment.keys,
            WINDOW=rule.window or 0,
            RANGES=len(ranges),
            CLAMP=clamp,
            ROWS=ROWS,
            TILE=TILE,
        )
        return mask.view(torch.bool)

    def _ranges(self, batch: MaskBatch, rule: MaskRule, segment: Segment, clamp: bool) -> list[tuple[int, int]]:
        features = [
            SimpleNamespace(
                modality=MODALITY[span.kind],
                mm_position=SimpleNamespace(extract_embeds_range=lambda span=span: [(span.first, span.last)]),
            )
            for span in spans_of(batch, segment)
        ]
        by_request: dict[int, list[tuple[int, int]]] = compute_mm_prefix_ranges(
            [features], sliding_window=rule.window, clamp_sliding_window=clamp
        )
        return by_request[0]


VLLM = VllmMasks()
