"""What the model says that a cache owes: by hand, and between the most and the least that one can hold.

A suite that judges right caches alone would not notice a model that owes too little.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.cache_model import ModelItem, ModelRequest, Obligation, SystemModel

BUDGET = 4
"""Bytes; an item has one, but for ``x``, which has one too many for any cache of the budget."""


def _request(written: str) -> ModelRequest:
    """A request as it is written: a letter an item, ``?`` one without a key, ``!`` before inputs that cannot be cut.

    A capital is the item that collides with its small letter: of the same slot, and of another length.
    """
    letters = written.removeprefix("!")
    items = [ModelItem(None, None, 1) if a == "?" else ModelItem(a, a.lower(), 5 if a == "x" else 1) for a in letters]
    return ModelRequest(items, whole=written.startswith("!"))


def _owed(history: str, *, once: bool = True) -> Obligation:
    """What is owed for the last batch: ``a b|!ab`` is a batch of two requests, then one of one that is not cut."""
    model = SystemModel(BUDGET)
    owed = Obligation()
    for batch in history.split("|"):
        owed = model.embed([_request(written) for written in batch.split()], batch_duplicates=once)
    return owed


NONE: set[tuple[int, int]] = set()


@pytest.mark.parametrize(
    ("history", "required", "forbidden"),
    [
        # CACHE-PARTITION-1, CACHE-ENCODE-1: what is there is not encoded, what cannot be there is.
        ("ab", "ab", NONE),
        ("a b", "ab", NONE),
        ("a|a", "", {(0, 0)}),
        ("a|ab", "b", {(0, 0)}),
        ("a|b a|bab c", "c", {(0, 0), (0, 1), (0, 2)}),
        # CACHE-ENCODE-2: an item that stands twice in a batch is encoded where it stands first.
        ("aab", "ab", {(0, 1)}),
        ("a b ab", "ab", {(2, 0), (2, 1)}),
        ("a b c a", "abc", {(3, 0)}),
        # CACHE-KEY-3: what has no key is encoded each time, and takes nobody's place.
        ("?", "", NONE),
        ("?? ?a", "a", NONE),
        ("?|?", "", NONE),
        ("a|? ? ? ?|a?", "", {(0, 0)}),
        # CACHE-KEY-5: items that collide may have taken each other's place, or not.
        ("a|Aa", "A", NONE),
        ("aA|a", "", NONE),
        ("aAb|b", "", {(0, 0)}),
        # CACHE-PROGRESS-1: what is larger than the budget is passed through, and takes nobody's place.
        ("x|x", "x", NONE),
        ("ax|ax", "x", {(0, 0)}),
        # A cache that had to leave something out may have left out anything.
        ("abcd|abcd", "", {(0, 0), (0, 1), (0, 2), (0, 3)}),
        ("abcde|abcdef", "f", NONE),
        ("abcde|aa", "", {(0, 1)}),
        # CACHE-VIDEO-1, CACHE-VIDEO-2: what cannot be cut is encoded all together or not at all.
        ("!ab|!ab !ba", "", {(0, 0), (0, 1), (1, 0), (1, 1)}),
        ("a|!ab", "b", NONE),
        ("!aab", "ab", NONE),
        ("ab !ab", "ab", {(1, 0), (1, 1)}),
    ],
)
def test_what_must_and_what_must_not_be_encoded(history: str, required: str, forbidden: set[tuple[int, int]]) -> None:
    owed = _owed(history)
    assert (owed.required, owed.forbidden) == (set(required), forbidden)


@pytest.mark.parametrize(("history", "forbidden"), [("aa a", NONE), ("a|aa b b", {(0, 0), (0, 1)}), ("ab !ab", NONE)])
def test_who_does_not_claim_it_may_encode_an_item_each_time_it_stands_in_a_batch(
    history: str, forbidden: set[tuple[int, int]]
) -> None:
    assert _owed(history, once=False).forbidden == forbidden


@pytest.mark.parametrize(
    ("history", "partial", "possibly"),
    [
        # CACHE-FALLBACK-1: a partial hit on what cannot be cut warns, and nothing else.
        ("!ab", "", ""),
        ("ab|!ab", "", "0"),
        ("a|!a", "", ""),
        ("a|!ab", "0", "0"),
        ("a|ab", "", ""),
        ("a|!ab b !cad !cd", "02", "02"),
        # b may have been encoded by the time that the second request is looked at.
        ("a|b !ab", "", "1"),
        # Some of five are there, and nobody knows which.
        ("abcde|!af !fg", "", "0"),
    ],
)
def test_what_is_certainly_and_what_is_possibly_a_partial_hit(history: str, partial: str, possibly: str) -> None:
    owed = _owed(history)
    assert (owed.partial, owed.possibly_partial) == ({*map(int, partial)}, {*map(int, possibly)})


@dataclass
class _MeanCache:
    """The right cache that holds least, of items of one byte each: nothing any more, once it has met more than fit.

    Attributes:
        met: All that it ever met.
        held: What is cached.
    """

    met: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)

    def embed(self, batch: list[str], *, once: bool) -> set[tuple[int, int]]:
        """The places that it serves without an encode."""
        served = set()
        there = set(self.held)
        for r, written in enumerate(batch):
            letters = written.removeprefix("!")
            if not written.startswith("!"):
                served |= {(r, i) for i, a in enumerate(letters) if a in there or (once and a in letters[:i])}
            elif {*letters} <= there:
                served |= {(r, i) for i in range(len(letters))}
            there |= {*letters} if once else set()
            self.met |= {*letters}
        self.held = self.met if len(self.met) <= BUDGET else set()
        return served


REQUESTS = st.builds(str.__add__, st.sampled_from(["", "!"]), st.text("abcdef", min_size=1, max_size=4))


@given(history=st.lists(st.lists(REQUESTS, max_size=3), min_size=1, max_size=4), once=st.booleans())
def test_what_is_owed_lies_between_the_least_and_the_most_that_a_cache_can_hold(
    history: list[list[str]], once: bool
) -> None:
    """Forbidden is what even the meanest cache serves, required what even one that keeps all has never met."""
    model, mean = SystemModel(BUDGET), _MeanCache()
    for batch in history:
        met = set(mean.met)
        owed = model.embed([_request(written) for written in batch], batch_duplicates=once)
        assert owed.forbidden == mean.embed(batch, once=once)
        assert owed.required == mean.met - met
