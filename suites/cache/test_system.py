"""An encoder cache against its model: histories of batches of one kind, and of all."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from harness.statuses import not_claimed
from reference.cache_contracts import CacheImplementation
from suites.cache.encoder import ROW_BYTES
from suites.cache.judge import Judge
from suites.strategies.caches import (
    BUDGETS,
    COLLIDING,
    CacheRequest,
    Item,
    batches,
    few_layouts,
    mixed_batches,
    served_layouts,
    uncut_layouts,
)

PLENTY = 1000 * ROW_BYTES


@pytest.mark.requirement("CACHE-KEY-1")
def test_one_hash_in_two_modalities_is_two_items(cache_impl: CacheImplementation) -> None:
    for layouts in permutations(served_layouts(cache_impl.claims), 2):
        judge = Judge(cache_impl, PLENTY)
        for layout in layouts:
            judge.embed([CacheRequest(layout, (Item(1, length=2),))])


@pytest.mark.requirement("CACHE-KEY-1")
@given(words=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=8, max_size=8), bit=st.integers(0, 255))
def test_items_whose_hashes_differ_in_one_bit_are_two(cache_impl: CacheImplementation, words: list[int], bit: int) -> None:
    """Whatever the user calls them."""
    others = [*words]
    others[bit // 32] ^= -(2**31) if bit % 32 == 31 else 1 << bit % 32
    one, other = Item(0, hashed=tuple(words)), Item(3, hashed=tuple(others))
    layout = served_layouts(cache_impl.claims)[0]
    judge = Judge(cache_impl, PLENTY)
    judge.embed([CacheRequest(layout, (one,), named=True)])
    judge.embed([CacheRequest(layout, (other, one), named=True)])


@pytest.mark.needs_claim("collisions")
@pytest.mark.requirement("CACHE-KEY-5")
@given(history=st.lists(st.lists(st.sampled_from((*COLLIDING, Item(3))), min_size=1, max_size=3), min_size=2, max_size=4))
def test_items_that_collide_are_told_apart_by_their_lengths(
    cache_impl: CacheImplementation, history: list[list[Item]]
) -> None:
    judge = Judge(cache_impl, PLENTY)
    for items in history:
        judge.embed([CacheRequest(served_layouts(cache_impl.claims)[0], tuple(items))])


@pytest.mark.requirement("CACHE-ENCODE-3", "CACHE-ORDER-2")
@given(data=st.data())
def test_a_batch_of_every_modality_costs_two_calls(cache_impl: CacheImplementation, data: st.DataObject) -> None:
    judge = Judge(cache_impl, PLENTY)
    for batch in data.draw(st.lists(mixed_batches(cache_impl.claims), min_size=1, max_size=3), label="history"):
        judge.embed(batch)


@pytest.mark.requirement("CACHE-FALLBACK-1", "CACHE-VIDEO-1")
@given(data=st.data())
def test_each_modality_that_is_encoded_whole_warns_once(cache_impl: CacheImplementation, data: st.DataObject) -> None:
    """New items, some of them twice, behind one that is known, or not; nothing that happens between makes it news again."""
    layouts = uncut_layouts(cache_impl.claims)
    if not layouts:
        not_claimed("a layout that is not cut")
    judge = Judge(cache_impl, PLENTY)
    between = {"clear": judge.clear, "weights": judge.update_weights}
    events = [name for name in between if getattr(cache_impl.claims, name)]
    step = st.tuples(
        st.sampled_from(layouts),
        st.sampled_from((True, True, False)),
        st.lists(st.integers(1, 3), min_size=1, max_size=3),
        st.sampled_from((*events, "nothing")),
    )
    for number, (layout, known, new, event) in enumerate(data.draw(st.lists(step, min_size=4, max_size=8), label="steps")):
        items = tuple(Item(4 * number + place, length=1 + place, size=1 + place) for place in (0, *new))
        if known:
            judge.embed([CacheRequest(layout, items[:1])])
        judge.embed([CacheRequest(layout, items)])
        between.get(event, lambda: None)()


class SystemMachine(RuleBasedStateMachine):
    """Batches, weight updates and clears, in any order."""

    implementation: CacheImplementation

    @initialize(budget=BUDGETS, data=st.data())
    def start(self, budget: tuple[int, int], data: st.DataObject) -> None:
        rows, odd = budget
        self.judge = Judge(self.implementation, rows * ROW_BYTES + odd)
        self.layouts = data.draw(few_layouts(self.implementation.claims), label="layouts")

    @rule(data=st.data())
    def embed(self, data: st.DataObject) -> None:
        self.judge.embed(data.draw(batches(self.layouts, collisions=self.implementation.claims.collisions), label="batch"))

    @precondition(lambda self: self.implementation.claims.weights)
    @rule()
    def update_weights(self) -> None:
        self.judge.update_weights()

    @precondition(lambda self: self.implementation.claims.clear)
    @rule()
    def clear(self) -> None:
        self.judge.clear()


@pytest.mark.stateful
@pytest.mark.requirement(
    "CACHE-KEY-1",
    "CACHE-KEY-3",
    "CACHE-KEY-4",
    "CACHE-KEY-5",
    "CACHE-PARTITION-1",
    "CACHE-RESIDUAL-1",
    "CACHE-RESIDUAL-2",
    "CACHE-RESIDUAL-3",
    "CACHE-ORDER-1",
    "CACHE-ORDER-2",
    "CACHE-ENCODE-1",
    "CACHE-ENCODE-2",
    "CACHE-ENCODE-3",
    "CACHE-VIDEO-1",
    "CACHE-VIDEO-2",
    "CACHE-VIDEO-3",
    "CACHE-FALLBACK-1",
    "CACHE-PROGRESS-1",
    "CACHE-MATES-1",
    "CACHE-ALIAS-1",
    "CACHE-ACCOUNT-2",
)
def test_every_history_is_served_as_the_model_owes(cache_impl: CacheImplementation) -> None:
    run_state_machine_as_test(type("SystemMachine", (SystemMachine,), {"implementation": cache_impl}))
