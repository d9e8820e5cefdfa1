"""The oracle's twin: the same requirements once more, cell by cell in plain Python, for sizes up to a dozen.

It shares no step with :mod:`reference.dense`: two tokens lie in one blob if every token between them
continues it, which needs no numbering of runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference.rules import MaskRule, Order, Overlay, Prefix, Segmentation


def visible(rule: MaskRule, types: Sequence[int], items: Sequence[int], prefix: int, query: int, key: int) -> bool:
    """Whether one query sees one key.

    Args:
        rule: The rule of the layer.
        types: Type of every token of the request from position 0, cached ones first.
        items: Item id of every token, likewise; not read unless the rule segments by item.
        prefix: P, the cached tokens.
        query: Absolute position p of the query.
        key: Absolute position c of the key.

    Returns:
        The cell of the mask.
    """
    if rule.prefix is Prefix.OPEN and key < prefix:
        return True
    behind = query - key
    causal = behind >= 0 or rule.overlay is Overlay.ALL
    in_window = rule.window is None or behind < rule.window
    if rule.bound_future and rule.window is not None and -behind >= rule.window:
        in_window = False
    together = rule.overlay is Overlay.VISION and _same_blob(rule, types, items, query, key)
    if rule.order is Order.WINDOW_LAST:
        # The past bound holds inside a blob too, and the future bound where the rule has one.
        return in_window and (causal or together)
    return together or (causal and in_window)


def _same_blob(rule: MaskRule, types: Sequence[int], items: Sequence[int], one: int, other: int) -> bool:
    first, last = min(one, other), max(one, other)
    if types[first] not in (1, 2):
        return False
    if not all(_continues(rule, types, items, position) for position in range(first + 1, last + 1)):
        return False
    if rule.order is Order.DROP_LONGER and rule.window is not None:
        while first > 0 and _continues(rule, types, items, first):
            first -= 1
        while last + 1 < len(types) and _continues(rule, types, items, last + 1):
            last += 1
        return last - first + 1 <= rule.window
    return True


def _continues(rule: MaskRule, types: Sequence[int], items: Sequence[int], position: int) -> bool:
    before, here = types[position - 1], types[position]
    if before not in (1, 2) or here not in (1, 2):
        return False
    if rule.segmentation is Segmentation.TYPE:
        return before == here
    if rule.segmentation is Segmentation.ITEM:
        return items[position - 1] == items[position]
    return True
