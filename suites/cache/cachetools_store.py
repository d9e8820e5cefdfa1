"""cachetools.LRUCache as a store: what a well-kept general library does of the contract, and what it does not."""

from __future__ import annotations

from collections.abc import Hashable

import cachetools
from torch import Tensor

from reference.cache_contracts import StoreClaims


class CachetoolsStore:
    """Budget and recency are cachetools' own; it keeps the caller's tensor, counts nothing and takes no lock."""

    claims = StoreClaims(copies=False, statistics=False, threads=False, checks_values=False)

    def __init__(self, max_bytes: int) -> None:
        self._cache: cachetools.LRUCache[Hashable, Tensor] = cachetools.LRUCache(
            max_bytes, lambda v: v.numel() * v.element_size()
        )
        self.max_bytes = max_bytes

    @property
    def current_bytes(self) -> int:
        return int(self._cache.currsize)

    def __len__(self) -> int:
        return len(self._cache)

    def get(self, key: Hashable) -> Tensor | None:
        return self._cache.get(key)

    def put(self, key: Hashable, value: Tensor) -> bool:
        try:
            self._cache[key] = value
        except ValueError:  # larger than the budget
            return False
        return True

    def pop(self, key: Hashable) -> Tensor | None:
        return self._cache.pop(key, None)

    def clear(self) -> None:
        self._cache.clear()
