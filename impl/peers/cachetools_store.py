"""cachetools' ``LRUCache`` as a store: what a well-kept general library does of the contract, and what it does not.

Tried on cachetools 8.0.2 and 8.0.3.
"""

from __future__ import annotations

from collections.abc import Hashable

from torch import Tensor

from impl.peers.available import lacks, require
from reference.cache_contracts import StoreClaims

VERSION = require("cachetools", ">=5")

try:
    from cachetools import LRUCache
except ImportError as error:
    raise lacks("cachetools", "LRUCache", error, ">=5") from error


class CachetoolsStore:
    """Budget and recency are cachetools' own; it keeps the caller's tensor, counts nothing and takes no lock.

    Args:
        max_bytes: The budget.
    """

    about = f"cachetools {VERSION}: LRUCache, sized in bytes."
    claims = StoreClaims(copies=False, compacts=False, statistics=False, threads=False, checks_values=False)

    def __init__(self, max_bytes: int) -> None:
        self._cache: LRUCache[Hashable, Tensor] = LRUCache(max_bytes, lambda v: v.numel() * v.element_size())
        self.max_bytes = max_bytes

    @property
    def current_bytes(self) -> int:
        """As :attr:`reference.cache_contracts.TensorStore.current_bytes`."""
        return int(self._cache.currsize)

    def __len__(self) -> int:
        return len(self._cache)

    def get(self, key: Hashable) -> Tensor | None:
        """As :meth:`reference.cache_contracts.TensorStore.get`."""
        return self._cache.get(key)

    def put(self, key: Hashable, value: Tensor) -> bool:
        """As :meth:`reference.cache_contracts.TensorStore.put`, but for the copy."""
        try:
            self._cache[key] = value
        except ValueError:  # larger than the budget
            return False
        return True

    def pop(self, key: Hashable) -> Tensor | None:
        """As :meth:`reference.cache_contracts.TensorStore.pop`."""
        return self._cache.pop(key, None)

    def clear(self) -> None:
        """As :meth:`reference.cache_contracts.TensorStore.clear`."""
        self._cache.clear()
