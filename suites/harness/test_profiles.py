"""How examples are drawn: the profiles of conftest.py, as a process of its own sees them."""

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


def _shown(ci: str) -> dict[str, object]:
    environ = {**os.environ, "CI": ci, "MM_CONFORMANCE_DEVICE": "cpu"}
    done = subprocess.run([sys.executable, "-c", SHOW], cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("ci", ["", "true"])
def test_no_example_has_a_deadline(ci: str) -> None:
    """The first one on a cold device compiles kernels."""
    assert _shown(ci)["deadlines"] == [None] * 3


def test_ci_repeats_its_search_and_others_draw_anew_and_keep_what_fails() -> None:
    assert (_shown("true")["derandomize"], _shown("true")["keeps"]) == (True, False)
    assert (_shown("")["derandomize"], _shown("")["keeps"]) == (False, True)
