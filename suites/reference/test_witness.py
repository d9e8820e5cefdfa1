"""A witness from outside: the oracle against Hugging Face's own mask functions."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from reference.dense import packed_mask
from reference.gating import FULL, SLIDING, gate
from reference.profiles import PROFILES
from reference.tokens import MaskBatch
from suites.strategies.masks import MaskCase, mask_cases
from suites.witness import FIRST_MASKS, needs_transformers, why_not


@dataclass
class _Cache:
    """What the mask functions ask of a cache: P keys are held, on every layer alike."""

    prefix: int
    is_sliding: tuple[bool, bool]

    def get_query_offset(self, layer: int) -> int:
        return self.prefix

    def get_mask_sizes(self, queries: int, layer: int) -> tuple[int, int]:
        return self.prefix + queries, 0

    def get_seq_length(self, layer: int = 0) -> int:
        return self.prefix


def _witness(family: str, case: MaskCase) -> dict[str, torch.Tensor]:
    """Hugging Face's masks of a one-request case, by layer kind."""
    if family == "gemma3":
        from transformers.models.gemma3 import modeling_gemma3 as modeling
        from transformers.models.gemma3.configuration_gemma3 import Gemma3TextConfig as TextConfig
    else:
        from transformers.models.gemma4 import modeling_gemma4 as modeling
        from transformers.models.gemma4.configuration_gemma4 import Gemma4TextConfig as TextConfig
    (request,) = case.requests
    kinds = ["full_attention", "sliding_attention"]
    config = TextConfig(num_hidden_layers=2, layer_types=kinds, sliding_window=case.window or 4)
    config._attn_implementation = "eager"
    types = torch.tensor([[int(t) for t in request.types]])
    blobs = modeling.get_block_sequence_ids_for_mask(types, device=torch.device("cpu"))
    build = modeling.create_masks_for_vision_model
    # The argument was renamed between the versions that we support.
    cache = "cache" if "cache" in inspect.signature(build).parameters else "past_key_values"
    masks: dict[str, Any] = build(
        config=config,
        inputs_embeds=torch.zeros(1, request.queries, 1),
        attention_mask=None,
        position_ids=None,
        block_sequence_ids=blobs,
        **{cache: _Cache(request.cached, (False, True))},
    )
    shape = (request.queries, len(request.types))
    return {kind: _visible(mask, shape, request.cached) for kind, mask in masks.items()}


def _visible(mask: torch.Tensor | None, shape: tuple[int, int], prefix: int) -> torch.Tensor:
    if mask is None:  # plain causal
        return torch.ones(shape, dtype=torch.bool).tril(prefix)
    mask = mask[0, 0]
    assert mask.shape == shape
    return mask if mask.dtype is torch.bool else mask == 0


@pytest.mark.requirement("MASK-SCOPE-1", "MASK-SCOPE-2", "MASK-ORDER-1", "MASK-BLOB-2", "MASK-CUT-1", "MASK-WINDOW-1")
@needs_transformers(FIRST_MASKS)
@pytest.mark.parametrize("profile", ["gemma3-full", "gemma3-sliding", "gemma4-full", "gemma4-sliding"])
@given(data=st.data())
def test_the_oracle_is_what_hugging_face_computes(profile: str, data: st.DataObject) -> None:
    family, kind = profile.split("-")
    drawn = data.draw(mask_cases(PROFILES[profile]))
    request = drawn.requests[0]
    if family == "gemma3":
        # Gemma 3 has no video: its own function knows images alone.
        request = replace(request, types=request.types.replace("2", "1"))
    case = replace(drawn, requests=(request,), prefix_known=True)
    assume(request.queries > 0)
    batch = case.batch()
    ours = packed_mask(batch, PROFILES[profile].rule(case.window)).view(request.queries, len(request.types))
    theirs = _witness(family, case)[f"{kind}_attention"]
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
