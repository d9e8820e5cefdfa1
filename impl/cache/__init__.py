"""Encoder caches: ``GEMMA4``, the same with ``GEMMA4_FRAMES``, and ``GENERIC`` without the overrides of Gemma 4."""

from __future__ import annotations

from collections.abc import Callable

from impl.cache.encoder_cache import EncoderCache
from impl.cache.gemma4 import Gemma4EncoderCache
from impl.cache.tensor_lru_cache import TensorLRUCache
from reference.cache_contracts import LAYOUTS, CacheClaims, Encoder

__all__ = ["GEMMA4", "GEMMA4_FRAMES", "GENERIC", "EncoderCache", "Gemma4EncoderCache", "TensorLRUCache"]


class _Gemma4:
    def __init__(self, *, slice_video_frames: bool = False) -> None:
        self._slice = slice_video_frames
        self.claims = CacheClaims(video_frames=slice_video_frames)

    def make(self, encoder: Encoder, max_bytes: int, warn: Callable[[str], None]) -> Gemma4EncoderCache:
        return Gemma4EncoderCache(encoder, TensorLRUCache(max_bytes), warn, slice_video_frames=self._slice)


class _Generic:
    claims = CacheClaims(layouts=frozenset(name for name in LAYOUTS if not name.startswith("gemma4")))

    def make(self, encoder: Encoder, max_bytes: int, warn: Callable[[str], None]) -> EncoderCache:
        return EncoderCache(encoder, TensorLRUCache(max_bytes), warn)


GEMMA4 = _Gemma4()
GEMMA4_FRAMES = _Gemma4(slice_video_frames=True)
GENERIC = _Generic()
