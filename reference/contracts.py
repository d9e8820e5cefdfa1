"""What an implementation promises, and how the suite calls it.

A mask implementation is either a plain callable ``build(batch, rule)`` or an object with
``build(batch, rule, layout)`` and ``claims``. The docstring of :meth:`MaskBuilder.build` is the contract.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from torch import Tensor

from reference.gating import LayerMask
from reference.profiles import PROFILES
from reference.rules import MaskRule
from reference.tokens import MaskBatch


class NotAvailableError(ImportError):
    """An engine that an adapter calls is not installed, too old, or lacks the function that the adapter needs.

    The message says what was found, what is needed, and the pip line that would bring it.
    """


Layout = Literal["dense", "bits", "bounds", "blocks"]
"""How a mask is laid out in memory; SPEC.md, layouts. The suite judges ``dense``."""


@dataclass(frozen=True)
class Claims:
    """What an implementation says it can do. What it does not claim is reported as not claimed, never as passed.

    Attributes:
        profiles: Names from :data:`reference.profiles.PROFILES`; None claims every one.
        layouts: Which of ``dense``, ``bits``, ``bounds`` and ``blocks``.
        devices: Which of ``cpu`` and ``cuda``.
        cached_prefix: Requests with P > 0.
        prefix_types: Blobs that began in the cached prefix are continued (MASK-CUT-1).
        multi_request: Batches of more than one request.
        graph_capture: One call can be captured in a CUDA graph, and replayed with other token types (MASK-GRAPH-1).
        linear_memory: Memory beside the output is linear in the tokens (MASK-MEMORY-1).
        gating: Has ``gate(config, batch)`` (MASK-GATE-1).

    Raises:
        TypeError: ``profiles``, ``layouts`` or ``devices`` is no set.
        ValueError: A profile, layout or device is unknown, or a set is empty.
    """

    profiles: frozenset[str] | None = None
    layouts: frozenset[str] = frozenset({"dense"})
    devices: frozenset[str] = frozenset({"cpu", "cuda"})
    cached_prefix: bool = True
    prefix_types: bool = True
    multi_request: bool = True
    graph_capture: bool = False
    linear_memory: bool = False
    gating: bool = False

    @property
    def profile_names(self) -> list[str]:
        """The names of the claimed profiles, sorted."""
        return sorted(PROFILES if self.profiles is None else self.profiles)

    def __post_init__(self) -> None:
        for name in ("profiles", "layouts", "devices"):
            value = getattr(self, name)
            if isinstance(value, str) or (value is not None and not isinstance(value, Collection)):
                raise TypeError(f"claims.{name} is {value!r}, expected a frozenset of names")
            if value is not None and not value:
                raise ValueError(f"claims.{name} is empty, expected at least one name, or None for all profiles")
        for name, known in (
            ("profiles", frozenset(PROFILES)),
            ("layouts", frozenset(get_args(Layout))),
            ("devices", frozenset({"cpu", "cuda"})),
        ):
            claimed = getattr(self, name)
            unknown = sorted(frozenset(claimed or ()) - known)
            if unknown:
                raise ValueError(f"claims.{name} names {unknown}, expected a subset of {sorted(known)}")


@runtime_checkable
class MaskBuilder(Protocol):
    """The contract of a mask implementation."""

    claims: Claims

    def build(self, batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> Tensor:
        """Builds the mask of one layer for one batch.

        Args:
            batch: The requests. Its tensors have any integer dtype, stride and offset, and must not be written.
            rule: The rule of the layer.
            layout: The layout of the result; ``dense`` is a 1-D contiguous bool tensor of
                ``sum Q * (P + Q)`` cells: the row-major ``[Q, P + Q]`` matrices of the requests in batch order.

        Returns:
            The mask, on the batch's device, every byte of it written.

        Raises:
            ValueError: ``rule`` segments by item and ``batch`` lacks the item ids; ``layout`` is not supported.
        """
        ...


@dataclass(frozen=True)
class MaskImplementation:
    """An implementation as the suite sees it, whichever form it was given in.

    Attributes:
        name: What reports call it.
        claims: What it says it can do.
        build: As :meth:`MaskBuilder.build`.
        gate: As :func:`reference.gating.gate`, but its entries may be a rule, None or a ``LayerMask``; None if not claimed.
    """

    name: str
    claims: Claims
    build: Callable[..., Any]
    gate: Callable[[Mapping[str, Any], MaskBatch], Sequence[MaskRule | LayerMask | None]] | None = None

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How Hypothesis prints it."""
        printer.text(f"<mask implementation {self.name}>")


def as_mask_implementation(candidate: object, name: str) -> MaskImplementation:
    """Adapts what a user plugged in to the form that the suite calls.

    Args:
        candidate: A callable ``build(batch, rule)``; an object with ``build`` and, optionally, ``claims`` and
            ``gate``; or a class of such objects that can be made without arguments.
        name: What reports call it.

    Returns:
        The implementation; a plain callable claims the dense layout of every profile, and nothing beyond
        what :class:`Claims` claims by default.

    Raises:
        TypeError: The candidate is none of these, or its claims are no :class:`Claims`.
    """
    if inspect.isclass(candidate):
        needed = [p.name for p in inspect.signature(candidate).parameters.values() if p.default is p.empty and p.kind < 2]
        if needed:
            raise TypeError(f"{name} is a class that needs the arguments {needed}; name an object of it instead")
        candidate = candidate()
    build = getattr(candidate, "build", None)
    if callable(build):
        claims = getattr(candidate, "claims", Claims())
        if not isinstance(claims, Claims):
            raise TypeError(f"{name}.claims is a {type(claims).__name__}, expected reference.contracts.Claims")
        gate = getattr(candidate, "gate", None)
        if claims.gating and not callable(gate):
            raise TypeError(f"{name} claims gating, expected a method gate(config, batch)")
        return MaskImplementation(name, claims, _with_layout(build), gate if claims.gating else None)
    if not callable(candidate):
        raise TypeError(
            f"{name} is a {type(candidate).__name__}, expected a callable build(batch, rule) or an object with build"
        )
    return MaskImplementation(name, Claims(), _with_layout(candidate))


def _with_layout(build: Callable[..., Any]) -> Callable[..., Any]:
    """The same callable, which may be given a layout although it knows the dense one alone."""
    try:
        parameters = inspect.signature(build).parameters
    except ValueError:  # a builtin that does not say
        return build
    if "layout" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return build

    def dense_only(batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> Any:
        return build(batch, rule)

    return dense_only
