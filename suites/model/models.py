"""Tiny Gemma 3 and Gemma 4 models with random weights, built from a config: nothing is downloaded."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import torch
from torch import Tensor

from reference.gating import FULL, SLIDING
from suites.model.processors import GEMMA3_SIDE, PATCH, POOLED, WORD_IDS, tokenizer

Masks = dict[str, Tensor | None]
"""By layer kind: bool, ``[1, 1, Q, K]``; None hands the layer no mask."""

PROFILES = ("gemma3-full", "gemma3-sliding", "gemma4-full", "gemma4-sliding")
"""The rules of the layers of both models."""

WINDOW = 6
"""Tokens; an image has 16 or more."""

TYPES = {"gemma3": "token_type_ids", "gemma4": "mm_token_type_ids"}
"""What each model calls the token types."""

_TEXT = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "layer_types": [SLIDING, FULL],
    "num_attention_heads": 4,
    # As many as there are query heads: with fewer, torch takes another kernel where a layer has no mask, and other bits.
    "num_key_value_heads": 4,
    "head_dim": 16,
    "sliding_window": WINDOW,
}
_VISION = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "patch_size": PATCH}


def _gemma3() -> Any:
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration

    words = tokenizer("gemma3")
    config = Gemma3Config(
        text_config={**_TEXT, "vocab_size": len(words), "query_pre_attn_scalar": 16},
        vision_config={**_VISION, "image_size": GEMMA3_SIDE},
        mm_tokens_per_image=(GEMMA3_SIDE // PATCH) ** 2,
        image_token_index=words.image_token_id,
        boi_token_index=words.boi_token_id,
        eoi_token_index=words.eoi_token_id,
    )
    return Gemma3ForConditionalGeneration(config)


def _gemma4() -> Any:
    from transformers import Gemma4Config, Gemma4ForConditionalGeneration

    words = tokenizer("gemma4")
    sizes = {"vocab_size": len(words), "vocab_size_per_layer_input": len(words), "hidden_size_per_layer_input": 8}
    vision = {"num_key_value_heads": 2, "head_dim": 16, "pooling_kernel_size": POOLED, "position_embedding_size": 80}
    special = ("image", "video", "audio", "boi", "eoi", "boa")
    config = Gemma4Config(
        text_config={**_TEXT, **sizes, "global_head_dim": 16, "use_bidirectional_attention": "vision"},
        vision_config={**_VISION, **vision},
        audio_config={
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "output_proj_dims": 32,
            "subsampling_conv_channels": [128, 4],  # the first must be as many as there are mel bins
        },
        **{f"{name}_token_id": getattr(words, f"{name}_token_id") for name in special},
        eoa_token_index=words.eoa_token_id,
    )
    return Gemma4ForConditionalGeneration(config)


@cache
def tiny(family: str, attention: str) -> Any:
    """The model of a family, the same each time.

    Args:
        family: ``gemma3`` or ``gemma4``.
        attention: ``sdpa`` or ``eager``, of the text layers. The encoders stay eager.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = {"gemma3": _gemma3, "gemma4": _gemma4}[family]().eval()
    encoders = {name: "eager" for name in ("vision_config", "audio_config") if hasattr(model.config, name)}
    model.set_attn_implementation({"text_config": attention, **encoders})
    return model


def model_of(family: str, attention: str, window: int = WINDOW) -> Any:
    """The same model with another window: masks and caches read it from the config, weights do not depend on it."""
    model = tiny(family, attention)
    model.config.text_config.sliding_window = window
    return model


def words(count: int) -> Tensor:
    """``[1, count]`` ids of words, the same each time."""
    drawn = torch.randint(len(WORD_IDS), (1, count), generator=torch.Generator().manual_seed(count))
    return drawn + WORD_IDS.start


def logits(model: Any, inputs: dict[str, Any], masks: Masks | None = None, cache: Any = None) -> Tensor:
    """``[Q, vocabulary]`` logits of one request.

    Args:
        model: Of :func:`model_of`.
        inputs: As its processor makes them, or less; the types of the tokens are left out if ``masks`` are given.
        masks: What each layer kind is handed; None lets the model build its own from the types.
        cache: Of :func:`empty_cache`, which this extends.
    """
    given = dict(inputs)
    if masks is not None:
        given.pop(TYPES[model.config.model_type], None)
        given["attention_mask"] = {kind: _as_taken(model, mask) for kind, mask in masks.items()}
    if cache is not None:
        given |= {_cache_argument(type(model)): cache, "use_cache": True}
    with torch.no_grad():
        found: Tensor = model(**given).logits[0]
    return found


def empty_cache(model: Any) -> Any:
    """The cache that the model makes for itself: sliding layers hold the last W - 1 keys alone."""
    from transformers import DynamicCache

    return DynamicCache(config=model.config.text_config)


def cut_to_cache(masks: Masks, cache: Any) -> Masks:
    """The columns of the keys that the cache still has: behind a full window, the sliding layers' last W - 1 + Q."""
    held = dict(masks)
    sliding = held[SLIDING]
    if sliding is not None:
        keys, _ = cache.get_mask_sizes(sliding.shape[-2], cache.is_sliding.index(True))
        held[SLIDING] = sliding[..., -keys:]
    return held


def _as_taken(model: Any, mask: Tensor | None) -> Tensor | None:
    """Eager attention adds its mask to the scores."""
    if mask is None or model.config.text_config._attn_implementation == "sdpa":
        return mask
    return torch.zeros(mask.shape).masked_fill_(~mask, torch.finfo(torch.float32).min)


def _cache_argument(model: type) -> str:
    """Its name changed between the versions that we support."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"  # type: ignore[attr-defined]
