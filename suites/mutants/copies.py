"""Runs the tests of the harness on a copy of this project, which a mutant of the harness is.

The copy's tests are run by pytest as it comes, in a process of its own: a harness with a fault is not asked what it thinks
of itself. Its plugin is loaded only by the small projects that its tests make.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness.records import EVENTS, RecordError, read_events
from suites.mutants.edits import applied
from suites.mutants.mutant import Mutant
from suites.profiles import EVERYTHING, GLANCE, SEARCH

ROOT = Path(__file__).parents[2]

LIMIT = 120.0
"""Seconds that the tests of a mutant may take in all; one that runs into it is no kill."""

_SUITES = ("__init__.py", "cache", "harness", "mask", "profiles.py", "reference", "strategies")
_LEFT_OUT = shutil.ignore_patterns(".*", "runs", "build", "mutants", "suites", "*.egg-info")
_SETTINGS = "[pytest]\nmarkers =\n    cuda: needs a CUDA device\n    requirement: of SPEC.md\n"


def copied(folder: Path, name: str = "", file: str = "", old: str = "", new: str = "") -> Path:
    """Copies this project into a folder, with one edit.

    Args:
        folder: An empty one.
        name: Name of the mutant.
        file: The file that is edited, from the root; none for a plain copy.
        old: Text that stands there exactly once.
        new: What takes its place.

    Returns:
        The root of the copy.

    Raises:
        StaleEditError: The text does not stand in the file exactly once.
    """
    # Compiled files stay valid in a copy: they know the time and the size of their source.
    root = Path(shutil.copytree(ROOT, folder / "copy", ignore=_LEFT_OUT))
    for part in _SUITES:
        path = ROOT / "suites" / part
        (root / "suites").mkdir(exist_ok=True)
        copy = shutil.copytree if path.is_dir() else shutil.copy2
        copy(path, root / "suites" / part)
    if file:
        text = (root / file).read_text(encoding="utf-8")
        (root / file).write_text(applied(name, file, text, old, new), encoding="utf-8")
    return root


def judge(
    mutant: Mutant, everything: bool = False, seed: int = 0, without: str | None = None, limit: float = LIMIT
) -> dict[str, Any]:
    """Runs the tests that must fail on a mutant of the harness until one does.

    Args:
        mutant: Its requirement names tests, with blanks between them.
        everything: Run on behind failures.
        seed: Of the search.
        without: A test function that is left out.
        limit: Seconds for each of the two runs: a glance, and a search where it finds nothing.

    Returns:
        As :func:`suites.mutants.referee.judge`; there are no ``examples`` to count. Killed is a mutant on which a test
        fails: not one that cannot be imported, nor one that runs into the limit.
    """
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        folder = Path(name)
        root = mutant.make(folder)
        for profile in [EVERYTHING] if everything else [GLANCE, SEARCH]:
            draws = [f"--hypothesis-profile={profile}", f"--hypothesis-seed={seed}", *([] if everything else ["-x"])]
            code, said = _run(Path(str(root)), folder, [*mutant.requirement.split(), *draws], without, limit)
            reports = [report for report in _reports(folder) if report.get("when") == "call"]
            failed = [str(report["nodeid"]) for report in reports if report["outcome"] == "failed"]
            if code != 0:
                break
    return {
        "id": mutant.id,
        "code": code,
        "killed": code == 1 and bool(failed),
        "by": {node_id: [mutant.requirement] for node_id in failed},
        "examples": None,
        "seconds": round(time.perf_counter() - began, 2),
        "ran": sum(report["outcome"] != "skipped" for report in reports),
        "message": "" if code in (0, 1) else f"pytest ended with status {code}: {said[-500:]}",
    }


def _run(root: Path, folder: Path, arguments: list[str], without: str | None, limit: float) -> tuple[int | None, str]:
    """The exit status of pytest, None if it ran into the limit, and what it said."""
    settings = folder / "pytest.ini"
    settings.write_text(_SETTINGS, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        *arguments,
        "-q",
        "--tb=line",
        f"--rootdir={root}",
        f"--config-file={settings}",
    ]
    command += [
        "-p",
        "no:cacheprovider",
        "--noconftest",
        "-p",
        "pytester",
        "-p",
        "suites.harness.conftest",
        "-p",
        "suites.profiles",
    ]
    command += [f"--report-log={folder / EVENTS}", "-m", "not cuda"]
    command += ["-k", f"not {without}"] if without else []
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "MM_CONFORMANCE_"))}
    # What the tests start themselves draws the same examples each time, as under CI.
    environ |= {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "CI": "1"}
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=root, env=environ, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            code = None
    return code, (folder / "output.txt").read_text(encoding="utf-8", errors="replace")


def _reports(folder: Path) -> list[dict[str, Any]]:
    try:
        return list(read_events(folder))
    except RecordError:
        return []  # it did not get as far
