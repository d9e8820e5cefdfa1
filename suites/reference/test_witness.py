"""A witness from outside: the oracle against Hugging Face's own mask functions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from reference.dense import packed_mask
from reference.gating import FULL, SLIDING, gate
from reference.profiles import PROFILES
from reference.tokens import MaskBatch
from suites.strategies.masks import mask_cases
from suites.witness import FIRST_MASKS, needs_transformers, why_not


@pytest.mark.requirement("MASK-SCOPE-1", "MASK-SCOPE-2", "MASK-ORDER-1", "MASK-BLOB-2", "MASK-CUT-1", "MASK-WINDOW-1")
@needs_transformers(FIRST_MASKS)
@pytest.mark.parametrize("profile", ["gemma3-full", "gemma3-sliding", "gemma4-full", "gemma4-sliding"])
@given(data=st.data())
def test_the_oracle_is_what_hugging_face_computes(profile: str, data: st.DataObject) -> None:
    from impl.peers import hugging_face  # the engine as its adapter calls it; no code of ours builds these masks

    family = profile.split("-")[0]
    drawn = data.draw(mask_cases(PROFILES[profile]))
    request = drawn.requests[0]
    if family == "gemma3":
        # Gemma 3 has no video: its own function knows images alone.
        request = replace(request, types=request.types.replace("2", "1"))
    case = replace(drawn, requests=(request,), prefix_known=True)
    assume(request.queries > 0)
    batch, rule = case.batch(), PROFILES[profile].rule(case.window)
    ours = packed_mask(batch, rule)
    theirs = {"gemma3": hugging_face.GEMMA3, "gemma4": hugging_face.GEMMA4}[family].build(batch, rule)
    assert torch.equal(ours, theirs)


@pytest.mark.requirement("MASK-GATE-1")
@needs_transformers(FIRST_MASKS)
@pytest.mark.parametrize("family", ["gemma3", "gemma4"])
@given(layers=st.integers(1, 14), kinds=st.none() | st.lists(st.sampled_from((FULL, SLIDING)), min_size=1, max_size=8))
def test_layer_kinds_are_those_of_hugging_face(family: str, layers: int, kinds: list[str] | None) -> None:
    """Listed or by pattern; Gemma 4 forces its last layer to full attention."""
    from transformers.models.gemma3.configuration_gemma3 import Gemma3TextConfig
    from transformers.models.gemma4.configuration_gemma4 import Gemma4TextConfig

    text: dict[str, Any] = {"num_hidden_layers": len(kinds) if kinds else layers, "sliding_window": 4}
    config = {"gemma3": Gemma3TextConfig, "gemma4": Gemma4TextConfig}[family](layer_types=kinds and list(kinds), **text)
    batch = MaskBatch(torch.tensor([0, 3]), [2])
    ours = gate({"model_type": f"{family}_text", "layer_types": kinds, **text}, batch)
    assert [FULL if layer.rule is None else SLIDING for layer in ours] == list(config.layer_types)


def test_a_witness_that_is_too_old_is_not_run_and_says_what_it_needs() -> None:
    assert re.fullmatch(r"needs transformers >= 999 \(the extra 'witness'\), found \S+", why_not("999") or "")
