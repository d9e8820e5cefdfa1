"""What the README shows runs as it is shown."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import torch

from reference.dense import packed_mask
from reference.profiles import PROFILES
from reference.rules import Order
from suites.mask.golden import GOLDEN
from suites.mask.report import explain

ROOT = Path(__file__).parents[2]


def test_the_failure_that_the_readme_shows_is_what_the_suite_says() -> None:
    """The case of report M05 and a builder that takes the other order."""
    golden = GOLDEN["M05"]
    rule, batch = PROFILES[golden.profile].rule(golden.case.window), golden.case.batch()
    got = packed_mask(batch, replace(rule, order=Order.OR_LAST)).view(torch.uint8)
    said = explain(batch, rule, golden.profile, got, packed_mask(batch, rule).view(torch.uint8))
    shown = "\n".join(line.removeprefix("    ") for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines())
    assert said in shown


def test_the_example_of_the_readme_is_the_file_and_conformant_where_it_claims_to_be() -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert shown == (ROOT / "examples" / "my_engine.py").read_text(encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "-m", "l0_b200", "--mask-impl", "examples.my_engine:MyMasks"]
    run = subprocess.run([*command, "suites/mask"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:]
    assert re.search(r"not conformant: --mask-impl examples\.my_engine:MyMasks.*\(\d+ passed, \d+ not claimed", run.stdout)
