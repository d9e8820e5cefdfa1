"""What a store of tensors and an encoder cache promise, and how the suite calls them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from reference.contracts import made
from reference.params import MultimodalParams

Encoder = Callable[[Sequence[MultimodalParams]], Sequence[Tensor]]
"""Encodes requests of one modality each: returns one ``[sum of embedding lengths, dim]`` tensor a request, in order."""

LAYOUTS = (
    "gemma4-image",
    "gemma4-audio",
    "gemma4-video",
    "qwen2vl-image",
    "qwen2vl-video",
    "pixtral-image",
    "whisper-audio",
)
"""Layouts of raw inputs; SPEC.md, CACHE-RESIDUAL."""


class TensorStore(Protocol):
    """A byte-budgeted map from keys to tensors that forgets the least recently used (CACHE-STORE)."""

    @property
    def max_bytes(self) -> int:
        """The budget."""
        ...

    @property
    def current_bytes(self) -> int:
        """``numel * element_size`` of all values."""
        ...

    def get(self, key: Hashable) -> Tensor | None:
        """The value, which becomes the most recently used; None if it is not there. The caller must not write to it."""
        ...

    def put(self, key: Hashable, value: Tensor) -> bool:
        """Stores a copy as the most recently used and evicts from the other end until the budget holds.

        Where replacing is not claimed, a key stands for its content, and a known one comes with the value that it had.

        Returns:
            False if the value alone exceeds the budget: then nothing changes, an older value of the key included.

        Raises:
            TypeError: ``value`` is no tensor.
        """
        ...

    def pop(self, key: Hashable) -> Tensor | None:
        """Removes and returns the value; None if it is not there. Not called where it is not claimed."""
        ...

    def clear(self) -> None:
        """Removes everything."""
        ...

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class StoreClaims:
    """What a store says it does beyond keeping within its budget and least-recently-used order.

    Attributes:
        replaces: A put under a known key replaces the value (CACHE-STORE-4). Not so where keys are hashes of content:
            the same value may be put again, which is a use, and no other is.
        removes: Has ``pop`` (CACHE-STORE-11). Not so where entries leave by eviction alone.
        copies: ``put`` keeps a detached copy: what is done to its source afterwards does not show (CACHE-STORE-6).
        compacts: An entry keeps no more memory alive than its value has bytes (CACHE-STORE-12).
        statistics: Has ``stats()`` with the counters of CACHE-STORE-7; a value that is put again counts as a replacement.
        threads: May be used by several threads at once (CACHE-STORE-8).
        streams: Orders producers and consumers on different CUDA streams (CACHE-STORE-9).
        checks_values: Refuses what is no tensor (CACHE-STORE-10).
    """

    replaces: bool = True
    removes: bool = True
    copies: bool = True
    compacts: bool = True
    statistics: bool = True
    threads: bool = True
    streams: bool = False
    checks_values: bool = True


@dataclass(frozen=True)
class StoreImplementation:
    """A store as the suite sees it: ``make(max_bytes)`` makes an empty one."""

    name: str
    claims: StoreClaims
    make: Callable[..., Any]


class CacheSystem(Protocol):
    """The contract of an encoder cache (CACHE-SYSTEM)."""

    def embed(self, params: Sequence[MultimodalParams]) -> Sequence[Tensor]:
        """Returns the embedding of every request of a batch, encoding only what is not cached.

        Args:
            params: The requests; not written.

        Returns:
            One ``[sum of embedding lengths, dim]`` tensor a request: its items in item order. It shares memory
            with no entry of the cache and with no other result.

        Raises:
            TypeError: ``multimodal_data[modality]`` is no dict.
            ValueError: The encoder returned another number of rows than the lengths say; nothing is cached then.
            NotImplementedError: A partial hit on inputs of a layout that cannot be cut; names modality and fields.
        """
        ...


@dataclass(frozen=True)
class CacheClaims:
    """What an encoder cache says it can do.

    Attributes:
        layouts: Of :data:`LAYOUTS`: those whose partial hits encode only what is missing (for ``gemma4-video``
            without ``video_frames``: whose full hits are reused).
        video_frames: A partial hit on Gemma 4 video whose inputs say ``video_frame_counts`` encodes only what is missing.
        batch_duplicates: An item that stands twice in a batch is encoded once.
        collisions: A hit of another length than expected is a miss (CACHE-KEY-5).
        weights: Has ``update_weights(version)``.
        clear: Has ``clear()``.
        store: Has ``store``, a :class:`TensorStore`, whose bytes and entries are then checked.

    Raises:
        ValueError: A layout is unknown, or there is none.
    """

    layouts: frozenset[str] = frozenset(LAYOUTS)
    video_frames: bool = False
    batch_duplicates: bool = True
    collisions: bool = True
    weights: bool = True
    clear: bool = True
    store: bool = True

    def __post_init__(self) -> None:
        unknown = sorted(self.layouts - set(LAYOUTS))
        if unknown:
            raise ValueError(f"claims.layouts names {unknown}, expected a subset of {list(LAYOUTS)}")
        if not self.layouts:
            raise ValueError(f"claims.layouts is empty, expected at least one of {list(LAYOUTS)}")


@dataclass(frozen=True)
class CacheImplementation:
    """An encoder cache as the suite sees it.

    Attributes:
        name: What reports call it.
        claims: What it says it can do.
        make: ``make(encoder, max_bytes, warn)`` gives a :class:`CacheSystem`. ``warn(message)`` is called once a kind
            of warning in the life of the system, which stands for a process.
    """

    name: str
    claims: CacheClaims
    make: Callable[..., Any]


def as_store_implementation(candidate: object, name: str) -> StoreImplementation:
    """Adapts a class of stores, or a callable ``make(max_bytes)``; its ``claims`` are read if it has any.

    Raises:
        TypeError: It is not callable, or its claims are no :class:`StoreClaims`.
    """
    if not callable(candidate):
        raise TypeError(f"{name} is a {type(candidate).__name__}, expected a callable make(max_bytes) or a class of stores")
    claims = getattr(candidate, "claims", StoreClaims())
    if not isinstance(claims, StoreClaims):
        raise TypeError(f"{name}.claims is a {type(claims).__name__}, expected reference.cache_contracts.StoreClaims")
    return StoreImplementation(name, claims, candidate)


def as_cache_implementation(candidate: object, name: str) -> CacheImplementation:
    """Adapts an object with ``make`` and, optionally, ``claims``; or a class of such objects, made without arguments.

    Raises:
        TypeError: It has no ``make``, its class needs arguments, or its claims are no :class:`CacheClaims`.
    """
    candidate = made(candidate, name)
    make = getattr(candidate, "make", None)
    if not callable(make):
        raise TypeError(f"{name} is a {type(candidate).__name__}, expected an object with make(encoder, max_bytes, warn)")
    claims = getattr(candidate, "claims", CacheClaims())
    if not isinstance(claims, CacheClaims):
        raise TypeError(f"{name}.claims is a {type(claims).__name__}, expected reference.cache_contracts.CacheClaims")
    return CacheImplementation(name, claims, make)
