"""YAML as nodes that know their lines, and plain data as YAML. What a list has no use for is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from yaml.reader import Reader

from harness.entries import ListError


def read_text(path: Path) -> str:
    """Reads a file of UTF-8.

    Raises:
        ListError: It cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ListError(path, 1, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        byte = error.object[error.start]
        raise ListError(path, line, f"cannot be read: the byte 0x{byte:02x} is not UTF-8; save the file as UTF-8") from error


@dataclass
class Node:
    """A node of YAML; the children of a mapping are its keys and values in turn."""

    kind: str
    line: int
    text: str = ""
    plain: bool = True
    children: list[Node] = field(default_factory=list)

    @property
    def is_null(self) -> bool:
        """Whether nothing stands there."""
        return self.kind == "scalar" and self.plain and self.text in ("", "~", "null", "Null", "NULL")


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KINDS: dict[type[yaml.Event], str] = {
    yaml.ScalarEvent: "scalar",
    yaml.SequenceStartEvent: "sequence",
    yaml.MappingStartEvent: "mapping",
}
_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")}
_DEPTH = 16
"""Levels of a document; a list has seven."""


def compose(path: Path, text: str) -> Node:
    """Builds the nodes of the one document.

    From events, since nodes of PyYAML do not tell of anchors, and its composer calls itself for every level.
    """
    if odd := Reader.NON_PRINTABLE.search(text):
        line = 1 + text.count("\n", 0, odd.start())
        raise ListError(path, line, f"not YAML: the character {odd[0]!r} may not stand in a file; delete it")
    root = Node("scalar", 1)  # an empty file is null
    parents: list[Node] = []
    documents, line = 0, 1
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            line = _line(event)
            documents += isinstance(event, yaml.DocumentStartEvent)
            _refuse(path, event, documents, len(parents))
            if isinstance(event, yaml.CollectionEndEvent):
                parents.pop()
            elif type(event) in _KINDS:
                node = Node(_KINDS[type(event)], line)
                if isinstance(event, yaml.ScalarEvent):
                    node.text, node.plain = event.value, event.implicit[0]
                if parents:
                    parents[-1].children.append(node)
                else:
                    root = node
                if node.kind != "scalar":
                    parents.append(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(filter(None, (error.context, error.problem)))
        raise ListError(path, mark.line + 1 if mark else line, f"not YAML: {problem}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # an escape that is no character is a ValueError
        raise ListError(path, line, f"not YAML: {' '.join(str(error).split())}") from error
    return root


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _refuse(path: Path, event: yaml.Event, documents: int, depth: int) -> None:
    """Refuses what a list has no use for, and what would make a small file large."""
    line = _line(event)
    if documents > 1:
        raise ListError(path, line, "a second YAML document; expected one a file; give it a file of its own")
    if anchor := getattr(event, "anchor", None):
        raise ListError(path, line, f"an anchor or alias {anchor!r}; expected plain values; write the value out")
    if (tag := getattr(event, "tag", None)) is not None and tag not in _TAGS:
        raise ListError(path, line, f"a tag {tag!r}; expected plain values; delete it")
    if depth > _DEPTH:
        raise ListError(path, line, f"more than {_DEPTH} levels deep; expected a context, blocks, and tests in them")


def events_of(value: object) -> Iterator[yaml.Event]:
    """The events of plain data, whose scalars stand without quotes wherever they can: types are not YAML's business."""
    if isinstance(value, Mapping):
        yield yaml.MappingStartEvent(None, None, True, flow_style=False)
        for key, item in value.items():
            yield from events_of(key)
            yield from events_of(item)
        yield yaml.MappingEndEvent()
    elif isinstance(value, list):
        yield yaml.SequenceStartEvent(None, None, True, flow_style=False)
        for item in value:
            yield from events_of(item)
        yield yaml.SequenceEndEvent()
    else:
        # PyYAML breaks some odd line ends unless they are escaped.
        yield yaml.ScalarEvent(None, None, (True, True), str(value), style=None if str(value).isprintable() else '"')
