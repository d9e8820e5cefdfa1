"""Several implementations in one table: each cell is what that implementation's own run says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.exits import ExitCode
from harness.implementations import OPTIONS, ImplementationError, short_names
from harness.matrix import Candidate, candidate, run
from harness.render.matrix import Column, write_matrix
from harness.statuses import Status
from harness.verdict import Conformance, TestResult
from suites.harness.conftest import ROOT
from suites.harness.render.runs import HOSTILE, failing_run, run_of, runs

KNOWN = [(kind, name) for kind in OPTIONS for name in short_names(f"mm_conformance.{kind}", ROOT)]


@given(known=st.sampled_from(KNOWN), profiles=st.lists(st.sampled_from(["gemma3-full", "x"]), max_size=2))
def test_a_candidate_is_read_with_and_without_its_kind(known: tuple[str, str], profiles: list[str]) -> None:
    kind, name = known
    behind = "@" + ",".join(profiles) if profiles else ""
    expected = Candidate(kind, name, tuple(profiles))
    assert candidate(f"{kind}/{name}{behind}", ROOT) == expected
    assert candidate(name + behind, ROOT) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tritn", "'tritn' is no short name; did you mean 'triton'"),
        ("my_engine.masks:build", "is no short name; expected one of .*, or KIND/NAME with a KIND of masks, caches, stores"),
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


def _table(text: str) -> dict[str, list[str]]:
    rows = re.findall(r"^\| (?!\*\*|requirement|-)(.*) \|$", text, re.MULTILINE)
    return {row.split(" | ")[0]: row.split(" | ")[1:] for row in rows}


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


def test_foreign_text_does_nothing(tmp_path: Path) -> None:
    test = TestResult("t.py::" + HOSTILE, Status.PASSED, ["R-1"], 0.1, 3)
    page, _ = write_matrix([Column(HOSTILE, "masks", run_of(test, about={"--mask-impl": HOSTILE}), "")], tmp_path)
    assert "<script>" not in page.read_text(encoding="utf-8")
    page, _ = write_matrix([Column(HOSTILE, "masks", None, HOSTILE)], tmp_path)
    assert "<script>" not in page.read_text(encoding="utf-8")


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


def test_engines_are_judged_side_by_side(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    few = "\nsettings.register_profile('few', settings.get_profile('ci'), max_examples=20)\nsettings.load_profile('few')\n"
    pytester.makeconftest((ROOT / "conftest.py").read_text(encoding="utf-8") + few)
    test = "test_every_cell_is_the_oracles"
    pytester.makepyfile(test_it=f"from suites.mask.conftest import *\nfrom suites.mask.test_dense import {test}\n")
    pytester.makepyfile(engines=ENGINES)
    pytester.makepyfile(
        missing="from reference.contracts import EngineNotAvailableError as E\nraise E('found 1, needs 2')\n"
    )
    pytester.makepyfile(broken="1 / 0\n")
    lists = pytester.mkdir("test_lists")
    names = ("gemma4-sliding", "gemma4-full")
    lines = "".join(f"  - test_it.py::{test}[{name}]\n" for name in names)
    (lists / "l0_x.yml").write_text(f"version: 0.0.1\nl0_x:\n- tests:\n{lines}", encoding="utf-8")
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
