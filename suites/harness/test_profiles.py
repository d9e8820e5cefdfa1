"""How examples are drawn: the profiles of suites/profiles.py, as a process of its own sees them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from suites.harness.conftest import ROOT

SHOW = """
import json
import conftest
from hypothesis import settings
loaded = settings.default
profiles = {name: settings.get_profile(name) for name in ("dev", "ci", "mutants")}
print(json.dumps({"deadlines": [one.deadline for one in profiles.values()], "derandomize": loaded.derandomize,
                  "keeps": loaded.database is not None}))
"""


def _shown(**environ: str) -> dict[str, object]:
    """Hypothesis knows a CI by many variables: the process has none but those given."""
    environ |= {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    environ |= {"MM_CONFORMANCE_DEVICE": "cpu"}
    done = subprocess.run([sys.executable, "-c", SHOW], cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_no_example_has_a_deadline() -> None:
    """The first one on a cold device compiles kernels."""
    assert _shown()["deadlines"] == _shown(CI="true")["deadlines"] == [None] * 3


def test_ci_repeats_its_search_and_others_draw_anew_and_keep_what_fails() -> None:
    on_ci, elsewhere = _shown(CI="true"), _shown()
    assert (on_ci["derandomize"], on_ci["keeps"]) == (True, False)
    assert (elsewhere["derandomize"], elsewhere["keeps"]) == (False, True)


LOADED = """
from hypothesis import settings
def test_a():
    now = settings()
    print("LOADED", now.max_examples, now.derandomize, now.database is not None, now.deadline)
"""


@pytest.mark.parametrize(
    ("stage", "ci", "loaded"),
    [
        ("nightly", "", "1000 False True None"),
        ("nightly", "true", "1000 False True None"),
        ("pre_merge", "", "100 False True None"),
        ("pre_merge", "true", "100 True False None"),
    ],
)
def test_a_nightly_list_searches_anew_and_remembers_under_ci_too(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, stage: str, ci: str, loaded: str
) -> None:
    for name in [*os.environ]:  # Hypothesis knows a CI by many variables
        if name not in ("HOME", "PATH", "PYTHONPATH"):
            monkeypatch.delenv(name)
    if ci:
        monkeypatch.setenv("CI", ci)
    pytester.makeconftest((ROOT / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(test_it=LOADED)
    text = f"version: 0.0.1\nl0_x:\n- condition: {{terms: {{stage: {stage}}}}}\n  tests: [test_it.py]\n"
    (pytester.mkdir("test_lists") / "l0_x.yml").write_text(text, encoding="utf-8")
    run = pytester.runpytest_subprocess("-m", "l0_x", "-n0", "-s")
    run.stdout.fnmatch_lines([f"*LOADED {loaded}*"])
