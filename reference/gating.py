"""From a model's config and a batch to the mask of every layer, or to none where plain causal attention serves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reference.profiles import PROFILES
from reference.rules import MaskRule, Overlay
from reference.tokens import VISION, MaskBatch

FULL = "full_attention"
SLIDING = "sliding_attention"

_PLAIN3 = {FULL: "gemma3-full-causal", SLIDING: "gemma3-sliding-causal"}
_PLAIN4 = {FULL: "gemma4-full", SLIDING: "gemma4-sliding-causal"}
_VISION3 = {FULL: "gemma3-full", SLIDING: "gemma3-sliding"}
_VISION4 = {FULL: "gemma4-full", SLIDING: "gemma4-sliding"}
_ALL3 = {FULL: "gemma3-all-full", SLIDING: "gemma3-all-sliding"}
_ALL4 = {FULL: "gemma4-all-full", SLIDING: "gemma4-all-sliding"}

_PROFILES_OF: dict[str, dict[object, dict[str, str]]] = {
    "gemma3": {None: _VISION3, False: _VISION3, True: _ALL3, "all": _ALL3},
    "gemma3_text": {None: _PLAIN3, False: _PLAIN3, True: _ALL3, "all": _ALL3},
    "gemma4": {None: _PLAIN4, "vision": _VISION4, "all": _ALL4},
    "gemma4_text": {None: _PLAIN4, "vision": _PLAIN4, "all": _ALL4},
}
"""model_type -> use_bidirectional_attention -> layer kind -> profile (MASK-SCOPE-1 to -4)."""


@dataclass(frozen=True)
class LayerMask:
    """What one layer needs.

    Attributes:
        profile: Name of its profile in :data:`reference.profiles.PROFILES`; None where plain causal attention serves.
        rule: That profile bound to the model's window; None where plain causal attention serves.
    """

    profile: str | None
    rule: MaskRule | None


PLAIN_CAUSAL = LayerMask(None, None)


def gate(config: Mapping[str, Any], batch: MaskBatch) -> tuple[LayerMask, ...]:
    """Which mask each layer of a model needs for a batch (MASK-GATE-1 to -4).

    Args:
        config: The model's ``config.json``, or what ``to_dict()`` of a Hugging Face config returns. Not the
            attributes of a live config: Hugging Face halves ``sliding_window`` in place where nothing is causal.
            Read: ``model_type``, ``layer_types`` (or ``num_hidden_layers`` with ``sliding_window_pattern``),
            ``sliding_window`` and ``use_bidirectional_attention``, from ``text_config`` where there is one.
        batch: The requests; only the types of the new tokens decide.

    Returns:
        One entry a layer, in order.

    Raises:
        ValueError: A field is missing or has a value that no known model has; the message names it.
    """
    model_type = config.get("model_type")
    if model_type not in _PROFILES_OF:
        raise ValueError(f"model_type is {model_type!r}, expected one of {', '.join(_PROFILES_OF)}")
    text: Mapping[str, Any] = config.get("text_config") or config
    flag = text.get("use_bidirectional_attention")
    by_flag = _PROFILES_OF[model_type]
    known = by_flag.get(flag) if flag is None or isinstance(flag, (str, bool)) else None
    if known is None:
        raise ValueError(
            f"use_bidirectional_attention is {flag!r}, expected one of {list(by_flag)} for model_type {model_type!r}"
        )
    has_vision = _has_vision(batch)
    kinds = _layer_types(text, str(model_type))
    return tuple(_layer(known, kind, text, index, has_vision) for index, kind in enumerate(kinds))


def _layer(kinds: dict[str, str], kind: object, text: Mapping[str, Any], index: int, has_vision: bool) -> LayerMask:
    if kind not in (FULL, SLIDING):
        raise ValueError(f"layer_types[{index}] is {kind!r}, expected {FULL!r} or {SLIDING!r}")
    profile = PROFILES[kinds[str(kind)]]
    if profile.window is not None and text.get("sliding_window") is None:
        raise ValueError(f"sliding_window is missing, expected an int of at least 1: layer {index} slides")
    rule = profile.rule(text.get("sliding_window"))
    blob_matters = rule.overlay is Overlay.ALL or (rule.overlay is Overlay.VISION and has_vision)
    if rule.window is None and not blob_matters:
        return PLAIN_CAUSAL
    return LayerMask(profile.name, rule)


def _layer_types(text: Mapping[str, Any], model_type: str) -> list[object]:
    """The kind of every layer. Gemma 4 knows no pattern but its own, and its last layer is full whatever the config says."""
    layer_types, gemma4 = text.get("layer_types"), model_type.startswith("gemma4")
    if layer_types is not None:
        kinds = list(layer_types)
        if gemma4 and kinds and kinds[-1] == SLIDING:
            kinds[-1] = FULL
        return kinds
    layers, pattern = text.get("num_hidden_layers"), 6 if gemma4 else text.get("sliding_window_pattern", 6)
    if not isinstance(layers, int) or not isinstance(pattern, int) or pattern < 1:
        raise ValueError(
            f"layer_types is missing, expected a list of {FULL!r} and {SLIDING!r}, or num_hidden_layers with an "
            f"optional sliding_window_pattern (got {layers!r} and {pattern!r})"
        )
    kinds = [FULL if (index + 1) % pattern == 0 else SLIDING for index in range(layers)]
    return _layer_types({"layer_types": kinds}, model_type)


def _has_vision(batch: MaskBatch) -> bool:
    types = batch.token_types[: batch.query_total].tolist()
    return any(token in VISION for token in types)
