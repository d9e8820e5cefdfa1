"""From records to a verdict: plain data, no run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.exits import ExitCode
from harness.merge import merge
from harness.records import EXAMPLES, WAIVED, ListRecord, Manifest, RecordError, Shard, TestRecord
from harness.statuses import SKIPS, STATUS, Status, status_of
from harness.verdict import Conformance, RequirementResult, TestResult, Verdict, exit_code, in_a_line, judge


def manifest(ids: Sequence[str] = ("a", "b"), checks: Sequence[str] = ("R-1",), **changes: Any) -> Manifest:
    """A run of a list that this machine is meant for."""
    fields: dict[str, Any] = {
        "run": "run",
        "started": "2026-12-01T00:00:00+00:00",
        "lists": [ListRecord("l0_x", "test_lists/l0_x.yml", [])],
        "conditions": "report",
        "implementations": {"--mask-impl": "engine:build"},
        "device": "cpu",
        "machine": {},
        "versions": {},
        "commit": "",
        "registered": "",
        "command": ["--mask-impl", "engine:build"],
        "requirements": {"R-1": "It holds.", "R-2": "It is tested."},
        "narrowed": [],
        "universe": list(ids),
        "tests": [TestRecord(node_id, list(checks), "waives.txt:1: a XFAIL", "XFAIL") for node_id in ids],
    }
    return Manifest(**{**fields, **changes})


def event(node_id: str, when: str, outcome: str, status: Status | None = None, **more: Any) -> dict[str, Any]:
    """One report, as pytest-reportlog writes it."""
    properties = [] if status is None else [[STATUS, status.value]]
    report = {"$report_type": "TestReport", "nodeid": node_id, "when": when, "outcome": outcome, "longrepr": None}
    return {**report, "user_properties": properties, "duration": 0.5, **more}


def told(node_id: str, status: Status) -> list[dict[str, Any]]:
    """The reports of a test that ends with a status."""
    setup, teardown = event(node_id, "setup", "passed"), event(node_id, "teardown", "passed")
    if status is Status.PASSED:
        return [setup, event(node_id, "call", "passed"), teardown]
    if status is Status.UNFINISHED:
        return [setup]
    if status is Status.WAIVED:
        return [setup, event(node_id, "call", "skipped", wasxfail="waives.txt:1"), teardown]
    if status in (Status.NOT_CLAIMED, Status.NOT_RUN, Status.SKIPPED):
        return [setup, event(node_id, "call", "skipped", longrepr=["f", 1, f"Skipped: {status.value}: why"]), teardown]
    if status is Status.HARNESS_ERROR:
        return [event(node_id, "setup", "failed", longrepr="fixture"), teardown]
    if status is Status.FAILED:
        return [setup, event(node_id, "call", "failed", longrepr="wrong"), teardown]
    return [event(node_id, "???", "failed", status, longrepr=status.value)]


def judged(*found: Status, **changes: Any) -> Conformance:
    """The verdict on tests of these statuses."""
    ids = [f"t{index}" for index in range(len(found))]
    events = [one for node_id, status in zip(ids, found, strict=True) for one in told(node_id, status)]
    return judge(manifest(ids, **changes), events)


@given(found=st.lists(st.sampled_from(Status), min_size=1, max_size=6))
def test_every_test_has_the_status_that_its_reports_tell(found: list[Status]) -> None:
    assert [test.status for test in judged(*found).tests] == found


@pytest.mark.parametrize("when", ["setup", "call", "teardown", "???"])
@pytest.mark.parametrize("outcome", ["passed", "failed", "skipped"])
@pytest.mark.parametrize("expected", [False, True])
@given(
    reason=st.none() | st.sampled_from([f"Skipped: {kind.value}: why" for kind in SKIPS]) | st.text(),
    said=st.none() | st.sampled_from([status.value for status in Status]) | st.text(),
)
def test_no_report_is_better_than_its_outcome(
    when: str, outcome: str, reason: str | None, expected: bool, said: str | None
) -> None:
    """Whatever it says of itself. H11: what is expected to fail and passes is no pass. H23: no skip is one."""
    found = status_of(when, outcome, reason, expected, said)
    if outcome == "failed":
        assert found is Status.HARNESS_ERROR or (found is not None and found.is_failure)
    elif outcome == "skipped":
        assert found is Status.WAIVED if expected else found in SKIPS
    elif when == "call":
        assert found is (Status.UNEXPECTED_PASS if expected else Status.PASSED)
    else:
        assert found is None


@given(found=st.lists(st.sampled_from(Status), min_size=1, max_size=6))
def test_only_passed_waived_and_not_claimed_stand_in_a_conformant_verdict(found: list[Status]) -> None:
    good = {Status.PASSED, Status.WAIVED, Status.NOT_CLAIMED}
    conformant = set(found) <= good and set(found) != {Status.NOT_CLAIMED}
    assert (judged(*found).verdict is Verdict.CONFORMANT) == conformant
    assert bool(judged(*found).why) != conformant


@given(
    found=st.lists(st.sampled_from([s for s in Status if s is not Status.UNFINISHED]), min_size=1, max_size=4),
    data=st.data(),
)
def test_of_several_reports_on_one_test_the_worst_counts(found: list[Status], data: st.DataObject) -> None:
    """H17: not the last."""
    events = data.draw(st.permutations([one for status in found for one in told("a", status)]))
    (test,) = judge(manifest(["a"]), events).tests
    assert test.status is max(found, key=lambda status: status.rank)


@given(found=st.lists(st.sampled_from(Status), min_size=1, max_size=6))
def test_a_requirement_is_as_bad_as_the_worst_of_its_tests(found: list[Status]) -> None:
    first, second = judged(*found).requirements
    assert (first.id, first.status) == ("R-1", max(found, key=lambda status: status.rank))
    assert (second.id, second.status, second.tests) == ("R-2", None, [])


def test_a_result_is_what_record_and_reports_say() -> None:
    properties = [[EXAMPLES, 7], [WAIVED, "passes now"]]
    call = event("a", "call", "passed", user_properties=properties)
    result = judge(manifest(["a"]), [event("a", "setup", "passed"), call, event("a", "teardown", "passed", duration=None)])
    assert result.tests == [
        TestResult("a", Status.PASSED, ["R-1"], 1.0, 7, None, "waives.txt:1: a XFAIL", "passes now", None)
    ]
    assert result.requirements == [
        RequirementResult("R-1", "It holds.", Status.PASSED, ["a"], 7),
        RequirementResult("R-2", "It is tested.", None, [], 0),
    ]
    call["user_properties"] = [[EXAMPLES, "many"]]
    assert judge(manifest(["a"]), [call]).tests[0].examples is None


@pytest.mark.parametrize("status", Status)
def test_what_failed_has_a_failure_and_what_did_not_run_a_reason(status: Status) -> None:
    (test,) = judged(status).tests
    assert (test.failure is not None) == (status.is_failure or status is Status.HARNESS_ERROR)
    assert test.reason == {Status.WAIVED: "waives.txt:1", **{kind: f"{kind.value}: why" for kind in SKIPS}}.get(status)


def test_a_subtest_that_fails_fails_its_test() -> None:
    """Reports of another type tell of them."""
    subtest = {**event("a", "call", "failed", longrepr="wrong"), "$report_type": "SubtestReport"}
    (test,) = judge(manifest(["a"]), [*told("a", Status.PASSED), subtest]).tests
    assert test.status is Status.FAILED


@pytest.mark.parametrize("said", ["passed", "waived", "not claimed", "anything"])
def test_a_failure_cannot_call_itself_something_better(said: str) -> None:
    reports = told("a", Status.FAILED)
    reports[1]["user_properties"] = [[STATUS, said], ["status", "passed"], ["examples", "many"]]
    (test,) = judge(manifest(["a"]), reports).tests
    assert test.status is Status.HARNESS_ERROR


def test_a_failure_that_was_not_selected_is_an_error() -> None:
    result = judge(manifest(["a"]), [*told("a", Status.PASSED), *told("b", Status.FAILED)])
    assert (result.verdict, result.errors) == (Verdict.HARNESS_ERROR, ["b failed, and was not selected"])
    assert judge(manifest(["a"]), [*told("a", Status.FAILED), *told("b", Status.PASSED)]).errors == []


def test_an_expected_failure_without_a_waiver_is_a_failure() -> None:
    unwaived = manifest(["a"], tests=[TestRecord("a", [])])
    result = judge(unwaived, told("a", Status.WAIVED))
    assert (result.verdict, result.tests[0].reason) == (Verdict.FAILED, None)
    assert judge(unwaived, told("a", Status.PASSED)).verdict is Verdict.CONFORMANT


def test_a_file_that_is_skipped_whole_stands_against_the_verdict() -> None:
    """H23."""
    skipped = {
        "$report_type": "CollectReport",
        "nodeid": "x.py",
        "outcome": "skipped",
        "longrepr": ["x.py", 1, "Skipped: no"],
    }
    result = judge(manifest(["a"]), [skipped, *told("a", Status.PASSED)])
    assert (result.verdict, result.why) == (Verdict.NOT_CONFORMANT, ["skipped whole: x.py: no"])
    assert exit_code(result) is ExitCode.NOT_CONFORMANT


@pytest.mark.parametrize("lacking", [("nodeid",), ("when",), ("outcome",), ("nodeid", "when", "outcome")])
def test_a_report_that_lacks_what_makes_it_one_is_refused(lacking: tuple[str, ...]) -> None:
    report = {name: value for name, value in event("a", "call", "passed").items() if name not in lacking}
    with pytest.raises(RecordError, match="run: a report without nodeid, when or outcome"):
        judge(manifest(["a"]), [report])


def test_what_is_no_report_on_a_test_is_passed_over() -> None:
    others = [{"$report_type": "SessionStart", "pytest_version": "9"}, {"$report_type": "Other", "when": "call"}]
    assert judge(manifest(["a"]), [*others, *told("a", Status.PASSED)]).verdict is Verdict.CONFORMANT


def test_a_report_may_say_nothing_of_itself_and_a_skip_not_why() -> None:
    reports = [event("a", "setup", "passed"), event("a", "call", "skipped"), event("a", "teardown", "passed")]
    bare = [{name: value for name, value in one.items() if name != "user_properties"} for one in reports]
    (test,) = judge(manifest(["a"]), bare).tests
    assert (test.status, test.reason) == (Status.NOT_RUN, None)


def test_a_test_that_was_never_called_is_not_finished() -> None:
    (test,) = judge(manifest(["a"]), [event("a", "setup", "passed"), event("a", "teardown", "passed")]).tests
    assert test.status is Status.UNFINISHED


def test_seconds_are_those_of_all_reports_to_the_microsecond() -> None:
    reports = told("a", Status.PASSED)
    for report, seconds in zip(reports, (0.1, 0.2, 1e-7), strict=True):
        report["duration"] = seconds
    assert judge(manifest(["a"]), reports).tests[0].seconds == 0.3


def test_a_picture_that_is_none_costs_no_report() -> None:
    reports = told("a", Status.FAILED)
    reports[1]["user_properties"] = [["conformance:picture", "{}"], ["conformance:picture", 3]]
    (test,) = judge(manifest(["a"]), reports).tests
    assert test.failure is not None
    assert test.failure.picture is None


def test_a_file_that_was_collected_says_nothing_of_its_tests() -> None:
    collected = {"$report_type": "CollectReport", "nodeid": "a", "outcome": "passed", "longrepr": None}
    assert judge(manifest(["a"]), [collected, *told("a", Status.PASSED)]) == judge(manifest(["a"]), told("a", Status.PASSED))


def test_a_requirement_that_the_project_does_not_know_has_no_sentence() -> None:
    result = judge(manifest(["a"], checks=["R-9"]), told("a", Status.PASSED))
    assert result.requirements[-1] == RequirementResult("R-9", "", Status.PASSED, ["a"], 0)


def test_a_test_without_any_report_is_not_finished() -> None:
    result = judge(manifest(["a", "b"]), told("a", Status.PASSED))
    assert [test.status for test in result.tests] == [Status.PASSED, Status.UNFINISHED]
    assert result.why == ["1 not finished"]


def test_a_test_that_passed_and_never_came_down_is_not_finished() -> None:
    (test,) = judge(manifest(["a"]), told("a", Status.PASSED)[:2]).tests
    assert test.status is Status.UNFINISHED


def test_a_file_that_cannot_be_collected_is_an_error_of_the_suite() -> None:
    broken = {"$report_type": "CollectReport", "nodeid": "suites/x.py", "outcome": "failed", "longrepr": "SyntaxError"}
    result = judge(manifest(["a"]), [broken, *told("a", Status.PASSED)])
    assert result.verdict is Verdict.HARNESS_ERROR
    assert result.errors == ["suites/x.py could not be collected: SyntaxError"]
    assert result.why == ["1 errors outside of any test"]
    assert judge(manifest(["a"]), [{**broken, "nodeid": ""}]).errors == ["collection could not be collected: SyntaxError"]


@pytest.mark.parametrize(
    ("found", "changes", "code"),
    [
        ([Status.PASSED], {}, ExitCode.OK),
        ([Status.PASSED, Status.WAIVED, Status.NOT_CLAIMED, Status.SKIPPED], {}, ExitCode.OK),
        ([Status.PASSED, Status.FAILED], {}, ExitCode.FAILED),
        ([Status.PASSED, Status.CRASHED], {}, ExitCode.FAILED),
        ([Status.PASSED, Status.TIMED_OUT], {}, ExitCode.FAILED),
        ([Status.PASSED, Status.UNEXPECTED_PASS], {}, ExitCode.FAILED),
        ([Status.FAILED, Status.HARNESS_ERROR], {}, ExitCode.FAILED),
        ([Status.PASSED, Status.HARNESS_ERROR], {}, ExitCode.HARNESS_ERROR),
        ([Status.NOT_CLAIMED, Status.SKIPPED, Status.NOT_RUN], {}, ExitCode.NOTHING_RAN),
        ([Status.PASSED, Status.UNFINISHED], {}, ExitCode.HARNESS_ERROR),
        ([], {"universe": ["a"], "shard": Shard(2, 2)}, ExitCode.OK),
        ([], {"universe": [], "shard": Shard(2, 2)}, ExitCode.NOTHING_RAN),
        ([Status.PASSED, Status.NOT_RUN], {}, ExitCode.NOT_CONFORMANT),
        ([Status.PASSED, Status.NOT_RUN], {"checks": []}, ExitCode.OK),
        ([Status.PASSED, Status.NOT_RUN], {"lists": []}, ExitCode.OK),
        ([Status.PASSED, Status.NOT_RUN], {"lists": [ListRecord("l0_x", "p", ["no gpu"])]}, ExitCode.OK),
        (
            [Status.PASSED, Status.NOT_RUN],
            {"lists": [ListRecord("l0_x", "p", ["no gpu"])], "conditions": "ignore"},
            ExitCode.NOT_CONFORMANT,
        ),
    ],
)
def test_the_exit_status_says_which_kind_of_end_it_was(found: list[Status], changes: dict[str, Any], code: ExitCode) -> None:
    assert exit_code(judged(*found, **changes)) is code


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"lists": []}, "no list was chosen (-m)"),
        ({"lists": [ListRecord("l0_x", "p", ["no gpu"])]}, "not the machine that l0_x asks for: no gpu"),
        ({"lists": [ListRecord("l0_x", "p", ["no gpu", "2 cpus"])]}, "not the machine that l0_x asks for: no gpu; 2 cpus"),
        ({"universe": ["t0", "t1", "t2"]}, "2 tests were selected and are not in the records"),
        ({"narrowed": ["3 tests of the list were not selected"]}, "3 tests of the list were not selected"),
    ],
)
def test_what_is_not_the_whole_list_where_it_is_meant_to_run_is_no_verdict_of_conformance(
    changes: dict[str, Any], why: str
) -> None:
    result = judged(Status.PASSED, **changes)
    assert result.verdict is Verdict.NOT_CONFORMANT
    assert result.why == [why]


@pytest.mark.parametrize(
    ("found", "changes", "line"),
    [
        (
            [Status.PASSED, Status.NOT_RUN],
            {},
            "not conformant: --mask-impl engine:build under l0_x (1 passed, 1 not run; 0 examples): 1 not run",
        ),
        ([Status.PASSED], {}, "conformant: --mask-impl engine:build under l0_x (1 passed; 0 examples)"),
        (
            [],
            {"implementations": {}, "lists": []},
            "not conformant: the project under no list (no test; 0 examples): nothing ran; no list was chosen (-m)",
        ),
        (
            [Status.PASSED],
            {
                "implementations": {"--mask-impl": "a", "--cache-impl": "b"},
                "lists": [ListRecord("l0_x", "p", []), ListRecord("l0_y", "p", [])],
            },
            "conformant: --mask-impl a, --cache-impl b under l0_x, l0_y (1 passed; 0 examples)",
        ),
    ],
)
def test_the_verdict_in_a_line_names_implementation_list_counts_and_reasons(
    found: list[Status], changes: dict[str, Any], line: str
) -> None:
    assert in_a_line(judged(*found, **changes)) == line


def test_the_replay_command_survives_a_shell() -> None:
    """H14."""
    node_id = "a.py::t[x y-\"q\" 'p' #$(1)]"
    (test,) = judge(manifest([node_id]), told(node_id, Status.FAILED)).tests
    assert test.failure is not None
    assert shlex.split(test.failure.replay)[3] == node_id


def _shards(parts: Sequence[Sequence[str]], universe: Sequence[str]) -> list[Conformance]:
    return [
        judge(
            manifest(part, universe=list(universe), shard=Shard(group, len(parts)), run=f"s{group}"),
            [one for node_id in part for one in told(node_id, Status.PASSED)],
        )
        for group, part in enumerate(parts, start=1)
    ]


@given(data=st.data())
def test_shards_merge_to_what_one_run_would_say(data: st.DataObject) -> None:
    ids = [f"t{n}" for n in range(data.draw(st.integers(1, 8)))]
    owners = [data.draw(st.integers(0, 2)) for _ in ids]
    parts = [[node_id for node_id, owner in zip(ids, owners, strict=True) if owner == part] for part in range(3)]
    shards = data.draw(st.permutations(_shards(parts, ids)))
    name = " + ".join(shard.manifest.run for shard in shards)
    one = judge(manifest(ids, run=name), [event for node_id in ids for event in told(node_id, Status.PASSED)])
    assert merge(shards) == one
    assert one.verdict is Verdict.CONFORMANT


def test_a_shard_alone_is_incomplete() -> None:
    with pytest.raises(
        RecordError, match=r"incomplete: 1 of 2 tests are in no shard, first b; given are the groups \[1\] of 2"
    ):
        merge(_shards([["a"], ["b"]], ["a", "b"])[:1])


def test_a_whole_run_that_lost_a_test_is_incomplete() -> None:
    whole = judge(manifest(["a"], universe=["a", "b"]), told("a", Status.PASSED))
    with pytest.raises(
        RecordError, match=r"incomplete: 1 of 2 tests are in no shard, first b; given are the groups \[\] of 1"
    ):
        merge([whole])


def test_shards_that_overlap_are_refused() -> None:
    with pytest.raises(
        RecordError, match="s1 and s2 overlap: both ran a; give each shard once, all split with the same durations"
    ):
        merge(_shards([["a"], ["a", "b"]], ["a", "b"]))


def test_a_shard_given_twice_is_refused() -> None:
    shards = _shards([["a"], ["b"]], ["a", "b"])
    with pytest.raises(RecordError, match="overlap"):
        merge([*shards, shards[0]])


def test_shards_that_fail_or_stand_elsewhere_fail_the_whole() -> None:
    """What one of them says against a verdict, all of them say."""
    first, second = _shards([["a"], ["b"]], ["a", "b"])
    other = manifest(
        ["b"],
        universe=["a", "b"],
        shard=Shard(2, 2),
        run="s2",
        lists=[ListRecord("l0_x", "test_lists/l0_x.yml", ["no gpu"])],
    )
    assert merge([first, judge(other, told("b", Status.PASSED))]).why == ["not the machine that l0_x asks for: no gpu"]
    other = manifest(["b"], universe=["a", "b"], shard=Shard(2, 2), run="s2", narrowed=["ignore was given"])
    assert merge([first, judge(other, told("b", Status.PASSED))]).why == ["ignore was given"]
    broken = {"$report_type": "CollectReport", "nodeid": "x.py", "outcome": "failed", "longrepr": "SyntaxError"}
    assert merge([first, judge(second.manifest, [broken, *told("b", Status.PASSED)])]).verdict is Verdict.HARNESS_ERROR
    skipped = {**broken, "outcome": "skipped", "longrepr": ["x.py", 1, "Skipped: no module"]}
    whole = merge([first, judge(second.manifest, [skipped, *told("b", Status.PASSED)])])
    assert whole.why == ["skipped whole: x.py: no module"]


def test_whoever_ignores_conditions_has_a_verdict_of_any_machine() -> None:
    unmet = [ListRecord("l0_x", "p", ["no gpu"])]
    assert judged(Status.PASSED, lists=unmet, conditions="ignore").why == []


def test_a_shard_is_no_verdict_of_its_own() -> None:
    (first, _) = _shards([["a"], ["b"]], ["a", "b"])
    assert first.why == ["this is shard 1 of 2"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"conditions": "ignore"}, "conditions"),
        ({"versions": {"torch": "1"}}, "versions"),
        ({"machine": {"gpu": "NVIDIA H200"}}, "kind of machine"),
        ({"device": "cuda"}, "device"),
        ({"commit": "0123"}, "commit"),
        ({"registered": "0123"}, "lists or waivers as written"),
        ({"requirements": {}}, "requirements"),
        ({"command": []}, "options"),
        ({"implementations": {"--mask-impl": "other"}}, "implementations"),
        ({"lists": [ListRecord("l0_y", "p", [])]}, "lists"),
        ({"universe": ["b"]}, "tests"),
        ({"shard": Shard(2, 3)}, "number of shards"),
        ({"commit": "0123", "device": "cuda"}, "device, commit"),
    ],
)
def test_shards_of_different_runs_are_refused(changes: dict[str, Any], what: str) -> None:
    (first,) = _shards([["a"], ["b"]], ["a", "b"])[:1]
    other = {"universe": ["a", "b"], "shard": Shard(2, 2), **changes}
    with pytest.raises(RecordError, match=f"^s1 and run differ in their {what}: they are not shards of one run$"):
        merge([first, judge(manifest(["b"], **other), told("b", Status.PASSED))])
