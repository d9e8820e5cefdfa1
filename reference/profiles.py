"""The rule of every model, layer kind and engine that we know, by name, each with its source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference.rules import MaskRule, Order, Overlay, Prefix, Segmentation

Window = Callable[[int], int]
"""From the window in a model's ``config.json`` to the W of the rule."""


def as_configured(window: int) -> int:
    """W is the configured window: it counts the query itself."""
    return window


def half_exclusive(window: int) -> int:
    """Gemma 3 and EmbeddingGemma without causality: ``|p - c| < window // 2 + 1``."""
    return window // 2 + 1


def half_inclusive(window: int) -> int:
    """Gemma 4 without causality: ``|p - c| <= window // 2 + 1``, one key more on each side."""
    return window // 2 + 2


@dataclass(frozen=True)
class Profile:
    """A named rule whose window is left open.

    Attributes:
        name: What lists, test ids and claims call it.
        unbound: The rule without its window.
        window: How W follows from the configured window; None for a layer kind that has none.
        source: Where the rule can be read.
    """

    name: str
    unbound: MaskRule
    window: Window | None
    source: str

    def rule(self, window: int | None = None) -> MaskRule:
        """Binds the profile to a model's configured window.

        Args:
            window: ``sliding_window`` of the model's ``config.json``, in tokens; ignored by a full-attention profile.

        Returns:
            The rule of such a layer.

        Raises:
            ValueError: The profile is windowed and ``window`` is None or below 1.
        """
        if self.window is None:
            return self.unbound
        if window is None:
            raise ValueError(f"window is None, expected an int of at least 1: profile {self.name} slides")
        MaskRule(window=window)  # refuse a bad configured window before deriving W from it
        rule = self.unbound
        return MaskRule(
            window=self.window(window),
            overlay=rule.overlay,
            order=rule.order,
            prefix=rule.prefix,
            segmentation=rule.segmentation,
            bound_future=rule.bound_future,
        )


def _full(name: str, source: str, overlay: Overlay, segmentation: Segmentation = Segmentation.RUN) -> Profile:
    return Profile(name, MaskRule(overlay=overlay, segmentation=segmentation), None, source)


def _sliding(
    name: str,
    source: str,
    overlay: Overlay = Overlay.VISION,
    order: Order = Order.WINDOW_LAST,
    prefix: Prefix = Prefix.WINDOWED,
    segmentation: Segmentation = Segmentation.RUN,
    *,
    bound_future: bool = False,
    window: Window = as_configured,
) -> Profile:
    rule = MaskRule(None, overlay, order, prefix, segmentation, bound_future)
    return Profile(name, rule, window, source)


_GITHUB = "https://github.com/"
_HF3 = _GITHUB + "huggingface/transformers modeling_gemma3.py create_masks_for_vision_model (>= 5.13, pull 46850)"
_HF4 = _GITHUB + "huggingface/transformers modeling_gemma4.py create_masks_for_vision_model (>= 5.13)"
_HF3_ALL = _GITHUB + "huggingface/transformers configuration_gemma3.py and modeling_gemma3.py Gemma3TextModel.forward"
_HF4_ALL = _GITHUB + "huggingface/transformers configuration_gemma4.py and masking_utils.py sliding_window_bidirectional"
_JAX3 = _GITHUB + "google-deepmind/gemma gm/utils/_attention_mask.py and gm/nn/_modules.py create_sliding_mask"
_JAX4 = _GITHUB + "google-deepmind/gemma gm/nn/gemma4/_transformer.py and gemma4/_modules.py"
_TRT3 = _GITHUB + "NVIDIA/TensorRT-LLM modeling_gemma3.py get_flashinfer_attention_mask (pulls 5853, 5976)"
_TRT4 = _GITHUB + "NVIDIA/TensorRT-LLM modeling_gemma4.py get_flashinfer_attention_mask"
_VLLM = _GITHUB + "vllm-project/vllm v1/attention/ops/triton_attention_helpers.py compute_kv_seq_mask"
_SGLANG = _GITHUB + "sgl-project/sglang srt/models/gemma3_mm.py prepare_attn_masks (pull 10707)"
_LLAMA = _GITHUB + "ggml-org/llama.cpp src/llama-kv-cache.cpp set_input_kq_mask (pull 12615)"
_MLX = (
    _GITHUB
    + "Blaizzy/mlx-vlm models/gemma4/language.py Gemma4TextModel._make_masks (without a prefix; it drops the blob with one)"
)

_NONE, _VISION, _ALL = Overlay.NONE, Overlay.VISION, Overlay.ALL
_OR_LAST, _ITEM, _TYPE = Order.OR_LAST, Segmentation.ITEM, Segmentation.TYPE

_ALL_PROFILES = (
    # The models, as Hugging Face computes them.
    _full("gemma3-full", _HF3, _VISION),
    _sliding("gemma3-sliding", _HF3),
    _full("gemma3-full-causal", _HF3_ALL, _NONE),
    _sliding("gemma3-sliding-causal", _HF3_ALL, _NONE),
    _full("gemma3-all-full", _HF3_ALL, _ALL),
    _sliding("gemma3-all-sliding", _HF3_ALL, _ALL, bound_future=True, window=half_exclusive),
    _full("gemma4-full", _HF4, _NONE),
    _sliding("gemma4-sliding", _HF4),
    _sliding("gemma4-sliding-causal", _HF4, _NONE),
    _full("gemma4-all-full", _HF4_ALL, _ALL),
    _sliding("gemma4-all-sliding", _HF4_ALL, _ALL, bound_future=True, window=half_inclusive),
    # Google's own code.
    _full("jax-gemma3-full", _JAX3, _VISION),
    _sliding("jax-gemma3-sliding", _JAX3, bound_future=True),
    _full("jax-gemma4-full", _JAX4, _NONE),
    _sliding("jax-gemma4-sliding", _JAX4, bound_future=True),
    _sliding("pytorch-gemma3-sliding", _GITHUB + "google/gemma_pytorch gemma3_model.py create_attention_mask"),
    # Engines.
    _full("trtllm-gemma3-full", _TRT3, _VISION),
    _sliding("trtllm-gemma3-sliding", _TRT3, order=_OR_LAST),
    _full("trtllm-gemma4-full", _TRT4, _NONE),
    _sliding("trtllm-gemma4-sliding", _TRT4 + " (after pull 18002)", order=_OR_LAST, segmentation=_TYPE),
    _sliding(
        "trtllm-gemma4-sliding-open-prefix",
        _TRT4 + " (pulls 14134 to 18002)",
        order=_OR_LAST,
        prefix=Prefix.OPEN,
        segmentation=_TYPE,
    ),
    _full("vllm-gemma3-full", _VLLM, _VISION, _ITEM),
    _sliding("vllm-gemma3-sliding", _VLLM + " without clamp", order=Order.DROP_LONGER, segmentation=_ITEM),
    _full("vllm-gemma4-full", _VLLM + " (pull 40534)", _NONE),
    _sliding("vllm-gemma4-sliding", _VLLM + " with MM_PREFIX_CLAMP_SW (pull 47217)", segmentation=_ITEM),
    _full("sglang-gemma3-full", _SGLANG, _VISION, _ITEM),
    _sliding("sglang-gemma3-sliding", _SGLANG, segmentation=_ITEM),
    _full("llamacpp-gemma3-full", _LLAMA, _VISION, _ITEM),
    _sliding("llamacpp-gemma3-sliding", _LLAMA, segmentation=_ITEM),
    _full("mlxvlm-gemma4-full", _MLX, _VISION),
    _sliding("mlxvlm-gemma4-sliding", _MLX, order=_OR_LAST),
    _sliding(
        "hf-4.57-gemma3-sliding",
        _GITHUB + "huggingface/transformers modeling_gemma3.py token_type_ids_mask_function (4.57 to 5.12)",
        order=_OR_LAST,
    ),
    # The blob of PaliGemma 2 is its whole prompt, text included: the caller marks all of it IMAGE.
    _sliding(
        "hf-paligemma2-sliding",
        _GITHUB + "huggingface/transformers modeling_paligemma.py create_masks_for_generate",
        order=_OR_LAST,
    ),
)

PROFILES: dict[str, Profile] = {profile.name: profile for profile in _ALL_PROFILES}
"""Every profile by its name, in the order of the tables of SPEC.md."""
