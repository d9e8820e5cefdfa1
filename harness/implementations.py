"""Finds what a user plugs in: ``MODULE:ATTRIBUTE``, or the short name of an entry point."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from harness.nearest import nearest


class ImplementationError(Exception):
    """What was named cannot be had; the message says why and what would do."""


def load_implementation(option: str, spec: str, group: str, builtin: Mapping[str, str], root: Path) -> object:
    """Imports the object that a command-line option names.

    Args:
        option: The option, for messages.
        spec: ``MODULE:ATTRIBUTE`` (dots in ATTRIBUTE are followed), or a short name.
        group: The entry-point group that registers short names.
        builtin: Short names that need no entry point, each with its ``MODULE:ATTRIBUTE``.
        root: A folder whose modules can be named too.

    Returns:
        The object.

    Raises:
        ImplementationError: It cannot be found or imported.
    """
    module_name, _, attribute = _resolve(option, spec, group, builtin).partition(":")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        found: object = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # an import runs the user's code: whatever it raises is their news
        why = f"{type(error).__name__}: {error}"
        raise ImplementationError(f"{option} {spec}: cannot import {module_name}: {why}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            hint = nearest(part, dir(found))
            raise ImplementationError(f"{option} {spec}: {module_name} has no attribute {attribute!r}{hint}")
        found = getattr(found, part)
    return found


def _resolve(option: str, spec: str, group: str, builtin: Mapping[str, str]) -> str:
    if ":" in spec:
        module_name, _, attribute = spec.partition(":")
        if not module_name or not attribute:
            raise ImplementationError(f"{option} {spec}: expected MODULE:ATTRIBUTE, for example my_engine.masks:build")
        return spec
    names = {**{point.name: point.value for point in metadata.entry_points(group=group)}, **builtin}
    if spec not in names:
        raise ImplementationError(
            f"{option} {spec}: no such short name, expected MODULE:ATTRIBUTE or one of {', '.join(sorted(names))}"
            f"{nearest(spec, names)}; of a module {spec!r} name the attribute: {spec.removesuffix('.py')}:build"
        )
    return names[spec]
