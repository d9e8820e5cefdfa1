"""One-shot prefill of drawn prompts: the implementation's masks in the place of the model's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reference import profiles
from reference.contracts import Claims, MaskImplementation
from reference.gating import LayerMask
from reference.rules import MaskRule
from reference.tokens import MaskBatch
from suites.model.handed import masks_of, types_of, without_blob
from suites.model.models import PROFILES, TYPES, WINDOW, logits, model_of, words
from suites.strategies.masks import MaskCase, mask_cases, request
from suites.witness import FIRST_MODELS, needs_transformers

pytestmark = [needs_transformers(FIRST_MODELS), pytest.mark.requirement("MASK-MODEL-1")]

LONG_AND_SHORT = "00" + "1" * 16 + "00330" + "1" * 4 + "000"
"""A prompt with a blob longer than the window and one that is shorter."""

MOVED = {"gemma3-full": 0.2, "gemma3-sliding": 0.5, "gemma4-sliding": 0.5}
"""How far some logit of that prompt moves at least if a layer kind loses its blobs: measured 0.22, 0.62 and 0.63."""


def drawn_prompts(family: str, claims: Claims) -> st.SearchStrategy[MaskCase]:
    """Batches of prompts without a prefix. The window is that of the sliding layers, whichever profile is judged."""

    def one_shot(case: MaskCase) -> MaskCase:
        requests = [replace(one, cached=0) for one in case.within(claims).requests if one.types]
        if family == "gemma3":  # it has no video, and its own function knows images alone
            requests = [replace(one, types=one.types.replace("2", "1")) for one in requests]
        return replace(case, requests=tuple(requests), prefix_known=False)

    return mask_cases(profiles.PROFILES[f"{family}-sliding"]).map(one_shot).filter(lambda case: case.requests)


def assert_same_bits(got: Tensor, want: Tensor, profile: str) -> None:
    """Fails with the first row of logits that differs."""
    rows = (got != want).any(dim=-1).nonzero().flatten().tolist()
    if rows:
        apart = (got - want).abs().max()
        pytest.fail(
            f"{profile}: logits are up to {apart:.2g} from those of the model's own masks, "
            f"in {len(rows)} of {len(got)} rows, the first of them row {rows[0]}"
        )


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=30)
@given(data=st.data())
def test_logits_are_those_of_the_models_own_masks(
    mask_impl: MaskImplementation, device: str, profile: str, data: st.DataObject
) -> None:
    """Bit for bit, with sdpa and with eager attention."""
    family = profile.split("-")[0]
    case = data.draw(drawn_prompts(family, mask_impl.claims), label="case")
    attention = data.draw(st.sampled_from(("sdpa", "eager")), label="attention")
    model = model_of(family, attention, case.window)
    for one, masks in zip(case.requests, masks_of(mask_impl, profile, case, device), strict=True):
        inputs = {"input_ids": words(len(one.types)), TYPES[family]: types_of(one)}
        assert_same_bits(logits(model, inputs, masks), logits(model, inputs), profile)


@pytest.mark.parametrize("profile", MOVED)
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_logits_move_if_the_blob_is_dropped(
    mask_impl: MaskImplementation, device: str, profile: str, attention: str
) -> None:
    """Equal logits would say nothing of a model that does not look at its masks."""
    family = profile.split("-")[0]
    case = MaskCase((request(LONG_AND_SHORT),), WINDOW)
    (masks,) = masks_of(mask_impl, profile, case, device)
    model, inputs = model_of(family, attention), {"input_ids": words(len(LONG_AND_SHORT))}
    moved = logits(model, inputs, masks) - logits(model, inputs, without_blob(masks, profile, case))
    assert moved.abs().max() > MOVED[profile]


@pytest.mark.needs_claim("gating")
@pytest.mark.parametrize("family", ["gemma3", "gemma4"])
@settings(max_examples=20)
@given(data=st.data())
def test_layers_that_gating_gives_no_mask_need_none(
    mask_impl: MaskImplementation, device: str, family: str, data: st.DataObject
) -> None:
    """Gated by the config of the model itself. Only sdpa is causal by itself."""
    case = data.draw(drawn_prompts(family, replace(mask_impl.claims, multi_request=False)), label="case")
    model = model_of(family, "sdpa", case.window)
    batch = case.batch(device)
    masks = {}
    for kind, rule in zip(
        model.config.text_config.layer_types, _rules(mask_impl, model.config.to_dict(), batch), strict=True
    ):
        masks[kind] = None if rule is None else mask_impl.build(batch, rule).cpu().view(1, 1, *[batch.query_total] * 2)
    for one in case.requests:
        inputs = {"input_ids": words(len(one.types)), TYPES[family]: types_of(one)}
        assert_same_bits(logits(model, inputs, masks), logits(model, inputs), f"{family}, gated")


def _rules(implementation: MaskImplementation, config: dict[str, Any], batch: MaskBatch) -> list[MaskRule | None]:
    assert implementation.gate is not None
    entries = implementation.gate(config, batch)
    return [entry.rule if isinstance(entry, LayerMask) else entry for entry in entries]
