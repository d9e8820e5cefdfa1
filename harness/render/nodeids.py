"""The parts of a node id: ``suites/test_it.py::TestClass::test_name[parameters]``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NodeId:
    """A node id in parts.

    Attributes:
        file: Its file, from the root.
        classes: The classes around the test, outermost first.
        name: The test with its parameters; never empty.
    """

    file: str
    classes: tuple[str, ...]
    name: str

    @property
    def classname(self) -> str:
        """Module and classes with dots, as JUnit's readers group by."""
        return ".".join([self.file.removesuffix(".py").replace("/", "."), *self.classes])


def split(node_id: str) -> NodeId:
    """Splits a node id; parameters may hold ``::`` themselves."""
    head, bracket, parameters = node_id.partition("[")
    file, *inner = head.split("::")
    name = (inner.pop() if inner else file) + bracket + parameters
    return NodeId(file, tuple(inner), name or node_id or "(no id)")
