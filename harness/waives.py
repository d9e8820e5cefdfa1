"""Waivers: lines of ``waives.txt``. Plain data in, plain data out.

A line reads ``[full:PLATFORM/]ID SKIP (https://link)``; what follows `` # `` is a comment. A waiver is data: no template
is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.lists import nearest

_LINE = re.compile(r"^(?:full:(?P<platform>[^/\s]+)/)?(?P<id>\S.*?) (?P<marker>[A-Z]+)(?P<rest> .*)?$")
_LINK = re.compile(r"^\((?P<link>https?://\S+)\)$")


class WaiverError(Exception):
    """A waiver is not what it should be; the message names file and line."""


@dataclass(frozen=True)
class Waiver:
    """One waived test.

    Attributes:
        node_id: The exact id of the test, or of a function for all of its parameters.
        platform: Platform of the lists it holds for (``full:B200/`` for ``l0_b200``); None for all.
        link: Where the fault is tracked.
        path: The file it stands in.
        line: The line it stands on.
    """

    node_id: str
    platform: str | None
    link: str
    path: Path
    line: int

    def covers(self, node_id: str) -> bool:
        """Whether a collected test is meant."""
        return node_id == self.node_id or node_id.startswith(self.node_id + "[")


def read_waivers(path: Path) -> list[Waiver]:
    """Reads a file of waivers; a file that is not there has none.

    Raises:
        WaiverError: A line has no marker, an unknown one, or no link.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    parsed = (parse_waiver(text, path, number) for number, text in enumerate(lines, start=1))
    return [waiver for waiver in parsed if waiver is not None]


def parse_waiver(text: str, path: Path, number: int) -> Waiver | None:
    """Reads one line; None for a blank line or a comment.

    Raises:
        WaiverError: As :func:`read_waivers`.
    """
    where = f"{path}:{number}"
    stripped = re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()
    if not stripped:
        return None
    match = _LINE.match(stripped)
    if match is None:
        raise WaiverError(f"{where}: {stripped!r} has no marker; write 'ID SKIP (https://link)'")
    if match["marker"] != "SKIP":
        raise WaiverError(f"{where}: marker {match['marker']} is not supported yet, expected SKIP")
    link = _LINK.match((match["rest"] or "").strip())
    if link is None:
        raise WaiverError(f"{where}: no link; write '{match['id']} SKIP (https://link)' so that somebody can look it up")
    return Waiver(match["id"], match["platform"], link["link"], path, number)


def unmatched(waivers: Sequence[Waiver], node_ids: Sequence[str]) -> list[str]:
    """Errors for the waivers that cover no test."""
    return [
        f"{w.path}:{w.line}: {w.node_id!r} matches no test{nearest(w.node_id, node_ids)} Correct it or delete the line."
        for w in waivers
        if not any(w.covers(node_id) for node_id in node_ids)
    ]
