"""The pytest plugin: lists as markers, waivers, the records of a run, and what it ends with.

What a test's process does is in :mod:`harness.isolation`, :mod:`harness.properties` and :mod:`harness.waived`; what a run is
worth, in :mod:`harness.verdict`.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pytest_reportlog.plugin import ReportLogPlugin

from harness.collecting import COLLECT_INTO, Collected
from harness.device import SLOTS
from harness.entries import Entry, Index, ListError
from harness.exits import ExitCode
from harness.isolation import ISOLATED_TEST, Isolation, Watch, limit_of
from harness.keeping import Keeper
from harness.lint import check
from harness.lists import TestList, read_lists, scan_list
from harness.machine import commit_of, machine_class, machine_properties, versions
from harness.own_process import ISOLATED_FOLDER, OwnProcess
from harness.properties import Properties, is_property
from harness.records import (
    EVENTS,
    MANIFEST,
    ListRecord,
    Manifest,
    RecordError,
    Shard,
    TestRecord,
    read_events,
    read_manifest,
    write_manifest,
)
from harness.selection import check_expressions, check_marker_expression, idle, means, named_lists
from harness.statuses import STATUS, Status, skip_kind
from harness.verdict import Conformance, exit_code, in_a_line, judge
from harness.waived import WAIVER, Waived, where
from harness.waives import Waiver, WaiverError, platform_key, read_waivers, scan_waivers

_ERRORS = "conformance_errors"
_RUN = "conformance_run"
_DEFAULTS = {"--test-lists": "test_lists", "--waives-file": "waives.txt"}
_PATHS = ("--run-dir", *_DEFAULTS)
_UNCLAIMED = f"{Status.NOT_CLAIMED.value}: profile "
_OF_IDS = ("unmatched-entry", "unmatched", "truncated")
"""What cannot be told where not everything was collected."""
_NARROWING = ("ignore", "ignore_glob", "deselect", "confcutdir", "noconftest", "pyargs", "example")
"""Options that leave tests out of a list, or change what they are."""
_NARROWING_SETTINGS = ("python_", "testpaths", "norecursedirs", "addopts", "collect_")
_REPLAYS = 5
"""Commands that the terminal shows."""
_LINT_ONLY = ("unlisted-test", "runs-nowhere")
"""What stops no run: a test that is being written is in no list yet, and what is skipped is skipped."""
_MARKERS = {
    "requirement(*ids)": "the requirements of SPEC.md that the test checks",
    "needs_claim(*names)": "the claims without which the test does not apply",
    "cuda(why)": "the test needs a CUDA device",
    "stateful": "the test runs a Hypothesis state machine",
    "isolated": "the test runs in a process of its own",
    "waived": "a line of waives.txt covers the test",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance")
    for name, metavar, what in (
        ("--test-lists", "DIR", "folder of test lists"),
        ("--waives-file", "FILE", "file of waivers"),
    ):
        default = _DEFAULTS[name]
        words = f"{what}, from the root; can be given more than once (default: {default})"
        group.addoption(name, metavar=metavar, action="append", default=[], help=words)
    group.addoption(
        "--conditions",
        choices=("report", "enforce", "ignore"),
        default="report",
        help="what to do where this machine is not what a list asks for: say so, end the run, or nothing (default: report)",
    )
    group.addoption("--run-waived", action="store_true", help="run waived tests too, and report how they do; none blocks")
    group.addoption("--example", metavar="BLOB", help="run the chosen properties on this example alone")
    group.addoption(
        "--findings",
        metavar="DIR",
        help="folder that keeps what the run finds (default: findings in a run of a nightly list, none otherwise)",
    )
    group.addoption("--run-dir", metavar="DIR", help="folder for the records of this run (default: a new one in runs/)")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    _join_paths(config)
    for name, meaning in _MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    list_folders, waives_files = (_paths(config, name) for name in ("--test-lists", "--waives-file"))
    if collecting := os.environ.get(COLLECT_INTO):
        config.pluginmanager.register(_Collector(Path(collecting), list_folders, waives_files))
        list_folders = waives_files = []
    if config.getoption("runxfail"):
        raise pytest.UsageError("--runxfail takes the teeth out of XFAIL; to see how waived tests do, use --run-waived")
    try:
        lists = read_lists(list_folders)
        waivers = [waiver for file in waives_files for waiver in read_waivers(file)]
    except (ListError, WaiverError) as error:
        raise pytest.UsageError(str(error)) from error
    known = {re.split(r"[:(]", line, maxsplit=1)[0].strip() for line in config.getini("markers")}
    for name, one in lists.items():
        if name in known or not name.isidentifier():
            raise pytest.UsageError(f"{one.path}: -m cannot ask for {name!r}, {_taken(name, known)}; rename the list")
        config.addinivalue_line("markers", f"{name}: the tests of {one.path}")
    check_marker_expression(config.getoption("-m") or "", known | set(lists))
    check_expressions([*(entry for one in lists.values() for entry in one.entries), *waivers])
    run = Run(config, lists, waivers)
    config.pluginmanager.register(run, "conformance")
    if config.getoption("durations_path", None) == os.path.join(os.getcwd(), ".test_durations"):
        # What a test takes depends on the machine: shards are cut by the times of their own kind.
        durations = (list_folders or [config.rootpath])[0] / "durations" / f"{machine_class(run.machine)}.json"
        config.option.durations_path = str(durations)
        if config.option.store_durations:
            durations.parent.mkdir(exist_ok=True)
    if config.getoption("maxworkerrestart", None) is None:
        config.option.maxworkerrestart = "1000000"  # each test may cost one; Isolation ends a run that gets nowhere


def _paths(config: pytest.Config, name: str) -> list[Path]:
    """What an option names, from the root; the default only if it is there."""
    given = [config.rootpath / path for path in config.getoption(name)]
    for path in given:
        if not path.exists():
            raise pytest.UsageError(f"{name} {path}: no such file or directory")
    return given or [path for path in [config.rootpath / _DEFAULTS[name]] if path.exists()]


def _join_paths(config: pytest.Config) -> None:
    """Rewrites ``--run-dir DIR`` to ``--run-dir=DIR`` for the workers, which parse the command line again.

    pytest looks for its root before it knows the options of conftest.py, and takes a path behind one for a test's. The
    folder of a new run is not there yet when the controller looks, and is when they do.
    """
    given = [str(arg) for arg in config.invocation_params.args]
    joined: list[str] = []
    while given:
        arg = given.pop(0)
        joined.append(f"{arg}={given.pop(0)}" if arg in _PATHS and given else arg)
    params = config.invocation_params
    config.invocation_params = pytest.Config.InvocationParams(args=joined, plugins=params.plugins, dir=params.dir)


def _taken(name: str, known: set[str]) -> str:
    return "which is a marker already" if name in known else "which is not one word"


class _Collector:
    """Writes down what there is, for lint."""

    def __init__(self, file: Path, lists: Sequence[Path], waives: Sequence[Path]) -> None:
        self._file = file
        self._lists = lists
        self._waives = waives

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Before anything runs."""
        scanned = [scan_list(path)[0] for folder in self._lists for path in sorted(folder.rglob("*.yml"))]
        entries = [entry for one in scanned if one is not None for entry in one.entries]
        waivers = [waiver for file in self._waives for waiver in scan_waivers(file)[0]]
        check_expressions([*entries, *waivers])
        left = [(str(line.path), line.line) for line in idle([*entries, *waivers], items)]
        random = [item.nodeid for item in items if is_property(item)]
        self._file.write_bytes(msgspec.json.encode(Collected([item.nodeid for item in items], random, left)))


class _Events(ReportLogPlugin):  # type: ignore[misc]  # it has no types
    """Every report, as it comes, in ``events.jsonl``: beside a ``--report-log`` of the user's own."""

    pytest_terminal_summary = None


class Run:
    """One run: what it is about, what was selected, and what came of it.

    Attributes:
        lists: The lists by name.
        machine: Properties of this machine.
        implementations: What is under test, option -> name; set by conftest.py, as the following are.
        about: What they say of themselves, likewise.
        device: In words.
        options: The options that choose it, for replay commands.
        requirements: Requirement -> its sentence.
        concerns: Whether a test says something of what is under test; the others are left out, and not missed.
        result: What the run is worth, once it has ended; None if it did not get as far.
    """

    def __init__(self, config: pytest.Config, lists: dict[str, TestList], waivers: list[Waiver]) -> None:
        self.config = config
        self.lists = lists
        self.machine = machine_properties()
        self.implementations: dict[str, str] = {}
        self.about: dict[str, str] = {}
        self.device = ""
        self.options: list[str] = []
        self.requirements: dict[str, str] = {}
        self.concerns: Callable[[pytest.Item], bool] = lambda item: True
        self.result: Conformance | None = None
        self._waivers = waivers
        self._folder: Path | None = None
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._events: _Events | None = None
        self._watch: Watch | None = None
        self._waived: Waived | None = None
        self._keeper: Keeper | None = None
        self._errors: list[str] = []
        self._narrowed: list[str] = []
        self._listed: list[str] = []
        self._lost = ""
        self._universe: list[str] = []
        unmet = [f"{one.name}: {'; '.join(reasons)}" for one in self.selected if (reasons := one.unmet(self.machine))]
        if unmet and config.getoption("--conditions") == "enforce":
            raise pytest.UsageError(
                f"this machine is not what the list asks for ({' | '.join(unmet)}); run it where it is meant to run, "
                "or with --conditions report"
            )

    @property
    def selected(self) -> list[TestList]:
        """The lists that ``-m`` asks for."""
        return [self.lists[name] for name in named_lists(self.config.getoption("-m") or "", self.lists)]

    @property
    def nightly(self) -> bool:
        """Whether a list of the stage ``nightly`` was chosen: it searches where no run has, and keeps what it finds."""
        return any(block.condition.terms.get("stage") == "nightly" for one in self.selected for block in one.blocks)

    @property
    def folder(self) -> Path | None:
        """That of its records; None where it has none, or not yet."""
        return self._folder

    @property
    def _is_worker(self) -> bool:
        return hasattr(self.config, "workerinput")

    # The run's folder

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Finds or makes the folder, and puts in the plugins that need it."""
        if self.config.option.collectonly:
            return
        self._folder = self._make_folder()
        self._waived = Waived(self.config.getoption("--run-waived"), self._folder)
        isolation = Isolation(self.config, self._folder, self._waived.excuse)
        # The last one's word on a report counts.
        own = OwnProcess(self.config, self._folder, self._waived.excuse)
        for plugin in (own, Properties(self.config.getoption("--example")), isolation, self._waived):
            self.config.pluginmanager.register(plugin)
        if self._is_worker or ISOLATED_TEST in os.environ:
            isolation.open_last_words()
        if not self._is_worker:
            self._events = _Events(self.config, self._folder / EVENTS)
            self.config.pluginmanager.register(self._events)
            if ISOLATED_TEST not in os.environ and (findings := self._findings()):
                self._keeper = Keeper(self.config, self._folder, findings)
                self.config.pluginmanager.register(self._keeper)
            os.environ[SLOTS] = str(self._folder / "workers")
            self._watch = Watch(self._folder)
            self._watch.start()

    def _findings(self) -> Path | None:
        wanted = self.config.getoption("--findings")
        if wanted is not None:
            return Path(self.config.invocation_params.dir, wanted)
        return self.config.rootpath / "findings" if self.nightly else None

    def _make_folder(self) -> Path:
        if self._is_worker:
            folder, self._started = self.config.workerinput[_RUN]  # type: ignore[attr-defined]
            return Path(folder)
        if ISOLATED_FOLDER in os.environ:
            return Path(os.environ[ISOLATED_FOLDER])
        wanted = self.config.getoption("--run-dir")
        folder = Path(self.config.invocation_params.dir, wanted or "")
        try:
            if wanted is None:
                folder = self._new_folder(self.config.rootpath / "runs")
            elif (folder / EVENTS).exists():
                raise pytest.UsageError(f"--run-dir {wanted}: holds the records of another run; name a new folder")
            (folder / "workers").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror or error
            raise pytest.UsageError(f"--run-dir {folder}: cannot be made: {why}; name a folder to write to") from error
        return folder

    def _new_folder(self, runs: Path) -> Path:
        runs.mkdir(exist_ok=True)
        (runs / ".gitignore").write_text("*\n", encoding="ascii")
        stem = "-".join([f"{datetime.now(UTC):%Y%m%d-%H%M%S}", *(one.name for one in self.selected), str(os.getpid())])
        for suffix in itertools.count():  # one process may begin two runs within a second
            folder = runs / (f"{stem}-{suffix}" if suffix else stem)
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
        raise AssertionError("there is always a next number")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tells a worker where the run's folder is."""
        node.workerinput[_RUN] = (str(self._folder), self._started)

    def pytest_unconfigure(self) -> None:
        """Closes the records."""
        if self._events is not None:
            with contextlib.suppress(OSError):  # a full disk has been told of
                self._events.close()
        if self._watch is not None:
            self._watch.end()
            os.environ.pop(SLOTS, None)

    # Collection

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Marks each test with the lists it is in, before ``-m`` selects, and puts waivers into effect."""
        selected = {one.name for one in self.selected}
        listed = [(one, Index(self._entries(one))) for one in self.lists.values()]
        waivers = Index(self._waivers)
        self._errors = self._registration_errors(session, items)
        for item in items:
            minutes = []
            lists_of_item = []
            for test_list, index in listed:
                entries = [entry for entry in index.of(item.nodeid) if means(entry, item)]
                if not entries:
                    continue
                item.add_marker(test_list.name)
                if test_list.name in selected:
                    lists_of_item.append(test_list)
                    minutes += [entry.minutes for entry in entries if entry.minutes is not None]
                    if any(entry.isolated for entry in entries):
                        item.add_marker(pytest.mark.isolated)
            if minutes:
                item.add_marker(pytest.mark.timeout(60 * max(minutes)), append=False)
            if lists_of_item and self.concerns(item):
                self._listed.append(item.nodeid)
            for waiver in waivers.of(item.nodeid):
                if self._waived is not None and _holds_for(waiver, lists_of_item) and means(waiver, item):
                    self._errors += filter(None, [self._waived.apply(item, waiver)])
        if self._errors and self._is_worker:
            # A worker cannot end the run: the controller does, once it hears of it.
            self.config.workeroutput[_ERRORS] = self._errors  # type: ignore[attr-defined]
            items.clear()
        elif self._errors:
            raise pytest.UsageError("\n".join(self._errors))
        if others := [item for item in items if not self.concerns(item)]:
            self.config.hook.pytest_deselected(items=others)
            items[:] = [item for item in items if self.concerns(item)]

    @pytest.hookimpl(specname="pytest_collection_modifyitems", trylast=True)
    def pytest_collection_modifyitems_selected(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Between pytest's selection and pytest-split's, which was registered later."""
        self._universe = [item.nodeid for item in items]
        chosen = set(self._universe)
        if missing := sum(node_id not in chosen for node_id in self._listed):
            self._narrowed.append(f"{missing} tests of the list were not selected")
        if not self._everything_is_collected:
            self._narrowed.append(f"only {' '.join(self.config.args)} was collected")
        if session.testsfailed:
            self._narrowed.append("not everything could be collected")
        given = {name.replace("_", "-") for name in _NARROWING if self.config.getoption(name, None)}
        # pytest keeps --strict-markers among these, too.
        given |= {
            setting for setting in self.config.getoption("override_ini") or () if setting.startswith(_NARROWING_SETTINGS)
        }
        self._narrowed += [f"{name} was given" for name in sorted(given)]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Writes the manifest, and leaves the one test of a process that is for one."""
        if self._folder is None or self.config.option.collectonly or self._errors or not self._universe:
            return
        if ISOLATED_TEST in os.environ:
            session.items[:] = [item for item in session.items if item.nodeid == os.environ[ISOLATED_TEST]]
        splits, group = self.config.getoption("splits", None), self.config.getoption("group", None)
        manifest = Manifest(
            run=self._folder.name,
            started=self._started,
            lists=[
                ListRecord(one.name, os.path.relpath(one.path, self.config.rootpath), one.unmet(self.machine))
                for one in self.selected
            ],
            conditions=self.config.getoption("--conditions"),
            implementations=self.implementations,
            about=self.about,
            seed=str(self.config.getoption("--hypothesis-seed", None) or ""),
            device=self.device,
            machine=self.machine,
            versions={version.package: version.version for version in versions()},
            commit=commit_of(self.config.rootpath),
            registered=self._digest(),
            command=self.options,
            requirements=self.requirements,
            narrowed=self._narrowed,
            universe=self._universe,
            tests=[_record(item) for item in session.items],
            shard=Shard(group, splits) if splits else None,
        )
        write_manifest(self._folder, manifest)

    def _digest(self) -> str:
        lines = [*(str(entry) for one in self.lists.values() for entry in one.entries), *map(str, self._waivers)]
        return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def _entries(self, test_list: TestList) -> list[Entry]:
        """Those of the blocks that are meant for this machine; of all blocks, if none is."""
        if self.config.getoption("--conditions") == "ignore":
            return list(test_list.entries)
        return [entry for block in test_list.active(self.machine) for entry in block.entries]

    @property
    def _everything_is_collected(self) -> bool:
        source = self.config.args_source
        at_root = self.config.invocation_params.dir == self.config.rootpath
        return source is source.TESTPATHS or (source is source.INVOCATION_DIR and at_root)

    def _registration_errors(self, session: pytest.Session, items: Sequence[pytest.Item]) -> list[str]:
        """What lint finds of lists and waivers; of ids, as far as this run has collected the files they name."""
        node_ids = [item.nodeid for item in items]
        files = {node_id.split("::", 1)[0] for node_id in node_ids}
        # With --lf, or where a file could not be read, what was collected is not what there is.
        partial = bool(session.testsfailed or self.config.getoption("lf", False))
        everything = self._everything_is_collected and not partial

        def in_scope(targets: Iterable[str]) -> bool:
            named = [target.split("::", 1)[0] for target in targets]
            missing = not partial and any(not (self.config.rootpath / file).exists() for file in named)
            return everything or missing or (not partial and any(file in files for file in named))

        entries = [entry for one in self.lists.values() for entry in one.entries]
        lines: list[Entry | Waiver] = [*entries, *self._waivers]
        targets = {(line.path, line.line): line.targets for line in lines}
        left = {(line.path, line.line) for line in idle(lines, items)}
        random = {item.nodeid for item in items if is_property(item)}
        today = datetime.now(UTC).date()
        return [
            str(finding)
            for finding in check(list(self.lists.values()), self._waivers, node_ids, today, random, left)
            if finding.rule not in _LINT_ONLY
            and (finding.rule not in _OF_IDS or in_scope(targets.get((finding.path, finding.line), ())))
        ]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """In the controller: ends the run if a worker found the registration wrong."""
        errors = getattr(node, "workeroutput", {}).get(_ERRORS)
        if errors and not self._errors:
            self._errors = errors
            self.config.get_terminal_writer().line()
            for line in errors:
                self.config.get_terminal_writer().line(f"ERROR: {line}", red=True)

    # The end

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Reads back what was recorded: the exit status rests on the same as every report."""
        if self._folder is None or self._is_worker:
            return
        if self._errors:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return
        try:
            events = list(read_events(self._folder))
        except RecordError as error:
            self._lost = f"the records of this run are lost, and its verdict with them: {error}"
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            return
        uncollected = any(e.get("$report_type") == "CollectReport" and e["outcome"] == "failed" for e in events)
        if (self._folder / MANIFEST).exists():
            self.result = judge(read_manifest(self._folder), events)
        if exitstatus == pytest.ExitCode.INTERNAL_ERROR or uncollected:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        elif self.result is not None and exitstatus not in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR):
            code = exit_code(self.result)
            # A failure that the records do not show is a hole in the harness, and no pass.
            lost = code is ExitCode.OK and exitstatus == pytest.ExitCode.TESTS_FAILED
            session.exitstatus = int(ExitCode.HARNESS_ERROR if lost else code)

    # Reporting

    def pytest_report_header(self) -> list[str]:
        """What a verdict of this run holds for."""
        lines = [", ".join(f"{option} {name}" for option, name in self.implementations.items())] * bool(self.implementations)
        lines += [f"device: {self.device}"] * bool(self.device)
        lines.append(f"versions: {', '.join(map(str, versions()))}")
        for test_list in self.selected if self.config.getoption("--conditions") != "ignore" else ():
            unmet = test_list.unmet(self.machine)
            state = "this machine is what it asks for"
            if unmet:
                state = f"NOT the machine it asks for ({'; '.join(unmet)}); it runs on what is here"
            lines.append(f"list {test_list.name}: {state}")
        return lines

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Shows a test as what it is."""
        if not isinstance(report, pytest.TestReport):
            return None  # of a file that could not be collected
        if report.outcome == "left":  # type: ignore[comparison-overlap]  # Isolation's word for: reported already
            return "", "", ""
        marked = next((str(value) for name, value in report.user_properties if name == STATUS), None)
        if marked is not None and report.failed:
            return "failed", marked[0].upper(), marked.upper()
        if report.skipped and isinstance(report.longrepr, tuple):
            kind = skip_kind(report.longrepr[2])
            if kind is not None:
                return kind.value, kind.value[0], kind.value.upper()
        return None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Says how much ran, for whom, and what did not."""
        if self.config.option.collectonly or ISOLATED_TEST in os.environ:
            return
        terminalreporter.section("conformance")
        for line in self.pytest_report_header():
            terminalreporter.write_line(line)
        for line in [self._lost] if self._lost else _summary(self.result, self._folder, self.config.rootpath):
            terminalreporter.write_line(line)
        for line in [] if self._keeper is None else self._keeper.lines():
            terminalreporter.write_line(line)


def run_of(config: pytest.Config) -> Run:
    """The run's plugin object."""
    found = config.pluginmanager.get_plugin("conformance")
    assert isinstance(found, Run)
    return found


def _record(item: pytest.Item) -> TestRecord:
    waiver = item.stash.get(WAIVER, None)
    return TestRecord(
        id=item.nodeid,
        requirements=sorted({str(name) for mark in item.iter_markers("requirement") for name in mark.args}),
        waiver=None if waiver is None else f"{where(waiver)}: {waiver}",
        marker=None if waiver is None else waiver.marker,
        limit=limit_of(item),
        isolated=item.get_closest_marker("isolated") is not None,
    )


def _holds_for(waiver: Waiver, lists: Sequence[TestList]) -> bool:
    """Whether a waiver holds for a test that runs because these lists have it."""
    if waiver.platform is None:
        return True
    return any(platform_key(waiver.platform) == platform_key(test_list.platform) for test_list in lists)


def _summary(result: Conformance | None, folder: Path | None, root: Path) -> list[str]:
    """The end of a run in the terminal."""
    if result is None or folder is None:
        return ["nothing ran: this is no verdict"]
    lines = []
    reasons = Counter(
        test.reason for test in result.tests if test.status in (Status.NOT_CLAIMED, Status.NOT_RUN, Status.SKIPPED)
    )
    profiles = sorted(reason for reason in reasons if reason and reason.startswith(_UNCLAIMED))
    if profiles:
        names = ", ".join(reason.removeprefix(_UNCLAIMED) for reason in profiles)
        lines.append(f"{sum(reasons.pop(reason) for reason in profiles)} x {_UNCLAIMED}{names}")
    lines += [f"{count} x {reason}" for reason, count in sorted(reasons.items(), key=str)]
    lines += [f"{test.waiver}: {test.waived_run}" for test in result.tests if test.waived_run is not None]
    failures = [test.failure for test in result.tests if test.failure is not None]
    lines += [f"replay: {failure.replay}" for failure in failures[:_REPLAYS]]
    if len(failures) > _REPLAYS:
        lines.append(f"replay: {len(failures) - _REPLAYS} more are in the reports")
    lines.append(in_a_line(result))
    shown = os.path.relpath(folder, root) if folder.is_relative_to(root) else str(folder)
    lines.append(f"reports: python -m harness render {shown}")
    return lines
