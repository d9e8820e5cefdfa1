"""SGLang's ``MultiModalStaticCache`` as a store.

Tried on sglang 0.5.23.

Its keys are hashes of content: a value that is put under a known key is not looked at, and the older one becomes the most
recently used. It copies what is cut from a larger tensor, and keeps everything else as it is handed over.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from torch import Tensor

from impl.peers.available import lacks, require
from impl.peers.stand_ins import load
from reference.cache_contracts import StoreClaims

PIP = "--no-deps sglang"
VERSION = require("sglang", ">=0.5.23", pip=PIP)

try:
    _module = load("sglang.srt.mem_cache.multimodal_cache")
    MultiModalStaticCache: Any = _module.MultiModalStaticCache
    EmbeddingResult: Any = _module.EmbeddingResult
except (ImportError, AttributeError) as error:
    raise lacks("sglang", "MultiModalStaticCache", error, ">=0.5.23", pip=PIP) from error


class SglangStore:
    """A key is the hash of one item, under which SGLang's scheduler looks it up alone.

    Args:
        max_bytes: The budget.
    """

    about = f"sglang {VERSION}: MultiModalStaticCache, an item a key."
    claims = StoreClaims(replaces=False, copies=False, statistics=False, threads=False, checks_values=False)

    def __init__(self, max_bytes: int) -> None:
        self._cache = MultiModalStaticCache(max_bytes)

    @property
    def max_bytes(self) -> int:
        """As :attr:`reference.cache_contracts.TensorStore.max_bytes`."""
        return int(self._cache.max_size)

    @property
    def current_bytes(self) -> int:
        """As :attr:`reference.cache_contracts.TensorStore.current_bytes`."""
        return int(self._cache.current_size)

    def __len__(self) -> int:
        return len(self._cache)

    def get(self, key: Hashable) -> Tensor | None:
        """As :meth:`reference.cache_contracts.TensorStore.get`."""
        found = self._cache.get_single(key)
        value: Tensor | None = None if found is None else found.embedding
        return value

    def put(self, key: Hashable, value: Tensor) -> bool:
        """As :meth:`reference.cache_contracts.TensorStore.put`; a value under a known key is not looked at."""
        return bool(self._cache.set(key, EmbeddingResult(embedding=value)))

    def pop(self, key: Hashable) -> Tensor | None:
        """As :meth:`reference.cache_contracts.TensorStore.pop`."""
        value = self.get(key)
        self._cache.free(key, None)  # its second argument is not read
        return value

    def clear(self) -> None:
        """As :meth:`reference.cache_contracts.TensorStore.clear`."""
        self._cache.clear()
