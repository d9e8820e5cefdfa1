"""Which layers of a Gemma model need a mask for a batch, and by which rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from reference.rules import MaskRule, Overlay
from reference.tokens import MaskBatch, TokenType

_FAMILIES = {"gemma3": 3, "gemma3_text": 3, "gemma4": 4, "gemma4_text": 4}


def gate(config: Mapping[str, Any], batch: MaskBatch) -> list[MaskRule | None]:
    """The rule of every layer, or None where the kernel's own causal attention serves.

    Args:
        config: The model's ``config.json``.
        batch: The requests.

    Returns:
        One entry a layer, in order.

    Raises:
        ValueError: A field is missing or has an unknown value; the message names it.
    """
    model_type = config.get("model_type")
    family = _FAMILIES.get(model_type) if isinstance(model_type, str) else None
    if family is None:
        raise ValueError(f"model_type is {model_type!r}, expected one of {sorted(_FAMILIES)}")
    text = config.get("text_config") or config
    multimodal = not str(model_type).endswith("_text")
    overlay = _overlay(family, multimodal, text.get("use_bidirectional_attention"))

    vision = overlay is Overlay.VISION and _any_vision(batch)
    # Gemma 3 lets a blob see itself on every layer; Gemma 4 keeps its full-attention layers causal.
    full_overlay = Overlay.NONE if overlay is Overlay.VISION and not (vision and family == 3) else overlay
    kinds = _kinds(text, family)
    return [_rule(kind, overlay, full_overlay, text.get("sliding_window"), family) for kind in kinds]


def _overlay(family: int, multimodal: bool, flag: object) -> Overlay:
    if flag == "all" or (family == 3 and flag is True):
        return Overlay.ALL
    if family == 3 and flag in (None, False):
        return Overlay.VISION if multimodal else Overlay.NONE
    if family == 4 and flag == "vision":
        return Overlay.VISION if multimodal else Overlay.NONE
    if family == 4 and flag is None:
        return Overlay.NONE
    raise ValueError(
        f"use_bidirectional_attention is {flag!r}, expected "
        + ("True, False, 'all' or None for Gemma 3" if family == 3 else "'vision', 'all' or None for Gemma 4")
    )


def _rule(kind: object, overlay: Overlay, full_overlay: Overlay, window: int | None, family: int) -> MaskRule | None:
    if kind == "full_attention":
        return None if full_overlay is Overlay.NONE else MaskRule(overlay=full_overlay)
    if kind != "sliding_attention":
        raise ValueError(f"layer_types holds {kind!r}, expected 'full_attention' or 'sliding_attention'")
    if window is None:
        raise ValueError("sliding_window is missing, expected an int of at least 1: layer_types has sliding layers")
    if overlay is not Overlay.ALL:
        return MaskRule(window=window, overlay=overlay)
    MaskRule(window=window)  # refuses a bad configured window by name
    # Without causality the configured window covers both sides; Gemma 4's half includes its end.
    half = window // 2 + (1 if family == 3 else 2)
    return MaskRule(window=half, overlay=overlay, bound_future=True)


def _kinds(text: Mapping[str, Any], family: int) -> list[object]:
    given = text.get("layer_types")
    kinds = _by_pattern(text, family) if given is None else list(given)
    # Gemma 4 ends in full attention, whatever its config says.
    return [*kinds[:-1], "full_attention"] if family == 4 and kinds[-1:] == ["sliding_attention"] else kinds


def _by_pattern(text: Mapping[str, Any], family: int) -> list[object]:
    layers, every = text.get("num_hidden_layers"), text.get("sliding_window_pattern", 6) if family == 3 else 6
    if not isinstance(layers, int) or not isinstance(every, int) or every < 1:
        raise ValueError(
            f"layer_types is missing; without it expected num_hidden_layers (got {layers!r}) and a "
            f"sliding_window_pattern of at least 1 (got {every!r})"
        )
    return ["sliding_attention" if layer % every else "full_attention" for layer in range(1, layers + 1)]


def _any_vision(batch: MaskBatch) -> bool:
    types = batch.token_types[: batch.query_total].to(torch.int64)
    return bool(((types == TokenType.IMAGE) | (types == TokenType.VIDEO)).any())
