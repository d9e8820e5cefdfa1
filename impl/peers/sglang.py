"""SGLang's Triton backend: ``prepare_attn_masks`` of Gemma 3 and Gemma 4, and the window that its kernel applies to it.

Tried on sglang 0.5.23.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from impl.peers.available import lacks, require
from impl.peers.per_request import check
from impl.peers.spans import Span, spans_of
from impl.peers.stand_ins import load
from reference.contracts import Claims, Layout
from reference.rules import MaskRule
from reference.tokens import MaskBatch, TokenType

PIP = "--no-deps sglang"
VERSION = require("sglang", ">=0.5.23", pip=PIP)

try:
    gemma3 = load("sglang.srt.models.gemma3_mm")
    gemma4 = load("sglang.srt.models.gemma4_mm")
    prepare = {
        module: module.__dict__[name].prepare_attn_masks
        for module, name in ((gemma3, "Gemma3ForConditionalGeneration"), (gemma4, "Gemma4ForConditionalGeneration"))
    }
except (ImportError, AttributeError, KeyError) as error:
    raise lacks("sglang", "prepare_attn_masks", error, ">=0.5.23", pip=PIP) from error


class SglangMasks:
    """One model's masks. The rule's window is clipped here, as the kernel does: ``query <= key + W - 1``.

    Args:
        module: The model's module.
        claims: The profiles.
        departs: How, a sentence.
        video_is_image: Whether frames are handed over as images, for a model that has no video.
    """

    def __init__(self, module: Any, claims: Claims, departs: str, *, video_is_image: bool) -> None:
        self.claims = claims
        self.about = f"sglang {VERSION}: prepare_attn_masks of {module.__name__}, for the Triton backend. {departs}"
        self._module = module
        self._video_is_image = video_is_image

    def build(self, batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> Tensor:
        """As :meth:`reference.contracts.MaskBuilder.build`."""
        check(batch, rule, layout)
        if not batch.query_lengths:
            return torch.empty(0, dtype=torch.bool, device=batch.device)
        mask = self._causal_or_image(batch)
        if rule.window is None:
            return mask
        for segment in batch.segments():
            rows = mask[segment.first_cell : segment.first_cell + segment.cells].view(segment.queries, segment.keys)
            keys = torch.arange(segment.keys, device=batch.device)
            rows &= keys[segment.prefix :, None] <= keys + (rule.window - 1)
        return mask

    def _causal_or_image(self, batch: MaskBatch) -> Tensor:
        backend = self._module.TritonAttnBackend()
        backend.forward_metadata = SimpleNamespace()
        backend.prefill_backend = backend
        self._module.get_attn_backend = lambda: backend
        forward = SimpleNamespace(
            forward_mode=self._module.ForwardMode.EXTEND,
            batch_size=len(batch.query_lengths),
            extend_seq_lens=list(batch.query_lengths),
            extend_prefix_lens=list(batch.prefix_lengths),
            mm_inputs=[SimpleNamespace(mm_items=self._items(spans_of(batch, s))) for s in batch.segments()],
        )
        prepare[self._module](SimpleNamespace(), forward, batch.token_types, torch.bool)
        mask: Tensor = backend.forward_metadata.custom_mask
        return mask

    def _items(self, spans: list[Span]) -> list[SimpleNamespace]:
        return [
            SimpleNamespace(
                is_image=lambda span=span: self._video_is_image or span.kind is TokenType.IMAGE,
                offsets=[(span.first, span.last)],
            )
            for span in spans
        ]


GEMMA3 = SglangMasks(
    gemma3,
    Claims(frozenset({"sglang-gemma3-full", "sglang-gemma3-sliding"})),
    "An image of which a part is cached is causal in full: its tail neither sees forward nor is a blob of its own.",
    video_is_image=True,
)
GEMMA4 = SglangMasks(
    gemma4,
    Claims(frozenset({"vllm-gemma4-full", "vllm-gemma4-sliding"})),
    "One mask serves all layers, so that full layers get the blobs too; video, and an image of which a part is cached, is "
    "causal.",
    video_is_image=False,
)
"""Gemma 4's rule with blobs by item, which is vLLM's: under blobs by run two images that touch would be one."""
