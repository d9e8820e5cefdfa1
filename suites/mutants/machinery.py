"""Known-bad copies of the harness: lists, waivers, statuses, isolation and reports, each with one edit.

A mutant's requirement names the tests of the harness that must fail on it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from suites.mutants.copies import copied
from suites.mutants.mutant import Mutant, table

_HARNESS = "suites/harness"


def _edit(
    file: str, id: str, fault: str, tests: str, old: str, new: str, sentence: str, source: str | None = None
) -> Mutant:
    """A mutant by one edit; ``tests`` are those of ``suites/harness/test_*.py`` that must fail, with blanks between."""

    def make(folder: Path) -> object:
        return copied(folder, id, file, old, new)

    named = " ".join(f"{_HARNESS}/{test}" for test in tests.split())
    return Mutant(id, "harness", fault, sentence, named, make, source)


_entries = partial(_edit, "harness/entries.py")
_isolation = partial(_edit, "harness/isolation.py")
_lint = partial(_edit, "harness/lint.py")
_merge = partial(_edit, "harness/merge.py")
_nearest = partial(_edit, "harness/nearest.py")
_own = partial(_edit, "harness/own_process.py")
_plugin = partial(_edit, "harness/plugin.py")
_properties = partial(_edit, "harness/properties.py")
_records = partial(_edit, "harness/records.py")
_statuses = partial(_edit, "harness/statuses.py")
_verdict = partial(_edit, "harness/verdict.py")
_waived = partial(_edit, "harness/waived.py")
_waives = partial(_edit, "harness/waives.py")

_WAIVERS_WITHOUT_EFFECT = [
    _lint(
        "waivers-against-lists-alone",
        "F34",
        "test_lint.py",
        "elif tree.node_ids is not None and target not in tree.names_collected:",
        "elif tree.node_ids is not None and target not in tree.names_collected | tree.names_listed:",
        "A waiver for a test that is gone passes as long as a list names it",
        "NVIDIA/TensorRT-LLM/pull/17198",
    ),
    _lint(
        "waivers-against-tests-alone",
        "F34",
        "test_lint.py",
        "elif tree.lists and not tree.is_listed(target):",
        "elif not tree.lists and not tree.is_listed(target):",
        "A waiver for what no list runs passes",
        "NVIDIA/TensorRT-LLM/pull/19420",
    ),
    _lint(
        "waivers-by-function",
        "F34",
        "test_lint.py",
        "elif tree.node_ids is not None and target not in tree.names_collected:",
        'elif tree.node_ids is not None and target.partition("[")[0] not in tree.names_collected:',
        "A waiver for a parameter that was renamed passes: its function is there",
        "NVIDIA/TensorRT-LLM/pull/19178",
    ),
    _lint(
        "tests-by-their-source",
        "F34",
        "test_lint.py",
        "return {name for node_id in self.node_ids or () for name in ancestors(node_id)}",
        'return {name for node_id in self.node_ids or () for name in ancestors(node_id.partition("[")[0])}',
        "Tests are known as the text of a file knows them: without what is generated",
        "pytorch/pytorch/pull/185013",
    ),
    _lint(
        "prose-for-a-link",
        "F34",
        "test_lint.py",
        'waiver.marker in ("SKIP", "XFAIL", "UNSTABLE") and waiver.link is None',
        'waiver.marker in ("SKIP", "XFAIL", "UNSTABLE") and not waiver.argument',
        "Any text in parentheses counts as the link",
        "NVIDIA/TensorRT-LLM/pull/10992",
    ),
    _lint(
        "xfail-without-a-link",
        "F34",
        "test_lint.py",
        'waiver.marker in ("SKIP", "XFAIL", "UNSTABLE")',
        'waiver.marker in ("SKIP", "UNSTABLE")',
        "XFAIL needs no link",
        "NVIDIA/TensorRT-LLM/pull/10992",
    ),
    _lint(
        "idle-expressions",
        "F34",
        "test_plugin.py::test_a_waiver_whose_expressions_leave_nothing_stops_the_run_and_lint_finds_it",
        "    _idle,\n",
        "",
        "A waiver whose -k leaves no test passes",
    ),
    _waives(
        "waiver-by-prefix",
        "F34",
        "test_waives.py",
        "return not {bare(target) for target in self.targets}.isdisjoint(ancestors(node_id))",
        "return any(node_id.startswith(bare(target)) for target in self.targets)",
        "A waiver covers every test whose id begins as it does",
    ),
    _waives(
        "malformed-waivers-passed-over",
        "F34",
        "test_waives.py",
        "    if errors:\n        raise errors[0]\n    return waivers",
        "    return waivers",
        "A waiver with a slip of the pen waives nothing, and nobody is told",
    ),
    _plugin(
        "platform-without-effect",
        "F34",
        "test_plugin.py::test_a_waiver_for_another_platform_waives_nothing",
        "    if waiver.platform is None:\n        return True",
        "    if waiver is not None:\n        return True",
        "A waiver of one platform holds on all",
    ),
    _plugin(
        "platform-by-part",
        "F34",
        "test_plugin.py::test_a_waiver_for_another_platform_waives_nothing "
        "test_plugin.py::test_a_waiver_of_one_platform_leaves_the_tests_of_another_list",
        "return any(platform_key(waiver.platform) == platform_key(test_list.platform) for test_list in lists)",
        "return any(platform_key(test_list.platform) in platform_key(waiver.platform) for test_list in lists)",
        "A waiver of DGX_B200 holds on B200: its name is a part of the other",
    ),
    _plugin(
        "workers-keep-it-to-themselves",
        "F34",
        "test_plugin.py::test_the_same_from_a_worker",
        "            self.config.workeroutput[_ERRORS] = self._errors  # type: ignore[attr-defined]\n",
        "",
        "What is wrong with lists and waivers is lost where a worker finds it",
    ),
]

_IDS = [
    _nearest(
        "id-cut-at-its-last-colons",
        "F35",
        "test_lists.py",
        'file, separator, test = node_id.partition("::")\n    if separator:',
        'file, separator, test = node_id.rpartition("::")\n    if separator:',
        "Parameters that hold '::' are taken for a class",
        "pytest-dev/pytest/issues/8377",
    ),
    _nearest(
        "id-cut-at-its-last-bracket",
        "F35",
        "test_lists.py",
        'name, bracket, _ = test.partition("[")',
        'name, bracket, _ = test.rpartition("[")',
        "Parameters that hold a bracket are taken for the function's name",
        "pytest-dev/pytest/issues/8377",
    ),
    _entries(
        "id-torn-at-blanks",
        "F35",
        "test_lists.py test_waives.py",
        'return (text,) if "[" in text else tuple(text.split())',
        "return tuple(text.split())",
        "An id with a blank becomes two",
        "ClickHouse/ClickHouse/pull/110582",
    ),
    _entries(
        "index-by-prefix",
        "F35",
        "test_lists.py test_waives.py",
        "found = {position for name in ancestors(node_id) for position in self._positions.get(name, ())}",
        "found = {n for name, positions in self._positions.items() if node_id.startswith(name) for n in positions}",
        "An entry selects every test whose id begins as it does",
    ),
    _entries(
        "folder-with-a-slash",
        "F35",
        "test_lists.py test_waives.py",
        'return target if "::" in target else target.rstrip("/")',
        "return target",
        "A folder with a slash at its end selects nothing",
    ),
    _waives(
        "comment-within-brackets",
        "F35",
        "test_waives.py",
        'before if not bracket else behind if closing else ""',
        "target",
        "A '#' in an id begins a comment",
    ),
    _edit(
        "harness/failures.py",
        "replay-through-a-shell",
        "F35",
        "test_verdict.py",
        "return shlex.join(",
        'return " ".join(',
        "The command that replays a failure is torn apart by a shell",
        "ClickHouse/ClickHouse/pull/110582",
    ),
    _own(
        "isolated-id-through-a-shell",
        "F35",
        "test_isolation.py::test_an_entry_with_isolation_runs_in_a_process_of_its_own",
        "{ISOLATED_TEST: item.nodeid,",
        '{ISOLATED_TEST: item.nodeid.split(" ")[0],',
        "The process of a test is told its id up to the first blank",
        "pytest-dev/pytest/issues/1936",
    ),
    _edit(
        "harness/render/junit.py",
        "junit-with-control-characters",
        "F35",
        "render/test_junit.py",
        "junitparser.TestCase(printable(node.name),",
        "junitparser.TestCase(node.name,",
        "An id with a control character makes junit.xml unreadable",
    ),
    _edit(
        "harness/render/nodeids.py",
        "junit-names-cut-in-parameters",
        "F35",
        "render/test_text.py",
        'head, bracket, parameters = node_id.partition("[")',
        'head, bracket, parameters = node_id.partition("no bracket")',
        "Reports take '::' in parameters for a class",
        "pytest-dev/pytest/issues/8377",
    ),
]

_ROT = [
    _waived(
        "xfail-not-strict",
        "F36",
        "test_waived.py::test_what_is_expected_to_fail_and_passes_is_a_failure_that_names_the_line",
        "pytest.mark.xfail(reason=reason, strict=True)",
        "pytest.mark.xfail(reason=reason)",
        "A waived test that passes does not name the line to delete",
        "data-apis/array-api-tests/pull/157",
    ),
    _statuses(
        "unexpected-pass-is-a-pass",
        "F36",
        "test_verdict.py",
        "return Status.UNEXPECTED_PASS if expected_failure else Status.PASSED",
        "return Status.PASSED",
        "An expected failure that passes is a pass",
        "data-apis/array-api-tests/pull/373",
    ),
    _statuses(
        "unexpected-pass-is-no-failure",
        "F36",
        "test_verdict.py",
        "return self.rank >= Status.UNEXPECTED_PASS.rank",
        "return self.rank > Status.UNEXPECTED_PASS.rank",
        "An expected failure that passes fails nothing",
        "data-apis/array-api-tests/pull/157",
    ),
    _lint(
        "expired-still-counts",
        "F36",
        "test_lint.py",
        "    _expired,\n",
        "",
        "A waiver holds on behind its last day",
    ),
    _lint(
        "expired-a-day-early",
        "F36",
        "test_lint.py",
        "waiver.until < tree.today",
        "waiver.until <= tree.today",
        "A waiver does not hold on its last day",
    ),
    _waived(
        "waived-never-run",
        "F36",
        "test_waived.py::test_waived_tests_can_be_run_and_block_nothing",
        "        if self._run_anyway:\n            return None\n        if waiver.marker",
        "        if waiver.marker",
        "--run-waived runs no waived test",
        "pytorch/pytorch/pull/120627",
    ),
    _waived(
        "any-failure-is-the-same",
        "F36",
        "test_waived.py::test_waived_tests_can_be_run_and_block_nothing",
        'return f"{SAME_FAILURE if waiver.error in error else OTHER_FAILURE}: {first}"',
        'return f"{SAME_FAILURE if error else OTHER_FAILURE}: {first}"',
        "--run-waived calls another failure than the linked one the same",
        "pytorch/pytorch/pull/120627",
    ),
    _waived(
        "any-failure-is-expected",
        "F36",
        "test_waived.py::test_a_failure_of_another_kind_than_the_waived_one_is_a_failure",
        "elif waiver.error is not None and waiver.error not in error:",
        "elif waiver.error is not None and not error:",
        "XFAIL with error= takes another failure for the waived one",
        "pytorch/pytorch/pull/120627",
    ),
    _waived(
        "broken-fixture-is-expected",
        "F36",
        "test_waived.py::test_a_broken_fixture_is_not_what_was_waived",
        'if call.when != "call":\n                fail(report, Status.HARNESS_ERROR)\n            elif',
        "if",
        "A fixture that breaks is taken for the waived failure",
    ),
    _waived(
        "pinned-example-healed",
        "F36",
        "test_waived.py::test_a_random_property_is_judged_by_its_pinned_example",
        "            item.stash[_SEARCH] = words_of(error)",
        "            raise",
        "An XFAIL of a property is judged by what the search finds, not by the pinned example",
    ),
    _lint(
        "unpinned-properties",
        "F36",
        "test_lint.py",
        "    _unpinned_xfail,\n",
        "",
        "XFAIL of a random property needs no pinned example",
    ),
    _lint(
        "each-platform-for-itself",
        "F36",
        "test_lint.py",
        "    _runs_nowhere,\n",
        "",
        "A test that every platform skips, each in a line of its own, is not noticed",
        "data-apis/array-api-tests/issues/413",
    ),
    _lint(
        "on-no-list",
        "F36",
        "test_lint.py",
        "    _unlisted_test,\n",
        "",
        "A test on no list is not noticed",
        "data-apis/array-api-tests/issues/413",
    ),
    _verdict(
        "expected-by-anybody",
        "F36",
        "test_verdict.py",
        'if status is Status.WAIVED and record.marker != "XFAIL":',
        'if status is Status.WAIVED and record.marker == "SKIP":',
        "A failure is expected without a line of the waivers",
    ),
]

_PARALLEL = [
    _verdict(
        "last-verdict-wins",
        "F37",
        "test_verdict.py",
        "status, report = max(found, key=lambda pair: pair[0].rank, default=(Status.UNFINISHED, {}))",
        "status, report = found[-1] if found else (Status.UNFINISHED, {})",
        "Of two verdicts on a test the last counts",
        "pytest-dev/pytest-xdist/issues/932",
    ),
    _verdict(
        "best-verdict-wins",
        "F37",
        "test_verdict.py",
        "status, report = max(found, key=lambda pair: pair[0].rank, default=(Status.UNFINISHED, {}))",
        "status, report = min(found, key=lambda pair: pair[0].rank, default=(Status.UNFINISHED, {}))",
        "Of two verdicts on a test the better counts",
        "pytest-dev/pytest-xdist/issues/932",
    ),
    _plugin(
        "restarts-run-out",
        "F37",
        "test_isolation.py::test_every_test_may_crash_and_each_is_named",
        'config.option.maxworkerrestart = "1000000"',
        'config.option.maxworkerrestart = "2"',
        "After a few dead workers the rest of the tests never runs",
        "pytest-dev/pytest-xdist/pull/1371",
    ),
    _isolation(
        "crash-without-a-report",
        "F37",
        "test_isolation.py::test_a_crash_in_the_last_fixture_outweighs_a_pass",
        "if words.startswith(_POISONED) and crashitem in self._failed:",
        "if crashitem not in self._failed:",
        "The test whose worker died is reported by nobody",
        "pytest-dev/pytest-xdist/pull/1371",
    ),
    _isolation(
        "surrogates-stop-the-worker",
        "F37",
        "test_isolation.py::test_what_a_test_leaves_behind_hurts_no_other",
        "return _sendable((yield))",
        "return (yield)",
        "A report that is no text cannot be sent, and no later one is",
    ),
    _merge(
        "shards-overlap",
        "F37",
        "test_verdict.py",
        "if test.id in owner:",
        "if test.id in owner and owner[test.id] is manifest:",
        "Two shards may have run the same test",
    ),
    _merge(
        "shards-of-different-lists",
        "F37",
        "test_verdict.py",
        '        "lists or waivers as written": manifest.registered,\n',
        "",
        "Shards with different waivers are joined",
    ),
    _merge(
        "errors-of-the-first-shard",
        "F37",
        "test_verdict.py",
        "errors = [error for shard in shards for error in shard.errors]",
        "errors = list(shards[0].errors)",
        "A file that one shard could not collect is forgotten",
    ),
    _merge(
        "tests-in-any-order",
        "F37",
        "test_verdict.py",
        "[by_id[node_id] for node_id in first.universe]",
        "[by_id[node_id] for node_id in set(first.universe)]",
        "The order of tests is that of a set",
        "pytest-dev/pytest-xdist/issues/432",
    ),
]

_DRAWN = [
    _properties(
        "flaky-is-the-suites-fault",
        "F38",
        "test_waived.py::test_a_flaky_implementation_is_at_fault_not_the_suite",
        " and not isinstance(error, Flaky | DeadlineExceeded)",
        "",
        "An implementation that fails now and then is the suite's error",
    ),
    _properties(
        "unsatisfiable-is-the-implementations-fault",
        "F38",
        "test_isolation.py::test_what_hypothesis_refuses_is_no_fault_of_the_implementation",
        "isinstance(error, PinnedExampleError | HypothesisException)",
        "isinstance(error, PinnedExampleError)",
        "A property that finds no example is a failure of the implementation",
    ),
    _properties(
        "examples-uncounted",
        "F38",
        "test_plugin.py::test_examples_are_counted",
        "        calls += 1\n",
        "        calls = 1\n",
        "However many examples ran, one is counted",
        "alunduil/zfs-replicate/issues/703",
    ),
    _edit(
        "Makefile",
        "silent-nightly",
        "F38",
        "test_plugin.py::test_make_runs_the_lists_and_hands_on_how_they_end",
        "-m pytest -m $@ $(ARGS)",
        "-m pytest -m $@ $(ARGS) || true; echo done",
        "The nightly is green whatever comes of it",
        "alunduil/zfs-replicate/issues/703",
    ),
    _edit(
        "suites/harness/test_waives.py",
        "property-on-a-method",
        "F38",
        "test_plugin.py::test_properties_of_this_project_are_functions",
        "@given(waivers())\ndef test_a_waiver_prints_as_what_reads_back(waiver: Waiver)",
        "class TestWaivers:\n  @given(waivers())\n  def test_a_waiver_prints_as_what_reads_back(self, waiver: Waiver)",
        "A property is a method, which Hypothesis refuses to run twice in a process",
        "HypothesisWorks/hypothesis/issues/3733",
    ),
    _edit(
        "suites/profiles.py",
        "deadline-on-a-cold-device",
        "F38",
        "test_profiles.py",
        "    deadline=None,\n",
        "    deadline=2000,\n",
        "The first example, which compiles kernels, is over its deadline",
        "HypothesisWorks/hypothesis/issues/3733",
    ),
    _edit(
        "suites/profiles.py",
        "the-same-search-every-night",
        "F38",
        "test_profiles.py",
        'settings.register_profile("dev", _COMMON, max_examples=100)',
        'settings.register_profile("dev", _COMMON, max_examples=100, derandomize=True)',
        "A search outside of CI draws the same examples each time",
    ),
]

_POISONED = "test_isolation.py::test_a_poisoned_device_is_blamed_on_the_test_that_did_it_and_left"

_DEVICES = [
    _isolation(
        "probe-after-failures-alone",
        "F39",
        _POISONED,
        "        finally:\n            self._poisoned = device_fault()\n        if",
        "        except BaseException:\n            self._poisoned = device_fault()\n            raise\n        if",
        "A test that passes and poisons the device is not found out",
        "pytorch/pytorch/issues/49019",
    ),
    _isolation(
        "poisoned-worker-stays",
        "F39",
        _POISONED,
        "        os._exit(1)  # its reports are sent",
        "        return  # its reports are sent",
        "The next test runs on the poisoned device",
        "pytorch/pytorch/issues/49019",
    ),
    _isolation(
        "poisoned-and-crashed",
        "F39",
        _POISONED,
        "if words.startswith(_POISONED) and crashitem in self._failed:",
        "if words.startswith(_POISONED) and crashitem not in self._failed:",
        "A test that poisons the device has two failures",
        "NVIDIA/cuml/pull/8519",
    ),
    _isolation(
        "poisoned-run-goes-on",
        "F39",
        "test_isolation.py::test_without_workers_a_poisoned_device_ends_the_run",
        'item.session.shouldstop = f"{_POISONED}{self._poisoned}"\n            return',
        "return",
        "Without a worker to replace the run goes on on the poisoned device",
        "pytorch/pytorch/issues/49019",
    ),
]

_LIMITS = [
    _plugin(
        "limit-in-seconds",
        "F40",
        "test_isolation.py::test_a_limit_of_a_list_is_in_minutes_and_holds_where_the_list_runs",
        "item.add_marker(pytest.mark.timeout(60 * max(minutes)), append=False)",
        "item.add_marker(pytest.mark.timeout(max(minutes)), append=False)",
        "TIMEOUT (90) in a list is a minute and a half",
    ),
    _waived(
        "waived-limit-in-seconds",
        "F40",
        "test_waived.py::test_a_waiver_can_change_a_limit",
        "pytest.mark.timeout(60 * waiver.minutes)",
        "pytest.mark.timeout(waiver.minutes)",
        "TIMEOUT (90) of a waiver is a minute and a half",
    ),
    _plugin(
        "shorter-limit-counts",
        "F40",
        "test_isolation.py::test_a_limit_of_a_list_is_in_minutes_and_holds_where_the_list_runs",
        "60 * max(minutes)",
        "60 * min(minutes)",
        "Of two limits of a list the shorter counts",
    ),
    _isolation(
        "limit-is-an-exception",
        "F40",
        "test_isolation.py::test_an_example_that_hangs_is_not_tried_again",
        "class TimedOut(BaseException):",
        "class TimedOut(Exception):",
        "Hypothesis takes the end of the time for a failing example, and tries it again",
        "pytest-dev/pytest-timeout/issues/72",
    ),
    _isolation(
        "native-hang-is-a-crash",
        "F40",
        "test_isolation.py::test_a_test_that_swallows_the_end_of_its_time_is_ended_all_the_same",
        'return any(line.startswith("Timeout (") and line.endswith(")!") for line in words.splitlines())',
        "return False",
        "A test that is ended with its process is called a crash",
        "Genesis-Embodied-AI/quadrants/pull/556",
    ),
    _isolation(
        "hang-is-what-was-expected",
        "F40",
        "test_waived.py::test_a_hang_is_not_what_was_waived",
        "if call.excinfo is not None and isinstance(call.excinfo.value, TimedOut):",
        "if call.excinfo is not None and isinstance(call.excinfo.value, TimedOut) and report.failed:",
        "XFAIL takes a hang for the waived failure",
        "Genesis-Embodied-AI/quadrants/pull/556",
    ),
]

_GATES = [
    _statuses(
        "skip-is-a-pass",
        "F41",
        "test_verdict.py",
        'skip_kind(skip_reason or "") or Status.NOT_RUN',
        'skip_kind(skip_reason or "") or Status.PASSED',
        "A skip that does not say which kind it is counts as a pass",
        "SauersML/gam/issues/2422",
    ),
    _verdict(
        "nothing-ran-and-green",
        "F41",
        "test_verdict.py",
        "return ExitCode.OK if empty_shard else ExitCode.NOTHING_RAN",
        "return ExitCode.OK",
        "A run with everything skipped is green",
        "SauersML/gam/issues/2422",
    ),
    _verdict(
        "nothing-ran-and-conformant",
        "F41",
        "test_verdict.py",
        "if not any(status.is_failure or status in (Status.PASSED, Status.WAIVED) for status in counts):",
        "if not counts:",
        "A run in which nothing is claimed is conformant",
        "TomographicImaging/CIL/issues/1731",
    ),
    _verdict(
        "device-job-without-a-device",
        "F41",
        "test_verdict.py",
        "    if described and idle:\n        return ExitCode.NOT_CONFORMANT\n",
        "",
        "A device job that runs no device test is green",
        "SauersML/gam/issues/2422",
    ),
    _verdict(
        "files-skipped-whole",
        "F41",
        "test_verdict.py",
        'elif event.get("outcome") == "skipped":\n                skipped.append',
        'elif event.get("outcome") == "skipped":\n                str',
        "A file that is skipped whole leaves no trace",
        "chainer/chainer/pull/2030",
    ),
    _verdict(
        "unfinished-and-green",
        "F41",
        "test_verdict.py",
        "if any(test.status is Status.UNFINISHED for test in conformance.tests):",
        "if all(test.status is Status.UNFINISHED for test in conformance.tests):",
        "A run that ended before its tests is green",
    ),
    _verdict(
        "death-behind-a-pass",
        "F41",
        "test_verdict.py",
        "    if not ended:\n",
        "    if not found:\n",
        "A test whose process died behind its call has passed",
    ),
    _waived(
        "excused-by-what-it-calls",
        "F41",
        "test_plugin.py::test_what_a_test_calls_cannot_excuse_it",
        "stated = call.excinfo is not None and isinstance(call.excinfo.value, Stated)",
        'stated = call.excinfo is not None and "not claimed:" in str(call.excinfo.value)',
        "An implementation that skips its test is excused",
        "SauersML/gam/issues/2422",
    ),
    _lint(
        "entries-that-match-nothing",
        "F41",
        "test_lint.py",
        "    _unmatched_entry,\n",
        "",
        "An entry that selects nothing passes, and the list is shorter than it looks",
    ),
    _plugin(
        "unenforced-conditions",
        "F41",
        "test_plugin.py::test_a_gate_can_insist_on_the_machine",
        'if unmet and config.getoption("--conditions") == "enforce":',
        'if not unmet and config.getoption("--conditions") == "enforce":',
        "--conditions enforce lets another machine pass",
    ),
    _plugin(
        "less-than-the-list",
        "F41",
        "test_plugin.py::test_less_than_the_whole_list_is_no_verdict_of_conformance",
        'self._narrowed.append(f"{missing} tests of the list were not selected")',
        "pass",
        "A run with -k is as good as the whole list",
    ),
    _plugin(
        "lost-records-and-green",
        "F41",
        "test_records.py::test_records_that_are_lost_in_mid_run_are_an_error_of_the_harness",
        "            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR\n            return",
        "            return",
        "A run whose records are lost is green",
    ),
    _plugin(
        "records-written-over",
        "F41",
        "test_records.py::test_the_folder_can_be_named_and_holds_one_run",
        "elif (folder / EVENTS).exists():",
        "elif (folder / EVENTS).is_dir():",
        "A second run into one folder writes over the records of the first",
    ),
    _records(
        "torn-end-loses-the-run",
        "F41",
        "test_record_files.py::test_reports_before_a_torn_end_are_read",
        "if number == len(lines):",
        "if number == 0:",
        "The torn last line of a killed run loses all of it",
    ),
    _records(
        "torn-line-ends-the-run",
        "F41",
        "test_record_files.py::test_what_are_no_reports_is_refused_with_its_line",
        "if number == len(lines):",
        "if number:",
        "What stands behind a torn line is not read, and not missed",
    ),
    _edit(
        "harness/render/ctrf.py",
        "errors-that-dashboards-miss",
        "F41",
        "render/test_ctrf.py",
        'Outcome.ERROR: "failed",',
        'Outcome.ERROR: "other",',
        "A dashboard that counts failures shows an error of the suite as green",
    ),
    _edit(
        "harness/render/outcomes.py",
        "unfinished-is-a-skip",
        "F41",
        "render/test_junit.py",
        "(Status.HARNESS_ERROR, Status.UNFINISHED)",
        "(Status.HARNESS_ERROR,)",
        "JUnit shows a test that did not finish as skipped",
    ),
]

_TEETH = [
    _verdict(
        "untested-requirements",
        "F42",
        "test_verdict.py",
        "{requirement: [] for requirement in manifest.requirements}",
        "{}",
        "A requirement that no test checks is not shown",
        "huggingface/transformers/pull/30437",
    ),
    _verdict(
        "requirement-as-good-as-its-best-test",
        "F42",
        "test_verdict.py",
        "status=max((test.status for test in carried)",
        "status=min((test.status for test in carried)",
        "A requirement holds where one of its tests passes",
        "vllm-project/vllm/pull/46942",
    ),
    _edit(
        "reference/dense.py",
        "oracle-asks-the-implementation",
        "F42",
        "../reference/test_oracles.py::test_arrows_between_folders_run_one_way",
        "\nimport torch\n",
        "\nimport torch\nimport impl.masks\n",
        "The oracle imports what it judges",
        "NVIDIA/cutlass/issues/2336",
    ),
]

MACHINERY = table(
    [*_WAIVERS_WITHOUT_EFFECT, *_IDS, *_ROT, *_PARALLEL, *_DRAWN, *_DEVICES, *_LIMITS, *_GATES, *_TEETH],
)
"""Mutants of the harness by id."""

KINDS = {f"F{number}" for number in range(34, 43)}
"""The fault kinds of the catalogue that concern the machinery."""

CONTROL = Mutant(
    "right-harness",
    "harness",
    "none",
    "nothing is wrong",
    " ".join(sorted({test for mutant in MACHINERY.values() for test in mutant.requirement.split()})),
    copied,
)
"""The harness as it is, sent the same way: its tests must pass."""
