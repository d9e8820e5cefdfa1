"""Lists: what is read, what is refused, what prints back, and what an entry means."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import event, example, given

from harness import yaml_nodes
from harness.entries import Entry, Index, ListError, bare, parse_entry
from harness.lists import Block, Condition, TestList, print_list, read_list, read_lists, scan_list
from harness.nearest import ancestors, nearest
from harness.statuses import not_run
from suites.strategies.registration import ENTRY_LINES, PATH, damaged, entries, stages, yaml_like

ROOT = Path(__file__).parents[2]
HEAD = "version: 0.0.1\nl0_x:\n"


def _write(folder: Path, text: str, name: str = "l0_x.yml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def _entry(text: str) -> Entry:
    return parse_entry(text, PATH, 7)


def _squeezed(text: str) -> str:
    return "".join(text.split())


# Entries


@pytest.mark.parametrize(
    ("text", "targets", "keyword", "marks", "minutes", "isolated"),
    [
        ("suites/mask/", ("suites/mask/",), None, None, None, False),
        ("a.py::C::t[x] ISOLATION", ("a.py::C::t[x]",), None, None, None, True),
        ("a.py TIMEOUT (90)", ("a.py",), None, None, 90, False),
        ("a.py ISOLATION TIMEOUT (90)", ("a.py",), None, None, 90, True),
        # C6.2: both orders with a comma, which upstream documents and half reads.
        ("a.py ISOLATION, TIMEOUT (90)", ("a.py",), None, None, 90, True),
        ("a.py TIMEOUT (90), ISOLATION", ("a.py",), None, None, 90, True),
        ('a.py -k "x and not (y)"', ("a.py",), "x and not (y)", None, None, False),
        ("a.py -m 'gpu1' -k x TIMEOUT (5)", ("a.py",), "x", "gpu1", 5, False),
        ('a.py -k "x -m y" -m \'it["s"]\'', ("a.py",), "x -m y", 'it["s"]', None, False),
        ("u/a u/b c.py TIMEOUT (5)", ("u/a", "u/b", "c.py"), None, None, 5, False),
        ('a.py::t[x] -k "y"', ("a.py::t[x]",), "y", None, None, False),
    ],
)
def test_an_entry_is_targets_options_and_markers(
    text: str, targets: tuple[str, ...], keyword: str | None, marks: str | None, minutes: int | None, isolated: bool
) -> None:
    entry = _entry(text)
    assert entry == Entry(targets, keyword, marks, minutes, isolated, PATH, 7)
    assert str(entry) == text


@pytest.mark.parametrize(
    "node_id",
    [
        # H13: what breaks keyword selection. H14: what two shells tear apart.
        "a.py::t[a/b]",
        "a.py::t[(1, 2)-3]",
        "a.py::t[t=1.0]",
        'a.py::t[x y-"q"]',
        # C6.4: upstream cuts at the first '#'.
        "a.py::t[#1 # 2]",
        "a.py::t[a  b::c]",
        "a.py::t[[1, [2]]]",
        "a.py::t[x ISOLATION]",
        "a.py::t[x] TIMEOUT (90)]",
        'a.py::t[x -k "y"]',
        "a.py::t[-k ']",
        "a.py::t[${x} % ## <%]",
        "a.py::t[a//b/../c,]",
    ],
)
def test_an_id_survives_with_and_without_what_follows_it(node_id: str) -> None:
    for behind in ("", " ISOLATION", ' -k "x"', " -m 'y' TIMEOUT (1), ISOLATION"):
        entry = _entry(node_id + behind)
        assert entry.targets == (node_id,)
        assert str(entry) == node_id + behind
        assert entry.selects(node_id)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty entry; expected a folder, a file or a test id; write one, or delete the line"),
        ("a.py TIMEOUT", r": TIMEOUT without minutes; .* write TIMEOUT \(90\)$"),
        ("a.py TIMEOUT 90", "TIMEOUT without minutes"),
        ("a.py TIMEOUT (x)", "TIMEOUT without minutes"),
        ("a.py TIMEOUT (0)", "expected a whole number from 1"),
        ("a.py TIMEOUT (090)", "expected a whole number from 1"),
        ("a.py::t[x] TIMEOUT (1.5) ISOLATION", "TIMEOUT without minutes"),
        ("a.py ISOLATION ISOLATION", "ISOLATION stands twice; delete one"),
        ("a.py TIMEOUT (1) TIMEOUT (2)", "TIMEOUT stands twice"),
        ("a.py TIMEOUT (1) TIMEOUT (2), ISOLATION", "TIMEOUT stands twice"),
        ("a.py ISOLATION, TIMEOUT (1) ISOLATION", "ISOLATION stands twice"),
        ("a.py ISOLATION,", "ISOLATION at a wrong place"),
        ("a.py, ISOLATION", "'a.py,' ends in a comma; .* delete it"),
        ('a.py ISOLATION -k "x"', "ISOLATION at a wrong place; .* at the end; move it there"),
        ("a.py TIMEOUT (90) -m x ISOLATION", "TIMEOUT at a wrong place"),
        ("ISOLATION", "ISOLATION at a wrong place"),
        ("TIMEOUT (90)", "TIMEOUT at a wrong place"),
        ("a.py::t SKIP (https://x/1)", "SKIP stands in a list; .* move it into waives.txt"),
        ("a.py::t[x] XFAIL (y)", "XFAIL stands in a list"),
        ("a.py UNSTABLE", "UNSTABLE stands in a list"),
        ("a.py isolation", "'isolation' in small letters; markers are written in capitals; write ISOLATION"),
        ("a.py::t[x] Timeout (90)", "'Timeout' in small letters"),
        ("a.py::t[x", "its bracket is not closed; if the id holds ' #' or ': ', put the entry into quotes"),
        ("a.py::t[x] and more", "text behind the id: 'and more'; expected options and markers"),
        ("a.py::t[x]ISOLATION", "text behind the id: 'ISOLATION'"),
        (
            "a.py and more",
            "text behind the id: 'and'; .* each is expected to hold '/' or '.py'; delete it, or give it a line",
        ),
        ("a.py and", "text behind the id: 'and'"),
        ("a.py # why", "text behind the id: '#'"),
        ("a.py -k", "'-k' cannot be read; expected -k 'expr' .* before the markers; mend its quotes or its place$"),
        ('a.py -k "x', "'-k' cannot be read"),
        ("a.py -k x -k y", "'-k' cannot be read; expected .* each once"),
        ("a.py -x", "'-x' cannot be read"),
        ('a.py -k " "', "-k without an expression"),
        ("/a.py", "is an absolute path; expected one from the project's root"),
        ("C:/a.py", "is an absolute path"),
        ("c:\\\\a.py", "is an absolute path"),
        ("~/a.py", "is an absolute path"),
        ("../a.py::t[x]", r"holds '//', '\.' or '\.\.'"),
        ("a//b.py", "holds '//'"),
        (".", r"holds '//', '\.'"),
        ("a.py\x00", ": holds a control character, .*; copy the id from pytest --collect-only$"),
        ("a.py::t[x\ny]", "holds a control character"),
    ],
)
def test_a_malformed_entry_is_refused_with_file_line_and_mend(text: str, message: str) -> None:
    with pytest.raises(ListError, match=rf"^l0_x\.yml:7: .*{message}") as error:
        _entry(text)
    assert error.value.rule == "malformed-entry"
    assert repr(text) in str(error.value)


@given(damaged(ENTRY_LINES))
def test_any_text_is_an_entry_that_prints_back_or_an_error_with_its_line(text: str) -> None:
    try:
        entry = _entry(text)
    except ListError as error:
        event("refused")
        assert str(error).startswith("l0_x.yml:7: ")  # noqa: PT017
        return
    event("read")
    assert _squeezed(str(entry)) == _squeezed(text)
    assert all(target in text for target in entry.targets)
    assert _entry(str(entry)) == entry
    assert str(_entry(str(entry))) == str(entry)


@given(entries())
@example(Entry(("a.py",), 'x["y"]', None, None, True, PATH, 1))
@example(Entry(("a.py",), None, "x['y']", None, True, PATH, 1))
def test_an_entry_prints_as_what_reads_back(entry: Entry) -> None:
    assert parse_entry(str(entry), entry.path, entry.line) == entry


def test_an_expression_prints_in_double_quotes_unless_it_holds_some() -> None:
    assert (
        str(Entry(("a.py",), "x", 'y(z="1")', 90, True, PATH, 1)) == """a.py -k "x" -m 'y(z="1")' TIMEOUT (90) ISOLATION"""
    )


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("u/a/", "u/a"),
        ("u/X/", "u/X"),
        ("u//", "u"),
        ("u/a.py", "u/a.py"),
        ("a.py::t[x/", "a.py::t[x/"),
        ("a.py::t/", "a.py::t/"),
    ],
)
def test_a_folder_is_meant_with_a_slash_at_its_end_and_without(target: str, name: str) -> None:
    assert bare(target) == name


@pytest.mark.parametrize("text", ENTRY_LINES)
def test_a_line_of_upstream_prints_back(text: str) -> None:
    assert str(_entry(text)) == text


@pytest.mark.parametrize(
    ("target", "node_id", "selected"),
    [
        ("suites/mask", "suites/mask/test_a.py::t", True),
        ("suites/mask/", "suites/mask/test_a.py::t", True),
        # C6.5: an id that begins another is not that other.
        ("suites/mask", "suites/mask_more/test_a.py::t", False),
        ("suites/a.py", "suites/a.py::t[1]", True),
        ("suites/a.py", "suites/a.pyx::t", False),
        ("a.py::t", "a.py::t", True),
        ("a.py::t", "a.py::t[x]", True),
        ("a.py::t", "a.py::t2", False),
        ("a.py::C", "a.py::C::t[x]", True),
        ("a.py::C", "a.py::CC::t", False),
        ("a.py::t[x]", "a.py::t[x]", True),
        ("a.py::t[x]", "a.py::t[x-y]", False),
        ("a.py::t[x]", "a.py::t[x]::y]", False),
        ("a.py::t[a/b::c (1)]", "a.py::t[a/b::c (1)]", True),
        ("a.py::t[a", "a.py::t[a/b]", False),
        ("u/a u/b", "u/b/c.py::t", True),
    ],
)
def test_an_entry_selects_exactly_what_it_names(target: str, node_id: str, selected: bool) -> None:
    entry = Entry(tuple(target.split()) if "[" not in target else (target,), None, None, None, False, PATH, 7)
    assert entry.selects(node_id) is selected
    assert Index([entry]).of(node_id) == [entry] * selected


def test_what_could_mean_a_test_is_it_its_function_classes_file_and_folders() -> None:
    assert list(ancestors("a/b/c.py::C::D::t[x::y/[z]]")) == [
        "a/b/c.py::C::D::t[x::y/[z]]",
        "a/b/c.py::C::D::t",
        "a/b/c.py::C::D",
        "a/b/c.py::C",
        "a/b/c.py",
        "a/b",
        "a",
    ]
    assert list(ancestors("a/b")) == ["a/b", "a"]


def test_an_index_finds_what_each_entry_would_select_in_the_order_given() -> None:
    some = [_entry(text) for text in ("a", "a/b.py::t[x]", "a/c", "a/b.py ISOLATION", "a/b.py::t", "a/ a/b.py")]
    node_id = "a/b.py::t[x]"
    assert Index(some).of(node_id) == [entry for entry in some if entry.selects(node_id)]


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert nearest("a.py::test_oracel", ["a.py::test_oracle[x]"]) == "; did you mean 'a.py::test_oracle'?"
    assert nearest("zzzz", ["a.py::test_oracle"]) == ""


# Lists


def test_a_list_is_its_blocks_and_entries_with_their_lines(tmp_path: Path) -> None:
    text = HEAD + (
        "- condition:\n    ranges:\n      system_gpu_count: {gte: 1, lte: 8}\n"
        "    wildcards:\n      gpu: ['*b200*', '*h200*']\n      cpu: x86*\n"
        "    terms:\n      stage: pre_merge\n      supports_fp8: true\n"
        "  tests:\n  - suites/mask  # all of it\n  - 'a.py::t[x::y/z #1]'\n"
        "- terms: {backend: pytorch}\n  tests:\n  - b.py TIMEOUT (90)\n"
    )
    read = read_list(_write(tmp_path, text))
    assert (read.name, read.context, read.version, read.line) == ("l0_x", "l0_x", "0.0.1", 2)
    assert [(str(e), e.line) for e in read.entries] == [
        ("suites/mask", 13),
        ("a.py::t[x::y/z #1]", 14),
        ("b.py TIMEOUT (90)", 17),
    ]
    assert [block.condition for block in read.blocks] == [
        Condition(
            {"stage": "pre_merge", "supports_fp8": "true"},
            {"system_gpu_count": {"gte": 1, "lte": 8}},
            {"gpu": ("*b200*", "*h200*"), "cpu": ("x86*",)},
        ),
        Condition({"backend": "pytorch"}),
    ]


@pytest.mark.parametrize("tests", ["[]", "", "~", "\n  # - a.py"])
def test_an_empty_list_is_read_and_left_to_the_lint(tmp_path: Path, tests: str) -> None:
    read = read_list(_write(tmp_path, HEAD + f"- condition: {{}}\n  tests: {tests}\n"))
    assert read.entries == ()
    assert read_list(_write(tmp_path, HEAD)).unmet({}) == []


def test_a_context_that_differs_from_the_stem_is_read_and_left_to_the_lint(tmp_path: Path) -> None:
    assert read_list(_write(tmp_path, HEAD, "l0_y.yml")).context == "l0_x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2", "l0_x.yml:[12]: not YAML: .*flow sequence"),
        ("a\x00b", r"l0_x.yml:1: not YAML: the character '\\x00'"),
        ("\n\na\x00b\n", r"l0_x.yml:3: not YAML: the character '\\x00' may not stand in a file; delete it$"),
        ("a: [b,\nc\n}\n", "l0_x.yml:3: not YAML: while parsing a flow sequence "),
        ("[" * 16 + "]" * 16, "l0_x.yml:1: expected version and a context as a mapping, found a sequence"),
        ("[" * 17 + "]" * 17, "l0_x.yml:1: more than 16 levels deep"),
        ("- a", "l0_x.yml:1: expected version and a context as a mapping, found a sequence"),
        ("", "l0_x.yml:1: no context; .* write 'l0_x:'"),
        ("version: 0.0.1\n", "l0_x.yml:1: no context"),
        ("l0_x: []\n", "l0_x.yml:1: no version; .* write 'version: 0.0.1'"),
        ("version:\nl0_x: []\n", "l0_x.yml:1: no version"),
        ("version: [a]\nl0_x: []\n", "l0_x.yml:1: expected the version as a word, found a sequence"),
        (HEAD + "- tests: [a]\nl0_y:\n- tests: [a]\n", "l0_x.yml:4: a second context 'l0_y' beside 'l0_x'"),
        (HEAD + "- a\n", "l0_x.yml:3: expected a block as a mapping, found a scalar"),
        (HEAD + "- zzzz: [a]\n", "l0_x.yml:3: unknown key 'zzzz' in a block; expected only condition, terms, tests$"),
        (HEAD + "- terms: [a]\n", "l0_x.yml:3: expected terms as a mapping, found a sequence"),
        (HEAD + "- condition:\n    ranges: [a]\n", "l0_x.yml:4: expected ranges as a mapping, found a sequence"),
        (HEAD + "- condition:\n    ranges:\n      n: {gte: [1]}\n", "l0_x.yml:5: expected gte as a word, found a sequence"),
        (HEAD + "- condition:\n    wildcards: a\n", "l0_x.yml:4: expected wildcards as a mapping, found a scalar"),
        (HEAD + "- condition:\n    wildcards: {gpu: {a: b}}\n", "l0_x.yml:4: expected patterns as a list, found a mapping"),
        (HEAD + "- condition:\n    wildcards: {gpu: [[a]]}\n", "l0_x.yml:4: expected a pattern as a word, found a sequence"),
        (HEAD + "- tests:\n  - ~\n", "l0_x.yml:4: '': an empty entry"),
        ("version: 0.0.1\n'': []\n", "l0_x.yml:2: a context without a name"),
        ("version: 0.0.1\nl0_x: a\n", "l0_x.yml:2: expected the blocks as a list, found a scalar"),
        (HEAD + "- test: [a]\n", "l0_x.yml:3: unknown key 'test' in a block; did you mean 'tests'?"),
        (HEAD + "- tests: a\n", "l0_x.yml:3: expected tests as a list"),
        (HEAD + "- tests:\n  - [a]\n", "l0_x.yml:4: a sequence among the tests"),
        (HEAD + "- tests:\n  - a.py::t[x: y]\n", "l0_x.yml:4: a mapping among the tests; .* into quotes"),
        (HEAD + "- tests:\n  - a.py::t[x #1]\n", "l0_x.yml:4: 'a.py::t.x': its bracket is not closed; .* quotes"),
        (HEAD + "- tests:\n  -\n", "l0_x.yml:4: '': an empty entry"),
        (HEAD + "- ? [a]\n  : b\n", "l0_x.yml:3: expected a key as a word, found a sequence"),
        (HEAD + "- condition:\n    range: {}\n", "l0_x.yml:4: unknown key 'range' in a condition; did you mean 'ranges'?"),
        (HEAD + "- condition:\n    ranges:\n      n: {gt: 1}\n", "l0_x.yml:5: unknown key 'gt' in a range"),
        (HEAD + "- condition:\n    ranges:\n      n: {gte: x}\n", "l0_x.yml:5: gte is 'x'; expected a whole number"),
        (HEAD + "- condition:\n    ranges:\n      n: {gte: 1.5}\n", "l0_x.yml:5: gte is '1.5'; expected a whole number"),
        (HEAD + "- condition:\n    ranges:\n      n: {gte: 0x10}\n", "l0_x.yml:5: gte is '0x10'"),
        (HEAD + f"- condition:\n    ranges:\n      n: {{gte: {'9' * 5000}}}\n", "l0_x.yml:5: gte is '9+'"),
        (HEAD + "- condition:\n    wildcards: {gpu: []}\n", "l0_x.yml:4: a wildcard without a pattern"),
        (HEAD + "- condition:\n    terms: {a: [b]}\n", "l0_x.yml:4: expected the term a as a word"),
        (HEAD + "- terms: {a: b}\n  condition:\n    terms: {a: b}\n", "l0_x.yml:3: the term 'a' stands here a second time"),
        (HEAD + "- tests:\n  - a\n  tests:\n  - b\n", "l0_x.yml:5: the key 'tests' stands here a second time"),
        (HEAD + "- tests:\n  - a.py SKIP (x)\n", r"l0_x.yml:4: 'a.py SKIP \(x\)': SKIP stands in a list"),
        (HEAD + "- &a\n  tests: [a]\n- *a\n", "l0_x.yml:3: an anchor or alias 'a'; .* write the value out"),
        (HEAD + "- tests: [!!python/name:os.system a]\n", "l0_x.yml:3: a tag 'tag:yaml.org,2002:python/name:os.system'"),
        (HEAD + "- tests: [! a]\n", "l0_x.yml:3: a tag '!'"),
        (HEAD + "- <<: {tests: [a]}\n", "l0_x.yml:3: unknown key '<<'"),
        (HEAD + "---\na: b\n", "l0_x.yml:3: a second YAML document"),
        (HEAD + f"- tests: {'[' * 50}{']' * 50}\n", "l0_x.yml:3: more than 16 levels deep"),
        ("[" * 100_000, "l0_x.yml:1: (more than 16 levels deep|not YAML: .*nesting depth)"),
        ("- " * 10_000, "l0_x.yml:1: more than 16 levels deep"),
        (HEAD + '- tests: ["\\U99999999"]\n', "l0_x.yml:[13]: not YAML"),
    ],
)
@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
def test_what_is_no_list_is_refused_with_file_and_line(
    tmp_path: Path, text: str, message: str, loader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_nodes, "_LOADER", getattr(yaml, loader))
    with pytest.raises(ListError, match=message):
        read_list(_write(tmp_path, text))


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "l0_x.yml").write_bytes(b"\n" + HEAD.encode() + b"- \xff\n")
    with pytest.raises(ListError, match=r"l0_x.yml:4: cannot be read: the byte 0xff is not UTF-8; save the file"):
        read_lists([tmp_path])


def test_a_folder_that_is_named_as_a_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "l0_x.yml").mkdir()
    with pytest.raises(ListError, match=r"l0_x.yml:1: cannot be read: Is a directory$"):
        read_lists([tmp_path])


def test_a_list_that_nobody_would_read_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, HEAD + "- tests: [a]\n")
    for name in ("l0_z.yaml", "l0_y.yaml"):
        _write(tmp_path, "no list", name)
    with pytest.raises(ListError, match=r"l0_y.yaml:1: ends in .yaml, and would be read by nobody; rename it to .yml$"):
        read_lists([tmp_path])


def test_two_lists_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        _write(tmp_path / folder, HEAD + "- tests: [a]\n")
    with pytest.raises(ListError, match=r"b/l0_x.yml:1: is another list l0_x beside .*a/l0_x.yml; rename one of them$"):
        read_lists([tmp_path / "a", tmp_path / "b"])


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_byte_order_mark_and_other_line_ends_change_nothing(tmp_path: Path, newline: str, mark: str) -> None:
    text = mark + (HEAD + "- tests:\n  - a.py\n").replace("\n", newline)
    assert [(str(entry), entry.line) for entry in read_list(_write(tmp_path, text)).entries] == [("a.py", 4)]


def test_reading_on_finds_every_malformed_entry_and_keeps_the_others(tmp_path: Path) -> None:
    text = HEAD + "- tests:\n  - a.py SKIP\n  - b.py\n  - [c]\n"
    found, errors = scan_list(_write(tmp_path, text))
    assert found is not None
    assert [str(entry) for entry in found.entries] == ["b.py"]
    assert [(error.line, error.rule) for error in errors] == [(4, "malformed-entry"), (6, "malformed-entry")]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file that examples write over."""
    return tmp_path_factory.mktemp("lists") / "l0_x.yml"


@given(text=yaml_like())
def test_any_text_is_a_list_or_an_error_with_a_line(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="")
    try:
        found = read_list(file)
    except ListError as error:
        event("refused")
        assert re.match(r"\d+: .", str(error).removeprefix(f"{file}:"))  # noqa: PT017
    else:
        event("read")
        assert _reprinted(found) == _without_lines(found)


@given(found=stages(PATH))
@example(TestList(PATH, "a", "\x85b\u2028", (Block(Condition({"c\x85": "\u2029d"}), ()),)))
@example(TestList(PATH, "~", "null", (Block(Condition({"": ""}, {"": {}}, {"": ("",)}), ()),)))
def test_a_list_prints_as_what_reads_back(file: Path, found: TestList) -> None:
    found = replace(found, path=file, blocks=tuple(_at(block, file) for block in found.blocks))
    assert _reprinted(found) == _without_lines(found)


def test_a_list_prints_as_people_write_it(tmp_path: Path) -> None:
    """A line a test, however long, and quotes only where YAML needs them."""
    long = 'suites/mask/test_dense.py -k "' + "gemma3 or " * 20 + 'é"'
    text = f"""version: 0.0.1
l0_x:
- condition:
    ranges:
      system_gpu_count:
        gte: 1
    wildcards:
      gpu:
      - '*b200*'
    terms:
      stage: pre_merge
  tests:
  - {long}
  - 'a.py::t[x: y]'
"""
    assert print_list(read_list(_write(tmp_path, text))) == text


def _reprinted(found: TestList) -> TestList:
    found.path.write_text(print_list(found), encoding="utf-8", newline="")
    return _without_lines(read_list(found.path))


def _without_lines(found: TestList) -> TestList:
    return replace(found, blocks=tuple(_at(block, found.path) for block in found.blocks))


def _at(block: Block, path: Path) -> Block:
    return replace(block, entries=tuple(replace(entry, path=path, line=0) for entry in block.entries))


# Conditions

MACHINE: dict[str, str | int] = {
    "gpu": "NVIDIA H200",
    "system_gpu_count": 1,
    "cpu": "x86_64",
    "supports_fp8": True,
    "supports_fp4": False,
    "nodes": "2",
}


@pytest.mark.parametrize(
    ("condition", "reasons"),
    [
        (Condition(), []),
        (Condition(terms={"stage": "pre_merge", "cpu": "x86_64"}), []),
        (Condition(terms={"cpu": "aarch64"}), ["cpu is x86_64, not aarch64"]),
        (Condition(terms={"cpu": "X86_64"}), ["cpu is x86_64, not X86_64"]),
        (Condition(terms={"tpu": "v5"}), ["tpu is unknown, not v5"]),
        (Condition(terms={"supports_fp4": "false", "supports_fp8": "TRUE"}), []),
        (Condition(terms={"system_gpu_count": "1"}), []),
        (Condition(terms={"supports_fp8": "true"}), []),
        (Condition(terms={"supports_fp8": "True"}), []),
        (Condition(terms={"supports_fp8": "false"}), ["supports_fp8 is True, not false"]),
        (Condition(ranges={"system_gpu_count": {"gte": 1, "lte": 1}}), []),
        (Condition(ranges={"system_gpu_count": {"gte": 2}}), ["system_gpu_count is 1, not at least 2"]),
        (Condition(ranges={"system_gpu_count": {"lte": 0}}), ["system_gpu_count is 1, not at most 0"]),
        (
            Condition(ranges={"system_gpu_count": {"gte": 2, "lte": 4}}),
            ["system_gpu_count is 1, not at least 2 and at most 4"],
        ),
        (Condition(ranges={"nodes": {"gte": 2}}), []),
        (Condition(ranges={"racks": {"gte": 1, "lte": 2}}), ["racks is unknown, not a number"]),
        (Condition(ranges={"cpu": {"gte": 1}}), ["cpu is x86_64, not a number"]),
        (Condition(wildcards={"gpu": ["*b200*", "*h200*"]}), []),
        (Condition(wildcards={"gpu": ["*b200*"]}), ["gpu is NVIDIA H200, not *b200*"]),
        (Condition(wildcards={"gpu": ["*b200*", "*b300*"]}), ["gpu is NVIDIA H200, not *b200* or *b300*"]),
        (Condition(wildcards={"tpu": ["*"]}), ["tpu is absent, not *"]),
    ],
)
def test_a_condition_says_what_the_machine_lacks(condition: Condition, reasons: list[str]) -> None:
    assert condition.unmet(MACHINE) == reasons


def test_the_blocks_that_the_machine_meets_are_active_and_all_if_it_meets_none() -> None:
    one, two = (Block(Condition(terms={"cpu": cpu}), (_entry(cpu),)) for cpu in ("x86_64", "aarch64"))
    found = TestList(PATH, "l0_x", "0.0.1", (one, two))
    assert found.active({"cpu": "x86_64"}) == (one,)
    assert found.active({"cpu": "riscv64"}) == (one, two)
    assert found.active({}) == (one, two)
    assert found.unmet({"cpu": "aarch64"}) == []
    assert found.unmet({"cpu": "riscv64"}) == ["cpu is riscv64, not x86_64"]


def test_the_lists_of_this_project_are_lists() -> None:
    found = read_lists([ROOT / "test_lists"])
    assert {"l0_cpu", "l0_b200"} <= set(found)
    assert found["l0_b200"].platform == "b200"
    assert found["l0_b200"].unmet(MACHINE) == ["gpu is NVIDIA H200, not *b200*"]
    assert found["l0_b200"].unmet({**MACHINE, "gpu": "NVIDIA B200"}) == []


@pytest.mark.parametrize(
    ("name", "tests", "blocks"),
    [("l0_cpu.yml", 175, 1), ("l0_b200_mm_encoder_repro.yml", 1, 1), ("l0_b200_2025.excerpt.yml", 31, 4)],
)
def test_a_real_list_is_read_without_loss(name: str, tests: int, blocks: int) -> None:
    path = ROOT / "../shared/data/trtllm_lists" / name
    if not path.exists():
        not_run(f"no real lists in {path.parent.name}, a folder beside this project")
    found = read_list(path)
    lines = re.findall(r"^  - (\S.*?)(?: +#.*)?$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [str(entry) for entry in found.entries] == lines
    assert (len(lines), len(found.blocks)) == (tests, blocks)
