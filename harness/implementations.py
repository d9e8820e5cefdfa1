"""Finds what a user plugs in: ``MODULE:ATTRIBUTE``, or the short name of an entry point."""

from __future__ import annotations

import importlib
import sys
import tomllib
import traceback
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from harness.nearest import nearest

OPTIONS = {"masks": "--mask-impl", "caches": "--cache-impl", "stores": "--store-impl"}
"""Option that chooses the implementation, by kind."""


class ImplementationError(Exception):
    """What was named cannot be had; the message says why and what would do."""


class NotAvailableError(ImplementationError):
    """What was named needs what is not here: an engine that is not installed, or another version of it."""


def short_names(kind: str, root: Path) -> dict[str, str]:
    """Short names of implementations: entry points of what is installed, and those that a project itself declares.

    Args:
        kind: Of :data:`OPTIONS`; the entry-point group is ``mm_conformance.KIND``.
        root: The project's folder; its pyproject.toml counts whether or not the project is installed.

    Returns:
        Name -> ``MODULE:ATTRIBUTE``, by name.
    """
    group = f"mm_conformance.{kind}"
    names = {point.name: point.value for point in metadata.entry_points(group=group)}
    pyproject = root / "pyproject.toml"
    if pyproject.exists():
        project = tomllib.loads(pyproject.read_text(encoding="utf-8")).get("project", {})
        names |= project.get("entry-points", {}).get(group, {})
    return dict(sorted(names.items()))


def load_implementation(
    option: str,
    spec: str,
    names: Mapping[str, str],
    folder: Path,
    unavailable: type[Exception] = NotAvailableError,
) -> object:
    """Imports the object that a command-line option names.

    Args:
        option: The option, for messages.
        spec: ``MODULE:ATTRIBUTE`` (dots in ATTRIBUTE are followed), or a short name.
        names: Short names, as :func:`short_names` gives them.
        folder: A folder whose modules can be named too.
        unavailable: What a module raises that needs what is not here.

    Returns:
        The object.

    Raises:
        NotAvailableError: It needs what is not here.
        ImplementationError: It cannot be found or imported.
    """
    module_name, _, attribute = _resolve(option, spec, names).partition(":")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found: object = importlib.import_module(module_name)
    except unavailable as error:
        raise NotAvailableError(f"{option} {spec}: not available: {error}") from error
    except (Exception, SystemExit) as error:  # an import runs the user's code: whatever it raises is their news
        why = f"{type(error).__name__}: {error}{_where(error)}"
        raise ImplementationError(f"{option} {spec}: cannot import {module_name}: {why}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            hint = nearest(part, dir(found))
            raise ImplementationError(f"{option} {spec}: {module_name} has no attribute {attribute!r}{hint}")
        found = getattr(found, part)
    return found


def _where(error: BaseException) -> str:
    """The line of the imported code that raised; empty where there is none, as of a module that is not found."""
    _, _, *imported = traceback.extract_tb(error.__traceback__)  # without this module's and importlib's
    lines = [f" ({frame.filename}:{frame.lineno})" for frame in imported if not frame.filename.startswith("<frozen ")]
    return lines[-1] if lines else ""


def _resolve(option: str, spec: str, names: Mapping[str, str]) -> str:
    if ":" in spec:
        module_name, _, attribute = spec.partition(":")
        if not module_name or not attribute:
            raise ImplementationError(f"{option} {spec}: expected MODULE:ATTRIBUTE, for example my_engine.masks:build")
        return spec
    if spec not in names:
        raise ImplementationError(
            f"{option} {spec}: no such short name, expected MODULE:ATTRIBUTE or one of {', '.join(names)}"
            f"{nearest(spec, names)}; of a module {spec!r} name the attribute: {spec.removesuffix('.py')}:build"
        )
    return names[spec]
