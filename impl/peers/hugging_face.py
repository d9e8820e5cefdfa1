"""Hugging Face transformers, one call a request: the masks that ``generate`` makes for Gemma 3 and Gemma 4.

Tried on transformers 5.13.0, 5.24.0 and 5.25.0.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from impl.peers.available import lacks, require
from impl.peers.per_request import PerRequest, types_of
from reference.contracts import Claims
from reference.rules import MaskRule, Overlay
from reference.tokens import MaskBatch, Segment, TokenType

VERSION = require("transformers", ">=5.13")

try:
    from transformers import masking_utils
    from transformers.models.gemma3.configuration_gemma3 import Gemma3TextConfig
    from transformers.models.gemma3.modeling_gemma3 import Gemma3ForConditionalGeneration, get_block_sequence_ids_for_mask
    from transformers.models.gemma4.configuration_gemma4 import Gemma4TextConfig
    from transformers.models.gemma4.modeling_gemma4 import Gemma4ForConditionalGeneration
except ImportError as error:
    raise lacks("transformers", "create_masks_for_generate of Gemma 3 and Gemma 4", error, ">=5.13") from error

FULL, SLIDING = "full_attention", "sliding_attention"
NO_WINDOW = 4096
"""A window that no full-attention layer looks at."""


@dataclass
class Cache:
    """What the mask functions ask of a cache: P keys are held, on every layer alike.

    A sliding layer of a real cache holds its last W - 1 keys only. Under WINDOW-LAST no row sees the others; under OR-LAST
    a cached part of a blob would be lost with them, which the mask functions are not to blame for.
    """

    prefix: int
    is_sliding: tuple[bool, bool] = (True, False)

    def get_query_offset(self, layer: int) -> int:
        """The position of the first query."""
        return self.prefix

    def get_mask_sizes(self, queries: int, layer: int) -> tuple[int, int]:
        """The columns of the mask, and the position of the first."""
        return self.prefix + queries, 0

    def get_seq_length(self, layer: int = 0) -> int:
        """The keys that are held."""
        return self.prefix


def arguments(function: Callable[..., Any], config: Any, segment: Segment, device: torch.device) -> dict[str, Any]:
    """What every mask function takes; ``past_key_values`` became ``cache`` between the versions that we support."""
    cache = "cache" if "cache" in inspect.signature(function).parameters else "past_key_values"
    return {
        "config": config,
        "inputs_embeds": torch.zeros(1, segment.queries, 1, device=device),
        "attention_mask": None,
        "position_ids": None,
        cache: Cache(segment.prefix),
    }


def visible(mask: Tensor | None, rule: MaskRule, segment: Segment, device: torch.device) -> Tensor:
    """The matrix, with what None means to transformers' SDPA attention.

    It then asks SDPA for ``is_causal`` if there are several queries and the module is a causal one.
    """
    if mask is not None:
        return mask[0, 0]
    everything = torch.ones((segment.queries, segment.keys), dtype=torch.bool, device=device)
    return everything.tril() if segment.queries > 1 and rule.overlay is not Overlay.ALL else everything


def images(types: Tensor) -> Tensor:
    """The types as a Gemma 3 processor gives them: 1 for whatever is vision, 0 for the rest.

    Gemma 3 has no video: its mask functions know type 1 alone, and frames are handed to it as images.
    """
    return ((types == TokenType.IMAGE) | (types == TokenType.VIDEO)).long()


@lru_cache(maxsize=64)
def text_config(family: type, window: int, bidirectional: str | bool | None) -> Any:
    """A text config of one sliding and one full-attention layer."""
    config = family(
        num_hidden_layers=2,
        layer_types=[SLIDING, FULL],
        sliding_window=window,
        use_bidirectional_attention=bidirectional,
    )
    config._attn_implementation = "sdpa"
    return config


class Gemma3(PerRequest):
    """Gemma 3, ``Gemma3ForConditionalGeneration.create_masks_for_generate``.

    A causal rule asks for a prompt without images: transformers is then given no token types at all.
    """

    about = f"transformers {VERSION}: Gemma3ForConditionalGeneration.create_masks_for_generate, a call a request."

    claims = Claims(frozenset({"gemma3-full", "gemma3-sliding", "gemma3-full-causal", "gemma3-sliding-causal"}))

    def matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        """As :meth:`PerRequest.matrix`."""
        build = Gemma3ForConditionalGeneration.create_masks_for_generate
        config = text_config(Gemma3TextConfig, rule.window or NO_WINDOW, False)
        types = images(types_of(batch, segment))[None] if rule.overlay is Overlay.VISION else None
        masks = build(**arguments(build, config, segment, batch.device), token_type_ids=types)
        return visible(masks[SLIDING if rule.window else FULL], rule, segment, batch.device)


class Gemma4(PerRequest):
    """Gemma 4, ``Gemma4ForConditionalGeneration.create_masks_for_generate``, under each of its flags.

    A full causal layer is one of a model with the flag "vision", which must keep the blobs off it; a causal layer
    that slides is one of a model without the flag. Token types are handed over whatever the flag.
    """

    about = f"transformers {VERSION}: Gemma4ForConditionalGeneration.create_masks_for_generate, a call a request."

    claims = Claims(
        frozenset({"gemma4-full", "gemma4-sliding", "gemma4-sliding-causal", "gemma4-all-full", "gemma4-all-sliding"})
    )

    def matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        """As :meth:`PerRequest.matrix`."""
        build = Gemma4ForConditionalGeneration.create_masks_for_generate
        masks = build(
            **arguments(build, self._config(rule), segment, batch.device), mm_token_type_ids=types_of(batch, segment)[None]
        )
        return visible(masks[SLIDING if rule.window else FULL], rule, segment, batch.device)

    def _config(self, rule: MaskRule) -> Any:
        window = rule.window or NO_WINDOW
        if rule.overlay is Overlay.ALL:  # the config makes W // 2 + 1 of it, and the mask takes that distance in
            return text_config(Gemma4TextConfig, max(1, 2 * (window - 2)), "all")
        causal = rule.overlay is Overlay.NONE and rule.window is not None
        return text_config(Gemma4TextConfig, window, None if causal else "vision")


class OrLast(PerRequest):
    """``masking_utils.create_masks_for_generate`` with ``block_sequence_ids``: blobs are added behind the window."""

    about = (
        f"transformers {VERSION}: masking_utils.create_masks_for_generate with block_sequence_ids, a call a request. "
        "Blobs are added behind the window (OR-LAST), as in PaliGemma 2 and, before 5.13, Gemma 3: a row sees the whole of "
        "its blob where that is longer than the window, which Gemma 3 and 4 were not trained for."
    )

    claims = Claims(
        frozenset({"hf-4.57-gemma3-sliding", "hf-paligemma2-sliding", "trtllm-gemma3-sliding", "trtllm-gemma3-full"})
    )

    def matrix(self, batch: MaskBatch, rule: MaskRule, segment: Segment) -> Tensor:
        """As :meth:`PerRequest.matrix`."""
        build = masking_utils.create_masks_for_generate
        config = text_config(Gemma3TextConfig, rule.window or NO_WINDOW, False)
        blobs = get_block_sequence_ids_for_mask(images(types_of(batch, segment))[None])
        masks = build(**arguments(build, config, segment, batch.device), block_sequence_ids=blobs)
        return visible(masks[SLIDING if rule.window else FULL], rule, segment, batch.device)


GEMMA3 = Gemma3()
GEMMA4 = Gemma4()
OR_LAST = OrLast()
