"""Loads one module of an engine without the rest of it: the engine's device libraries need not be there.

The module is imported from where the engine is installed. Of the engine's own package everything else that it imports,
and whatever is named missing, is a stand-in: a module whose every attribute is an empty class. What the module itself
defines is real.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


def _attribute(owner: object, name: str) -> Any:
    """A stand-in of its own for each name, the same one each time."""
    if name.startswith("__"):
        raise AttributeError(name)
    made = StandIn.named(name)
    setattr(owner, name, made)
    return made


class _Anything(type):
    """The type of a class whose every attribute is another such class."""

    __getattr__ = _attribute

    def __getitem__(cls, key: object) -> Any:
        return cls


class StandIn(metaclass=_Anything):
    """Stands for whatever an engine imports: a base class, a function, a constant that is false, a decorator."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __call__(self, decorated: Any = None, *args: object, **kwargs: object) -> Any:
        """As a decorator made by a call would."""
        return decorated

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __bool__(self) -> bool:
        return False

    @staticmethod
    def named(name: str) -> Any:
        """A class of its own, so that ``isinstance`` tells two of them apart."""
        return _Anything(name, (StandIn,), {})


class _StandInModule(ModuleType):
    __getattr__ = _attribute


class _Finder(MetaPathFinder, Loader):
    def __init__(self, real: Collection[str], missing: Collection[str], given: Mapping[str, Mapping[str, object]]) -> None:
        self._real = frozenset(real)
        self._packages = {name.rsplit(".", depth)[0] for name in real for depth in range(1, name.count(".") + 1)}
        self._tops = {name.partition(".")[0] for name in (*real, *missing)}
        self._given = given

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in self._tops:
            return None
        if name in self._real:
            return PathFinder.find_spec(name, path)
        spec = ModuleSpec(name, self, is_package=True)
        if name in self._packages:  # its folder, without running its __init__
            found = PathFinder.find_spec(name, path)
            spec.submodule_search_locations = list(found.submodule_search_locations or []) if found else []
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(self._given.get(module.__name__, {}))


def load(
    name: str,
    *,
    real: Collection[str] = (),
    missing: Collection[str] = (),
    given: Mapping[str, Mapping[str, object]] | None = None,
) -> Any:
    """Imports one module of an engine.

    Args:
        name: The module, for example ``vllm.v1.attention.backends.utils``.
        real: Other modules of the engine that it needs, imported as they are.
        missing: Top-level packages of others that need not be installed.
        given: Attributes of stand-in modules that must be something in particular.

    Returns:
        The module. It is no longer in ``sys.modules``: a later import of the engine gets the engine itself.

    Raises:
        ImportError: The engine has no such module, or it imports what is neither installed nor named missing.
    """
    finder = _Finder({name, *real}, missing, given or {})
    tops = {top for top in finder._tops if top in missing or top == name.partition(".")[0]}

    def ours() -> dict[str, ModuleType]:
        return {key: module for key, module in sys.modules.items() if key.partition(".")[0] in tops}

    before = ours()
    for key in before:
        del sys.modules[key]
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(name)
    finally:
        sys.meta_path.remove(finder)
        for key in ours():
            del sys.modules[key]
        sys.modules.update(before)
