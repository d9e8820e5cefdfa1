"""SPEC.md and the suites name the same requirements."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ID = r"(?:MASK|CACHE)-[A-Z]+-\d+"


def test_every_requirement_is_carried_by_a_test_and_every_id_stands_in_the_spec() -> None:
    required = re.findall(rf"^\| ({ID}) \|", (ROOT / "SPEC.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(required) == len(set(required)), "an id stands twice in SPEC.md"
    carried: set[str] = set()
    for path in (ROOT / "suites").rglob("test_*.py"):
        for marker in re.findall(r"mark\.requirement\((.*?)\)", path.read_text(encoding="utf-8"), flags=re.DOTALL):
            carried |= set(re.findall(rf'"({ID})"', marker))
    assert set(required) - carried == set(), "no test carries these"
    assert carried - set(required) == set(), "SPEC.md does not know these"


def test_every_report_in_the_golden_cases_stands_in_the_spec() -> None:
    from suites.mask.golden import GOLDEN

    spec = (ROOT / "SPEC.md").read_text(encoding="utf-8")
    cases = {name.split("-")[0] for name in GOLDEN if re.match(r"M\d\d", name)}
    assert len(cases) >= 30
    assert [case for case in sorted(cases) if f"\n| {case} |" not in spec] == []
