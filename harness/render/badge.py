"""``badge.svg``: the verdict as a small picture for a README."""

from __future__ import annotations

from harness.render.templates import environment
from harness.verdict import Conformance, Verdict

COLOURS = {
    Verdict.CONFORMANT: "#1a7f37",
    Verdict.NOT_CONFORMANT: "#8a5300",
    Verdict.HARNESS_ERROR: "#6639ba",
    Verdict.FAILED: "#c0272d",
}
"""White text has a contrast of at least 4.5 on each."""

_CHARACTER = 6.6
"""Width of a character in user units: the text is fitted into what it gives."""
_MARGIN = 6


def badge_svg(conformance: Conformance) -> bytes:
    """The badge: "conformance" and the verdict."""
    widths = {text: round(len(text) * _CHARACTER) for text in ("conformance", conformance.verdict.value)}
    label, value = widths
    return (
        environment()
        .get_template("badge.svg.jinja")
        .render(
            label=label,
            value=value,
            label_width=widths[label],
            value_width=widths[value],
            margin=_MARGIN,
            colour=COLOURS[conformance.verdict],
        )
        .encode()
    )
