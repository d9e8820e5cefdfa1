"""The two files of a run: what is written reads back, once and whole, and what is none is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.records import (
    EVENTS,
    MANIFEST,
    ListRecord,
    Manifest,
    RecordError,
    Shard,
    TestRecord,
    read_events,
    read_manifest,
    write_manifest,
    write_once,
)


def _manifest(**changes: Any) -> Manifest:
    """A manifest in which no field has its default."""
    fields: dict[str, Any] = {
        "run": "run",
        "started": "2026-12-01T00:00:00+00:00",
        "lists": [ListRecord("l0_x", "test_lists/l0_x.yml", ["no gpu"])],
        "conditions": "report",
        "implementations": {"--mask-impl": "engine:build"},
        "device": "cpu",
        "machine": {"cpu": "x86_64", "cpu_count": 2},
        "versions": {"torch": "2.13.0"},
        "commit": "0123+",
        "registered": "4567",
        "command": ["--mask-impl", "engine:build"],
        "requirements": {"R-1": "It holds: \u2264 1."},
        "narrowed": ["-k was given"],
        "universe": ["a", "b"],
        "tests": [TestRecord("a", ["R-1"], "waives.txt:3: a XFAIL", "XFAIL", 1.5, True)],
        "shard": Shard(1, 2),
        "about": {"--mask-impl": "mine"},
    }
    return Manifest(**{**fields, **changes})


def test_a_manifest_reads_back_and_can_be_read_by_people_and_by_others(tmp_path: Path) -> None:
    write_manifest(tmp_path, _manifest())
    assert read_manifest(tmp_path) == _manifest()
    (path,) = tmp_path.iterdir()
    assert path.name == MANIFEST
    assert path.stat().st_mode & 0o777 == 0o644
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["{", ' "run": "run",', ' "started": "2026-12-01T00:00:00+00:00",']
    assert json.loads("".join(lines))["requirements"] == {"R-1": "It holds: \u2264 1."}


def test_a_manifest_is_written_once(tmp_path: Path) -> None:
    """By whichever worker comes first: all have the same to say."""
    write_manifest(tmp_path, _manifest())
    write_manifest(tmp_path, _manifest(run="another"))
    assert read_manifest(tmp_path).run == "run"
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]


def _full(*_: object) -> None:
    raise OSError("no space left")


def test_what_cannot_be_written_whole_is_not_there_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", _full)
    with pytest.raises(OSError, match="no space left"):
        write_once(tmp_path / "file", b"data")
    assert list(tmp_path.iterdir()) == []


def test_until_it_is_whole_it_lies_beside_its_place_under_a_hidden_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder itself: a link does not cross from one file system to another."""
    seen: list[tuple[Path, bytes]] = []
    link = os.link

    def watched(source: str, target: Path) -> None:
        seen.append((Path(source), Path(source).read_bytes()))
        link(source, target)

    monkeypatch.setattr(os, "link", watched)
    write_once(tmp_path / "file", b"data")
    ((source, data),) = seen
    assert (source.parent, data) == (tmp_path, b"data")
    assert source.name.startswith(".file.")
    assert (tmp_path / "file").read_bytes() == b"data"


def test_a_folder_without_records_is_refused_by_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(RecordError) as error:
        read_manifest(tmp_path)
    assert str(error.value) == (
        f"{tmp_path / MANIFEST}: No such file or directory; expected the folder of a run that got as far as its tests"
    )
    with pytest.raises(RecordError) as error:
        list(read_events(tmp_path))
    assert str(error.value) == f"{tmp_path / EVENTS}: No such file or directory; expected what pytest-reportlog wrote"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"run": 3}', "\udcff"])
def test_what_is_no_manifest_is_refused_with_what_is_wrong(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RecordError, match=rf"{MANIFEST}: not a manifest: \S"):
        read_manifest(tmp_path)


def test_reports_are_read_line_by_line_in_their_order(tmp_path: Path) -> None:
    (tmp_path / EVENTS).write_bytes(b'{"n": 1}\n\n{"n": "\\udc80"}\n')
    assert list(read_events(tmp_path)) == [{"n": 1}, {"n": "\udc80"}]


@pytest.mark.parametrize(
    ("line", "said"),
    [("{", "not JSON: Expecting property name"), ("3", "expected an object, found int"), ("[]", "an object, found list")],
)
@pytest.mark.parametrize("before", [0, 2])
def test_a_line_that_is_no_report_is_refused_with_its_number(tmp_path: Path, line: str, said: str, before: int) -> None:
    (tmp_path / EVENTS).write_text("{}\n" * before + line + "\n{}\n", encoding="utf-8")
    with pytest.raises(RecordError, match=rf"{EVENTS}:{before + 1}: .*{said}"):
        list(read_events(tmp_path))


OBJECTS = st.dictionaries(st.text(), st.integers(), max_size=2)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(whole=st.lists(OBJECTS, max_size=3), last=OBJECTS, data=st.data())
def test_reports_before_a_torn_end_are_read(
    tmp_path: Path, whole: list[dict[str, int]], last: object, data: st.DataObject
) -> None:
    """What a killed process leaves: lines, and a piece of one."""
    torn = json.dumps(last).encode()[: data.draw(st.integers(0, len(json.dumps(last)) - 1))]
    (tmp_path / EVENTS).write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in whole) + torn)
    assert list(read_events(tmp_path)) == whole


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=60))
def test_what_are_no_reports_is_refused_with_its_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / EVENTS).write_bytes(data + b"\n{}\n")
    if data.strip():
        with pytest.raises(RecordError, match=rf"{EVENTS}:\d+: "):
            list(read_events(tmp_path))
