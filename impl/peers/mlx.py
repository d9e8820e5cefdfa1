"""mlx-vlm's Gemma 4: ``Gemma4TextModel._make_masks`` on MLX's CPU backend, with its own caches.

Tried on mlx-vlm 0.7.10 with mlx 0.32.4.

It claims its own profiles. It never cuts a prompt with images into chunks unless audio is in it too, but an image of a later
turn stands behind the prefix that is reused.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from impl.peers.available import lacks, require
from impl.peers.per_request import PerRequest, types_of
from impl.peers.stand_ins import load
from reference.contracts import Claims
from reference.rules import MaskRule
from reference.tokens import MaskBatch, Segment

PIP = "'mlx[cpu]' && pip install --no-deps mlx-vlm"
VERSION = require("mlx-vlm", ">=0.7.10", pip=PIP)
require("mlx", ">=0.32", pip=PIP)

try:
    import mlx.core as mx
    import mlx.nn as nn

    language = load(
        "mlx_vlm.models.gemma4.language",
        real={"mlx_vlm.models.base", "mlx_vlm.models.cache", "mlx_vlm.models.gemma4.config"},
    )
    Gemma4TextModel: Any = language.Gemma4TextModel
    make_masks = Gemma4TextModel._make_masks
except (ImportError, AttributeError) as error:
    raise lacks("mlx-vlm", "Gemma4TextModel._make_masks", error, ">=0.7.10", pip=PIP) from error

FULL, SLIDING = "full_attention", "sliding_attention"


class MlxMasks(PerRequest):
    """Gemma 4 with the flag "vision": one layer, of the kind that the rule is for."""

    about = (
        f"mlx-vlm {VERSION}: Gemma4TextModel._make_masks, with blobs on full layers too and added behind the window. "
        "Behind a cached prefix it drops the blobs, those that the prefix does not cut included."
    )
    claims = Claims(frozenset({"mlxvlm-gemma4-full", "mlxvlm-gemma4-sliding"}), devices=frozenset({"cpu"}))

    def matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        """As :meth:`PerRequest.matrix`.

        A sliding cache holds the last W - 1 keys, and the mask has columns for these alone: the others are hidden.
        """
        held = segment.prefix if rule.window is None else min(segment.prefix, rule.window - 1)
        cache = language.KVCache() if rule.window is None else language.RotatingKVCache(max_size=rule.window, keep=0)
        cache.offset = segment.prefix
        types = mx.array([types_of(batch, segment)[segment.prefix :].tolist()])
        (mask,) = _model(rule.window)._make_masks(mx.zeros((1, segment.queries, 1)), [cache], types)
        matrix = torch.zeros((segment.queries, segment.keys), dtype=torch.bool)
        matrix[:, segment.prefix - held :] = _visible(mask, segment.queries, held + segment.queries)
        return matrix


def _model(window: int | None) -> Any:
    """What ``_make_masks`` reads of a model."""
    model = Gemma4TextModel.__new__(Gemma4TextModel)
    nn.Module.__init__(model)
    model.config = SimpleNamespace(use_bidirectional_attention="vision")
    model.layers = [SimpleNamespace(layer_type=FULL if window is None else SLIDING)]
    model.window_size = window
    return model


def _visible(mask: Any, queries: int, keys: int) -> Tensor:
    """``[Q, K]`` over the keys that are held: None hides none of them, "causal" those behind the query."""
    if mask is None:
        return torch.ones((queries, keys), dtype=torch.bool)
    if isinstance(mask, str):
        return torch.ones((queries, keys), dtype=torch.bool).tril(keys - queries)
    return torch.from_numpy(np.array(mask)).view(queries, keys)


MLX = MlxMasks()
