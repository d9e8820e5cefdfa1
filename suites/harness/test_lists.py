"""Lists: what is read, what is refused, and what an entry means."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.lists import Condition, Entry, ListError, nearest, read_list, read_lists, unmatched

HEAD = "version: 0.0.1\nl0_x:\n"


def _write(folder: Path, text: str, name: str = "l0_x.yml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _entry(target: str) -> Entry:
    return Entry(target, Path("l0_x.yml"), 7)


def test_a_list_is_its_blocks_and_entries_with_their_lines(tmp_path: Path) -> None:
    text = HEAD + (
        "- condition:\n    ranges:\n      system_gpu_count: {gte: 1, lte: 8}\n"
        "    wildcards:\n      gpu: ['*b200*', '*h200*']\n      cpu: x86*\n"
        "    terms:\n      stage: pre_merge\n"
        "  tests:\n  - suites/mask  # all of it\n  - 'a.py::t[x::y/z #1]'\n"
        "- tests:\n  - b.py\n"
    )
    read = read_list(_write(tmp_path, text))
    assert read.name == "l0_x"
    assert [(e.target, e.line) for e in read.entries] == [("suites/mask", 12), ("a.py::t[x::y/z #1]", 13), ("b.py", 15)]
    assert read.blocks[0].condition == Condition(
        {"stage": "pre_merge"}, {"system_gpu_count": {"gte": 1, "lte": 8}}, {"gpu": ["*b200*", "*h200*"], "cpu": ["x86*"]}
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2", r"l0_x.yml: not YAML"),
        ("- a", r"l0_x.yml:1: expected a list as a mapping"),
        ("", r"l0_x.yml:1: expected a list as a mapping"),
        ("version: 0.0.1\n", r"l0_x.yml:1: no context 'l0_x'"),
        ("version: 0.0.1\nl0_y:\n- tests: [a]\n", r"l0_x.yml:3: unknown key 'l0_y'"),
        (HEAD + "- tests: []\n", r"l0_x.yml:3: the list is empty"),
        (HEAD + "- test: [a]\n", r"l0_x.yml:3: unknown key 'test'"),
        (HEAD + "- tests: a\n", r"l0_x.yml:3: expected tests as a list"),
        (HEAD + "- tests: [[a]]\n", r"l0_x.yml:3: expected a word"),
        (HEAD + "- condition:\n    range: {}\n  tests: [a]\n", r"l0_x.yml:4: unknown key 'range'"),
        (HEAD + "- condition:\n    ranges:\n      n: {gte: x}\n  tests: [a]\n", r"l0_x.yml:5: 'x' is not a whole number"),
        (HEAD + "- tests:\n  - a\n  tests:\n  - b\n", r"l0_x.yml:5: 'tests' stands here a second time"),
        (HEAD + "- tests:\n  - a.py TIMEOUT (90)\n", r"l0_x.yml:4: 'a.py TIMEOUT \(90\)': TIMEOUT is not supported"),
    ],
)
def test_what_is_no_list_is_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ListError, match=message):
        read_list(_write(tmp_path, text))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "l0_x.yml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ListError, match="cannot be read"):
        read_lists(tmp_path)


@pytest.mark.parametrize(
    ("target", "node_id", "selected"),
    [
        ("suites/mask", "suites/mask/test_a.py::t", True),
        ("suites/mask/", "suites/mask/test_a.py::t", True),
        ("suites/mask", "suites/mask_more/test_a.py::t", False),
        ("suites/a.py", "suites/a.py::t[1]", True),
        ("suites/a.py", "suites/a.pyx::t", False),
        ("a.py::t", "a.py::t", True),
        ("a.py::t", "a.py::t[x]", True),
        ("a.py::t", "a.py::t2", False),
        ("a.py::C", "a.py::C::t", True),
        ("a.py::t[x]", "a.py::t[x]", True),
        ("a.py::t[x]", "a.py::t[x-y]", False),
        ("a.py::t[a/b::c (1)]", "a.py::t[a/b::c (1)]", True),
    ],
)
def test_an_entry_selects_exactly_what_it_names(target: str, node_id: str, selected: bool) -> None:
    assert _entry(target).selects(node_id) is selected


def test_an_entry_that_matches_nothing_is_named_with_the_nearest_id() -> None:
    (error,) = unmatched([_entry("a.py::test_oracel"), _entry("a.py")], ["a.py::test_oracle[x]"])
    assert error == "l0_x.yml:7: 'a.py::test_oracel' matches no test; did you mean 'a.py::test_oracle'?"


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert nearest("zzzz", ["a.py::test_oracle"]) == ""


MACHINE: dict[str, str | int] = {"gpu": "NVIDIA H200", "system_gpu_count": 1, "cpu": "x86_64"}


@pytest.mark.parametrize(
    ("condition", "reasons"),
    [
        (Condition(), []),
        (Condition(terms={"stage": "pre_merge", "cpu": "x86_64"}), []),
        (Condition(terms={"cpu": "aarch64"}), ["cpu is x86_64, not aarch64"]),
        (Condition(ranges={"system_gpu_count": {"gte": 1, "lte": 1}}), []),
        (Condition(ranges={"system_gpu_count": {"gte": 2}}), ["system_gpu_count is 1, not at least 2"]),
        (Condition(ranges={"system_gpu_count": {"lte": 0}}), ["system_gpu_count is 1, not at most 0"]),
        (Condition(ranges={"nodes": {"gte": 1, "lte": 2}}), ["nodes is unknown, not a number"]),
        (Condition(ranges={"cpu": {"gte": 1}}), ["cpu is x86_64, not a number"]),
        (Condition(wildcards={"gpu": ["*b200*", "*h200*"]}), []),
        (Condition(wildcards={"gpu": ["*b200*"]}), ["gpu is NVIDIA H200, not *b200*"]),
        (Condition(wildcards={"tpu": ["*"]}), ["tpu is absent, not *"]),
    ],
)
def test_a_condition_says_what_the_machine_lacks(condition: Condition, reasons: list[str]) -> None:
    assert condition.unmet(MACHINE) == reasons


def test_the_lists_of_this_project_are_lists() -> None:
    lists = read_lists(Path(__file__).parents[2] / "test_lists")
    assert {"l0_cpu", "l0_b200"} <= set(lists)
    assert lists["l0_b200"].unmet(MACHINE) == ["gpu is NVIDIA H200, not *b200*"]
    assert lists["l0_b200"].unmet({**MACHINE, "gpu": "NVIDIA B200"}) == []
