"""``summary.md``: what GitHub shows of a step."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.render.summary import COMMANDS, TESTS, summary_md
from harness.render.text import encodable, inert_markdown, printable
from harness.statuses import Status, not_run
from harness.verdict import Conformance, TestResult
from suites.harness.render.parsed import Page
from suites.harness.render.runs import HOSTILE, failing_run, failure, run_of, runs

ALLOWED = {
    *("h2", "h3", "p", "ul", "li", "code", "pre", "br", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
MOST_BYTES = 2**20
"""GitHub takes a MiB a step."""


def _html(markdown: str) -> Page:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        not_run("needs markdown-it-py: pip install markdown-it-py")
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    return Page(html.replace(" />", ">"))


def test_the_summary_says_the_verdict_and_what_stands_against_it() -> None:
    page = _html(summary_md(failing_run()).decode())
    assert page.all("h2")[0].text == "Conformance: failed"
    assert [item.text for item in page.all("li")][:2] == ["1 timed out", "2 failed"]


def test_failed_requirements_name_their_tests() -> None:
    page = _html(summary_md(failing_run()).decode())
    cells = [cell.text for cell in page.all("td") if cell.text.startswith("MASK-")]
    assert [cell.split()[0] for cell in cells] == ["MASK-BLOB-1", "MASK-ORDER-1", "MASK-PREFIX-1"]
    assert any("test_chunks_stacked_are_the_mask_of_one_shot timed out" in cell.text for cell in page.all("td"))


def test_replay_commands_stand_as_they_are() -> None:
    blocks = [block.text.rstrip("\n") for block in _html(summary_md(failing_run()).decode()).all("pre")]
    assert blocks == [test.failure.replay for test in failing_run().tests if test.failure is not None]


def test_a_command_does_not_close_its_block() -> None:
    command = "python -m pytest 'a.py::t[\n```\n<b>\n]'"
    test = TestResult("a.py::t", Status.FAILED, [], 0.1, failure=failure("a.py::t", replay=command))
    assert [block.text for block in _html(summary_md(run_of(test)).decode()).all("pre")] == [command + "\n"]


@given(runs())
def test_no_text_takes_effect(conformance: Conformance) -> None:
    page = _html(summary_md(encodable(conformance)).decode())
    assert {element.tag for element in page.elements} <= ALLOWED
    assert all(set(element.attributes) <= {"class", "style"} for element in page.elements)


@given(st.text() | st.text("|\\`*_[]()<>&#!~-+.\n \tax1@:/"))
def test_inert_text_is_read_as_it_was_written(text: str) -> None:
    words = " ".join(printable(text).split())
    for markdown in (inert_markdown(text), f"- {inert_markdown(text)}", f"| a |\n|---|\n| {inert_markdown(text)} |"):
        page = _html(markdown)
        assert {element.tag for element in page.elements} <= {"p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
        if words:
            assert [element.text for element in page.elements if element.tag in ("p", "li", "td")][-1].strip() == words


def test_an_address_is_no_link() -> None:
    assert inert_markdown("a@b.example") == "a<!-- -->&#64;b&#46;example"


def test_a_long_run_stays_within_what_github_takes() -> None:
    tests = [
        TestResult(
            f"suites/a.py::test_{number}[{HOSTILE * 200}]",
            Status.FAILED,
            ["A", f"B-{number}"] if number % 2 else [],
            0.1,
            failure=failure("a", HOSTILE * 1000, replay="`" * 5000 if number == 0 else f"command {number}"),
        )
        for number in range(400)
    ]
    written = summary_md(run_of(*tests, errors=[HOSTILE * 1000] * 100))
    assert len(written) < MOST_BYTES
    text = written.decode()
    assert f"and {200 - TESTS} more" in text
    assert f"and {400 - COMMANDS} more: the page has them" in text
    assert "A command of 5,000 characters is left out here" in text
    assert re.search(r"… &#40;[\d,]+ more characters&#41;", text)


@pytest.mark.parametrize("status", [Status.FAILED, Status.HARNESS_ERROR])
def test_a_failed_test_without_a_requirement_is_named(status: Status) -> None:
    page = _html(summary_md(run_of(TestResult("a.py::t", status, [], 0.1, failure=failure("a.py::t", "no")))).decode())
    assert ["a.py::t", status.value, "no"] in [
        [cell.text for cell in page.all("td") if row in cell.around] for row in page.all("tr")
    ]
