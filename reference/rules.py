"""What a mask must contain: the terms of one rule, and how they combine."""

from __future__ import annotations

import operator
from dataclasses import dataclass, fields
from enum import Enum


class Overlay(Enum):
    """Which tokens see forward."""

    NONE = "none"
    """Nobody: plain causal."""
    VISION = "vision"
    """The tokens of a vision blob see each other (MASK-BLOB-1)."""
    ALL = "all"
    """Every token: no causality at all (MASK-SCOPE-4)."""


class Order(Enum):
    """How blob and window combine; they differ only for a blob longer than the window (MASK-ORDER-1 to -3)."""

    WINDOW_LAST = "window-last"
    """``(base or blob) and past``"""
    OR_LAST = "or-last"
    """``(base and past) or blob``"""
    DROP_LONGER = "drop-longer"
    """OR_LAST, and a blob longer than the window counts as text."""


class Prefix(Enum):
    """What a row sees of the cached prefix (MASK-PREFIX-1, MASK-PREFIX-2)."""

    WINDOWED = "windowed"
    """What the rule says, as of any other key."""
    OPEN = "open"
    """All of it: the attention kernel applies the window itself."""


class Segmentation(Enum):
    """Where one blob ends and the next begins (MASK-BLOB-2 to -4)."""

    RUN = "run"
    """A blob is a maximal run of vision tokens."""
    TYPE = "type"
    """A blob is a maximal run of vision tokens of one type."""
    ITEM = "item"
    """A blob is a maximal run of vision tokens of one item id."""


@dataclass(frozen=True)
class MaskRule:
    """The rule of one layer. SPEC.md defines each term; :mod:`reference.profiles` names the rules in use.

    Attributes:
        window: W, the keys that a text row sees, itself included; None for no bound.
        overlay: Which tokens see forward.
        order: How blob and window combine; without effect unless ``overlay`` is VISION and there is a window.
        prefix: What a row sees of the cached prefix.
        segmentation: Where one blob ends and the next begins.
        bound_future: Whether keys at ``p + W`` and beyond are hidden: under WINDOW_LAST inside a blob too.

    Raises:
        TypeError: ``window`` is no integer, or another field is not a member of its enum.
        ValueError: ``window`` is below 1, or above the keys that a request can have.
    """

    window: int | None = None
    overlay: Overlay = Overlay.NONE
    order: Order = Order.WINDOW_LAST
    prefix: Prefix = Prefix.WINDOWED
    segmentation: Segmentation = Segmentation.RUN
    bound_future: bool = False

    def __post_init__(self) -> None:
        if self.window is not None:
            try:
                window = operator.index(self.window)
            except TypeError:
                window = None
            if window is None or isinstance(self.window, bool):
                raise TypeError(f"window is {self.window!r}, expected an int of at least 1, or None for no window")
            if window < 1:
                raise ValueError(
                    f"window is {window}, expected at least 1 (W counts the query itself), or None for no window"
                )
            if window > MAX_WINDOW:
                raise ValueError(
                    f"window is {window}, expected at most {MAX_WINDOW}, the longest request, or None for no window"
                )
            object.__setattr__(self, "window", window)
        for field in fields(self):
            kind = _KINDS.get(field.name)
            value = getattr(self, field.name)
            if kind is not None and not isinstance(value, kind):
                raise TypeError(f"{field.name} is {value!r} ({type(value).__name__}), expected a {kind.__name__}")

    @property
    def segments_by_item(self) -> bool:
        """Whether item ids decide anything under this rule."""
        return self.overlay is Overlay.VISION and self.segmentation is Segmentation.ITEM

    def in_words(self) -> str:
        """The rule as one line, for a person who reads a failure."""
        window = "no window" if self.window is None else f"W={self.window}"
        if self.overlay is Overlay.ALL:
            seen = "every key" if self.window is None else "every key less than W behind"
        elif self.overlay is Overlay.NONE or self.window is None:
            seen = "c <= p" if self.window is None else "p-W < c <= p"
            if self.overlay is Overlay.VISION:
                seen += " or same blob"
        elif self.order is Order.WINDOW_LAST:
            seen = "(c <= p or same blob) and c > p-W"
        else:
            seen = "p-W < c <= p or same blob"
        parts = [window, f"visible: {seen}"]
        looks_ahead = self.overlay is Overlay.ALL or self.order is Order.WINDOW_LAST
        if self.bound_future and self.window is not None and looks_ahead:
            parts.append("and c < p+W")
        if self.overlay is Overlay.VISION:
            parts.append(f"blobs by {self.segmentation.value}")
            if self.order is Order.DROP_LONGER and self.window is not None:
                parts.append("a blob longer than W counts as text")
        if self.prefix is Prefix.OPEN:
            parts.append("prefix columns all visible")
        return ", ".join(parts)


MAX_WINDOW = 2**31 - 1
"""Widest window: no request has more keys (MASK-INPUT-4)."""

_KINDS: dict[str, type] = {
    "overlay": Overlay,
    "order": Order,
    "prefix": Prefix,
    "segmentation": Segmentation,
    "bound_future": bool,
}
