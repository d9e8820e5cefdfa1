"""A small project around the plugin, made anew for each test."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import harness.plugin  # noqa: F401  # what a run in this process imports first, the next one imports again: YAML's C code fails
from harness.records import read_events, read_manifest
from harness.verdict import Conformance, judge

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _this_project_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    for name in [*os.environ]:
        # What the run around this one tells its own processes.
        if (
            name.startswith(("PYTEST_XDIST_", "MM_CONFORMANCE_ISOLATED_", "MM_CONFORMANCE_SLOTS"))
            or name == "PYTEST_ADDOPTS"
        ):
            monkeypatch.delenv(name)


@pytest.fixture
def project(pytester: pytest.Pytester) -> Callable[..., pytest.Pytester]:
    """Makes a project: its tests, one list ``l0_x`` of ``entries``, and its waivers."""

    def make(tests: str, entries: tuple[str, ...] = ("suites",), waives: str = "", condition: str = "{}") -> pytest.Pytester:
        pytester.makeconftest('pytest_plugins = ["harness.plugin"]')
        pytester.makeini("[pytest]\ntestpaths = suites\nstrict_markers = true\naddopts = --strict-markers\n")
        folder = pytester.mkdir("suites")
        (folder / "test_it.py").write_text(tests, encoding="utf-8")
        lists = pytester.mkdir("test_lists")
        lines = "".join(f"  - {entry!r}\n" for entry in entries)
        head = f"version: 0.0.1\nl0_x:\n- condition: {condition}\n  tests:\n"
        (lists / "l0_x.yml").write_text(head + lines, encoding="utf-8")
        (pytester.path / "waives.txt").write_text(waives, encoding="utf-8")
        return pytester

    return make


MAIN_TEST = "test_every_cell_is_the_oracles"


@pytest.fixture
def mask_project(pytester: pytest.Pytester) -> Callable[..., pytest.Pytester]:
    """Makes a project of the mask suite's main test: all of it, or a list ``l0_x`` of ``profiles`` with few ``examples``."""

    def make(profiles: Sequence[str] = (), examples: int | None = None) -> pytest.Pytester:
        few = f"settings.register_profile('few', settings.get_profile('ci'), max_examples={examples})"
        few = f"\n{few}\nsettings.load_profile('few')\n" if examples else ""
        pytester.makeconftest((ROOT / "conftest.py").read_text(encoding="utf-8") + few)
        imports = f"from suites.claims import claimed\nfrom suites.mask.test_dense import {MAIN_TEST}\n"
        pytester.makepyfile(test_it=imports)
        lists = pytester.mkdir("test_lists")
        if profiles:
            lines = "".join(f"  - test_it.py::{MAIN_TEST}[{name}]\n" for name in profiles)
            (lists / "l0_x.yml").write_text(f"version: 0.0.1\nl0_x:\n- tests:\n{lines}", encoding="utf-8")
        return pytester

    return make


def run_folders(project: pytest.Pytester) -> list[Path]:
    """The folders of the runs of a project, oldest first."""
    return sorted(
        (path for path in (project.path / "runs").iterdir() if path.is_dir()), key=lambda path: path.stat().st_ctime_ns
    )


def result_of(folder: Path) -> Conformance:
    """What a run is worth, from its records alone."""
    return judge(read_manifest(folder), read_events(folder))


def statuses(project: pytest.Pytester) -> dict[str, str]:
    """Test function (with parameters) -> status, of a project's last run."""
    return {test.id.split("::", 1)[1]: test.status.value for test in result_of(run_folders(project)[-1]).tests}
