"""Known-bad stores, and how a mutant of ``impl/cache`` is made from an edit."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import cachetools
from torch import Tensor

from impl.cache.tensor_lru_cache import TensorLRUCache
from impl.peers.cachetools_store import CachetoolsStore
from suites.mutants.edits import Edit, load
from suites.mutants.mutant import Mutant

VIEWS = "https://github.com/sgl-project/sglang/pull/39120"
DRIFT = "https://github.com/vllm-project/vllm/issues/55733"
OVERSIZE = "https://github.com/vllm-project/vllm/pull/33110"
BOUNDED = "https://github.com/hiyouga/EasyR1/pull/11002"
STORE = "tensor_lru_cache.py"


@dataclass(frozen=True)
class KnownBad:
    """What is said of a mutant, before it is said how it is made.

    Attributes:
        kind: As all the others, an attribute of :class:`Mutant`.
        id: See there.
        fault: See there.
        requirement: See there.
        sentence: See there.
        source: See there.
        cuda: See there.
    """

    kind: str
    id: str
    fault: str
    requirement: str
    sentence: str
    source: str | None = None
    cuda: bool = False

    def edit(self, file: str, old: str, new: str, made: str = "") -> Mutant:
        """The implementation ``made`` of a copy of ``impl/cache`` in which ``new`` takes the place of ``old``."""
        edit = Edit(file, old, new, self.requirement, self.sentence)
        made = made or {"store": "TensorLRUCache", "cache": "GEMMA4"}[self.kind]
        return self._mutant(lambda folder: getattr(load("cache", self.id, edit, folder), made))

    def by(self, made: object) -> Mutant:
        """An implementation that is written out."""
        return self._mutant(lambda _: made)

    def _mutant(self, make: Callable[[Path], object]) -> Mutant:
        return Mutant(self.id, self.kind, self.fault, self.sentence, self.requirement, make, self.source, self.cuda)


_bad: Callable[..., KnownBad] = partial(KnownBad, "store")


class _NoLock(TensorLRUCache):
    """Another thread may run wherever the bytes are read, as it might anyway, only more often."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._lock = nullcontext()  # type: ignore[assignment]

    @property
    def _current_bytes(self) -> int:
        held = self._held
        time.sleep(0)
        return held

    @_current_bytes.setter
    def _current_bytes(self, value: int) -> None:
        self._held = value


class _SharedCursor(TensorLRUCache):
    def get(self, key: Hashable) -> Tensor | None:
        self._wanted = key
        time.sleep(0)
        return super().get(self._wanted)


class _KeepsNothing(TensorLRUCache):
    def put(self, key: Hashable, value: Tensor) -> bool:
        return super().put(key, value) and self.pop(key) is not None


class _LastValue(TensorLRUCache):
    def put(self, key: Hashable, value: Tensor) -> bool:
        self._last = value.clone()
        return super().put(key, value)

    def get(self, key: Hashable) -> Tensor | None:
        return None if super().get(key) is None else self._last


class _Tires(TensorLRUCache):
    def pop(self, key: Hashable) -> Tensor | None:
        return super().pop(key) if self._insertions < 8 else super().get(key)


class _FirstIn(CachetoolsStore):
    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._cache = cachetools.FIFOCache(max_bytes, self._cache.getsizeof)  # type: ignore[assignment]


class _LeastFrequent(CachetoolsStore):
    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._cache = cachetools.LFUCache(max_bytes, self._cache.getsizeof)  # type: ignore[assignment]


class _NothingIsSomething(CachetoolsStore):
    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._cache = cachetools.LRUCache(max_bytes, lambda value: max(1, value.numel() * value.element_size()))


class _RefusedLeaves(CachetoolsStore):
    def put(self, key: Hashable, value: Tensor) -> bool:
        return super().put(key, value) or bool(self._cache.pop(key, None))


class _KnownKeyIsAUse(CachetoolsStore):
    def put(self, key: Hashable, value: Tensor) -> bool:
        return self.get(key) is not None or super().put(key, value)


class _PutAgainIsNoUse(CachetoolsStore):
    claims = replace(CachetoolsStore.claims, replaces=False)

    def put(self, key: Hashable, value: Tensor) -> bool:
        return key in self._cache or super().put(key, value)


class _PopIsAGet(CachetoolsStore):
    def pop(self, key: Hashable) -> Tensor | None:
        return self.get(key)


class _OneByteMore(CachetoolsStore):
    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._cache = cachetools.LRUCache(max_bytes + 1, self._cache.getsizeof)


_ADD = "            self._current_bytes += size\n"
_CHECK = "        if size > self._max_bytes:\n"
_COPY = "value.detach().clone()"
_COUNT = "                self._evictions += 1\n"
_EVICT = "self._entries.popitem(last=False)"
_EVENT = "if self._stream_aware and copy.is_cuda:"
_MOVE = "            self._entries.move_to_end(key)\n"
_POP = "            entry = self._entries.pop(key, None)\n"
_REFUSE = "                self._rejected += 1\n"
_WHILE = "            while self._current_bytes > self._max_bytes:\n"

STORE_MUTANTS: list[Mutant] = [
    # The budget (F28, F29).
    _bad("exact-fit-refused", "F28", "CACHE-STORE-2", "A value of exactly the budget is refused.", OVERSIZE).edit(
        STORE, _CHECK, "        if size >= self._max_bytes:\n"
    ),
    _bad("exact-fit-evicts", "F28", "CACHE-STORE-2", "Entries that fill the budget exactly lose one of them.").edit(
        STORE, _WHILE, "            while self._current_bytes >= self._max_bytes:\n"
    ),
    _bad("zero-bytes-refused", "F28", "CACHE-STORE-2", "A value of 0 bytes is refused, as if rounded away.").edit(
        STORE, _CHECK, "        if not 0 < size <= self._max_bytes:\n"
    ),
    _bad("zero-bytes-missing", "F28", "CACHE-STORE-2", "A value of 0 bytes is held, and get says that it is not.").edit(
        STORE,
        "            entry = self._entries.get(key)\n            if entry is None:\n",
        "            entry = self._entries.get(key)\n            if entry is None or not entry[0].numel():\n",
    ),
    _bad(
        "zero-bytes-charged",
        "F28",
        "CACHE-STORE-2",
        "A value of 0 bytes is charged one, so that it evicts where nothing has to go; a store without counters.",
    ).by(_NothingIsSomething),
    _bad("over-budget", "F29", "CACHE-STORE-1", "The budget may be passed by one byte.").edit(
        STORE, _WHILE, "            while self._current_bytes > self._max_bytes + 1:\n"
    ),
    _bad(
        "one-eviction-a-put", "F29", "CACHE-STORE-1", "A put evicts at most one entry, though room for it may take two."
    ).edit(STORE, _WHILE, "            if self._current_bytes > self._max_bytes:\n"),
    _bad("over-budget-uncounted", "F29", "CACHE-STORE-1", "As over-budget, in a store without counters.").by(_OneByteMore),
    _bad("evicts-before-refusing", "F28", "CACHE-STORE-3", "Room is made for what can never fit.", OVERSIZE).edit(
        STORE, _REFUSE, _REFUSE + "                self.clear()\n"
    ),
    _bad(
        "refused-takes-the-old-along", "F28", "CACHE-STORE-3", "A refused value takes the older value of its key with it."
    ).edit(STORE, _REFUSE, _REFUSE + "                self.pop(key)\n"),
    _bad(
        "refused-leaves-nothing", "F28", "CACHE-STORE-3", "As refused-takes-the-old-along, in a store without counters."
    ).by(_RefusedLeaves),
    _bad("refused-said-taken", "F28", "CACHE-STORE-3", "The put of a value that is too large returns True.").edit(
        STORE, _REFUSE + "            return False\n", _REFUSE + "            return True\n"
    ),
    _bad(
        "refused-is-a-use", "F28", "CACHE-STORE-3", "A refused put makes the older value of its key the most recently used."
    ).edit(
        STORE,
        _REFUSE,
        _REFUSE + "                if key in self._entries:\n                    self._entries.move_to_end(key)\n",
    ),
    # Replacement and recency (F27).
    _bad(
        "old-value-kept", "F27", "CACHE-STORE-4", "A put under a known key keeps the older value, and charges the new one."
    ).edit(
        STORE, "            self._entries[key] = (copy, event)\n", "            self._entries[key] = old or (copy, event)\n"
    ),
    _bad(
        "known-key-is-a-use",
        "F27",
        "CACHE-STORE-4",
        "A value under a known key is not looked at, as where keys are hashes of content; and replacing is claimed.",
    ).by(_KnownKeyIsAUse),
    _bad(
        "replaced-makes-room-for-itself",
        "F27",
        "CACHE-STORE-4",
        "A replaced value still counts while room is made for its successor, so that another entry goes.",
    ).edit(
        STORE,
        _WHILE,
        "            gone = _bytes(old[0]) if old else 0\n"
        "            while self._current_bytes + gone * (len(self._entries) > 1) > self._max_bytes:\n",
    ),
    _bad("replacement-said-refused", "F27", "CACHE-STORE-4", "The put under a known key returns False, and is done.").edit(
        STORE, "        return True\n", "        return old is None\n"
    ),
    _bad("half-precision-widened", "F29", "CACHE-STORE-4", "A float16 value comes back as float32.").edit(
        STORE, _COPY, "(value.detach().float() if value.dtype is torch.float16 else value.detach().clone())"
    ),
    _bad("first-in-first-out", "F27", "CACHE-STORE-5", "A get is no use.").edit(STORE, _MOVE, ""),
    _bad("first-in-uncounted", "F27", "CACHE-STORE-5", "As first-in-first-out, without counters.").by(_FirstIn),
    _bad(
        "least-frequent",
        "F27",
        "CACHE-STORE-5",
        "Evicts what was used least often, not longest ago; a store without counters.",
    ).by(_LeastFrequent),
    _bad("hit-becomes-oldest", "F27", "CACHE-STORE-5", "A get makes its entry the next to be evicted.").edit(
        STORE, _MOVE, "            self._entries.move_to_end(key, last=False)\n"
    ),
    _bad("hit-of-two-is-no-use", "F27", "CACHE-STORE-5", "A get is a use only among three entries or more.").edit(
        STORE, _MOVE, "            if len(self._entries) > 2:\n    " + _MOVE
    ),
    _bad("second-hit-is-no-use", "F27", "CACHE-STORE-5", "Only every other hit is a use.").edit(
        STORE, _MOVE, "            if self._hits % 2:\n    " + _MOVE
    ),
    _bad(
        "replaced-keeps-its-place",
        "F27",
        "CACHE-STORE-5",
        "A put under a known key is no use: the entry keeps its place in the order.",
    ).edit(STORE, "            old = self._entries.pop(key, None)\n", "            old = self._entries.get(key)\n"),
    _bad(
        "put-again-is-no-use",
        "F27",
        "CACHE-STORE-5",
        "As replaced-keeps-its-place, in a store that does not claim to replace, and is put the same value again.",
    ).by(_PutAgainIsNoUse),
    _bad("newest-evicted", "F27", "CACHE-STORE-5", "Evicts from the wrong end, what was just put included.").edit(
        STORE, _EVICT, "self._entries.popitem(last=True)"
    ),
    _bad("largest-evicted", "F27", "CACHE-STORE-5", "Evicts the largest entry first; shows only if sizes differ.").edit(
        STORE, _EVICT, "(large := max(self._entries, key=lambda k: _bytes(self._entries[k][0])), self._entries.pop(large))"
    ),
    _bad(
        "all-others-evicted", "F27", "CACHE-STORE-5", "Where room for one would do, everything but the newcomer goes."
    ).edit(
        STORE,
        _WHILE,
        "            full = self._current_bytes > self._max_bytes\n            while full and len(self._entries) > 1:\n",
    ),
    _bad("four-entries", "F27", "CACHE-STORE-5", "The fifth entry evicts the first, whatever the budget.").edit(
        STORE, _WHILE, "            while self._current_bytes > self._max_bytes or len(self._entries) > 4:\n"
    ),
    # Accounts (F29).
    _bad("replaced-bytes-kept", "F29", "CACHE-ACCOUNT-1", "The bytes of a replaced value stay charged.", DRIFT).edit(
        STORE, "                self._current_bytes -= _bytes(old[0])\n", ""
    ),
    _bad("popped-bytes-kept", "F29", "CACHE-ACCOUNT-1", "The bytes of a popped value stay charged.", DRIFT).edit(
        STORE, "            self._current_bytes -= _bytes(entry[0])\n", ""
    ),
    _bad("cleared-bytes-kept", "F29", "CACHE-ACCOUNT-1", "The bytes of what was cleared stay charged.", BOUNDED).edit(
        STORE,
        "            self._entries.clear()\n            self._current_bytes = 0\n",
        "            self._entries.clear()\n",
    ),
    _bad(
        "newcomer-for-evicted",
        "F29",
        "CACHE-ACCOUNT-1",
        "An eviction gives back the bytes of the newcomer; right only if the two are equally large.",
        DRIFT,
    ).edit(
        STORE,
        "                self._current_bytes -= _bytes(evicted)\n",
        "                self._current_bytes -= size if len(self._entries) > 1 else _bytes(evicted)\n",
    ),
    _bad(
        "elements-charged",
        "F29",
        "CACHE-ACCOUNT-1",
        "Elements are charged for bytes; shows only in values of more than one byte an element.",
    ).edit(STORE, "    return value.numel() * value.element_size()\n", "    return value.numel()\n"),
    _bad(
        "batch-charged", "F29", "CACHE-ACCOUNT-1", "A view is charged the bytes of the batch that it is cut from.", VIEWS
    ).edit(STORE, _ADD, "            self._current_bytes += value.untyped_storage().nbytes()\n"),
    _bad("pops-at-first", "cheat", "CACHE-ACCOUNT-1", "From the ninth value on, pop removes nothing.").by(_Tires),
    # Removal (F27).
    _bad("pop-is-a-get", "F27", "CACHE-STORE-11", "pop returns the value and removes nothing.").by(_PopIsAGet),
    _bad(
        "pop-takes-the-oldest", "F27", "CACHE-STORE-11", "pop removes the least recently used entry for the one named."
    ).edit(STORE, _POP, "            entry = self._entries.popitem(last=False)[1] if key in self._entries else None\n"),
    # Copies (F29).
    _bad(
        "contiguous",
        "F29",
        "CACHE-STORE-12",
        "contiguous() copies nothing where nothing needs it: a view keeps its batch alive.",
        VIEWS,
    ).edit(STORE, _COPY, "value.detach().contiguous()"),
    _bad(
        "first-rows-uncopied",
        "F29",
        "CACHE-STORE-6",
        "A contiguous view is copied only if it begins behind the first element of its batch.",
        VIEWS,
    ).edit(STORE, _COPY, "(value.detach().clone() if value.storage_offset() else value.detach().contiguous())"),
    _bad(
        "whole-uncopied", "F29", "CACHE-STORE-6", "Only what is cut from a larger tensor is copied; and a copy is claimed."
    ).edit(STORE, _COPY, "(value.detach() if value.untyped_storage().nbytes() == size else value.detach().clone())"),
    _bad(
        "half-precision-uncopied", "F29", "CACHE-STORE-6", "A float16 value is not copied, whatever it is cut from.", VIEWS
    ).edit(STORE, _COPY, "(value.detach() if value.dtype is torch.float16 else value.detach().clone())"),
    _bad("copy-of-twice-the-size", "F29", "CACHE-STORE-12", "The copy is a view of a buffer twice as large.").edit(
        STORE, _COPY, "torch.cat([value.detach(), value.detach()])[: len(value)]"
    ),
    _bad("flattened", "F29", "CACHE-STORE-6", "The copy has one dimension, whatever the value has.").edit(
        STORE, _COPY, "value.detach().clone().flatten()"
    ),
    _bad("attached", "F29", "CACHE-STORE-6", "An entry keeps the graph of its value alive.").edit(
        STORE, _COPY, "value.clone()"
    ),
    # Statistics (F29: counters drift).
    _bad("misses-uncounted", "F29", "CACHE-STORE-7", "Misses are not counted.").edit(STORE, "self._misses += 1\n", "pass\n"),
    _bad("refused-uncounted", "F29", "CACHE-STORE-7", "Refused values are not counted.").edit(
        STORE, _REFUSE, " " * 16 + "pass\n"
    ),
    _bad("one-eviction-counted", "F29", "CACHE-STORE-7", "Of several evictions in one put only the last is counted.").edit(
        STORE, _COUNT, "                self._evictions += self._current_bytes <= self._max_bytes\n"
    ),
    _bad("replacement-inserted", "F29", "CACHE-STORE-7", "A replacement counts as an insertion too.").edit(
        STORE,
        "                self._replacements += 1\n",
        "                self._replacements += 1\n                self._insertions += 1\n",
    ),
    _bad("pop-counts-a-miss", "F29", "CACHE-STORE-7", "The pop of an unknown key counts as a miss.").edit(
        STORE, _POP, _POP + "            self._misses += entry is None\n"
    ),
    _bad("clear-resets-counters", "F29", "CACHE-STORE-7", "clear() forgets the hits and misses so far.").edit(
        STORE,
        "            self._entries.clear()\n",
        "            self._entries.clear()\n            self._hits = self._misses = 0\n",
    ),
    _bad("hit-rate-of-misses", "F29", "CACHE-STORE-7", "The hit rate is hits a miss.").edit(
        STORE, "max(1, self.hits + self.misses)", "max(1, self.misses)"
    ),
    # Threads and streams (F27: an entry that changes while it is in use).
    _bad("no-lock", "F27", "CACHE-STORE-8", "Threads are not kept apart: bytes are lost.").by(_NoLock),
    _bad(
        "shared-cursor",
        "F27",
        "CACHE-STORE-8",
        "A get notes its key where another thread overwrites it, and reads that thread's value.",
    ).by(_SharedCursor),
    _bad("no-event", "F27", "CACHE-STORE-9", "The end of the work that makes a value is not recorded.", cuda=True).edit(
        STORE, _EVENT, "if self._stream_aware and not copy.is_cuda:"
    ),
    _bad(
        "event-not-awaited",
        "F27",
        "CACHE-STORE-9",
        "The event of a value is recorded, and no reader waits for it.",
        cuda=True,
    ).edit(STORE, "        stream.wait_event(event)\n", ""),
    _bad(
        "event-of-the-default-stream",
        "F27",
        "CACHE-STORE-9",
        "The event is recorded on the default stream, not on the one that makes the value.",
        cuda=True,
    ).edit(STORE, "torch.cuda.current_stream(copy.device)", "torch.cuda.default_stream(copy.device)"),
    _bad(
        "event-of-new-keys",
        "F27",
        "CACHE-STORE-9",
        "Only the first value of a key has an event: its successors are read too early.",
        cuda=True,
    ).edit(STORE, _EVENT, "if self._stream_aware and copy.is_cuda and key not in self._entries:"),
    _bad(
        "pop-does-not-wait",
        "F27",
        "CACHE-STORE-9",
        "pop hands out a value without waiting for the work that makes it.",
        cuda=True,
    ).edit(
        STORE,
        "            self._current_bytes -= _bytes(entry[0])\n        value, event = entry\n",
        "            self._current_bytes -= _bytes(entry[0])\n        value, event = entry[0], None\n",
    ),
    # Refusals.
    _bad(
        "anything-but-none",
        "F28",
        "CACHE-STORE-10",
        "Only None is refused by name; a list or a number fails later, and differently.",
    ).edit(STORE, "if not isinstance(value, Tensor):", "if value is None:"),
    _bad(
        "refusal-drops-the-old",
        "F28",
        "CACHE-STORE-10",
        "The refusal of what is no tensor loses the older value of the key.",
    ).edit(
        STORE,
        "        if not isinstance(value, Tensor):\n",
        "        if not isinstance(value, Tensor):\n            self.pop(key)\n",
    ),
    _bad("budget-of-zero", "F28", "CACHE-STORE-10", "A budget of 0 is accepted.").edit(
        STORE, "max_bytes <= 0", "max_bytes < 0"
    ),
    _bad("budget-of-true", "F28", "CACHE-STORE-10", "True is accepted as a budget of one byte.").edit(
        STORE, " or isinstance(max_bytes, bool)", ""
    ),
    # Cheats.
    _bad("keeps-nothing", "cheat", "CACHE-STORE-2", "put says that it took the value, and nothing is there.").by(
        _KeepsNothing
    ),
    _bad("last-value", "cheat", "CACHE-STORE-4", "A hit returns the value that was put last, under any key.").by(_LastValue),
]
