"""Drawn requests to an encoder cache: items of every layout, repeats, ragged lengths, and histories of batches.

Plain data that prints as the code that makes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from hypothesis import strategies as st

from reference.cache_contracts import LAYOUTS, CacheClaims
from reference.params import EMBEDDING_LENGTHS, KWARGS_HASH, MultimodalInput, MultimodalParams

LIST_AUDIO = "gemma4-audio-list"
"""Clips of different lengths as a list of tensors: a layout of Gemma 4 that has no item axis."""

SUITE_LAYOUTS = (*LAYOUTS, LIST_AUDIO)

_PATCHES = 4
"""Patches that images of Gemma 4 are padded to, whoever their neighbours are."""


@dataclass(frozen=True)
class Item:
    """One image, clip or video.

    Attributes:
        content: What it shows.
        length: Rows of its embedding; frames of a video of Gemma 4.
        size: Patches, frames or pixels beside that.
        hashed: Its content hash, as if of another item, for collisions; default its content's own.
    """

    content: int
    length: int = 1
    size: int = 1
    hashed: int | None = None


@dataclass(frozen=True)
class CacheRequest:
    """One request: items of one layout.

    Attributes:
        layout: One of ``SUITE_LAYOUTS``.
        items: Its items, in order.
        options: Hash of the processor options; None makes the request unkeyable.
        told: Whether a video of Gemma 4 says how many frames each item has.
    """

    layout: str
    items: tuple[Item, ...]
    options: str | None = "options"
    told: bool = False

    @property
    def modality(self) -> str:
        """Modality of the layout."""
        return self.layout.split("-")[1]

    def whole(self, claims: CacheClaims) -> bool:
        """Whether a system of these claims cannot cut the inputs."""
        if self.layout == "gemma4-video":
            return not (claims.video_frames and self.told)
        return self.layout not in claims.layouts

    def hash(self, item: Item) -> list[int]:
        """The content hash of an item, 8 int32: of what the encoder is shown, so the layout counts."""
        own = 10 * item.content + item.size if item.hashed is None else item.hashed
        return [1000 * SUITE_LAYOUTS.index(self.layout) + own, *range(7)]

    def key(self, item: Item, weights: int) -> object | None:
        """What identifies the embedding of an item; None for an unkeyable request."""
        if self.options is None:
            return None
        return (self.modality, tuple(self.hash(item)), item.length, self.options, weights)

    def params(self) -> MultimodalParams:
        """The request as an engine hands it over."""
        items = self.items
        position = [sum(i.length for i in items[:index]) for index in range(len(items))]
        return MultimodalParams(
            MultimodalInput([self.hash(i) for i in items], position, [i.length for i in items]),
            {
                self.modality: _FIELDS[self.layout](self),
                EMBEDDING_LENGTHS: [i.length for i in items],
                KWARGS_HASH: self.options,
                # Lists as long as there are items that are not of the items: nothing may cut them.
                "prompt_token_ids": list(range(len(items))),
                "modality_type": self.modality,
            },
        )


def _values(item: Item, *shape: int, start: int = 0) -> torch.Tensor:
    count = int(torch.tensor(shape).prod())
    return (torch.arange(start, start + count) + 1000 * item.content).reshape(shape)


def _padded(rows: list[torch.Tensor], length: int, value: int) -> torch.Tensor:
    """Stacks ``[n, ...]`` tensors, each padded to ``length`` on the first axis."""
    return torch.stack(
        [torch.cat([row, torch.full((length - len(row), *row.shape[1:]), value, dtype=row.dtype)]) for row in rows]
    )


def _gemma4_image(r: CacheRequest) -> dict[str, Any]:
    return {
        "pixel_values": _padded([_values(i, i.size, 3) for i in r.items], _PATCHES, 0),
        "image_position_ids": _padded([_values(i, i.size, 2, start=7) for i in r.items], _PATCHES, -1),
        "image_seq_lens": [i.size for i in r.items],
    }


def _clips(r: CacheRequest) -> tuple[list[torch.Tensor], torch.Tensor]:
    clips = [_values(i, i.size, 2).float() for i in r.items]
    longest = max(i.size for i in r.items)
    mask = torch.tensor([[frame < i.size for frame in range(longest)] for i in r.items])
    return clips, mask


def _gemma4_audio(r: CacheRequest) -> dict[str, Any]:
    clips, mask = _clips(r)
    return {"audio_features": _padded(clips, mask.shape[1], 0), "audio_features_mask": mask}


def _gemma4_audio_list(r: CacheRequest) -> dict[str, Any]:
    return {"audio_features": _clips(r)[0]}


def _gemma4_video(r: CacheRequest) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "pixel_values": torch.cat([_values(i, i.length, 2, 1) for i in r.items]),
        "image_position_ids": torch.cat([_values(i, i.length, 2, 2, start=5) for i in r.items]),
        "image_seq_lens": [1 + (i.content + frame) % 2 for i in r.items for frame in range(i.length)],
    }
    return fields | ({"video_frame_counts": [i.length for i in r.items]} if r.told else {})


def _grid(r: CacheRequest) -> torch.Tensor:
    return torch.tensor([[1, i.size, 2] for i in r.items])


def _qwen2vl_image(r: CacheRequest) -> dict[str, Any]:
    return {"pixel_values": torch.cat([_values(i, 2 * i.size, 2) for i in r.items]), "image_grid_thw": _grid(r)}


def _qwen2vl_video(r: CacheRequest) -> dict[str, Any]:
    return {
        "pixel_values_videos": torch.cat([_values(i, 2 * i.size, 2) for i in r.items]),
        "video_grid_thw": _grid(r),
        "second_per_grid_ts": [0.5 * i.content for i in r.items],
    }


def _pixtral_image(r: CacheRequest) -> dict[str, Any]:
    sizes = [(i.size, 1 + i.content % 3) for i in r.items]
    height, width = (max(size) for size in zip(*sizes, strict=True))
    pixels = torch.zeros(len(sizes), 1, height, width, dtype=torch.int64)
    for index, (item, (h, w)) in enumerate(zip(r.items, sizes, strict=True)):
        pixels[index, :, :h, :w] = _values(item, 1, h, w)
    return {"pixel_values": pixels, "image_sizes": torch.tensor(sizes)}


def _whisper_audio(r: CacheRequest) -> dict[str, Any]:
    clips, mask = _clips(r)
    return {"input_features": _padded(clips, mask.shape[1], 0).transpose(1, 2), "feature_attention_mask": mask}


_FIELDS = {
    "gemma4-image": _gemma4_image,
    "gemma4-audio": _gemma4_audio,
    "gemma4-video": _gemma4_video,
    LIST_AUDIO: _gemma4_audio_list,
    "qwen2vl-image": _qwen2vl_image,
    "qwen2vl-video": _qwen2vl_video,
    "pixtral-image": _pixtral_image,
    "whisper-audio": _whisper_audio,
}

_ITEMS = st.sampled_from(
    [
        Item(content, length=1 + (content + variant) % 3, size=1 + (2 * content + variant) % _PATCHES)
        for variant in (0, 0, 0, 1)
        for content in range(4)
    ]
)
"""Few contents, so that requests meet; now and then the same content in another geometry."""

_COLLIDING = (Item(1, length=3, size=2, hashed=77), Item(2, length=2, size=2, hashed=77))
"""Two items of different lengths under one content hash."""

_OPTIONS = st.sampled_from((*["options"] * 8, "other", None))


@cache
def batches(layouts: tuple[str, ...], *, collisions: bool) -> st.SearchStrategy[list[CacheRequest]]:
    """Batches of requests of one to eight items in some layouts, with colliding hashes if asked."""
    item = _ITEMS | st.sampled_from(_COLLIDING) if collisions else _ITEMS
    items = st.lists(item, min_size=1, max_size=8).map(tuple) | _ITEMS.map(lambda one: (one,))
    request = st.builds(CacheRequest, st.sampled_from(layouts), items, _OPTIONS, st.booleans())
    return st.lists(request, min_size=1, max_size=4)


def layouts_of(claims: CacheClaims) -> st.SearchStrategy[tuple[str, ...]]:
    """One or two layouts that a system serves, so that a history meets the same items again.

    The ragged list of clips is served by a fallback where the padded one is claimed.
    """
    served = set(claims.layouts) | ({LIST_AUDIO} if "gemma4-audio" in claims.layouts else set())
    return st.lists(st.sampled_from(sorted(served)), min_size=1, max_size=2, unique=True).map(tuple)


BUDGETS = st.sampled_from([(rows, odd) for odd in (0, 0, 1) for rows in (1, 2, 3, 4, 6, 9, 1000, 1000)])
"""Rows that fit, and bytes beyond them: tiny budgets evict the shared item while the new one is written."""
