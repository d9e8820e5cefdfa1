"""What a store costs beside cachetools, and an encoder cache beside the copies. Run by ``make bench``; not a test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import cachetools
import torch
from torch import Tensor

from impl.cache import GEMMA4, TensorLRUCache
from suites.cache.encoder import RecordingEncoder
from suites.strategies.caches import CacheRequest, Item

ENTRIES = 256
ROUNDS = 41


def _median_seconds(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return sorted(times)[rounds // 2]


def test_hit_and_put_beside_cachetools(benchmark: Any) -> None:
    """A hit and a put of 4 KiB on the CPU, the clone included on both sides."""
    value = torch.zeros(1024)
    ours = TensorLRUCache(ENTRIES * value.nbytes)
    theirs: cachetools.LRUCache[int, Tensor] = cachetools.LRUCache(ENTRIES * value.nbytes, lambda v: int(v.nbytes))

    def put_ours() -> None:
        for key in range(ENTRIES):
            ours.put(key, value)

    def put_theirs() -> None:
        for key in range(ENTRIES):
            theirs[key] = value.detach().clone()

    def get_ours() -> None:
        for key in range(ENTRIES):
            ours.get(key)

    def get_theirs() -> None:
        for key in range(ENTRIES):
            theirs.get(key)

    calls = {"put": put_ours, "cachetools_put": put_theirs, "hit": get_ours, "cachetools_hit": get_theirs}
    microseconds = {name: 1e6 * _median_seconds(call) / ENTRIES for name, call in calls.items()}
    benchmark.extra_info |= {name: round(us, 2) for name, us in microseconds.items()}
    benchmark.extra_info["put_ratio"] = round(microseconds["put"] / microseconds["cachetools_put"], 2)
    benchmark.extra_info["hit_ratio"] = round(microseconds["hit"] / microseconds["cachetools_hit"], 2)
    benchmark.pedantic(put_ours, rounds=3)
    print(f"\nstore, microseconds: {benchmark.extra_info}")


def test_full_hits_of_a_batch(benchmark: Any) -> None:
    """64 requests of 4 items, all hits: time an item beside the copies of their rows."""
    batch = [CacheRequest("gemma4-image", tuple(Item(4 * r + i, 16, 2) for i in range(4))).params() for r in range(64)]
    system = GEMMA4.make(RecordingEncoder(), 2**30, print)
    system.embed(batch)
    rows = [[torch.zeros(16, 2, dtype=torch.float64) for _ in range(4)] for _ in batch]
    whole = _median_seconds(lambda: system.embed(batch))
    copies = _median_seconds(lambda: [torch.cat(pieces) for pieces in rows])
    benchmark.extra_info |= {
        "microseconds_an_item": round(1e6 * whole / 256, 2),
        "of_which_copies": round(1e6 * copies / 256, 2),
        "beside_the_copies": round(1e6 * (whole - copies) / 256, 2),
    }
    benchmark.pedantic(system.embed, args=(batch,), rounds=3)
    print(f"\nembed, all hits: {benchmark.extra_info}")
