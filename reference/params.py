"""What a request carries to an encoder: raw inputs of its items and their metadata, by TensorRT-LLM's field names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

EMBEDDING_LENGTHS = "multimodal_embedding_lengths"
"""Key of ``multimodal_data``: list of int, rows of each item's embedding, in item order."""

KWARGS_HASH = "mm_processor_kwargs_hash"
"""Key of ``multimodal_data``: hash of the processor options that the items were prepared with."""

ATTACHED = "multimodal_embedding"
"""Key of ``multimodal_data``: a finished embedding; such a request needs no encoder."""

MODALITIES = ("image", "audio", "video")


@dataclass
class MultimodalInput:
    """Which items a request holds, and where.

    Attributes:
        multimodal_hashes: Content hash of every item, 8 int32 each.
        multimodal_positions: First token of every item in the prompt.
        multimodal_lengths: Tokens of every item, more than 0.
        multimodal_uuids: The user's own name of every item, or None.
        multimodal_item_run_cu_offsets: Where the runs of each item begin, for items of several runs.
        multimodal_run_positions: First token of every run.
        multimodal_run_lengths: Tokens of every run.

    Raises:
        ValueError: The lists differ in length, a position is negative, a length is not positive, the hashes differ
            in width, or only some of the run fields are given; the message names the field.
    """

    multimodal_hashes: list[list[int]]
    multimodal_positions: list[int]
    multimodal_lengths: list[int]
    multimodal_uuids: list[str | None] | None = None
    multimodal_item_run_cu_offsets: list[int] | None = None
    multimodal_run_positions: list[int] | None = None
    multimodal_run_lengths: list[int] | None = None

    def __post_init__(self) -> None:
        items = len(self.multimodal_hashes)
        for name in ("multimodal_positions", "multimodal_lengths", "multimodal_uuids"):
            values = getattr(self, name)
            if values is not None and len(values) != items:
                raise ValueError(f"{name} has {len(values)} entries, expected {items}, one for each of multimodal_hashes")
        for name, least in (("multimodal_positions", 0), ("multimodal_lengths", 1)):
            for index, value in enumerate(getattr(self, name)):
                if value < least:
                    raise ValueError(f"{name}[{index}] is {value}, expected at least {least}")
        for index, value in enumerate(self.multimodal_hashes):
            if len(value) != len(self.multimodal_hashes[0]):
                width = len(self.multimodal_hashes[0])
                raise ValueError(f"multimodal_hashes[{index}] has {len(value)} numbers, expected {width}, as the first has")
        runs = ("multimodal_item_run_cu_offsets", "multimodal_run_positions", "multimodal_run_lengths")
        missing = [name for name in runs if getattr(self, name) is None]
        if missing and len(missing) != len(runs):
            raise ValueError(f"{missing[0]} is None, expected all of {', '.join(runs)} or none")


@dataclass
class MultimodalRuntimeData:
    """How far chunked prefill has come in one request.

    Attributes:
        past_seen_token_num: Tokens of the prompt that are cached.
        chunk_end_pos: End of the present chunk, in tokens of the prompt.
        embed_mask_cumsum: ``[prompt]`` int64 on the CPU: embedding rows up to and including each token.

    Raises:
        TypeError: ``embed_mask_cumsum`` is no int64 tensor on the CPU.
        ValueError: It is empty or not 1-D, or the positions do not lie in the prompt in order.
    """

    past_seen_token_num: int
    chunk_end_pos: int
    embed_mask_cumsum: Tensor

    def __post_init__(self) -> None:
        cumsum = self.embed_mask_cumsum
        if not isinstance(cumsum, Tensor) or cumsum.dtype is not torch.int64 or cumsum.device.type != "cpu":
            raise TypeError("embed_mask_cumsum must be an int64 tensor on the CPU")
        if cumsum.dim() != 1 or not cumsum.numel():
            raise ValueError(f"embed_mask_cumsum has shape {tuple(cumsum.shape)}, expected one dimension, not empty")
        if not 0 <= self.past_seen_token_num <= self.chunk_end_pos <= cumsum.numel():
            raise ValueError(
                f"past_seen_token_num {self.past_seen_token_num} and chunk_end_pos {self.chunk_end_pos}: expected "
                f"0 <= past_seen_token_num <= chunk_end_pos <= {cumsum.numel()}, the tokens of the prompt"
            )

    def _rows_before(self, token: int) -> int:
        return int(self.embed_mask_cumsum[token - 1]) if token else 0

    @property
    def num_cached_mm_tokens(self) -> int:
        """Embedding rows that lie in the cached tokens."""
        return self._rows_before(self.past_seen_token_num)

    @property
    def num_mm_tokens_in_chunk(self) -> int:
        """Embedding rows that the present chunk needs."""
        return self._rows_before(self.chunk_end_pos) - self.num_cached_mm_tokens

    @property
    def total_embeds_in_request(self) -> int:
        """Embedding rows of the whole prompt."""
        return int(self.embed_mask_cumsum[-1])


@dataclass
class MultimodalParams:
    """One request.

    Attributes:
        multimodal_input: Hashes and places of its items; None for a request that cannot be keyed.
        multimodal_data: Raw inputs by modality (``multimodal_data["image"]["pixel_values"]``) and, beside
            them, what holds for the whole request; see the key constants of this module.
        multimodal_runtime: Progress of chunked prefill.
        input_ids_start_offset: First token of the chunk.
        mm_item_order: Order of the items in a request of several modalities.
        encoder_event: What to wait for before the raw inputs may be read.
    """

    multimodal_input: MultimodalInput | None = None
    multimodal_data: dict[str, Any] = field(default_factory=dict)
    multimodal_runtime: MultimodalRuntimeData | None = None
    input_ids_start_offset: int = 0
    mm_item_order: Sequence[tuple[str, int]] | None = None
    encoder_event: Any = None

    def modality(self) -> str | None:
        """The one modality of the request; None if it has none or several."""
        present = [name for name in MODALITIES if name in self.multimodal_data]
        return present[0] if len(present) == 1 else None
