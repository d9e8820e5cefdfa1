"""All reports of a run: what is written, and that they say the same."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from unittest import mock

import junitparser
import msgspec
import pytest
from hypothesis import given

import harness.render
from harness.render import REPORTS, pictures, render, write_reports
from harness.render.text import encodable
from harness.statuses import Status
from harness.verdict import Conformance, TestResult, in_a_line
from suites.harness.render.parsed import Page
from suites.harness.render.runs import failing_run, run_of, runs


def test_every_report_is_written_into_a_folder_that_is_made(tmp_path: Path) -> None:
    written = write_reports(failing_run(), tmp_path / "a" / "b")
    assert [path.name for path in written] == list(REPORTS)
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == sorted(REPORTS)


def test_the_same_input_gives_the_same_bytes() -> None:
    assert render(failing_run()) == render(failing_run())


def test_a_run_without_a_test_has_all_reports() -> None:
    reports = render(run_of(requirements={}))
    assert b"nothing ran" in reports["verdict.txt"]
    assert "No test of this run checks a requirement." in reports["index.html"].decode()


def test_verdict_txt_is_the_verdict_in_a_line() -> None:
    assert render(failing_run())["verdict.txt"].decode() == in_a_line(failing_run()) + "\n"


@given(runs())
def test_conformance_json_holds_the_whole_verdict(conformance: Conformance) -> None:
    with mock.patch.object(pictures, "png", return_value=b""):
        written = render(conformance)["conformance.json"]
    assert msgspec.json.decode(written, type=Conformance) == encodable(conformance)


def test_a_lone_surrogate_is_spelled_out() -> None:
    reports = render(run_of(TestResult("a.py::test[\udcff]", Status.PASSED, [], 0.1)))
    assert json.loads(reports["conformance.json"])["tests"][0]["id"] == "a.py::test[\\udcff]"


@given(runs())
def test_reports_agree_on_the_counts(conformance: Conformance) -> None:
    with mock.patch.object(pictures, "png", return_value=b""):
        reports = render(conformance)
    assert reports["verdict.txt"].count(b"\n") == 1
    tests, errors = len(conformance.tests), len(conformance.errors)

    junit = junitparser.JUnitXml.fromstring(reports["junit.xml"])
    ctrf = json.loads(reports["ctrf.json"])["results"]["summary"]
    assert junit.tests == ctrf["tests"] == tests + errors
    assert junit.failures + junit.errors == ctrf["failed"]
    assert junit.failures == sum(test.status.is_failure for test in conformance.tests)
    assert junit.skipped == ctrf["skipped"]
    assert junit.tests - junit.failures - junit.errors - junit.skipped == ctrf["passed"]
    assert ctrf["passed"] == conformance.counts.get("passed", 0)

    counts = {status: f"{count:,}" for status, count in conformance.counts.items()}
    rows = re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \|$", reports["summary.md"].decode(), flags=re.MULTILINE)
    assert dict(rows) == {**counts, "all": f"{tests:,}", "examples drawn": f"{conformance.examples:,}"}

    table = Page(reports["index.html"]).section("Counts")
    numbers = [one.text for one in table if one.tag == "td" and "number" in one.classes]
    chips = [one.text for one in table if "chip" in one.classes]
    assert dict(zip(chips, numbers, strict=False)) == counts
    assert numbers[-2:] == [f"{tests:,}", f"{conformance.examples:,}"]


@pytest.mark.parametrize("path", sorted(Path(harness.render.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_reports_know_nothing_of_pytest_or_of_what_was_run(path: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported & {"pytest", "torch", "reference", "impl", "suites"} == set()
