"""Known-bad copies of the Triton masks: one operator, constant or bound changed, by a table of textual edits."""

from __future__ import annotations

import importlib
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from reference.contracts import MaskImplementation, as_mask_implementation

SOURCE = Path(__file__).parents[2] / "impl" / "masks"


@dataclass(frozen=True)
class Edit:
    """One change of a kernel.

    Attributes:
        file: File under ``impl/masks``.
        old: Text that stands there exactly once.
        new: What takes its place.
        profile: A profile whose property must fail.
        requirement: The requirement that is broken.
        fault: What is wrong, in a few words.
        tiles: Chunk and block at which the fault shows in requests of drawn size; default those in use.
    """

    file: str
    old: str
    new: str
    profile: str
    requirement: str
    fault: str
    tiles: tuple[int, int] | None = None


class StaleEditError(Exception):
    """An edit no longer applies to the source; the message names it."""


EDITS: dict[str, Edit] = {
    "window-edge": Edit(
        "bounds.py",
        "past = tl.maximum(p - reach, 0)",
        "past = tl.maximum(p - reach - 1, 0)",
        "gemma4-sliding-causal",
        "MASK-WINDOW-1",
        "`c > p - W` became `c >= p - W`",
    ),
    "window-radius": Edit(
        "bounds.py",
        "past = tl.maximum(p - reach, 0)",
        "past = tl.maximum(p - reach + 1, 0)",
        "gemma3-sliding",
        "MASK-WINDOW-1",
        "W taken for a radius: one key too few",
    ),
    "window-past-int": Edit(
        "bounds.py",
        "NO_WINDOW = 2**40",
        "NO_WINDOW = 100",
        "gemma4-full",
        "MASK-WINDOW-2",
        "no window became a window of 100",
    ),
    "future-edge": Edit(
        "bounds.py",
        "last = tl.minimum(last, p + reach)",
        "last = tl.minimum(last, p + reach + 1)",
        "jax-gemma3-sliding",
        "MASK-WINDOW-3",
        "the future reaches one key too far",
    ),
    "order-swapped": Edit(
        "bounds.py",
        "if ORDER != 0:",
        "if ORDER == 0:",
        "gemma3-sliding",
        "MASK-ORDER-1",
        "WINDOW_LAST and OR_LAST swapped",
    ),
    "drop-edge": Edit(
        "bounds.py",
        "(blob_last - blob_first <= reach)",
        "(blob_last - blob_first < reach)",
        "vllm-gemma3-sliding",
        "MASK-ORDER-3",
        "a blob exactly W long is dropped too",
    ),
    "audio-in-a-blob": Edit(
        "bounds.py",
        "vision = (kind == 1) | (kind == 2)",
        "vision = kind != 0",
        "gemma3-full",
        "MASK-MODALITY-1",
        "audio sees forward",
    ),
    "video-is-text": Edit(
        "bounds.py",
        "ends = (vision == 0)[None, :]",
        "ends = (kind != 1)[None, :]",
        "gemma4-sliding",
        "MASK-BLOB-2",
        "a video token ends an image blob",
    ),
    "types-joined": Edit(
        "bounds.py",
        "ends = kind[None, :] != kind[:, None]",
        "ends = ends",
        "trtllm-gemma4-sliding",
        "MASK-BLOB-3",
        "blobs of two types join",
    ),
    "items-joined": Edit(
        "bounds.py",
        "ends = ends | (item[None, :] != item[:, None])",
        "ends = ends",
        "vllm-gemma4-sliding",
        "MASK-BLOB-4",
        "touching images join",
    ),
    "joined-backwards": Edit(
        "bounds.py",
        "blob_first = tl.maximum(start + to_position, prefix)",
        "blob_first = start + to_position",
        "trtllm-gemma3-sliding",
        "MASK-BLOB-5",
        "a blob goes on in the request before",
    ),
    "joined-forwards": Edit(
        "bounds.py",
        "blob_last = tl.minimum(end + to_position, keys) - 1",
        "blob_last = end + to_position - 1",
        "gemma3-sliding",
        "MASK-BLOB-5",
        "a blob goes on in the request after",
        tiles=(64, 128),
    ),
    "walk-back-lost": Edit(
        "bounds.py",
        "start = tl.where(start <= block_first, head, start)",
        "start = tl.where(start <= block_first, block_first, start)",
        "trtllm-gemma3-sliding",
        "MASK-BLOB-1",
        "a blob that crosses a block of queries begins at its edge",
    ),
    "walk-ahead-lost": Edit(
        "bounds.py",
        "end = tl.where(end >= block_first + BLOCK, tail, end)",
        "end = tl.minimum(end, block_first + BLOCK)",
        "gemma3-full",
        "MASK-BLOB-1",
        "a blob that crosses a block of queries ends at its edge",
    ),
    "first-chunk-coordinates": Edit(
        "bounds.py",
        "p = i + to_position",
        "p = i - tl.load(slot)",
        "gemma4-full",
        "MASK-PREFIX-3",
        "queries counted from the chunk, not from position 0",
    ),
    "cut-blob-forgotten": Edit(
        "bounds.py",
        "reaching = vision & (blob_first == prefix)",
        "reaching = vision & (blob_first > keys)",
        "trtllm-gemma3-sliding",
        "MASK-CUT-1",
        "the cached part of a blob is not seen",
    ),
    "cut-items-joined": Edit(
        "bounds.py",
        "ends = ends | (tl.load(items + j * items_stride) != own_item)",
        "ends = ends",
        "vllm-gemma3-sliding",
        "MASK-BLOB-4",
        "an image joins the image that touches it in the prefix",
    ),
    "cut-types-joined": Edit(
        "bounds.py",
        "ends = kind != own_kind",
        "ends = (kind != 1) & (kind != 2)",
        "trtllm-gemma4-sliding",
        "MASK-BLOB-3",
        "a blob joins one of another type in the prefix",
    ),
    "stride-one": Edit(
        "bounds.py",
        "kind = tl.load(types + i * types_stride)",
        "kind = tl.load(types + i)",
        "gemma3-full",
        "MASK-INPUT-1",
        "the stride of the token types is taken for 1",
    ),
    "item-stride-one": Edit(
        "bounds.py",
        "item = tl.load(items + i * items_stride)",
        "item = tl.load(items + i)",
        "vllm-gemma3-full",
        "MASK-INPUT-1",
        "the stride of the item ids is taken for 1",
    ),
    "no-causality-kept": Edit(
        "bounds.py",
        "last = keys - 1 + i * 0",
        "last = p",
        "gemma4-all-full",
        "MASK-SCOPE-4",
        "the flag 'all' leaves the mask causal",
    ),
    "open-prefix-lost": Edit(
        "dense.py",
        "visible |= column < tl.load(slot + 2 * SLOTS)",
        "visible |= column < 0",
        "trtllm-gemma4-sliding-open-prefix",
        "MASK-PREFIX-2",
        "an open prefix is windowed",
    ),
    "last-key-lost": Edit(
        "dense.py",
        "(column <= tl.load(interval + 1))",
        "(column < tl.load(interval + 1))",
        "gemma4-full",
        "MASK-BASE-1",
        "a query does not see itself",
    ),
    "constant-too-soon": Edit(
        "dense.py",
        "constant = (seen == 0) | (seen == CHUNK)",
        "constant = (seen == 0) | (seen >= CHUNK - 4)",
        "gemma4-full",
        "MASK-PACK-1",
        "a chunk with up to four hidden cells is painted visible",
        tiles=(64, 128),
    ),
    "second-row-shifted": Edit(
        "dense.py",
        "first_b = tl.minimum(tl.load(bounds + 2 * query_b) + seam, CHUNK)",
        "first_b = tl.minimum(tl.load(bounds + 2 * query_b) + seam + 1, CHUNK)",
        "gemma4-sliding",
        "MASK-PACK-1",
        "the second row of a chunk begins one cell late",
        tiles=(64, 128),
    ),
    "rows-of-queries": Edit(
        "dense.py",
        "row = within // keys\n",
        "row = within // (keys - tl.load(slot + 2 * SLOTS))\n",
        "gemma3-full",
        "MASK-PACK-1",
        "the row width leaves out the prefix",
    ),
    "request-search-edge": Edit(
        "table.py",
        "tl.load(starts + candidate) <= x",
        "tl.load(starts + candidate) < x",
        "gemma3-full",
        "MASK-PACK-4",
        "the first query of a request is taken for one of the request before",
    ),
}


def load(name: str, folder: Path) -> MaskImplementation:
    """Makes and imports the mutant ``name`` in ``folder``.

    Raises:
        StaleEditError: Its text does not stand in the source exactly once.
    """
    edit = EDITS[name]
    package = f"mutant_{name.replace('-', '_')}"
    shutil.copytree(SOURCE, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder / package).glob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name == edit.file:
            found = text.count(edit.old)
            if found != 1:
                raise StaleEditError(f"{name}: {edit.old!r} stands {found} times in {edit.file}, expected once")
            text = text.replace(edit.old, edit.new)
        path.write_text(text.replace("impl.masks", package), encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module(f"{package}.triton_masks")
    finally:
        sys.path.remove(str(folder))
    return as_mask_implementation(module.TritonMasks(*edit.tiles) if edit.tiles else module.TRITON, package)
