"""Contrast of two colours as the Web Content Accessibility Guidelines count it."""

from __future__ import annotations


def luminance(colour: str) -> float:
    """Of ``#rrggbb``: 0 for black, 1 for white."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """From 1 to 21; text needs 4.5, the edge of a control 3."""
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)
