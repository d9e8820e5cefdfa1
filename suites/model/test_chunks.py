"""Chunked prefill and decode through the model's own cache, whose sliding layers keep no more than they see."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reference.contracts import MaskImplementation
from suites.model.handed import chunk, masks_of, types_of
from suites.model.models import PROFILES, TYPES, cut_to_cache, empty_cache, logits, model_of, words
from suites.model.test_logits import assert_same_bits, drawn_prompts
from suites.strategies.masks import Request, request
from suites.witness import FIRST_MODELS, needs_transformers

pytestmark = [
    needs_transformers(FIRST_MODELS),
    pytest.mark.requirement("MASK-MODEL-2"),
    pytest.mark.needs_claim("cached_prefix"),
]

DECODED = "00"
"""What follows the prompt, token by token."""

ROUNDING = 1e-5
"""Of logits up to 0.7: float32 sums of other shapes were up to 1.5e-6 apart; a dropped blob moves some by 0.02 or more."""


class Run:
    """A prompt, the places where it is cut, and the model that reads it."""

    def __init__(self, implementation: MaskImplementation, profile: str, data: st.DataObject, *, inside_blobs: bool) -> None:
        self._implementation, self._profile = implementation, profile
        family = profile.split("-")[0]
        prompts = drawn_prompts(family, implementation.claims).filter(lambda case: case.window != 1)
        case = data.draw(prompts, label="case")  # not W = 1, for which a cache of W - 1 keys keeps every key
        self._window = case.window
        self.request = request(case.requests[0].types + DECODED)
        self._known = implementation.claims.prefix_types and data.draw(st.booleans(), label="types of the prefix known")
        places = _places(self.request, inside_blobs=inside_blobs and self._known)
        cuts = data.draw(st.sets(st.sampled_from(places), max_size=3), label="cuts") if places else set()
        last = len(self.request.types)
        self._bounds = sorted({0, *cuts, *range(last - len(DECODED), last + 1)})
        attention = data.draw(st.sampled_from(("sdpa", "eager")), label="attention")
        self._model, self._types = model_of(family, attention, self._window), TYPES[family]

    def one_shot(self) -> Tensor:
        """Logits under the model's own masks, without a cache."""
        return logits(self._model, self._inputs(0, len(self.request.types)))

    def own(self) -> Tensor:
        """Logits chunk by chunk under the model's own masks."""
        cache = empty_cache(self._model)
        return torch.cat([logits(self._model, self._inputs(a, b), cache=cache) for a, b in pairwise(self._bounds)])

    def ours(self, device: str) -> Tensor:
        """Logits chunk by chunk under the implementation's masks."""
        cache, found = empty_cache(self._model), []
        for begin, end in pairwise(self._bounds):
            case = chunk(self.request, begin, end, self._window, known=self._known)
            (masks,) = masks_of(self._implementation, self._profile, case, device)
            found.append(logits(self._model, self._inputs(begin, end), cut_to_cache(masks, cache), cache))
        return torch.cat(found)

    def _inputs(self, begin: int, end: int) -> dict[str, Tensor]:
        """The model wants the types of all tokens so far."""
        ids, types = words(len(self.request.types)), types_of(self.request)
        return {"input_ids": ids[:, begin:end], self._types: types[:, :end]}


def _places(prompt: Request, *, inside_blobs: bool) -> list[int]:
    """Where the prompt may be cut."""
    types = prompt.types
    return [i for i in range(1, len(types) - len(DECODED)) if inside_blobs or not {types[i - 1], types[i]} <= {"1", "2"}]


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=12)
@given(data=st.data())
def test_chunks_then_decode_are_those_of_the_models_own_masks(
    mask_impl: MaskImplementation, device: str, profile: str, data: st.DataObject
) -> None:
    """Bit for bit, cut anywhere: where the prefix's types are known, a chunk goes on with the blob that is cut."""
    run = Run(mask_impl, profile, data, inside_blobs=True)
    assert_same_bits(run.ours(device), run.own(), profile)


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=12)
@given(data=st.data())
def test_chunks_then_decode_agree_with_one_shot(
    mask_impl: MaskImplementation, device: str, profile: str, data: st.DataObject
) -> None:
    """Cut outside of blobs, up to rounding."""
    run = Run(mask_impl, profile, data, inside_blobs=False)
    torch.testing.assert_close(run.ours(device), run.one_shot(), rtol=0, atol=ROUNDING)
