"""Foreign text in reports: ids, messages and reasons may hold anything, and no report may break or obey them."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from harness.verdict import Conformance

_UNPRINTABLE = re.compile(
    "[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # XML has no place for them, and a reader no use
    "|[\u202a-\u202e\u2066-\u2069]"  # turn the direction of what follows, so that it reads as something else
)
_ACTIVE_IN_MARKDOWN = re.compile(r"^-|[!-+.:-@\[-`{-~]")


def encodable(conformance: Conformance) -> Conformance:
    """The same, with lone surrogates spelled out: a file name or an output that is not UTF-8 brings them."""
    return msgspec.convert(_encodable(msgspec.to_builtins(conformance)), Conformance)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_encodable(key): _encodable(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_encodable(one) for one in value]
    return value


def printable(text: str) -> str:
    r"""The same, with control characters spelled out (``\x1b``) and ends of lines as ``\n``."""
    return _UNPRINTABLE.sub(lambda match: _escape(match[0]), text.replace("\r\n", "\n"))


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters, and how many are left out."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def inert_markdown(text: str) -> str:
    """One line of Markdown that reads as ``text`` and does nothing: no markup, no HTML, no link, no cell of a table.

    References to characters are never taken for markup. A comment before an ``@`` keeps GitHub from seeing an address.
    """
    line = " ".join(printable(text).split())
    inert = _ACTIVE_IN_MARKDOWN.sub(lambda match: f"&#{ord(match[0])};", line)
    return re.sub("(?<=.)&#64;", "<!-- -->&#64;", inert)  # at the start of a line a comment would be a block of HTML


def fence(text: str) -> str:
    """The fence of a Markdown block of code that ``text`` cannot close."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
