"""The pytest plugin: lists as markers, waivers, the header, and a summary that says what the run is worth."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from harness.lists import ListError, TestList, nearest, read_lists
from harness.lists import unmatched as unmatched_entries
from harness.machine import machine_properties, versions
from harness.statuses import Skip
from harness.waives import Waiver, WaiverError, read_waivers
from harness.waives import unmatched as unmatched_waivers

EXAMPLES = "examples"
"""User property of a report: how many examples Hypothesis ran."""

_ERRORS = "conformance_errors"
_DEFAULTS = {"--test-lists": "test_lists", "--waives-file": "waives.txt"}
_UNCLAIMED = f"{Skip.NOT_CLAIMED.value}: profile "
_MARKERS = {
    "requirement(*ids)": "the requirements of SPEC.md that the test checks",
    "needs_claim(*names)": "the claims without which the test does not apply",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance")
    for name, metavar, what in (
        ("--test-lists", "DIR", "folder of test lists"),
        ("--waives-file", "FILE", "file of waivers"),
    ):
        default = _DEFAULTS[name]
        group.addoption(name, metavar=metavar, default=default, help=f"{what}, from the root (default: {default})")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in _MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    list_folder, waives_file = (config.rootpath / config.getoption(name) for name in ("--test-lists", "--waives-file"))
    for name, path in (("--test-lists", list_folder), ("--waives-file", waives_file)):
        if not path.exists() and config.getoption(name) != _DEFAULTS[name]:
            raise pytest.UsageError(f"{name} {path}: no such file or directory")
    try:
        lists = read_lists(list_folder)
        waivers = read_waivers(waives_file)
    except (ListError, WaiverError) as error:
        raise pytest.UsageError(str(error)) from error
    for name in lists:
        config.addinivalue_line("markers", f"{name}: the tests of {config.getoption('--test-lists')}/{name}.yml")
    _check_marker_expression(config)
    config.pluginmanager.register(Conformance(config, lists, waivers), "conformance")


def _check_marker_expression(config: pytest.Config) -> None:
    expression = config.getoption("-m") or ""
    known = {re.split(r"[:(]", line, maxsplit=1)[0].strip() for line in config.getini("markers")}
    for name in re.findall(r"[A-Za-z_]\w*(?!\w*\s*=)", re.sub(r"\([^()]*=[^()]*\)", "", expression)):
        if name not in known | {"and", "or", "not", "True", "False"}:
            raise pytest.UsageError(f"-m {expression}: no list or marker is called {name!r}{nearest(name, known)}")


class Conformance:
    """One run: what was selected, what was waived, and what came of it.

    Attributes:
        lists: The lists by name.
        header: Lines that conftest.py adds to the header: the implementation and the device.
    """

    def __init__(self, config: pytest.Config, lists: dict[str, TestList], waivers: list[Waiver]) -> None:
        self.config = config
        self.lists = lists
        self.waivers = waivers
        self.header: list[str] = []
        self._counts: Counter[str] = Counter()
        self._examples = 0
        self._skips: Counter[str] = Counter()

    @property
    def selected(self) -> list[TestList]:
        """The lists that ``-m`` names."""
        names = set(re.findall(r"\w+", re.sub(r"\bnot\s+\w+", "", self.config.getoption("-m") or "")))
        return [test_list for name, test_list in self.lists.items() if name in names]

    # Collection

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Marks each test with the lists it is in, before ``-m`` selects."""
        for item in items:
            for name, test_list in self.lists.items():
                if any(entry.selects(item.nodeid) for entry in test_list.entries):
                    item.add_marker(name)
            for waiver in self.waivers:
                if waiver.covers(item.nodeid) and self._on_platform(waiver):
                    where = f"{waiver.path.name}:{waiver.line}"
                    item.add_marker(pytest.mark.skip(reason=f"{Skip.WAIVED.value}: {where} ({waiver.link})"))
        # With --lf, or where a file could not be read, what was collected is not what there is.
        partial = session.testsfailed or self.config.getoption("lf", False)
        errors = [] if partial else self._registration_errors([item.nodeid for item in items])
        if errors and (output := getattr(self.config, "workeroutput", None)) is not None:
            # A worker cannot end the run: the controller does, once it hears of it.
            output[_ERRORS] = errors
            items.clear()
        elif errors:
            raise pytest.UsageError("\n".join(errors))

    def _on_platform(self, waiver: Waiver) -> bool:
        if waiver.platform is None:
            return True
        return any(waiver.platform.lower() == test_list.platform for test_list in self.selected)

    def _registration_errors(self, node_ids: list[str]) -> list[str]:
        """Entries and waivers that match nothing, as far as this run has collected the files they name."""
        files = {node_id.split("::", 1)[0] for node_id in node_ids}
        source = self.config.args_source
        at_root = self.config.invocation_params.dir == self.config.rootpath
        everything = source is source.TESTPATHS or (source is source.INVOCATION_DIR and at_root)

        def in_scope(target: str) -> bool:
            file = target.split("::", 1)[0]
            return everything or file in files or not (self.config.rootpath / file).exists()

        entries = [entry for test_list in self.lists.values() for entry in test_list.entries if in_scope(entry.target)]
        waivers = [waiver for waiver in self.waivers if in_scope(waiver.node_id)]
        return unmatched_entries(entries, node_ids) + unmatched_waivers(waivers, node_ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """In the controller: ends the run if a worker found the registration wrong."""
        errors = getattr(node, "workeroutput", {}).get(_ERRORS)
        if errors and not self._counts["usage"]:
            self._counts["usage"] = 1
            self.config.get_terminal_writer().line()
            for line in errors:
                self.config.get_terminal_writer().line(f"ERROR: {line}", red=True)

    # Running

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Counts the examples of a property."""
        handle = getattr(getattr(item, "obj", None), "hypothesis", None)
        if handle is None:
            return (yield)
        body, calls = handle.inner_test, 0

        @functools.wraps(body)
        def counted(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            return body(*args, **kwargs)

        handle.inner_test = counted
        try:
            return (yield)
        finally:
            handle.inner_test = body
            item.user_properties.append((EXAMPLES, calls))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sums up, here and from the workers alike."""
        if report.when == "call":
            self._examples += sum(int(str(value)) for name, value in report.user_properties if name == EXAMPLES)
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            kind = Skip.of(reason)
            self._counts[kind.value if kind else "skipped"] += 1
            self._skips[reason.removeprefix("Skipped: ")] += 1
        elif report.failed:
            self._counts["failed"] += 1
        elif report.when == "call":
            self._counts["passed"] += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """A run in which nothing ran is not green, and one whose registration is wrong is a usage error."""
        if self._counts["usage"]:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        elif exitstatus == pytest.ExitCode.OK and self._nothing_ran and not hasattr(self.config, "workerinput"):
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    @property
    def _nothing_ran(self) -> bool:
        return not self._counts["passed"] and not self._counts["failed"] and not self.config.option.collectonly

    # Reporting

    def pytest_report_header(self) -> list[str]:
        """What a verdict of this run holds for."""
        lines = [*self.header, f"versions: {', '.join(map(str, versions()))}"]
        machine = machine_properties()
        for test_list in self.selected:
            unmet = test_list.unmet(machine)
            state = "this machine is what it asks for"
            if unmet:
                state = f"NOT the machine it asks for ({'; '.join(unmet)}); it runs on what is here"
            lines.append(f"list {test_list.name}: {state}")
        return lines

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Shows a skip as what it is."""
        if report.skipped and isinstance(report.longrepr, tuple):
            kind = Skip.of(report.longrepr[2])
            if kind is not None:
                return kind.value, kind.value[0], kind.value.upper()
        return None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Says how much ran, for whom, and what did not."""
        write = terminalreporter.write_line
        terminalreporter.section("conformance")
        for line in self.pytest_report_header():
            write(line)
        profiles = sorted(reason for reason in self._skips if reason.startswith(_UNCLAIMED))
        if profiles:
            names = ", ".join(reason.removeprefix(_UNCLAIMED) for reason in profiles)
            write(f"{sum(self._skips.pop(reason) for reason in profiles)} x {_UNCLAIMED}{names}")
        for reason, count in sorted(self._skips.items()):
            write(f"{count} x {reason}")
        counts = ", ".join(f"{count} {what}" for what, count in sorted(self._counts.items()) if what != "usage")
        write(f"{self._examples} examples drawn; tests: {counts or 'none'}")
        if self._nothing_ran:
            write("nothing ran: this is no verdict", red=True)


def conformance(config: pytest.Config) -> Conformance:
    """The run's plugin object."""
    found = config.pluginmanager.get_plugin("conformance")
    assert isinstance(found, Conformance)
    return found
