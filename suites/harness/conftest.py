"""A small project around the plugin, made anew for each test."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _this_project_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))


@pytest.fixture
def project(pytester: pytest.Pytester) -> Callable[..., pytest.Pytester]:
    """Makes a project: its tests, one list ``l0_x`` of ``entries``, and its waivers."""

    def make(tests: str, entries: tuple[str, ...] = ("suites",), waives: str = "") -> pytest.Pytester:
        pytester.makeconftest('pytest_plugins = ["harness.plugin"]')
        pytester.makeini("[pytest]\ntestpaths = suites\nstrict_markers = true\naddopts = --strict-markers\n")
        folder = pytester.mkdir("suites")
        (folder / "test_it.py").write_text(tests, encoding="utf-8")
        lists = pytester.mkdir("test_lists")
        lines = "".join(f"  - {entry!r}\n" for entry in entries)
        (lists / "l0_x.yml").write_text(f"version: 0.0.1\nl0_x:\n- condition: {{}}\n  tests:\n{lines}", encoding="utf-8")
        (pytester.path / "waives.txt").write_text(waives, encoding="utf-8")
        return pytester

    return make
