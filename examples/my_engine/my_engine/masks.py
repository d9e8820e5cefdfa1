"""The masks of an engine of one's own, plugged in by --mask-impl my_engine.masks:MyMasks."""

import torch

from reference.contracts import Claims


class MyMasks:
    """Causal attention, with or without a window, one request after the other."""

    claims = Claims(profiles=frozenset({"gemma4-full", "gemma4-sliding-causal"}))

    def build(self, batch, rule, layout="dense"):
        """The packed mask: one row-major [Q, P + Q] bool matrix a request, flattened and concatenated."""
        masks = [torch.empty(0, dtype=torch.bool, device=batch.device)]
        for queries, prefix in zip(batch.query_lengths, batch.prefix_lengths, strict=True):
            p = prefix + torch.arange(queries, device=batch.device)[:, None]
            c = torch.arange(prefix + queries, device=batch.device)[None, :]
            mask = c <= p
            if rule.window is not None:
                mask &= c > p - rule.window
            masks.append(mask.flatten())
        return torch.cat(masks)
