"""The health of the generator: a suite that seldom draws the hard cases cannot tell engines apart."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import HealthCheck, given, seed, settings

from suites.strategies.masks import MaskCase, mask_cases

DRAWS = 2000

LEAST = {
    "blob at index 0": 0.15,
    "blob at the last token": 0.15,
    "two blobs touch": 0.15,
    "prefix": 0.30,
    "blob cut by the prefix": 0.20,
    "several requests": 0.20,
    "empty request": 0.05,
    "non-contiguous input": 0.20,
    "request longer than 16": 0.20,
    "request longer than 64": 0.10,
    "request longer than 128": 0.03,
}
"""Share of all draws that show a feature, at least."""

LONGER_THAN_WINDOW = 0.25
"""The same for a blob longer than the window, among draws with a window and vision: there alone the orders differ."""


def features(case: MaskCase) -> set[str]:
    """What a drawn case exercises."""
    found = set()
    for r in case.requests:
        for blob in re.finditer("[12]+", r.types):
            found.add("vision")
            found |= {"blob at index 0"} if blob.start() == 0 else set()
            found |= {"blob at the last token"} if blob.end() == len(r.types) else set()
            found |= {"blob cut by the prefix"} if blob.start() < r.cached < blob.end() else set()
            found |= {"two blobs touch"} if len(set(r.items[slice(*blob.span())])) > 1 else set()
            found |= {"longer than window"} if case.window and blob.end() - blob.start() > case.window else set()
        found |= {"prefix"} if r.cached else set()
        found |= {"empty request"} if r.queries == 0 else set()
        found |= {f"request longer than {edge}" for edge in (16, 64, 128) if len(r.types) > edge}
    found |= {"several requests"} if len(case.requests) > 1 else set()
    found |= {"windowed"} if case.window else set()
    context = sum(r.queries for r in case.requests)
    found |= {"non-contiguous input"} if context > 1 and case.tokens.stride != 1 else set()
    return found


def test_hard_cases_are_drawn_often() -> None:
    seen: Counter[str] = Counter()

    @seed(20261130)
    @settings(max_examples=DRAWS, database=None, suppress_health_check=list(HealthCheck))
    @given(mask_cases())
    def draw(case: MaskCase) -> None:
        found = features(case)
        seen.update(found)
        if {"vision", "windowed"} <= found:
            seen["windowed vision"] += 1
            seen["of those longer"] += "longer than window" in found
        seen["draws"] += 1

    draw()
    rare = {feature: seen[feature] / seen["draws"] for feature in LEAST if seen[feature] < LEAST[feature] * seen["draws"]}
    assert seen["draws"] >= DRAWS
    assert not rare, f"too rare: {rare}, expected at least {LEAST}"
    assert seen["of those longer"] >= LONGER_THAN_WINDOW * seen["windowed vision"] > 0
