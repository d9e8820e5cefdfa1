"""Several implementations in one table: each cell is what that implementation's own run says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.exits import ExitCode
from harness.implementations import OPTIONS, ImplementationError, short_names
from harness.matrix import Candidate, candidate, run
from harness.render.matrix import Column, write_matrix
from harness.statuses import Status
from harness.verdict import Conformance, TestResult
from suites.harness.conftest import ROOT
from suites.harness.render.runs import HOSTILE, failing_run, failure, run_of, runs, wrong_mask

KNOWN = [(kind, name) for kind in OPTIONS for name in short_names(kind, ROOT)]


@given(known=st.sampled_from(KNOWN), profiles=st.lists(st.sampled_from(["gemma3-full", "x"]), max_size=2))
@example(("masks", "triton"), ["gemma3-full"])
def test_a_candidate_is_read_with_and_without_its_kind(known: tuple[str, str], profiles: list[str]) -> None:
    kind, name = known
    profiles = profiles if kind == "masks" else []
    behind = "@" + ",".join(profiles) if profiles else ""
    expected = Candidate(kind, name, tuple(profiles))
    assert candidate(f"{kind}/{name}{behind}", ROOT) == expected
    assert candidate(name + behind, ROOT) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tritn", "'tritn' is no short name; did you mean 'triton'"),
        ("my_engine.masks:build", "is no short name; expected one of .*, or KIND/NAME with a KIND of masks, caches, stores"),
        ("masks/tritn", "masks has no short name 'tritn'"),
        ("gemma4@gemma3-full", "only masks are judged by profiles; leave out @gemma3-full"),
        ("mask/triton", "no kind is called 'mask', expected one of masks, caches, stores"),
    ],
)
def test_a_candidate_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(ImplementationError, match=message):
        candidate(text, ROOT)


def test_a_module_needs_its_kind() -> None:
    assert candidate("caches/my_engine.caches:C", ROOT).arguments == [
        "--only",
        "caches",
        "--cache-impl",
        "my_engine.caches:C",
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(left=runs(), right=runs())
def test_every_cell_is_the_worst_of_that_implementations_tests(
    tmp_path: Path, left: Conformance, right: Conformance
) -> None:
    write_matrix([Column("one", "masks", left, ""), Column("two", "masks", right, "")], tmp_path)
    rows = (tmp_path / "matrix.md").read_text(encoding="utf-8").split("###")[0]
    for index, result in enumerate((left, right), start=1):
        for requirement in result.requirements:
            if requirement.status is None or not re.fullmatch(r"[A-Z0-9-]+", requirement.id):
                continue
            (row,) = [line for line in rows.splitlines() if line.replace("&#45;", "-").startswith(f"| {requirement.id} |")]
            cell = row.replace("&#45;", "-").split(" | ")[index]
            assert requirement.status.value in cell.replace("&#45;", "-")


def test_a_failure_has_its_smallest_example_and_its_picture(tmp_path: Path) -> None:
    page, table = write_matrix([Column("engine", "masks", failing_run(), "")], tmp_path)
    linked = set(re.findall(r"\(images/(.*?)\)", table.read_text(encoding="utf-8")))
    assert linked == {path.name for path in (tmp_path / "images").iterdir()}
    assert linked
    assert page.read_text(encoding="utf-8").count("data:image/png") == len(linked)


@pytest.mark.parametrize("order", [1, -1])
def test_the_smallest_failure_speaks_for_a_requirement(tmp_path: Path, order: int) -> None:
    """Whichever came first; one without a picture only where there is no other."""
    drawn = {"large": wrong_mask(24), "small": wrong_mask(5), "none": None}
    tests = [
        TestResult(f"t.py::{name}", Status.FAILED, ["R-1"], 0.1, failure=failure(name, f"wrong: {name}", picture=picture))
        for name, picture in drawn.items()
    ]
    page, _ = write_matrix([Column("engine", "masks", run_of(*tests[::order]), "")], tmp_path)
    assert re.findall(r"<p>wrong: (\w+)</p>", page.read_text(encoding="utf-8")) == ["small"]


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (Status.PASSED, "conformant"),
        (Status.WAIVED, "conformant"),
        (Status.NOT_RUN, "conformant"),
        (Status.NOT_CLAIMED, "conformant"),
        (Status.UNFINISHED, "no verdict"),
        (Status.SKIPPED, "no verdict"),
        (Status.UNEXPECTED_PASS, "no verdict"),
        (Status.HARNESS_ERROR, "no verdict"),
        (Status.CRASHED, "departs"),
        (Status.TIMED_OUT, "departs"),
        (Status.FAILED, "departs"),
    ],
)
def test_a_verdict_is_given_on_a_whole_run_alone(status: Status, verdict: str) -> None:
    passed = TestResult("t.py::a", Status.PASSED, ["R-1"], 0.1)
    assert Column("x", "masks", run_of(passed, TestResult("t.py::b", status, ["R-1"], 0.1)), "").verdict == verdict


def test_where_nothing_passed_there_is_no_verdict() -> None:
    assert Column("x", "masks", run_of(TestResult("t.py::a", Status.NOT_CLAIMED, ["R-1"], 0.1)), "").verdict == "no verdict"


def test_engines_of_like_names_keep_their_pictures(tmp_path: Path) -> None:
    columns = [Column(name, "masks", failing_run(), "") for name in ("a.b:C", "a_b:C", "A.B:c", "a.b:C")]
    page, _ = write_matrix(columns, tmp_path)
    ids = re.findall(r'<h3 id="(.*?)"', page.read_text(encoding="utf-8"))
    assert len(ids) == len(set(ids)) >= len(columns)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(result=runs(), title=st.just(HOSTILE) | st.text(max_size=9))
def test_foreign_text_does_nothing(tmp_path: Path, result: Conformance, title: str) -> None:
    columns = [Column(title, "masks", result, title), Column(title, "masks", None, title)]
    page, table = write_matrix(columns, tmp_path)
    assert "<script" not in page.read_text(encoding="utf-8")
    html = MarkdownIt("gfm-like", {"linkify": False}).render(table.read_text(encoding="utf-8"))
    assert not re.search(r"<(script|img [^>]*\sonerror|iframe)|href=.javascript", html)


ENGINES = """
import torch
from impl.masks import EAGER


class Causal:
    about = "sees what came before"

    def build(self, batch, rule):
        from dataclasses import replace
        from reference.rules import Overlay
        return EAGER.build(batch, replace(rule, overlay=Overlay.NONE))
"""


def test_engines_are_judged_side_by_side(
    mask_project: Callable[..., pytest.Pytester], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester = mask_project(("gemma4-sliding", "gemma4-full"), examples=20)
    pytester.makepyfile(engines=ENGINES)
    pytester.makepyfile(
        missing="from reference.contracts import EngineNotAvailableError as E\nraise E('found 1, needs 2')\n"
    )
    pytester.makepyfile(broken="1 / 0\n")
    monkeypatch.setenv("CI", "1")
    root = pytester.path

    said: list[str] = []
    chosen = [
        candidate(f"masks/{name}", ROOT) for name in ("eager", "engines:Causal", "engines:Causal@gemma4-full", "missing:M")
    ]
    assert run(chosen, "l0_x", root / "out", root, said.append) == ExitCode.OK
    text = (root / "out" / "matrix.md").read_text(encoding="utf-8").replace("&#45;", "-")
    (verdicts,) = re.findall(r"^\| \*\*verdict\*\* \| (.*) \|$", text, re.MULTILINE)
    assert verdicts.split(" | ") == ["**conformant**", "**departs**", "**conformant**", "**not available**"]
    row = next(line for line in text.splitlines() if line.startswith("| MASK-BLOB-1 |")).split(" | ")
    assert row[1].startswith("passed")
    assert row[2].startswith("[failed")
    assert row[4].startswith("not available")
    assert "sees what came before" in text
    assert "found 1, needs 2" in text.replace("&#44;", ",")

    assert run([candidate("masks/broken:M", ROOT)], "l0_x", root / "out2", root, said.append) == ExitCode.HARNESS_ERROR
    assert "ZeroDivisionError" in said[-3]
