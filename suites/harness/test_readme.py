"""What the README shows runs as it is shown."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from harness.exits import ExitCode
from harness.records import read_events, read_manifest
from harness.verdict import judge
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


EXAMPLE = ROOT / "examples" / "my_engine"


@pytest.mark.parametrize("page", ["README.md", "docs/plug-in.md"])
def test_examples_are_shown_as_they_are(page: str) -> None:
    shown = re.findall(r"```(?:python|toml)\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    files = [path.read_text(encoding="utf-8") for path in EXAMPLE.rglob("*") if path.suffix in (".py", ".toml")]
    assert shown
    assert set(shown) <= set(files)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example is installed, as a package of its own."""
    folder = tmp_path_factory.mktemp("site")
    source = shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder / "site"), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "site"


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        (["--only", "masks", "--mask-impl", "my_engine.masks:MyMasks"], "suites/mask"),
        (["--only", "masks", "--mask-impl", "my-masks"], "suites/mask/test_dense.py"),
        (["--only", "caches", "--cache-impl", "my-caches"], "suites/cache"),
    ],
)
def test_the_installed_example_is_conformant_where_it_claims_to_be(
    installed: Path, tmp_path: Path, arguments: list[str], folder: str
) -> None:
    own = [
        f"--test-lists={EXAMPLE / 'test_lists'}",
        f"--waives-file={EXAMPLE / 'waives.txt'}",
        f"--run-dir={tmp_path / 'run'}",
    ]
    command = [sys.executable, "-m", "pytest", folder, "-n0", "-q", "-m", "l0_my_engine", *own, *arguments]
    environment = os.environ | {"PYTHONPATH": str(installed), "CI": "1"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    result = judge(read_manifest(tmp_path / "run"), read_events(tmp_path / "run"))
    assert run.returncode == ExitCode.OK, run.stdout[-3000:]
    assert set(result.counts) <= {"passed", "not claimed", "not run"}
    assert result.counts["passed"] >= 2
