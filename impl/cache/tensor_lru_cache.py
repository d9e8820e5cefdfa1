"""A byte-budgeted cache of tensors that forgets the least recently used."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.cache_contracts import StoreClaims

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class TensorLRUCacheStats:
    """Counters since the cache was made, and what it holds now.

    Attributes:
        max_bytes: The budget.
        current_bytes: Bytes held.
        item_count: Entries held.
        hits: Look-ups that found their key.
        misses: Look-ups that did not.
        insertions: Values taken under a new key.
        replacements: Values taken under a key that was there.
        evictions: Entries that left to make room.
        rejected_insertions: Values larger than the budget.
    """

    max_bytes: int
    current_bytes: int
    item_count: int
    hits: int
    misses: int
    insertions: int
    replacements: int
    evictions: int
    rejected_insertions: int

    @property
    def hit_rate(self) -> float:
        """Hits a look-up; 0 before the first."""
        return self.hits / max(1, self.hits + self.misses)


class TensorLRUCache:
    """As :class:`reference.cache_contracts.TensorStore`, safe for several threads.

    Args:
        max_bytes: The budget, in bytes of payload (``numel * element_size``); at least 1.
        name: For log lines.
        cuda_stream_aware: Order producers and consumers on different CUDA streams: a value is read only
            after the work that wrote it, and its memory is not reused while a consumer may still read it.

    Raises:
        TypeError: ``max_bytes`` is no int.
        ValueError: It is not positive.
    """

    claims = StoreClaims(streams=True)

    def __init__(self, max_bytes: int, *, name: str = "tensor_lru_cache", cuda_stream_aware: bool = False) -> None:
        if not isinstance(max_bytes, int) or isinstance(max_bytes, bool):
            raise TypeError(f"max_bytes is {max_bytes!r}, expected an int")
        if max_bytes <= 0:
            raise ValueError(f"max_bytes is {max_bytes}, expected a positive number of bytes")
        self.name = name
        self._max_bytes = max_bytes
        self._stream_aware = cuda_stream_aware
        self._lock = threading.RLock()
        self._entries: OrderedDict[Hashable, tuple[Tensor, torch.cuda.Event | None]] = OrderedDict()
        self._current_bytes = 0
        self._hits = self._misses = self._insertions = self._replacements = self._evictions = self._rejected = 0

    @property
    def max_bytes(self) -> int:
        """The budget."""
        return self._max_bytes

    @property
    def current_bytes(self) -> int:
        """Bytes held."""
        return self._current_bytes

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Tensor | None:
        """The cache's own tensor, now the most recently used; the caller must not write to it."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                self._misses += 1
                return None
            self._hits += 1
            self._entries.move_to_end(key)
        value, event = entry
        return value if event is None else self._ordered(value, event)

    def put(self, key: Hashable, value: Tensor) -> bool:
        """Stores a copy; False, and nothing changes, if it alone exceeds the budget."""
        if not isinstance(value, Tensor):
            raise TypeError(f"value is a {type(value).__name__}, expected a tensor")
        size = _bytes(value)
        if size > self._max_bytes:
            with self._lock:
                self._rejected += 1
            return False
        # A copy of its own, made before anything is evicted: a failed allocation leaves the cache as it was, and an
        # entry never keeps the batch alive that it was cut from.
        copy = value.detach().clone()
        event = None
        if self._stream_aware and copy.is_cuda:
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record(torch.cuda.current_stream(copy.device))
        with self._lock:
            old = self._entries.pop(key, None)
            if old is None:
                self._insertions += 1
            else:
                self._replacements += 1
                self._current_bytes -= _bytes(old[0])
            self._entries[key] = (copy, event)
            self._current_bytes += size
            while self._current_bytes > self._max_bytes:
                _, (evicted, _) = self._entries.popitem(last=False)
                self._current_bytes -= _bytes(evicted)
                self._evictions += 1
        return True

    def pop(self, key: Hashable) -> Tensor | None:
        """Removes and returns a value; None if it is not there."""
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is None:
                return None
            self._current_bytes -= _bytes(entry[0])
        value, event = entry
        return value if event is None else self._ordered(value, event)

    def clear(self) -> None:
        """Removes everything; the counters go on."""
        with self._lock:
            self._entries.clear()
            self._current_bytes = 0

    def stats(self) -> TensorLRUCacheStats:
        """The counters, all of one moment."""
        with self._lock:
            return TensorLRUCacheStats(
                self._max_bytes,
                self._current_bytes,
                len(self._entries),
                self._hits,
                self._misses,
                self._insertions,
                self._replacements,
                self._evictions,
                self._rejected,
            )

    def log_stats(self, reason: str) -> None:
        """Writes the counters to the log."""
        _LOG.info("%s (%s): %s", self.name, reason, self.stats())

    @staticmethod
    def _ordered(value: Tensor, event: torch.cuda.Event) -> Tensor:
        """Makes the current stream wait for the work that wrote the value, and the allocator for the stream."""
        stream = torch.cuda.current_stream(value.device)
        stream.wait_event(event)
        value.record_stream(stream)
        return value


def _bytes(value: Tensor) -> int:
    return value.numel() * value.element_size()
