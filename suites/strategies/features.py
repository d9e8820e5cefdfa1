"""What a drawn mask case exercises, in labels: by them a search says what it has seen, and the generator is judged."""

from __future__ import annotations

import re

from hypothesis import event

from suites.strategies.masks import MaskCase, Request

TILE_EDGES = (16, 64, 128)
"""Tokens of the tiles of the usual kernels."""


def features(case: MaskCase) -> set[str]:
    """The labels of a case."""
    found = {label for request in case.requests for label in _of_request(request, case.window)}
    found |= {"several requests"} if len(case.requests) > 1 else set()
    found |= {"windowed"} if case.window else set()
    context = sum(r.queries for r in case.requests)
    if context > 1 and case.tokens.stride != 1:
        found |= {"non-contiguous input", "spaced tokens" if case.tokens.stride else "one value for all tokens"}
    return found | {f"token types in {case.tokens.dtype}"}


def note(case: MaskCase) -> None:
    """Makes each label of a case an event of the running example: ``--hypothesis-show-statistics`` counts them."""
    for label in features(case):
        event(label)


def _of_request(request: Request, window: int | None) -> set[str]:
    found = {"prefix"} if request.cached else set()
    found |= {"empty request"} if request.queries == 0 else set()
    found |= {f"request longer than {edge}" for edge in TILE_EDGES if len(request.types) > edge}
    for blob in re.finditer("[12]+", request.types):
        found.add("vision")
        found |= {"audio beside vision"} if "3" in request.types else set()
        found |= {"blob at index 0"} if blob.start() == 0 else set()
        found |= {"blob at the last token"} if blob.end() == len(request.types) else set()
        found |= {"blob cut by the prefix"} if blob.start() < request.cached < blob.end() else set()
        found |= {"two blobs touch"} if len(set(request.items[slice(*blob.span())])) > 1 else set()
        found |= {f"blob across {edge}" for edge in TILE_EDGES if blob.start() // edge < (blob.end() - 1) // edge}
        if window:
            length = blob.end() - blob.start()
            found.add(f"{'longer than' if length > window else 'as long as' if length == window else 'shorter than'} window")
    return found
