"""The encoder cache of an engine of one's own, plugged in by --cache-impl my_engine.caches:MyCaches."""

from collections import OrderedDict

import torch

from reference.cache_contracts import CacheClaims
from reference.params import EMBEDDING_LENGTHS, KWARGS_HASH


class MyCaches:
    """Videos item by item. It cuts no inputs: a request that hits in part is encoded in full."""

    claims = CacheClaims(
        layouts=frozenset({"gemma4-video"}),
        batch_duplicates=False,
        collisions=False,
        weights=False,
        clear=False,
        store=False,
    )

    def make(self, encoder, max_bytes, warn):
        """An empty cache of at most max_bytes in front of the encoder."""
        return MyCache(encoder, max_bytes, warn)


class MyCache:
    """Keeps the rows of items by modality, hash, length and processor options; forgets what came first."""

    def __init__(self, encoder, max_bytes, warn):
        self.encoder, self.max_bytes, self.warn = encoder, max_bytes, warn
        self.held, self.warned = OrderedDict(), False

    def embed(self, params):
        """One [rows, dim] tensor a request, in order; copies, for the caller may write to them."""
        keys = [self.keys(param) for param in params]
        hits = [[self.held.get(key) for key in of_request] for of_request in keys]
        missing = [index for index, rows in enumerate(hits) if not rows or any(one is None for one in rows)]
        if any(one is not None for index in missing for one in hits[index]) and not self.warned:
            self.warn("a request that hits in part is encoded in full")
            self.warned = True
        encoded = self.encoder([params[index] for index in missing]) if missing else []
        for index, rows in zip(missing, encoded, strict=True):
            lengths = params[index].multimodal_data[EMBEDDING_LENGTHS]
            if len(rows) != sum(lengths):
                raise ValueError(f"request {index} got {len(rows)} rows, expected {sum(lengths)}")
        for index, rows in zip(missing, encoded, strict=True):
            hits[index] = [rows]
            if keys[index]:
                for key, item in zip(keys[index], rows.split(params[index].multimodal_data[EMBEDDING_LENGTHS]), strict=True):
                    self.keep(key, item.clone())
        return [torch.cat(rows) for rows in hits]

    def keep(self, key, rows):
        """Stores an item and forgets the oldest until the budget holds; one that alone exceeds it is not stored."""
        if rows.nbytes > self.max_bytes:
            return
        self.held[key] = rows
        while sum(one.nbytes for one in self.held.values()) > self.max_bytes:
            self.held.popitem(last=False)

    def keys(self, param):
        """A key an item; none for a request that cannot be told from another."""
        lengths, options = param.multimodal_data[EMBEDDING_LENGTHS], param.multimodal_data.get(KWARGS_HASH)
        hashes = param.multimodal_input.multimodal_hashes if param.multimodal_input else []
        if options is None or not isinstance(lengths, list) or len(hashes) != len(lengths):
            return []
        return [(param.modality(), *pair, options) for pair in zip(map(tuple, hashes), lengths, strict=True)]
