"""Peak memory of a call, beside its output."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from reference.tokens import MaskBatch


class AllocationMeter(TorchDispatchMode):
    """Counts the bytes of tensors alive at a time, of those made while it is active.

    It sees what passes through torch's dispatcher: for CPU tensors there is no allocator to ask. What one operator
    needs inside itself is not seen.

    Attributes:
        peak: The most bytes that were alive at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._live = 0
        self._seen: set[int] = set()

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = {leaf.untyped_storage()._cdata for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, Tensor) and leaf.untyped_storage()._cdata not in given | self._seen:
                storage = leaf.untyped_storage()
                self._seen.add(storage._cdata)
                self._live += storage.nbytes()
                self.peak = max(self.peak, self._live)
                weakref.finalize(storage, self._free, storage._cdata, storage.nbytes())
        return made

    def _free(self, cdata: int, size: int) -> None:
        self._seen.discard(cdata)
        self._live -= size


def peak_beside_output(build: Callable[[], Tensor], batch: MaskBatch) -> int:
    """Runs ``build`` and returns the most bytes that it held at once beside the ``cells`` bytes of its output."""
    if batch.device.type == "cuda":
        build()  # compiles, and fills what is kept from call to call
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        build()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before - batch.cells
    with AllocationMeter() as meter:
        build()
    return meter.peak - batch.cells
