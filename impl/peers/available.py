"""Whether an engine is there, in a version that its adapter can call."""

from __future__ import annotations

from importlib import metadata

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from reference.contracts import EngineNotAvailableError


def require(distribution: str, specifier: str = "", *, pip: str = "") -> Version:
    """The version of an installed engine.

    Args:
        distribution: What pip calls it.
        specifier: The versions that the adapter can call, for example ``>=5.13``; empty for any.
        pip: The arguments of the pip line that brings it, if they are not just the distribution: options, further packages.

    Returns:
        The version that is installed.

    Raises:
        EngineNotAvailableError: It is not installed, or in another version.
    """
    needed = f"{distribution}{specifier}"
    line = _pip_line(needed, pip)
    try:
        found = Version(metadata.version(distribution))
    except metadata.PackageNotFoundError:
        raise EngineNotAvailableError(f"{distribution} is not installed, expected {needed}; {line}") from None
    if not SpecifierSet(specifier).contains(found, prereleases=True):
        raise EngineNotAvailableError(f"{distribution} {found} is installed, expected {needed}; {line}")
    return found


def lacks(distribution: str, what: str, error: Exception, specifier: str = "", *, pip: str = "") -> EngineNotAvailableError:
    """The error of an engine that is installed, and whose function cannot be had in this version.

    Args:
        distribution: What pip calls the engine.
        what: The function, with its module.
        error: What looking for it raised.
        specifier: Versions that are known to have it.
        pip: As for :func:`require`.

    Returns:
        The error, to be raised from ``error``.
    """
    found = metadata.version(distribution)
    needed = f"{distribution}{specifier}"
    why = f"{type(error).__name__}: {error}"
    return EngineNotAvailableError(
        f"{distribution} {found} gives no {what} ({why}), expected {needed}; {_pip_line(needed, pip)}"
    )


def _pip_line(needed: str, pip: str) -> str:
    return f"get it with: pip install {pip or repr(needed)}"
