"""How examples are drawn: the profiles of suites/profiles.py, as a process of its own sees them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

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
