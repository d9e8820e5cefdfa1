"""From a model's config and a batch to the mask of each layer."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.contracts import MaskImplementation
from reference.dense import packed_mask
from reference.gating import FULL, SLIDING, LayerMask, gate
from reference.rules import MaskRule
from reference.tokens import MaskBatch
from suites.strategies.masks import mask_cases

pytestmark = pytest.mark.needs_claim("gating")

_FLAGS = {
    "gemma3": (None, False, True),
    "gemma3_text": (None, False, True),
    "gemma4": (None, "vision", "all"),
    "gemma4_text": (None, "vision", "all"),
}


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """Configs as Hugging Face writes them: flat, nested, and with the layers listed or by pattern."""
    model_type = draw(st.sampled_from(sorted(_FLAGS)))
    text: dict[str, Any] = {"sliding_window": draw(st.integers(1, 40))}
    flag = draw(st.sampled_from(_FLAGS[model_type]))
    if flag is not None or draw(st.booleans()):
        text["use_bidirectional_attention"] = flag
    if draw(st.booleans()):
        text["layer_types"] = draw(st.lists(st.sampled_from((FULL, SLIDING)), min_size=1, max_size=7))
    else:
        text["num_hidden_layers"] = draw(st.integers(1, 14))
        text["sliding_window_pattern"] = draw(st.integers(1, 7))
    nested = not model_type.endswith("_text") and draw(st.booleans())
    return {"model_type": model_type, **({"text_config": text} if nested else text)}


def _mask(rule: MaskRule | None, batch: MaskBatch) -> torch.Tensor:
    return packed_mask(batch, MaskRule() if rule is None else rule)


@pytest.mark.requirement("MASK-GATE-1", "MASK-GATE-2", "MASK-GATE-3")
@given(config=configs(), case=mask_cases())
def test_each_layer_gets_its_mask_or_none(mask_impl: MaskImplementation, config: dict[str, Any], case: Any) -> None:
    """Judged by the masks that follow, so that a builder may name its rules as it likes."""
    assert mask_impl.gate is not None
    batch = case.batch()
    wanted, got = gate(config, batch), list(mask_impl.gate(config, batch))
    assert len(got) == len(wanted), f"{len(got)} layers, expected {len(wanted)}"
    for layer, (entry, want) in enumerate(zip(got, wanted, strict=True)):
        rule = entry.rule if isinstance(entry, LayerMask) else entry
        assert torch.equal(_mask(rule, batch), _mask(want.rule, batch)), f"layer {layer}: got {rule}, expected {want}"
        if want.rule is None:
            assert rule is None, f"layer {layer}: got {rule}, expected None: plain causal attention serves"


@pytest.mark.requirement("MASK-GATE-4")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model_type", "llama"),
        ("model_type", None),
        ("use_bidirectional_attention", "audio"),
        ("use_bidirectional_attention", 3),
        ("layer_types", ["chunked_attention"]),
        ("layer_types", None),
        ("sliding_window", None),
        ("sliding_window", 0),
    ],
)
def test_a_config_that_no_model_has_is_refused_by_name(mask_impl: MaskImplementation, field: str, value: object) -> None:
    assert mask_impl.gate is not None
    config = {"model_type": "gemma4", "layer_types": [SLIDING, FULL], "sliding_window": 4, field: value}
    batch = MaskBatch(torch.tensor([0, 1, 1, 0]), [4])
    name = "window" if (field, value) == ("sliding_window", 0) else field
    with pytest.raises((ValueError, TypeError), match=name):
        mask_impl.gate(config, batch)
