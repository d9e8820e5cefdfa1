"""Bars are for people who watch: not for a log, and not under CI."""

from __future__ import annotations

import pytest

from harness.progress import bars


@pytest.mark.parametrize(
    ("terminal", "ci", "shown"), [("1", "", True), ("1", "true", False), ("0", "", False), ("0", "true", False)]
)
def test_bars_are_shown_on_a_terminal_alone_and_not_under_ci(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: str, ci: str, shown: bool
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", terminal)
    monkeypatch.setenv("TTY_INTERACTIVE", terminal)
    monkeypatch.setenv("CI", ci)
    with bars() as progress:
        progress.advance(progress.add_task("mutants", total=2))
        progress.refresh()
    written = capsys.readouterr()
    assert ("mutants" in written.err) is shown
    assert not written.out
