"""What is known of a failure, out of a report as pytest serialises it. Plain data in, plain data out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from harness.records import BLOB, EXAMPLE, PICTURE, Picture


class Failure(msgspec.Struct, frozen=True):
    """What is known of a failure.

    Attributes:
        message: Its first line.
        text: All that pytest printed of it.
        example: The smallest failing example of a property, as Hypothesis prints it.
        replay: The command that runs the test on that example again.
        picture: The wrong mask, where it is one.
    """

    message: str
    text: str
    example: str | None
    replay: str
    picture: Picture | None


def failure_of(node_id: str, report: Mapping[str, Any], properties: Mapping[str, Any], command: Sequence[str]) -> Failure:
    """Puts together what one failed report says.

    Args:
        node_id: Of the test.
        report: Serialised; empty for a test that left none.
        properties: All that the reports on the test noted, by name.
        command: Options that choose the implementation.
    """
    text = text_of(report)
    crash = report.get("longrepr")
    message = text
    if isinstance(crash, Mapping) and crash.get("reprcrash"):
        message = str(crash["reprcrash"]["message"])
    return Failure(
        message=message.split("\n", 1)[0],
        text=text,
        example=properties.get(EXAMPLE),
        replay=replay(node_id, command, properties.get(BLOB)),
        picture=_picture(properties.get(PICTURE)),
    )


def replay(node_id: str, command: Sequence[str], blob: str | None) -> str:
    """The shell command that runs one test again, on one example of it where there is one."""
    example = [] if blob is None else ["--example", blob]
    return shlex.join(["python", "-m", "pytest", node_id, "-n0", *command, *example])


def text_of(report: Mapping[str, Any]) -> str:
    """What pytest prints of a failure, from its serialised form."""
    crash = report.get("longrepr")
    if not isinstance(crash, Mapping):
        return str(crash)
    lines = []
    for entry, _, _ in crash.get("chain") or [[crash.get("reprtraceback") or {}, None, None]]:
        for part in entry.get("reprentries", []):
            said = part["data"].get("lines", [])
            where = part["data"].get("reprfileloc")
            place = [f"{where['path']}:{where['lineno']}: {where['message']}"] if where else []
            # As pytest prints it: in the short style the place comes first.
            lines += [*place, *said] if part["data"].get("style") == "short" else [*said, *place]
    return "\n".join(lines) or str((crash.get("reprcrash") or {}).get("message", ""))


def _picture(text: Any) -> Picture | None:
    try:
        return None if text is None else msgspec.json.decode(text, type=Picture)
    except (msgspec.DecodeError, TypeError):
        return None  # a report without its picture is still one
