"""The blobs of a request as engines that handle items hold them: a range of positions for each item."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from impl.peers.per_request import items_of, types_of
from reference.tokens import VISION, MaskBatch, Segment, TokenType


class Span(NamedTuple):
    """One item of a request.

    Attributes:
        first: The position of its first token.
        last: The position of its last token.
        kind: The type of its first token; an item has one modality.
    """

    first: int
    last: int
    kind: TokenType


def spans_of(batch: MaskBatch, segment: Segment) -> list[Span]:
    """The vision items of a request in the order of their tokens, those of a prefix of known types included.

    Without item ids an item is a run of one type.
    """
    types = types_of(batch, segment).tolist()
    items = types if batch.item_ids is None else items_of(batch, segment).tolist()
    spans = []
    runs = groupby(range(segment.keys), lambda position: (types[position] in VISION, items[position]))
    for (vision, _), run in runs:
        positions = list(run)
        if vision:
            spans.append(Span(positions[0], positions[-1], TokenType(types[positions[0]])))
    return spans
