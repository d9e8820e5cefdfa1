"""Waivers: what is read, what is refused, what prints back, and what a line covers."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import event, example, given

from harness.entries import Index
from harness.statuses import not_run
from harness.waives import FIELDS, MALFORMED, Waiver, WaiverError, parse_waiver, platform_key, read_waivers, scan_waivers
from suites.strategies.registration import WAIVER_LINES, damaged, waivers

PATH = Path("waives.txt")
LINK = "https://bugs.example/1"
REAL = Path(__file__).parents[2] / "../shared/data/trtllm_lists"


def _waiver(text: str) -> Waiver:
    waiver = parse_waiver(text, PATH, 5)
    assert waiver is not None
    return waiver


def _squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize(
    ("text", "target", "platform", "marker", "argument", "comment"),
    [
        (f"a.py::t SKIP ({LINK})", "a.py::t", None, "SKIP", LINK, None),
        (f"full:B200/a.py::t SKIP ({LINK})", "a.py::t", "B200", "SKIP", LINK, None),
        # C6.1: the prefix is a prefix, whatever letters the id begins with.
        (f"full:L40S/full/ul.py::t SKIP ({LINK})", "full/ul.py::t", "L40S", "SKIP", LINK, None),
        # C6.3: a platform is no text to put elsewhere.
        (f"full:B200/a.py::t[B200-A100/x] SKIP ({LINK})", "a.py::t[B200-A100/x]", "B200", "SKIP", LINK, None),
        # C6.4: a '#' in an id begins no comment; behind the marker it does.
        (f"a.py::t[#1 #2] SKIP ({LINK}) # now #3", "a.py::t[#1 #2]", None, "SKIP", LINK, "now #3"),
        ("a.py::t[x] SKIP # (https://chat.example/1)", "a.py::t[x]", None, "SKIP", None, "(https://chat.example/1)"),
        # C6.7: upstream takes it without a blank, and every marker is cut off.
        ("a.py::t SKIP(why)", "a.py::t", None, "SKIP", "why", None),
        ("a.py::t XFAIL (why)", "a.py::t", None, "XFAIL", "why", None),
        ("a.py::t UNSTABLE", "a.py::t", None, "UNSTABLE", None, None),
        ("a.py::t ISOLATION", "a.py::t", None, "ISOLATION", None, None),
        ("a.py::t TIMEOUT (90)", "a.py::t", None, "TIMEOUT", "90", None),
        # Upstream cuts prose at the first parenthesis that closes.
        ("a.py::t SKIP (SKIP it (now) # 1)", "a.py::t", None, "SKIP", "SKIP it (now) # 1", None),
        ("a.py::t[x SKIP (y)] SKIP (z)", "a.py::t[x SKIP (y)]", None, "SKIP", "z", None),
        ('a.py -k "a SKIP b" SKIP (z)', 'a.py -k "a SKIP b"', None, "SKIP", "z", None),
        ("a.py::t[x SKIP (z)", "a.py::t[x", None, "SKIP", "z", None),
        ("a.py::t[x # y SKIP (z)", "a.py::t[x # y", None, "SKIP", "z", None),
        ("a.py::t[x] # y] SKIP (z)", "a.py::t[x] # y]", None, "SKIP", "z", None),
        ("a.py::t[[1] #-[2]] SKIP (z) # 3", "a.py::t[[1] #-[2]]", None, "SKIP", "z", "3"),
        ("a.py::t SKIP (a (b) (c (d)) e) # )", "a.py::t", None, "SKIP", "a (b) (c (d)) e", ")"),
        ("u/a u/b SKIP (z)", "u/a u/b", None, "SKIP", "z", None),
        # No template is evaluated.
        ("a.py::t[${1/0} % ##] SKIP (${x})", "a.py::t[${1/0} % ##]", None, "SKIP", "${x}", None),
        # H14: blanks and quotes.
        ('a.py::t[x y-"q"] SKIP (z)', 'a.py::t[x y-"q"]', None, "SKIP", "z", None),
    ],
)
def test_a_line_is_a_platform_an_id_a_marker_an_argument_and_a_comment(
    text: str, target: str, platform: str | None, marker: str, argument: str | None, comment: str | None
) -> None:
    waiver = _waiver(text)
    assert waiver == Waiver(target, platform, marker, argument, (), comment, PATH, 5)
    assert _squeezed(str(waiver)) == _squeezed(text)


def test_fields_follow_the_argument_and_hold_blanks_in_quotes() -> None:
    text = f'a.py::t XFAIL ({LINK}) owner=mask until=2027-01-31 example=AXic#= error="x = # y" # soon'
    waiver = _waiver(text)
    assert waiver.fields == (("owner", "mask"), ("until", "2027-01-31"), ("example", "AXic#="), ("error", "x = # y"))
    assert (waiver.owner, waiver.until, waiver.example, waiver.error) == ("mask", date(2027, 1, 31), "AXic#=", "x = # y")
    assert (waiver.comment, str(waiver)) == ("soon", text)


@pytest.mark.parametrize(
    "text",
    [
        "a.py::t SKIP #",
        "a.py::t SKIP # a  b",
        'a.py::t SKIP owner="me" error="it"',
        'a.py::t SKIP owner="me" example=AXic error="it is" # so',
        'a.py::t SKIP (x) owner=me error="it"',
    ],
)
def test_a_line_without_needless_blanks_prints_as_it_stands(text: str) -> None:
    assert str(_waiver(text)) == text


def test_what_a_line_does_not_say_is_none() -> None:
    waiver = _waiver("a.py::t SKIP")
    assert (waiver.link, waiver.owner, waiver.until, waiver.example, waiver.error, waiver.minutes) == (None,) * 6
    assert (waiver.platform, waiver.argument, waiver.comment, waiver.keyword, waiver.marks) == (None,) * 5


@pytest.mark.parametrize(
    ("argument", "link"),
    [(LINK, LINK), (f" {LINK} ", LINK), ("http://x/1", "http://x/1"), (f"see {LINK}", None), ("later", None), ("", None)],
)
def test_a_link_is_an_argument_that_is_one(argument: str, link: str | None) -> None:
    assert _waiver(f"a.py::t SKIP ({argument})").link == link


def test_minutes_are_those_of_a_timeout() -> None:
    assert _waiver("a.py TIMEOUT (90)").minutes == 90
    assert _waiver("a.py SKIP (90)").minutes is None


@pytest.mark.parametrize("line", ["", "   ", "# nothing", "  # a.py::t SKIP", "## a.py::t SKIP (x)", "\t"])
def test_blank_lines_and_comments_waive_nothing(line: str) -> None:
    assert parse_waiver(line, PATH, 1) is None


@pytest.mark.parametrize(
    ("line", "rule", "message"),
    [
        ("a.py::t", "no-marker", "'a.py::t' has no marker. Write 'ID SKIP"),
        ("a.py::t # SKIP (x)", "no-marker", "the comment '#' begins before any marker"),
        ("a.py::t[x] # no SKIP (x)", "no-marker", "the comment '# no' begins before any marker"),
        ("% if x:", "no-marker", "'% if x:' has no marker"),
        ("a.py::t FLAKY (x)", "unknown-marker", "unknown marker 'FLAKY'. Write one of SKIP, XFAIL"),
        ("a.py::t OK", "unknown-marker", "unknown marker 'OK'. Write one of"),
        ("a.py::t X (x)", "no-marker", "'a.py::t X (x)' has no marker"),
        ("a.py::t[x] SKIPP", "unknown-marker", "unknown marker 'SKIPP'; did you mean 'SKIP'? Write"),
        ("a.py::t skip (x)", "unknown-marker", "unknown marker 'skip'; did you mean 'SKIP'?"),
        ("SKIP (x)", "no-id", "SKIP has no id before it"),
        ("full:B200/ SKIP (x)", "no-id", "SKIP has no id before it"),
        ("a.py::t SKIP (x (y)", "unclosed-parenthesis", "'(x (y)' is not closed. Close the parenthesis."),
        ("a.py::t SKIP (x) y", "stray-text", "'y' stands behind SKIP. Write '(argument) name=value # comment'"),
        ("a.py::t SKIP (x)owner=me", "stray-text", "'owner=me' stands behind SKIP"),
        ("a.py::t SKIP (x)# y", "stray-text", "'# y' stands behind SKIP"),
        ('a.py::t SKIP (x) error="y', "stray-text", "'error=\"y' stands behind SKIP"),
        ("a.py::t SKIP (x) untill=2027-01-31", "unknown-field", "unknown field 'untill=2027-01-31'; did you mean 'until'?"),
        ("a.py::t SKIP (x) bug=1", "unknown-field", "unknown field 'bug=1'. Write one of owner, until, example, error"),
        ("a.py::t SKIP (x) owner=a owner=b", "repeated-field", "the field owner stands twice: 'a' and 'b'. Delete one."),
        ("a.py::t SKIP (x) owner=", "empty-field", "the field owner has no value"),
        ('a.py::t SKIP (x) owner=" "', "empty-field", "the field owner has no value"),
        ("a.py::t SKIP (x) until=2027-02-30", "bad-date", "until='2027-02-30' is no date. Write a day"),
        ("a.py::t SKIP (x) until=20270131", "bad-date", "until='20270131' is no date"),
        ("a.py::t SKIP (x) until=2027-W01-1", "bad-date", "until='2027-W01-1' is no date"),
        ("a.py::t TIMEOUT", "no-minutes", "TIMEOUT has nothing for minutes. Write a whole number"),
        ("a.py::t TIMEOUT (x)", "no-minutes", "TIMEOUT has 'x' for minutes"),
        ("a.py::t TIMEOUT (0)", "no-minutes", "TIMEOUT has '0' for minutes"),
        ("a.py::t TIMEOUT (" + "9" * 5000 + ")", "no-minutes", "TIMEOUT has '999"),
    ],
)
def test_a_malformed_line_is_refused_with_file_line_and_mend(line: str, rule: str, message: str) -> None:
    with pytest.raises(WaiverError, match=re.escape(f"waives.txt:5: {message}")) as error:
        parse_waiver(line, PATH, 5)
    assert error.value.rule == rule
    assert str(error.value).endswith(MALFORMED[rule][1])


@given(damaged(WAIVER_LINES))
@example("a.py::t SKIP ()")
@example('a.py::t SKIP owner="me"')
def test_any_text_is_a_waiver_that_prints_back_or_an_error_with_its_line(text: str) -> None:
    try:
        waiver = parse_waiver(text, PATH, 5)
    except WaiverError as error:
        event(error.rule)
        assert str(error).startswith("waives.txt:5: ")  # noqa: PT017
        return
    event("read")
    if waiver is None:
        assert not text.strip() or text.strip().startswith("#")
        return
    assert _squeezed(str(waiver)) == _squeezed(text)
    assert waiver.target in text
    assert parse_waiver(str(waiver), PATH, 5) == waiver
    assert str(_waiver(str(waiver))) == str(waiver)


@given(waivers())
def test_a_waiver_prints_as_what_reads_back(waiver: Waiver) -> None:
    assert parse_waiver(str(waiver), waiver.path, waiver.line) == waiver


@pytest.mark.parametrize(
    ("target", "node_id", "covered"),
    [
        ("a.py::t", "a.py::t", True),
        ("a.py::t", "a.py::t[1]", True),
        ("a.py::t", "a.py::t2", False),
        ("a.py::t", "b.py::t", False),
        ("a.py::C", "a.py::C::t[1]", True),
        ("a.py", "a.py::C::t", True),
        ("u", "u/a.py::t", True),
        ("u/", "u/a.py::t", True),
        ("u", "u2/a.py::t", False),
        ("u/a u/b", "u/b/c.py::t", True),
        # H05, H13: parameters are text that is equal or not.
        ("a.py::t[m1]", "a.py::t[m2]", False),
        ("a.py::t[a/b]", "a.py::t[a/b]", True),
        ("a.py::t[a", "a.py::t[a/b]", False),
        ('u/a.py -k "x"', "u/a.py::t", True),
    ],
)
def test_a_waiver_covers_exactly_what_it_names(target: str, node_id: str, covered: bool) -> None:
    waiver = _waiver(f"{target} SKIP ({LINK})")
    assert waiver.covers(node_id) is covered
    assert Index([waiver]).of(node_id) == [waiver] * covered


def test_options_of_a_target_are_the_callers_to_evaluate() -> None:
    # C6.6: upstream looks such a line up by its first word in one place and whole in another.
    waiver = _waiver("u/a.py -k \"x\" -m 'not y' SKIP (z)")
    assert (waiver.targets, waiver.keyword, waiver.marks) == (("u/a.py",), "x", "not y")
    assert waiver.target == "u/a.py -k \"x\" -m 'not y'"


def test_platforms_are_compared_without_case_and_underscores() -> None:
    assert platform_key("RTX_PRO_6000") == platform_key("RTXPro6000")
    # C6.3: a name that holds another is not that other.
    assert platform_key("DGX_B200") != platform_key("B200")


def test_reading_stops_at_the_first_malformed_line_and_scanning_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "waives.txt"
    path.write_text("# all\n\na.py SKIP (x)\na.py\nb.py SKIP (x\r\nc.py SKIP # \u2028 \x0c y\nd.py SKIP\n", encoding="utf-8")
    found, errors = scan_waivers(path)
    assert [(waiver.target, waiver.line) for waiver in found] == [("a.py", 3), ("c.py", 6), ("d.py", 7)]
    assert [(error.rule, error.line) for error in errors] == [("no-marker", 4), ("unclosed-parenthesis", 5)]
    with pytest.raises(WaiverError, match=r"waives\.txt:4: 'a.py' has no marker"):
        read_waivers(path)


def test_a_file_that_is_not_there_waives_nothing(tmp_path: Path) -> None:
    assert read_waivers(tmp_path / "waives.txt") == []


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_byte_order_mark_is_no_part_of_the_first_id(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "waives.txt"
    path.write_text(f"{mark}a.py SKIP (\u2264)\n", encoding="utf-8")
    assert [str(waiver) for waiver in read_waivers(path)] == ["a.py SKIP (\u2264)"]


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "waives.txt"
    path.write_bytes(b"\na.py SKIP (x)\n\xff\n")
    with pytest.raises(WaiverError, match=r"waives\.txt:3: cannot be read: the byte 0xff is not UTF-8") as error:
        read_waivers(path)
    assert error.value.rule == "not-text"


def test_every_field_is_a_property() -> None:
    assert all(isinstance(getattr(Waiver, name), property) for name in FIELDS)


@pytest.mark.parametrize(("name", "count"), [("waives_2026-09.excerpt.txt", 48), ("waives_2025_oddities.excerpt.txt", 20)])
def test_real_waivers_are_read_without_loss(name: str, count: int) -> None:
    if not (REAL / name).exists():
        not_run(f"no real waivers in {REAL.name}, a folder beside this project")
    lines = (REAL / name).read_text(encoding="utf-8").splitlines()
    assert len(lines) == count
    assert [_squeezed(str(waiver)) for waiver in read_waivers(REAL / name)] == [_squeezed(line) for line in lines]
