"""Test lists: which tests run in which CI stage, in the grammar of TensorRT-LLM's test-db.

Plain data in, plain data out; nothing here knows pytest.
"""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from harness.entries import Entry, ListError, parse_entry
from harness.nearest import nearest
from harness.yaml_nodes import Node, compose, events_of, read_text

if TYPE_CHECKING:
    from harness.machine import Property


RUN_TERMS = ("stage", "backend", "auto_trigger", "orchestrator")
"""Terms that describe the run and not the machine, as TensorRT-LLM's lists use them."""


@dataclass(frozen=True)
class Condition:
    """On which machine a block is meant to run."""

    terms: Mapping[str, Property] = field(default_factory=dict)
    ranges: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    wildcards: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def unmet(self, machine: Mapping[str, Property]) -> list[str]:
        """What a machine lacks, a phrase each; empty if the condition describes it.

        A term that describes the run (:data:`RUN_TERMS`) counts as met; a property that the machine lacks is unmet.
        """
        reasons = [
            f"{name} is {machine.get(name, 'unknown')}, not {value}"
            for name, value in self.terms.items()
            if name not in RUN_TERMS and (name not in machine or _term(machine[name]) != _term(value))
        ]
        for name, bounds in self.ranges.items():
            value = _whole_number(machine.get(name))
            low, high = bounds.get("gte"), bounds.get("lte")
            if value is None:
                reasons.append(f"{name} is {machine.get(name, 'unknown')}, not a number")
            elif (low is not None and value < low) or (high is not None and value > high):
                wanted = " and ".join(f"{word} {n}" for word, n in (("at least", low), ("at most", high)) if n is not None)
                reasons.append(f"{name} is {value}, not {wanted}")
        for name, patterns in self.wildcards.items():
            text = str(machine.get(name, "absent"))
            if name not in machine or not any(fnmatch.fnmatchcase(text.lower(), p.lower()) for p in patterns):
                reasons.append(f"{name} is {text}, not {' or '.join(patterns)}")
        return reasons


def _term(value: Property) -> str:
    """A term as it is compared: as text, where YAML and Python spell truth in several ways."""
    text = str(value)
    return text.lower() if text.lower() in ("true", "false") else text


def _whole_number(value: Property | None) -> int | None:
    # Upstream compares int(value): what a probe reports as text is a number, too.
    return int(str(value)) if re.fullmatch(_NUMBER, str(value)) else None


_NUMBER = r"-?(?:0|[1-9][0-9]{0,17})"


@dataclass(frozen=True)
class Block:
    """Tests that run on machines of one condition."""

    condition: Condition
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class TestList:
    """One file of ``test_lists/``: a CI stage.

    Attributes:
        path: The file.
        context: The key that the blocks stand under: the file's stem, or else the lint says so.
        version: Of the grammar, as it stands.
        blocks: Tests and on which machines they run.
        line: The line of the context.
    """

    __test__ = False  # not a test class, whatever its name begins with

    path: Path
    context: str
    version: str
    blocks: tuple[Block, ...]
    line: int = field(default=1, compare=False)

    @property
    def name(self) -> str:
        """The stage, which is also the pytest marker that selects it."""
        return self.path.stem

    @property
    def platform(self) -> str:
        """The machine that the stage is named after, as waivers name it: ``dgx_b200`` for ``l0_dgx_b200``."""
        return self.name.split("_", 1)[-1].lower()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of all blocks."""
        return tuple(entry for block in self.blocks for entry in block.entries)

    def unmet(self, machine: Mapping[str, Property]) -> list[str]:
        """Why no block describes the machine; empty if one does."""
        reasons = [block.condition.unmet(machine) for block in self.blocks]
        return reasons[0] if reasons and all(reasons) else []

    def active(self, machine: Mapping[str, Property]) -> tuple[Block, ...]:
        """The blocks whose condition describes the machine; all of them if none does."""
        return tuple(block for block in self.blocks if not block.condition.unmet(machine)) or self.blocks


def read_lists(folders: Iterable[Path]) -> dict[str, TestList]:
    """Reads every list of some folders.

    Returns:
        The lists by name, folder by folder in alphabetical order.

    Raises:
        ListError: A file is not a list, or two have one name.
    """
    lists: dict[str, TestList] = {}
    for folder in folders:
        if other := sorted(folder.glob("*.yaml")):
            raise ListError(other[0], 1, "ends in .yaml, and would be read by nobody; rename it to .yml")
        for path in sorted(folder.glob("*.yml")):
            if path.stem in lists:
                raise ListError(path, 1, f"is another list {path.stem} beside {lists[path.stem].path}; rename one of them")
            lists[path.stem] = read_list(path)
    return lists


def read_list(path: Path) -> TestList:
    """Reads one list.

    A context that is not the file's stem and a list without entries are read: they are the lint's business.

    Raises:
        ListError: It is not YAML, a key is unknown or missing or stands twice, or an entry is malformed.
    """
    test_list, errors = scan_list(path)
    if errors:
        raise errors[0]
    assert test_list is not None
    return test_list


def scan_list(path: Path) -> tuple[TestList | None, list[ListError]]:
    """Reads one list, and on behind malformed entries.

    Returns:
        The list without its malformed entries, None if the file is no list; and what is wrong.
    """
    reader = _Reader(path)
    try:
        return reader.test_list(compose(path, read_text(path))), reader.errors
    except ListError as error:
        return None, [*reader.errors, error]


@dataclass
class _Reader:
    """Turns nodes into a list. A malformed entry goes into ``errors``; anything else that is wrong is raised."""

    path: Path
    errors: list[ListError] = field(default_factory=list)

    def test_list(self, root: Node) -> TestList:
        pairs = self.pairs(root, "version and a context")
        version = next((value for key, value in pairs if key.text == "version"), None)
        contexts = [(key, value) for key, value in pairs if key.text != "version"]
        if not contexts:
            raise self.error(
                root, f"no context; expected one, as the file is named; write '{self.path.stem}:' above the blocks"
            )
        (context, blocks), *more = contexts
        if more:
            second, first = more[0][0].text, context.text
            raise self.error(more[0][0], f"a second context {second!r} beside {first!r}; give it a file of its own")
        if not context.text.strip():
            raise self.error(context, f"a context without a name; write '{self.path.stem}:'")
        if version is None or not self.text(version, "the version").strip():
            raise self.error(version or root, "no version; expected one at the top; write 'version: 0.0.1'")
        entries = tuple(self.block(node) for node in self.items(blocks, "the blocks"))
        return TestList(self.path, context.text, version.text, entries, context.line)

    def block(self, node: Node) -> Block:
        keys = self.fields(node, "a block", ("condition", "terms", "tests"))
        parts = self.fields(keys.get("condition"), "a condition", ("terms", "ranges", "wildcards"))
        terms: dict[str, Property] = {}
        for holder in (parts, keys):  # upstream accepts terms beside the condition, too
            for key, value in self.pairs(holder.get("terms"), "terms"):
                if key.text in terms:
                    raise self.error(key, f"the term {key.text!r} stands here a second time; delete one")
                terms[key.text] = self.text(value, f"the term {key.text}")
        condition = Condition(
            terms,
            {key.text: self.range(value) for key, value in self.pairs(parts.get("ranges"), "ranges")},
            {key.text: self.patterns(value) for key, value in self.pairs(parts.get("wildcards"), "wildcards")},
        )
        tests = self.items(keys.get("tests"), "tests")
        return Block(condition, tuple(entry for test in tests if (entry := self.entry(test))))

    def entry(self, node: Node) -> Entry | None:
        try:
            if node.kind != "scalar":
                found = f"a {node.kind} among the tests; expected a line of text; put an entry that holds ': ' into quotes"
                raise ListError(self.path, node.line, found, "malformed-entry")
            return parse_entry("" if node.is_null else node.text, self.path, node.line)
        except ListError as error:
            self.errors.append(error)
            return None

    def range(self, node: Node) -> dict[str, int]:
        bounds = {}
        for name, bound in self.fields(node, "a range", ("gte", "lte")).items():
            number = _whole_number(self.text(bound, name))
            if number is None:
                raise self.error(bound, f"{name} is {bound.text!r}; expected a whole number; write it as in '{name}: 8'")
            bounds[name] = number
        return bounds

    def patterns(self, node: Node) -> tuple[str, ...]:
        nodes = [node] if node.kind == "scalar" and not node.is_null else self.items(node, "patterns")
        if not nodes:
            raise self.error(node, "a wildcard without a pattern, which no machine meets; write one, or delete the key")
        return tuple(self.text(pattern, "a pattern") for pattern in nodes)

    def pairs(self, node: Node | None, what: str) -> list[tuple[Node, Node]]:
        if node is None or node.is_null:
            return []
        if node.kind != "mapping":
            raise self.error(node, f"expected {what} as a mapping, found a {node.kind}; write 'name: value'")
        pairs = list(zip(node.children[::2], node.children[1::2], strict=True))
        seen: set[str] = set()
        for key, _ in pairs:
            if self.text(key, "a key") in seen:
                raise self.error(key, f"the key {key.text!r} stands here a second time; delete or join one")
            seen.add(key.text)
        return pairs

    def fields(self, node: Node | None, what: str, names: Sequence[str]) -> dict[str, Node]:
        pairs = self.pairs(node, what)
        for key, _ in pairs:
            if key.text not in names:
                near = nearest(key.text, names)
                raise self.error(key, f"unknown key {key.text!r} in {what}{near or ';'} expected only {', '.join(names)}")
        return {key.text: value for key, value in pairs}

    def items(self, node: Node | None, what: str) -> list[Node]:
        if node is None or node.is_null:
            return []
        if node.kind != "sequence":
            raise self.error(node, f"expected {what} as a list, found a {node.kind}; write '- ' before each")
        return node.children

    def text(self, node: Node, what: str) -> str:
        if node.kind != "scalar":
            raise self.error(node, f"expected {what} as a word, found a {node.kind}; write one value")
        return node.text

    def error(self, node: Node, found: str) -> ListError:
        return ListError(self.path, node.line, found)


def print_list(test_list: TestList) -> str:
    """The YAML of a list: it reads back as an equal one. Comments are lost."""
    return str(yaml.emit(_document(test_list), width=sys.maxsize, allow_unicode=True))


def _document(test_list: TestList) -> Iterator[yaml.Event]:
    blocks = [
        {
            "condition": {
                "ranges": {name: dict(bounds) for name, bounds in block.condition.ranges.items()},
                "wildcards": {name: list(patterns) for name, patterns in block.condition.wildcards.items()},
                "terms": dict(block.condition.terms),
            },
            "tests": [str(entry) for entry in block.entries],
        }
        for block in test_list.blocks
    ]
    yield yaml.StreamStartEvent()
    yield yaml.DocumentStartEvent()
    yield from events_of({"version": test_list.version, test_list.context: blocks})
    yield yaml.DocumentEndEvent()
    yield yaml.StreamEndEvent()
