"""What a builder owes its caller beside the right cells."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.statuses import not_claimed
from reference.contracts import MaskImplementation
from reference.dense import packed_mask, request_mask
from reference.profiles import PROFILES
from reference.tokens import MaskBatch
from suites.mask.checks import build, check_dense, rule_of
from suites.mask.memory import peak_beside_output
from suites.mask.poison import PATTERNS
from suites.mask.report import assert_same
from suites.strategies.masks import MaskCase, mask_cases, request


@pytest.mark.requirement("MASK-OUTPUT-1", "MASK-OUTPUT-3")
@given(data=st.data())
def test_what_the_memory_held_before_does_not_show(mask_impl: MaskImplementation, device: str, data: st.DataObject) -> None:
    profile = data.draw(st.sampled_from(mask_impl.claims.profile_names), label="profile")
    case = data.draw(mask_cases(PROFILES[profile]), label="case").within(mask_impl.claims)
    first, second = (check_dense(mask_impl, case, profile, device, pattern) for pattern in PATTERNS)
    assert torch.equal(first, second)


@pytest.mark.requirement("MASK-DETERMINISM-1")
@given(data=st.data())
def test_the_same_call_gives_the_same_bytes_whatever_came_between(
    mask_impl: MaskImplementation, device: str, data: st.DataObject
) -> None:
    profiles = st.sampled_from(mask_impl.claims.profile_names)
    profile, other = data.draw(profiles, label="profile"), data.draw(profiles, label="profile between")
    case = data.draw(mask_cases(PROFILES[profile]), label="case").within(mask_impl.claims)
    between = data.draw(mask_cases(PROFILES[other]), label="case between").within(mask_impl.claims)
    batch, rule = case.batch(device), rule_of(profile, case)
    first = build(mask_impl, batch, rule)
    build(mask_impl, between.batch(device), rule_of(other, between))
    assert torch.equal(first, build(mask_impl, batch, rule))


@pytest.mark.requirement("MASK-OUTPUT-4")
@given(data=st.data())
def test_a_mask_stays_what_it_is_when_the_next_is_built(
    mask_impl: MaskImplementation, device: str, data: st.DataObject
) -> None:
    """A builder that reuses its buffer changes the mask of a layer that has not run yet, of this batch or another."""
    profiles = st.sampled_from(mask_impl.claims.profile_names)
    profile, other = data.draw(profiles, label="profile"), data.draw(profiles, label="next profile")
    case = data.draw(mask_cases(PROFILES[profile]), label="case").within(mask_impl.claims)
    batch = case.batch(device)
    held = mask_impl.build(batch, rule_of(profile, case), layout="dense")
    before = held.clone()
    mask_impl.build(batch, PROFILES[other].rule(1 + (case.window or 0)), layout="dense")
    text = replace(case, requests=tuple(replace(r, types="3" * len(r.types)) for r in case.requests))
    mask_impl.build(text.batch(device), rule_of(profile, text), layout="dense")
    assert torch.equal(held, before)


@pytest.mark.requirement("MASK-DETERMINISM-2")
@given(data=st.data())
def test_types_that_change_in_place_change_the_mask(mask_impl: MaskImplementation, device: str, data: st.DataObject) -> None:
    """Engines refill one buffer step by step; a builder must not remember the batch object or its address."""
    profile = data.draw(st.sampled_from(mask_impl.claims.profile_names), label="profile")
    case = data.draw(mask_cases(PROFILES[profile]), label="case").within(mask_impl.claims)
    case = replace(case, tokens=replace(case.tokens, stride=max(1, case.tokens.stride)))
    batch, rule = case.batch(device), rule_of(profile, case)
    build(mask_impl, batch, rule)
    table = data.draw(st.sampled_from(("3201", "1111", "0000", "2130")), label="new types")
    new = torch.tensor([int(table[t]) for t in batch.token_types.tolist()], dtype=torch.int64)
    batch.token_types.copy_(new.to(batch.token_types))
    got, want = build(mask_impl, batch, rule), packed_mask(batch, rule).view(torch.uint8)
    assert_same(batch, rule, profile, got, want)


@pytest.mark.requirement("MASK-PACK-2")
@pytest.mark.parametrize("requests", [(), ("",), ("01|",), ("", "01|")], ids=["none", "empty", "prefix", "both"])
def test_a_batch_without_queries_has_an_empty_mask(
    mask_impl: MaskImplementation, device: str, requests: tuple[str, ...]
) -> None:
    case = MaskCase(tuple(request(r) for r in requests), 4)
    if case.within(mask_impl.claims) != case:
        not_claimed("this batch: it has a cached prefix or several requests")
    for profile in mask_impl.claims.profile_names:
        check_dense(mask_impl, case, profile, device)


@pytest.mark.requirement("MASK-INPUT-1", "MASK-OFFSET-1")
def test_token_types_gigabytes_apart_are_found(mask_impl: MaskImplementation, device: str) -> None:
    """An index times a stride passes 2**31 although the tensor has five elements (report M46)."""
    stride = 2**30 + 5
    memory = torch.empty(4 * stride + 1, dtype=torch.int8, device=device)
    types = memory.as_strided((5,), (stride,))
    memory[:64] = 0  # text, where an index that has wrapped at 2**31 or 2**32 lands
    types.copy_(torch.tensor([0, 1, 1, 2, 1]))
    batch = MaskBatch(types, [5], item_ids=torch.tensor([0, 1, 1, 1, 1], device=device))
    for profile in mask_impl.claims.profile_names:
        rule = PROFILES[profile].rule(2)
        got, want = build(mask_impl, batch, rule), packed_mask(batch, rule).view(torch.uint8)
        assert_same(batch, rule, profile, got, want)


@pytest.mark.requirement("MASK-REFUSE-2")
@pytest.mark.parametrize("missing", ["item_ids", "prefix_item_ids"])
def test_missing_item_ids_are_refused_by_name(mask_impl: MaskImplementation, device: str, missing: str) -> None:
    by_item = [name for name in mask_impl.claims.profile_names if PROFILES[name].unbound.segments_by_item]
    if not by_item:
        not_claimed("a profile that segments by item")
    if missing == "prefix_item_ids" and not (mask_impl.claims.prefix_types and mask_impl.claims.cached_prefix):
        not_claimed("prefix_types")
    case = MaskCase((request("01|10"),), 4, prefix_known=missing == "prefix_item_ids")
    batch = replace(case.batch(device), **{missing: None})
    with pytest.raises((ValueError, TypeError), match=missing):
        mask_impl.build(batch, rule_of(by_item[0], case), layout="dense")


@pytest.mark.needs_claim("linear_memory")
@pytest.mark.requirement("MASK-MEMORY-1")
@pytest.mark.parametrize("profile", ["gemma3-full", "gemma3-sliding", "trtllm-gemma4-sliding-open-prefix"])
@pytest.mark.parametrize("requests", [("0" * 200 + "1" * 300 + "0" * 524,), ("1",) * 2049], ids=["long", "many"])
def test_memory_beside_the_output_is_linear(
    mask_impl: MaskImplementation, device: str, profile: str, requests: tuple[str, ...]
) -> None:
    """At most 64 bytes a token and 64 KiB: a grid of indices over 1,024 queries would be megabytes."""
    case = MaskCase(tuple(request(r) for r in requests), 128)
    if case.within(mask_impl.claims) != case:
        not_claimed("multi_request")
    batch, rule = case.batch(device), rule_of(profile, case)
    beside = peak_beside_output(lambda: mask_impl.build(batch, rule, layout="dense"), batch)
    assert beside <= 64 * batch.query_total + 64 * 1024, (
        f"{beside} bytes beside an output of {batch.cells}, expected at most 64 a token and 64 KiB"
    )


@pytest.mark.needs_claim("graph_capture")
@pytest.mark.cuda("graphs are captured there")
@pytest.mark.requirement("MASK-GRAPH-1")
@pytest.mark.parametrize("profile", ["gemma3-sliding", "gemma4-full", "trtllm-gemma4-sliding-open-prefix"])
def test_a_captured_graph_follows_the_token_types(mask_impl: MaskImplementation, device: str, profile: str) -> None:
    first = MaskCase((request("0110|1100"), request("011"), request("|", ""), request("0" * 900 + "|" + "12" * 40)), 3)
    first = first.within(mask_impl.claims)
    batch, rule = first.batch(device), rule_of(profile, first)
    mask_impl.build(batch, rule, layout="dense")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mask = mask_impl.build(batch, rule, layout="dense")
    generator = torch.Generator().manual_seed(7)
    for _ in range(5):
        drawn = torch.randint(0, 4, (batch.token_types.numel(),), generator=generator)
        batch.token_types.copy_(drawn.to(batch.token_types))
        noise = [torch.full((4096,), 0xA5, dtype=torch.uint8, device=device) for _ in range(16)]
        graph.replay()
        assert torch.equal(mask.cpu(), packed_mask(batch, rule))
        del noise


@pytest.mark.needs_claim("graph_capture")
@pytest.mark.cuda("elsewhere there is nothing to wait for")
@pytest.mark.requirement("MASK-GRAPH-2")
def test_a_call_does_not_wait_for_the_device(mask_impl: MaskImplementation, device: str) -> None:
    profile = mask_impl.claims.profile_names[0]
    case = MaskCase((request("0110|1100"), request("011")), 3).within(mask_impl.claims)
    batch, rule = case.batch(device), rule_of(profile, case)
    mask_impl.build(batch, rule, layout="dense")
    torch.cuda.synchronize()
    torch.cuda._sleep(4_000_000_000)  # about two seconds of device time
    asleep = torch.cuda.Event()
    asleep.record()
    mask = mask_impl.build(batch, rule, layout="dense")
    assert not asleep.query(), "the call returned only after the work that was queued before it"
    assert torch.equal(mask.cpu(), packed_mask(batch, rule))


@pytest.mark.cuda("over 2 GiB of mask is too slow elsewhere")
@pytest.mark.requirement("MASK-OFFSET-1")
@pytest.mark.parametrize("queries", [(46_341,), (32_768, 32_768, 1_000)], ids=["one-request", "request-base"])
def test_offsets_beyond_32_bits(mask_impl: MaskImplementation, device: str, queries: tuple[int, ...]) -> None:
    """The last rows of a mask of more than 2**31 cells."""
    if len(queries) > 1 and not mask_impl.claims.multi_request:
        not_claimed("multi_request")
    profile = next((name for name in ("gemma3-sliding", "gemma4-full") if name in mask_impl.claims.profile_names), None)
    if profile is None:
        not_claimed("profile gemma3-sliding or gemma4-full")
    types = torch.zeros(sum(queries), dtype=torch.int32, device=device)
    types[-500:-100] = 1
    batch = MaskBatch(types, queries)
    rule = PROFILES[profile].rule(1024)
    mask = mask_impl.build(batch, rule, layout="dense")
    assert mask.numel() == batch.cells
    for index, segment in enumerate(batch.segments()):
        rows = range(max(0, segment.queries - 600), segment.queries)
        first = segment.first_cell + rows.start * segment.keys
        got = mask[first : first + len(rows) * segment.keys].view(len(rows), segment.keys)
        assert torch.equal(got.cpu(), request_mask(batch, rule, index, rows)), f"request {index}, rows {rows}"
