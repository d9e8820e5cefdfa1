"""vLLM's ``EncoderCacheManager`` as a store.

Tried on vllm 0.33.0.

It keeps accounts and no tensors, which lie with the model runner: here in a dict, which forgets what the manager says was
freed. It counts embeddings, here one a byte. An entry is held while a request refers to it, and evicted by the time of its
last release: here every use is a request that refers to its item and is freed at once, so that this is the time of last
use. Its keys are hashes of content and nothing but eviction or a reset ends an entry: it neither replaces nor removes.
"""

from __future__ import annotations

from collections.abc import Hashable
from types import SimpleNamespace
from typing import Any

from torch import Tensor

from impl.peers.available import lacks, require
from impl.peers.stand_ins import load
from reference.cache_contracts import StoreClaims

PIP = "--no-deps vllm"
VERSION = require("vllm", ">=0.33", pip=PIP)

try:
    EncoderCacheManager: Any = load("vllm.v1.core.encoder_cache_manager").EncoderCacheManager
except (ImportError, AttributeError) as error:
    raise lacks("vllm", "EncoderCacheManager", error, ">=0.33", pip=PIP) from error


class VllmStore:
    """A put is what vLLM's scheduler and model runner do about the one item of a request, the end of the request included.

    Args:
        max_bytes: The budget: that many embeddings of one byte.
    """

    about = f"vllm {VERSION}: EncoderCacheManager, an embedding of one byte each; the tensors lie beside it."
    claims = StoreClaims(
        replaces=False, removes=False, copies=False, compacts=False, statistics=False, threads=False, checks_values=False
    )

    def __init__(self, max_bytes: int) -> None:
        self._manager = EncoderCacheManager(cache_size=max_bytes)
        self._outputs: dict[Hashable, Tensor] = {}

    @property
    def max_bytes(self) -> int:
        """As :attr:`reference.cache_contracts.TensorStore.max_bytes`."""
        return int(self._manager.cache_size)

    @property
    def current_bytes(self) -> int:
        """As :attr:`reference.cache_contracts.TensorStore.current_bytes`."""
        return int(self._manager.cache_size - self._manager.num_free_slots)

    def __len__(self) -> int:
        return len(self._outputs)

    def get(self, key: Hashable) -> Tensor | None:
        """As :meth:`reference.cache_contracts.TensorStore.get`."""
        return self._outputs[key] if self._hit(_request(key)) else None

    def put(self, key: Hashable, value: Tensor) -> bool:
        """As :meth:`reference.cache_contracts.TensorStore.put`; a value under a known key is not looked at."""
        size = value.numel() * value.element_size()
        request = _request(key, size)
        if self._hit(request):
            return True
        if not self._manager.can_allocate(request, 0, encoder_compute_budget=size, num_embeds_to_schedule=0):
            return False
        self._manager.allocate(request, 0)
        for freed in self._manager.get_freed_mm_hashes():
            del self._outputs[freed]
        self._outputs[key] = value
        self._manager.free(request)
        return True

    def clear(self) -> None:
        """As :meth:`reference.cache_contracts.TensorStore.clear`: as after an update of the weights."""
        self._manager.reset()
        self._outputs.clear()

    def _hit(self, request: SimpleNamespace) -> bool:
        found = bool(self._manager.check_and_update_cache(request, 0))
        self._manager.free(request)
        return found


def _request(key: Hashable, embeddings: int = 0) -> SimpleNamespace:
    """What the manager reads of a request: one item."""
    return SimpleNamespace(
        request_id="request",
        mm_features=[SimpleNamespace(identifier=key)],
        get_num_encoder_embeds=lambda _: embeddings,
    )
