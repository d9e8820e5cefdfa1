"""Content hashes of items: equal exactly where the encoder would see the same input."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping

import torch
from torch import Tensor

SCHEME = b"mm-conformance.item.v1"


def item_hash(item: object) -> list[int]:
    """Hashes the content of one item.

    The serialisation describes itself: every part is tagged with its type and length, so that neither the geometry of
    an image, nor its dtype, nor how a list is cut into parts can be confused (CACHE-KEY-2). The process does not matter.

    Args:
        item: Tensors, bytes, strings, numbers, None, and lists, tuples and dicts of them.

    Returns:
        8 int32.

    Raises:
        TypeError: A part has another type; the message names it.
    """
    digest = hashlib.blake2b(SCHEME, digest_size=32)
    _feed(digest, item)
    return list(struct.unpack("<8i", digest.digest()))


def _feed(digest: hashlib.blake2b, item: object) -> None:
    if isinstance(item, Tensor):
        data = item.detach().cpu().contiguous()
        _tag(digest, f"tensor:{data.dtype}:{tuple(data.shape)}", data.numel() * data.element_size())
        digest.update(data.flatten().view(torch.uint8).numpy().tobytes())
    elif isinstance(item, bytes):
        _tag(digest, "bytes", len(item))
        digest.update(item)
    elif item is None or isinstance(item, bool | int | float | str):
        text = repr(item).encode()
        _tag(digest, type(item).__name__, len(text))
        digest.update(text)
    elif isinstance(item, list | tuple):
        _tag(digest, type(item).__name__, len(item))
        for part in item:
            _feed(digest, part)
    elif isinstance(item, Mapping):
        _tag(digest, "dict", len(item))
        for key in sorted(item):
            _feed(digest, key)
            _feed(digest, item[key])
    else:
        raise TypeError(
            f"a part of the item is a {type(item).__name__}, expected tensors, bytes, text, numbers, lists or dicts"
        )


def _tag(digest: hashlib.blake2b, kind: str, length: int) -> None:
    name = kind.encode()
    digest.update(struct.pack("<qq", len(name), length) + name)
