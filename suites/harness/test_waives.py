"""Waivers: what is read, what is refused, and what a line covers."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.waives import Waiver, WaiverError, parse_waiver, read_waivers, unmatched

PATH = Path("waives.txt")
LINK = "https://bugs.example/1"


def test_a_line_is_an_id_and_a_link() -> None:
    assert parse_waiver(f"a.py::t[x y/z] SKIP ({LINK})  # soon", PATH, 3) == Waiver("a.py::t[x y/z]", None, LINK, PATH, 3)


def test_a_platform_stands_before_the_id() -> None:
    assert parse_waiver(f"full:B200/a.py::t SKIP ({LINK})", PATH, 1) == Waiver("a.py::t", "B200", LINK, PATH, 1)


def test_a_hash_inside_an_id_is_no_comment() -> None:
    waiver = parse_waiver(f"a.py::t[#1] SKIP ({LINK})", PATH, 1)
    assert waiver is not None
    assert waiver.node_id == "a.py::t[#1]"


@pytest.mark.parametrize("line", ["", "   ", "# nothing", "  # a.py::t SKIP"])
def test_blank_lines_and_comments_waive_nothing(line: str) -> None:
    assert parse_waiver(line, PATH, 1) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.py::t", "waives.txt:5: 'a.py::t' has no marker"),
        ("a.py::t SKIP", "waives.txt:5: no link"),
        ("a.py::t SKIP (later)", "waives.txt:5: no link"),
        (f"a.py::t SKIP # ({LINK})", "waives.txt:5: no link"),
        (f"a.py::t XFAIL ({LINK})", "waives.txt:5: marker XFAIL is not supported yet"),
        (f"a.py::t SKIP ({LINK}) owner=me", "waives.txt:5: no link"),
    ],
)
def test_a_waiver_without_marker_or_link_is_refused(line: str, message: str) -> None:
    with pytest.raises(WaiverError, match=message):
        parse_waiver(line, PATH, 5)


def test_a_file_that_is_not_there_waives_nothing(tmp_path: Path) -> None:
    assert read_waivers(tmp_path / "waives.txt") == []


@pytest.mark.parametrize(
    ("node_id", "covered"), [("a.py::t", True), ("a.py::t[1]", True), ("a.py::t2", False), ("b.py::t", False)]
)
def test_a_waiver_covers_a_test_and_its_parameters(node_id: str, covered: bool) -> None:
    assert Waiver("a.py::t", None, LINK, PATH, 1).covers(node_id) is covered


def test_a_waiver_that_matches_nothing_is_named() -> None:
    (error,) = unmatched([Waiver("a.py::test_b", None, LINK, PATH, 4)], ["a.py::test_a"])
    assert error.startswith("waives.txt:4: 'a.py::test_b' matches no test; did you mean 'a.py::test_a'? Correct it")
