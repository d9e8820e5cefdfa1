"""Implementations that crash, hang, leave or lie, given by ``--mask-impl``: each ends as what it is, and hurts no other."""

from __future__ import annotations

import pytest

from suites.harness.conftest import ROOT, run_folders, statuses

TEST = "test_every_cell_is_the_oracles"
PROFILE = "gemma4-sliding"
"""The planted fault shows under the rule of this profile alone."""

OTHERS = ("gemma4-full", "gemma3-full")

ENGINE = f"""
import ctypes, itertools, os, signal, sys
import torch
from impl.masks import EAGER
from reference.profiles import PROFILES

def build(batch, rule):
    mask = EAGER.build(batch, rule, layout="dense")
    if rule.window is not None and rule == PROFILES["{PROFILE}"].rule(rule.window):
        return fault(batch, mask)
    return mask

"""

FAULTS = {
    "nothing": ("return mask", "passed"),
    "crash": ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed"),
    "hang": ("sum(itertools.repeat(0, 10**15))", "timed out"),
    "exit": ("os._exit(0)", "crashed"),
    "exit-politely": ("sys.exit(0)", "failed"),
    "out-of-memory": ("return torch.empty(2**55, dtype=torch.uint8)", "failed"),
    "killed-for-memory": ("os.kill(os.getpid(), signal.SIGKILL)", "crashed"),
    "wrong-dtype": ("return mask.to(torch.uint8)", "failed"),
    "writes-inputs": ("batch.token_types.zero_()\n    return mask", "failed"),
    "raises": ("raise ValueError('engine fell over')", "failed"),
}


@pytest.fixture
def engine(pytester: pytest.Pytester) -> pytest.Pytester:
    """The main property of the mask suite over three profiles, in a project of its own."""
    few = "\nsettings.register_profile('few', settings.get_profile('ci'), max_examples=10)\nsettings.load_profile('few')\n"
    pytester.makeconftest((ROOT / "conftest.py").read_text(encoding="utf-8") + few)
    pytester.makepyfile(test_it=f"from suites.claims import claimed\nfrom suites.mask.test_dense import {TEST}\n")
    lists = pytester.mkdir("test_lists")
    lines = "".join(f"  - test_it.py::{TEST}[{name}]\n" for name in (PROFILE, *OTHERS))
    (lists / "l0_x.yml").write_text(f"version: 0.0.1\nl0_x:\n- tests:\n{lines}", encoding="utf-8")
    return pytester


@pytest.mark.parametrize("kind", FAULTS)
def test_a_planted_fault_has_its_status_and_the_other_profiles_theirs(
    engine: pytest.Pytester, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever happens under one profile, the others are what they are without the fault: passed."""
    body, status = FAULTS[kind]
    engine.makepyfile(engine=f"{ENGINE}def fault(batch, mask):\n    {body}\n")
    monkeypatch.setenv("CI", "1")  # the same examples each time, and none kept
    engine.runpytest_subprocess("-m", "l0_x", "--mask-impl", "engine:build", "-n1", "--timeout=10", timeout=300)
    found = {name.split("[", 1)[1].rstrip("]"): status for name, status in statuses(engine).items()}
    assert found == {PROFILE: status, **dict.fromkeys(OTHERS, "passed")}
    assert len(run_folders(engine)) == 1
