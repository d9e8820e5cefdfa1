"""What a run writes while it goes: ``manifest.json`` at collection, ``events.jsonl`` test by test.

Both survive a killed process; every report is rendered from them afterwards. Plain data in, plain data out.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

MANIFEST = "manifest.json"
EVENTS = "events.jsonl"

EXAMPLES = "conformance:examples"
"""User property of a report: how many examples Hypothesis ran."""
EXAMPLE = "conformance:example"
"""User property: the smallest failing example, as Hypothesis prints it."""
DRAWN = "conformance:drawn"
"""User property: names of the arguments of the test that are drawn, with blanks between."""
BLOB = "conformance:blob"
"""User property: the same for ``--example``."""
PICTURE = "conformance:picture"
"""User property: the failure as a :class:`Picture`, in JSON."""
WAIVED = "conformance:waived"
"""User property of a waived test that ran under ``--run-waived``: what came of it."""


class RecordError(Exception):
    """A run's folder cannot be read; the message names the file and what is wrong."""


class Shard(msgspec.Struct, frozen=True):
    """One of several runs that share a list.

    Attributes:
        group: From 1 to ``splits``.
        splits: How many.
    """

    group: int
    splits: int


class ListRecord(msgspec.Struct, frozen=True):
    """A list that ran.

    Attributes:
        name: The stage.
        path: Its file, from the root.
        unmet: What this machine lacks of what the list asks for; empty if nothing.
    """

    name: str
    path: str
    unmet: list[str]


class TestRecord(msgspec.Struct, frozen=True):
    """A test that was selected.

    Attributes:
        id: Its node id.
        requirements: The ids of the requirements that it checks.
        waiver: ``waives.txt:3: the line`` of a SKIP or XFAIL that covers it.
        marker: ``SKIP`` or ``XFAIL``, of that line.
        limit: Seconds that it may take; None without a limit.
        isolated: Whether it runs in a process of its own.
    """

    __test__ = False

    id: str
    requirements: list[str]
    waiver: str | None = None
    marker: str | None = None
    limit: float | None = None
    isolated: bool = False


class Manifest(msgspec.Struct, frozen=True):
    """What a run set out to do, and for whom.

    Attributes:
        run: Names the run.
        started: UTC, ISO 8601.
        lists: The lists that ``-m`` names.
        conditions: ``report``, ``enforce`` or ``ignore``.
        implementations: What is under test: option -> name.
        device: In words.
        machine: Properties of the machine.
        versions: Package -> version.
        commit: Of the project, with ``+`` behind it where files have changed; empty outside of git.
        registered: A digest of all lists and waivers.
        command: The command line after ``pytest``, without what chooses tests: the replay of one test adds its id.
        requirements: Requirement -> its sentence, as far as the project hands them to the harness.
        narrowed: Why this is not the whole of its lists, a phrase each; empty if it is.
        universe: Ids that the lists select, over all shards, in the order of collection.
        tests: What this run, or shard, is to run.
        shard: Which shard it is; None for a whole run.
        about: What the implementations say of themselves: option -> text.
        seed: Of the search, as ``--hypothesis-seed`` was given; empty where it was not.
        version: Of this format.
    """

    run: str
    started: str
    lists: list[ListRecord]
    conditions: str
    implementations: dict[str, str]
    device: str
    machine: dict[str, str | int]
    versions: dict[str, str]
    commit: str
    registered: str
    command: list[str]
    requirements: dict[str, str]
    narrowed: list[str]
    universe: list[str]
    tests: list[TestRecord]
    shard: Shard | None = None
    about: dict[str, str] = {}  # msgspec copies it
    seed: str = ""
    version: int = 1


class Picture(msgspec.Struct, frozen=True):
    """A wrong mask, row by row of text: ``#`` visible, ``.`` hidden, ``?`` neither.

    Attributes:
        title: The rule in words.
        expected: Rows of the mask as it must be.
        got: Rows of the mask as it is.
        blobs: For each key a letter for its blob, ``.`` for none.
        prefix: Keys that were cached.
        first_query: Position of the first row; a large mask is cut to where it is wrong.
        first_key: Position of the first column.
        tile: Rows and columns of a tile of the usual kernels: edges are drawn at its multiples.
    """

    title: str
    expected: list[str]
    got: list[str]
    blobs: str
    prefix: int
    first_query: int
    first_key: int
    tile: int


def write_once(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all; one that is there already is left alone.

    Args:
        path: The file; its folder must be there.
        data: The bytes.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)  # mkstemp keeps it from everyone else
        os.link(name, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(name)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes ``manifest.json``, once: every worker of a run has the same to say."""
    write_once(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))


def read_manifest(folder: Path) -> Manifest:
    """Reads ``manifest.json`` of a run.

    Raises:
        RecordError: It is not there, or is not one.
    """
    path = folder / MANIFEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}; expected the folder of a run that got as far as its tests") from error
    except msgspec.DecodeError as error:  # a ValidationError is one
        raise RecordError(f"{path}: not a manifest: {error}") from error


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """The reports of a run, in the order in which they came.

    A last line that is torn, as a killed process leaves it, is passed over.

    Raises:
        RecordError: The file is not there, or a line before the last is not JSON.
    """
    path = folder / EVENTS
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}; expected what pytest-reportlog wrote") from error
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            event = json.loads(line)  # the library that wrote it: msgspec refuses a half of a surrogate pair
        except ValueError as error:
            if number == len(lines):
                return
            raise RecordError(f"{path}:{number}: not JSON: {error}") from error
        if not isinstance(event, dict):
            raise RecordError(f"{path}:{number}: expected an object, found {type(event).__name__}")
        yield event
