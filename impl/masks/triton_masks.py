"""The Triton mask builder: two launches for a whole packed batch, and only linear memory beside the output."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from impl.masks.bounds import BLOCK, bounds
from impl.masks.dense import CHUNK, paint
from impl.masks.gating import gate
from impl.masks.table import request_table
from reference.contracts import Claims, Layout
from reference.rules import MaskRule
from reference.tokens import MaskBatch


class TritonMasks:
    """Builds packed dense masks with Triton, on CUDA tensors or, under TRITON_INTERPRET=1, on CPU tensors.

    A call waits for nothing on the device. It can be captured in a CUDA graph once the kernels are compiled, that is
    after one call with the same rule and dtypes: lengths and rule are then fixed, token types may change between replays.

    Attributes:
        claims: Every profile; the dense layout.
        chunk: Bytes of output a program writes; a power of two of at least 16.
        block: Queries whose bounds a program finds; likewise.
    """

    claims = Claims(graph_capture=True, linear_memory=True, gating=True)

    def __init__(self, chunk: int = CHUNK, block: int = BLOCK) -> None:
        for name, value in (("chunk", chunk), ("block", block)):
            if value < 16 or value & (value - 1):
                raise ValueError(f"{name} is {value}, expected a power of two of at least 16")
        self.chunk = chunk
        self.block = block

    def build(self, batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> Tensor:
        """As :meth:`reference.contracts.MaskBuilder.build`."""
        if layout != "dense":
            raise ValueError(f"layout is {layout!r}, expected 'dense': the one layout that TritonMasks claims")
        with _on(batch.device):
            if batch.query_total == 0:
                return torch.empty(0, dtype=torch.bool, device=batch.device)
            table = request_table(batch)
            return paint(batch, rule, table, bounds(batch, rule, table, self.block), self.chunk)

    def gate(self, config: Mapping[str, Any], batch: MaskBatch) -> list[MaskRule | None]:
        """As :func:`reference.gating.gate`, with bare rules."""
        return gate(config, batch)


def _on(device: torch.device) -> AbstractContextManager[None]:
    # Triton launches on the current device, wherever the tensors are.
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


TRITON = TritonMasks()
