"""The JSON Schema of ``conformance.json``, published as ``docs/schema/conformance.schema.json``.

``python -c "from harness.render.schema import schema_text; print(schema_text(), end='')"`` prints it.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from harness.verdict import Conformance

NAME = "conformance.schema.json"
_FIELD = re.compile(r"^ {4}(\w+): (.+(?:\n {5,}.+)*)", flags=re.MULTILINE)


def conformance_schema() -> dict[str, Any]:
    """The schema; what the docstrings say of an attribute is its description."""
    schema = msgspec.json.schema(Conformance)
    for definition in schema["$defs"].values():
        summary, _, attributes = definition.get("description", "").partition("\n\nAttributes:\n")
        if summary:
            definition["description"] = _plain(summary)
        for name, words in _FIELD.findall(attributes):
            definition["properties"][name]["description"] = _plain(words)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": NAME,
        "title": "Conformance report",
        **schema,
    }


def _plain(docstring: str) -> str:
    """Without the markup of reStructuredText, on one line."""
    return " ".join(re.sub(r":\w+:`([^`]+)`", r"\1", docstring).replace("``", "").split())


def schema_text() -> str:
    """The published file."""
    return msgspec.json.format(msgspec.json.encode(conformance_schema()), indent=2).decode() + "\n"
