"""Calls an implementation as an engine would, trusts nothing that it returns, and judges it against the oracle."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from reference.contracts import MaskImplementation
from reference.dense import packed_mask
from reference.profiles import PROFILES
from reference.rules import MaskRule
from reference.tokens import MaskBatch
from suites.mask.poison import PATTERNS, PoisonedAllocations
from suites.mask.report import assert_same
from suites.strategies.masks import MaskCase


def rule_of(profile: str, case: MaskCase) -> MaskRule:
    """The rule of a profile under the window of a case."""
    return PROFILES[profile].rule(case.window)


def build(implementation: MaskImplementation, batch: MaskBatch, rule: MaskRule) -> Tensor:
    """Builds the dense mask and checks its form (MASK-PACK-1, MASK-OUTPUT-1).

    Returns:
        ``[cells]`` uint8 on the CPU: the very bytes that were returned.

    Raises:
        AssertionError: What was returned is not a packed dense mask.
    """
    mask: Any = implementation.build(batch, rule, layout="dense")
    name = implementation.name
    assert type(mask) is Tensor, f"{name} returned a {type(mask).__name__}, expected a torch.Tensor, and no subclass"
    assert mask.dtype is torch.bool, f"{name} returned dtype {mask.dtype}, expected torch.bool"
    assert mask.dim() == 1, f"{name} returned shape {tuple(mask.shape)}, expected one dimension: the packed batch"
    assert mask.numel() == batch.cells, (
        f"{name} returned {mask.numel()} cells, expected {batch.cells} = sum Q * (P + Q) for query lengths "
        f"{list(batch.query_lengths)} and prefix lengths {list(batch.prefix_lengths)}"
    )
    assert mask.device == batch.device, f"{name} returned a tensor on {mask.device}, expected {batch.device}"
    assert mask.is_contiguous(), f"{name} returned stride {mask.stride()}, expected a contiguous tensor"
    return mask.view(torch.uint8).cpu().clone()  # a copy of its own, on the CPU too


def check_dense(
    implementation: MaskImplementation, case: MaskCase, profile: str, device: str = "cpu", pattern: int = PATTERNS[0]
) -> Tensor:
    """Builds the mask of a case in poisoned memory and compares it with the oracle, cell by cell.

    Returns:
        ``[cells]`` uint8, the mask.

    Raises:
        AssertionError: A cell is wrong or unwritten, an input was written, or memory beside an allocation was.
    """
    rule = rule_of(profile, case)
    batch = case.batch(device)
    before, versions = snapshot(batch), _versions(batch)
    with PoisonedAllocations(pattern) as memory:
        got = build(implementation, batch, rule)
    changed = [name for name, kept in before.items() if not torch.equal(kept, _memory(getattr(batch, name)))]
    changed += [name for name, version in versions.items() if version != getattr(batch, name)._version]
    assert not changed, f"{implementation.name} wrote into its inputs: {', '.join(changed)}"
    disturbed = memory.disturbed()
    assert disturbed is None, f"{implementation.name} wrote outside of its memory: {disturbed}"
    want = packed_mask(batch, rule).view(torch.uint8)
    assert_same(batch, rule, profile, got, want)
    return got


def snapshot(batch: MaskBatch) -> dict[str, Tensor]:
    """A copy of the whole memory under every input, the elements between and around the tokens included."""
    return {name: _memory(tensor).clone() for name, tensor in _inputs(batch)}


def _versions(batch: MaskBatch) -> dict[str, int]:
    """How often torch has written each input: what is put back was written too."""
    return {name: tensor._version for name, tensor in _inputs(batch)}


def _inputs(batch: MaskBatch) -> list[tuple[str, Tensor]]:
    names = ("token_types", "prefix_types", "item_ids", "prefix_item_ids")
    return [(name, tensor) for name in names if (tensor := getattr(batch, name)) is not None]


def _memory(tensor: Tensor) -> Tensor:
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)  # type: ignore[call-overload, no-any-return]
