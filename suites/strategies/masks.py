"""Drawn mask layouts: batches of requests whose blobs, prefixes, windows and memory layouts meet in awkward ways.

A case is plain data that prints as the code that makes it, so that a shrunk failure can be pasted into a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from reference.contracts import Claims
from reference.profiles import Profile
from reference.rules import MaskRule, Order, Overlay, Prefix, Segmentation
from reference.tokens import MaskBatch

DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

WINDOWS = (1, 2, 3, 4, 5, 6, 8, 11) * 2 + (15, 16, 17, 33, 64, 130)
"""Configured windows: mostly shorter than the blobs of :func:`_lengths`, some at the edges of tiles."""

MOST_TOKENS = 150
"""Tokens of one drawn batch: enough to cross 128, few enough for thousands of examples."""


@dataclass(frozen=True)
class Request:
    """One request, a character a token.

    Attributes:
        types: Digit of the :class:`~reference.tokens.TokenType` of every token from position 0.
        items: Letter of the item of every token.
        cached: P, how many of the tokens are the cached prefix.
    """

    types: str
    items: str
    cached: int = 0

    @property
    def queries(self) -> int:
        """Q of the request."""
        return len(self.types) - self.cached

    def __repr__(self) -> str:
        return f"Request({_by_runs(self.types)}, {_by_runs(self.items)}, cached={self.cached})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How Hypothesis prints it."""
        printer.text(repr(self))


def _by_runs(text: str) -> str:
    """A Python expression for a text of long runs: ``"0" * 2050 + "11"``."""
    parts: list[str] = []
    short = ""
    for character, run in groupby(text):
        length = len(list(run))
        if length <= 16:
            short += character * length
            continue
        parts += [repr(short)] * bool(short) + [f"{character!r} * {length}"]
        short = ""
    return " + ".join(parts + [repr(short)] * bool(short or not parts))


@dataclass(frozen=True)
class Placement:
    """How a flat tensor lies in its memory.

    Attributes:
        dtype: Name of an integer dtype.
        stride: Elements from one token to the next; 0 where all values are equal.
        offset: Elements before the first token.
    """

    dtype: str = "int64"
    stride: int = 1
    offset: int = 0

    def place(self, values: Sequence[int], device: str = "cpu") -> Tensor:
        """A view of this layout that holds ``values``, in memory whose other elements hold other types."""
        dtype = getattr(torch, self.dtype)
        stride = self.stride if self.stride or len(set(values)) <= 1 else 2
        size = self.offset + max(stride, 1) * len(values) + 3
        memory = [(7 * index + 1) % 4 for index in range(size)]
        for index, value in enumerate(values):
            memory[self.offset + stride * index] = value
        base = torch.tensor(memory, dtype=torch.int64).to(dtype).to(device)
        return base.as_strided((len(values),), (stride,), self.offset)


PLAIN = Placement()
"""int64, contiguous, from the first element on."""


@dataclass(frozen=True)
class MaskCase:
    """A packed batch and everything about it that a mask builder may trip over.

    Attributes:
        requests: The requests, in batch order.
        window: The model's configured window; None for a layer that has none.
        prefix_known: Whether the types of cached tokens are handed over.
        trailing: Types of the generation tokens after the context tokens.
        tokens: Layout of the token types.
        others: Layout of the prefix types and the item ids.
        odd_ids: Whether item ids are negative, huge or 0 where their dtype has such values.
    """

    requests: tuple[Request, ...]
    window: int | None = None
    prefix_known: bool = False
    trailing: str = ""
    tokens: Placement = PLAIN
    others: Placement = PLAIN
    odd_ids: bool = False

    def within(self, claims: Claims) -> MaskCase:
        """The case without what an implementation does not claim."""
        requests = self.requests if claims.multi_request else self.requests[:1]
        if not claims.cached_prefix:
            requests = tuple(replace(r, cached=0) for r in requests)
        known = self.prefix_known and claims.prefix_types and claims.cached_prefix
        return replace(self, requests=requests, prefix_known=known)

    def batch(self, device: str = "cpu") -> MaskBatch:
        """The batch as an engine would hand it over."""
        query_types = "".join(r.types[r.cached :] for r in self.requests) + self.trailing
        query_items = "".join(r.items[r.cached :] for r in self.requests) + "a" * len(self.trailing)
        prefix_types = "".join(r.types[: r.cached] for r in self.requests)
        prefix_items = "".join(r.items[: r.cached] for r in self.requests)

        def others(values: list[int]) -> Tensor:
            return self.others.place(values, device)

        return MaskBatch(
            self.tokens.place([int(t) for t in query_types], device),
            [r.queries for r in self.requests],
            [r.cached for r in self.requests],
            others([int(t) for t in prefix_types]) if self.prefix_known else None,
            others(self._ids(query_items)),
            others(self._ids(prefix_items)) if self.prefix_known else None,
        )

    def _ids(self, items: str) -> list[int]:
        """A number for each letter, different numbers for different letters."""
        if not self.odd_ids:
            return [ord(item) for item in items]
        bits = int(self.others.dtype.lstrip("uint"))
        # Neighbours that a narrower or a floating type takes for equal, the ends of the range, 0 and -1.
        odd = [2 ** (bits - 2) + 1, 2 ** (bits - 2), 0, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 1 - 2 ** (bits - 1)]
        return [odd[ord(item) - ord("a")] if item in "abcdefg" else ord(item) % 64 + 2 for item in items]


def request(types: str, items: str = "", cached: int = 0) -> Request:
    """A request written by hand: ``types`` may contain spaces and a ``|`` after the prefix, which then gives ``cached``.

    Items that are not given change wherever the type does.
    """
    if "|" in types:
        cached = len(types.split("|")[0].replace(" ", ""))
    types = types.replace(" ", "").replace("|", "")
    if not items:
        runs = [len(list(run)) for _, run in groupby(types)]
        items = "".join(chr(ord("a") + index % 26) * length for index, length in enumerate(runs))
    return Request(types, items, cached)


@st.composite
def mask_cases(draw: st.DrawFn, profile: Profile | None = None) -> MaskCase:
    """Draws cases; ``profile`` decides whether there is a window, default sometimes."""
    windowed = draw(st.booleans()) if profile is None else profile.window is not None
    window = draw(st.sampled_from(WINDOWS)) if windowed else None
    count = draw(_REQUESTS)
    segments = _segments(window)
    requests = tuple(draw(_request(segments, MOST_TOKENS // count)) for _ in range(count))
    return MaskCase(
        requests,
        window,
        prefix_known=any(r.cached for r in requests) and draw(st.booleans()),
        trailing=draw(_TRAILING),
        tokens=draw(_PLACEMENTS),
        others=draw(_PLACEMENTS),
        odd_ids=draw(st.booleans()),
    )


@st.composite
def large_cases(draw: st.DrawFn, profile: Profile) -> MaskCase:
    """Cases of realistic sizes, each a little slow: images and windows of hundreds of tokens, long rows, many requests."""
    kind = draw(st.sampled_from(("requests", "blob", "window", "window", "cut", "wide")))
    window = draw(st.sampled_from((3, 100, 512, 700, 1024, 1500, 4096, 4500))) if profile.window is not None else None
    if kind == "requests":
        some = st.sampled_from([request(t) for t in ("0", "1", "11", "1|1", "01|10", "2", "0|", "3")] + [Request("", "")])
        requests: tuple[Request, ...] = tuple(draw(st.lists(some, min_size=13, max_size=90)))
    elif kind == "blob":
        before, blob, after = (
            draw(st.sampled_from((0, 1, 9))),
            draw(st.sampled_from((201, 256, 280))),
            draw(st.integers(0, 3)),
        )
        types = "0" * before + draw(st.sampled_from("12")) * blob + "0" * after
        requests = (request(types, "a" * len(types)),)
    elif kind == "cut":
        cached, tail = draw(st.sampled_from((330, 700, 1120))), draw(st.sampled_from(("1", "110", "2", "11011")))
        types = "0" + "1" * cached + tail
        requests = (request(types, "a" * len(types), cached + 1),)
    elif kind == "wide":
        requests = draw(_WIDE_REQUESTS)
    else:
        keys, queries = draw(st.sampled_from((513, 701, 1025, 1100, 1600, 2100, 5003))), draw(st.integers(1, 4))
        window = None if window is None else draw(st.sampled_from((window, keys - 1, keys - 2, keys // 2)))
        types = draw(st.sampled_from(("0", "3"))) * (keys - queries) + draw(st.sampled_from(("0", "1"))) * queries
        requests = (request(types, "a" * keys, keys - queries),)
    known = any(r.cached for r in requests) and (kind == "cut" or draw(st.booleans()))
    return MaskCase(requests, window, prefix_known=known, tokens=draw(_PLACEMENTS), others=draw(_PLACEMENTS))


# One draw instead of several wherever choices are independent: a draw costs more than anything else here.
_REQUESTS = st.sampled_from((1,) * 20 + (2,) * 12 + (3,) * 5 + (5, 5))
_TRAILING = st.sampled_from(("", "", "0", "1", "2130"))
_PLACEMENTS = st.sampled_from(
    [Placement(dtype, stride, offset) for offset in (0, 0, 1, 5) for stride in (1, 1, 2, 3, 0) for dtype in DTYPES]
)
_CUTS = st.sampled_from(("none",) * 6 + ("edge",) * 4 + ("inside",) * 6 + ("all", "nothing"))


@cache
def _segments(window: int | None) -> st.SearchStrategy[list[tuple[str, int]]]:
    """Lists of (type, length): short segments, those around the window, and those that end at the edge of a tile."""
    around = (1, 2) if window is None else (window - 1, window, window + 1, 2 * window + 1)
    edges = (15, 16, 17, 64, 129)
    lengths = sorted(length for length in (1, 1, 2, 2, 3, 4, 5, 7, *around, *around, *edges) if 0 < length < MOST_TOKENS)
    return st.lists(st.sampled_from([(kind, length) for length in lengths for kind in "0112233"]), min_size=1, max_size=5)


@st.composite
def _request(draw: st.DrawFn, segments: st.SearchStrategy[list[tuple[str, int]]], most: int) -> Request:
    drawn = draw(segments)
    types = "".join(kind * length for kind, length in drawn)[:most]
    # Mostly each segment is an item of its own, so that two images can touch; but one item may hold several segments,
    # of one type or of two, side by side or apart.
    shared = draw(_SHARED_ITEMS)
    items = "".join(chr(ord("a") + index // shared) * length for index, (_, length) in enumerate(drawn))[:most]
    cut = draw(_CUTS)
    if cut == "nothing":
        return Request("", "")
    cached = 0
    if cut == "all":
        cached = len(types)
    elif cut == "edge":
        edges = [i for i in range(1, len(types)) if (types[i], items[i]) != (types[i - 1], items[i - 1])]
        cached = edges[draw(_POSITIONS) % len(edges)] if edges else 0
    elif cut == "inside":
        inside = [index for index in range(1, len(types)) if types[index] in "12" and types[index - 1] in "12"]
        cached = inside[draw(_POSITIONS) % len(inside)] if inside else 0
    return Request(types, items, cached)


_SHARED_ITEMS = st.sampled_from((1, 1, 1, 2, 3, 9))
_POSITIONS = st.integers(0, MOST_TOKENS)


def _wide_request(text: int, blob: str, tail: str) -> Request:
    """Few rows of several thousand keys: a row then spans more than the chunk that a program writes."""
    types = "0" * text + blob + tail
    items = "a" * text + "b" * len(blob) + "c" * len(tail)
    return Request(types, items, len(types) - len(tail))


_WIDE_REQUESTS = st.sampled_from(
    [
        (_wide_request(text, blob, tail), *after)
        for after in ((), (request("1|1"),))
        for tail in ("0", "11", "0110")
        for blob in ("", "2" * 7, "1" * 300)
        for text in (2050, 4100, 4110)
    ]
)

rules = st.builds(
    MaskRule,
    st.none() | st.integers(1, 9),
    st.sampled_from(Overlay),
    st.sampled_from(Order),
    st.sampled_from(Prefix),
    st.sampled_from(Segmentation),
    st.booleans(),
)
"""Every combination of terms, those that no profile has included."""
