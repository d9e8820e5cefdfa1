"""The masks that the layers of a model are handed: the implementation's, unpacked request by request."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from reference.contracts import MaskImplementation
from reference.dense import packed_mask
from reference.gating import FULL, SLIDING
from reference.profiles import PROFILES
from reference.rules import Overlay
from reference.tokens import MaskBatch
from suites.mask.checks import build, rule_of
from suites.model.models import Masks
from suites.strategies.masks import MaskCase, Request

LAYERS = {FULL: "full", SLIDING: "sliding"}
"""Layer kinds as transformers and as profiles name them."""


def masks_of(implementation: MaskImplementation, profile: str, case: MaskCase, device: str) -> list[Masks]:
    """What the layers are handed for each request of a case.

    The profile's layer kind gets the implementation's mask. The other kind gets the oracle's, so that a failure is this
    profile's, and an implementation may claim one of the two.
    """
    batch = case.batch(device)
    found: list[Masks] = [{} for _ in case.requests]
    for kind, layer in LAYERS.items():
        name = f"{profile.split('-')[0]}-{layer}"
        rule = rule_of(name, case)
        packed = build(implementation, batch, rule).bool() if name == profile else packed_mask(batch, rule).cpu()
        for masks, mask in zip(found, unpacked(batch, packed), strict=True):
            masks[kind] = mask
    return found


def without_blob(masks: Masks, profile: str, case: MaskCase) -> Masks:
    """The masks of the only request of a case, but for the profile's layer kind plain causal, with its window."""
    batch = case.batch()
    rule = replace(rule_of(profile, case), overlay=Overlay.NONE)
    kind = FULL if PROFILES[profile].window is None else SLIDING
    return {**masks, kind: unpacked(batch, packed_mask(batch, rule))[0]}


def chunk(request: Request, begin: int, end: int, window: int | None, *, known: bool) -> MaskCase:
    """The tokens of a request from ``begin`` to ``end``, behind a cached prefix of all tokens before them."""
    part = replace(request, types=request.types[:end], items=request.items[:end], cached=begin)
    return MaskCase((part,), window, prefix_known=known and begin > 0)


def unpacked(batch: MaskBatch, packed: Tensor) -> list[Tensor]:
    """The ``[1, 1, Q, K]`` mask of each request."""
    return [packed[s.first_cell : s.first_cell + s.cells].view(1, 1, s.queries, s.keys) for s in batch.segments()]


def types_of(request: Request) -> Tensor:
    """``[1, K]``, as a processor returns them."""
    return torch.tensor([[int(kind) for kind in request.types]])
