"""Builders of the packed attention mask: ``TRITON``, which writes it directly, and ``EAGER``, the usual way."""

from impl.masks.eager import EAGER
from impl.masks.triton_masks import TRITON

__all__ = ["EAGER", "TRITON"]
