"""A store against its model: histories of puts, gets and pops, and what a history cannot show."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from torch import Tensor

from reference.cache_contracts import StoreClaims, StoreImplementation
from reference.cache_model import StoreModel

KEYS = st.sampled_from("abcde")
SIZES = st.sampled_from((0, 1, 2, 3, 4, 5, 7, 8, 9, 12))
DTYPES = st.sampled_from((torch.uint8, torch.float16, torch.float32, torch.float64))

BUDGETS = st.sampled_from((1, 4, 8, 9, 16, 100))


def tensor_of(version: int, size: int, dtype: torch.dtype) -> Tensor:
    """A tensor of at most ``size`` bytes that names its version."""
    return torch.full((size // dtype.itemsize,), version % 251, dtype=dtype)


def assert_same(value: Tensor | None, version: int | None, values: Mapping[int, Tensor] | Sequence[Tensor]) -> None:
    """Whether a store and its model returned the same: the tensor of a version, or nothing."""
    assert (value is None) == (version is None), f"got {value}, the model holds version {version}"
    if value is not None and version is not None:
        assert value.dtype == values[version].dtype
        assert torch.equal(value, values[version])


@st.composite
def uses(draw: st.DrawFn, claims: StoreClaims) -> tuple[int, list[tuple[str, str]]]:
    """How many entries fit, and what is done to a full store: uses of its keys, then newcomers that leave some of them."""
    entries = draw(st.integers(2, 4))
    action = st.sampled_from(("get", "put", "refused put", *(["pop"] if claims.removes else [])))
    done = draw(st.lists(st.tuples(action, st.sampled_from("abcd"[:entries])), min_size=1, max_size=8))
    newcomers = "xyz"[: draw(st.integers(1, entries - 1))]
    return entries, [*(("put", key) for key in "abcd"[:entries]), *done, *(("put", key) for key in newcomers)]


@pytest.mark.requirement("CACHE-STORE-3", "CACHE-STORE-5")
@given(data=st.data())
def test_what_was_used_longest_ago_leaves_first(store_impl: StoreImplementation, device: str, data: st.DataObject) -> None:
    """A refused put is no use. Entries of one byte, so that every newcomer drives out one."""
    entries, history = data.draw(uses(store_impl.claims), label="entries that fit, history")
    store, model = store_impl.make(entries), StoreModel(entries)
    for action, key in history:
        if action == "get":
            store.get(key)
            model.get(key)
        elif action == "pop":
            store.pop(key)
            model.pop(key)
        else:
            size = 1 if action == "put" else entries + 1
            if size > entries and not store_impl.claims.replaces:
                key = f"not {key}"  # a known key comes with the value that it had
            taken = store.put(key, torch.zeros(size, dtype=torch.uint8, device=device))
            assert taken == model.put(key, 0, size)
    assert [key for key in "abcdxyz" if store.get(key) is not None] == sorted(model.entries)


@pytest.mark.needs_claim("replaces")
@pytest.mark.requirement("CACHE-STORE-4")
@given(max_bytes=BUDGETS, puts=st.lists(st.tuples(st.sampled_from("ab"), SIZES, DTYPES), min_size=2, max_size=8))
def test_a_put_under_a_known_key_replaces_the_value_and_its_bytes(
    store_impl: StoreImplementation, device: str, max_bytes: int, puts: list[tuple[str, int, torch.dtype]]
) -> None:
    store, model = store_impl.make(max_bytes), StoreModel(max_bytes)
    values = [tensor_of(version, size, dtype).to(device) for version, (_, size, dtype) in enumerate(puts)]
    for version, (key, _, _) in enumerate(puts):
        assert store.put(key, values[version]) == model.put(key, version, values[version].nbytes)
        assert store.current_bytes == model.current_bytes
    for key in "ab":
        assert_same(store.get(key), model.get(key), values)


@pytest.mark.needs_claim("removes")
@pytest.mark.requirement("CACHE-STORE-11")
@given(sizes=st.dictionaries(KEYS, SIZES, min_size=1), pops=st.lists(KEYS, min_size=1, max_size=4))
def test_pop_removes_one_entry_and_returns_its_value(
    store_impl: StoreImplementation, device: str, sizes: dict[str, int], pops: list[str]
) -> None:
    store, model = store_impl.make(1000), StoreModel(1000)
    values = [tensor_of(version, size, torch.uint8).to(device) for version, size in enumerate(sizes.values())]
    for version, (key, size) in enumerate(sizes.items()):
        store.put(key, values[version])
        model.put(key, version, size)
    for key in pops:
        assert_same(store.pop(key), model.pop(key), values)
        assert (len(store), store.current_bytes) == (len(model.entries), model.current_bytes)
    for key in sizes:
        assert_same(store.get(key), model.get(key), values)


@dataclass(frozen=True)
class Cut:
    """A value as it lies in a batch of ``[8 * rows, 4]``.

    Attributes:
        dtype: Of both.
        rows: An eighth of those of the batch.
        taken: The first row of the value, how many behind it at most, and the step; None for the whole batch.
        transposed: Whether the value is the transpose of these rows.
    """

    dtype: torch.dtype
    rows: int
    taken: tuple[int, int, int] | None
    transposed: bool

    def on(self, device: str) -> tuple[Tensor, Tensor]:
        """The batch, and the value, which is a view of it."""
        batch = torch.arange(1, self.rows * 8 * 4 + 1, device=device).to(self.dtype).reshape(self.rows * 8, 4)
        first, length, step = self.taken or (0, len(batch), 1)
        value = batch[first : first + length : step]
        return batch, value.t() if self.transposed else value


CUTS = st.builds(
    Cut,
    DTYPES,
    st.integers(1, 6),
    st.none() | st.tuples(st.integers(0, 5), st.integers(0, 18), st.integers(1, 3)),
    st.booleans(),
)


@pytest.mark.needs_claim("copies")
@pytest.mark.requirement("CACHE-STORE-6")
@given(cut=CUTS)
def test_what_is_done_to_the_source_of_an_entry_does_not_show(
    store_impl: StoreImplementation, device: str, cut: Cut
) -> None:
    """Be it a slice of a batch or all of it."""
    batch, value = cut.on(device)
    before = value.clone()
    store = store_impl.make(10_000)
    assert store.put("key", value)
    batch.zero_()
    assert_same(store.get("key"), 0, [before])


@pytest.mark.needs_claim("compacts")
@pytest.mark.requirement("CACHE-STORE-12", "CACHE-ACCOUNT-1")
@given(cut=CUTS)
def test_an_entry_keeps_no_more_alive_than_its_value(store_impl: StoreImplementation, device: str, cut: Cut) -> None:
    """A slice keeps no batch alive, and is not charged for one (report C05)."""
    _, value = cut.on(device)
    store = store_impl.make(10_000)
    assert store.put("key", value)
    kept = store.get("key")
    assert_same(kept, 0, [value])
    size = kept.numel() * kept.element_size()
    assert kept.untyped_storage().nbytes() == size, "an entry keeps more than its value alive"
    assert store.current_bytes == size, "an entry is charged for more than its value"


@pytest.mark.needs_claim("copies")
@pytest.mark.requirement("CACHE-STORE-6")
def test_an_entry_holds_no_graph(store_impl: StoreImplementation, device: str) -> None:
    store = store_impl.make(1000)
    value = torch.ones(4, device=device, requires_grad=True) * 2
    store.put("key", value)
    assert not store.get("key").requires_grad


@pytest.mark.requirement("CACHE-STORE-3")
def test_an_oversize_value_changes_nothing(store_impl: StoreImplementation, device: str) -> None:
    """Nothing is evicted for what cannot be kept, and an older value of the key stays (report C28).

    Where replacing is not claimed, nothing but that value is put under its key.
    """
    store = store_impl.make(8)
    for key in "ab":
        assert store.put(key, torch.full((4,), ord(key), dtype=torch.uint8, device=device))
    for key in "ac" if store_impl.claims.replaces else "c":
        assert not store.put(key, torch.zeros(9, dtype=torch.uint8, device=device))
    assert len(store) == 2
    assert store.current_bytes == 8
    assert store.get("a").tolist() == [ord("a")] * 4
    assert store.get("b").tolist() == [ord("b")] * 4
    assert store.put("d", torch.zeros(8, dtype=torch.uint8, device=device)), "a value of exactly the budget fits"


@pytest.mark.needs_claim("checks_values")
@pytest.mark.requirement("CACHE-STORE-10")
@pytest.mark.parametrize("value", [None, [1.0], 3, "tensor"])
def test_what_is_no_tensor_is_refused_and_nothing_is_lost(store_impl: StoreImplementation, value: object) -> None:
    store = store_impl.make(8)
    store.put("a", torch.zeros(4, dtype=torch.uint8))
    before = store.stats() if store_impl.claims.statistics else None
    with pytest.raises(TypeError, match="value"):
        store.put("a", value)
    assert len(store) == 1
    assert store.current_bytes == 4
    assert store_impl.claims.statistics is False or store.stats() == before


@pytest.mark.needs_claim("checks_values")
@pytest.mark.requirement("CACHE-STORE-10")
@pytest.mark.parametrize(("budget", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_a_budget_that_is_no_positive_int_is_refused(store_impl: StoreImplementation, budget: Any, error: type) -> None:
    with pytest.raises(error, match="max_bytes"):
        store_impl.make(budget)


@pytest.mark.needs_claim("threads")
@pytest.mark.requirement("CACHE-STORE-8")
@given(seed=st.integers(0, 2**32 - 1))
def test_four_threads_lose_nothing(store_impl: StoreImplementation, seed: int) -> None:
    """Every value read is one that was put under its key, and the accounts hold at the end."""
    store, claims = store_impl.make(64), store_impl.claims
    wrong: list[str] = []
    ready = threading.Barrier(4)

    def work(worker: int) -> None:
        generator = torch.Generator().manual_seed((seed + worker) % 2**32)
        ready.wait()
        for step in torch.randint(0, 300, (60,), generator=generator).tolist():
            key, action = step % 7, step % 10
            if action < 5:
                size = 8 * (1 + (step if claims.replaces else key) % 3)
                store.put(key, torch.full((size,), key, dtype=torch.uint8))
            elif action < 9 or not claims.removes:
                value = store.get(key)
                if value is not None and not bool((value == key).all()):
                    wrong.append(f"key {key} holds {value.tolist()}")
            else:
                store.pop(key)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    held = {key: store.get(key) for key in range(7)}
    sizes = [value.numel() for value in held.values() if value is not None]
    assert store.current_bytes == sum(sizes) <= 64
    assert len(store) == len(sizes)
    for key in range(7) if claims.removes else ():
        store.pop(key)
    store.clear()
    assert (store.current_bytes, len(store)) == (0, 0)


class StoreMachine(RuleBasedStateMachine):
    """Every rule does the same to a store and to its model, and compares. What is not claimed is not done."""

    implementation: StoreImplementation
    device: str

    @initialize(max_bytes=BUDGETS)
    def start(self, max_bytes: int) -> None:
        self.store: Any = self.implementation.make(max_bytes)
        self.model = StoreModel(max_bytes)
        self.values: dict[int, Tensor] = {}

    @rule(key=KEYS, size=SIZES, dtype=DTYPES)
    def put(self, key: str, size: int, dtype: torch.dtype) -> None:
        if key in self.model.entries and not self.implementation.claims.replaces:
            version, _ = self.model.entries[key]
        else:
            version = len(self.values) + 1
            self.values[version] = tensor_of(version, size, dtype).to(self.device)
        taken = self.store.put(key, self.values[version])
        stored = self.values[version].nbytes
        assert taken == self.model.put(key, version, stored), f"put of {stored} bytes into {self.store.max_bytes}"

    @rule(key=KEYS)
    def get(self, key: str) -> None:
        assert_same(self.store.get(key), self.model.get(key), self.values)

    @precondition(lambda self: self.implementation.claims.removes)
    @rule(key=KEYS)
    def pop(self, key: str) -> None:
        assert_same(self.store.pop(key), self.model.pop(key), self.values)

    @rule(keys=st.lists(KEYS, min_size=2, max_size=6), size=st.sampled_from((1, 2, 3)))
    def fill(self, keys: list[str], size: int) -> None:
        for key in keys:
            self.put(key, size, torch.uint8)

    @rule(keys=st.lists(KEYS, min_size=1, max_size=3))
    def touch(self, keys: list[str]) -> None:
        for key in keys:
            self.get(key)

    @rule(rarely=st.integers(0, 3))
    def clear(self, rarely: int) -> None:
        if rarely == 0:
            self.store.clear()
            self.model.entries.clear()

    @invariant()
    def accounts_are_true(self) -> None:
        if hasattr(self, "store"):
            assert self.store.max_bytes == self.model.max_bytes
            assert len(self.store) == len(self.model.entries)
            assert self.store.current_bytes == self.model.current_bytes <= self.store.max_bytes


class CountingStoreMachine(StoreMachine):
    """The same, with the counters."""

    @invariant()
    def counters_are_true(self) -> None:
        if hasattr(self, "store"):
            stats = self.store.stats()
            want = {
                "max_bytes": self.model.max_bytes,
                "current_bytes": self.model.current_bytes,
                "item_count": len(self.model.entries),
                **self.model.counts,
            }
            assert {name: getattr(stats, name) for name in want} == want
            looked_up = want["hits"] + want["misses"]
            assert stats.hit_rate == (want["hits"] / looked_up if looked_up else 0)


def _run(machine: type[StoreMachine], implementation: StoreImplementation, device: str) -> None:
    bound = {"implementation": implementation, "device": device}
    run_state_machine_as_test(type(machine.__name__, (machine,), bound))


@pytest.mark.stateful
@pytest.mark.requirement("CACHE-STORE-1", "CACHE-STORE-2", "CACHE-STORE-3", "CACHE-STORE-5", "CACHE-ACCOUNT-1")
def test_every_history_is_the_models(store_impl: StoreImplementation, device: str) -> None:
    _run(StoreMachine, store_impl, device)


@pytest.mark.stateful
@pytest.mark.needs_claim("statistics")
@pytest.mark.requirement("CACHE-STORE-7")
def test_every_counter_is_the_models(store_impl: StoreImplementation, device: str) -> None:
    _run(CountingStoreMachine, store_impl, device)


@pytest.mark.needs_claim("streams")
@pytest.mark.cuda("there are no streams elsewhere")
@pytest.mark.requirement("CACHE-STORE-9")
@pytest.mark.parametrize("read", ["get", pytest.param("pop", marks=pytest.mark.needs_claim("removes"))])
def test_a_value_is_read_after_the_work_that_made_it(store_impl: StoreImplementation, device: str, read: str) -> None:
    store = store_impl.make(2**30, cuda_stream_aware=True)
    producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
    for turn in range(5):
        with torch.cuda.stream(producer):
            value = torch.zeros(2**22, device="cuda")
            torch.cuda._sleep(50_000_000)
            value += turn + 1
            key = "key" if store_impl.claims.replaces else turn
            store.put(key, value)
        with torch.cuda.stream(consumer):
            total = getattr(store, read)(key).sum()
        consumer.synchronize()
        assert total.item() == (turn + 1) * 2**22
