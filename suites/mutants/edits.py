"""Mutants as a table of textual edits: a package of impl/ is copied with one operator, constant or bound changed."""

from __future__ import annotations

import importlib
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

IMPL = Path(__file__).parents[2] / "impl"


@dataclass(frozen=True)
class Edit:
    """One change.

    Attributes:
        file: File of the package.
        old: Text that stands there exactly once.
        new: What takes its place.
        requirement: The requirement that is broken.
        fault: What is wrong, in a few words.
    """

    file: str
    old: str
    new: str
    requirement: str
    fault: str


class StaleEditError(Exception):
    """An edit no longer applies to the source; the message names it."""


def applied(name: str, file: str, text: str, old: str, new: str) -> str:
    """The text of a file with one edit.

    Args:
        name: Name of the mutant.
        file: Name of the file.
        text: What stands in it.
        old: Text that stands there exactly once.
        new: What takes its place.

    Raises:
        StaleEditError: The text does not stand in the source exactly once.
    """
    found = text.count(old)
    if found != 1:
        raise StaleEditError(f"{name}: {old!r} stands {found} times in {file}, expected once")
    return text.replace(old, new)


def load(package: str, name: str, edit: Edit, folder: Path, module: str = "") -> ModuleType:
    """Copies ``impl.<package>`` into ``folder`` with one edit, and imports the copy.

    Args:
        package: Package of ``impl/``.
        name: Name of the mutant.
        edit: The change.
        folder: Where the copy goes; must outlive its use.
        module: Module of the package to return; default the package.

    Raises:
        StaleEditError: The text does not stand in the source exactly once.
    """
    copy = f"mutant_{package}_{name.replace('-', '_')}"
    shutil.copytree(IMPL / package, folder / copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder / copy).glob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name == edit.file:
            text = applied(name, edit.file, text, edit.old, edit.new)
        path.write_text(text.replace(f"impl.{package}", copy), encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"{copy}.{module}" if module else copy)
    finally:
        sys.path.remove(str(folder))
