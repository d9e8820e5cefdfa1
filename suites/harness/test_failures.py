"""What a failed report says: its text, its first line, its example, its picture and the command that runs it again."""

from __future__ import annotations

import json
import shlex
from typing import Any

import msgspec
import pytest

from harness.failures import Failure, failure_of, replay, text_of
from harness.records import BLOB, EXAMPLE, PICTURE, Picture

FAILING = """
import pytest

def check(n):
    assert n == 2, "it is not\\nwhat it should be"

def test_assert():
    check(1)

def test_chain():
    try:
        check(1)
    except AssertionError as error:
        raise ValueError("outer") from error

def test_fail():
    pytest.fail("said so", pytrace=False)

@pytest.fixture
def broken():
    raise KeyError("no")

def test_fixture(broken): pass

def test_unknown_fixture(nowhere): pass
"""


def test_the_text_of_a_failure_is_what_pytest_prints_of_it(pytester: pytest.Pytester) -> None:
    """In its order, without what stands between the parts, but all of the errors."""
    pytester.makepyfile(FAILING)
    run = pytester.inline_run("-p", "no:cacheprovider", "--tb=short")
    failed = [report for report in run.getreports("pytest_runtest_logreport") if report.failed]
    assert len(failed) == 5
    for report in failed:
        printed = report.longreprtext.splitlines()
        text = text_of(json.loads(json.dumps(report._to_json()))).splitlines()
        rest = iter(printed)
        assert all(line in rest for line in text)
        assert [line for line in printed if line.startswith(("E ", "said"))] == [
            line for line in text if line.startswith(("E ", "said"))
        ]


def _part(style: str, lines: list[str], where: tuple[str, int, str] | None = None) -> dict[str, Any]:
    place = where and dict(zip(("path", "lineno", "message"), where, strict=True))
    return {"type": "ReprEntry", "data": {"lines": lines, "reprfileloc": place, "style": style}}


def _crash(*parts: dict[str, Any], message: str = "ValueError: x\ny\nz", chain: bool = True) -> dict[str, Any]:
    """A report of a failure, as pytest serialises it."""
    traceback = {"reprentries": list(parts), "style": None}
    crash = {"path": "a.py", "lineno": 3, "message": message}
    last = [[traceback, crash, None]] if chain else None
    return {"longrepr": {"reprcrash": crash, "reprtraceback": traceback, "sections": [], "chain": last}}


PLACE = ("a.py", 3, "ValueError")


@pytest.mark.parametrize("chain", [True, False])
@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([_part("short", ["    f()"], PLACE), _part("short", ["E   x"], PLACE)], "{0}\n    f()\n{0}\nE   x"),
        ([_part("long", [">   f()"], PLACE), _part("long", ["E   x"], PLACE)], ">   f()\n{0}\nE   x\n{0}"),
        ([_part("short", ["E   x"])], "E   x"),
        # What the style leaves out is in the message.
        ([], "ValueError: x\ny\nz"),
    ],
)
def test_the_place_stands_before_the_lines_in_the_short_style_and_else_behind_them(
    parts: list[dict[str, Any]], text: str, chain: bool
) -> None:
    assert text_of(_crash(*parts, chain=chain)) == text.format("a.py:3: ValueError")


@pytest.mark.parametrize(
    ("longrepr", "text"),
    [
        ("SyntaxError", "SyntaxError"),
        ({}, ""),
        ({"reprcrash": None, "reprtraceback": None, "chain": None}, ""),
        ({"reprcrash": {}, "chain": [[{}, None, None]]}, ""),
        ({"chain": [[{"reprentries": [{"data": {}}]}, None, None]]}, ""),
        ({"reprcrash": {"message": "E"}, "reprtraceback": {}}, "E"),
    ],
)
def test_what_a_report_does_not_say_is_left_out(longrepr: object, text: str) -> None:
    """A plugin may have written it: none is too odd for a verdict."""
    assert text_of({"longrepr": longrepr}) == text


def test_a_failure_is_what_its_report_and_its_properties_say() -> None:
    picture = Picture("rule", ["#."], ["##"], "..", 0, 0, 0, 16)
    report = _crash(_part("short", ["E   ValueError: x", "E   y"], PLACE))
    properties = {EXAMPLE: "n=1", BLOB: "AXic=", PICTURE: msgspec.json.encode(picture).decode()}
    assert failure_of("a.py::t[x y]", report, properties, ["--mask-impl", "m n:o"]) == Failure(
        message="ValueError: x",
        text="a.py:3: ValueError\nE   ValueError: x\nE   y",
        example="n=1",
        replay="python -m pytest 'a.py::t[x y]' -n0 --mask-impl 'm n:o' --example AXic=",
        picture=picture,
    )


@pytest.mark.parametrize(
    "report",
    [
        {"longrepr": "it ended\nby signal 9"},
        {"longrepr": {**_crash(_part("short", ["it ended", "x"]))["longrepr"], "reprcrash": None}},
    ],
)
def test_without_a_crash_the_message_is_the_first_line_of_the_text(report: dict[str, Any]) -> None:
    found = failure_of("a.py::t", report, {}, [])
    assert (found.message, found.text) == ("it ended", text_of(report))
    assert (found.example, found.picture, found.replay) == (None, None, "python -m pytest a.py::t -n0")


@pytest.mark.parametrize("picture", ["", "{}", "[]", '{"title": 1}', 3])
def test_what_is_no_picture_costs_no_failure(picture: object) -> None:
    assert failure_of("a.py::t", _crash(), {PICTURE: picture}, []).picture is None


def test_the_command_survives_a_shell() -> None:
    words = ["a.py::t[x y-\"q\" 'p' #$(1)]", "--mask-impl", "a b", "AX ic="]
    node_id, *command, blob = words
    expected = ["python", "-m", "pytest", node_id, "-n0", *command]
    assert shlex.split(replay(node_id, command, None)) == expected
    assert shlex.split(replay(node_id, command, blob)) == [*expected, "--example", blob]
