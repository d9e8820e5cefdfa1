"""Masks written out by hand: published fault reports reduced to a few tokens, and the rows that are right.

Source of the reports and of what went wrong in each: SPEC.md, last table.
"""

from __future__ import annotations

from dataclasses import dataclass

from suites.strategies.masks import MaskCase, Placement, Request, request


@dataclass(frozen=True)
class Golden:
    """One case with its right answer.

    Attributes:
        profile: The rule.
        case: The input.
        rows: One word a row, all requests in turn: ``1`` visible, ``.`` hidden, ``|`` after the prefix.
    """

    profile: str
    case: MaskCase
    rows: str

    def bytes(self) -> list[int]:
        """The packed mask."""
        return [int(cell == "1") for cell in self.rows if cell in "1."]


def _golden(profile: str, rows: str, *requests: Request | str, window: int | None = None, **rest: object) -> Golden:
    parts = tuple(request(r) if isinstance(r, str) else r for r in requests)
    return Golden(profile, MaskCase(parts, window, **rest), rows)  # type: ignore[arg-type]


_TEXT = "gemma4-sliding-causal"
_OPEN = "trtllm-gemma4-sliding-open-prefix"
_SHEARED = "1.... 11... 111.. .111. ..111"

GOLDEN: dict[str, Golden] = {
    "readme-window-last": _golden(
        "gemma3-sliding",
        """1........... 11.......... 11111111.... 11111111.... .1111111.... ..111111....
        ...11111.... ....1111.... .....1111... ......11111. .......1111. ........1111""",
        "0 0 1 1 1 1 1 1 0 1 1 0",
        window=4,
    ),
    "or-last": _golden(
        "trtllm-gemma3-sliding", "1...... 111111. 111111. .11111. .11111. .11111. ....111", "0 1 1 1 1 1 0", window=3
    ),
    "future-bounded": _golden(
        "jax-gemma3-sliding", "1...... 1111... 11111.. .11111. ..1111. ...111. ....111", "0 1 1 1 1 1 0", window=3
    ),
    "prefix-windowed": _golden("trtllm-gemma4-sliding", ".1|1.. ..|111 ..|.11", "0 0 | 0 1 1", window=2),
    "prefix-open": _golden(_OPEN, "11|1.. 11|111 11|.11", "0 0 | 0 1 1", window=2),
    "trtllm-or-last": _golden(
        "trtllm-gemma4-sliding",
        "1....... 11...... .11111.. ..1111.. ..1111.. ..1111.. .....11. ......11",
        "0 0 1 1 1 1 0 0",
        window=2,
    ),
    "M01": _golden("gemma3-full", "1..... 111... 111... 1111.. 111111 111111", "0 1 1 0 1 1"),
    "M02": _golden("trtllm-gemma3-full", "11... 11... 111.. 11111 11111", "1 1 0 1 1"),
    "M04": _golden("gemma3-full", "1... 111. 111. 1111", "0 1 1 0"),
    "M05": _golden("gemma3-sliding", "1...... 111111. 111111. .11111. ..1111. ...111. ....111", "0 1 1 1 1 1 0", window=3),
    "M07": _golden("gemma4-sliding", "1111. 1111. 1111. .111. ..111", "1 1 1 1 0", window=3),
    "M07-vllm": _golden("vllm-gemma4-sliding", "1111. 1111. 1111. .111. ..111", "1 1 1 1 0", window=3),
    "M08-sliding": _golden("gemma4-sliding", "1... 111. 111. 1111", "0 1 1 0", window=8),
    "M08-full": _golden("gemma4-full", "1... 11.. 111. 1111", "0 1 1 0"),
    "M10": _golden("gemma4-all-full", "111 111 111", "0 0 0"),
    "M11": _golden("gemma3-full", "1... 11.. 111. 1111", "0 3 3 1"),
    "M13": _golden(_TEXT, "..1|1. ...|11", "0 0 0 | 0 0", window=2),
    "M14": _golden(_TEXT, "...111|1", "0 0 0 0 0 0 | 0", window=4),
    "M16": _golden(_TEXT, "..11|1.. ...1|11. ....|111", "0 0 0 0 | 0 0 0", window=3),
    "M17": _golden(_TEXT, _SHEARED, "0 0 0 0 0", window=3),
    "M19": _golden(_TEXT, "..111|1", "0 0 0 0 0 | 0", window=4),
    "M20": _golden("gemma3-full", "11|1. 11|11", "0 0 | 0 0"),
    "M22": _golden(
        "gemma3-full", "111|1.... 111|1111. 111|1111. 111|1111. 111|11111", "0 0 0 | 0 1 1 1 0", prefix_known=True
    ),
    "M23": _golden(_TEXT, "1. 11 ..11|1. ...1|11", "0 0", "0 0 0 0 | 0 0", window=3),
    "M25": _golden("gemma3-full", "1.... 11... 111.. 1111. 11111", "0 3 3 3 0"),
    "M26": _golden("gemma3-full", "1..... 1111.. 1111.. 1111.. 11111. 111111", "0 1 1 1 0 0"),
    "M28-full": _golden("gemma3-full", "11|11. 11|11. 11|111", "0 1 | 1 1 0", prefix_known=True),
    "M28-known": _golden("trtllm-gemma3-sliding", ".1|11. .1|11. ..|.11", "0 1 | 1 1 0", window=2, prefix_known=True),
    "M28-unknown": _golden("trtllm-gemma3-sliding", ".1|11. ..|11. ..|.11", "0 1 | 1 1 0", window=2),
    "M29": _golden("gemma3-full", "1. 11 1.. 11. 111", "0 0", "0 0 0"),
    "M32": _golden("gemma3-full", "11|1.. 11|11. 11|111", "0 0 | 0 0 0", trailing="11"),
    "M34": _golden("gemma3-full", "1..... 111... 111... 1111.. 11111. 111111", "0 1 1 0 0 0"),
    "M35": _golden("gemma3-sliding", "..1|111 ...|111 ...|.11", "0 0 0 | 1 1 1", window=2),
    "empty-with-a-prefix": _golden("gemma3-full", "11|1. 11|11", "0 1 1 |", "0 0 | 0 0", prefix_known=True),
    "prefix-types-behind-an-empty-request": _golden(
        "trtllm-gemma3-sliding", "1|1. .|.1", "0 0 0 |", "1 | 1 0", window=1, prefix_known=True
    ),
    "one-item-of-two-types": _golden("vllm-gemma3-full", "11. 11. 111", Request("120", "aab")),
    "one-id-twice": _golden("vllm-gemma3-full", "1.. 11. 111", Request("101", "aba")),
    "M37": _golden("gemma3-full", "1.. 111 111 11. 11. 111", "0 1 1", "1 1 0"),
    "M38": _golden("gemma3-full", "1. 11 1. 11", "0 0", "0 0"),
    "M40": _golden(_TEXT, "." * 49 + "1" * 15 + "|1", "0" * 64 + "|0", window=16),
    "window-of-thousands": _golden(_TEXT, ".." + "1" * 4999 + "|1", "0" * 5001 + "|0", window=5000),
    "M47": _golden("gemma3-full", "1 1 1 1 1", "0", "1", "2", "3", "0"),
    "M49": _golden("gemma3-full", "1... 111. 111. 1111", "0 1 1 0", tokens=Placement("int64", 2, 0)),
    "M50": _golden("gemma3-full", "1... 111. 111. 1111", "0 1 1 0", tokens=Placement("int32", 2, 1)),
    "M52": _golden("gemma3-full", "111 111 111", "1 1 1", trailing="1"),
    "M53": _golden("gemma3-full", "11.. 11.. 111. 1111", "1 1 0 0"),
    "M55": _golden("gemma3-full", "1|1. 1|11", "0 | 0 0"),
    "M59": _golden(_TEXT, "...11|1", "0 0 0 0 0 | 0", window=3),
    "M61": _golden("gemma3-full", "111|1111 111|1111 111|1111 111|1111", "0 0 0 | 1 1 1 1"),
    "M64": _golden(_TEXT, _SHEARED, "0 0 0 0 0", window=3),
    "M65": _golden("gemma4-sliding", _SHEARED, "0 0 0 0 0", window=3),
}
