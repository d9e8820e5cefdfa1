"""Names of tests: what else could stand for one, and which known name is nearest to one that is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rapidfuzz import fuzz, process

_CUTOFF = 60.0
"""Likeness in percent below which a name is no help."""

_PATH_CUTOFF = 80.0
"""The same for a path, which is like its neighbours by the folders alone."""


def ancestors(node_id: str) -> Iterator[str]:
    """Everything that an entry or a waiver could say to mean this test.

    Args:
        node_id: A test's id; of a function, file or folder also what stands above it.

    Yields:
        The id itself, the function without parameters, its classes from the inside out, the file, each folder above.
    """
    yield node_id
    file, separator, test = node_id.partition("::")
    if separator:
        name, bracket, _ = test.partition("[")
        if bracket:
            yield f"{file}::{name}"
        while "::" in name:
            name = name.rpartition("::")[0]
            yield f"{file}::{name}"
        yield file
    while file := file.rpartition("/")[0]:
        yield file


class Nearest:
    """The known name that is most like another: built once, asked often.

    Part by part: the file, the function in it, its parameters. A long path that two tests share does not make them alike.
    """

    def __init__(self, known: Iterable[str]) -> None:
        paths: set[str] = set()
        functions: dict[str, set[str]] = {}
        parameters: dict[str, set[str]] = {}
        for node_id in known:
            for name in ancestors(node_id):
                file, separator, test = name.partition("::")
                function, bracket, rest = test.partition("[")
                if bracket:
                    parameters.setdefault(f"{file}::{function}", set()).add(rest)
                elif separator:
                    functions.setdefault(file, set()).add(function)
                else:
                    paths.add(file)
        # In order, so that of two equally near names it is always the same.
        self._paths = sorted(paths)
        self._files = sorted(functions)
        self._functions = {file: sorted(names) for file, names in functions.items()}
        self._parameters = {function: sorted(names) for function, names in parameters.items()}
        self._near: dict[tuple[str, str], str | None] = {}

    def to(self, target: str) -> str | None:
        """The nearest known folder, file or test; None where nothing is near."""
        path, separator, test = target.partition("::")
        if not separator:
            return self._best("folder", path.rstrip("/"), self._paths)
        file = self._best("file", path, self._files)
        if file is None:
            return None
        function, bracket, parameters = test.partition("[")
        near = self._best(file, function, self._functions[file])
        if near is None:
            return None if file == path else file
        name = f"{file}::{near}"
        if bracket and name in self._parameters:
            # Of a function that is meant, some parameters are: whichever are nearest.
            found = process.extractOne(parameters, self._parameters[name], scorer=fuzz.ratio)
            return f"{name}[{found[0]}"
        return name

    def _best(self, within: str, name: str, choices: Sequence[str]) -> str | None:
        if (within, name) not in self._near:
            cutoff = _PATH_CUTOFF if "/" in name else _CUTOFF
            found = process.extractOne(name, choices, scorer=fuzz.ratio, score_cutoff=cutoff)
            self._near[within, name] = None if found is None else str(found[0])
        return self._near[within, name]


def nearest(target: str, known: Iterable[str]) -> str:
    """``; did you mean ...?`` with the most similar known name, or nothing."""
    near = Nearest(known).to(target)
    return f"; did you mean {near!r}?" if near else ""
