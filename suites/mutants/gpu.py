"""Known-bad mask builders whose fault shows on a CUDA device alone: graphs, waits and offsets beyond 32 bits."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import torch

from impl.masks import TRITON
from reference.rules import MaskRule
from reference.tokens import MaskBatch
from suites.mutants.masks import known_bad
from suites.mutants.mutant import Mutant

GPU_MUTANTS: list[Mutant] = []

_bad = partial(known_bad, GPU_MUTANTS, cuda=True, graph_capture=True)


def _capturing(batch: MaskBatch) -> bool:
    return batch.device.type == "cuda" and torch.cuda.is_current_stream_capturing()


@_bad("F13", "MASK-GRAPH-1", "gemma3-sliding", source="sgl-project/sglang/pull/26019")
def graph_reads_types_of_the_warm_up(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """What is captured reads a copy of the token types that the call before made."""
    if _capturing(batch):
        return TRITON.build(kept.batch, rule)
    kept.batch = MaskBatch(
        batch.token_types.clone(),
        batch.query_lengths,
        batch.prefix_lengths,
        batch.prefix_types,
        batch.item_ids,
        batch.prefix_item_ids,
    )
    return TRITON.build(batch, rule)


@_bad("F13", "MASK-GRAPH-1", "gemma3-sliding", source="thu-ml/SageAttention/issues/392")
def vision_baked_into_the_graph(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Where the first blob was before the capture, every replay sees it."""
    mask = TRITON.build(batch, rule)
    if not _capturing(batch):
        kept.mask = mask.clone()
        return mask
    mask[:64] |= kept.mask[:64]
    return mask


@_bad("F13", "MASK-GRAPH-1", "trtllm-gemma4-sliding-open-prefix")
def last_request_not_in_the_graph(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The part of the last request is not written by a replay: a graph holds the first three alone."""
    mask = TRITON.build(batch, rule)
    if not _capturing(batch):
        kept.mask = mask.clone()
        return mask
    rest = batch.query_lengths[-1] * (batch.query_lengths[-1] + batch.prefix_lengths[-1])
    mask[-rest:] = kept.mask[-rest:]
    return mask


@_bad("F13", "MASK-GRAPH-2", "gemma4-full")
def waits_for_the_device(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A call waits until the device is done."""
    mask = TRITON.build(batch, rule)
    if not _capturing(batch):
        torch.cuda.synchronize()
    return mask


@_bad("F13", "MASK-GRAPH-2", "gemma3-sliding")
def looks_at_the_types_on_the_host(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Whether there is vision is asked on the host, and the answer not used."""
    if not _capturing(batch):
        bool((batch.token_types == 1).any())
    return TRITON.build(batch, rule)
