"""Asks pytest which tests a tree has, for lint: not the text of its files, which knows no generated test."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

COLLECT_INTO = "MM_CONFORMANCE_COLLECT_INTO"
"""Environment: the file that takes what is collected; lists and waivers with faults stop nothing then."""

LIMIT = 600.0
"""Seconds that a collection may take."""


class CollectionError(Exception):
    """The tests of a tree could not be collected."""


class Collected(msgspec.Struct, frozen=True):
    """The tests of a tree.

    Attributes:
        node_ids: In the order of collection.
        random: Those that draw examples.
        idle: Files and lines of entries and waivers whose ``-k`` or ``-m`` leaves no test.
    """

    node_ids: list[str]
    random: list[str]
    idle: list[tuple[str, int]]


def collect(root: Path, lists: Sequence[Path] = (), waives: Sequence[Path] = ()) -> Collected:
    """Collects the tests below a root that loads this plugin.

    Args:
        root: Of the tree.
        lists: Folders of lists, if not the project's own.
        waives: Files of waivers, likewise.

    Raises:
        CollectionError: pytest failed, or took too long.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "collected.json"
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0"]
        command += [f"--test-lists={path.resolve()}" for path in lists]
        command += [f"--waives-file={path.resolve()}" for path in waives]
        environment = {**os.environ, COLLECT_INTO: str(file)}
        try:
            done = subprocess.run(
                command, cwd=root, env=environment, capture_output=True, encoding="utf-8", errors="replace", timeout=LIMIT
            )
        except subprocess.TimeoutExpired as error:
            raise CollectionError(f"collecting the tests of {root.resolve()} took over {LIMIT:g} s") from error
        if done.returncode != 0 or not file.exists():
            said = "\n".join((done.stdout or done.stderr).splitlines()[-20:])
            raise CollectionError(f"the tests of {root.resolve()} could not be collected (exit {done.returncode}):\n{said}")
        return msgspec.json.decode(file.read_bytes(), type=Collected)
