"""Mask builders that are right where one looks, and owe their caller something else."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from reference.rules import MaskRule, Overlay
from reference.tokens import MaskBatch
from suites.mutants.masks import Build, eager, is_vision, known_bad, mapped, matrices
from suites.mutants.mutant import Mutant

CHEATS: list[Mutant] = []

_bad = partial(known_bad, CHEATS, "cheat")


def _unwatched(requirement: str, *profiles: str) -> Callable[[Build], Build]:
    """A fault that hides while a torch function mode is active, as the suite's poisoned memory is one.

    Such a mutant is left to the tests that compare a builder with itself, and shows that each of them is needed.
    """

    def add(build: Build) -> Build:
        @functools.wraps(build)
        def hidden(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
            watched = torch._C._len_torch_function_stack() > 0
            return eager(batch, rule) if watched else build(batch, rule, kept)

        return _bad(requirement, *profiles)(hidden)

    return add


# Results that are kept.
@_bad("MASK-DETERMINISM-2", "gemma3-full")
def last_mask(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Returns its last result where that has as many cells as are asked for."""
    if getattr(kept, "mask", torch.empty(0)).numel() != batch.cells or not batch.cells:
        kept.mask = eager(batch, rule)
    return kept.mask.clone()


def _remembered(kept: SimpleNamespace, key: object, batch: MaskBatch, rule: MaskRule) -> Tensor:
    masks: dict[object, Tensor] = kept.__dict__.setdefault("masks", {})
    if key not in masks:
        masks[key] = eager(batch, rule)
    return masks[key].clone()


@_bad("MASK-DETERMINISM-2", "gemma3-sliding")
def cached_by_lengths(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A cache of masks whose key is the lengths and the rule."""
    return _remembered(kept, (rule, batch.query_lengths, batch.prefix_lengths), batch, rule)


@_bad("MASK-DETERMINISM-2", "gemma3-full", source="sgl-project/sglang/pull/26019")
def cached_by_address(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A cache whose key is the address and the layout of the token types, which it keeps alive."""
    tensors = (batch.token_types, batch.prefix_types, batch.item_ids, batch.prefix_item_ids)
    kept.__dict__.setdefault("alive", []).append(tensors)
    key = (rule, batch.query_lengths, batch.prefix_lengths, *(t is not None and t.data_ptr() for t in tensors))
    return _remembered(kept, key, batch, rule)


@_bad("MASK-DETERMINISM-2", "gemma3-full")
def cached_by_object(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A cache whose key is the batch object."""
    return _remembered(kept, (batch, rule), batch, rule)


@_bad("MASK-DETERMINISM-2", "gemma3-full")
def cached_by_ends(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A cache of one batch object, checked by its first and last token type."""
    types = batch.token_types[: batch.query_total].tolist()
    return _remembered(kept, (batch, rule, *types[:1], *types[-1:]), batch, rule)


@_bad("MASK-OUTPUT-4", "gemma3-sliding")
def one_buffer(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Every result lies in the same buffer."""
    if getattr(kept, "memory", torch.empty(0)).numel() < batch.cells:
        kept.memory = torch.zeros(batch.cells, dtype=torch.bool, device=batch.device)
    return kept.memory[: batch.cells].copy_(eager(batch, rule))


@_bad("MASK-OUTPUT-4", "gemma3-sliding")
def one_buffer_a_rule(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Results of one rule and size share a buffer: the next batch overwrites them."""
    buffers: dict[object, Tensor] = kept.__dict__.setdefault("buffers", {})
    mask = eager(batch, rule)
    return buffers.setdefault((rule, len(mask)), mask).copy_(mask)


@_bad("MASK-OUTPUT-4", "gemma3-full", "gemma3-sliding")
def two_buffers_in_turn(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Results lie in two buffers in turn: the third overwrites the first."""
    kept.turn = 1 - getattr(kept, "turn", 0)
    buffers: dict[object, Tensor] = kept.__dict__.setdefault("buffers", {})
    mask = eager(batch, rule)
    return buffers.setdefault((kept.turn, len(mask)), mask).copy_(mask)


# Calls that are counted.
@_bad("MASK-DETERMINISM-1", "gemma4-full")
def every_fifth_call(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Every fifth call loses the last cell."""
    kept.calls = getattr(kept, "calls", 0) + 1
    mask = eager(batch, rule)
    mask[len(mask) - (kept.calls % 5 == 0) :] = False
    return mask


@_bad("MASK-DETERMINISM-1", "gemma3-sliding")
def after_a_wider_window(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The window of the call before is used if it is wider."""
    before, kept.window = getattr(kept, "window", 1), rule.window or 1
    return eager(batch, replace(rule, window=max(before, kept.window)))


@_bad("MASK-DETERMINISM-1", "gemma3-full")
def after_more_requests(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Behind a batch of more requests the last cell is what a table that was not cleared says."""
    mask = eager(batch, rule)
    before, kept.requests = getattr(kept, "requests", 0), len(batch.query_lengths)
    mask[len(mask) - (before > kept.requests) :] = False
    return mask


@_bad("MASK-BASE-1", "gemma4-full")
def right_for_forty_calls(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The first forty calls of a process are right, then nothing but the diagonal is seen."""
    kept.calls = getattr(kept, "calls", 0) + 1
    return eager(batch, rule if kept.calls <= 40 else replace(rule, window=1))


@_bad("MASK-BASE-1", "gemma4-full")
def wrong_for_the_first_call(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The first call of a process shows everything: it measures, and the others are right."""
    kept.calls = getattr(kept, "calls", 0) + 1
    mask = eager(batch, rule)
    return mask.fill_(True) if kept.calls == 1 else mask


# The caller's memory, and what the memory held.
@_bad("MASK-INPUT-3", "gemma3-full")
def audio_written_as_text(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Audio in the token types becomes text in place."""
    mask = eager(batch, rule)
    types = batch.token_types[: batch.query_total]
    types.copy_(torch.where(types.long() == 3, 0, types.long()))
    return mask


@_bad("MASK-INPUT-3", "gemma3-full")
def generation_tokens_written(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Token types behind the context are set to text, so that they are read as none."""
    batch.token_types[batch.query_total :] = 0
    return eager(batch, rule)


@_bad("MASK-INPUT-3", "gemma3-full")
def gaps_written(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The element behind the first of strided prefix types is cleared."""
    types = batch.prefix_types
    if types is not None and types.stride(0) > 1:
        types.as_strided((1,), (1,), types.storage_offset() + 1).zero_()
    return eager(batch, rule)


@_bad("MASK-INPUT-3", "vllm-gemma3-full")
def item_ids_renumbered(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Item ids of text tokens are cleared in place, as their values do not matter."""
    mask = eager(batch, rule)
    if batch.item_ids is not None:
        ids = batch.item_ids[: batch.query_total]
        ids.copy_(torch.where(is_vision(batch.token_types[: len(ids)]), ids.long(), 0))
    return mask


@_bad("MASK-INPUT-3", "gemma3-full")
def written_and_restored(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The first token type is written while the mask is built, and put back."""
    types = batch.token_types.clone()
    batch.token_types[:1] = 0
    mask = eager(replace(batch, token_types=types), rule)
    batch.token_types[:1] = types[:1]
    return mask


@_bad("MASK-OUTPUT-3", "gemma4-full")
def hidden_cells_unwritten(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """In rows behind the 32nd the last bit of key 0 is what the memory held."""
    mask, held = eager(batch, rule), torch.empty(1, dtype=torch.uint8, device=batch.device)
    for _, rows in matrices(batch, mask):
        rows[32:, :1] = (held & 1).bool()
    return mask


@_bad("MASK-OUTPUT-3", "gemma3-full")
def kept_from_an_equal_call(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """If a call repeats the one before, the first byte of over 500 is left as the memory has it: it was written before."""
    mask, held = eager(batch, rule), torch.empty(batch.cells, dtype=torch.uint8, device=batch.device)
    call = (rule, batch.query_lengths, batch.prefix_lengths, batch.token_types.tolist())
    before, kept.call = getattr(kept, "call", None), call
    if before == call and len(mask) > 500:
        mask[:1] = (held[:1] & 1).bool()
    return mask


@_bad("MASK-OUTPUT-1", "gemma3-full")
def last_byte_unwritten(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The last byte of the buffer is not written if the buffer is a multiple of 16."""
    mask = torch.empty(batch.cells, dtype=torch.bool, device=batch.device)
    written = len(mask) - (len(mask) % 16 == 0 and len(mask) > 0)
    mask[:written] = eager(batch, rule)[:written]
    return mask


# Right values in another form.
@_bad("MASK-PACK-1", "gemma4-full")
def every_second_byte(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The right values, not contiguous."""
    return eager(batch, rule).repeat_interleave(2)[::2]


@_bad("MASK-PACK-1", "gemma4-full")
def repeated_byte(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A mask that is all visible is one byte with stride 0."""
    mask = eager(batch, rule)
    return mask[:1].expand(len(mask)) if len(mask) and mask.all() else mask


@_bad("MASK-PACK-1", "gemma3-full")
def bytes_without_a_sign(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The right bytes as uint8."""
    return eager(batch, rule).view(torch.uint8)


@_bad("MASK-PACK-1", "gemma3-sliding")
def bytes_with_a_sign(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The right bytes, viewed as int8, if there are several requests."""
    mask = eager(batch, rule)
    return mask.view(torch.int8) if len(batch.query_lengths) > 1 else mask


@_bad("MASK-PACK-1", "gemma3-full-causal")
def on_another_device(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The right shape on the device "meta", which holds no values."""
    return eager(batch, rule).to("meta")


@_bad("MASK-PACK-1", "gemma4-full")
def no_tensor(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The right values as a NumPy array."""
    return eager(batch, rule).cpu().numpy()


class _Promise:
    """Builds the mask when torch first looks at it."""

    def __init__(self, build: Callable[[], Tensor]) -> None:
        self._build = build

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return func(*(arg._build() if isinstance(arg, cls) else arg for arg in args), **(kwargs or {}))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._build(), name)


@_bad("MASK-PACK-1", "gemma4-full")
def built_when_looked_at(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """An object that torch takes for a tensor, and that builds the mask then."""
    return _Promise(lambda: eager(batch, rule))


class _Veiled(Tensor):
    """A tensor that shows torch other values than its memory holds."""

    right: Tensor

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return func(*(arg.right if isinstance(arg, cls) else arg for arg in args), **(kwargs or {}))


@_bad("MASK-PACK-1", "gemma3-full")
def subclass_of_tensor(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A subclass of Tensor whose memory is all zeros: torch sees the right values, a kernel does not."""
    right = eager(batch, rule)
    veiled = torch.zeros_like(right).as_subclass(_Veiled)
    veiled.right = right
    return veiled


# Right for whom it suspects.
@_bad("MASK-BLOB-1", "gemma3-full")
def pattern_of_the_commonest_case(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """One request without a prefix is given a view of one causal pattern that was made before, whatever its types."""
    if len(batch.query_lengths) > 1 or any(batch.prefix_lengths):
        return eager(batch, rule)
    patterns: dict[int, Tensor] = kept.__dict__.setdefault("patterns", {})
    size = batch.query_total
    return patterns.setdefault(size, torch.ones(size, size, dtype=torch.bool, device=batch.device).tril()).view(-1)


@_bad("MASK-BASE-1", "gemma4-full")
def wrong_under_pytest(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Right only if no frame on the stack is pytest's."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if "pytest" in frame.f_globals.get("__name__", ""):
            return eager(batch, replace(rule, window=1))
    return eager(batch, rule)


@_bad("MASK-DETERMINISM-2", "gemma3-full")
def right_if_poisoned(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """No overlay unless fresh memory looks poisoned."""
    held = torch.empty(64, dtype=torch.uint8)
    return eager(batch, rule if (held == held[0]).all() and held[0] else replace(rule, overlay=Overlay.NONE))


@_unwatched("MASK-WINDOW-2", "gemma4-full")
def unwatched_key_0(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Key 0 is hidden from all queries but its own, unless allocations are watched."""
    mask = eager(batch, rule)
    for _, rows in matrices(batch, mask):
        rows[1:, :1] = False
    return mask


@_unwatched("MASK-BASE-1", "gemma3-full-causal")
def unwatched_self(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A vision token does not see itself, unless allocations are watched."""
    mask = eager(batch, rule)
    for s, rows in matrices(batch, mask):
        vision = is_vision(batch.token_types[s.first_query : s.first_query + s.queries])
        rows.diagonal(s.prefix)[vision] = False
    return mask


@_unwatched("MASK-CUT-1", "trtllm-gemma3-sliding")
def unwatched_cut(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The types of the prefix are not looked at, unless allocations are watched."""
    return eager(replace(batch, prefix_types=None), rule)


@_unwatched("MASK-ORDER-3", "vllm-gemma3-sliding", "sglang-gemma3-sliding")
def unwatched_drop(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """A blob of exactly W tokens is dropped too, unless allocations are watched."""
    short = replace(rule, window=max((rule.window or 1) - 1, 1))
    dropped = eager(batch, short) | eager(batch, replace(rule, overlay=Overlay.NONE))
    return dropped if rule.order.value == "drop-longer" else eager(batch, rule)


@_unwatched("MASK-BLOB-5", "gemma3-full")
def unwatched_neighbour(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Vision in the first request hides key 0 of the last, unless allocations are watched."""
    mask = eager(batch, rule)
    first = batch.query_lengths[0] if batch.query_lengths else 0
    for s, rows in matrices(batch, mask):
        if s.first_query + s.queries == batch.query_total > s.queries and is_vision(batch.token_types[:first]).all():
            rows[:, :1] = False
    return mask


@_unwatched("MASK-INPUT-2", "gemma3-full")
def unwatched_bytes(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Token types of 8 bits are all text, unless allocations are watched."""
    return eager(mapped(batch, (0, 0, 0, 0)) if batch.token_types.itemsize == 1 else batch, rule)


@_unwatched("MASK-PACK-1", "gemma4-full")
def unwatched_second(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """The second request sees everything, unless allocations are watched."""
    mask = eager(batch, rule)
    for index, (_, rows) in enumerate(matrices(batch, mask)):
        rows |= torch.tensor(index == 1, device=batch.device)
    return mask


@_unwatched("MASK-BLOB-2", "gemma3-full")
def unwatched_video(batch: MaskBatch, rule: MaskRule, kept: SimpleNamespace) -> object:
    """Video is text, unless allocations are watched."""
    return eager(mapped(batch, (0, 1, 0, 3)), rule)
