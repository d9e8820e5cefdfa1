"""Drawn requests to an encoder cache: items of every layout, repeats, ragged lengths, and histories of batches.

Plain data that prints as the code that makes it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import torch
from hypothesis import strategies as st

from reference.cache_contracts import LAYOUTS, CacheClaims
from reference.params import EMBEDDING_LENGTHS, KWARGS_HASH, MultimodalInput, MultimodalParams, MultimodalRuntimeData

LIST_AUDIO = "gemma4-audio-list"
"""Clips of different lengths as a list of tensors: a layout of Gemma 4 that has no item axis."""

SUITE_LAYOUTS = (*LAYOUTS, LIST_AUDIO)

FLAWS = ("no options", "no input", "a hash too few", "a hash too many")
"""What makes a request unkeyable."""

_PATCHES = 4
"""Patches that images of Gemma 4 are padded to, whoever their neighbours are."""


@dataclass(frozen=True)
class Item:
    """One image, clip or video.

    Attributes:
        content: What it shows.
        length: Rows of its embedding; frames of a video of Gemma 4.
        size: Patches, frames or pixels beside that.
        hashed: Its content hash, 8 int32; default one of its content and size.
    """

    content: int
    length: int = 1
    size: int = 1
    hashed: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Happened:
    """The encoder event of a request whose inputs are there."""

    def wait(self) -> None:
        """Returns at once."""


@dataclass(frozen=True)
class CacheRequest:
    """One request: items of one layout.

    Attributes:
        layout: One of ``SUITE_LAYOUTS``.
        items: Its items, in order.
        options: Hash of the processor options.
        flaw: One of ``FLAWS``; None for a request that can be keyed.
        told: Whether a video of Gemma 4 says how many frames each item has.
        named: Whether the user names the items: "item-0" is another one in every request.
    """

    layout: str
    items: tuple[Item, ...]
    options: str = "options"
    flaw: str | None = None
    told: bool = False
    named: bool = False

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
        """The content hash of an item, 8 int32: of what the encoder is shown, but for the modality."""
        rivals = [name for name in SUITE_LAYOUTS if name.split("-")[1] == self.modality]
        first, *others = item.hashed or (10 * item.content + item.size, *range(7))
        return [first ^ rivals.index(self.layout) << 20, *others]

    def key(self, item: Item, weights: int) -> tuple[Hashable, int] | None:
        """What identifies the embedding of an item: its slot, and its length; None for an unkeyable request."""
        if self.flaw:
            return None
        return (self.modality, tuple(self.hash(item)), self.options, weights), item.length

    def params(self) -> MultimodalParams:
        """The request as an engine hands it over."""
        rows = sum(i.length for i in self.items)
        return MultimodalParams(
            None if self.flaw == "no input" else self._input(),
            {
                self.modality: _FIELDS[self.layout](self),
                EMBEDDING_LENGTHS: [i.length for i in self.items],
                KWARGS_HASH: None if self.flaw == "no options" else self.options,
                # As many as there are items, and not of the items: nothing may cut them. Each says how many there are.
                "prompt_token_ids": [len(self.items)] * len(self.items),
                "modality_type": self.modality,
            },
            multimodal_runtime=MultimodalRuntimeData(0, rows, torch.arange(1, rows + 1)),
            mm_item_order=[(self.modality, index) for index in range(len(self.items))],
            encoder_event=Happened(),
        )

    def _input(self) -> MultimodalInput:
        items = {"a hash too few": self.items[1:], "a hash too many": (*self.items, self.items[0])}.get(
            str(self.flaw), self.items
        )
        return MultimodalInput(
            [self.hash(i) for i in items],
            [sum(i.length for i in items[:index]) for index in range(len(items))],
            [i.length for i in items],
            [f"item-{index}" for index in range(len(items))] if self.named else None,
        )


def _values(item: Item, *shape: int, start: int = 0) -> torch.Tensor:
    return (torch.arange(start, start + prod(shape)) + 1000 * item.content).reshape(shape)


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


def _packed(r: CacheRequest, steps: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Patches of all items on one axis, and the grid of each: time steps, height, width."""
    grids = [(step, i.size, 2) for step, i in zip(steps, r.items, strict=True)]
    patches = [_values(item, prod(grid), 2) for item, grid in zip(r.items, grids, strict=True)]
    return torch.cat(patches), torch.tensor(grids)


def _qwen2vl_image(r: CacheRequest) -> dict[str, Any]:
    pixels, grids = _packed(r, [1 for _ in r.items])
    return {"pixel_values": pixels, "image_grid_thw": grids}


def _qwen2vl_video(r: CacheRequest) -> dict[str, Any]:
    pixels, grids = _packed(r, [1 + i.content % 2 for i in r.items])
    return {
        "pixel_values_videos": pixels,
        "video_grid_thw": grids,
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

COLLIDING = (Item(1, length=3, size=2, hashed=(77,) * 8), Item(2, length=2, size=2, hashed=(77,) * 8))
"""Two items of different lengths under one content hash."""

_OPTIONS = st.sampled_from((*["options"] * 8, "other"))
_FLAWS = st.sampled_from((*[None] * 20, *FLAWS))


@cache
def batches(layouts: tuple[str, ...], *, collisions: bool) -> st.SearchStrategy[list[CacheRequest]]:
    """Batches of up to four requests in some layouts, with colliding hashes if asked."""
    return st.lists(_requests(layouts, collisions=collisions), max_size=4)


def mixed_batches(claims: CacheClaims) -> st.SearchStrategy[list[CacheRequest]]:
    """Batches of one request of every modality that a system serves, in any order."""
    kinds: dict[str, list[str]] = {}
    for layout in served_layouts(claims):
        kinds.setdefault(layout.split("-")[1], []).append(layout)
    requests = [_requests(tuple(layouts), collisions=False) for layouts in kinds.values()]
    return st.tuples(*requests).flatmap(st.permutations)


def _requests(layouts: tuple[str, ...], *, collisions: bool) -> st.SearchStrategy[CacheRequest]:
    """Requests of one to eight items."""
    item = _ITEMS | st.sampled_from(COLLIDING) if collisions else _ITEMS
    items = st.lists(item, min_size=1, max_size=8).map(tuple) | _ITEMS.map(lambda one: (one,))
    return st.builds(CacheRequest, st.sampled_from(layouts), items, _OPTIONS, _FLAWS, st.booleans(), st.booleans())


def served_layouts(claims: CacheClaims) -> tuple[str, ...]:
    """Layouts that a system serves; the ragged list of clips by a fallback, where the padded one is claimed."""
    return tuple(sorted({*claims.layouts, *([LIST_AUDIO] if "gemma4-audio" in claims.layouts else [])}))


def uncut_layouts(claims: CacheClaims) -> tuple[str, ...]:
    """Those of them whose partial hits are encoded whole."""
    return tuple(name for name in served_layouts(claims) if CacheRequest(name, ()).whole(claims))


def few_layouts(claims: CacheClaims) -> st.SearchStrategy[tuple[str, ...]]:
    """One to three layouts that a system serves, so that a history meets the same items again."""
    return st.lists(st.sampled_from(served_layouts(claims)), min_size=1, max_size=3, unique=True).map(tuple)


BUDGETS = st.sampled_from([(rows, odd) for odd in (0, 0, 1) for rows in (1, 2, 3, 4, 6, 9, 1000, 1000)])
"""Rows that fit, and bytes beyond them: tiny budgets evict the shared item while the new one is written."""
