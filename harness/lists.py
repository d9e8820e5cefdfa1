"""Test lists: which tests run in which CI stage, in the grammar of TensorRT-LLM's test-db.

Plain data in, plain data out; nothing here knows pytest.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import yaml

from harness.machine import Property


class ListError(Exception):
    """A list is not what it should be; the message names file and line."""


@dataclass(frozen=True)
class Entry:
    """One line of a list.

    Attributes:
        target: A folder, a file or a node id, with or without its parameters, relative to the project's root.
        path: The list it stands in.
        line: The line it stands on.
    """

    target: str
    path: Path
    line: int

    @property
    def file(self) -> str:
        """The file or folder of the target."""
        return self.target.split("::", 1)[0]

    def selects(self, node_id: str) -> bool:
        """Whether a collected test is meant by this entry."""
        if node_id == self.target:
            return True
        if "::" in self.target:
            # A function or class without parameters stands for all of its tests.
            return node_id.startswith((self.target + "[", self.target + "::"))
        return node_id.startswith((self.target.rstrip("/") + "/", self.target + "::"))


@dataclass(frozen=True)
class Condition:
    """On which machine a block is meant to run."""

    terms: Mapping[str, Property] = field(default_factory=dict)
    ranges: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    wildcards: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def unmet(self, machine: Mapping[str, Property]) -> list[str]:
        """What a machine lacks, a phrase each; empty if the condition describes it.

        A term that is no property of a machine (``stage``, ``backend``) describes the run and counts as met.
        """
        reasons = [
            f"{name} is {machine[name]}, not {value}"
            for name, value in self.terms.items()
            if name in machine and str(machine[name]) != str(value)
        ]
        for name, bounds in self.ranges.items():
            value = machine.get(name)
            low, high = bounds.get("gte"), bounds.get("lte")
            if not isinstance(value, int):
                reasons.append(f"{name} is {'unknown' if value is None else value}, not a number")
            elif (low is not None and value < low) or (high is not None and value > high):
                wanted = " and ".join(f"{word} {n}" for word, n in (("at least", low), ("at most", high)) if n is not None)
                reasons.append(f"{name} is {value}, not {wanted}")
        for name, patterns in self.wildcards.items():
            value = machine.get(name)
            if value is None or not any(fnmatch.fnmatch(str(value).lower(), p.lower()) for p in patterns):
                reasons.append(f"{name} is {'absent' if value is None else value}, not {' or '.join(patterns)}")
        return reasons


@dataclass(frozen=True)
class Block:
    """Tests that run on machines of one condition."""

    condition: Condition
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class TestList:
    """One file of ``test_lists/``: a CI stage."""

    __test__ = False  # not a test class, whatever its name begins with

    path: Path
    blocks: tuple[Block, ...]

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
        return [] if any(not reason for reason in reasons) else reasons[0]


def read_lists(folder: Path) -> dict[str, TestList]:
    """Reads every list of a folder.

    Returns:
        The lists by name, in alphabetical order.

    Raises:
        ListError: A file is not a list.
    """
    return {path.stem: read_list(path) for path in sorted(folder.glob("*.yml"))}


def read_list(path: Path) -> TestList:
    """Reads one list.

    Raises:
        ListError: It is not YAML, its context is not the stem of its file, a key is unknown, or it has no entry.
    """
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise ListError(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise ListError(f"{path}: not YAML: {error}") from error
    reader = _Reader(path)
    keys = reader.mapping(root, "a list")
    reader.only(keys, {"version", path.stem}, f"expected version and the context {path.stem!r}, as the file is named")
    if path.stem not in keys:
        raise ListError(f"{path}:1: no context {path.stem!r}; name it as the file is named")
    blocks = tuple(reader.block(node) for node in reader.sequence(keys[path.stem], "the blocks"))
    if not any(block.entries for block in blocks):
        raise ListError(f"{path}:{reader.line(keys[path.stem])}: the list is empty; delete the file, or add tests")
    return TestList(path, blocks)


@dataclass(frozen=True)
class _Reader:
    path: Path

    def line(self, node: yaml.Node) -> int:
        return int(node.start_mark.line) + 1

    def fail(self, node: yaml.Node | None, message: str) -> ListError:
        return ListError(f"{self.path}:{1 if node is None else self.line(node)}: {message}")

    def mapping(self, node: yaml.Node | None, what: str) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self.fail(node, f"expected {what} as a mapping")
        keys: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = self.text(key)
            if name in keys:
                raise self.fail(key, f"{name!r} stands here a second time")
            keys[name] = value
        return keys

    def sequence(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self.fail(node, f"expected {what} as a list")
        return list(node.value)

    def text(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self.fail(node, "expected a word")
        return str(node.value)

    def number(self, node: yaml.Node) -> int:
        text = self.text(node)
        try:
            return int(text)
        except ValueError:
            raise self.fail(node, f"{text!r} is not a whole number") from None

    def only(self, keys: Mapping[str, yaml.Node], known: set[str], hint: str) -> None:
        for name, node in keys.items():
            if name not in known:
                raise self.fail(node, f"unknown key {name!r}; {hint}")

    def block(self, node: yaml.Node) -> Block:
        keys = self.mapping(node, "a block")
        self.only(keys, {"condition", "tests"}, "a block has condition and tests")
        condition = self.condition(keys["condition"]) if "condition" in keys else Condition()
        tests = self.sequence(keys["tests"], "tests") if "tests" in keys else []
        return Block(condition, tuple(self.entry(test) for test in tests))

    def entry(self, node: yaml.Node) -> Entry:
        text = self.text(node)
        for marker in (" TIMEOUT", " ISOLATION", " SKIP", " -k ", " -m "):
            if marker in text.split("[", 1)[0] or marker in text.rsplit("]", 1)[-1]:
                raise self.fail(node, f"{text!r}: {marker.strip()} is not supported in a list yet; remove it")
        return Entry(text.strip(), self.path, self.line(node))

    def condition(self, node: yaml.Node) -> Condition:
        keys = self.mapping(node, "a condition")
        self.only(keys, {"terms", "ranges", "wildcards"}, "a condition has terms, ranges and wildcards")
        terms = self.mapping(keys["terms"], "terms") if "terms" in keys else {}
        ranges = self.mapping(keys["ranges"], "ranges") if "ranges" in keys else {}
        wildcards = self.mapping(keys["wildcards"], "wildcards") if "wildcards" in keys else {}
        return Condition(
            {name: self.text(value) for name, value in terms.items()},
            {name: self.range(value) for name, value in ranges.items()},
            {name: self.patterns(value) for name, value in wildcards.items()},
        )

    def range(self, node: yaml.Node) -> dict[str, int]:
        keys = self.mapping(node, "a range")
        self.only(keys, {"gte", "lte"}, "a range has gte and lte")
        return {name: self.number(value) for name, value in keys.items()}

    def patterns(self, node: yaml.Node) -> list[str]:
        if isinstance(node, yaml.ScalarNode):
            return [self.text(node)]
        return [self.text(pattern) for pattern in self.sequence(node, "patterns")]


def unmatched(entries: Iterable[Entry], node_ids: Sequence[str]) -> list[str]:
    """Errors for the entries that select nothing, each with file, line and the nearest test id."""
    errors = []
    for entry in entries:
        if not any(entry.selects(node_id) for node_id in node_ids):
            errors.append(f"{entry.path}:{entry.line}: {entry.target!r} matches no test{nearest(entry.target, node_ids)}")
    return errors


def nearest(target: str, known: Iterable[str]) -> str:
    """``; did you mean ...?`` with the most similar known id, or nothing."""
    candidates = {
        name
        for node_id in known
        for name in (node_id, node_id.split("[", 1)[0], node_id.split("::", 1)[0], node_id.rsplit("/", 1)[0])
    }
    close = get_close_matches(target, sorted(candidates), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
