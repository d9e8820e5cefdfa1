"""Memory that tells: uninitialised allocations start poisoned, between canaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

PATTERNS = (0xA5, 0x5A)
"""Neither is a bool, and they differ in every bit: a byte left unwritten shows, and so does one that was read."""

CANARY = 512
"""Bytes on each side of an allocation; a multiple of the alignment that allocators give."""

_FILLED = {
    torch.zeros,
    torch.zeros_like,
    torch.ones,
    torch.ones_like,
    torch.full,
    torch.full_like,
    torch.Tensor.new_zeros,
    torch.Tensor.new_ones,
    torch.Tensor.new_full,
}
"""These keep their values and get canaries alone."""

_EMPTY = {
    torch.empty,
    torch.empty_like,
    torch.empty_permuted,
    torch.empty_strided,
    torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided,
}


class PoisonedAllocations(TorchFunctionMode):
    """Gives every ``torch.empty`` and its like, made while it is active, poisoned memory between canaries.

    It sees whatever an implementation allocates through torch, without the implementation's help.

    Args:
        pattern: The byte that fills memory and canaries.
    """

    def __init__(self, pattern: int) -> None:
        super().__init__()
        self.pattern = pattern
        self._allocations: list[tuple[Tensor, int]] = []

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if func not in _EMPTY | _FILLED or not isinstance(made, Tensor) or made.numel() == 0:
            return made
        try:
            size = made.untyped_storage().nbytes()
        except (NotImplementedError, RuntimeError):  # under torch.vmap a tensor has no memory of its own
            return made
        memory = torch.full((size + 2 * CANARY,), self.pattern, dtype=torch.uint8, device=made.device)
        self._allocations.append((memory, size))
        inner = memory[CANARY : CANARY + size].view(made.dtype)
        inner = inner.as_strided(made.shape, made.stride(), CANARY // made.itemsize)
        return inner.copy_(made) if func in _FILLED else inner

    def disturbed(self) -> str | None:
        """Says which canary was written over; None if all live."""
        for memory, size in self._allocations:
            for side, canary in (("before", memory[:CANARY]), ("after", memory[CANARY + size :])):
                wrong = (canary != self.pattern).nonzero()
                if len(wrong):
                    return f"{len(wrong)} of the {CANARY} bytes {side} an allocation of {size} bytes were written"
        return None
