"""Relations between masks that hold whatever the oracle says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from harness.statuses import not_claimed
from reference.contracts import MaskImplementation
from reference.profiles import PROFILES
from reference.rules import MaskRule, Order, Overlay, Prefix, Segmentation
from suites.mask.checks import build, rule_of
from suites.mask.report import assert_same
from suites.strategies.masks import PLAIN, MaskCase, Request, mask_cases

_SWAP_VISION = str.maketrans("12", "21")
_SWAP_CAUSAL = str.maketrans("03", "30")


def _profile(data: st.DataObject, impl: MaskImplementation, fits: Callable[[MaskRule], bool] = lambda rule: True) -> str:
    """Draws a claimed profile whose rule, but for its window, fits; ends the test if none is claimed."""
    names = [name for name in impl.claims.profile_names if fits(PROFILES[name].unbound)]
    if not names:
        not_claimed("a profile that this test is about")
    return data.draw(st.sampled_from(names), label="profile")


def _has_windowed_prefix(rule: MaskRule) -> bool:
    return rule.prefix is Prefix.WINDOWED


def _is_causal(rule: MaskRule) -> bool:
    return _has_windowed_prefix(rule) and rule.overlay is not Overlay.ALL


def _draw(data: st.DataObject, impl: MaskImplementation, profile: str) -> MaskCase:
    return data.draw(mask_cases(PROFILES[profile]), label="case").within(impl.claims)


def _draw_uncached(data: st.DataObject, impl: MaskImplementation, profile: str) -> tuple[MaskCase, Request]:
    """A case and its first request as one prompt without a prefix."""
    case = _draw(data, impl, profile)
    return case, replace(case.requests[0], cached=0)


def _mask(impl: MaskImplementation, case: MaskCase, profile: str, device: str) -> Tensor:
    return build(impl, case.batch(device), rule_of(profile, case))


def _assert_same(got: Tensor, want: Tensor, case: MaskCase, profile: str) -> None:
    """Fails with a picture: ``want`` as expected, ``got`` as got, on the requests of ``case``."""
    assert_same(case.batch(), rule_of(profile, case), profile, got, want)


def _single(impl: MaskImplementation, case: MaskCase, profile: str, device: str) -> Tensor:
    (only,) = case.requests
    return _mask(impl, case, profile, device).view(only.queries, len(only.types))


@pytest.mark.needs_claim("multi_request")
@pytest.mark.requirement("MASK-PACK-1", "MASK-PACK-2", "MASK-PACK-4")
@given(data=st.data())
def test_a_batch_is_the_concatenation_of_its_requests(
    mask_impl: MaskImplementation, device: str, data: st.DataObject
) -> None:
    profile = _profile(data, mask_impl)
    case = _draw(data, mask_impl, profile)
    singles = [_mask(mask_impl, replace(case, requests=(r,)), profile, device) for r in case.requests]
    _assert_same(_mask(mask_impl, case, profile, device), torch.cat(singles), case, profile)


@pytest.mark.needs_claim("multi_request")
@pytest.mark.requirement("MASK-PACK-4", "MASK-BLOB-5")
@given(data=st.data())
def test_a_request_does_not_see_what_its_neighbours_are(
    mask_impl: MaskImplementation, device: str, data: st.DataObject
) -> None:
    profile = _profile(data, mask_impl)
    case = _draw(data, mask_impl, profile)
    assume(len(case.requests) > 1)
    index = data.draw(st.integers(0, len(case.requests) - 1), label="the one that stays")
    kind = data.draw(st.sampled_from("0123"), label="what the others become")
    others = tuple(
        r if i == index else Request(kind * len(r.types), "z" * len(r.types), r.cached) for i, r in enumerate(case.requests)
    )
    start = sum(r.queries * len(r.types) for r in case.requests[:index])
    cells = slice(start, start + case.requests[index].queries * len(case.requests[index].types))
    changed = _mask(mask_impl, replace(case, requests=others), profile, device)
    alone = replace(case, requests=(case.requests[index],))
    _assert_same(changed[cells], _mask(mask_impl, case, profile, device)[cells], alone, profile)


@pytest.mark.requirement("MASK-PACK-3")
@given(data=st.data())
def test_generation_tokens_behind_the_context_are_ignored(
    mask_impl: MaskImplementation, device: str, data: st.DataObject
) -> None:
    profile = _profile(data, mask_impl)
    case = _draw(data, mask_impl, profile)
    other = data.draw(st.text("0123", max_size=9), label="other generation tokens")
    with_other = _mask(mask_impl, replace(case, trailing=other), profile, device)
    _assert_same(with_other, _mask(mask_impl, case, profile, device), case, profile)


@pytest.mark.requirement("MASK-INPUT-1", "MASK-INPUT-2")
@given(data=st.data())
def test_the_layout_of_the_inputs_changes_nothing(mask_impl: MaskImplementation, device: str, data: st.DataObject) -> None:
    profile = _profile(data, mask_impl)
    case = _draw(data, mask_impl, profile)
    plain = replace(case, tokens=PLAIN, others=PLAIN)
    _assert_same(_mask(mask_impl, case, profile, device), _mask(mask_impl, plain, profile, device), plain, profile)


@pytest.mark.requirement("MASK-MODALITY-1", "MASK-MODALITY-2", "MASK-BLOB-2", "MASK-BLOB-3")
@given(data=st.data())
def test_relabelling_changes_nothing(mask_impl: MaskImplementation, device: str, data: st.DataObject) -> None:
    """Image for video, audio for text, one item id for another: no rule tells them apart."""
    profile = _profile(data, mask_impl)
    case = _draw(data, mask_impl, profile)
    table = data.draw(st.sampled_from((_SWAP_VISION, _SWAP_CAUSAL)), label="swap")
    relabelled = replace(
        case, requests=tuple(Request(r.types.translate(table), r.items.swapcase(), r.cached) for r in case.requests)
    )
    got = _mask(mask_impl, relabelled, profile, device)
    _assert_same(got, _mask(mask_impl, case, profile, device), case, profile)


@pytest.mark.requirement("MASK-BASE-1", "MASK-MODALITY-1", "MASK-WINDOW-1", "MASK-WINDOW-2")
@given(data=st.data())
def test_text_and_audio_alone_are_causal(mask_impl: MaskImplementation, device: str, data: st.DataObject) -> None:
    """Row p sees the last ``min(p + 1, W)`` keys up to itself, and no other."""
    profile = _profile(data, mask_impl, _is_causal)
    case = _draw(data, mask_impl, profile)
    rule = rule_of(profile, case)
    to_text = str.maketrans("12", "03")
    texts = tuple(replace(r, types=r.types.translate(to_text)) for r in case.requests)
    mask = _mask(mask_impl, replace(case, requests=texts), profile, device)
    for r in texts:
        cells = r.queries * len(r.types)
        rows, mask = mask[:cells].view(r.queries, len(r.types)), mask[cells:]
        for row in range(r.queries):
            p = r.cached + row
            seen = p + 1 if rule.window is None else min(p + 1, rule.window)
            assert rows[row].nonzero().flatten().tolist() == list(range(p + 1 - seen, p + 1))


@pytest.mark.requirement("MASK-WINDOW-1", "MASK-BASE-1")
@given(data=st.data())
def test_every_query_sees_itself(mask_impl: MaskImplementation, device: str, data: st.DataObject) -> None:
    """No row is blind, whatever the rule: softmax over nothing is NaN."""
    profile = _profile(data, mask_impl)
    case = _draw(data, mask_impl, profile)
    mask = _mask(mask_impl, case, profile, device)
    for r in case.requests:
        cells = r.queries * len(r.types)
        rows, mask = mask[:cells].view(r.queries, len(r.types)), mask[cells:]
        assert rows.diagonal(r.cached).bool().all()


@pytest.mark.needs_claim("cached_prefix")
@pytest.mark.requirement("MASK-PREFIX-3", "MASK-CUT-2")
@given(data=st.data())
def test_a_prefix_of_text_only_shifts_the_mask(mask_impl: MaskImplementation, device: str, data: st.DataObject) -> None:
    """The last Q columns are the mask without the prefix."""
    profile = _profile(data, mask_impl)
    case, only = _draw_uncached(data, mask_impl, profile)
    tokens = len(only.types)
    alone = _single(mask_impl, replace(case, requests=(only,), prefix_known=False), profile, device)
    prefix = data.draw(st.integers(1, 40), label="P")
    shifted = Request("0" * prefix + only.types, "z" * prefix + only.items, prefix)
    known = mask_impl.claims.prefix_types and data.draw(st.booleans(), label="types of the prefix known")
    behind = _single(mask_impl, replace(case, requests=(shifted,), prefix_known=known), profile, device)
    assert behind.shape == (tokens, prefix + tokens)
    uncached = replace(case, requests=(only,), prefix_known=False)
    _assert_same(behind[:, prefix:].flatten(), alone.flatten(), uncached, profile)


@pytest.mark.needs_claim("cached_prefix", "prefix_types")
@pytest.mark.requirement("MASK-CUT-1", "MASK-PREFIX-1")
@given(data=st.data())
def test_a_later_chunk_is_the_tail_of_the_one_shot_mask(
    mask_impl: MaskImplementation, device: str, data: st.DataObject
) -> None:
    """Wherever the prompt is cut, as long as the types of the prefix are known."""
    profile = _profile(data, mask_impl, _has_windowed_prefix)
    case, whole = _draw_uncached(data, mask_impl, profile)
    cut = data.draw(st.integers(0, len(whole.types)), label="cut")
    one_shot = _single(mask_impl, replace(case, requests=(whole,), prefix_known=False), profile, device)
    later = replace(case, requests=(replace(whole, cached=cut),), prefix_known=True)
    _assert_same(_single(mask_impl, later, profile, device).flatten(), one_shot[cut:].flatten(), later, profile)


@pytest.mark.needs_claim("cached_prefix")
@pytest.mark.requirement("MASK-CUT-3")
@given(data=st.data())
def test_chunks_cut_outside_blobs_stack_to_the_one_shot_mask(
    mask_impl: MaskImplementation, device: str, data: st.DataObject
) -> None:
    """Even where the types of the prefix are unknown."""
    profile = _profile(data, mask_impl, _is_causal)
    case, whole = _draw_uncached(data, mask_impl, profile)
    rule = rule_of(profile, case)
    legal = [i for i in range(1, len(whole.types)) if _is_boundary(whole, i, rule.segmentation)]
    cuts = sorted(data.draw(st.sets(st.sampled_from(legal), max_size=4) if legal else st.just(set()), label="cuts"))
    edges = [0, *cuts, len(whole.types)]
    one_shot = _single(mask_impl, replace(case, requests=(whole,), prefix_known=False), profile, device)
    for start, end in pairwise(edges):
        part = Request(whole.types[:end], whole.items[:end], start)
        later = replace(case, requests=(part,), prefix_known=False)
        chunk = _single(mask_impl, later, profile, device)
        _assert_same(chunk.flatten(), one_shot[start:end, :end].flatten(), later, profile)
        assert not one_shot[start:end, end:].any()


def _is_boundary(r: Request, index: int, segmentation: Segmentation) -> bool:
    before, here = r.types[index - 1], r.types[index]
    if before not in "12" or here not in "12":
        return True
    if segmentation is Segmentation.TYPE:
        return before != here
    return segmentation is Segmentation.ITEM and r.items[index - 1] != r.items[index]


@pytest.mark.requirement("MASK-ORDER-1", "MASK-ORDER-2", "MASK-ORDER-3")
@given(data=st.data())
def test_the_orders_differ_only_for_a_blob_longer_than_the_window(
    mask_impl: MaskImplementation, device: str, data: st.DataObject
) -> None:
    """Two claimed profiles that differ in their order alone agree on blobs of up to W tokens."""

    def unordered(name: str) -> MaskRule:
        return replace(PROFILES[name].unbound, order=Order.WINDOW_LAST)

    sliding = [n for n in mask_impl.claims.profile_names if PROFILES[n].window and not PROFILES[n].unbound.bound_future]
    orders = {name: PROFILES[name].unbound.order for name in sliding}
    pairs = [(a, b) for a in sliding for b in sliding if orders[a] is not orders[b] and unordered(a) == unordered(b)]
    if not pairs:
        not_claimed("two profiles that differ in their order alone")
    profile, other = data.draw(st.sampled_from(pairs), label="profiles")
    case = _draw(data, mask_impl, profile)
    longest = max((len(run) for r in case.requests for run in re.findall("[12]+", r.types)), default=0)
    case = replace(case, window=max(longest, case.window or 1))
    got = _mask(mask_impl, case, other, device)
    _assert_same(got, _mask(mask_impl, case, profile, device), case, profile)
