"""``badge.svg``."""

from __future__ import annotations

from xml.etree import ElementTree

import msgspec
import pytest

from harness.render.badge import COLOURS, badge_svg
from harness.verdict import Verdict
from suites.harness.render.contrast import contrast
from suites.harness.render.runs import failing_run

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("verdict", Verdict)
def test_a_badge_says_its_verdict_to_everybody(verdict: Verdict) -> None:
    root = ElementTree.fromstring(badge_svg(msgspec.structs.replace(failing_run(), verdict=verdict)))
    assert root.attrib["role"] == "img"
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == f"conformance: {verdict.value}"
    assert root.attrib["aria-labelledby"] == title.attrib["id"]
    assert [text.text for text in root.iter(f"{SVG}text")] == ["conformance", verdict.value]


@pytest.mark.parametrize("verdict", Verdict)
def test_its_text_can_be_read(verdict: Verdict) -> None:
    assert contrast("#ffffff", COLOURS[verdict]) >= 4.5


def test_only_conformant_is_green() -> None:
    def is_green(colour: str) -> bool:
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        return green > max(red, blue)

    assert [verdict for verdict in Verdict if is_green(COLOURS[verdict])] == [Verdict.CONFORMANT]
