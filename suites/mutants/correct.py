"""Correct implementations that look unlike ours: the suite must pass them, or it judges how a mask or a cache is made."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from impl.cache import GEMMA4, Gemma4EncoderCache, TensorLRUCache
from reference.cache_contracts import CacheClaims, Encoder, StoreClaims
from reference.contracts import Claims, Layout
from reference.dense import packed_mask
from reference.params import EMBEDDING_LENGTHS, KWARGS_HASH, MultimodalParams
from reference.rules import MaskRule
from reference.tokens import MaskBatch


class Rewrapped:
    """The oracle behind copies of its inputs, in another dtype, with another stride, on the CPU."""

    claims = Claims()

    def build(self, batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> Tensor:
        """As :meth:`reference.contracts.MaskBuilder.build`."""
        copies = {
            name: _spread(tensor)
            for name in ("token_types", "prefix_types", "item_ids", "prefix_item_ids")
            if (tensor := getattr(batch, name)) is not None
        }
        again = MaskBatch(query_lengths=batch.query_lengths, prefix_lengths=batch.prefix_lengths, **copies)
        return packed_mask(again, rule).to(batch.device)


def _spread(tensor: Tensor) -> Tensor:
    """A copy in int64 with two other elements between each two."""
    kept = torch.full((3 * tensor.numel() + 1,), 7, dtype=torch.int64)[1::3]
    # uint64 item ids beyond int64 wrap round, each to an id of its own.
    kept[: tensor.numel()] = tensor.cpu().view(torch.int64) if tensor.dtype is torch.uint64 else tensor.cpu().to(torch.int64)
    return kept[: tensor.numel()]


REWRAPPED = Rewrapped()


class LengthlessStore(TensorLRUCache):
    """Its keys lack the length, so that colliding items take each other's place."""

    def get(self, key: Any) -> Tensor | None:
        return super().get((*key[:2], *key[3:]))

    def put(self, key: Any, value: Tensor) -> bool:
        return super().put((*key[:2], *key[3:]), value)

    def pop(self, key: Any) -> Tensor | None:
        return super().pop((*key[:2], *key[3:]))


class LengthlessKeys:
    """An encoder cache that learns of a collision from the rows of the hit alone, as SGLang's does."""

    claims = GEMMA4.claims

    def make(self, encoder: Encoder, max_bytes: int, warn: Callable[[str], None]) -> Gemma4EncoderCache:
        return Gemma4EncoderCache(encoder, LengthlessStore(max_bytes), warn)


class TwoCalls:
    """As TensorRT-LLM: residuals in one call, full misses in another, a repeated item encoded wherever it stands.

    Nobody sees the store, which forgets what came first.
    """

    claims = CacheClaims(
        layouts=frozenset({"gemma4-image", "gemma4-video"}),
        batch_duplicates=False,
        collisions=False,
        weights=False,
        clear=False,
        store=False,
    )

    def make(self, encoder: Encoder, max_bytes: int, warn: Callable[[str], None]) -> _TwoCalls:
        return _TwoCalls(encoder, max_bytes, warn)


class _TwoCalls:
    def __init__(self, encoder: Encoder, max_bytes: int, warn: Callable[[str], None]) -> None:
        self._encoder, self._max_bytes, self._warn = encoder, max_bytes, warn
        self._held: dict[str, Tensor] = {}
        self._warned = False

    def embed(self, params: Sequence[MultimodalParams]) -> list[Tensor]:
        names = [_names(param) for param in params]
        found = [[self._held.get(name) for name in request] for request in names]
        missing = [[i for i, rows in enumerate(request) if rows is None] for request in found]
        partial = [r for r, request in enumerate(found) if 0 < len(missing[r]) < len(request)]
        for r in [r for r in partial if params[r].modality() == "video"]:
            if not self._warned:
                self._warn("a video is encoded again")
            self._warned = True
            partial.remove(r)
            missing[r] = list(range(len(found[r])))
        full = [r for r in range(len(params)) if r not in partial and (missing[r] or not found[r])]

        encoded: dict[int, Tensor] = {}
        for requests, inputs in (
            (partial, [_residual(params[r], missing[r]) for r in partial]),
            (full, [params[r] for r in full]),
        ):
            encoded.update(zip(requests, self._encoder(inputs) if inputs else (), strict=True))

        results = []
        for r, (param, request) in enumerate(zip(params, names, strict=True)):
            if not request:
                results.append(encoded[r].clone())
                continue
            lengths: list[int] = param.multimodal_data[EMBEDDING_LENGTHS]
            fresh = encoded[r].split([lengths[i] for i in missing[r]]) if r in encoded else ()
            for i, rows in zip(missing[r], fresh, strict=True):
                found[r][i] = rows
                self._keep(request[i], rows.clone())
            results.append(torch.cat([rows for rows in found[r] if rows is not None]))
        return results

    def _keep(self, name: str, rows: Tensor) -> None:
        if rows.nbytes > self._max_bytes:
            return
        self._held[name] = rows
        while sum(one.nbytes for one in self._held.values()) > self._max_bytes:
            del self._held[next(one for one in self._held if one != name)]


def _names(param: MultimodalParams) -> list[str]:
    """A key an item; none for a request that cannot be keyed."""
    lengths, options = param.multimodal_data[EMBEDDING_LENGTHS], param.multimodal_data[KWARGS_HASH]
    hashes = param.multimodal_input.multimodal_hashes if param.multimodal_input else []
    if options is None or len(hashes) != len(lengths):
        return []
    return [repr((param.modality(), *one, options)) for one in zip(hashes, lengths, strict=True)]


def _residual(param: MultimodalParams, indices: list[int]) -> MultimodalParams:
    def cut(values: Any) -> Any:
        return values[indices] if isinstance(values, Tensor) else [values[i] for i in indices]

    given = param.multimodal_input
    assert given is not None
    data = dict(param.multimodal_data)
    data["image"] = {name: cut(values) for name, values in data["image"].items()}
    data[EMBEDDING_LENGTHS] = cut(data[EMBEDDING_LENGTHS])
    kept = {
        name: cut(values)
        for name, values in vars(given).items()
        if name.startswith(("multimodal_hashes", "multimodal_positions", "multimodal_lengths")) and values is not None
    }
    return MultimodalParams(replace(given, multimodal_uuids=None, **kept), data)


class CopyingStore:
    """Copies what goes in and what comes out, and adds its bytes up whenever it is asked."""

    claims = StoreClaims(statistics=False, threads=False, checks_values=False)

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._entries: list[tuple[Hashable, Tensor]] = []

    @property
    def current_bytes(self) -> int:
        return sum(value.numel() * value.element_size() for _, value in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Tensor | None:
        value = self.pop(key)
        if value is None:
            return None
        self._entries.append((key, value))
        return value.clone()

    def put(self, key: Hashable, value: Tensor) -> bool:
        if value.numel() * value.element_size() > self.max_bytes:
            return False
        self.pop(key)
        self._entries.append((key, value.detach().clone()))
        while self.current_bytes > self.max_bytes:
            self._entries.pop(0)
        return True

    def pop(self, key: Hashable) -> Tensor | None:
        for index, (held, value) in enumerate(self._entries):
            if held == key:
                del self._entries[index]
                return value
        return None

    def clear(self) -> None:
        self._entries.clear()


class ContentStore(TensorLRUCache):
    """Its keys are hashes of content: a value under a known one is not looked at, and entries leave by eviction alone."""

    claims = StoreClaims(replaces=False, removes=False, streams=True)

    def put(self, key: Hashable, value: Tensor) -> bool:
        with self._lock:
            if isinstance(value, Tensor) and key in self._entries:
                self._entries.move_to_end(key)
                self._replacements += 1
                return True
        return super().put(key, value)

    def pop(self, key: Hashable) -> Tensor | None:
        raise NotImplementedError("entries leave by eviction alone")
