"""Findings: each failure that a search found, as a file of its own that outlives the run.

A finding is named by what it is about: the same smallest example under the same requirements and implementation is one
finding, whichever tests, machines and nights saw it. Each of these is a sighting.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.failures import failure_of
from harness.records import BLOB, DRAWN, Manifest, Picture

HEALED = "healed"
"""Folder, below that of the findings, of those that pass now."""

_ARGUMENT = re.compile(r"^    (\w+)=", re.MULTILINE)
_END = re.compile(r",?(\s+# or any other generated value)?\s*\Z")
_DATA = "data(...)"
"""How Hypothesis prints ``st.data()``."""
_DRAW = re.compile(r"^Draw \d+(?: \(.*?\))?: ", re.MULTILINE)


class FindingError(Exception):
    """A finding cannot be read, kept or used; the message names the file and what is wrong."""


class Sighting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One test that failed on the example, somewhere.

    Attributes:
        test: Its node id.
        blob: The example for ``--example``; None where the test draws none.
        run: Names the run.
        started: When the run was, UTC, ISO 8601.
        commit: Of the project.
        device: In words.
        machine: Properties of the machine.
        versions: Package -> version.
        seed: Of the search, as ``--hypothesis-seed`` was given; empty where it was not.
    """

    test: str
    blob: str | None
    run: str
    started: str
    commit: str
    device: str
    machine: dict[str, str | int]
    versions: dict[str, str]
    seed: str = ""


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure, shrunk.

    Attributes:
        id: Its name: a digest of requirements, implementations and example.
        requirements: That the tests check.
        implementations: What failed: option -> name.
        command: Options that choose it.
        message: First line of the failure.
        example: The smallest failing example, as Hypothesis prints it; None where the test draws none.
        drawn: Its drawn arguments, as code: name -> value; empty where they cannot be written as code.
        text: All that pytest printed.
        picture: The wrong mask, where it is one.
        sightings: Newest last, one a test.
        version: Of this format.
    """

    id: str
    requirements: list[str]
    implementations: dict[str, str]
    command: list[str]
    message: str
    example: str | None
    drawn: dict[str, str]
    text: str
    picture: Picture | None
    sightings: list[Sighting]
    version: int = 1

    @property
    def title(self) -> str:
        """In a line."""
        about = ", ".join(self.requirements) or "no requirement"
        return f"{self.id} ({about}; {', '.join(self.implementations.values())}): {self.message[:200]}"


def finding_of(manifest: Manifest, node_id: str, report: Mapping[str, Any], properties: Mapping[str, Any]) -> Finding:
    """The finding that a failed test is.

    Args:
        manifest: Of the run.
        node_id: Of the test.
        report: Serialised.
        properties: All that the report noted, by name.
    """
    failure = failure_of(node_id, report, properties, manifest.command)
    requirements = next((test.requirements for test in manifest.tests if test.id == node_id), [])
    names = str(properties.get(DRAWN, "")).split()
    drawn, behind = _drawn(failure.example or "", names)
    # Fixtures are no part of what a failure is about. Without an example the test itself is the case.
    about = [sorted(drawn.items()), behind] if drawn else failure.example or [node_id, failure.message]
    digest = hashlib.sha256(msgspec.json.encode([requirements, sorted(manifest.implementations.items()), about]))
    return Finding(
        id=digest.hexdigest()[:12],
        requirements=requirements,
        implementations=manifest.implementations,
        command=manifest.command,
        message=failure.message,
        example=failure.example,
        drawn=_code(drawn, behind, names),
        text=failure.text,
        picture=failure.picture,
        sightings=[
            Sighting(
                test=node_id,
                blob=properties.get(BLOB),
                run=manifest.run,
                started=manifest.started,
                commit=manifest.commit,
                device=manifest.device,
                machine=manifest.machine,
                versions=manifest.versions,
                seed=manifest.seed,
            )
        ],
    )


def keep(finding: Finding, folder: Path) -> Path:
    """Writes a finding, or adds its sightings to the file of the same one; one that had healed is back.

    Args:
        finding: To be kept.
        folder: Of the findings; made if need be. Several processes may write to it at a time.

    Returns:
        Its file.

    Raises:
        FindingError: The folder cannot be written to, or the file that is there is no finding.
    """
    path = folder / f"{finding.id}.json"
    try:
        with _locked(folder):
            known = read_finding(path) if path.exists() else None
            old = () if known is None else known.sightings
            tests = {one.test for one in finding.sightings}
            sightings = [*(one for one in old if one.test not in tests), *finding.sightings]
            _write(path, msgspec.structs.replace(finding, sightings=sightings))
            (folder / HEALED / path.name).unlink(missing_ok=True)
    except OSError as error:
        raise FindingError(f"{folder}: cannot be written to: {error.strerror or error}; name another folder") from error
    return path


def heal(path: Path) -> Path:
    """Moves a finding that passes now.

    Args:
        path: Its file.

    Returns:
        Where it is.

    Raises:
        FindingError: It cannot be moved.
    """
    try:
        with _locked(path.parent):
            healed = path.parent / HEALED / path.name
            healed.parent.mkdir(exist_ok=True)
            return path.replace(healed)
    except OSError as error:
        raise FindingError(f"{path}: cannot be moved to {HEALED}/: {error.strerror or error}") from error


def read_finding(path: Path) -> Finding:
    """Reads a file.

    Args:
        path: Of the finding.

    Raises:
        FindingError: There is none, or it is cut off, or is something else.
    """
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Finding)
    except OSError as error:
        raise FindingError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FindingError(f"{path}: is no finding, or a part of one: {error}; delete it, or fetch it again") from error
    if found.version != 1 or not found.sightings:
        raise FindingError(f"{path}: version {found.version} with {len(found.sightings)} sightings, expected 1 with some")
    return found


def find(folder: Path) -> list[Path]:
    """The files of all findings that have not healed.

    Args:
        folder: Of the findings; it may be missing.
    """
    return sorted(folder.glob("*.json"))


def as_code(finding: Finding) -> str:
    """The decorator that makes a finding a permanent example of its tests.

    Args:
        finding: One of a property whose arguments are values that print as code.

    Returns:
        Lines of Python, with a comment on where they go.

    Raises:
        FindingError: It cannot be written as code; says how to pin it instead.
    """
    places = sorted({one.test.split("[", 1)[0] for one in finding.sightings})
    if not finding.drawn:
        newest = finding.sightings[-1]
        pin = f"pin {newest.test} to --example {newest.blob}"
        how = pin if newest.blob else f"{newest.test} draws nothing, and is permanent as it stands"
        raise FindingError(f"{finding.id}: its arguments do not print as code; {how}")
    arguments = ", ".join(f"{name}={value}" for name, value in finding.drawn.items())
    where = "\n".join(f"# above {place.rpartition('::')[2]} in {place.partition('::')[0]}" for place in places)
    named = " ".join(finding.command) or ", ".join(finding.implementations.values())
    about = f"# finding {finding.id} of {finding.sightings[0].started[:10]}: {named}"
    drawn = "# from harness.properties import Drawn\n" * ("Drawn(" in arguments)
    return f"{where}\n{drawn}{about}\n@example({arguments})\n"


def _drawn(example: str, names: Sequence[str]) -> tuple[dict[str, str], str]:
    """The arguments of an example that were drawn, and what is printed behind it: draws of ``data``, steps."""
    body, _, behind = example.partition("\n)")
    starts = list(_ARGUMENT.finditer(body))
    ends = [*(match.start() for match in starts), len(body)]
    values = {m[1]: _END.sub("", body[m.end() : end]) for m, end in zip(starts, ends[1:], strict=True)}
    return {name: values[name] for name in names if name in values}, behind.strip()


def _code(drawn: Mapping[str, str], behind: str, names: Sequence[str]) -> dict[str, str]:
    draws = [text.strip() for text in _DRAW.split(behind)[1:]]
    data = f"Drawn({', '.join(draws)})"
    code = {name: data if value == _DATA else value for name, value in drawn.items()}
    whole = len(drawn) == len(names) and [*drawn.values()].count(_DATA) == bool(draws)
    return code if whole and all(map(_is_code, [*code.values(), *draws])) else {}


def _is_code(value: str) -> bool:
    if "..." in value:  # cut off
        return False
    try:
        compile(value, "example", "eval")
    except (SyntaxError, ValueError):
        return False
    return True


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write(path: Path, finding: Finding) -> None:
    # Whoever reads meanwhile, or is stopped, finds the old file or the new one.
    text = msgspec.json.format(msgspec.json.encode(finding), indent=1)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        file.write(text + b"\n")
    os.replace(file.name, path)
