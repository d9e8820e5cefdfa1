"""The generic encoder cache: look up every item, encode what is missing in one call, return rows in item order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from reference.cache_contracts import Encoder, TensorStore
from reference.params import ATTACHED, EMBEDDING_LENGTHS, KWARGS_HASH, MODALITIES, MultimodalParams

Fields = dict[str, Any]
"""The raw inputs of one modality: ``multimodal_data[modality]``."""


@dataclass
class EncoderCachePartition:
    """What a look-up found of one request.

    Attributes:
        keys: Key of every item.
        hits: Item -> its cached embedding.
        pending: Items that an earlier place of the batch encodes.
        misses: Items to encode, in order.
    """

    keys: list[Hashable]
    hits: dict[int, Tensor] = field(default_factory=dict)
    pending: set[int] = field(default_factory=set)
    misses: list[int] = field(default_factory=list)

    @property
    def is_partial(self) -> bool:
        """Whether some items are missing and others are not."""
        return 0 < len(self.misses) < len(self.keys)

    def whole(self) -> EncoderCachePartition:
        """The same request with every item to be encoded."""
        return EncoderCachePartition(self.keys, misses=list(range(len(self.keys))))


class EncoderCache:
    """As :class:`reference.cache_contracts.CacheSystem`, for layouts that many models share.

    A model with layouts of its own overrides :meth:`obstacle` and :meth:`cut`, and :meth:`uncut` if it can do without.

    Args:
        encoder: Encodes requests.
        store: Keeps the embeddings of items.
        warn: Called once a kind of warning.
    """

    def __init__(self, encoder: Encoder, store: TensorStore, warn: Callable[[str], None]) -> None:
        self.store = store
        self._encoder = encoder
        self._warn = warn
        self._warned: set[str] = set()
        self._weights: Hashable = 0

    def update_weights(self, version: Hashable) -> None:
        """Makes embeddings of other weights unreachable; no other cache is touched."""
        self._weights = version

    def clear(self) -> None:
        """Forgets every embedding."""
        self.store.clear()

    def embed(self, params: Sequence[MultimodalParams]) -> list[Tensor]:
        """As :meth:`reference.cache_contracts.CacheSystem.embed`."""
        keys = [self.keys(param) for param in params]  # refuses bad input before anything is looked up
        scheduled: set[Hashable] = set()
        parts = [self.partition(param, k, scheduled) for param, k in zip(params, keys, strict=True)]
        inputs = [self._encoder_input(param, part) for param, part in zip(params, parts, strict=True)]
        wanted = [one for one in inputs if one is not None]
        outputs = iter(self._encode(wanted))

        fresh: dict[Hashable, Tensor] = {}
        embedded: list[Tensor | list[Tensor]] = []
        for param, part, one in zip(params, parts, inputs, strict=True):
            output = next(outputs) if one is not None else None
            if part is None:
                embedded.append(param.multimodal_data[ATTACHED] if output is None else output)
                continue
            if one is not None and output is not None:
                pieces = torch.split(output, one.multimodal_data[EMBEDDING_LENGTHS])
                fresh.update((part.keys[i], piece) for i, piece in zip(part.misses, pieces, strict=True))
            embedded.append([part.hits[i] if i in part.hits else fresh[key] for i, key in enumerate(part.keys)])
        for key, rows in fresh.items():
            self.store.put(key, rows)
        # Concatenated even where there is one piece: a result never shares memory with an entry.
        return [torch.cat(rows) if isinstance(rows, list) else rows for rows in embedded]

    def keys(self, param: MultimodalParams) -> list[Hashable] | None:
        """The key of every item, or None for a request that cannot be keyed: it is encoded whole, and not written.

        Raises:
            TypeError: ``multimodal_data[modality]`` is no dict.
        """
        data = param.multimodal_data
        for name in MODALITIES:
            if name in data and not isinstance(data[name], dict):
                raise TypeError(f"multimodal_data[{name!r}] is a {type(data[name]).__name__}, expected a dict of fields")
        modality, lengths, options = param.modality(), data.get(EMBEDDING_LENGTHS), data.get(KWARGS_HASH)
        if ATTACHED in data or param.multimodal_input is None or modality is None or options is None:
            return None
        hashes = param.multimodal_input.multimodal_hashes
        if not isinstance(lengths, list) or len(lengths) != len(hashes) or not hashes:
            return None
        named = data.get("modality_type", modality)
        if named != modality:
            return None
        return [
            (modality, tuple(content), int(length), options, self._weights)
            for content, length in zip(hashes, lengths, strict=True)
        ]

    def partition(
        self, param: MultimodalParams, keys: list[Hashable] | None, scheduled: set[Hashable]
    ) -> EncoderCachePartition | None:
        """Looks every item up, in item order.

        Args:
            param: The request.
            keys: Its keys.
            scheduled: Keys that earlier places of the batch encode; those of this request are added.

        Returns:
            What was found; None for a request that cannot be keyed.
        """
        if keys is None:
            return None
        part = EncoderCachePartition(keys)
        for index, (key, length) in enumerate(zip(keys, param.multimodal_data[EMBEDDING_LENGTHS], strict=True)):
            if key in scheduled or key in {keys[i] for i in part.misses}:
                part.pending.add(index)
                continue
            rows = self.store.get(key)
            if rows is not None and rows.shape[0] != length:
                self.store.pop(key)  # another item under the same key
                rows = None
            if rows is None:
                part.misses.append(index)
            else:
                part.hits[index] = rows
        if part.is_partial:
            modality = str(param.modality())
            fields = param.multimodal_data[modality]
            obstacle = self.obstacle(modality, fields, len(keys))
            if obstacle and part.hits:
                part = self.uncut(modality, fields, part, obstacle)
            elif obstacle:  # no hit, only duplicates within the batch: nothing is lost by encoding them twice
                part = part.whole()
        scheduled.update(keys[i] for i in part.misses)
        return part

    def obstacle(self, modality: str, fields: Fields, items: int) -> str | None:
        """Why :meth:`cut` cannot cut these fields; None if it can."""
        if modality == "image" and "pixel_values" in fields and {"image_grid_thw", "image_sizes"} & fields.keys():
            return None
        if modality == "video" and {"pixel_values_videos", "video_grid_thw"} <= fields.keys():
            return None
        if modality == "audio" and "input_features" in fields:
            return None
        return f"cannot cut {modality} inputs with the fields {sorted(fields)}"

    def uncut(self, modality: str, fields: Fields, part: EncoderCachePartition, obstacle: str) -> EncoderCachePartition:
        """What a partial hit on inputs that cannot be cut becomes.

        Raises:
            NotImplementedError: Always, here; a model that can afford it returns ``part.whole()``.
        """
        raise NotImplementedError(obstacle)

    def warn_once(self, kind: str, message: str) -> None:
        """Warns unless it did so of this kind before."""
        if kind not in self._warned:
            self._warned.add(kind)
            self._warn(message)

    def residual(self, param: MultimodalParams, indices: Sequence[int]) -> MultimodalParams:
        """A request of only some items, in the order given; the source is not written.

        Everything that is said of each item is cut alike. What belongs to the whole request's run through the model
        (``multimodal_runtime``, ``mm_item_order``, ``encoder_event``) is dropped, the rest of ``multimodal_data`` kept.

        Args:
            param: A request whose modality is one.
            indices: Items, in any order.

        Raises:
            IndexError: An index names no item.
            NotImplementedError: The request has several modalities, or a layout that cannot be cut.
        """
        data = param.multimodal_data
        modality, lengths = param.modality(), data[EMBEDDING_LENGTHS]
        for index in indices:
            if not 0 <= index < len(lengths):
                raise IndexError(f"item index {index} is out of range, expected 0 to {len(lengths) - 1}")
        if modality is None:
            present = [name for name in MODALITIES if name in data]
            raise NotImplementedError(f"cannot cut a request of the modalities {present}, expected exactly one")
        if param.encoder_event is not None:
            param.encoder_event.wait()
        given = param.multimodal_input
        cut = {
            modality: self.cut(modality, data[modality], len(lengths), indices),
            EMBEDDING_LENGTHS: _take(lengths, indices),
        }
        return MultimodalParams(
            multimodal_input=given
            and replace(
                given,
                multimodal_hashes=_take(given.multimodal_hashes, indices),
                multimodal_positions=_take(given.multimodal_positions, indices),
                multimodal_lengths=_take(given.multimodal_lengths, indices),
                multimodal_uuids=given.multimodal_uuids and _take(given.multimodal_uuids, indices),
                multimodal_item_run_cu_offsets=None,
                multimodal_run_positions=None,
                multimodal_run_lengths=None,
            ),
            multimodal_data={**data, **cut},
            input_ids_start_offset=param.input_ids_start_offset,
        )

    def cut(self, modality: str, fields: Fields, items: int, indices: Sequence[int]) -> Fields:
        """The fields of only some items.

        Knows packed grids (Qwen2-VL), ``image_sizes`` (Pixtral) and ``input_features`` (Whisper).

        Raises:
            NotImplementedError: There is an :meth:`obstacle`.
            ValueError: The fields contradict each other.
        """
        obstacle = self.obstacle(modality, fields, items)
        if obstacle:
            raise NotImplementedError(obstacle)
        if modality == "image" and "image_grid_thw" in fields:
            return cut_packed_grid(fields, "pixel_values", "image_grid_thw", items, indices)
        if modality == "video":
            return cut_packed_grid(fields, "pixel_values_videos", "video_grid_thw", items, indices)
        cut = cut_item_major(fields, items, indices)
        if modality == "image" and cut["pixel_values"].dim() >= 4:
            # Padding of an image that is gone would reach the encoder as part of the others.
            height, width = (int(size) for size in torch.as_tensor(cut["image_sizes"]).amax(0))
            cut["pixel_values"] = cut["pixel_values"][..., :height, :width]
        return cut

    def _encoder_input(self, param: MultimodalParams, part: EncoderCachePartition | None) -> MultimodalParams | None:
        if part is None:
            return None if ATTACHED in param.multimodal_data else param
        if not part.misses:
            return None
        return self.residual(param, part.misses) if part.is_partial else param

    def _encode(self, inputs: list[MultimodalParams]) -> Sequence[Tensor]:
        outputs = self._encoder(inputs) if inputs else []
        if len(outputs) != len(inputs):
            raise ValueError(f"the encoder returned {len(outputs)} tensors, expected {len(inputs)}, one a request")
        for index, (one, output) in enumerate(zip(inputs, outputs, strict=True)):
            lengths = one.multimodal_data.get(EMBEDDING_LENGTHS)
            if isinstance(lengths, list) and output.shape[0] != sum(lengths):
                raise ValueError(
                    f"the encoder returned {output.shape[0]} rows for request {index}, expected {sum(lengths)} = "
                    f"sum of {EMBEDDING_LENGTHS} {lengths}; nothing was cached"
                )
        return outputs


def cut_item_major(fields: Fields, items: int, indices: Sequence[int]) -> Fields:
    """Cuts every tensor whose first axis counts the items, and every list with an entry an item."""
    return {name: _cut_field(value, items, indices) for name, value in fields.items()}


def cut_packed_grid(fields: Fields, pixels: str, grid: str, items: int, indices: Sequence[int]) -> Fields:
    """Cuts patches that are packed along the first axis, ``prod(grid)`` of them an item.

    Raises:
        ValueError: The grid has another number of items, or the patches do not add up.
    """
    counts = fields[grid].prod(1).tolist()
    if len(counts) != items or sum(counts) != fields[pixels].shape[0]:
        raise ValueError(
            f"{grid} says {len(counts)} items of {sum(counts)} patches in all, expected {items} items and "
            f"{fields[pixels].shape[0]} patches, as {pixels} has"
        )
    patches = fields[pixels].split(counts)
    rest = {name: value for name, value in fields.items() if name != pixels}
    return {pixels: torch.cat([patches[i] for i in indices]), **cut_item_major(rest, items, indices)}


def _cut_field(value: Any, items: int, indices: Sequence[int]) -> Any:
    if isinstance(value, Tensor) and value.dim() and value.shape[0] == items:
        return value[list(indices)]
    if isinstance(value, list) and len(value) == items:
        return _take(value, indices)
    return value


def _take(values: list[Any], indices: Sequence[int]) -> list[Any]:
    return [values[i] for i in indices]
