"""Which lists ``-m`` asks for, which expressions are refused, and which tests a line with ``-k`` or ``-m`` means."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entries import Entry, parse_entry
from harness.selection import check_expressions, check_marker_expression, idle, means, named_lists
from harness.waives import Waiver, parse_waiver

KNOWN = {"l0_a", "l0_b", "slow"}


@pytest.mark.parametrize(
    "expression",
    ["", "l0_a", "not l0_a", "l0_a and (l0_b or not slow)", "l0_a and True or False", "slow(seconds=3, kind='x') and l0_b"],
)
def test_an_expression_of_known_markers_is_taken(expression: str) -> None:
    check_marker_expression(expression, KNOWN)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("l0_c", "-m l0_c: no list or marker is called 'l0_c'; did you mean 'l0_"),
        ("l0_a and not l0_aa", "-m l0_a and not l0_aa: no list or marker is called 'l0_aa'; did you mean 'l0_a'?"),
        ("TRUE and l0_a", "-m TRUE and l0_a: no list or marker is called 'TRUE'"),
        ("slow(seconds=3) or fast(seconds=3)", "no list or marker is called 'fast'"),
    ],
)
def test_a_marker_that_nobody_knows_is_refused_with_the_nearest(expression: str, said: str) -> None:
    with pytest.raises(pytest.UsageError) as error:
        check_marker_expression(expression, KNOWN)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("expression", "lists"),
    [
        ("", []),
        ("l0_a", ["l0_a"]),
        ("not l0_a", []),
        ("l0_a or l0_b", ["l0_a", "l0_b"]),
        ("l0_a and l0_b", ["l0_a", "l0_b"]),
        ("l0_b and not slow", ["l0_b"]),
        ("l0_a and not l0_b", ["l0_a"]),
        ("slow", []),
        ("l0_a or not l0_a", []),
        ("not (not l0_a)", ["l0_a"]),
        ("slow(seconds=3) and l0_b", ["l0_b"]),
    ],
)
def test_the_lists_that_are_asked_for_are_those_that_select_their_tests(expression: str, lists: list[str]) -> None:
    assert named_lists(expression, ["l0_a", "l0_b", "l0_c"]) == lists


LISTS = ["l0_d", "l0_a", "l0_c", "l0_b"]


@given(names=st.lists(st.sampled_from(LISTS), unique=True, min_size=1), word=st.sampled_from([" and ", " or "]))
def test_lists_are_named_in_the_order_of_the_lists(names: list[str], word: str) -> None:
    assert named_lists(word.join(names), LISTS) == [name for name in LISTS if name in names]


def test_what_is_no_expression_is_refused_by_its_place() -> None:
    with pytest.raises(pytest.UsageError, match=r"^-m: 'l0_a and' is no expression: .*expected"):
        named_lists("l0_a and", ["l0_a"])


def _entry(text: str, line: int = 4) -> Entry:
    return parse_entry(text, Path("l0_a.yml"), line)


def _waiver(text: str, line: int = 2) -> Waiver:
    waiver = parse_waiver(text, Path("waives.txt"), line)
    assert waiver is not None
    return waiver


def test_the_expressions_of_lines_are_checked_with_file_and_line() -> None:
    check_expressions([_entry("a.py"), _entry("a.py -k 'x and not y' -m 'slow or fast'"), _waiver("a.py -k x SKIP")])
    for line, said in (
        (_entry("a.py -k 'x and'", 7), "l0_a.yml:7: 'x and' is no expression: "),
        (_entry("a.py -k x -m '(slow'", 8), "l0_a.yml:8: '(slow' is no expression: "),
        (_waiver("a.py -m 'not' SKIP", 3), "waives.txt:3: 'not' is no expression: "),
    ):
        with pytest.raises(pytest.UsageError) as error:
            check_expressions([_entry("b.py -k fine"), line])
        assert str(error.value).startswith(said)


TESTS = """
import pytest

@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2])
def test_mask(n): pass

@pytest.mark.slow(seconds=3)
def test_cache(): pass

def test_plain(): pass
"""


@pytest.fixture
def items(pytester: pytest.Pytester) -> list[pytest.Item]:
    """Four tests of ``test_it.py``."""
    pytester.makeini("[pytest]\nmarkers = slow: takes long\n")
    pytester.makepyfile(test_it=TESTS)
    found, _ = pytester.inline_genitems("-p", "no:cacheprovider")
    return found


def test_a_line_means_what_meets_its_expressions_and_without_one_everything(items: list[pytest.Item]) -> None:
    assert len(items) == 4
    for options, names in (
        ("", ["test_mask[1]", "test_mask[2]", "test_cache", "test_plain"]),
        (" -k mask", ["test_mask[1]", "test_mask[2]"]),
        (" -k 'not mask'", ["test_cache", "test_plain"]),
        (" -m slow", ["test_mask[1]", "test_mask[2]", "test_cache"]),
        (" -m 'slow(seconds=3)'", ["test_cache"]),
        (" -k 'mask or plain' -m 'not slow'", ["test_plain"]),
        (" -k mask -m 'slow(seconds=3)'", []),
    ):
        for line in (_entry(f"test_it.py{options}"), _waiver(f"test_it.py{options} SKIP")):
            assert [item.name for item in items if means(line, item)] == names, options


def test_a_line_is_idle_if_its_expressions_leave_nothing_of_what_it_names(items: list[pytest.Item]) -> None:
    used = [
        _entry("test_it.py -k mask"),
        _waiver("test_it.py::test_cache -m slow SKIP"),
        _entry("test_it.py -k mask -m slow"),
    ]
    nothing = [
        _entry("test_it.py -k nothing"),
        _entry("test_it.py -m 'slow(seconds=4)'"),
        # Met by tests that it does not name.
        _entry("test_it.py::test_plain -k mask"),
        _waiver("test_it.py::test_plain -m slow SKIP"),
        # Equal to one that is used, but for its tests.
        _entry("other.py -k mask"),
    ]
    # What has no expression is held against the tests by the lint.
    without = [_entry("other.py"), _waiver("other.py SKIP")]
    assert idle([nothing[0], *used, *without, *nothing[1:]], items) == nothing
    assert idle(used, []) == used
    assert idle([], items) == []
