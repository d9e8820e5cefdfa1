"""What a mutant is: a known-bad implementation, and what must catch it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """A small change of a correct implementation, or of the harness.

    Attributes:
        id: Its name, in words joined by dashes.
        kind: ``mask``, ``cache`` or ``store``: the option that it is given by; ``harness`` is a copy of this project.
        fault: The fault kind of the catalogue (``F01``), or ``cheat``.
        sentence: What is wrong, and where it shows.
        requirement: The requirement whose tests must fail; of the harness, the tests, with blanks between them.
        make: Makes the implementation, or the root of the copy; files go into the folder that it is handed.
        source: The public report, if it comes from one.
        cuda: Whether it shows on a CUDA device alone.
    """

    id: str
    kind: str
    fault: str
    sentence: str
    requirement: str
    make: Callable[[Path], object]
    source: str | None = None
    cuda: bool = False


def table(mutants: Iterable[Mutant]) -> dict[str, Mutant]:
    """Mutants by id.

    Raises:
        ValueError: Two have one id.
    """
    found: dict[str, Mutant] = {}
    for mutant in mutants:
        if mutant.id in found:
            raise ValueError(f"two mutants are called {mutant.id!r}; give one another id")
        found[mutant.id] = mutant
    return found
