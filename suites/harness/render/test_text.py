"""Foreign text in reports: what is spelled out, cut and made inert."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.render.nodeids import NodeId, split
from harness.render.text import cut, fence, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("\x00\x7f\x85", "\\x00\\x7f\\x85"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("50%\rdone", "50%\\x0ddone"),
        ("\ud800\ufffe", "\\ud800\\ufffe"),
        ("abc\u202edef", "abc\\u202edef"),
        ("Größe 图 😀", "Größe 图 😀"),
    ],
)
def test_what_no_reader_could_see_is_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_what_is_printable_stays(text: str) -> None:
    assert printable(printable(text)) == printable(text)


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    assert cut("a" * 10, 10) == "a" * 10
    assert cut("a" * 1510, 10) == "aaaaaaaaaa… (1,500 more characters)"


@given(st.text("`\na"))
def test_no_text_closes_its_fence(text: str) -> None:
    assert not re.search(fence(text), text)
    assert len(fence(text)) >= 3


@pytest.mark.parametrize(
    ("node_id", "parts"),
    [
        ("suites/a/test_b.py::test_c", NodeId("suites/a/test_b.py", (), "test_c")),
        ("b.py::T::U::test_c[x::y]", NodeId("b.py", ("T", "U"), "test_c[x::y]")),
        ("b.py::test_c[[a/b.py::c]]", NodeId("b.py", (), "test_c[[a/b.py::c]]")),
        ("conftest.py", NodeId("conftest.py", (), "conftest.py")),
        ("::", NodeId("", (), "::")),
    ],
)
def test_a_node_id_has_a_file_classes_and_a_name(node_id: str, parts: NodeId) -> None:
    assert split(node_id) == parts


def test_module_and_classes_are_joined_with_dots() -> None:
    assert split("suites/a/test_b.py::T::test_c").classname == "suites.a.test_b.T"
