"""From a model's config and a batch to the mask of each layer."""

from __future__ import annotations

from itertools import product
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
from suites.strategies.masks import MaskCase, mask_cases, request

pytestmark = pytest.mark.needs_claim("gating")

_FLAGS = {
    "gemma3": (None, False, True, "all"),
    "gemma3_text": (None, False, True, "all"),
    "gemma4": (None, "vision", "all"),
    "gemma4_text": (None, "vision", "all"),
}


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """Configs as Hugging Face writes them: flat, nested, and with the layers listed or by pattern."""
    model_type = draw(st.sampled_from(("gemma3", "gemma3", *_FLAGS)))
    text: dict[str, Any] = {"sliding_window": draw(st.sampled_from((1, 2, 3, 4, 5, 7, 40)))}
    flag = draw(st.sampled_from((*_FLAGS[model_type], "absent")))
    text |= {} if flag == "absent" else {"use_bidirectional_attention": flag}
    text |= draw(_LAYERS)
    nested = not model_type.endswith("_text") and draw(st.booleans())
    return {"model_type": model_type, **({"text_config": text} if nested else text)}


_LAYERS = st.sampled_from(
    [{"layer_types": list(kinds)} for n in (1, 2, 3) for kinds in product((FULL, SLIDING), repeat=n)]
    + [
        {"num_hidden_layers": layers} | ({} if pattern is None else {"sliding_window_pattern": pattern})
        for layers in (1, 6, 7, 13)
        for pattern in (None, None, 1, 2, 5, 6, 7)
    ]
)


_FEW = ("00", "0000", "33", "011", "0220", "11|0", "0|22", "")


@st.composite
def few_tokens(draw: st.DrawFn) -> MaskCase:
    """Batches whose only vision is of one type, of one request, cached, or of a generation request."""
    requests = draw(st.sampled_from(list(product(_FEW, repeat=2))))
    known, trailing = draw(st.sampled_from(list(product((False, True), "0123"))))
    return MaskCase(tuple(request(r) for r in requests), prefix_known=known, trailing=trailing)


def _mask(rule: MaskRule | None, batch: MaskBatch) -> torch.Tensor:
    return packed_mask(batch, MaskRule() if rule is None else rule)


@pytest.mark.requirement("MASK-GATE-1", "MASK-GATE-2", "MASK-GATE-3")
@given(config=configs(), case=few_tokens() | few_tokens() | mask_cases())
def test_each_layer_gets_its_mask_or_none(mask_impl: MaskImplementation, config: dict[str, Any], case: MaskCase) -> None:
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
