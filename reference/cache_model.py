"""What a store holds and what an encoder cache owes, in plain Python data."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field


class StoreModel:
    """A byte-budgeted least-recently-used map that remembers sizes and versions instead of tensors.

    Attributes:
        max_bytes: The budget.
        entries: Key -> (version of the value, bytes), least recently used first.
        counts: The counters of CACHE-STORE-7.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.entries: OrderedDict[Hashable, tuple[int, int]] = OrderedDict()
        names = ("hits", "misses", "insertions", "replacements", "evictions", "rejected_insertions")
        self.counts = dict.fromkeys(names, 0)

    @property
    def current_bytes(self) -> int:
        """Bytes of all entries."""
        return sum(size for _, size in self.entries.values())

    def get(self, key: Hashable) -> int | None:
        """The version that is held."""
        self.counts["hits" if key in self.entries else "misses"] += 1
        if key not in self.entries:
            return None
        self.entries.move_to_end(key)
        return self.entries[key][0]

    def put(self, key: Hashable, version: int, size: int) -> bool:
        """Whether it is taken."""
        if size > self.max_bytes:
            self.counts["rejected_insertions"] += 1
            return False
        self.counts["replacements" if key in self.entries else "insertions"] += 1
        self.entries[key] = (version, size)
        self.entries.move_to_end(key)
        while self.current_bytes > self.max_bytes:
            self.entries.popitem(last=False)
            self.counts["evictions"] += 1
        return True

    def pop(self, key: Hashable) -> int | None:
        """The version that was held."""
        return self.entries.pop(key, (None, 0))[0]


@dataclass(frozen=True)
class ModelItem:
    """One item as the model sees it.

    Attributes:
        key: What identifies its embedding; None if the request cannot be keyed.
        slot: The same but for the length: items that collide may take each other's place in the cache (CACHE-KEY-5).
        size: Bytes of its embedding.
    """

    key: Hashable | None
    slot: Hashable | None
    size: int


@dataclass
class ModelRequest:
    """One request as the model sees it.

    Attributes:
        items: Its items, in order.
        whole: Whether its inputs cannot be cut: encoded all together or not at all.
    """

    items: Sequence[ModelItem]
    whole: bool = False


@dataclass
class Obligation:
    """What a batch owes. Places are (request, item).

    Attributes:
        required: Keys of which at least one place must be encoded: nobody can have them.
        forbidden: Places that must not be encoded: they are certainly cached, or stand earlier in the batch.
        partial: Requests that are certainly cut by a partial hit although their inputs cannot be.
        possibly_partial: Requests of which that may be so.
    """

    required: set[Hashable] = field(default_factory=set)
    forbidden: set[tuple[int, int]] = field(default_factory=set)
    partial: set[int] = field(default_factory=set)
    possibly_partial: set[int] = field(default_factory=set)


class SystemModel:
    """What an encoder cache of any eviction policy owes, as long as it keeps what fits.

    An item is *certain* to be cached if everything that was ever offered to the cache fits into its budget together and
    it never met another one of its slot, and *possible* if it was offered at all. Beyond that the model does not guess
    what a policy evicts, nor whether its keys tell colliding items apart.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.offered: dict[Hashable, int] = {}
        self.met: dict[Hashable, set[Hashable]] = {}

    def clear(self) -> None:
        """Forgets everything: no item is possible any more."""
        self.offered.clear()
        self.met.clear()

    def certain(self, item: ModelItem) -> bool:
        """Whether the item must be cached."""
        alone = self.met.get(item.slot) == {item.key}
        return alone and item.key in self.offered and sum(self.offered.values()) <= self.max_bytes

    def possible(self, key: Hashable | None) -> bool:
        """Whether the item can be cached."""
        return key in self.offered and self.offered[key] <= self.max_bytes

    def embed(self, batch: Sequence[ModelRequest], *, batch_duplicates: bool) -> Obligation:
        """What the batch owes; afterwards its items are offered.

        Args:
            batch: The requests.
            batch_duplicates: Whether an item that stands twice in the batch is owed one encode only.
        """
        owed = Obligation()
        scheduled: set[Hashable] = set()
        for item in (item for request in batch for item in request.items if item.key is not None):
            self.met.setdefault(item.slot, set()).add(item.key)
        for r, request in enumerate(batch):
            ready = [self.certain(i) or (batch_duplicates and i.key in scheduled) for i in request.items]
            maybe = [self.possible(i.key) or i.key in scheduled for i in request.items]
            if request.whole:
                if all(ready):
                    owed.forbidden |= {(r, i) for i in range(len(ready))}
                elif not all(maybe) and any(self.certain(i) for i in request.items):
                    owed.partial.add(r)
                if any(self.possible(i.key) for i in request.items) and len(maybe) > 1:
                    owed.possibly_partial.add(r)
            else:
                seen: set[Hashable] = set()
                for i, item in enumerate(request.items):
                    if ready[i] or (batch_duplicates and item.key is not None and item.key in seen):
                        owed.forbidden.add((r, i))
                    seen.add(item.key)
            owed.required |= {i.key for i, m in zip(request.items, maybe, strict=True) if i.key is not None and not m}
            scheduled |= {item.key for item in request.items if item.key is not None}
        for request in batch:
            for item in request.items:
                if item.key is not None and item.size <= self.max_bytes:
                    self.offered[item.key] = item.size
        return owed
