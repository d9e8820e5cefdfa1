"""Known-bad copies of the Triton masks."""

from __future__ import annotations

from dataclasses import dataclass

from suites.mutants.edits import Edit


@dataclass(frozen=True)
class KernelEdit(Edit):
    """One change of a mask kernel.

    Attributes:
        profile: A profile whose property must fail.
        tiles: Chunk and block at which the fault shows in requests of drawn size; default those in use.
    """

    profile: str
    tiles: tuple[int, int] | None = None


KERNEL_EDITS: dict[str, KernelEdit] = {
    "window-edge": KernelEdit(
        "bounds.py",
        "past = tl.maximum(p - reach, 0)",
        "past = tl.maximum(p - reach - 1, 0)",
        "MASK-WINDOW-1",
        "`c > p - W` became `c >= p - W`",
        "gemma4-sliding-causal",
    ),
    "window-radius": KernelEdit(
        "bounds.py",
        "past = tl.maximum(p - reach, 0)",
        "past = tl.maximum(p - reach + 1, 0)",
        "MASK-WINDOW-1",
        "W taken for a radius: one key too few",
        "gemma3-sliding",
    ),
    "window-past-int": KernelEdit(
        "bounds.py",
        "NO_WINDOW = 2**40",
        "NO_WINDOW = 100",
        "MASK-WINDOW-2",
        "no window became a window of 100",
        "gemma4-full",
    ),
    "future-edge": KernelEdit(
        "bounds.py",
        "last = tl.minimum(last, p + reach)",
        "last = tl.minimum(last, p + reach + 1)",
        "MASK-WINDOW-3",
        "the future reaches one key too far",
        "jax-gemma3-sliding",
    ),
    "order-swapped": KernelEdit(
        "bounds.py",
        "if ORDER != 0:",
        "if ORDER == 0:",
        "MASK-ORDER-1",
        "WINDOW_LAST and OR_LAST swapped",
        "gemma3-sliding",
    ),
    "drop-edge": KernelEdit(
        "bounds.py",
        "(blob_last - blob_first <= reach)",
        "(blob_last - blob_first < reach)",
        "MASK-ORDER-3",
        "a blob exactly W long is dropped too",
        "vllm-gemma3-sliding",
    ),
    "audio-in-a-blob": KernelEdit(
        "bounds.py",
        "vision = (kind == 1) | (kind == 2)",
        "vision = kind != 0",
        "MASK-MODALITY-1",
        "audio sees forward",
        "gemma3-full",
    ),
    "video-is-text": KernelEdit(
        "bounds.py",
        "ends = (vision == 0)[None, :]",
        "ends = (kind != 1)[None, :]",
        "MASK-BLOB-2",
        "a video token ends an image blob",
        "gemma4-sliding",
    ),
    "types-joined": KernelEdit(
        "bounds.py",
        "ends = kind[None, :] != kind[:, None]",
        "ends = ends",
        "MASK-BLOB-3",
        "blobs of two types join",
        "trtllm-gemma4-sliding",
    ),
    "items-joined": KernelEdit(
        "bounds.py",
        "ends = ends | (item[None, :] != item[:, None])",
        "ends = ends",
        "MASK-BLOB-4",
        "touching images join",
        "vllm-gemma4-sliding",
    ),
    "joined-backwards": KernelEdit(
        "bounds.py",
        "blob_first = tl.maximum(start + to_position, prefix)",
        "blob_first = start + to_position",
        "MASK-BLOB-5",
        "a blob goes on in the request before",
        "trtllm-gemma3-sliding",
    ),
    "joined-forwards": KernelEdit(
        "bounds.py",
        "blob_last = tl.minimum(end + to_position, keys) - 1",
        "blob_last = end + to_position - 1",
        "MASK-BLOB-5",
        "a blob goes on in the request after",
        "gemma3-sliding",
        tiles=(64, 128),
    ),
    "walk-back-lost": KernelEdit(
        "bounds.py",
        "start = tl.where(start <= block_first, head, start)",
        "start = tl.where(start <= block_first, block_first, start)",
        "MASK-BLOB-1",
        "a blob that crosses a block of queries begins at its edge",
        "trtllm-gemma3-sliding",
    ),
    "walk-ahead-lost": KernelEdit(
        "bounds.py",
        "end = tl.where(end >= block_first + BLOCK, tail, end)",
        "end = tl.minimum(end, block_first + BLOCK)",
        "MASK-BLOB-1",
        "a blob that crosses a block of queries ends at its edge",
        "gemma3-full",
    ),
    "first-chunk-coordinates": KernelEdit(
        "bounds.py",
        "p = i + to_position",
        "p = i - tl.load(slot)",
        "MASK-PREFIX-3",
        "queries counted from the chunk, not from position 0",
        "gemma4-full",
    ),
    "cut-blob-forgotten": KernelEdit(
        "bounds.py",
        "reaching = vision & (blob_first == prefix)",
        "reaching = vision & (blob_first > keys)",
        "MASK-CUT-1",
        "the cached part of a blob is not seen",
        "trtllm-gemma3-sliding",
    ),
    "cut-items-joined": KernelEdit(
        "bounds.py",
        "ends = ends | (tl.load(items + j * items_stride) != own_item)",
        "ends = ends",
        "MASK-BLOB-4",
        "an image joins the image that touches it in the prefix",
        "vllm-gemma3-sliding",
    ),
    "cut-types-joined": KernelEdit(
        "bounds.py",
        "ends = kind != own_kind",
        "ends = (kind != 1) & (kind != 2)",
        "MASK-BLOB-3",
        "a blob joins one of another type in the prefix",
        "trtllm-gemma4-sliding",
    ),
    "stride-one": KernelEdit(
        "bounds.py",
        "kind = tl.load(types + i * types_stride)",
        "kind = tl.load(types + i)",
        "MASK-INPUT-1",
        "the stride of the token types is taken for 1",
        "gemma3-full",
    ),
    "item-stride-one": KernelEdit(
        "bounds.py",
        "item = tl.load(items + i * items_stride)",
        "item = tl.load(items + i)",
        "MASK-INPUT-1",
        "the stride of the item ids is taken for 1",
        "vllm-gemma3-full",
    ),
    "no-causality-kept": KernelEdit(
        "bounds.py",
        "last = keys - 1 + i * 0",
        "last = p",
        "MASK-SCOPE-4",
        "the flag 'all' leaves the mask causal",
        "gemma4-all-full",
    ),
    "open-prefix-lost": KernelEdit(
        "dense.py",
        "visible |= column < tl.load(slot + 2 * requests)",
        "visible |= column < 0",
        "MASK-PREFIX-2",
        "an open prefix is windowed",
        "trtllm-gemma4-sliding-open-prefix",
    ),
    "last-key-lost": KernelEdit(
        "dense.py",
        "(column <= tl.load(interval + 1))",
        "(column < tl.load(interval + 1))",
        "MASK-BASE-1",
        "a query does not see itself",
        "gemma4-full",
    ),
    "constant-too-soon": KernelEdit(
        "dense.py",
        "constant = (seen == 0) | (seen == CHUNK)",
        "constant = (seen == 0) | (seen >= CHUNK - 4)",
        "MASK-PACK-1",
        "a chunk with up to four hidden cells is painted visible",
        "gemma4-full",
        tiles=(64, 128),
    ),
    "second-row-shifted": KernelEdit(
        "dense.py",
        "first_b = tl.minimum(tl.load(bounds + 2 * query_b) + seam, CHUNK)",
        "first_b = tl.minimum(tl.load(bounds + 2 * query_b) + seam + 1, CHUNK)",
        "MASK-PACK-1",
        "the second row of a chunk begins one cell late",
        "gemma4-sliding",
        tiles=(64, 128),
    ),
    "rows-of-queries": KernelEdit(
        "dense.py",
        "row = within // keys\n",
        "row = within // (keys - tl.load(slot + 2 * requests))\n",
        "MASK-PACK-1",
        "the row width leaves out the prefix",
        "gemma3-full",
    ),
    "request-search-edge": KernelEdit(
        "table.py",
        "(tl.load(starts + candidate) <= x)",
        "(tl.load(starts + candidate) < x)",
        "MASK-PACK-4",
        "the first query of a request is taken for one of the request before",
        "gemma3-full",
    ),
}
