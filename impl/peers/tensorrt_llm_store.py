"""TensorRT-LLM's ``TensorLRUCache`` as a store.

Written against the version of August 2026, and not run yet where tensorrt-llm is installed. Earlier ones kept the caller's
tensor unless told otherwise, and knew no streams. A value that is no tensor, and a budget that is no int, are nowhere
refused by name.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

from impl.peers.available import lacks, require
from impl.peers.stand_ins import load
from reference.cache_contracts import StoreClaims

PIP = "--no-deps --pre tensorrt-llm"
VERSION = require("tensorrt-llm", pip=PIP)

try:
    TensorLRUCache: Any = load("tensorrt_llm._torch.tensor_lru_cache").TensorLRUCache
    signature(TensorLRUCache).parameters["cuda_stream_aware"]
except (ImportError, AttributeError, KeyError) as error:
    raise lacks("tensorrt-llm", "TensorLRUCache with cuda_stream_aware", error, pip=PIP) from error


class TensorrtLlmStore(TensorLRUCache):  # type: ignore[misc]  # which has no types here
    """The engine's own class, whose methods are the contract's."""

    about = f"tensorrt-llm {VERSION}: TensorLRUCache."
    claims = StoreClaims(streams=True, checks_values=False)
