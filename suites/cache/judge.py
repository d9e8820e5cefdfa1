"""Runs one encoder cache beside the model, batch by batch, and judges what came of each."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import is_dataclass
from typing import Any

import torch
from torch import Tensor

from reference.cache_contracts import CacheImplementation
from reference.cache_model import ModelItem, ModelRequest, Obligation, SystemModel
from suites.cache.encoder import ROW_BYTES, RecordingEncoder, item_checksums, rows_of
from suites.strategies.caches import CacheRequest

MOST_CALLS = 2
"""Encoder calls a batch: one for what is missing of partial hits, one for full misses; one for both is better."""


class Judge:
    """One system, its encoder, and the model of what it owes.

    Args:
        implementation: The encoder cache.
        max_bytes: Its budget.
    """

    def __init__(self, implementation: CacheImplementation, max_bytes: int) -> None:
        self.claims = implementation.claims
        self.encoder = RecordingEncoder()
        self.warnings: list[str] = []
        self.system: Any = implementation.make(self.encoder, max_bytes, self.warnings.append)
        self.model = SystemModel(max_bytes)
        self._max_bytes = max_bytes
        self._weights = 0
        self._warned: set[str] = set()
        self._may_warn: set[str] = set()

    def embed(self, batch: Sequence[CacheRequest]) -> list[Counter[int]]:
        """Hands a batch to the system and judges the results, the encodes, the warnings and the budget.

        Returns:
            What the encoder was asked for in each call, by checksum.

        Raises:
            AssertionError: The batch was not served as it must be.
        """
        params = [request.params() for request in batch]
        kept = copy.deepcopy(params)
        items = [item_checksums(param, self._weights) for param in params]
        owed = self.model.embed([self._as_model(r) for r in batch], batch_duplicates=self.claims.batch_duplicates)
        calls_before, held = len(self.encoder.calls), self._held()

        results = self.system.embed(params)

        assert len(results) == len(batch), f"{len(results)} results, expected {len(batch)}, one a request"
        for index, (request, result) in enumerate(zip(items, results, strict=True)):
            self._check_result(index, request, result)
            result.fill_(-7)  # ruins whatever shares memory with it: a later result now, an entry in the next batch
        assert same(params, kept), "the requests were written to"
        calls = [Counter(call) for call in self.encoder.calls[calls_before:]]
        assert len(calls) <= MOST_CALLS, f"{len(calls)} encoder calls, expected at most {MOST_CALLS}"
        encoded: Counter[int] = sum(calls, Counter())
        keys = [[request.key(item, self._weights) for item in request.items] for request in batch]
        self._check_encodes(items, keys, owed, encoded)
        self._check_hits(items, keys, encoded, held)
        self._check_warnings(batch, owed.partial, owed.possibly_partial)
        self._check_store()
        return calls

    def update_weights(self) -> None:
        """The encoder changes: nothing that it made before may be served."""
        self._weights += 1
        self.encoder.weights = self._weights
        self.system.update_weights(self._weights)

    def clear(self) -> None:
        """The cache forgets."""
        self.system.clear()
        self.model.clear()
        if self.claims.store:
            assert (len(self.system.store), self.system.store.current_bytes) == (0, 0), "cleared, yet something is held"

    def _as_model(self, request: CacheRequest) -> ModelRequest:
        keys = [request.key(item, self._weights) for item in request.items]
        items = [
            ModelItem(key, key and key[0], item.length * ROW_BYTES) for key, item in zip(keys, request.items, strict=True)
        ]
        return ModelRequest(items, request.whole(self.claims))

    def _held(self) -> int:
        """Bytes that are cached, at most."""
        return int(self.system.store.current_bytes) if self.claims.store else self._max_bytes

    def _check_result(self, index: int, items: list[tuple[int, int]], result: Tensor) -> None:
        want = torch.cat([rows_of(checksum, length) for checksum, length in items])
        where = f"request {index} of items {[length for _, length in items]} rows long"
        assert isinstance(result, Tensor), f"{where}: got a {type(result).__name__}"
        assert result.shape == want.shape, f"{where}: got shape {tuple(result.shape)}, expected {tuple(want.shape)}"
        assert result.dtype == want.dtype, f"{where}: got {result.dtype}, expected {want.dtype}, as the encoder returned"
        wrong = (result != want).any(1).nonzero().flatten().tolist()
        assert not wrong, f"{where}: rows {wrong} are not those of its items in item order"

    def _check_encodes(
        self,
        items: list[list[tuple[int, int]]],
        keys: Sequence[Sequence[Hashable | None]],
        owed: Obligation,
        encoded: Counter[int],
    ) -> None:
        allowed: Counter[int] = Counter()
        for r, request in enumerate(items):
            for i, (checksum, _) in enumerate(request):
                allowed[checksum] += (r, i) not in owed.forbidden
                new = keys[r][i] is None or keys[r][i] in owed.required
                assert encoded[checksum] or not new, f"the item at {(r, i)} is new to the cache, and was not encoded"
        for checksum, times in encoded.items():
            places = [(r, i) for r, request in enumerate(items) for i, (one, _) in enumerate(request) if one == checksum]
            assert places, "an item was encoded that no request of the batch holds"
            assert times <= allowed[checksum], (
                f"the item at (request, item) {places} was encoded {times} times, expected at most {allowed[checksum]}: "
                "it is cached, or stands earlier in the batch"
            )

    def _check_hits(
        self,
        items: list[list[tuple[int, int]]],
        keys: Sequence[Sequence[Hashable | None]],
        encoded: Counter[int],
        held: int,
    ) -> None:
        hits = {
            key: length * ROW_BYTES
            for request, names in zip(items, keys, strict=True)
            for (checksum, length), key in zip(request, names, strict=True)
            if not encoded[checksum]
        }
        served = sum(hits.values())
        assert served <= held, f"{served} bytes were served without an encode, and at most {held} were held"

    def _check_warnings(self, batch: Sequence[CacheRequest], partial: set[int], possible: set[int]) -> None:
        self._warned |= {batch[r].modality for r in partial}
        self._may_warn |= {batch[r].modality for r in possible}
        assert len(self._warned) <= len(self.warnings) <= len(self._warned | self._may_warn), (
            f"{len(self.warnings)} warnings, expected one for each modality of {sorted(self._warned)} and at most one for "
            f"each of {sorted(self._may_warn)}: {self.warnings}"
        )

    def _check_store(self) -> None:
        if self.claims.store:
            store = self.system.store
            assert store.current_bytes <= self._max_bytes, f"{store.current_bytes} bytes held, budget {self._max_bytes}"
            assert len(store) <= len(self.model.offered), f"{len(store)} entries of {len(self.model.offered)} items"


def same(one: Any, other: Any) -> bool:
    """Whether two structures of requests, dicts, lists and tensors are equal."""
    if is_dataclass(one):
        return type(one) is type(other) and same(vars(one), vars(other))
    if isinstance(one, Tensor):
        return isinstance(other, Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
