"""``index.html`` in a real browser: on a phone, in the dark, by keyboard, and without a way out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.render import write_reports
from harness.render.page import OPENED
from harness.statuses import Status, not_run
from harness.verdict import Conformance, TestResult
from suites.harness.render.browser import chromium, missing
from suites.harness.render.runs import HOSTILE, failing_run, failure, run_of, wrong_mask

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE = {"width": 360, "height": 740}
HOSTILE_ID = f"suites/a.py::test_hostile[{HOSTILE}]"

# Where the text of an element lies on: the nearest background that is not transparent.
CONTRASTS = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const background = (element) => {
    for (; element; element = element.parentElement) {
      const colour = channels(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    const [a, b] = [channels(getComputedStyle(element).color), background(element)].map(luminance);
    found.push([walker.currentNode.textContent.trim(), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]);
  }
  return found;
}"""


def _many_failures() -> Conformance:
    long = "suites/mask/test_dense.py::test_" + "x" * 300
    failed = [
        TestResult(node_id, Status.FAILED, ["R-1"], 0.1, failure=failure(node_id, HOSTILE + "y" * 500, text="z" * 500))
        for node_id in (HOSTILE_ID, long, *(f"suites/b.py::test_{number}" for number in range(OPENED)))
    ]
    pictured = "suites/c.py::test_picture"
    return run_of(
        TestResult(pictured, Status.CRASHED, ["R-1"], 1.0, failure=failure(pictured, picture=wrong_mask())),
        *failed,
        TestResult("suites/b.py::test_passed", Status.PASSED, ["R-1", "R-2"], 0.1, examples=100),
        TestResult("suites/b.py::test_bare", Status.PASSED, [], 0.1),
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    lacking = missing()
    if lacking:
        not_run(f"needs Chromium and playwright: install {lacking}")
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of the pages of two runs."""
    folder = tmp_path_factory.mktemp("reports")
    addresses = {}
    for name, run in (("many", _many_failures()), ("realistic", failing_run())):
        write_reports(run, folder / name)
        addresses[name] = (folder / name / "index.html").as_uri()
    return addresses


@pytest.fixture
def page(browser: Browser, written: dict[str, str]) -> Iterator[Page]:
    """The page of many failures, on a phone in the dark; whatever it does that it must not, fails the test."""
    context = browser.new_context(viewport=PHONE, color_scheme="dark", permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    offences: list[str] = []
    page.on("console", lambda message: offences.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: offences.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (offences.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: _local(request.url) or offences.append(f"request: {request.url}"))
    page.goto(written["many"])
    yield page
    injected = page.evaluate("window.injected")
    context.close()
    assert offences == []
    assert injected is None


def _local(url: str) -> bool:
    return url.startswith(("file://", "data:"))


def _open(page: Page, address: str, **emulated: Any) -> None:
    page.emulate_media(**emulated)
    page.goto(address)


@pytest.mark.parametrize("name", ["many", "realistic"])
def test_a_phone_need_not_scroll_sideways(page: Page, written: dict[str, str], name: str) -> None:
    page.goto(written[name])
    for everything_open in (False, True):
        if everything_open:
            page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert page.evaluate("document.body.getBoundingClientRect().right") <= PHONE["width"]


@pytest.mark.parametrize(("scheme", "is_dark"), [("dark", True), ("light", False)])
def test_the_background_follows_the_mode(page: Page, written: dict[str, str], scheme: str, is_dark: bool) -> None:
    _open(page, written["realistic"], color_scheme=scheme)
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    channels = [int(one) for one in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    assert (max(channels) < 60) is is_dark
    assert (min(channels) > 200) is not is_dark


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_every_text_stands_out_from_what_it_lies_on(page: Page, written: dict[str, str], scheme: str) -> None:
    _open(page, written["realistic"], color_scheme=scheme)
    page.locator("[data-only]").first.click()
    found = page.evaluate(CONTRASTS)
    assert len(found) > 50
    assert [(text, ratio) for text, ratio in found if ratio < 4.5] == []


def test_the_filter_and_a_failure_are_reached_and_opened_by_keyboard(page: Page) -> None:
    seen = []
    for _ in range(100):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        if page.evaluate("document.activeElement.matches('.failure:not([open]) > summary')"):
            break
    assert seen[0] == "skip"
    assert "find" in seen
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", "focus can be seen"
    assert page.evaluate("document.activeElement.matches('.failure:not([open]) > summary')"), seen
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open")


def test_the_skip_link_leads_to_the_results(page: Page) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "results"


def test_a_button_pressed_by_keyboard_leaves_only_its_status(page: Page) -> None:
    page.locator("[data-only=passed]").focus()
    page.keyboard.press("Space")
    statuses = page.locator(".results .row:visible").evaluate_all("rows => rows.map((row) => row.dataset.status)")
    assert set(statuses) == {"passed"}
    assert page.locator(".shown").text_content() == "Shows 2 of 19."
    assert page.locator("[data-only=passed]").get_attribute("aria-pressed") == "true"
    page.locator(".all").click()
    assert page.locator("[data-only=passed]").get_attribute("aria-pressed") == "false"
    assert page.locator(".failure").first.is_visible()


def test_the_filter_hides_what_passed(page: Page) -> None:
    assert page.locator(".row[data-status=passed]:visible").count() > 0
    page.locator("[data-only=failed]").click()
    page.locator("[data-only=crashed]").click()
    assert page.locator(".row[data-status=passed]:visible").count() == 0
    assert page.locator(".row[data-status=failed]:visible").count() == OPENED + 2


def test_a_search_finds_ids_requirements_and_messages(page: Page) -> None:
    for words, ids in (
        ("test_HOSTILE", [HOSTILE_ID]),
        ("r-2", ["suites/b.py::test_passed"]),
        ("49 cells", ["suites/c.py::test_picture"]),
        ("nowhere", []),
    ):
        page.locator("#find").fill(words)
        assert page.locator(".row:visible code.id").all_text_contents() == ids
    page.locator("#find").fill("")
    assert page.locator(".shown").text_content() == ""


def test_a_link_to_a_test_that_the_filter_hides_shows_it(page: Page) -> None:
    page.locator("[data-only=passed]").click()
    page.evaluate("location.hash = '#test-1'")
    page.locator("#test-1").wait_for(state="visible")


def test_the_picture_is_there(page: Page) -> None:
    picture = page.locator(".failure img")
    assert picture.is_visible()
    assert picture.evaluate("image => image.naturalWidth") > 0
    assert picture.evaluate("image => image.clientWidth") > 600, "shrunk to a phone its labels could not be read"


@pytest.mark.parametrize("has_clipboard", [True, False])
def test_the_button_copies_exactly_the_command(page: Page, has_clipboard: bool) -> None:
    command = next(test.failure.replay for test in _many_failures().tests if test.id == HOSTILE_ID and test.failure)
    page.evaluate("navigator.clipboard.writeText('what was copied before')")
    if not has_clipboard:
        page.evaluate("delete Navigator.prototype.clipboard")
    row = page.locator(".failure", has=page.locator("code.id", has_text="test_hostile"))
    row.get_by_role("button", name="Copy").click()
    row.get_by_role("button", name="Copied").wait_for()
    if has_clipboard:
        assert page.evaluate("navigator.clipboard.readText()") == command
    else:
        page.locator("#find").focus()
        page.keyboard.press("Control+V")
        assert page.locator("#find").input_value() == command


def test_an_id_that_is_a_script_does_not_run(page: Page) -> None:
    assert page.locator("code.id", has_text="test_hostile").first.text_content() == HOSTILE_ID
    assert page.locator("script").count() == 1
    assert page.evaluate("window.injected") is None


def test_a_script_that_got_into_the_page_would_not_run(browser: Browser, written: dict[str, str], tmp_path: Path) -> None:
    html = Path(written["many"].removeprefix("file://")).read_text(encoding="utf-8")
    broken = tmp_path / "broken.html"
    broken.write_text(html.replace("<main>", f"<main>{HOSTILE}"), encoding="utf-8")
    page = browser.new_page()
    page.goto(broken.as_uri())
    assert page.locator("script").count() == 2
    assert page.evaluate("window.injected") is None
    page.close()


def test_without_script_everything_but_filter_and_copying_is_there(browser: Browser, written: dict[str, str]) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(written["realistic"])
    assert not page.locator(".filter").is_visible()
    assert page.locator(".copy:visible").count() == 0
    assert page.locator(".failure img").first.is_visible()
    page.locator(".full > summary").first.click()
    assert page.locator(".full pre").first.is_visible()
    page.close()
