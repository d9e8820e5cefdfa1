"""Drawn mask layouts: batches of requests whose blobs, prefixes, windows and memory layouts meet in awkward ways.

A case is plain data that prints as the code that makes it, so that a shrunk failure can be pasted into a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any, TypeVar

import torch
from hypothesis import strategies as st
from torch import Tensor

from reference.contracts import Claims
from reference.profiles import Profile
from reference.rules import MaskRule, Order, Overlay, Prefix, Segmentation
from reference.tokens import MaskBatch

T = TypeVar("T")

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
        far, most, near = -(2 ** (bits - 2)), 2 ** (bits - 1) - 1, 2 ** max(bits // 2 - 16, 0)
        # Neighbours that a narrower or a floating type takes for equal, the ends of the range, 0 and -1.
        odd = [far + near, far, 0, most, most - 1, -1, -most - 1]
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
    windows = _WINDOWS_OR_NONE if profile is None else _WINDOWS if profile.window is not None else st.none()
    window = draw(windows)
    count = draw(_REQUESTS)
    tokens, others = draw(_TOKENS), draw(_OTHERS)
    trailing, odd_ids = draw(_REST)
    # Mostly each segment is an item of its own, so that two images can touch; but one item may hold several segments,
    # of one type or of two, side by side or apart.
    shared = 9 if others.stride == 0 else draw(_SHARED_ITEMS)
    position = draw(_POSITIONS)
    requests = tuple(_request(draw, slot, window, MOST_TOKENS // count, shared, position) for slot in range(count))
    if tokens.stride == 0:
        kind = next((r.types[0] for r in requests if r.types), "0")
        requests = tuple(replace(r, types=kind * len(r.types)) for r in requests)
        trailing = kind * len(trailing)
    known = any(r.cached for r in requests) and draw(st.booleans())
    return MaskCase(requests, window, known, trailing, tokens, others, odd_ids)


def _request(draw: st.DrawFn, slot: int, window: int | None, most: int, shared: int, position: int) -> Request:
    (_, count), (_, cut) = draw(_COUNTS[slot]), draw(_CUTS[slot])
    if cut == "nothing":
        return Request("", "")
    drawn = [draw(_segments(window, slot, index)) for index in range(count)]
    types = "".join(kind * length for _, _, kind, length in drawn)[:most]
    items = "".join(chr(ord("a") + index // shared) * length for _, index, _, length in drawn)[:most]
    places = _places(types, items, cut)
    return Request(types, items, places[position % len(places)] if places else 0)


def _places(types: str, items: str, cut: str) -> list[int]:
    """Where a request may be cut: the lengths that its prefix may have, none for 0."""
    if cut in ("last", "all"):
        return [len(types) - (cut == "last")]
    edges = {i for i in range(1, len(types)) if (types[i], items[i]) != (types[i - 1], items[i - 1])}
    inside = {i for i in range(1, len(types)) if types[i] in "12" and types[i - 1] in "12"}
    places = {
        "none": set(),
        "edge": edges,
        "seam": edges & inside or edges,
        "inside": inside,
        "tile": inside & set(range(16, MOST_TOKENS, 16)) or inside,
        "late": {i for i in inside if i + 1 not in inside},
    }
    return sorted(places[cut])


@st.composite
def large_cases(draw: st.DrawFn, profile: Profile) -> MaskCase:
    """Cases of realistic sizes, each a little slow: images and windows of hundreds of tokens, long rows, many requests."""
    kind = draw(st.sampled_from(("requests", "blob", "blob", "window", "window", "cut", "wide", "wide")))
    window = draw(st.sampled_from((3, 100, 512, 700, 1024, 1500, 4096, 4500))) if profile.window is not None else None
    if kind == "requests":
        requests: tuple[Request, ...] = tuple(_SMALL[index] for index in draw(_MANY))
    elif kind == "blob":
        before, blob, after = draw(_BLOBS)
        window = None if window is None else draw(st.sampled_from((3, 17, 100, blob - 1, blob, blob + 1)))
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
    return MaskCase(requests, window, prefix_known=known, tokens=draw(_TOKENS), others=draw(_OTHERS))


# Hypothesis spends five examples of six on copying between draws of one case that look alike to it, which they do if their
# elements are equal. No two draws of a case are alike here: a draw that every request makes holds the number of the request.
# And one draw instead of several wherever choices are independent: a draw costs more than anything else here.
_MOST_REQUESTS = 5
_WINDOWS, _WINDOWS_OR_NONE = st.sampled_from(WINDOWS), st.sampled_from((None,) * len(WINDOWS) + WINDOWS)
_REQUESTS = st.sampled_from((1,) * 17 + (2,) * 12 + (3,) * 6 + (_MOST_REQUESTS,) * 2)
_REST = st.sampled_from([(trailing, odd_ids) for trailing in ("", "", "0", "1", "2130") for odd_ids in (False, True)])
_TOKENS, _OTHERS = (
    st.sampled_from(
        [Placement(dtype, stride, offset) for offset in offsets for stride in (1, 1, 1, 2, 2, 3, 3, 0) for dtype in DTYPES]
    )
    for offsets in ((0, 1, 1, 5), (0, 1, 1, 6))
)
_SHARED_ITEMS = st.sampled_from((1, 1, 1, 1, 2, 3, 9))


def _slots(values: Sequence[T]) -> list[st.SearchStrategy[tuple[int, T]]]:
    """A strategy for each request."""
    return [st.sampled_from([(slot, value) for value in values]) for slot in range(_MOST_REQUESTS)]


_COUNTS = _slots((1, 1, 2, 2, 2, 3, 3, 4))
_CUTS = _slots(
    ("none",) * 5
    + ("edge",) * 2
    + ("seam",) * 4
    + ("inside",) * 4
    + ("tile", "late", "late", "last", "last", "all", "nothing")
)
_POSITIONS = st.integers(0, MOST_TOKENS)


@cache
def _segments(window: int | None, slot: int, index: int) -> st.SearchStrategy[tuple[int, int, str, int]]:
    """Segments of a type and a length: short ones, those around the window, and those that end at the edge of a tile.

    The simplest has two tokens: of one the only mask is that it sees itself.
    """
    around = (1, 2) if window is None else (window - 1, window, window + 1, 2 * window + 1)
    edges = (15, 16, 17, 64, 129)
    lengths = sorted(length for length in (1, 1, 2, 3, 4, 5, 7, *around, *around, *edges) if 0 < length < MOST_TOKENS)
    return st.sampled_from([(slot, index, kind, length) for length in (2, *lengths) for kind in "0112123"])


def _wide_request(text: int, blob: str, tail: str) -> Request:
    """Few rows of several thousand keys: a row then spans more than the chunk that a program writes."""
    types = "0" * text + blob + tail
    items = "a" * text + "b" * len(blob) + "c" * len(tail)
    return Request(types, items, len(types) - len(tail))


_WIDE_REQUESTS = st.sampled_from(
    [
        (_wide_request(text, blob, tail), *after)
        for after in ((), (request("1|1"),), (request("0011"),))
        for tail in ("0", "11", "0110")
        for blob in ("", "2" * 7, "1" * 300)
        for text in (2050, 4100, 4110)
    ]
)
_SMALL = [*(request(t) for t in ("0", "1", "11", "1|1", "01|10", "2", "0|", "3")), Request("", "")]
_MANY = st.binary(min_size=13, max_size=90).map(lambda drawn: [index % len(_SMALL) for index in drawn])
_BLOBS = st.sampled_from(
    [(before, blob, after) for before in (0, 1, 9) for blob in (201, 256, 280, 300) for after in (0, 1, 3)]
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
