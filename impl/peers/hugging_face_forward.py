"""Hugging Face transformers, the masks that a model's own ``forward`` hands on when it is given none.

Tried on transformers 5.24.0 and 5.25.0, with tiny random models; their forward is run up to the point where the mask is
used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from impl.peers.available import lacks, require
from impl.peers.hugging_face import FULL, NO_WINDOW, SLIDING, Cache, visible
from impl.peers.per_request import PerRequest, types_of
from reference.contracts import Claims
from reference.rules import MaskRule, Overlay
from reference.tokens import MaskBatch, Segment

VERSION = require("transformers", ">=5.24")

try:
    from transformers.models.gemma3.configuration_gemma3 import Gemma3TextConfig
    from transformers.models.gemma3.modeling_gemma3 import Gemma3TextModel
    from transformers.models.gemma4_unified.configuration_gemma4_unified import (
        Gemma4UnifiedConfig,
        Gemma4UnifiedTextConfig,
    )
    from transformers.models.gemma4_unified.modeling_gemma4_unified import Gemma4UnifiedModel
except ImportError as error:
    raise lacks("transformers", "Gemma4UnifiedModel", error, ">=5.24") from error

TINY: dict[str, Any] = {
    "vocab_size": 8,
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "num_hidden_layers": 2,
    "layer_types": [SLIDING, FULL],
    "pad_token_id": 0,
    "bos_token_id": 0,
    "eos_token_id": 0,
}


class _ReachedError(Exception):
    """The module that is given the mask was reached."""

    def __init__(self, mask: Any) -> None:
        super().__init__()
        self.mask = mask


def _stop(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> NoReturn:
    raise _ReachedError(kwargs["attention_mask"])


def _mask_of(model: nn.Module, **inputs: Any) -> Any:
    """What the forward of a model hands to the module that was given the hook :func:`_stop`."""
    try:
        model(**inputs)
    except _ReachedError as reached:
        return reached.mask
    raise RuntimeError(f"the forward of {type(model).__name__} ended before its mask was used")


class Unified(PerRequest):
    """Gemma 4 unified with the flag "vision", or without it where the rule slides and is causal."""

    about = (
        f"transformers {VERSION}: the forward of Gemma4UnifiedModel, given no mask. It passes its blobs to the general "
        "functions, so that full layers get them too and sliding layers add them behind the window; its own generate does "
        "neither."
    )

    claims = Claims(frozenset({"gemma4-full", "gemma4-sliding", "gemma4-sliding-causal"}))

    def matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        """As :meth:`PerRequest.matrix`."""
        causal = rule.overlay is Overlay.NONE and rule.window is not None
        masks = _mask_of(
            _unified(rule.window or NO_WINDOW, None if causal else "vision"),
            input_ids=torch.ones((1, segment.queries), dtype=torch.int64),
            cache=Cache(segment.prefix),
            mm_token_type_ids=types_of(batch, segment)[None],
        )
        return visible(masks[SLIDING if rule.window else FULL], rule, segment, batch.device)


@lru_cache(maxsize=64)
def _unified(window: int, bidirectional: str | None) -> Any:
    text = Gemma4UnifiedTextConfig(**TINY, sliding_window=window, use_bidirectional_attention=bidirectional)
    model = Gemma4UnifiedModel(Gemma4UnifiedConfig(text_config=text, vision_config=None, audio_config=None))
    model.language_model.register_forward_pre_hook(_stop, with_kwargs=True)
    return model.eval()


class Embedding(PerRequest):
    """EmbeddingGemma: the text model of Gemma 3 with ``use_bidirectional_attention=True``, or causal."""

    about = f"transformers {VERSION}: the forward of Gemma3TextModel, given no mask, as EmbeddingGemma runs it."

    claims = Claims(frozenset({"gemma3-all-full", "gemma3-all-sliding", "gemma3-full-causal", "gemma3-sliding-causal"}))

    def matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        """As :meth:`PerRequest.matrix`."""
        window = rule.window or NO_WINDOW
        everything = rule.overlay is Overlay.ALL
        configured = max(1, 2 * (window - 1)) if everything else window  # the config makes W // 2 + 1 of it
        mask = _mask_of(
            _text_model(SLIDING if rule.window else FULL, configured, everything),
            input_ids=torch.ones((1, segment.queries), dtype=torch.int64),
            cache=Cache(segment.prefix),
        )
        return visible(mask, rule, segment, batch.device)


@lru_cache(maxsize=64)
def _text_model(kind: str, window: int, bidirectional: bool) -> Any:
    tiny = TINY | {"layer_types": [kind], "num_hidden_layers": 1}
    model = Gemma3TextModel(Gemma3TextConfig(**tiny, sliding_window=window, use_bidirectional_attention=bidirectional))
    model.layers[0].register_forward_pre_hook(_stop, with_kwargs=True)
    return model.eval()


UNIFIED = Unified()
EMBEDDING = Embedding()
