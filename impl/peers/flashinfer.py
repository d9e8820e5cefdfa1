"""FlashInfer's bits: our eager mask through its ``segment_packbits``, which begins every request on a byte.

Tried on flashinfer-python 0.5.3; its kernels need a GPU and, to be made, a compiler for CUDA.
"""

from __future__ import annotations

import torch
from torch import Tensor

from impl.masks.eager import EAGER
from impl.peers.available import lacks, require
from impl.peers.per_request import check
from reference.contracts import Claims, Layout
from reference.layouts import packed_from_bits
from reference.rules import MaskRule
from reference.tokens import MaskBatch

VERSION = require("flashinfer-python")

try:
    from flashinfer import segment_packbits
except ImportError as error:
    raise lacks("flashinfer-python", "segment_packbits", error) from error


class FlashInferMasks:
    """Judged is that its bits, read as SPEC.md says, are the mask that was packed."""

    about = (
        f"flashinfer-python {VERSION}: segment_packbits on our eager mask. It narrows the offsets of requests to 32 bits, "
        "so that a batch of 2^31 cells or more comes out wrong, and it ends in a CUDA error on a batch without requests."
    )
    claims = Claims(devices=frozenset({"cuda"}))

    def build(self, batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> Tensor:
        """As :meth:`reference.contracts.MaskBuilder.build`."""
        check(batch, rule, layout)
        ends = [0, *(segment.first_cell + segment.cells for segment in batch.segments())]
        indptr = torch.tensor(ends, dtype=torch.int64, device=batch.device)  # which it narrows to 32 bits
        bits, bytes_indptr = segment_packbits(EAGER.build(batch, rule), indptr, bitorder="little")
        return packed_from_bits(batch, bits, bytes_indptr)


FLASHINFER = FlashInferMasks()
