"""Implementations that crash, hang, leave or lie, given by ``--mask-impl``: each ends as what it is, and hurts no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from suites.harness.conftest import run_folders, statuses

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
def engine(mask_project: Callable[..., pytest.Pytester]) -> pytest.Pytester:
    """The main property of the mask suite over three profiles."""
    return mask_project((PROFILE, *OTHERS), examples=10)


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
