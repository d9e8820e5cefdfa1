"""Real prompts: conversations through the model's own processor, which says what each token is."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Any

import pytest
from torch import Tensor

from reference.contracts import MaskImplementation
from suites.model.handed import chunk, masks_of, without_blob
from suites.model.models import PROFILES, TYPES, WINDOW, cut_to_cache, empty_cache, logits, model_of, words
from suites.model.processors import prompt
from suites.model.test_logits import assert_same_bits
from suites.strategies.masks import MaskCase, Request, request
from suites.witness import FIRST_MODELS, needs_transformers

pytestmark = [needs_transformers(FIRST_MODELS), pytest.mark.requirement("MASK-MODEL-3")]

ATTENTIONS = ("sdpa", "eager")
DECODED = 3
"""Tokens after the prompt."""

_IMAGE = {"type": "image"}
_WIDE = {"type": "image", "size": (16, 48)}
_VIDEO = {"type": "video", "frames": 3, "size": (24, 24)}
_AUDIO = {"type": "audio", "samples": 6400}


def _says(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _asks(*content: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "u", "content": [*content, _says(" w h y ")]}]


CROPS = {"do_pan_and_scan": True, "pan_and_scan_min_crop_size": 8}
"""Gemma 3 then adds crops of a wide image as images of their own."""

# By name: the conversation, options of the processor, and the runs of types that are not text, in order.
CONVERSATIONS: dict[str, dict[str, tuple[list[dict[str, Any]], dict[str, Any], str]]] = {
    "gemma3": {
        "image": (_asks(_says("s e e "), _IMAGE), {}, "1"),
        "images": (_asks(_IMAGE, _IMAGE, _says("o r "), _IMAGE), {}, "111"),
        "crops": (_asks(_WIDE), CROPS, "1111"),
    },
    "gemma4": {
        "image": (_asks(_says("s e e "), _IMAGE), {}, "1"),
        "images": (_asks(_IMAGE, _IMAGE, _says("o r "), _WIDE), {}, "111"),
        "frames": (_asks(_VIDEO), {}, "222"),
        "audio": (_asks(_says("h e a r "), _AUDIO), {}, "3"),
        "all": (
            [*_asks(_IMAGE, _AUDIO, _VIDEO), {"role": "m", "content": [_says("s o ")]}, *_asks(_AUDIO, _IMAGE)],
            {},
            "1322231",
        ),
    },
}

MOVED = {"gemma3-full": 0.07, "gemma3-sliding": 0.02, "gemma4-sliding": 0.2}
"""How far some logit moves at least if a layer kind loses its blobs: measured from 0.076, 0.021 and 0.23 on.

The tokens of a Gemma 3 image are nearly alike under random weights: words moved more.
"""

EACH = [(profile, name) for profile in PROFILES for name in CONVERSATIONS[profile.split("-")[0]]]
WITH_BLOBS = [(profile, name) for profile, name in EACH if profile in MOVED and name != "audio"]


@cache
def _prompt(family: str, name: str) -> tuple[dict[str, Any], Request]:
    """The inputs of the model, and the types that the processor gives them."""
    conversation, options, runs = CONVERSATIONS[family][name]
    inputs = prompt(family, conversation, **options)
    types = "".join(str(kind) for kind in inputs[TYPES[family]][0].tolist())
    assert "".join(kind for kind, _ in groupby(types) if kind != "0") == runs, types
    return inputs, request(types)


@cache
def _own(family: str, name: str, attention: str) -> Tensor:
    return logits(model_of(family, attention), _prompt(family, name)[0])


@pytest.mark.parametrize(("profile", "name"), EACH)
def test_a_conversations_logits_are_those_of_the_models_own_masks(
    mask_impl: MaskImplementation, device: str, profile: str, name: str
) -> None:
    """Bit for bit."""
    family = profile.split("-")[0]
    inputs, types = _prompt(family, name)
    (masks,) = masks_of(mask_impl, profile, MaskCase((types,), WINDOW), device)
    for attention in ATTENTIONS:
        assert_same_bits(logits(model_of(family, attention), inputs, masks), _own(family, name, attention), profile)


@pytest.mark.needs_claim("multi_request")
@pytest.mark.parametrize("profile", PROFILES)
def test_conversations_packed_in_one_batch_do_not_see_each_other(
    mask_impl: MaskImplementation, device: str, profile: str
) -> None:
    family = profile.split("-")[0]
    prompts = {name: _prompt(family, name) for name in CONVERSATIONS[family]}
    case = MaskCase(tuple(types for _, types in prompts.values()), WINDOW)
    for name, masks in zip(prompts, masks_of(mask_impl, profile, case, device), strict=True):
        assert_same_bits(logits(model_of(family, "sdpa"), prompts[name][0], masks), _own(family, name, "sdpa"), profile)


@pytest.mark.needs_claim("cached_prefix")
@pytest.mark.parametrize(("profile", "name"), EACH)
def test_an_answer_behind_a_conversation_is_that_of_the_models_own_masks(
    mask_impl: MaskImplementation, device: str, profile: str, name: str
) -> None:
    """Bit for bit: the prompt in one chunk, and then token by token."""
    family = profile.split("-")[0]
    inputs, types = _prompt(family, name)
    whole = request(types.types + "0" * DECODED)
    model, known = model_of(family, "sdpa"), mask_impl.claims.prefix_types
    own, ours = empty_cache(model), empty_cache(model)
    prompt_length = len(types.types)
    for end in range(prompt_length, prompt_length + DECODED + 1):
        begin = end - 1 if end > prompt_length else 0
        given = {"input_ids": words(end)[:, begin:]} if begin else inputs
        (masks,) = masks_of(mask_impl, profile, chunk(whole, begin, end, WINDOW, known=known), device)
        got = logits(model, given, cut_to_cache(masks, ours), ours)
        assert_same_bits(got, logits(model, given, cache=own), f"{profile}, from token {begin} on")


@pytest.mark.parametrize(("profile", "name"), WITH_BLOBS)
def test_a_conversations_logits_move_if_the_blob_is_dropped(
    mask_impl: MaskImplementation, device: str, profile: str, name: str
) -> None:
    family = profile.split("-")[0]
    inputs, types = _prompt(family, name)
    case = MaskCase((types,), WINDOW)
    (masks,) = masks_of(mask_impl, profile, case, device)
    dropped = without_blob(masks, profile, case)
    moved = logits(model_of(family, "sdpa"), inputs, masks) - logits(model_of(family, "sdpa"), inputs, dropped)
    assert moved.abs().max() > MOVED[profile]
