"""Hugging Face transformers, a packed batch in one call: sequences are told apart by ``position_ids``, as in training.

Tried on transformers 5.13.0, 5.24.0 and 5.25.0.
"""

from __future__ import annotations

import torch
from torch import Tensor

from impl.peers.available import lacks, require
from impl.peers.hugging_face import FULL, NO_WINDOW, SLIDING, images, text_config
from impl.peers.per_request import check
from reference.contracts import Claims, Layout
from reference.layouts import packed_from_matrices
from reference.rules import MaskRule
from reference.tokens import MaskBatch

VERSION = require("transformers", ">=5.13")

try:
    from transformers.models.gemma3.configuration_gemma3 import Gemma3TextConfig
    from transformers.models.gemma3.modeling_gemma3 import create_masks_for_vision_model, get_block_sequence_ids_for_mask
except ImportError as error:
    raise lacks("transformers", "create_masks_for_vision_model in modeling_gemma3", error, ">=5.13") from error


class Packed:
    """Gemma 3, ``create_masks_for_vision_model`` without a cache and with the position of each token in its sequence."""

    about = (
        f"transformers {VERSION}: create_masks_for_vision_model of Gemma 3, a packed batch in one call. In 5.24 and 5.25 "
        "the sliding layers of every request but the first look up its blobs among the first tokens of the batch. 5.13.0 "
        "is right there, and in its full layers an image at the end of a request and one at the beginning of the next see "
        "each other."
    )

    claims = Claims(frozenset({"gemma3-full", "gemma3-sliding"}), cached_prefix=False, prefix_types=False)

    def build(self, batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> Tensor:
        """As :meth:`reference.contracts.MaskBuilder.build`.

        Raises:
            RuntimeError: transformers lets one sequence see another, which the packed layout has no cells for.
        """
        check(batch, rule, layout)
        if batch.query_total == 0:
            return torch.empty(0, dtype=torch.bool, device=batch.device)
        types = batch.token_types[: batch.query_total].to(torch.int64)
        positions = torch.cat([torch.arange(queries, device=batch.device) for queries in batch.query_lengths])
        masks = create_masks_for_vision_model(
            text_config(Gemma3TextConfig, rule.window or NO_WINDOW, False),
            torch.zeros(1, batch.query_total, 1, device=batch.device),
            None,  # attention_mask
            None,  # cache
            positions[None],
            get_block_sequence_ids_for_mask(images(types)[None]),
        )
        mask = masks[SLIDING if rule.window else FULL][0, 0]
        matrices = []
        for segment in batch.segments():
            own = slice(segment.first_query, segment.first_query + segment.queries)
            matrices.append(mask[own, own])
        if sum(int(matrix.sum()) for matrix in matrices) != int(mask.sum()):
            raise RuntimeError(f"one sequence sees another: query lengths {list(batch.query_lengths)}")
        return packed_from_matrices(batch, matrices)


PACKED = Packed()
