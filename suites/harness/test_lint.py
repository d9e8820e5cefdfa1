"""The lint: each rule, what it does not hold against anyone, and how trees of files are found."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entries import ListError, parse_entry
from harness.lint import RULES, Finding, check, lint_tree
from harness.lists import Block, Condition, TestList
from harness.nearest import Nearest
from harness.statuses import not_run
from harness.waives import MALFORMED, MARKERS, Waiver, WaiverError, parse_waiver
from suites.strategies.registration import ENTRY_LINES, WAIVER_LINES, damaged

ROOT = Path(__file__).parents[2]
TODAY = date(2027, 1, 31)
LINK = "https://bugs.example/1"
IDS = ("u/a.py::t[m1]", "u/a.py::t[m2-fast]", "u/a.py::test_foo_bar", "u/b.py::C::t")


def _list(*entries: str, name: str = "l0_b200", context: str | None = None, condition: Condition | None = None) -> TestList:
    path = Path(f"{name}.yml")
    parsed = tuple(parse_entry(text, path, number) for number, text in enumerate(entries, start=4))
    return TestList(path, name if context is None else context, "0.0.1", (Block(condition or Condition(), parsed),), 2)


def _waivers(*lines: str, file: str = "waives.txt") -> list[Waiver]:
    found = [parse_waiver(line, Path(file), number) for number, line in enumerate(lines, start=1)]
    return [waiver for waiver in found if waiver is not None]


def _found(
    lists: Sequence[TestList] = (),
    waivers: Sequence[Waiver] = (),
    node_ids: Sequence[str] | None = None,
    random: Collection[str] = (),
) -> list[str]:
    """The findings as they print."""
    return [str(finding) for finding in check(lists, waivers, node_ids, TODAY, random)]


# Findings


def test_a_finding_says_place_rule_what_was_found_what_may_be_meant_and_how_to_mend_it() -> None:
    path = Path("waives.txt")
    assert str(Finding("unmatched", path, 3, "'a' covers no test", None)) == (
        "waives.txt:3: unmatched: 'a' covers no test. Correct the id, or delete the line."
    )
    assert str(Finding("unmatched", path, 3, "'a' covers no test", "b")) == (
        "waives.txt:3: unmatched: 'a' covers no test; did you mean 'b'? Correct the id, or delete the line."
    )


def test_every_rule_has_a_name_a_description_and_a_mend_that_is_a_sentence() -> None:
    assert all(rule.name == name and rule.description for name, rule in RULES.items())
    assert all(rule.mend[0].isupper() and rule.mend.endswith(".") for rule in RULES.values())
    assert set(MALFORMED) < set(RULES)


def test_lists_and_waivers_without_a_fault_have_no_finding() -> None:
    lists = [_list("u", "u/b.py -k t TIMEOUT (5)"), _list("u/a.py::t", "u/a.py::test_foo_bar", name="l0_cpu")]
    waivers = _waivers(
        f"u/a.py::t[m1] SKIP ({LINK}) until=2027-01-31",
        f"full:B200/u/a.py::t[m1] SKIP ({LINK})",
        f"u/b.py XFAIL ({LINK})",
        "u/a.py TIMEOUT (90)",
        "u ISOLATION",
    )
    assert _found(lists, waivers, IDS, random=["u/a.py::t[m1]"]) == []
    assert _found(lists, waivers) == []


def test_findings_stand_in_the_order_of_files_and_lines() -> None:
    lists = [_list("u/x.py", "u/x.py", name="l0_x"), _list(name="l0_a")]
    places = [(str(f.path), f.line) for f in check(lists, _waivers("u/y.py SKIP", "u/x.py SKIP"), IDS, TODAY)]
    assert places == sorted(places)
    assert len(places) > 5


# Rules of lists


def test_a_context_is_the_stem_of_its_file() -> None:
    (found,) = _found([_list("u", context="l0_h200")])
    assert found.startswith("l0_b200.yml:2: stem-differs: the context 'l0_h200' is not the file's stem 'l0_b200'. Rename")


def test_a_list_has_a_test() -> None:
    (found,) = _found([_list()])
    assert found.startswith("l0_b200.yml:2: empty-list: the list 'l0_b200' has no test. Add")


@pytest.mark.parametrize(
    ("condition", "unknown"),
    [
        (Condition(terms={"cpu": "x", "stage": "pre", "backend": "b", "supports_fp8": "true"}), []),
        (Condition(ranges={"gpu_memory": {"gte": 1}}, wildcards={"gpu": ("*",)}), []),
        (Condition(terms={"tpu_count": "1", "supported": "1"}), ["tpu_count", "supported"]),
        # What a run is has neither a size nor a pattern, and a probe none.
        (Condition(ranges={"stage": {"gte": 1}}, wildcards={"backend": ("*",)}), ["stage", "backend"]),
        (Condition(ranges={"supports_fp8": {"gte": 1}}), ["supports_fp8"]),
        (Condition({"a": "1"}, {"b": {"gte": 1}}, {"c": ("*",)}), ["a", "b", "c"]),
    ],
)
def test_a_condition_asks_for_what_there_is(condition: Condition, unknown: list[str]) -> None:
    findings = check([_list("u", condition=condition)], [], None, TODAY)
    assert [(f.rule, f.path, f.line, f.found) for f in findings] == [
        ("unknown-property", Path("l0_b200.yml"), 2, f"no machine has {name!r}") for name in sorted(unknown)
    ]


def test_an_unknown_property_brings_the_nearest_that_there_is() -> None:
    for name, near in (("system_gpu_cont", "system_gpu_count"), ("stages", "stage"), ("zzzz", None)):
        (found,) = check([_list("u", condition=Condition(terms={name: "1"}))], [], None, TODAY)
        assert found.nearest == near


def test_an_expression_leaves_a_test_in_lists_and_in_waivers() -> None:
    """Those that leave none are known by file and line to whoever asked pytest."""
    lists, lines = [_list("u -k a", "u -k b")], _waivers("u -k c SKIP (https://x/1)", "u -m d SKIP (https://x/1)")
    idle = {(Path("l0_b200.yml"), 5), (Path("waives.txt"), 1), (Path("other.txt"), 2)}
    assert [str(finding) for finding in check(lists, lines, None, TODAY, idle=idle)] == [
        f"l0_b200.yml:5: unmatched-entry: {'u -k b'!r}: its -k or -m leaves no test. {RULES['unmatched-entry'].mend}",
        f"waives.txt:1: unmatched: {str(lines[0])!r}: its -k or -m leaves no test. {RULES['unmatched'].mend}",
    ]


def test_an_entry_selects_a_test() -> None:
    (found,) = _found([_list("u", "u/a.py::test_fo_bar")], node_ids=IDS)
    assert found.startswith(
        "l0_b200.yml:5: unmatched-entry: 'u/a.py::test_fo_bar' selects no test; did you mean 'u/a.py::test_f"
    )


def test_every_target_of_an_entry_selects_a_test() -> None:
    assert len(_found([_list("u/", "u/a.py u/c.py u/d.py")], node_ids=IDS)) == 2


def test_an_entry_is_not_held_against_tests_that_were_not_collected() -> None:
    assert _found([_list("u/c.py")]) == []


def test_an_entry_stands_once_in_a_block() -> None:
    (found,) = _found([_list("u", "u ISOLATION", "u/a.py", "u")])
    assert found == "l0_b200.yml:7: duplicate-entry: 'u' stands on line 4 already. Delete one."


def test_an_entry_may_stand_in_several_blocks() -> None:
    (block,) = _list("u").blocks
    assert _found([TestList(Path("l0_b200.yml"), "l0_b200", "0.0.1", (block, block))]) == []


def test_every_test_is_on_a_list() -> None:
    (found,) = _found([_list("u/a.py::t[m1]", "u/b.py")], node_ids=IDS)
    assert found.startswith(
        "u/a.py:1: unlisted-test: 2 of 3 tests of this file are on no list, the first is 'u/a.py::t[m2-fast]'."
    )
    (found,) = _found([_list("u/a.py")], node_ids=IDS)
    assert found.startswith(
        "u/b.py:1: unlisted-test: 1 of 1 tests of this file are on no list, the first is 'u/b.py::C::t'."
    )


# Rules of waivers


def test_a_waiver_covers_a_test_that_was_collected() -> None:
    # H02, H08: the list names it, but only collection tells what there is.
    (found,) = _found([_list("u", "u/a.py::ttt")], _waivers(f"u/a.py::ttt SKIP ({LINK})"), [*IDS, "u/a.py::tt"])[1:]
    assert found.startswith(
        "waives.txt:1: unmatched: 'u/a.py::ttt' covers no test; did you mean 'u/a.py::tt'? Correct the id"
    )


def test_a_waiver_of_a_renamed_parameter_is_found() -> None:
    # H05: m1 became m2, and the waiver did not.
    (found,) = _found([_list("u")], _waivers(f"u/a.py::t[m1] SKIP ({LINK})"), ["u/a.py::t[m2]", "u/a.py::t[other]"])
    assert found.startswith("waives.txt:1: unmatched: 'u/a.py::t[m1]' covers no test; did you mean 'u/a.py::t[m2]'?")


def test_a_waiver_is_for_what_a_list_runs() -> None:
    # H01: no list selects the id.
    (found,) = _found([_list("u/b.py")], _waivers(f"v/b.py::t SKIP ({LINK})"))
    assert found.startswith("waives.txt:1: unreachable: 'v/b.py::t' is run by no list.")
    (found,) = _found([_list("u/a.py::test_foo_bar")], _waivers(f"u/a.py::test_fu_bar SKIP ({LINK})"))
    assert "'u/a.py::test_fu_bar' is run by no list; did you mean 'u/a.py::test_foo_bar'?" in found
    (found,) = _found(
        [_list("u/b.py", "v")], _waivers(f"u/a.py::t[m1] SKIP ({LINK})"), ["u/a.py::t[m1]", "u/b.py::t", "v::t"]
    )[1:]
    assert found.startswith("waives.txt:1: unreachable: 'u/a.py::t[m1]' is run by no list")


@pytest.mark.parametrize(
    ("entry", "target"),
    [
        ("u/a.py::t[m1]", "u/a.py::t[m1]"),
        ("u/a.py::t", "u/a.py::t[m1]"),
        ("u/", "u/a.py::t[m1]"),
        ("u/a.py::C::t[m1]", "u/a.py::C::t"),
        ("u/a.py::C::t[m1]", "u/a.py::C"),
        ("u/a.py ISOLATION", "u"),
        ('u/a.py -k "x" TIMEOUT (90)', 'u/a.py -k "x"'),
        ("u/a.py u/b.py", "u/b.py u/a.py"),
        ('u/a.py::t[x y-"q"]', 'u/a.py::t[x y-"q"]'),
    ],
)
def test_a_waiver_is_reached_by_an_entry_that_is_it_selects_it_or_lies_below_it(entry: str, target: str) -> None:
    assert _found([_list(entry)], _waivers(f"{target} SKIP ({LINK})")) == []


@pytest.mark.parametrize(
    ("target", "whole"),
    [
        ("u/a.py::t[m2", "u/a.py::t[m2-fast]"),
        ("u/a.py::test_foo", "u/a.py::test_foo_bar"),
        # The ids that stand behind it begin otherwise.
        ("u/a.py::t[m0", None),
        ("u/a.py::t[m/", None),
        ("u/a.p", "u/a.py::t[m1]"),
        ("u/b.py::C::t[x", None),
    ],
)
@pytest.mark.parametrize("node_ids", [IDS, None])
def test_a_truncated_id_is_that_and_neither_unmatched_nor_unreachable(
    target: str, whole: str | None, node_ids: Sequence[str] | None
) -> None:
    hint = "." if whole is None else f"; did you mean {whole!r}?"
    (found,) = _found([_list(*IDS)], _waivers(f"{target} SKIP ({LINK})"), node_ids)
    assert found.startswith(f"waives.txt:1: truncated: {target!r} is cut off{hint} Write the whole id")


@pytest.mark.parametrize("target", ["u", "u/a.py", "u/a.py::t", "u/b.py::C", "u/a.py::t[m1]"])
def test_an_id_that_ends_where_names_end_is_not_truncated(target: str) -> None:
    assert _found([_list(*IDS)], _waivers(f"{target} SKIP ({LINK})"), IDS) == []


def test_an_id_that_an_entry_selects_is_not_truncated_as_far_as_is_known() -> None:
    assert _found([_list("u/a.py", "u/a.py::test_foo_bar")], _waivers(f"u/a.py::test_foo SKIP ({LINK})")) == []


def test_an_id_is_waived_once_a_platform() -> None:
    # C6.8: with upstream the last line wins.
    lines = (f"u SKIP ({LINK})", f"full:B200/u SKIP ({LINK})", f"full:b_200/u XFAIL ({LINK})", f"u SKIP ({LINK}/2)")
    assert [text for text in _found([_list("u"), _list("u", name="l0_cpu")], _waivers(*lines)) if "duplicate" in text] == [
        f"waives.txt:{number}: duplicate: 'u' is waived on line {first} already. {RULES['duplicate'].mend}"
        for number, first in ((3, 2), (4, 1))
    ]


def test_an_id_is_waived_once_in_all_files() -> None:
    lines = [
        *_waivers(f"u/a.py -k  'x  y' SKIP ({LINK})"),
        *_waivers("", f"u/a.py  -k 'x y' XFAIL ({LINK})", file="more.txt"),
    ]
    (found,) = _found([_list("u")], lines)
    assert found.startswith("more.txt:2: duplicate: \"u/a.py  -k 'x y'\" is waived on waives.txt:1 already. Delete one")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        # H04: an edit dropped the link.
        ("u/a.py::t[x/y] SKIP", "SKIP of 'u/a.py::t[x/y]' has no argument"),
        ("u SKIP (later)", "SKIP of 'u' has 'later', which is no link"),
        (f"u XFAIL # ({LINK})", "XFAIL of 'u' has no argument"),
    ],
)
def test_a_waiver_has_a_link(line: str, said: str) -> None:
    (found,) = _found([_list("u")], _waivers(line))
    assert found == f"waives.txt:1: no-link: {said}. Write the link in parentheses behind the marker."


@pytest.mark.parametrize(("marker", "needed"), [(m, m in {"SKIP", "XFAIL", "UNSTABLE"}) for m in MARKERS])
def test_whatever_takes_a_test_out_of_the_verdict_needs_a_link(marker: str, needed: bool) -> None:
    argument = " (90)" if marker == "TIMEOUT" else ""
    found = check([_list("u")], _waivers(f"u {marker}{argument}"), None, TODAY)
    assert ("no-link" in {finding.rule for finding in found}) == needed


def test_a_time_limit_and_isolation_need_no_link() -> None:
    assert _found([_list("u")], _waivers("u TIMEOUT (90)", "u/a.py ISOLATION")) == []


def test_a_waiver_ends_with_its_day() -> None:
    (found,) = _found([_list("u")], _waivers(f"u SKIP ({LINK}) until=2027-01-30"))
    assert found.startswith("waives.txt:1: expired: 'u' was waived until 2027-01-30, and today is 2027-01-31. Mend")


@pytest.mark.parametrize("platform", ["DGX_B200", "dgxB200", "dgx_b200"])
def test_a_platform_is_compared_without_case_and_underscores(platform: str) -> None:
    lists = [_list("u", name="l0_dgx_b200"), _list("u", name="l0_cpu")]
    assert _found(lists, _waivers(f"full:{platform}/u SKIP ({LINK})")) == []


def test_a_platform_has_a_list() -> None:
    # C6.3: B200 is not DGX_B200, whatever text it holds.
    (found,) = _found([_list("u", name="l0_dgx_b200")], _waivers(f"full:B200/u SKIP ({LINK})"))
    assert found.startswith(
        "waives.txt:1: unknown-platform: the platform 'B200' has no list; did you mean 'dgx_b200'? Write"
    )


def test_a_verdict_does_not_hang_on_luck() -> None:
    (found,) = _found([_list("u")], _waivers(f"u UNSTABLE ({LINK})"))
    assert found == f"waives.txt:1: refused-marker: 'u' is UNSTABLE. {RULES['refused-marker'].mend}"


def test_an_expected_failure_of_a_random_property_names_its_example() -> None:
    lines = (f"u/a.py::t XFAIL ({LINK})", f"u/b.py XFAIL ({LINK})", f"u/a.py XFAIL ({LINK}) example=AXic")
    for random in permutations(("u/a.py::t[m2-fast]", "u/a.py::t[m1]", "u/a.py::test_foo_bar")):
        (found,) = _found([_list("u")], _waivers(*lines), IDS, random=random)
        assert found.startswith(
            "waives.txt:1: unpinned-xfail: 'u/a.py::t[m1]' is a random property, and the line has no example=. Add"
        )


@pytest.mark.parametrize("node_ids", [IDS, None])
def test_a_test_that_every_platform_skips_runs_nowhere(node_ids: Sequence[str] | None) -> None:
    # H10: line by line each platform looks like one exception.
    lists = [_list("u", name=name) for name in ("l0_b200", "l0_cpu")]
    waivers = _waivers(f"full:B200/u/a.py::t[m1] SKIP ({LINK})", f"full:CPU/u/a.py::t SKIP ({LINK})")
    (found,) = _found(lists, waivers, node_ids)
    said = "'u/a.py::t[m1]' is skipped on every platform that lists it: B200 on line 1, CPU on line 2"
    assert found == f"waives.txt:1: runs-nowhere: {said}. {RULES['runs-nowhere'].mend}"


def test_of_a_function_that_runs_nowhere_the_first_test_is_named_where_tests_are_known() -> None:
    lists = [_list("u", name=name) for name in ("l0_b200", "l0_cpu")]
    waivers = _waivers(f"full:B200/u/a.py SKIP ({LINK})", f"full:CPU/u/a.py::t SKIP ({LINK})")
    for node_ids, named in ((IDS, "u/a.py::t[m1]"), (None, "u/a.py::t")):
        (found,) = _found(lists, waivers, node_ids)
        assert found.startswith(f"waives.txt:1: runs-nowhere: {named!r} is skipped on every platform")


@pytest.mark.parametrize(
    "lines",
    [
        ("full:B200/u SKIP",),
        ("full:B200/u SKIP", "full:CPU/u XFAIL"),
        ("full:B200/u SKIP", "full:CPU/u -k a SKIP"),
        ("full:B200/u SKIP", "full:CPU/u SKIP", "u SKIP"),
        ("full:B200/u/a.py SKIP", "full:CPU/u/b.py SKIP"),
    ],
)
def test_a_test_that_runs_on_a_platform_or_shows_as_skipped_does_not_run_nowhere(lines: tuple[str, ...]) -> None:
    lists = [_list("u", name=name) for name in ("l0_b200", "l0_cpu")]
    findings = check(lists, _waivers(*lines), IDS, TODAY)
    assert {finding.rule for finding in findings} == {"no-link"}


def test_waivers_without_any_list_are_not_held_against_lists() -> None:
    assert _found(waivers=_waivers(f"full:B200/u SKIP ({LINK})")) == []


@given(
    st.lists(damaged(ENTRY_LINES), max_size=4),
    st.lists(damaged(WAIVER_LINES), max_size=4),
    st.none() | st.lists(st.sampled_from(IDS) | damaged(ENTRY_LINES)),
)
def test_whatever_can_be_read_can_be_checked(entries: list[str], lines: list[str], node_ids: list[str] | None) -> None:
    lists: list[TestList] = []
    waivers: list[Waiver] = []
    for text in entries:
        with suppress(ListError):
            lists.append(_list(text))
    for line in lines:
        with suppress(WaiverError):
            waivers += _waivers(line)
    findings = check(lists, waivers, node_ids, TODAY, node_ids or ())
    assert all(str(finding).startswith(f"{finding.path}:{finding.line}: {finding.rule}: ") for finding in findings)


# The nearest id


@pytest.mark.parametrize(
    ("target", "near"),
    [
        ("u/a.py::test_fo_bar", "u/a.py::test_foo_bar"),
        ("u/a.py::t[m2-fats]", "u/a.py::t[m2-fast]"),
        ("u/a.py::t[nothing like it]", "u/a.py::t[m2-fast]"),
        ("u/aa.py::test_fo_bar", "u/a.py::test_foo_bar"),
        ("u/aa.py::zzz", "u/a.py"),
        ("u/b.py::D::t", "u/b.py::C::t"),
        ("u/bb.py", "u/b.py"),
        ("u/a.py::zzzz", None),
        ("zzzz::t", None),
        ("zzzz", None),
    ],
)
def test_the_nearest_id_is_looked_for_in_the_same_file_or_the_nearest(target: str, near: str | None) -> None:
    assert Nearest(IDS).to(target) == near


def test_the_nearest_of_one_name_is_another_in_each_file() -> None:
    near = Nearest(["u/a.py::test_masks", "v/b.py::test_task", "mask/c.py::t"])
    assert [
        near.to(target) for target in ("u/a.py::test_mask", "v/b.py::test_mask", "u/a.py::test_mask", "maks/", "maks")
    ] == [
        "u/a.py::test_masks",
        "v/b.py::test_task",
        "u/a.py::test_masks",
        "mask",
        "mask",
    ]


def test_a_file_in_the_same_folder_is_not_near_for_that() -> None:
    assert Nearest(["accuracy/test_cli_flow.py::t"]).to("accuracy/test_disaggregated_serving.py::t") is None


# Trees


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def _yaml(name: str, *entries: str) -> str:
    return f"version: 0.0.1\n{name}:\n- tests:\n" + "".join(f"  - {entry}\n" for entry in entries)


def test_a_tree_is_its_lists_in_test_lists_and_its_waivers_there_and_in_the_root(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            "tests/test_lists/test-db/l0_a.yml": _yaml("l0_b", "u"),
            "tests/test_lists/waives.txt": "u/a.py SKIP\n",
            "waives-more.txt": "u/b.py SKIP\n",
            "other.yml": "no list",
            "tests/waives.txt": "no waiver",
            ".venv/test_lists/l0_x.yml": "no list",
            "env/pyvenv.cfg": "",
            "env/lib/test_lists/l0_x.yml": "no list",
        },
    )
    findings = [(f.rule, str(f.path.relative_to(tmp_path)), f.line) for f in lint_tree(tmp_path, today=TODAY)]
    assert findings == [
        ("stem-differs", "tests/test_lists/test-db/l0_a.yml", 2),
        ("no-link", "tests/test_lists/waives.txt", 1),
        ("no-link", "waives-more.txt", 1),
    ]


def test_a_tree_without_test_lists_has_its_lists_in_the_root(tmp_path: Path) -> None:
    _write(tmp_path, {"l0_a.yml": _yaml("l0_a"), ".hidden.yml": "no list", "deep/l0_b.yml": "no list"})
    assert [finding.rule for finding in lint_tree(tmp_path)] == ["empty-list"]


def test_a_folder_of_lists_is_one_from_within_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, {"test_lists/deep/l0_a.yml": _yaml("l0_a")})
    for folder in (tmp_path, tmp_path / "test_lists"):
        monkeypatch.chdir(folder)
        assert [finding.rule for finding in lint_tree(Path())] == ["empty-list"]


def test_a_tree_is_held_against_all_that_is_known_of_its_tests(tmp_path: Path) -> None:
    lines = (f"u/a.py XFAIL ({LINK})", f"u/a.py -k x SKIP ({LINK})", f"v/a.py SKIP ({LINK})", "u SKIP until=2027-01-30")
    _write(tmp_path, {"test_lists/l0_a.yml": _yaml("l0_a", "u/a.py", "w/c.py"), "waives.txt": "\n".join(lines)})
    findings = lint_tree(tmp_path, ["u/a.py::t", "v/a.py::t"], ["u/a.py::t"], TODAY, idle={(tmp_path / "waives.txt", 2)})
    assert [(finding.rule, finding.line) for finding in findings] == [
        ("unmatched-entry", 5),
        ("unpinned-xfail", 1),
        ("unmatched", 2),
        ("unreachable", 3),
        ("expired", 4),
        ("no-link", 4),
        ("unlisted-test", 1),
    ]


@pytest.mark.parametrize("zone", ["<+14>-14", "<-12>+12"])
def test_a_day_ends_when_it_ends_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """Wherever the machine stands; in one of the two zones it is another day now."""
    _write(tmp_path, {"waives.txt": f"u SKIP ({LINK}) until=2001-01-01\nv SKIP ({LINK}) until=9999-12-31\n"})
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        before = datetime.now(UTC).date()
        (found,) = lint_tree(tmp_path)
        after = datetime.now(UTC).date()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found.found in {f"'u' was waived until 2001-01-01, and today is {today}" for today in (before, after)}


def test_a_folder_and_a_file_can_be_named(tmp_path: Path) -> None:
    _write(tmp_path, {"c/deep/l0_c.yml": _yaml("l0_c"), "c/other.txt": "no list"})
    assert [f.rule for f in lint_tree(tmp_path, lists=[tmp_path / "c"])] == ["empty-list"]
    _write(tmp_path, {"a/l0_a.yml": _yaml("l0_a", "u"), "b.txt": "u SKIP\n", "waives.txt": "no waiver"})
    assert [f.rule for f in lint_tree(tmp_path, lists=[tmp_path / "a"], waives=[tmp_path / "b.txt"])] == ["no-link"]
    assert lint_tree(tmp_path / "a", lists=[tmp_path / "a/l0_a.yml"]) == []


def test_what_cannot_be_read_is_found_with_its_rule_and_the_rest_is_checked(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            "test_lists/l0_a.yml": "[",
            "test_lists/l0_b.yml": _yaml("l0_b", "u SKIP (x)", "v ISOLATION", "v ISOLATION"),
            "waives.txt": f"u\nw/a.py FLAKY\nv SKIP\nv/a.py SKIP ({LINK}) untill=1\nv/b.py TIMEOUT\n",
        },
    )
    assert [(finding.rule, finding.path.name, finding.line) for finding in lint_tree(tmp_path)] == [
        ("not-a-list", "l0_a.yml", 2),
        ("malformed-entry", "l0_b.yml", 4),
        ("duplicate-entry", "l0_b.yml", 6),
        ("no-marker", "waives.txt", 1),
        ("unknown-marker", "waives.txt", 2),
        ("no-link", "waives.txt", 3),
        ("unknown-field", "waives.txt", 4),
        ("no-minutes", "waives.txt", 5),
    ]


def test_a_list_that_cannot_be_read_makes_no_waiver_unreachable(tmp_path: Path) -> None:
    # One cause, one finding.
    _write(tmp_path, {"test_lists/l0_a.yml": "[", "waives.txt": f"full:A/u SKIP ({LINK})\nv/a SKIP ({LINK})\n"})
    _write(tmp_path, {"test_lists/l0_b.yml": _yaml("l0_b", "v/abc.py")})
    assert [finding.rule for finding in lint_tree(tmp_path)] == ["not-a-list"]
    # Of tests that were collected, what is cut off is known.
    assert [finding.rule for finding in lint_tree(tmp_path, ["v/abc.py::t"])] == ["not-a-list", "unmatched", "truncated"]


def test_a_finding_of_a_malformed_line_reads_as_its_error_with_the_rule(tmp_path: Path) -> None:
    _write(tmp_path, {"waives.txt": "u SKIP (x) untill=1\n"})
    (found,) = map(str, lint_tree(tmp_path))
    assert found.startswith(
        f"{tmp_path}/waives.txt:1: unknown-field: unknown field 'untill=1'; did you mean 'until'? Write one of"
    )


def test_a_tree_without_lists_and_waivers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError,
        match=r"neither lists \(test_lists/.* nor waivers \(waives\*\.txt\); name the root of a tree that has some$",
    ):
        lint_tree(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no/such: no such file or folder; name the root of a tree"):
        lint_tree(tmp_path / "no/such")


def test_this_project_has_no_finding() -> None:
    assert [str(finding) for finding in lint_tree(ROOT)] == []


def test_the_lint_needs_neither_pytest_nor_torch() -> None:
    code = "import harness.lint, sys; sys.exit(bool({'pytest', 'torch', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_real_tree_is_checked() -> None:
    root = ROOT / "../shared/data/trtllm_lists"
    if not root.exists():
        not_run(f"no real lists in {root.name}, a folder beside this project")
    rules = {finding.rule for finding in lint_tree(root, today=TODAY)}
    # Excerpts: most of the lists that the waivers are for are not there.
    assert rules <= {"stem-differs", "unreachable", "truncated", "unknown-platform", "no-link", "duplicate", "runs-nowhere"}
    assert {"stem-differs", "unreachable", "unknown-platform", "no-link"} <= rules


def test_the_documentation_lists_every_rule_as_it_is() -> None:
    rows = [f"| {rule.name} | {rule.description} | {rule.mend} |" for rule in RULES.values()]
    assert "\n".join(rows) in (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
