"""Reports: one verdict as files for people, CI servers and dashboards. Plain data in, files out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from harness.render.badge import badge_svg
from harness.render.ctrf import ctrf_json
from harness.render.junit import junit_xml
from harness.render.page import index_html
from harness.render.schema import conformance_schema
from harness.render.summary import summary_md
from harness.render.text import encodable, printable
from harness.verdict import Conformance, in_a_line

__all__ = ["REPORTS", "conformance_schema", "render", "write_reports"]


def _conformance_json(conformance: Conformance) -> bytes:
    return msgspec.json.format(msgspec.json.encode(conformance), indent=1) + b"\n"


def _verdict_txt(conformance: Conformance) -> bytes:
    return " ".join(printable(in_a_line(conformance)).split("\n")).encode() + b"\n"


REPORTS: dict[str, Callable[[Conformance], bytes]] = {
    "conformance.json": _conformance_json,
    "junit.xml": junit_xml,
    "ctrf.json": ctrf_json,
    "verdict.txt": _verdict_txt,
    "badge.svg": badge_svg,
    "summary.md": summary_md,
    "index.html": index_html,
}
"""File -> what makes it."""


def render(conformance: Conformance) -> dict[str, bytes]:
    """Every report by the name of its file; the same input gives the same bytes."""
    clean = encodable(conformance)
    return {name: report(clean) for name, report in REPORTS.items()}


def write_reports(conformance: Conformance, folder: Path) -> list[Path]:
    """Writes every report.

    Args:
        conformance: What a run, or the merged shards of one, is worth.
        folder: Where to; made if need be, and older reports in it are overwritten.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in render(conformance).items():
        path = folder / name
        path.write_bytes(content)
        written.append(path)
    return written
