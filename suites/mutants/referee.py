"""Runs mutants through the suite, one after the other in one process: ``python -m suites.mutants.referee``.

Reads a JSON object a line (``{"id": ..., "everything": false, "seed": 0}``) and answers with one. A mutant may crash, hang
or scribble over its process: whoever asks keeps the referee at arm's length (:mod:`suites.mutants.match`).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from harness.device import choose_device
from harness.records import EXAMPLES
from harness.statuses import SKIPS, STATUS, Status, skip_kind
from suites.mutants.mutant import Mutant
from suites.profiles import EVERYTHING, GLANCE, SEARCH

FOLDERS = {"mask": ("suites/mask", "suites/model"), "cache": ("suites/cache",), "store": ("suites/cache",)}
LIMIT = 180
"""Seconds that a test of a mutant may take."""


class Referee:
    """The plugin of one match: chooses the tests and notes what failed.

    Attributes:
        failures: Requirements of the tests that failed, by node id.
        examples: That the first test to fail drew up to its failure, that one included.
        ran: Tests that ran.
        message: Of the first failure.
    """

    def __init__(self, requirement: str | None, without: str | None) -> None:
        self.failures: dict[str, list[str]] = {}
        self.examples = 0
        self.ran = 0
        self.message = ""
        self._requirement = requirement
        self._without = without
        self._requirements: dict[str, list[str]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leaves the tests that carry the requirement, but for one that is taken out of the suite."""
        self._requirements = {
            item.nodeid: [name for mark in item.iter_markers("requirement") for name in mark.args] for item in items
        }
        items[:] = [
            item
            for item in items
            if (self._requirement is None or self._requirement in self._requirements[item.nodeid])
            and item.nodeid.split("::", 1)[1].split("[", 1)[0] != self._without
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes what ran and what failed."""
        if report.when == "call":
            skipped = report.skipped and isinstance(report.longrepr, tuple) and skip_kind(report.longrepr[2]) in SKIPS
            self.ran += not skipped
        late = (STATUS, Status.TIMED_OUT.value) in report.user_properties or report.duration >= LIMIT
        stated = {value for name, value in report.user_properties if name == STATUS}
        if report.failed and late:  # what the interrupted Hypothesis makes of it may look like a failure
            self.message = f"{report.nodeid} timed out: that is no verdict"
        elif report.failed and (report.when != "call" or Status.HARNESS_ERROR.value in stated):
            self.message = f"{report.nodeid}: an error of the suite ({report.when}) is no verdict: {report.longrepr}"
        elif report.failed:
            if not self.failures:
                self.message = str(getattr(getattr(report.longrepr, "reprcrash", None), "message", report.longrepr))
                self.examples = sum(int(str(value)) for name, value in report.user_properties if name == EXAMPLES) or 1
            self.failures[report.nodeid] = self._requirements.get(report.nodeid, [])


def judge(mutant: Mutant, everything: bool = False, seed: int = 0, without: str | None = None) -> dict[str, Any]:
    """Runs the tests of a mutant's requirement until one fails; with ``everything`` all tests of its kind, to the end.

    Every test of the requirement first draws few examples, so that one that passes does not hold up one that fails.

    Args:
        mutant: The mutant.
        everything: Run all tests, and on behind failures.
        seed: Of the search.
        without: A test function that is left out, as if the suite had it not.

    Returns:
        ``id``, ``killed``, ``by`` (node id -> its requirements), ``examples``, ``seconds``, ``ran`` and ``message``.
    """
    began = time.perf_counter()
    for profile in [EVERYTHING] if everything else [GLANCE, SEARCH]:
        referee = _run(mutant, profile, seed, without)
        if referee.failures or referee.message:
            break
    return {
        "id": mutant.id,
        "killed": bool(referee.failures),
        "by": referee.failures,
        "examples": referee.examples,
        "seconds": round(time.perf_counter() - began, 2),
        "ran": referee.ran,
        "message": referee.message[:500],
    }


def _run(mutant: Mutant, profile: str, seed: int, without: str | None) -> Referee:
    everything = profile == EVERYTHING
    referee = Referee(None if everything else mutant.requirement, without)
    said = io.StringIO()
    # A property keeps the profile under which its module was imported.
    for name in [name for name in sys.modules if name.rpartition(".")[2].startswith("test_")]:
        del sys.modules[name]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        args = [*FOLDERS[mutant.kind], "-n0", "-q", "-p", "no:cacheprovider", "--conditions=ignore", f"--timeout={LIMIT}"]
        args += [
            f"--only={mutant.kind}s",
            f"--{mutant.kind}-impl",
            f"suites.mutants.registry:{mutant.id}",
            f"--run-dir={folder}",
        ]
        args += [f"--hypothesis-seed={seed}", f"--hypothesis-profile={profile}", "--tb=line"]
        code = pytest.main([*args, *([] if everything else ["-x"])], plugins=[referee])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED, 6):
        referee.message = said.getvalue()[-2000:]
    return referee


def main() -> None:
    """Answers until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a mutant prints is no answer
    os.chdir(Path(__file__).parents[2])
    choose_device()  # before triton is imported, which the mutants of its kernels do
    from suites.mutants.registry import CONTROLS, MUTANTS

    known = MUTANTS | CONTROLS
    for line in sys.stdin:
        asked = json.loads(line)
        mutant = known[asked["id"]]
        answer = judge(mutant, asked.get("everything", False), asked.get("seed", 0), asked.get("without"))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
