"""The encoder cache of Gemma 4: its own layouts of images, audio and video."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from impl.cache.encoder_cache import EncoderCache, EncoderCachePartition, Fields, cut_item_major
from reference.cache_contracts import Encoder, TensorStore

FRAME_COUNTS = "video_frame_counts"
"""Field of a video request: frames of every item. Without it frames cannot be told apart by item."""

_PIXELS = {"image": "pixel_values", "audio": "audio_features", "video": "pixel_values"}
_PER_FRAME = ("pixel_values", "image_position_ids", "image_seq_lens")


class Gemma4EncoderCache(EncoderCache):
    """Cuts ``pixel_values`` and ``audio_features`` item by item, with everything that is said of each item.

    The frames of all videos of a request are flattened on one axis. A partial hit on video therefore encodes the whole
    request again and warns once; full hits are reused.

    Args:
        encoder: Encodes requests.
        store: Keeps the embeddings of items.
        warn: Called once a kind of warning.
        slice_video_frames: Cut videos too, where the request says its ``video_frame_counts``.
    """

    def __init__(
        self, encoder: Encoder, store: TensorStore, warn: Callable[[str], None], *, slice_video_frames: bool = False
    ) -> None:
        super().__init__(encoder, store, warn)
        self._slice_video_frames = slice_video_frames

    def obstacle(self, modality: str, fields: Fields, items: int) -> str | None:
        """As :meth:`EncoderCache.obstacle`, for the layouts of Gemma 4 too."""
        if not _is_gemma4(modality, fields):
            return super().obstacle(modality, fields, items)
        if modality == "video":
            return None if self._frames_are_told(fields, items) else "the frames of all items lie on one axis"
        axis = f"the first axis of {_PIXELS[modality]} does not count the {items} items"
        return None if _is_item_major(fields[_PIXELS[modality]], items) else axis

    def uncut(self, modality: str, fields: Fields, part: EncoderCachePartition, obstacle: str) -> EncoderCachePartition:
        """Encodes a whole request of Gemma 4 again, with one warning a modality; another layout is an error as elsewhere."""
        if not _is_gemma4(modality, fields):
            return super().uncut(modality, fields, part, obstacle)
        message = f"partial encoder-cache hit on a Gemma 4 {modality} request: {obstacle}; all of it is encoded again"
        self.warn_once(f"gemma4_{modality}_partial_hit", message)
        return part.whole()

    def cut(self, modality: str, fields: Fields, items: int, indices: Sequence[int]) -> Fields:
        """As :meth:`EncoderCache.cut`, for the layouts of Gemma 4 too."""
        if not _is_gemma4(modality, fields) or self.obstacle(modality, fields, items):
            return super().cut(modality, fields, items, indices)
        return _cut_frames(fields, indices) if modality == "video" else cut_item_major(fields, items, indices)

    def _frames_are_told(self, fields: Fields, items: int) -> bool:
        counts, pixels = fields.get(FRAME_COUNTS), fields.get("pixel_values")
        told = isinstance(counts, list) and len(counts) == items and isinstance(pixels, Tensor)
        return self._slice_video_frames and told and sum(counts or ()) == pixels.shape[0]  # type: ignore[union-attr]


def _is_gemma4(modality: str, fields: Fields) -> bool:
    """Whether these are inputs of Gemma 4, and not of a model with packed or padded images."""
    return _PIXELS.get(modality) in fields and not {"image_grid_thw", "image_sizes", "video_grid_thw"} & fields.keys()


def _is_item_major(value: object, items: int) -> bool:
    return isinstance(value, Tensor) and value.dim() > 0 and value.shape[0] == items


def _cut_frames(fields: Fields, indices: Sequence[int]) -> Fields:
    counts: list[int] = fields[FRAME_COUNTS]
    ends = list(accumulate(counts))
    frames = [frame for i in indices for frame in range(ends[i] - counts[i], ends[i])]
    cut = dict(fields)
    for name in _PER_FRAME:
        value = fields.get(name)
        if isinstance(value, Tensor):
            cut[name] = value[torch.tensor(frames, dtype=torch.int64, device=value.device)]
        elif isinstance(value, list):
            cut[name] = [value[frame] for frame in frames]
    cut[FRAME_COUNTS] = [counts[i] for i in indices]
    return cut
