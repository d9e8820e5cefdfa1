"""Time and memory of mask builders, beside the time to fill the same bytes. Run by ``make bench``; not a test.

Ratios within one run are what counts: machines differ, and are noisy.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import Phase, given, seed, settings
from torch import Tensor

from impl.masks import EAGER, TRITON
from reference.contracts import as_mask_implementation
from reference.profiles import PROFILES
from reference.tokens import MaskBatch
from suites.mask.checks import check_dense
from suites.mask.memory import peak_beside_output
from suites.strategies.masks import MaskCase, mask_cases

BUILDERS = {"triton": TRITON, "eager": EAGER}
WINDOW = 1024
LENGTHS = {"cpu": (256, 1024), "cuda": (4096, 32_768, 32_755, 65_536, 65_523)}
ALL_LENGTHS = sorted({length for lengths in LENGTHS.values() for length in lengths})


def _batch(length: int, device: str) -> MaskBatch:
    """One request without a prefix, an image of 256 tokens every 700."""
    types = torch.zeros(length, dtype=torch.int32, device=device)
    for start in range(100, length, 700):
        types[start : start + 256] = 1
    return MaskBatch(types, [length])


def _skip_elsewhere(length: int, device: str) -> None:
    if length not in LENGTHS[device]:
        pytest.skip(f"not run: {length} tokens are measured on {'cuda' if device == 'cpu' else 'cpu'}")


def _milliseconds(call: Any, device: str, rounds: int) -> list[float]:
    """Device time of each round by CUDA events; host time where there is no device."""
    times = []
    for _ in range(rounds):
        if device == "cuda":
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            call()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end))
        else:
            begun = time.perf_counter()
            call()
            times.append(1e3 * (time.perf_counter() - begun))
    return sorted(times)


@pytest.mark.parametrize("profile", ["gemma3-sliding", "gemma3-full"])
@pytest.mark.parametrize("length", ALL_LENGTHS)
@pytest.mark.parametrize("builder", BUILDERS)
def test_build(benchmark: Any, device: str, builder: str, length: int, profile: str) -> None:
    _skip_elsewhere(length, device)
    batch, rule = _batch(length, device), PROFILES[profile].rule(WINDOW)

    def build() -> Tensor:
        return BUILDERS[builder].build(batch, rule)

    out = build()
    rounds = 21 if device == "cuda" else 3
    ours = _milliseconds(build, device, rounds)
    fill = _milliseconds(functools.partial(out.fill_, True), device, rounds)
    del out
    benchmark.extra_info |= {
        "milliseconds": round(ours[rounds // 2], 4),
        "fill_milliseconds": round(fill[rounds // 2], 4),
        "times_fill": round(ours[rounds // 2] / fill[rounds // 2], 3),
        "bytes_a_token_beside_output": round(peak_beside_output(build, batch) / length, 1),
    }
    benchmark.pedantic(build, rounds=3, iterations=1)
    print(f"\n{builder} {profile} {length}: {benchmark.extra_info}")


@pytest.mark.parametrize("builder", BUILDERS)
def test_examples_of_the_main_property(benchmark: Any, device: str, builder: str) -> None:
    """Draws and judges 40 examples of every profile: what one core does of the suite's main property."""
    implementation = as_mask_implementation(BUILDERS[builder], builder)
    examples = 40 * len(PROFILES)

    def examples_of(profile: str) -> Callable[[], None]:
        @seed(1)
        @settings(max_examples=40, deadline=None, database=None, phases=[Phase.generate])
        @given(case=mask_cases(PROFILES[profile]))
        def every_cell_is_the_oracles(case: MaskCase) -> None:
            check_dense(implementation, case, profile, device)

        return every_cell_is_the_oracles

    def run() -> None:
        for profile in PROFILES:
            examples_of(profile)()

    benchmark.pedantic(run, rounds=2)
    benchmark.extra_info["examples_a_second"] = round(examples / benchmark.stats.stats.median, 1)
    print(f"\n{builder}: {benchmark.extra_info['examples_a_second']} examples a second")
