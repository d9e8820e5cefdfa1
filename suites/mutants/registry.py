"""All mutants by id. ``--mask-impl suites.mutants.registry:ID`` plugs one in, as any implementation."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from impl.cache import GEMMA4, TensorLRUCache
from impl.masks import EAGER, TRITON
from impl.peers.cachetools_store import CachetoolsStore
from suites.mutants.caches import CACHE_MUTANTS
from suites.mutants.cheats import CHEATS
from suites.mutants.correct import REWRAPPED, ContentStore, CopyingStore, LengthlessKeys, TwoCalls
from suites.mutants.gating import GATING_MUTANTS
from suites.mutants.gpu import GPU_MUTANTS
from suites.mutants.kernels import KERNEL_MUTANTS
from suites.mutants.masks import MASK_MUTANTS
from suites.mutants.mutant import Mutant, table
from suites.mutants.stores import STORE_MUTANTS

MUTANTS = table(
    [
        *MASK_MUTANTS,
        *KERNEL_MUTANTS,
        *CHEATS,
        *GATING_MUTANTS,
        *GPU_MUTANTS,
        *CACHE_MUTANTS,
        *STORE_MUTANTS,
    ]
)

CONTROLS = table(
    [
        Mutant("right-triton", "mask", "none", "nothing is wrong", "", lambda folder: TRITON),
        Mutant("right-eager", "mask", "none", "nothing is wrong", "", lambda folder: EAGER),
        Mutant("right-oracle", "mask", "none", "the oracle in other clothes", "", lambda folder: REWRAPPED),
        Mutant("right-cache", "cache", "none", "nothing is wrong", "", lambda folder: GEMMA4),
        Mutant("right-lengthless-keys", "cache", "none", "keys lack the length", "", lambda folder: LengthlessKeys()),
        Mutant("right-two-calls", "cache", "none", "as TensorRT-LLM's", "", lambda folder: TwoCalls()),
        Mutant("right-cachetools", "store", "none", "nothing is wrong", "", lambda folder: CachetoolsStore),
        Mutant("right-copying-store", "store", "none", "copies both ways", "", lambda folder: CopyingStore),
        Mutant("right-content-store", "store", "none", "replaces and removes nothing", "", lambda folder: ContentStore),
        Mutant("right-store", "store", "none", "nothing is wrong", "", lambda folder: TensorLRUCache),
    ]
)
"""Implementations without a fault, sent the same way: the suite must pass them."""

UNTESTED: dict[str, str] = {
    "MASK-REFUSE-1": "MaskBatch and MaskRule refuse before a builder is called",
    "MASK-INPUT-4": "MaskBatch refuses before a builder is called",
    "CACHE-KEY-2": "content hashes are functions of this project, tested in suites/impl",
    "CACHE-RESIDUAL-4": "a function of this project, tested in suites/impl",
}
"""Requirements that no mutant breaks, and why."""


def __getattr__(name: str) -> object:
    known = MUTANTS | CONTROLS
    if name not in known:
        raise AttributeError(name)
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return known[name].make(folder)


def __dir__() -> list[str]:
    return [*globals(), *MUTANTS, *CONTROLS]
