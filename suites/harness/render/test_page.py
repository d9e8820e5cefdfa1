"""``index.html``: what it says, and that nothing in it acts but its own script."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any
from unittest import mock

import pytest
from hypothesis import given

from harness.render import pictures
from harness.render.page import OPENED, PICTURES, TEXT, index_html
from harness.render.templates import FOLDER, seconds
from harness.render.text import encodable
from harness.statuses import Status
from harness.verdict import Conformance, TestResult
from suites.harness.render.contrast import contrast
from suites.harness.render.parsed import Page
from suites.harness.render.runs import HOSTILE, REQUIREMENTS, failing_run, failure, run_of, runs, wrong_mask

ATTRIBUTES = re.compile(
    "alt|aria-describedby|aria-label|aria-labelledby|aria-pressed|autocomplete|charset|class|content|data-copies|data-only|"
    "data-status|data-test|for|hidden|href|http-equiv|id|lang|name|open|placeholder|rel|role|scope|spellcheck|src|tabindex|type"
)
"""All that the page uses: none of them runs anything."""


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(index_html(failing_run()))


def _failed(number: int, **changes: Any) -> TestResult:
    node_id = f"a.py::test_{number}"
    return TestResult(node_id, Status.FAILED, ["R-1"], 0.1, failure=failure(node_id, **changes))


def test_the_page_says_the_verdict_and_what_it_holds_for(page: Page) -> None:
    assert page.all("h1")[0].text == "Failed"
    facts = " ".join(element.text for element in page.section("What it holds for"))
    for expected in ("my_engine.masks:build", "test_lists/l0_b200.yml; conditions not met", "2027-01-04T08:30:00", "2.13.0"):
        assert expected in facts


def test_everything_that_stands_against_it_is_said(page: Page) -> None:
    said = [element.text for element in page.section("What stands against it") if element.tag == "li"]
    assert said == failing_run().why


def test_requirements_that_failed_come_first_and_are_open(page: Page) -> None:
    opened = {}
    for group in page.all("details", "requirement"):
        name = next(heading.text for heading in page.all("h3") if group in heading.around)
        opened[name] = "open" in group.attributes
    names = list(opened)
    assert names[:3] == ["MASK-PREFIX-1", "MASK-BLOB-1", "MASK-ORDER-1"]
    assert [name for name in names if opened[name]] == names[:3]
    assert set(names) == set(REQUIREMENTS) - {"CACHE-ORDER-1"}


def test_a_failure_shows_message_example_replay_picture_and_text(page: Page) -> None:
    shown = page.all("details", "failure")[1].text
    for expected in ("W=9, visible", "case=Case(", "--example AXicY2B", "checks.py:61"):
        assert expected in shown
    (picture, _) = page.all("img")
    assert (picture.attributes["src"] or "").startswith("data:image/png;base64,")
    assert "wrongly visible; the first at query p=12, key c=4" not in shown, "that is for those who do not see it"
    assert "wrongly visible" in (picture.attributes["alt"] or "")


def test_the_details_of_a_failure_stand_once_and_are_linked_to() -> None:
    written = index_html(failing_run()).decode()
    assert written.count("case=Case(") == 1
    anchors = set(re.findall(r'href="#(test-\d+)"', written))
    assert anchors
    for anchor in anchors:
        assert written.count(f'id="{anchor}"') == 1


def test_no_id_of_an_element_stands_twice(page: Page) -> None:
    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids))


def test_tests_without_a_requirement_have_a_section(page: Page) -> None:
    ids = [element.text for element in page.section("Tests without a requirement") if "id" in element.classes]
    assert ids == [
        "suites/cache/test_store.py::test_histories_agree_with_the_model",
        "suites/mask/test_report.py::test_the_case_prints_as_code",
    ]


def test_failed_tests_without_a_requirement_stand_before_what_passed() -> None:
    bad = TestResult("a.py::bad", Status.FAILED, [], 0.1, failure=failure("a.py::bad"))
    page = Page(index_html(run_of(TestResult("a.py::good", Status.PASSED, ["R-1"], 0.1), bad)))
    assert [heading.text for heading in page.all("h3")][:2] == ["Tests without a requirement", "R-1"]


def test_requirements_that_no_test_checks_are_untested(page: Page) -> None:
    section = page.section("Requirements that no test of this run checks")
    assert [element.text for element in section if "id" in element.classes] == ["CACHE-ORDER-1"]


def test_tests_that_did_not_run_say_why(page: Page) -> None:
    section = page.section("Tests that say nothing of the implementation, and why")
    lines = [" ".join(element.text.split()) for element in section if element.tag == "summary"]
    assert lines == [
        "not finished 1 test the run ended before it did",
        "skipped by waiver 1 test https://bugs.example/124",
        "not run 1 test needs a CUDA device with 12 GiB of memory, found none",
        "not claimed 1 test profile vllm-gemma3-sliding",
        "not claimed 1 test graph capture",
        "waived 1 test https://bugs.example/123",
    ]
    assert "suites/cache/test_store.py::test_histories_agree_with_the_model" in [element.text for element in section]


def test_waived_tests_that_ran_say_what_came_of_them(page: Page) -> None:
    section = page.section("Waived tests that ran all the same")
    assert any("failed: AssertionError: type 7 was taken" in element.text for element in section)
    assert any("waives.txt:4" in element.text for element in section)


def test_errors_outside_of_any_test_are_shown() -> None:
    page = Page(index_html(run_of(errors=["a.py could not be collected: SyntaxError"])))
    assert any("SyntaxError" in element.text for element in page.section("Errors outside of any test"))


def test_a_conformant_run_says_that_nothing_stands_against_it() -> None:
    test = TestResult("a.py::t", Status.PASSED, ["R-1"], 0.1)
    page = Page(index_html(run_of(test, lists=[], conditions="ignore")))
    assert "no list was chosen" in page.all("main")[0].text
    conformant = Page(index_html(run_of(test, conditions="ignore")))
    assert conformant.all("h1")[0].text == "Conformant"
    assert conformant.all("header")[0].classes == ["verdict", "good"]
    assert any(element.text == "Nothing." for element in conformant.section("What stands against it"))


def test_only_so_many_pictures_are_drawn() -> None:
    tests = [_failed(number, picture=wrong_mask(2, 0, 3)) for number in range(PICTURES + 3)]
    with mock.patch.object(pictures, "png", return_value=b"") as drawn:
        written = index_html(run_of(*tests)).decode()
    assert drawn.call_count == written.count("<img ") == PICTURES
    assert written.count("Not drawn: a page has at most 20 pictures.") == 3


def test_only_the_first_failures_are_open() -> None:
    page = Page(index_html(run_of(*map(_failed, range(OPENED + 3)))))
    assert ["open" in element.attributes for element in page.all("details", "failure")] == [True] * OPENED + [False] * 3


def test_a_text_without_end_is_cut() -> None:
    written = index_html(run_of(_failed(1, text="x" * (TEXT + 7))))
    assert b"(7 more characters)" in written
    assert len(written) < TEXT + 40_000


def test_the_policy_allows_its_own_style_and_script_alone(page: Page) -> None:
    (style,), (script,) = page.all("style"), page.all("script")
    hashes = [base64.b64encode(hashlib.sha256(one.text.encode()).digest()).decode() for one in (style, script)]
    policy = next(one.attributes["content"] for one in page.all("meta") if "http-equiv" in one.attributes)
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def test_an_id_that_is_markup_is_text() -> None:
    node_id = f"a.py::t[{HOSTILE}]"
    test = TestResult(node_id, Status.FAILED, [HOSTILE], 0.1, failure=failure(node_id, HOSTILE, example=HOSTILE))
    page = Page(index_html(run_of(test, run=HOSTILE, implementations={HOSTILE: HOSTILE}, narrowed=[HOSTILE])))
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert node_id in [element.text for element in page.all("code", "id")]


@given(runs())
def test_no_text_becomes_markup(conformance: Conformance) -> None:
    with mock.patch.object(pictures, "png", return_value=b""):
        page = Page(index_html(encodable(conformance)))
    assert len(page.all("script")) == len(page.all("style")) == 1
    attributes = [attribute for element in page.elements for attribute in element.attributes.items()]
    assert all(ATTRIBUTES.fullmatch(name) for name, _ in attributes)
    assert all((value or "").startswith(("#", "data:")) for name, value in attributes if name in ("href", "src"))
    shown = {element.text for element in page.all("code")}
    for test in conformance.tests:
        if test.failure is not None and test.failure.replay.isprintable():
            assert test.failure.replay in shown


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0 ms"), (0.004, "4 ms"), (1.92, "1.9 s"), (60, "1 min 0 s"), (3725, "62 min 5 s")]
)
def test_times_are_said_in_words(value: float, words: str) -> None:
    assert seconds(value) == words


def test_every_text_of_both_modes_can_be_read() -> None:
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    modes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    assert len(modes) == 2
    for block in modes:
        mode = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
        pairs = [(ink, back) for ink in ("ink", "soft", "link") for back in ("back", "card", "code")]
        pairs += [(f"{tone}-ink", f"{tone}-back") for tone in ("good", "warn", "bad", "odd", "mute")]
        for ink, back in [*pairs, ("card", "link")]:
            assert contrast(mode[ink], mode[back]) >= 4.5, (ink, back)
        assert contrast(mode["control"], mode["card"]) >= 3
