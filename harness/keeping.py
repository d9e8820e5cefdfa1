"""Keeps what a run finds, as its reports come, so that a killed run loses none: the pytest side of findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.findings import FindingError, finding_of, keep
from harness.records import RecordError, read_manifest
from harness.statuses import STATUS, Status


class Keeper:
    """The plugin.

    Args:
        config: Of the run.
        run: Folder of the run's records.
        folder: Of the findings.

    Attributes:
        kept: Files of this run's findings.
        lost: Why findings could not be kept; they are in the records of the run.

    Raises:
        pytest.UsageError: The folder cannot be written to.
    """

    def __init__(self, config: pytest.Config, run: Path, folder: Path) -> None:
        self.kept: set[Path] = set()
        self.lost: set[str] = set()
        self._config = config
        self._run = run
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".writable").touch()
            (folder / ".writable").unlink()
        except OSError as error:
            why = error.strerror or error
            raise pytest.UsageError(f"--findings {folder}: cannot be written to: {why}; name another folder") from error

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps a failure of the implementation: a crash or a timeout has no example, and a waived test is known."""
        properties: dict[str, Any] = {str(name): value for name, value in report.user_properties}
        if report.when != "call" or not report.failed or properties.get(STATUS, Status.FAILED.value) != Status.FAILED.value:
            return
        serialised = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        try:
            found = finding_of(read_manifest(self._run), report.nodeid, serialised, properties)
            self.kept.add(keep(found, self._folder))
        except (FindingError, RecordError) as error:
            self.lost.add(str(error))

    def lines(self) -> list[str]:
        """What the end of the run says of it."""
        found = [f"finding: python -m harness replay {path}" for path in sorted(self.kept)]
        return found + [f"a finding is in the records of this run alone: {why}" for why in sorted(self.lost)]
