"""Known-bad mask builders: edits of the eager one, and functions that call it with something wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import Tensor

from impl.masks import EAGER, TRITON
from reference.contracts import Layout
from reference.rules import MaskRule, Order, Overlay, Segmentation
from reference.tokens import MaskBatch, Segment
from suites.mutants.edits import Edit, load
from suites.mutants.mutant import Mutant

Build = Callable[[MaskBatch, MaskRule, SimpleNamespace], object]

eager = EAGER.build


class Builder:
    """A function as a mask builder, with what it keeps from call to call."""

    def __init__(self, build: Build, **claims: object) -> None:
        self.claims = replace(EAGER.claims, gating=False, **claims)  # type: ignore[arg-type]
        self._build = build
        self._kept = SimpleNamespace()

    def build(self, batch: MaskBatch, rule: MaskRule, layout: Layout = "dense") -> object:
        """Whatever the function returns."""
        return self._build(batch, rule, self._kept)


def known_bad(
    table: list[Mutant], fault: str, requirement: str, *profiles: str, source: str = "", cuda: bool = False, **claims: object
) -> Callable[[Build], Build]:
    """Adds a function to a table: its name is the id, its docstring the sentence.

    Args:
        table: Where the mutant goes.
        fault: The fault kind.
        requirement: The requirement whose tests must fail.
        profiles: Those claimed.
        source: Path of the public report on GitHub.
        cuda: Whether it shows on a CUDA device alone.
        claims: What else is not claimed as the eager builder does.
    """

    def add(build: Build) -> Build:
        name = build.__name__.replace("_", "-")

        def make(folder: Path) -> Builder:
            return Builder(build, profiles=frozenset(profiles), **claims)

        table.append(Mutant(name, "mask", fault, (build.__doc__ or "").rstrip("."), requirement, make, github(source), cuda))
        return build

    return add


def edited(
    name: str,
    fault: str,
    requirement: str,
    profile: str,
    old: str,
    new: str,
    sentence: str,
    source: str = "",
    *,
    file: str = "eager.py",
    of: tuple[str, str] = ("eager", "EagerMasks"),
    tiles: Sequence[int] = (),
    cuda: bool = False,
) -> Mutant:
    """A builder with one text of its package changed.

    Args:
        name: Id of the mutant.
        fault: The fault kind.
        requirement: The requirement whose tests must fail.
        profile: The one claimed.
        old: Text that stands in the file exactly once.
        new: What takes its place.
        sentence: What is wrong, and where it shows.
        source: Path of the public report on GitHub.
        file: File of ``impl/masks``.
        of: Module and class of the builder.
        tiles: Chunk and block at which the fault shows in requests of drawn size; default those in use.
        cuda: Whether it shows on a CUDA device alone.
    """

    def make(folder: Path) -> object:
        module, masks = of
        made = getattr(load("masks", name, Edit(file, old, new, requirement, sentence), folder, module), masks)(*tiles)
        made.claims = replace(made.claims, profiles=frozenset({profile}), gating=file == "gating.py")
        return made

    return Mutant(name, "mask", fault, sentence, requirement, make, github(source), cuda)


def github(report: str) -> str | None:
    """The address of a public report."""
    return f"https://github.com/{report}" if report else None


def singles(batch: MaskBatch) -> Iterator[MaskBatch]:
    """Each request as a batch of its own."""
    for s in batch.segments():
        new, old = slice(s.first_query, s.first_query + s.queries), slice(s.first_prefix, s.first_prefix + s.prefix)
        prefix_types, items, prefix_items = (
            None if tensor is None else tensor[where]
            for tensor, where in ((batch.prefix_types, old), (batch.item_ids, new), (batch.prefix_item_ids, old))
        )
        yield MaskBatch(batch.token_types[new], [s.queries], [s.prefix], prefix_types, items, prefix_items)


def by_request(batch: MaskBatch, rule_of: Callable[[int, MaskBatch], MaskRule]) -> Tensor:
    """The mask with a rule for each request."""
    masks = [eager(one, rule_of(index, one)) for index, one in enumerate(singles(batch))]
    return torch.cat(masks) if masks else torch.empty(0, dtype=torch.bool, device=batch.device)


def matrices(batch: MaskBatch, mask: Tensor) -> Iterator[tuple[Segment, Tensor]]:
    """Each request with its ``[Q, K]`` part of the mask, to write into."""
    for s in batch.segments():
        yield s, mask[s.first_cell : s.first_cell + s.cells].view(s.queries, s.keys)


def mapped(batch: MaskBatch, types: Sequence[int]) -> MaskBatch:
    """The batch with type ``t`` read as ``types[t]``."""
    table = torch.tensor(types, device=batch.device)
    prefix = batch.prefix_types
    return replace(
        batch,
        token_types=table[batch.token_types.long()],
        prefix_types=None if prefix is None else table[prefix.long()],
    )


def is_vision(types: Tensor) -> Tensor:
    """Where a token is an image's or a video's."""
    return (types.long() == 1) | (types.long() == 2)


_WINDOW = "segment.keys + 1 if rule.window is None else rule.window\n"
_VISION = "vision = (types == 1) | (types == 2)\n"
_OPENS = "opens[1:] &= ~vision[:-1]\n"
_IDS = "ids = torch.where(vision, opens.cumsum(0), 0)\n"
_LABEL = "label = _whole(batch.prefix_item_ids, batch.item_ids, segment)\n"
_LAST_FUTURE = "        if rule.bound_future:\n            mask &= -distance < window\n    if rule.prefix"
_REFUSED = "            batch.require_item_ids()\n"
_TAKEN = "queries = tokens[segment.first_query : segment.first_query + segment.queries].to(torch.int64)\n"
_PREFIX = "prefix[segment.first_prefix : segment.first_prefix + segment.prefix].to(torch.int64)"

# Kinds of the catalogue that are not here. There is no F12. F14, NaN, arises in the softmax behind the mask; a builder has
# its cause alone, a row that sees nothing. F13 needs graphs (gpu.py). Of F15 the contract knows no padding mask; left is a
# mask in which 0 says "attend", that is additive, or not of bytes 0 and 1. F20 to F33 are faults of caches, F34 to F42 of
# the harness.
_EDITED = [
    # F01: the edge of the window.
    edited(
        "window-wider-behind-a-prefix",
        "F01",
        "MASK-WINDOW-1",
        "gemma4-sliding-causal",
        _WINDOW,
        _WINDOW.replace("rule.window\n", "rule.window + (segment.prefix > 0)\n"),
        "One key too many at the edge of the window, if there is a cached prefix",
        "sgl-project/sglang/pull/34273",
    ),
    edited(
        "window-of-at-most-q",
        "F01",
        "MASK-WINDOW-1",
        "gemma4-sliding-causal",
        _WINDOW,
        _WINDOW.replace("rule.window\n", "min(rule.window, segment.queries)\n"),
        "The window is no longer than the queries are many",
        "keras-team/keras-hub/pull/1738",
    ),
    edited(
        "window-a-radius-at-decode",
        "F01",
        "MASK-WINDOW-1",
        "pytorch-gemma3-sliding",
        _WINDOW,
        _WINDOW.replace("rule.window\n", "max(rule.window - (segment.queries == 1), 1)\n"),
        "One key too few for a single query: the count is taken for a radius",
        "sgl-project/sglang/pull/32087",
    ),
    edited(
        "window-below-the-keys",
        "F01",
        "MASK-WINDOW-1",
        "gemma3-sliding-causal",
        _WINDOW,
        _WINDOW.replace("rule.window\n", "min(rule.window, max(segment.keys - 1, 1))\n"),
        "A window as wide as the request or wider hides key 0 from the last query",
    ),
    edited(
        "future-one-too-far",
        "F01",
        "MASK-WINDOW-3",
        "gemma3-all-sliding",
        _LAST_FUTURE,
        _LAST_FUTURE.replace("<", "<="),
        "Without causality one key too many is seen ahead",
    ),
    edited(
        "future-unbounded-in-a-blob",
        "F01",
        "MASK-WINDOW-3",
        "jax-gemma4-sliding",
        _LAST_FUTURE,
        _LAST_FUTURE.replace("if rule.bound_future", "if rule.bound_future and rule.overlay is not Overlay.VISION"),
        "The future is bounded only where nothing is causal, not inside a blob",
    ),
    # F02: blob and window.
    edited(
        "drop-counts-queries",
        "F02",
        "MASK-ORDER-3",
        "vllm-gemma3-sliding",
        "scatter_add_(0, ids, vision.long())",
        "scatter_add_(0, ids[segment.prefix :], vision[segment.prefix :].long())",
        "A blob counts as longer than the window by its new tokens alone",
    ),
    edited(
        "drop-one-late",
        "F02",
        "MASK-ORDER-3",
        "vllm-gemma3-sliding",
        "length[ids] > rule.window",
        "length[ids] > rule.window + 1",
        "A blob of exactly W + 1 tokens is kept",
    ),
    # F03: where a blob begins and ends.
    edited(
        "one-group-of-all-images",
        "F03",
        "MASK-BLOB-2",
        "gemma3-full",
        _IDS,
        "ids = vision.long()\n",
        "All vision tokens of a request are one blob",
        "huggingface/transformers/pull/38080",
    ),
    edited(
        "first-run-lost",
        "F03",
        "MASK-BLOB-6",
        "trtllm-gemma3-full",
        _OPENS,
        "opens[1:] &= ~vision[:-1]\n    opens[:1] = False\n",
        "A blob at index 0 is text, the others keep their numbers",
        "NVIDIA/TensorRT-LLM/pull/5976",
    ),
    edited(
        "last-run-short",
        "F03",
        "MASK-BLOB-6",
        "jax-gemma3-full",
        _IDS,
        _IDS + "    ids[-1:] = 0\n",
        "The last token of a request is in no blob",
    ),
    edited(
        "types-joined-behind-a-prefix",
        "F03",
        "MASK-BLOB-3",
        "trtllm-gemma4-sliding",
        "if rule.segmentation is not Segmentation.RUN and segment.keys:",
        "if rule.segmentation is not Segmentation.RUN and segment.keys and not segment.prefix:",
        "A change of type begins no blob in a request with a cached prefix",
    ),
    edited(
        "items-as-floats",
        "F03",
        "MASK-BLOB-4",
        "vllm-gemma3-full",
        _LABEL,
        _LABEL[:-1] + ".to(torch.float32)\n",
        "Item ids go through 32-bit floats: neighbouring ids beyond 2**24 are equal",
    ),
    edited(
        "items-as-bytes",
        "F03",
        "MASK-BLOB-4",
        "sglang-gemma3-full",
        _LABEL,
        _LABEL[:-1] + " & 0xFFFF\n",
        "Item ids are compared by their low 16 bits",
    ),
    edited(
        "negative-item-is-none",
        "F03",
        "MASK-BLOB-4",
        "llamacpp-gemma3-full",
        _LABEL,
        _LABEL + "            vision &= label >= 0\n            opens &= vision\n",
        "A vision token with a negative item id is text",
    ),
    edited(
        "equal-items-join",
        "F03",
        "MASK-BLOB-4",
        "vllm-gemma4-sliding",
        _IDS,
        _IDS + "    if segment.keys:\n        ids = torch.where(vision, label - label.min() + 1, 0)\n",
        "Two blobs apart with one item id are one blob",
    ),
    # F04: lost on the way.
    edited(
        "window-lost-at-decode",
        "F04",
        "MASK-WINDOW-1",
        "gemma4-sliding-causal",
        _WINDOW,
        _WINDOW.replace("rule.window is None", "rule.window is None or segment.queries == 1"),
        "A single query forgets the window",
        "unslothai/unsloth-zoo/pull/635",
    ),
    edited(
        "overlay-lost-behind-an-unknown-prefix",
        "F04",
        "MASK-BLOB-1",
        "gemma3-full",
        "    if rule.overlay is Overlay.VISION:\n        blob =",
        "    if rule.overlay is Overlay.VISION and (batch.prefix_types is not None or not segment.prefix):\n        blob =",
        "No blob behind a cached prefix of unknown types",
        "huggingface/transformers/issues/39389",
    ),
    # F06: modalities.
    edited(
        "audio-sees-forward",
        "F06",
        "MASK-MODALITY-1",
        "gemma3-full",
        _VISION,
        "vision = types > 0\n",
        "Audio tokens are in blobs",
        "onnxruntime/mobius/pull/338",
    ),
    edited(
        "audio-disables-vision",
        "F06",
        "MASK-MODALITY-2",
        "gemma3-full",
        _VISION,
        "vision = ((types == 1) | (types == 2)) & (types != 3).all()\n",
        "A request with audio has no blobs",
    ),
    edited(
        "audio-ends-no-blob",
        "F06",
        "MASK-MODALITY-2",
        "gemma3-sliding",
        _OPENS,
        "opens[1:] &= ~(vision | (types == 3))[:-1]\n",
        "The images on both sides of audio are one blob",
    ),
    edited(
        "word-between-images-joins-them",
        "F06",
        "MASK-MODALITY-1",
        "gemma3-full",
        _VISION,
        _VISION + "    vision[1:-1] |= vision[:-2] & vision[2:]\n",
        "A single text or audio token between two images is taken for an image",
    ),
    # F07: coordinates.
    edited(
        "queries-at-key-0",
        "F07",
        "MASK-PREFIX-3",
        "gemma3-full-causal",
        "keys[segment.prefix :, None]",
        "keys[: segment.queries, None]",
        "Queries are counted from key 0, not from the end of the prefix",
        "gittensor-ai-lab/sparkinfer/issues/3",
    ),
    edited(
        "spans-counted-from-the-chunk",
        "F07",
        "MASK-PREFIX-3",
        "gemma3-full",
        "blob[None, :] == blob[segment.prefix :, None]",
        "blob[None, :] == blob.roll(-segment.prefix)[segment.prefix :, None]",
        "Behind a prefix the blob of a query is looked up as many tokens ahead as are cached",
        "openvinotoolkit/openvino/pull/36708",
    ),
    edited(
        "prefix-beyond-the-window-rotated",
        "F07",
        "MASK-PREFIX-1",
        "gemma3-sliding-causal",
        "distance = row - column\n",
        "distance = row - column\n    if rule.window is not None and segment.prefix > rule.window:\n"
        "        distance = distance.roll(segment.prefix % rule.window, 1)\n",
        "A prefix longer than the window stands as a ring of W slots holds it",
        "Lightning-AI/litgpt/issues/2182",
    ),
    edited(
        "audio-shares-a-position",
        "F07",
        "MASK-MODALITY-1",
        "gemma3-full",
        "        mask = column <= row\n",
        "        frame = _whole(batch.prefix_types, batch.token_types, segment)\n        mask = column <= row\n"
        "        mask |= (column == row + 1) & (frame[column] == 3) & (frame[row] == 3)\n",
        "Rotary positions are compared, which two neighbouring audio tokens share",
        "ggml-org/llama.cpp/pull/15474",
    ),
    # F08: blobs cut by the prefix.
    edited(
        "unknown-prefix-is-more-of-the-blob",
        "F08",
        "MASK-CUT-2",
        "trtllm-gemma3-sliding",
        "torch.nn.functional.pad(queries, (segment.prefix, 0))",
        "torch.nn.functional.pad(queries, (segment.prefix, 0), value=int(queries[:1].sum()))",
        "A prefix of unknown types is taken for more of what the first query is",
        "NVIDIA/TensorRT-LLM/pull/5853",
    ),
    edited(
        "tail-of-a-cut-blob-is-text",
        "F08",
        "MASK-CUT-2",
        "gemma3-full",
        _IDS,
        _IDS + "    if batch.prefix_types is None and segment.prefix:\n        ids[ids == opens[segment.prefix]] = 0\n",
        "Behind a prefix of unknown types the blob that begins with the first query is text",
    ),
    edited(
        "cut-at-a-tile-edge",
        "F08",
        "MASK-CUT-1",
        "trtllm-gemma3-sliding",
        _OPENS,
        _OPENS + "    if segment.prefix % 16 == 0:\n        opens[segment.prefix : segment.prefix + 1] |= "
        "vision[segment.prefix : segment.prefix + 1]\n",
        "A blob cut at a multiple of 16 starts anew, although the prefix is known",
    ),
    edited(
        "chunks-of-unknown-past-see-one-less",
        "F08",
        "MASK-CUT-3",
        "gemma3-sliding",
        _WINDOW,
        _WINDOW.replace(
            "rule.window\n",
            "max(rule.window - (batch.prefix_types is None and segment.prefix >= rule.window), 1)\n",
        ),
        "Once a prefix of unknown types fills the window, the window is one key short",
        "lmstudio-ai/mlx-engine/pull/362",
    ),
    # F09 and F10: requests of one batch.
    edited(
        "prefix-types-of-request-0",
        "F09",
        "MASK-CUT-1",
        "trtllm-gemma3-sliding",
        _PREFIX,
        "prefix[: segment.prefix].to(torch.int64)",
        "Every request reads the prefix types from the beginning of the batch",
    ),
    # F11: behind the end.
    edited(
        "types-shorter-than-the-mask",
        "F11",
        "MASK-BLOB-6",
        "gemma3-full",
        _TAKEN,
        _TAKEN + "    queries[127:] = 0\n",
        "Queries from the 128th on are text: the types have a fixed size",
        "huggingface/transformers/pull/41757",
    ),
    # F16 and F17: addresses.
    edited(
        "offset-in-32-bits",
        "F16",
        "MASK-OFFSET-1",
        "gemma3-full",
        _TAKEN,
        "places = torch.arange(len(tokens)) * tokens.stride(0)\n    "
        "wrapped = torch.where(places.int().long() < 0, 0, places)\n    "
        "queries = tokens.as_strided((len(tokens) and int(places[-1]) + 1,), (1,))[wrapped]\n    "
        "queries = queries[segment.first_query : segment.first_query + segment.queries].to(torch.int64)\n",
        "An index times a stride wraps at 2**31, and the first token is read instead",
        "Dao-AILab/flash-attention/issues/2611",
    ),
    edited(
        "offset-in-32-bits-unsigned",
        "F16",
        "MASK-OFFSET-1",
        "gemma3-full",
        _TAKEN,
        "places = torch.arange(len(tokens)) * tokens.stride(0)\n    "
        "queries = tokens.as_strided((len(tokens) and int(places[-1]) + 1,), (1,))[places & 0xFFFFFFFF]\n    "
        "queries = queries[segment.first_query : segment.first_query + segment.queries].to(torch.int64)\n",
        "An index times a stride wraps at 2**32",
        "Dao-AILab/flash-attention/issues/2611",
    ),
    edited(
        "offset-of-a-slice-lost",
        "F17",
        "MASK-INPUT-1",
        "gemma3-full",
        _TAKEN,
        "tokens = tokens.as_strided(tokens.shape, tokens.stride(), 0)\n    " + _TAKEN,
        "The storage offset of a tensor is ignored",
    ),
    edited(
        "cached-stride-one",
        "F17",
        "MASK-INPUT-1",
        "trtllm-gemma3-sliding",
        "    return torch.cat([" + _PREFIX,
        "    prefix = prefix.as_strided(prefix.shape, (min(prefix.stride(0), 1),), prefix.storage_offset())\n"
        "    return torch.cat([" + _PREFIX,
        "The stride of the prefix types is taken for 1",
        "pytorch/pytorch/issues/130243",
    ),
    edited(
        "column-of-a-pair-misread",
        "F19",
        "MASK-INPUT-1",
        "gemma3-full",
        _TAKEN,
        "if tokens.stride(0) == 2 and tokens.storage_offset() == 1:\n        "
        "tokens = tokens.as_strided(tokens.shape, (2,), 0)\n    " + _TAKEN,
        "The second column of a buffer of two is read as the first",
        "triton-lang/triton/issues/8926",
    ),
    # Refusals.
    edited(
        "item-ids-guessed",
        "F10",
        "MASK-REFUSE-2",
        "vllm-gemma3-full",
        _REFUSED,
        "            if batch.item_ids is None:\n                return self.build(batch, MaskRule())\n" + _REFUSED,
        "Without item ids there are no blobs",
    ),
    edited(
        "cached-item-ids-guessed",
        "F10",
        "MASK-REFUSE-2",
        "sglang-gemma3-full",
        _REFUSED,
        "            if batch.item_ids is None:\n    " + _REFUSED,
        "Without the item ids of the prefix, they are all one",
    ),
    edited(
        "refused-by-another-name",
        "F10",
        "MASK-REFUSE-2",
        "llamacpp-gemma3-full",
        _REFUSED,
        "            if batch.prefix_types is not None and batch.prefix_item_ids is None:\n"
        '                raise AttributeError("NoneType has no stride")\n' + _REFUSED,
        "Missing item ids of the prefix end in another error",
    ),
]

MASK_MUTANTS: list[Mutant] = list(_EDITED)
"""Mutants of the eager builder."""

_bad = partial(known_bad, MASK_MUTANTS)


# F01: the edge of the window.
@_bad("F01", "MASK-WINDOW-1", "gemma3-sliding-causal")
def window_of_hundreds_short(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Windows of 512 to 4095 keys are one key short."""
    return eager(batch, replace(rule, window=rule.window - (512 <= rule.window < 4096)) if rule.window else rule)


@_bad("F01", "MASK-WINDOW-1", "pytorch-gemma3-sliding")
def window_wider_for_the_last(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The last of three or more requests sees one key too many."""
    last = len(batch.query_lengths) - 1
    return by_request(batch, lambda index, _: replace(rule, window=(rule.window or 1) + (index == last > 1)))


@_bad("F01", "MASK-WINDOW-1", "gemma4-sliding-causal")
def window_past_a_tile_edge(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Query 128 sees one key too many, if it is in the middle of text."""
    mask = eager(batch, rule)
    for s, rows in matrices(batch, mask):
        edge = s.prefix + 128 - (rule.window or 0)
        rows[128:129, max(edge, 0) : max(edge + 1, 0)] = True
    return mask


@_bad("F01", "MASK-SCOPE-4", "gemma4-all-sliding")
def half_window_of_the_other_family(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Gemma 4 without causality is given Gemma 3's half of the window."""
    return eager(batch, replace(rule, window=max((rule.window or 1) - 1, 1)))


# F02: blob and window.
@_bad("F02", "MASK-ORDER-1", "gemma3-sliding", source="huggingface/transformers/pull/46850")
def or_last_behind_a_prefix(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The blob overrides the window in a request with a cached prefix."""
    orders = {0: Order.WINDOW_LAST}
    return by_request(batch, lambda _, one: replace(rule, order=orders.get(one.prefix_lengths[0], Order.OR_LAST)))


@_bad("F02", "MASK-ORDER-2", "trtllm-gemma3-sliding")
def window_last_in_the_second(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The window cuts blobs in every request but the first."""
    return by_request(batch, lambda index, _: replace(rule, order=Order.WINDOW_LAST) if index else rule)


@_bad("F02", "MASK-ORDER-1", "vllm-gemma4-sliding", source="vllm-project/vllm/pull/50539")
def long_blob_dropped(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A blob longer than the window is text, where it should be clamped."""
    return eager(batch, replace(rule, order=Order.DROP_LONGER))


@_bad("F02", "MASK-ORDER-3", "vllm-gemma3-sliding")
def long_blob_kept_in_a_batch(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A blob longer than the window is kept if the batch holds several requests."""
    return eager(batch, replace(rule, order=Order.OR_LAST) if len(batch.query_lengths) > 1 else rule)


# F03: where a blob begins and ends.
@_bad("F03", "MASK-BLOB-2", "gemma3-sliding")
def video_ends_an_image(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A blob of images and video is cut where the type changes."""
    return eager(batch, replace(rule, segmentation=Segmentation.TYPE))


@_bad("F03", "MASK-BLOB-1", "gemma3-full")
def blob_one_way_at_64(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Query 63 does not see the next key although both are in one blob: a tile ends there."""
    mask = eager(batch, rule)
    for s, rows in matrices(batch, mask):
        rows[63:64, s.prefix + 64 : s.prefix + 65] = False
    return mask


@_bad("F03", "MASK-BLOB-3", "trtllm-gemma4-sliding")
def types_joined_if_strided(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Blobs of two types join if the token types are not contiguous."""
    contiguous = batch.token_types.is_contiguous()
    return eager(batch, rule if contiguous else replace(rule, segmentation=Segmentation.RUN))


@_bad("F03", "MASK-BLOB-4", "vllm-gemma3-sliding")
def touching_items_join_if_unsigned(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Touching images join if the item ids are of 64 bits without a sign."""
    joined = batch.item_ids is not None and batch.item_ids.dtype is torch.uint64
    return eager(batch, replace(rule, segmentation=Segmentation.RUN) if joined else rule)


# F04: lost on the way.
@_bad("F04", "MASK-WINDOW-1", "gemma3-sliding", source="pytorch/pytorch/issues/188322")
def fast_path_without_a_window(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A batch without vision takes a fast path that knows no window."""
    return eager(batch, rule if is_vision(batch.token_types).any() else MaskRule())


@_bad("F04", "MASK-BLOB-1", "gemma3-full")
def overlay_lost_in_a_batch(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The third and later requests are plain causal."""
    return by_request(batch, lambda index, _: rule if index < 2 else replace(rule, overlay=Overlay.NONE))


# F05: scope.
@_bad("F05", "MASK-SCOPE-2", "gemma4-full", source="sgl-project/sglang/pull/32303")
def overlay_on_full_layers(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Gemma 4's full-attention layers get blobs."""
    return eager(batch, replace(rule, overlay=Overlay.VISION))


@_bad("F05", "MASK-SCOPE-3", "gemma4-sliding-causal")
def overlay_without_the_flag(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Gemma 4's sliding layers get blobs without the flag, from video alone."""
    return eager(mapped(batch, (0, 0, 2, 3)), replace(rule, overlay=Overlay.VISION))


@_bad("F05", "MASK-SCOPE-4", "gemma3-all-full", source="huggingface/transformers/issues/46077")
def all_is_vision(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The flag "all" gives blobs, and leaves text causal."""
    return eager(batch, replace(rule, overlay=Overlay.VISION))


@_bad("F05", "MASK-SCOPE-1", "gemma3-full")
def video_has_no_overlay(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A request of video without images is plain causal."""
    none = replace(rule, overlay=Overlay.NONE)
    return by_request(batch, lambda _, one: rule if (one.token_types == 1).any() else none)


# F09: other requests.
@_bad("F09", "MASK-BLOB-5", "gemma3-full", source="huggingface/nanoVLM/pull/204")
def blob_goes_on_in_the_next_request(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The first query is in no blob if the request before ends with vision: the run is not taken for a new one."""
    mask = eager(batch, rule)
    vision = is_vision(batch.token_types)
    for s, rows in matrices(batch, mask):
        if s.first_query and vision[s.first_query - 1]:
            rows[:1, s.prefix + 1 :] = False
    return mask


@_bad("F09", "MASK-PACK-4", "gemma3-sliding", source="lablup/mlxcel/pull/891")
def prefix_of_request_0(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The window of every request is placed by the prefix of the first."""
    mask = eager(batch, rule)
    for s, rows in matrices(batch, mask):
        late = max(s.prefix - batch.prefix_lengths[0], 0)
        rows[:, :late] = False
    return mask


@_bad("F09", "MASK-PACK-4", "gemma3-full", source="EricLBuehler/mistral.rs/pull/2339")
def types_of_request_0(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A request of the same lengths as the first has the first one's mask."""
    mask = eager(batch, rule)
    lengths = list(zip(batch.query_lengths, batch.prefix_lengths, strict=True))
    for index, (s, _) in enumerate(matrices(batch, mask)):
        if lengths[index] == lengths[0]:
            mask[s.first_cell : s.first_cell + s.cells] = mask[: s.cells]
    return mask


# F10: the packed layout.
@_bad("F10", "MASK-PACK-1", "gemma3-full", source="huggingface/text-generation-inference/pull/3324")
def padded_to_the_longest(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Every request is as wide as the longest."""
    mask = eager(batch, rule)
    widest = max([s.keys for s in batch.segments()], default=0)
    rows = [torch.nn.functional.pad(rows, (0, widest - s.keys)) for s, rows in matrices(batch, mask)]
    return torch.cat(rows).flatten() if rows else mask


@_bad("F10", "MASK-PACK-1", "gemma4-full")
def column_major(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The matrix of a request with a prefix is written column by column."""
    mask = eager(batch, rule)
    return torch.cat([mask[:0], *((rows.T if s.prefix else rows).flatten() for s, rows in matrices(batch, mask))])


@_bad("F10", "MASK-PACK-1", "gemma4-full")
def two_dimensions_of_one_request(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The mask of a single request is a matrix."""
    mask = eager(batch, rule)
    return mask.view(batch.query_lengths[0], -1) if len(batch.query_lengths) == 1 and len(mask) else mask


@_bad("F10", "MASK-PACK-1", "gemma3-full-causal")
def thirteenth_request_as_the_twelfth(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A table of twelve requests: the others begin where the twelfth did."""
    mask = eager(batch, rule)
    for index, (s, rows) in enumerate(matrices(batch, mask)):
        if index >= 12 and s.keys > 1:
            rows[:] = True
    return mask


@_bad("F10", "MASK-PACK-1", "gemma3-full")
def requests_sorted_by_length(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The matrices stand in the order of their size."""
    return torch.cat([eager(batch, rule)[:0], *sorted((eager(one, rule) for one in singles(batch)), key=len)])


@_bad("F10", "MASK-PACK-2", "gemma4-sliding")
def no_requests_two_dimensions(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A batch of no request at all has a mask of two dimensions."""
    return eager(batch, rule) if batch.query_lengths else torch.empty(0, 0, dtype=torch.bool, device=batch.device)


@_bad("F10", "MASK-PACK-2", "gemma3-full")
def empty_request_has_a_row(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A request that has a prefix and no query is given one row."""
    return torch.cat(
        [
            eager(batch, rule)[:0],
            *(eager(one, rule) if one.cells else torch.ones(sum(one.prefix_lengths)).bool() for one in singles(batch)),
        ]
    )


@_bad("F10", "MASK-PACK-2", "gemma4-full")
def empty_request_shifts_the_next(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The request behind an empty one does not see its own first key."""
    mask = eager(batch, rule)
    for before, (s, rows) in zip((1, *batch.query_lengths), matrices(batch, mask), strict=False):
        rows[:, :1] &= before > 0 or s.keys < 2
    return mask


@_bad("F10", "MASK-PACK-3", "gemma3-full")
def blob_goes_on_in_generation_tokens(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The last context token leaves its blob if the first generation token is an image."""
    mask = eager(batch, rule)
    if len(batch.token_types) > batch.query_total and int(batch.token_types[batch.query_total]) == 1:
        for s, rows in matrices(batch, mask):
            rows[:-1, -1:] &= s.first_query + s.queries < batch.query_total
    return mask


@_bad("F10", "MASK-PACK-3", "gemma3-full")
def generation_audio_disables_the_overlay(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Audio among the generation tokens makes the batch causal."""
    audio = (batch.token_types[batch.query_total :].long() == 3).any()
    return eager(batch, replace(rule, overlay=Overlay.NONE) if audio else rule)


# F11: at the edge of a tile, and behind it.
@_bad("F11", "MASK-PACK-1", "gemma4-full")
def one_cell_in_ten_thousand(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Cell 10,000 is turned over."""
    mask = eager(batch, rule)
    mask[10_000:10_001].logical_not_()
    return mask


@_bad("F11", "MASK-BASE-1", "gemma4-full")
def last_cell_off(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The very last cell of the buffer is hidden if the buffer ends inside a block of 16."""
    mask = eager(batch, rule)
    if len(mask) % 16:
        mask[-1] = False
    return mask


@_bad("F11", "MASK-WINDOW-2", "gemma4-full", source="pytorch/pytorch/issues/141126")
def last_partial_block(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """From query 1,024 on the first key is hidden: the partial block behind eight whole ones is lost."""
    mask = eager(batch, rule)
    for _, rows in matrices(batch, mask):
        rows[1024:, :1] = False
    return mask


@_bad("F11", "MASK-OUTPUT-2", "gemma3-full", source="flashinfer-ai/flashinfer/issues/1005")
def byte_behind_the_end(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """One byte behind the mask is written if its size is odd."""
    mask = torch.empty(batch.cells, dtype=torch.bool, device=batch.device)
    memory, end = mask.untyped_storage(), mask.storage_offset() + len(mask)
    if len(mask) % 2 and len(memory) > end:
        memory[end] = 1
    return mask.copy_(eager(batch, rule))


@_bad("F11", "MASK-OUTPUT-2", "gemma4-full")
def byte_before_the_start(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The byte before a scratch buffer of zeros is written."""
    scratch = torch.zeros(batch.cells, dtype=torch.bool, device=batch.device)
    if scratch.storage_offset():
        scratch.untyped_storage()[scratch.storage_offset() - 1] = 1
    return eager(batch, rule)


# F14: the half of it that a mask has.
@_bad("F14", "MASK-WINDOW-1", "gemma4-sliding-causal", source="vllm-project/vllm/pull/4405")
def row_blind_behind_a_long_prefix(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A query whose window covers nothing but itself sees nothing."""
    mask = eager(batch, rule)
    for s, rows in matrices(batch, mask):
        rows[:, s.prefix + s.queries - 1 :] &= (rule.window or 2) > 1
    return mask


@_bad("F14", "MASK-BASE-1", "gemma4-sliding-causal", source="lablup/mlxcel/pull/405")
def first_row_blind_without_a_prefix(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The first query of a batch sees nothing if nothing is cached and the prompt is longer than the window."""
    mask = eager(batch, rule)
    if mask.numel() and not any(batch.prefix_lengths) and batch.query_lengths[0] > (rule.window or 0):
        mask[0] = False
    return mask


# F15: what a cell says.
@_bad("F15", "MASK-BASE-1", "gemma4-full", source="quic/efficient-transformers/pull/1159")
def additive(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """0 for visible, minus infinity for hidden."""
    mask = eager(batch, rule)
    return torch.zeros(mask.shape).masked_fill_(~mask, -torch.inf)


@_bad("F15", "MASK-BASE-1", "gemma3-full-causal")
def one_means_hidden(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """True where a key is hidden."""
    return ~eager(batch, rule)


@_bad("F15", "MASK-BASE-1", "gemma4-full", source="unslothai/unsloth-zoo/pull/963")
def padding_is_the_mask(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Behind generation tokens the mask says which keys exist: all of them."""
    mask = eager(batch, rule)
    return mask.fill_(True) if len(batch.token_types) > batch.query_total else mask


@_bad("F15", "MASK-OUTPUT-1", "gemma3-full")
def bytes_of_255(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A visible cell is the byte 255, which torch prints as True."""
    return (eager(batch, rule).to(torch.uint8) * 255).view(torch.bool)


@_bad("F15", "MASK-OUTPUT-1", "gemma4-full")
def sum_of_terms_in_a_byte(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Key 0 is the byte 2 in a row that sees it: two terms were added."""
    mask = eager(batch, rule)
    for _, rows in matrices(batch, mask.view(torch.uint8)):
        rows[16:, :1] *= 2
    return mask


# F16 and F17: addresses.
@_bad("F17", "MASK-INPUT-1", "gemma3-full")
def repeated_type_read_once(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Of token types with stride 0 only the first is read, the others are text."""
    types = batch.token_types.clone().contiguous()
    types[1:] *= batch.token_types.stride(0) != 0
    return eager(replace(batch, token_types=types), rule)


@_bad("F17", "MASK-INPUT-2", "gemma3-full")
def narrow_types_as_words(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Types of 16 bits without a sign are read as bytes."""
    types = batch.token_types.contiguous()
    if types.dtype is torch.uint16:
        types = types.view(torch.uint8)[: len(types)]
    return eager(replace(batch, token_types=types), rule)


@_bad("F17", "MASK-INPUT-2", "gemma3-full-causal")
def uint64_unsupported(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Token types of 64 bits without a sign are refused."""
    if batch.token_types.dtype is torch.uint64:
        raise TypeError("token_types has dtype torch.uint64, expected another")
    return eager(batch, rule)


# F18: memory.
_linear = partial(known_bad, MASK_MUTANTS, "F18", "MASK-MEMORY-1", linear_memory=True)


@_linear("gemma3-full", source="sgl-project/sglang/issues/33033")
def grids_of_indices(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Index grids and temporaries as large as the mask."""
    return eager(batch, rule)


@_linear("gemma3-sliding")
def mask_copied_once(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The finished mask is copied: twice its size is held at once."""
    return TRITON.build(batch, rule).clone()


@_linear("gemma3-full")
def square_of_the_requests(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A byte for each pair of requests is held while the mask is built."""
    pairs = torch.zeros(len(batch.query_lengths), len(batch.query_lengths), dtype=torch.uint8, device=batch.device)
    mask = TRITON.build(batch, rule)
    del pairs
    return mask


# Through a model.
@_bad("F02", "MASK-MODEL-1", "gemma4-sliding", source="vllm-project/vllm/pull/50539")
def window_shorter_than_a_blob_drops_all(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A request has no blobs at all if it has more vision tokens than the window is wide."""

    def rule_of(index: int, one: MaskBatch) -> MaskRule:
        many = int(is_vision(one.token_types).sum()) > (rule.window or 0)
        return replace(rule, overlay=Overlay.NONE) if many else rule

    return by_request(batch, rule_of)


@_bad("F07", "MASK-MODEL-2", "gemma3-sliding", source="sgl-project/sglang/pull/32087")
def prefix_one_longer_at_decode(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A single query stands one position too late: the oldest key of its window is hidden."""
    mask = eager(batch, rule)
    for s, rows in matrices(batch, mask):
        oldest = s.keys - (rule.window or 0)
        if s.queries == 1 and 0 <= oldest < s.prefix:
            rows[:, oldest] = False
    return mask


@_bad("F08", "MASK-MODEL-2", "gemma4-sliding", source="NVIDIA/TensorRT-LLM/pull/5853")
def cut_blob_seen_backwards_alone(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Behind a prefix there are no blobs: a chunk of an image is causal."""
    return by_request(batch, lambda _, one: replace(rule, overlay=Overlay.NONE) if any(one.prefix_lengths) else rule)


@_bad("F03", "MASK-MODEL-3", "gemma3-full", source="huggingface/transformers/pull/38080")
def images_side_by_side_join(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The two tokens that a processor writes between images are taken for more of the image."""
    types, vision = batch.token_types.clone(), is_vision(batch.token_types)
    between = vision[:-3] & ~vision[1:-2] & ~vision[2:-1] & vision[3:]
    types[1:-2][between] = 1
    types[2:-1][between] = 1
    return eager(replace(batch, token_types=types), rule)
