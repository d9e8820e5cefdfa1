"""Known-bad encoder caches.

Of the fault kinds F20 to F33 of the catalogue, these are outside of what an encoder cache's contract can express:

* F31, reuse of KV blocks: there are no token blocks here. Its other half, malformed metadata that fails open, is
  CACHE-REFUSE-1.
* F32, rows and placeholders under prefix reuse, look-ahead or padded launches: a cache returns whole requests and sees no
  tokens.

Of F22, F26 and F27, reference counts and notices of eviction between two processes are outside; what is left is that an
entry is looked up as it was written, and is there as long as a batch uses it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from torch import Tensor

from impl.cache import GEMMA4, Gemma4EncoderCache, TensorLRUCache
from impl.cache.encoder_cache import Fields
from reference.cache_contracts import CacheClaims, Encoder
from reference.params import MultimodalParams
from suites.mutants.correct import LengthlessStore
from suites.mutants.mutant import Mutant
from suites.mutants.stores import BOUNDED, OVERSIZE, STORE, KnownBad

METADATA = "https://github.com/NVIDIA/TensorRT-LLM/pull/17231"
REWRITTEN = "https://github.com/NVIDIA/TensorRT-LLM/pull/15734"
TWO_KEYS = "https://github.com/sgl-project/sglang/pull/20162"
COLLISION = "https://github.com/sgl-project/sglang/pull/36595"
OPTIONS = "https://github.com/vllm-project/vllm/pull/49975"
EMBEDDED_ID = "https://github.com/vllm-project/vllm/pull/51899"
WEIGHTS = "https://github.com/vllm-project/vllm/issues/44910"
CUT_HASH = "https://github.com/LMCache/LMCache/pull/4783"
FIRST_KEY = "https://github.com/NVIDIA/TensorRT-LLM/pull/12472"
REPEATED = "https://github.com/vllm-project/vllm/pull/54284"
RAGGED = "https://github.com/vllm-project/vllm/pull/50958"
ITEM_AXIS = "https://github.com/vllm-project/vllm-omni/pull/451"
BY_MODALITY = "https://github.com/osaurus-ai/vmlx-swift/pull/298"
REPEAT = "https://github.com/vllm-project/vllm-omni/pull/7766"
SYSTEM = "encoder_cache.py"
GEMMA = "gemma4.py"

_bad: Callable[..., KnownBad] = partial(KnownBad, "cache")


class _Made:
    """An implementation that makes ``cache`` over ``store``."""

    claims: ClassVar[CacheClaims] = GEMMA4.claims

    def __init__(self, cache: type[Gemma4EncoderCache] = Gemma4EncoderCache, store: type[TensorLRUCache] = TensorLRUCache):
        self._cache, self._store = cache, store

    def make(self, encoder: Encoder, max_bytes: int, warn: Callable[[str], None]) -> Gemma4EncoderCache:
        return self._cache(encoder, self._store(max_bytes), warn)


def _collision(id: str, sentence: str, new: str) -> Mutant:
    """The check of a hit's length changed, over a store whose keys hold no length, so that the check is needed."""
    copy = _bad(id, "F23", "CACHE-KEY-5", sentence, COLLISION).edit(SYSTEM, _LENGTH, new, made="Gemma4EncoderCache")
    return replace(copy, make=lambda folder: _Made(copy.make(folder), LengthlessStore))  # type: ignore[arg-type]


class _ForEver(TensorLRUCache):
    """Evicted values stay readable, and uncharged."""

    def put(self, key: Hashable, value: Tensor) -> bool:
        self.__dict__.setdefault("shadow", {})[key] = value.clone()
        return super().put(key, value)

    def get(self, key: Hashable) -> Tensor | None:
        rows = super().get(key)
        return self.__dict__.get("shadow", {}).get(key) if rows is None else rows

    def clear(self) -> None:
        super().clear()
        self.__dict__.pop("shadow", None)


class _ForEverThatFits(_ForEver):
    def put(self, key: Hashable, value: Tensor) -> bool:
        return value.nbytes <= self.max_bytes and super().put(key, value)


class _RefusesAgain(TensorLRUCache):
    def put(self, key: Hashable, value: Tensor) -> bool:
        taken = super().put(key, value)
        if self.stats().rejected_insertions > 1:
            raise ValueError("larger than the cache")
        return taken


class _ClearsAll(Gemma4EncoderCache):
    alive: ClassVar[weakref.WeakSet[_ClearsAll]] = weakref.WeakSet()

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.alive.add(self)

    def update_weights(self, version: Hashable) -> None:
        super().update_weights(version)
        for cache in self.alive:
            cache.clear()


class _Tires(Gemma4EncoderCache):
    batches = 0

    def embed(self, params: Sequence[MultimodalParams]) -> list[Tensor]:
        self.batches += 1
        results = super().embed(params)
        return results if self.batches <= 5 else [result.flip(0) for result in results]


class _LastResult(Gemma4EncoderCache):
    last: Sequence[Tensor] = ()

    def embed(self, params: Sequence[MultimodalParams]) -> list[Tensor]:
        results = super().embed(params)
        if [one.shape for one in results] != [one.shape for one in self.last]:
            self.last = [result.clone() for result in results]
        return [result.clone() for result in self.last]


class _SameShape(Gemma4EncoderCache):
    def embed(self, params: Sequence[MultimodalParams]) -> list[Tensor]:
        seen: dict[object, Tensor] = {}
        return [seen.setdefault(result.shape, result).clone() for result in super().embed(params)]


class _Strips(Gemma4EncoderCache):
    def embed(self, params: Sequence[MultimodalParams]) -> list[Tensor]:
        results = super().embed(params)
        for param in params:
            param.multimodal_data.pop(str(param.modality()), None)
        return results


class _Attaches(Gemma4EncoderCache):
    seen: Sequence[Hashable] = ()

    def embed(self, params: Sequence[MultimodalParams]) -> list[Tensor]:
        results = super().embed(params)
        if len(params) > 2:
            params[-1].multimodal_data["multimodal_embedding"] = results[-1]
        return results


class _RefusalEmpties(Gemma4EncoderCache):
    def embed(self, params: Sequence[MultimodalParams]) -> list[Tensor]:
        try:
            return super().embed(params)
        except ValueError:
            self.clear()
            raise


class _RefusesLate(Gemma4EncoderCache):
    def embed(self, params: Sequence[MultimodalParams]) -> list[Tensor]:
        try:
            return super().embed(params)
        except TypeError:
            super().embed(params[:1])
            raise


class _ShortestClip(Gemma4EncoderCache):
    def cut(self, modality: str, fields: Fields, items: int, indices: Sequence[int]) -> Fields:
        cut = super().cut(modality, fields, items, indices)
        if "audio_features_mask" not in cut:
            return cut
        shortest = int(cut["audio_features_mask"].sum(1).min())
        return {name: value[:, :shortest] for name, value in cut.items()}


_KEY = "(modality, tuple(content), int(length), options, self._weights)\n"
_ALL_KEYS = "keys = [self.keys(param) for param in params]"
_ASSEMBLE = "embedded.append([part.hits[i] if i in part.hits else fresh[key] for i, key in enumerate(part.keys)])"
_CUT_LIST = "    if isinstance(value, list) and len(value) == items:\n"
_CUT_TENSOR = "return value[list(indices)]"
_CUT_ALL = "return {name: _cut_field(value, items, indices) for name, value in fields.items()}"
_CROP = 'cut["pixel_values"] = cut["pixel_values"][..., :height, :width]'
_CLEAR = "        self.store.clear()\n"
_ENCODE = "outputs = self._encoder(inputs) if inputs else []"
_HIT = "                part.hits[index] = rows\n"
_JOIN = "return [torch.cat(rows) if isinstance(rows, list) else rows for rows in embedded]"
_LENGTH = "rows.shape[0] != length:"
_NAME = "fresh.update((part.keys[i], piece) for i, piece in zip(part.misses, pieces, strict=True))"
_PENDING = "if key in scheduled or key in {keys[i] for i in part.misses}:"
_PUT = "            self.store.put(key, rows)\n"
_SCHEDULE = "        scheduled.update(keys[i] for i in part.misses)\n"
_SPLIT = "torch.split(output, one.multimodal_data[EMBEDDING_LENGTHS])"
_WRITE = "        for key, rows in fresh.items():\n"
_WARN = "            self._warn(message)\n"

CACHE_MUTANTS: list[Mutant] = [
    # F20: the key does not identify the content.
    _bad("hash-alone", "F20", "CACHE-KEY-1", "The key is the hash alone.", COLLISION).edit(
        SYSTEM, _KEY, "(tuple(content),)\n"
    ),
    _bad("hash-first-word", "F20", "CACHE-KEY-1", "Only the first of the 8 words of a hash is in the key.", CUT_HASH).edit(
        SYSTEM, _KEY, "(modality, content[0], int(length), options, self._weights)\n"
    ),
    _bad("hash-sixteen-bits", "F20", "CACHE-KEY-1", "Every word of a hash is cut to 16 bits.", CUT_HASH).edit(
        SYSTEM, _KEY, "(modality, tuple(word & 0xFFFF for word in content), int(length), options, self._weights)\n"
    ),
    _bad("hash-last-words", "F20", "CACHE-KEY-1", "The first word of a hash is not in the key.", CUT_HASH).edit(
        SYSTEM, _KEY, "(modality, tuple(content[1:]), int(length), options, self._weights)\n"
    ),
    _bad("hash-of-long-items", "F20", "CACHE-KEY-1", "All items of one row share a key.").edit(
        SYSTEM, _KEY, "(modality, tuple(content) if length > 1 else (), int(length), options, self._weights)\n"
    ),
    _bad(
        "modality-forgotten",
        "F20",
        "CACHE-KEY-1",
        "The modality is not in the key: an image and a clip of one hash and length share rows.",
    ).edit(SYSTEM, _KEY, "(tuple(content), int(length), options, self._weights)\n"),
    _bad(
        "name-for-hash",
        "F20",
        "CACHE-KEY-1",
        "Where the user names the items, the names stand for their hashes.",
        EMBEDDED_ID,
    ).edit(
        SYSTEM,
        "hashes = param.multimodal_input.multimodal_hashes\n",
        "hashes = param.multimodal_input.multimodal_uuids or param.multimodal_input.multimodal_hashes\n",
    ),
    _bad(
        "first-hash-for-all",
        "F20",
        "CACHE-KEY-1",
        "Every item of a request has the hash of its first one in its key.",
        FIRST_KEY,
    ).edit(SYSTEM, _KEY, "(modality, tuple(hashes[0]), int(length), options, self._weights)\n"),
    _bad("key-of-length", "cheat", "CACHE-KEY-1", "Items of one modality and length share a key.").edit(
        SYSTEM, _KEY, "(modality, int(length), options, self._weights)\n"
    ),
    # F21: the key lacks options or weights.
    _bad("options-forgotten", "F21", "CACHE-KEY-3", "Processor options are not in the key.", OPTIONS).edit(
        SYSTEM, _KEY, "(modality, tuple(content), int(length), self._weights)\n"
    ),
    _bad("options-of-images", "F21", "CACHE-KEY-3", "Processor options are in the keys of images alone.", OPTIONS).edit(
        SYSTEM, _KEY, '(modality, tuple(content), int(length), options if modality == "image" else "", self._weights)\n'
    ),
    _bad(
        "options-first-letter",
        "F21",
        "CACHE-KEY-3",
        "Of the hash of the processor options only the beginning is in the key.",
        OPTIONS,
    ).edit(SYSTEM, _KEY, "(modality, tuple(content), int(length), options[:1], self._weights)\n"),
    _bad("unkeyable-written", "F21", "CACHE-KEY-3", "A request without processor options is cached.").edit(
        SYSTEM, "or modality is None or options is None:", "or modality is None:"
    ),
    _bad(
        "no-input-refused", "F21", "CACHE-KEY-3", "A request without multimodal_input is no plain miss, but an error."
    ).edit(SYSTEM, "or param.multimodal_input is None or modality", "or modality"),
    _bad(
        "uneven-refused",
        "F21",
        "CACHE-KEY-3",
        "A request with another number of hashes than of lengths is no plain miss, but an error.",
    ).edit(SYSTEM, "or len(lengths) != len(hashes) or not hashes", "or not hashes"),
    _bad(
        "weights-forgotten", "F21", "CACHE-KEY-4", "The weights are not in the key: what others made is served.", WEIGHTS
    ).edit(SYSTEM, _KEY, "(modality, tuple(content), int(length), options)\n"),
    _bad("weights-of-images", "F21", "CACHE-KEY-4", "The weights are in the keys of images alone.", WEIGHTS).edit(
        SYSTEM, _KEY, '(modality, tuple(content), int(length), options, self._weights if modality == "image" else 0)\n'
    ),
    _bad("weights-updated-once", "F21", "CACHE-KEY-4", "Only the first update of the weights is noticed.", WEIGHTS).edit(
        SYSTEM, "        self._weights = version\n", "        self._weights = bool(version)\n"
    ),
    _bad(
        "weights-odd-or-even",
        "F21",
        "CACHE-KEY-4",
        "Every second update of the weights brings the embeddings of the last but one back.",
        WEIGHTS,
    ).edit(SYSTEM, "        self._weights = version\n", "        self._weights = version % 2\n"),
    _bad(
        "weights-clear-all", "F21", "CACHE-KEY-4", "An update of the weights clears every cache of the process.", WEIGHTS
    ).by(_Made(cache=_ClearsAll)),
    # F22: an entry is not looked up as it was written.
    _bad("place-in-key", "F22", "CACHE-PARTITION-1", "The place of an item in its request is in its key.", TWO_KEYS).edit(
        SYSTEM, _KEY, "(modality, tuple(content), int(length), options, self._weights, hashes.index(content))\n"
    ),
    _bad(
        "neighbours-in-key",
        "F22",
        "CACHE-PARTITION-1",
        "The hashes of all items of a request are in each key: only the same request finds them.",
        TWO_KEYS,
    ).edit(SYSTEM, _KEY, "(modality, tuple(content), int(length), options, self._weights, repr(hashes))\n"),
    _bad(
        "audio-written-elsewhere",
        "F22",
        "CACHE-PARTITION-1",
        "Clips are written under another key than they are looked up by.",
        TWO_KEYS,
    ).edit(SYSTEM, _PUT, '            self.store.put(repr(key) if key[0] == "audio" else key, rows)\n'),
    _bad(
        "later-requests-keyed-apart",
        "F22",
        "CACHE-ENCODE-2",
        "The keys of the first request of a batch differ from those of the others.",
        FIRST_KEY,
    ).edit(SYSTEM, _ALL_KEYS, "keys = [k and [(*key, n > 0) for key in k] for n, k in enumerate(map(self.keys, params))]"),
    _bad("fresh-rows-misnamed", "F22", "CACHE-ORDER-1", "The rows of a residual are given to its items in reverse.").edit(
        SYSTEM, _NAME, _NAME.replace("zip(part.misses,", "zip(reversed(part.misses),")
    ),
    _bad(
        "fourth-fresh-rows-misnamed",
        "F22",
        "CACHE-ORDER-1",
        "From the third missing item on, fresh rows are given in reverse; shows at four or more.",
    ).edit(SYSTEM, _NAME, _NAME.replace("zip(part.misses,", "zip(part.misses[:2] + part.misses[:1:-1],")),
    # F23: a hit is used without checking its length.
    _bad(
        "length-unchecked",
        "F23",
        "CACHE-KEY-1",
        "The embedding length is not in the key: collisions within a batch share rows.",
        COLLISION,
    ).edit(SYSTEM, _KEY, "(modality, tuple(content), options, self._weights)\n"),
    _collision("collision-served", "A hit of another length is served.", "rows.shape[0] < 0:"),
    _collision("longer-hit-served", "A hit of more rows than expected is served.", "rows.shape[0] < length:"),
    _collision("first-hit-checked", "Only the first item's hit is checked for its length.", "index == 0 and " + _LENGTH),
    # F24: a partial hit is cut wrongly.
    _bad("positions-whole", "F24", "CACHE-RESIDUAL-1", "Position ids are passed whole.", METADATA).edit(
        SYSTEM,
        _CUT_ALL,
        'return {n: v if n == "image_position_ids" else _cut_field(v, items, indices) for n, v in fields.items()}',
    ),
    _bad("grid-rows-whole", "F24", "CACHE-RESIDUAL-1", "The grid of packed patches is passed whole.").edit(
        SYSTEM, _CUT_ALL, 'return {n: v if n.endswith("thw") else _cut_field(v, items, indices) for n, v in fields.items()}'
    ),
    _bad(
        "lists-whole",
        "F24",
        "CACHE-RESIDUAL-1",
        "Lists with an entry an item are passed whole: sequence lengths, seconds a grid.",
        METADATA,
    ).edit(SYSTEM, _CUT_LIST, "    if isinstance(value, tuple) and len(value) == items:\n"),
    _bad("lengths-whole", "F24", "CACHE-RESIDUAL-1", "Embedding lengths are passed whole.", METADATA).edit(
        SYSTEM, "EMBEDDING_LENGTHS: _take(lengths, indices),", "EMBEDDING_LENGTHS: lengths,"
    ),
    _bad("hashes-of-the-first", "F24", "CACHE-RESIDUAL-1", "The hashes of the first items go with the missing ones.").edit(
        SYSTEM,
        "multimodal_hashes=_take(given.multimodal_hashes, indices)",
        "multimodal_hashes=given.multimodal_hashes[: len(indices)]",
    ),
    _bad("grid-in-items", "F24", "CACHE-RESIDUAL-1", "Packed patches are cut by item.").edit(
        SYSTEM, "pixels: torch.cat([patches[i] for i in indices])", "pixels: fields[pixels][list(indices)]"
    ),
    _bad(
        "grid-without-time",
        "F24",
        "CACHE-RESIDUAL-1",
        "Patches are counted by height and width; shows only in grids of several frames.",
    ).edit(SYSTEM, "    counts = fields[grid].prod(1).tolist()\n", "    counts = fields[grid][:, 1:].prod(1).tolist()\n"),
    _bad(
        "tensors-from-the-end",
        "F24",
        "CACHE-RESIDUAL-1",
        "Of tensors, the last items are kept; right where a request begins with its hits.",
        METADATA,
    ).edit(SYSTEM, _CUT_TENSOR, "return value[-len(indices) :]"),
    _bad(
        "tensors-in-one-piece",
        "F24",
        "CACHE-RESIDUAL-1",
        "Of tensors, as many items as are missing are kept from the first missing one on; wrong where a hit stands between.",
        METADATA,
    ).edit(SYSTEM, _CUT_TENSOR, "return value[indices[0] : indices[0] + len(indices)]"),
    _bad("sixth-item-repeats", "F24", "CACHE-RESIDUAL-1", "From the sixth item on, tensors of the fifth are passed.").edit(
        SYSTEM, _CUT_TENSOR, "return value[[min(i, 4) for i in indices]]"
    ),
    _bad("padding-kept", "F33", "CACHE-MATES-1", "Padding for an image that is gone stays.").edit(
        SYSTEM, _CROP, 'cut["pixel_values"] = cut["pixel_values"][..., :, :]'
    ),
    _bad(
        "padding-kept-in-width",
        "F33",
        "CACHE-MATES-1",
        "Padding for an image that is gone stays at the right, and goes at the bottom.",
    ).edit(SYSTEM, _CROP, 'cut["pixel_values"] = cut["pixel_values"][..., :height, :]'),
    _bad(
        "cropped-to-the-first",
        "F24",
        "CACHE-RESIDUAL-1",
        "The images of a residual are cropped to the size of its first one.",
    ).edit(SYSTEM, '.amax(0))\n            cut["pixel_values"]', '[0])\n            cut["pixel_values"]'),
    _bad(
        "request-lists-cut",
        "F24",
        "CACHE-RESIDUAL-2",
        "A list of the request that is as long as there are items is cut like one of the items.",
    ).edit(
        SYSTEM, "multimodal_data={**data, **cut},", "multimodal_data={**cut_item_major(data, len(lengths), indices), **cut},"
    ),
    _bad("options-dropped", "F24", "CACHE-RESIDUAL-2", "A residual has no processor options.").edit(
        SYSTEM, "multimodal_data={**data, **cut},", "multimodal_data=cut,"
    ),
    _bad("runtime-kept", "F24", "CACHE-RESIDUAL-2", "A residual has the progress and the item order of its source.").edit(
        SYSTEM,
        "            input_ids_start_offset=param.input_ids_start_offset,\n",
        "            multimodal_runtime=param.multimodal_runtime,\n            mm_item_order=param.mm_item_order,\n",
    ),
    _bad(
        "video-by-item",
        "F24",
        "CACHE-VIDEO-1",
        "A partial video hit is cut though nobody says where one video ends.",
        METADATA,
    ).edit(
        GEMMA,
        'return None if self._frames_are_told(fields, items) else "the frames of all items lie on one axis"',
        "return None",
    ),
    _bad(
        "whole-in-reverse", "F24", "CACHE-VIDEO-1", "A request that is encoded whole gives its rows to its items in reverse."
    ).edit(SYSTEM, "misses=list(range(len(self.keys)))", "misses=list(range(len(self.keys)))[::-1]"),
    _bad(
        "video-not-cached", "F24", "CACHE-VIDEO-2", "Videos are not cached, as if their full hits were partial.", METADATA
    ).edit(SYSTEM, "if named != modality:", 'if named != modality or modality == "video":'),
    _bad("video-hits-of-one", "F24", "CACHE-VIDEO-2", "A full hit on two videos or more is encoded again.", METADATA).edit(
        SYSTEM,
        "        if part.is_partial:\n",
        '        if param.modality() == "video" and len(part.hits) == len(keys) > 1:\n'
        "            part = part.whole()\n        if part.is_partial:\n",
    ),
    _bad("frames-of-neighbours", "F24", "CACHE-VIDEO-3", "A video is cut one frame early.").edit(
        GEMMA,
        "range(ends[i] - counts[i], ends[i])",
        "range(max(0, ends[i] - counts[i] - 1), ends[i] - 1 + (i == 0))",
        made="GEMMA4_FRAMES",
    ),
    _bad("frame-lists-whole", "F24", "CACHE-VIDEO-3", "Lists with an entry a frame are passed whole.").edit(
        GEMMA, "        elif isinstance(value, list):\n", "        elif isinstance(value, tuple):\n", made="GEMMA4_FRAMES"
    ),
    _bad("frame-counts-whole", "F24", "CACHE-VIDEO-3", "The frame counts of a residual are those of its source.").edit(
        GEMMA, "cut[FRAME_COUNTS] = [counts[i] for i in indices]", "cut[FRAME_COUNTS] = counts", made="GEMMA4_FRAMES"
    ),
    _bad("warns-always", "F24", "CACHE-FALLBACK-1", "Every partial hit that is encoded whole warns.", METADATA).edit(
        SYSTEM, "if kind not in self._warned:", "if kind:"
    ),
    _bad("warns-at-hits", "F24", "CACHE-FALLBACK-1", "Every hit warns.").edit(
        SYSTEM, _HIT, _HIT + "                self._warn(str(index))\n"
    ),
    _bad(
        "warns-at-repeats",
        "F24",
        "CACHE-FALLBACK-1",
        "A request that is encoded whole for a repeated item warns, though nothing was a hit.",
    ).edit(SYSTEM, "if obstacle and part.hits:", "if obstacle:"),
    _bad("warns-once-in-all", "F24", "CACHE-FALLBACK-1", "A partial hit on video leaves none to be said of audio.").edit(
        SYSTEM, "if kind not in self._warned:", "if not self._warned:"
    ),
    _bad(
        "warns-of-each-count",
        "F24",
        "CACHE-FALLBACK-1",
        "Clips without an item axis warn once for each number of clips.",
        METADATA,
    ).edit(GEMMA, 'f"gemma4_{modality}_partial_hit"', "message"),
    _bad("warns-again-when-cleared", "F24", "CACHE-FALLBACK-1", "After clear() the next partial hit warns again.").edit(
        SYSTEM, _CLEAR, _CLEAR + "        self._warned.clear()\n"
    ),
    _bad(
        "warns-again-with-new-weights", "F24", "CACHE-FALLBACK-1", "After new weights the next partial hit warns again."
    ).edit(SYSTEM, "        self._weights = version\n", "        self._weights = version\n        self._warned.clear()\n"),
    _bad("never-warns", "cheat", "CACHE-FALLBACK-1", "Nothing warns.").edit(SYSTEM, _WARN, "            pass\n"),
    _bad("warns-in-the-log", "cheat", "CACHE-FALLBACK-1", "Warnings go to the log, not to who asked for them.").edit(
        SYSTEM, _WARN, '            __import__("logging").getLogger(__name__).warning(message)\n'
    ),
    # F25: order.
    _bad("hits-first", "F25", "CACHE-ORDER-1", "Hits are placed before misses.").edit(
        SYSTEM,
        _ASSEMBLE,
        "embedded.append([*part.hits.values(), *(fresh[k] for i, k in enumerate(part.keys) if i not in part.hits)])",
    ),
    _bad("repeats-side-by-side", "F25", "CACHE-ORDER-1", "A, B, A comes back as A, A, B.", REPEAT).edit(
        SYSTEM,
        _ASSEMBLE,
        _ASSEMBLE.replace("in enumerate(", "in sorted(enumerate(").replace(
            ")])", "), key=lambda p: part.keys.index(p[1]))])"
        ),
    ),
    _bad(
        "rows-interleaved", "F25", "CACHE-ORDER-1", "The rows of items of one length are interleaved: first rows first."
    ).edit(
        SYSTEM,
        _JOIN,
        "return [\n            r if not isinstance(r, list) else torch.stack(r, 1).flatten(0, 1)\n"
        "            if len({len(one) for one in r}) == 1 else torch.cat(r) for r in embedded\n        ]",
    ),
    _bad("second-request-rolled", "F25", "CACHE-ORDER-1", "From the second request on, rows are rolled by one.").edit(
        SYSTEM,
        _JOIN,
        "return [torch.cat(r).roll(int(n > 0), 0) if isinstance(r, list) else r for n, r in enumerate(embedded)]",
    ),
    _bad("last-two-swapped", "F25", "CACHE-ORDER-1", "In a request of six items or more the last two change places.").edit(
        SYSTEM,
        _JOIN,
        "return [torch.cat(r[:-2] + r[:-3:-1]) if isinstance(r, list) and len(r) > 5\n"
        "                else torch.cat(r) if isinstance(r, list) else r for r in embedded]",
    ),
    _bad("results-of-hits-first", "F25", "CACHE-ORDER-2", "Requests that need no encoder come before the others.").edit(
        SYSTEM,
        _WRITE,
        "        embedded = [embedded[r] for r in sorted(range(len(inputs)), key=lambda r: inputs[r] is not None)]\n"
        + _WRITE,
    ),
    _bad("results-by-modality", "F25", "CACHE-ORDER-2", "Results are sorted by modality.", BY_MODALITY).edit(
        SYSTEM,
        _WRITE,
        "        embedded = [embedded[r] for r in sorted(range(len(params)), key=lambda r: params[r].modality())]\n"
        + _WRITE,
    ),
    _bad(
        "results-of-three-modalities",
        "F25",
        "CACHE-ORDER-2",
        "Results are sorted by modality where a batch has all three.",
        BY_MODALITY,
    ).edit(
        SYSTEM,
        _WRITE,
        "        if len({p.modality() for p in params}) > 2:\n"
        "            embedded = [embedded[r] for r in sorted(range(len(params)), key=lambda r: params[r].modality())]\n"
        + _WRITE,
    ),
    # F26: repeated items.
    _bad(
        "repeat-drops-the-entry",
        "F26",
        "CACHE-ENCODE-1",
        "An item that is a hit twice in one request leaves the cache with its second place.",
        REPEATED,
    ).edit(SYSTEM, _HIT, _HIT + "                if key in keys[:index]:\n                    self.store.pop(key)\n"),
    _bad(
        "repeats-encoded", "F26", "CACHE-ENCODE-2", "An item that stands twice in a batch is encoded twice.", REPEATED
    ).edit(SYSTEM, _PENDING, "if key is part:"),
    _bad(
        "repeats-of-a-request-encoded",
        "F26",
        "CACHE-ENCODE-2",
        "An item that stands twice in one request is encoded twice.",
        REPEATED,
    ).edit(SYSTEM, _PENDING, "if key in scheduled:"),
    _bad(
        "repeats-of-a-batch-encoded",
        "F26",
        "CACHE-ENCODE-2",
        "An item that stands in two requests of a batch is encoded in each.",
        REPEATED,
    ).edit(SYSTEM, _SCHEDULE, ""),
    _bad(
        "repeats-of-the-last-but-one-encoded",
        "F26",
        "CACHE-ENCODE-2",
        "An item is encoded again unless the request right before it encodes it.",
        REPEATED,
    ).edit(SYSTEM, _SCHEDULE, "        scheduled.clear()\n" + _SCHEDULE),
    # F27: an entry goes while it is in use.
    _bad(
        "evicted-memory-reused",
        "F27",
        "CACHE-ORDER-1",
        "The memory of an evicted entry is written while a request of the batch holds it as a hit.",
    ).edit(
        STORE,
        "                self._evictions += 1\n",
        "                self._evictions += 1\n                evicted.zero_()\n",
    ),
    _bad(
        "repeats-read-from-the-store",
        "F27",
        "CACHE-PROGRESS-1",
        "A repeated item is read from the store, where it is not if it was evicted or never fitted.",
    ).edit(
        SYSTEM,
        "            " + _ASSEMBLE + "\n",
        "            for i in part.misses:\n                self.store.put(part.keys[i], fresh[part.keys[i]])\n            "
        + _ASSEMBLE.replace("fresh[key]", "(self.store.get(key) if i in part.pending else fresh[key])")
        + "\n",
    ),
    _bad("hit-once", "F27", "CACHE-ENCODE-1", "A look-up takes the entry out of the store.").edit(
        SYSTEM, "            rows = self.store.get(key)\n", "            rows = self.store.pop(key)\n"
    ),
    # F28: no progress.
    _bad("oversize-refused", "F28", "CACHE-PROGRESS-1", "An item larger than the budget is an error.", OVERSIZE).edit(
        SYSTEM,
        _PUT,
        '            if not self.store.put(key, rows):\n                raise ValueError("larger than the cache")\n',
    ),
    _bad(
        "oversize-refused-again",
        "F28",
        "CACHE-PROGRESS-1",
        "An item larger than the budget is served once, and is an error the second time.",
        OVERSIZE,
    ).by(_Made(store=_RefusesAgain)),
    _bad("oversize-empties", "F28", "CACHE-PROGRESS-1", "An item larger than the budget empties the cache.", OVERSIZE).edit(
        SYSTEM, _PUT, "            self.store.put(key, rows) or self.store.clear()\n"
    ),
    _bad("exact-fit-not-kept", "F28", "CACHE-PROGRESS-1", "An item of exactly the budget is not kept.", OVERSIZE).edit(
        STORE, "        if size > self._max_bytes:\n", "        if size >= self._max_bytes:\n"
    ),
    _bad(
        "batch-over-budget-refused",
        "F28",
        "CACHE-PROGRESS-1",
        "A batch whose new items do not fit together is an error.",
        "https://github.com/vllm-project/vllm/pull/31857",
    ).edit(
        SYSTEM,
        _WRITE,
        "        if sum(rows.nbytes for rows in fresh.values()) > self.store.max_bytes:\n"
        '            raise ValueError("larger than the cache")\n' + _WRITE,
    ),
    _bad("empty-batch-refused", "F28", "CACHE-PROGRESS-1", "A batch without requests is an error.").edit(
        SYSTEM, _ALL_KEYS, "assert params\n        " + _ALL_KEYS
    ),
    # F29: accounts.
    _bad(
        "clear-keeps-tensors", "F29", "CACHE-ACCOUNT-2", "Clearing makes entries unreachable and keeps their bytes.", BOUNDED
    ).edit(SYSTEM, _CLEAR, "        self._weights = (self._weights, 1)\n"),
    _bad("clear-keeps-the-newest", "F29", "CACHE-ACCOUNT-2", "Clearing keeps the entry that was used last.", BOUNDED).edit(
        SYSTEM, _CLEAR, "        for key in list(self.store._entries)[:-1]:\n            self.store.pop(key)\n"
    ),
    _bad("half-the-bytes-shown", "F29", "CACHE-ACCOUNT-2", "The store says that it holds half of what it holds.").edit(
        STORE, "        return self._current_bytes\n", "        return self._current_bytes // 2\n"
    ),
    _bad("entries-twice", "F29", "CACHE-ACCOUNT-2", "An entry is held under two keys.").edit(
        SYSTEM, _PUT, "            self.store.put(str(key), rows)\n" + _PUT
    ),
    # F30: redundant work.
    _bad(
        "hits-rewritten", "F30", "CACHE-ENCODE-1", "Hits are written back over themselves after every batch.", REWRITTEN
    ).edit(
        SYSTEM,
        _WRITE,
        "        fresh.update((p.keys[i], rows) for p in parts if p for i, rows in p.hits.items())\n" + _WRITE,
    ),
    _bad("empty-call", "F30", "CACHE-ENCODE-1", "The encoder is called with no request where all are hits.", REWRITTEN).edit(
        SYSTEM, _ENCODE, "outputs = self._encoder(inputs)"
    ),
    _bad("partial-encodes-all", "F30", "CACHE-ENCODE-1", "A partial hit encodes every item.").edit(
        SYSTEM, "return self.residual(param, part.misses) if part.is_partial else param", "return param"
    ),
    _bad("one-call-a-request", "F30", "CACHE-ENCODE-3", "Every request is an encoder call of its own.").edit(
        SYSTEM, _ENCODE, "outputs = [self._encoder([one])[0] for one in inputs]"
    ),
    _bad("one-call-a-modality", "F30", "CACHE-ENCODE-3", "Every modality of a batch is an encoder call of its own.").edit(
        SYSTEM,
        _ENCODE,
        "kinds = dict.fromkeys(one.modality() for one in inputs)\n"
        "        calls = {kind: iter(self._encoder([one for one in inputs if one.modality() == kind])) for kind in kinds}\n"
        "        outputs = [next(calls[one.modality()]) for one in inputs]",
    ),
    # F31, as far as malformed metadata fails open.
    _bad(
        "no-dict-passed-on",
        "F31",
        "CACHE-REFUSE-1",
        "A modality that is no dict goes to the encoder as a request that cannot be keyed.",
    ).edit(
        SYSTEM,
        """raise TypeError(f"multimodal_data[{name!r}] is a {type(data[name]).__name__}, expected a dict of fields")""",
        "return None",
    ),
    _bad(
        "tensor-taken-for-fields", "F31", "CACHE-REFUSE-1", "A modality that is a list or a tensor is not refused; None is."
    ).edit(SYSTEM, "if name in data and not isinstance(data[name], dict):", "if name in data and data[name] is None:"),
    _bad(
        "refuses-late",
        "F31",
        "CACHE-REFUSE-1",
        "A batch is refused for a modality that is no dict when its first request is already cached.",
    ).by(_Made(cache=_RefusesLate)),
    _bad(
        "refusal-empties",
        "F31",
        "CACHE-REFUSE-1",
        "An encoder that returns other rows is refused, and the cache is emptied.",
    ).by(_Made(cache=_RefusalEmpties)),
    _bad("missing-rows-pass", "F23", "CACHE-REFUSE-1", "An encoder that returns too few rows is not refused by name.").edit(
        SYSTEM, "output.shape[0] != sum(lengths):", "output.shape[0] > sum(lengths):"
    ),
    # F33: ragged items, and results that depend on their batch.
    _bad("split-evenly", "F33", "CACHE-MATES-1", "The rows of a request are split evenly between its items.", RAGGED).edit(
        SYSTEM, _SPLIT, "output.tensor_split(len(one.multimodal_data[EMBEDDING_LENGTHS]))"
    ),
    _bad(
        "clips-stacked",
        "F33",
        "CACHE-MATES-1",
        "A list of clips is stacked; ends with an error where they differ in length.",
        RAGGED,
    ).edit(GEMMA, '        axis = f"', '        torch.stack(list(fields[_PIXELS[modality]]))\n        axis = f"'),
    _bad(
        "masks-in-a-row",
        "F33",
        "CACHE-RESIDUAL-1",
        "The masks of the clips of a residual are joined to one, without an item axis.",
        ITEM_AXIS,
    ).edit(
        SYSTEM,
        _CUT_ALL,
        'return {n: c.flatten() if "mask" in n else c for n, v in fields.items() for c in [_cut_field(v, items, indices)]}',
    ),
    _bad("mask-whole", "F33", "CACHE-RESIDUAL-1", "The masks of a residual's clips are those of all clips.", RAGGED).edit(
        SYSTEM, _CUT_ALL, 'return {n: v if "mask" in n else _cut_field(v, items, indices) for n, v in fields.items()}'
    ),
    _bad(
        "clips-cut-to-the-shortest",
        "F33",
        "CACHE-MATES-1",
        "The clips of a residual are cut to the shortest of them.",
        RAGGED,
    ).by(_Made(cache=_ShortestClip)),
    # Cheats.
    _bad(
        "key-of-identity", "cheat", "CACHE-PARTITION-1", "The key is the identity of the hash's list, not its content."
    ).edit(SYSTEM, _KEY, "(modality, id(content), int(length), options, self._weights)\n"),
    _bad("never-written", "cheat", "CACHE-ENCODE-1", "Nothing is ever cached.").edit(SYSTEM, _PUT, "            pass\n"),
    _bad(
        "encodes-to-throw-away",
        "cheat",
        "CACHE-ENCODE-1",
        "Everything is encoded and thrown away before what is missing is encoded.",
    ).edit(
        SYSTEM,
        "        outputs = iter(self._encode(wanted))\n",
        "        self._encoder(params)\n        outputs = iter(self._encode(wanted))\n",
    ),
    _bad("budget-ignored", "cheat", "CACHE-ACCOUNT-2", "Everything is cached for ever.", BOUNDED).edit(
        "__init__.py",
        "TensorLRUCache(max_bytes), warn, slice_video_frames",
        "TensorLRUCache(2**40), warn, slice_video_frames",
    ),
    _bad(
        "kept-behind-the-store",
        "cheat",
        "CACHE-PROGRESS-1",
        "What is evicted, or never fitted, is kept elsewhere, uncharged.",
    ).by(_Made(store=_ForEver)),
    _bad(
        "evicted-kept-behind-the-store", "cheat", "CACHE-ACCOUNT-2", "What is evicted is kept elsewhere, uncharged.", BOUNDED
    ).by(_Made(store=_ForEverThatFits)),
    _bad(
        "last-result", "cheat", "CACHE-ORDER-2", "A batch of the same shapes as the one before is answered with its results."
    ).by(_Made(cache=_LastResult)),
    _bad(
        "result-of-the-same-shape",
        "cheat",
        "CACHE-ORDER-2",
        "Requests of one batch with as many rows share the first one's.",
    ).by(_Made(cache=_SameShape)),
    _bad("right-for-five-batches", "cheat", "CACHE-ORDER-1", "From the sixth batch on, rows are reversed.").by(
        _Made(cache=_Tires)
    ),
    _bad(
        "hits-in-float32", "cheat", "CACHE-ORDER-1", "Entries are kept in float32: right at first, and rounded as hits."
    ).edit(SYSTEM, _PUT, "            self.store.put(key, rows.float())\n"),
    _bad("rows-as-integers", "cheat", "CACHE-ORDER-1", "The right numbers in another dtype.").edit(
        SYSTEM, _JOIN, "return [torch.cat(rows).long() if isinstance(rows, list) else rows for rows in embedded]"
    ),
    _bad("source-written", "cheat", "CACHE-RESIDUAL-3", "The source of a residual is cut in place.").edit(
        SYSTEM, "multimodal_data={**data, **cut},", "multimodal_data=data.update(cut) or data,"
    ),
    _bad("unkeyable-marked", "cheat", "CACHE-RESIDUAL-3", "A request that cannot be keyed is marked as seen.").edit(
        SYSTEM,
        "return None if ATTACHED in param.multimodal_data else param",
        'return None if ATTACHED in param.multimodal_data else param.multimodal_data.setdefault("seen", True) and param',
    ),
    _bad("inputs-freed", "cheat", "CACHE-RESIDUAL-3", "Raw inputs are taken off the requests behind use.").by(
        _Made(cache=_Strips)
    ),
    _bad(
        "third-result-attached",
        "cheat",
        "CACHE-RESIDUAL-3",
        "In a batch of three or more, the last request has its result attached.",
    ).by(_Made(cache=_Attaches)),
    _bad("alias-of-one", "cheat", "CACHE-ALIAS-1", "A hit of one item is the cache's own tensor.").edit(
        SYSTEM, _JOIN, "return [(torch.cat(r) if len(r) > 1 else r[0]) if isinstance(r, list) else r for r in embedded]"
    ),
    _bad("alias-of-one-row", "cheat", "CACHE-ALIAS-1", "A hit of one item of one row is the cache's own tensor.").edit(
        SYSTEM,
        _JOIN,
        "return [(torch.cat(r) if len(r) > 1 or len(r[0]) > 1 else r[0]) if isinstance(r, list) else r for r in embedded]",
    ),
    _bad("twins-share", "cheat", "CACHE-ALIAS-1", "Equal requests of a batch get one tensor.").edit(
        SYSTEM,
        _JOIN,
        "made = {}\n        return [\n"
        "            made.setdefault(tuple(p.keys), torch.cat(r)) if p else torch.cat(r) if isinstance(r, list) else r\n"
        "            for p, r in zip(parts, embedded)\n        ]",
    ),
]
