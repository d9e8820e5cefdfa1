"""The suite's encoder: every row depends on the item's content, on each of its metadata fields, and on the row.

So misaligned metadata, swapped order and needless encoding are all visible from outside.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from reference.params import EMBEDDING_LENGTHS, KWARGS_HASH, MultimodalParams

DIM = 2
ROW_BYTES = DIM * 8
"""Bytes of one row: float64, which holds a 32-bit checksum exactly."""


class MisalignedError(AssertionError):
    """The encoder was handed fields that do not belong together; the message names them."""


class RecordingEncoder:
    """Encodes, and remembers what it was asked to.

    Attributes:
        calls: One list a call: the checksum of every item that it encoded.
        weights: Part of every embedding.
    """

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.weights: Hashable = 0

    def __call__(self, params: Sequence[MultimodalParams]) -> list[Tensor]:
        items = [item_checksums(param, self.weights) for param in params]
        self.calls.append([checksum for request in items for checksum, _ in request])
        return [torch.cat([rows_of(checksum, length) for checksum, length in request]) for request in items]


def rows_of(checksum: int, length: int) -> Tensor:
    """``[length, DIM]`` float64: the embedding of an item."""
    rows = [[zlib.crc32(f"{checksum}/{row}/{column}".encode()) for column in range(DIM)] for row in range(length)]
    return torch.tensor(rows, dtype=torch.float64).reshape(length, DIM)


def item_checksums(param: MultimodalParams, weights: Hashable) -> list[tuple[int, int]]:
    """Checksum and length of every item of a request.

    Raises:
        MisalignedError: Fields contradict each other.
    """
    data = param.multimodal_data
    modality = param.modality()
    if modality is None:
        raise MisalignedError(f"multimodal_data has the fields {sorted(data)}, expected one modality")
    lengths = data[EMBEDDING_LENGTHS]
    views = _items(modality, data[modality], lengths)
    hashes: Sequence[object] = param.multimodal_input.multimodal_hashes if param.multimodal_input else []
    if not _is_residual(param) and len(hashes) != len(lengths):
        hashes = [None] * len(lengths)  # a request that cannot be keyed
    if not len(views) == len(lengths) == len(hashes):
        raise MisalignedError(f"{len(views)} items, {len(lengths)} lengths, {len(hashes)} hashes")
    common = (modality, data.get(KWARGS_HASH), weights)
    return [
        (_checksum([common, view, content, length]), length)
        for view, content, length in zip(views, hashes, lengths, strict=True)
    ]


def _is_residual(param: MultimodalParams) -> bool:
    """Whether items of the request were cut out; what holds for all of it must be whole, and what belongs to its run gone.

    Raises:
        MisalignedError: It is not.
    """
    whole = param.multimodal_data["prompt_token_ids"]
    if whole != [len(whole)] * len(whole):
        raise MisalignedError(f"prompt_token_ids, which are of the request and not of its items, were cut to {whole}")
    if len(param.multimodal_data[EMBEDDING_LENGTHS]) == len(whole):
        return False
    for name in ("multimodal_runtime", "mm_item_order", "encoder_event"):
        if getattr(param, name) is not None:
            raise MisalignedError(f"a residual has the {name} of its source")
    return True


def _items(modality: str, fields: dict[str, Any], lengths: Sequence[int]) -> list[Any]:
    """Everything that is said of each item, without padding."""
    if modality == "image" and "image_grid_thw" in fields:
        return _packed(fields, "pixel_values", "image_grid_thw", [])
    if modality == "video" and "video_grid_thw" in fields:
        return _packed(fields, "pixel_values_videos", "video_grid_thw", ["second_per_grid_ts"])
    if modality == "image" and "image_sizes" in fields:
        _aligned(fields, ["pixel_values", "image_sizes"])
        sizes = fields["image_sizes"].tolist()
        height, width = (max(size) for size in zip(*sizes, strict=True))
        if tuple(fields["pixel_values"].shape[-2:]) != (height, width):
            raise MisalignedError(
                f"pixel_values has shape {tuple(fields['pixel_values'].shape)}, expected {height} x {width}"
            )
        return [(fields["pixel_values"][i, ..., :h, :w], h, w) for i, (h, w) in enumerate(sizes)]
    if modality == "image":
        names = ["pixel_values", "image_position_ids", "image_seq_lens"]
        _aligned(fields, names)
        return [[fields[name][i] for name in names] for i in range(len(fields["pixel_values"]))]
    if modality == "audio" and "input_features" in fields:
        _aligned(fields, ["input_features", "feature_attention_mask"])
        masks = fields["feature_attention_mask"].bool()
        return [fields["input_features"][i][:, masks[i]] for i in range(len(masks))]
    if modality == "audio" and isinstance(fields["audio_features"], list):
        return list(fields["audio_features"])
    if modality == "audio":
        _aligned(fields, ["audio_features", "audio_features_mask"])
        masks = fields["audio_features_mask"].bool()
        return [fields["audio_features"][i][masks[i]] for i in range(len(masks))]
    names = ["pixel_values", "image_position_ids", "image_seq_lens"]
    _aligned(fields, names)
    if len(fields["pixel_values"]) != sum(lengths):  # one row a frame
        raise MisalignedError(f"{len(fields['pixel_values'])} frames, expected {sum(lengths)} for items of {lengths}")
    if "video_frame_counts" in fields and fields["video_frame_counts"] != list(lengths):
        raise MisalignedError(f"video_frame_counts {fields['video_frame_counts']} for items of {lengths} frames")
    ends = torch.tensor(lengths).cumsum(0).tolist()
    return [[fields[name][end - n : end] for name in names] for end, n in zip(ends, lengths, strict=True)]


def _packed(fields: dict[str, Any], pixels: str, grid: str, siblings: list[str]) -> list[Any]:
    _aligned(fields, [grid, *siblings])
    counts = fields[grid].prod(1).tolist()
    if sum(counts) != len(fields[pixels]):
        raise MisalignedError(f"{pixels} has {len(fields[pixels])} patches, {grid} says {sum(counts)}")
    patches = fields[pixels].split(counts)
    return [[patches[i], fields[grid][i], *(fields[name][i] for name in siblings)] for i in range(len(counts))]


def _aligned(fields: dict[str, Any], names: list[str]) -> None:
    counts = {name: len(fields[name]) for name in names}
    if len(set(counts.values())) != 1:
        raise MisalignedError(f"fields that belong together differ in length: {counts}")


def _checksum(value: Any) -> int:
    if isinstance(value, Tensor):
        content = (
            f"{value.dtype}{tuple(value.shape)}".encode() + value.contiguous().flatten().view(torch.uint8).numpy().tobytes()
        )
        return zlib.crc32(content)
    if isinstance(value, list | tuple):
        return zlib.crc32(repr([_checksum(part) for part in value]).encode())
    return zlib.crc32(repr(value).encode())
