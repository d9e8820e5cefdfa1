"""Whether Hugging Face transformers can be called as a witness. Looks at its metadata alone: the import takes seconds."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest
from packaging.version import Version

FIRST_MASKS = "5.13"
"""The first whose mask functions are right: window last (its pull 46850)."""

FIRST_MODELS = "5.24"
"""The first known to serve: in 5.13 chunks of Gemma 4 fail, and up to 5.20 at least its processor wants torchvision."""


def why_not(first: str) -> str | None:
    """What is missing, for a person; None if nothing is."""
    try:
        found = version("transformers")
    except PackageNotFoundError:
        found = "none"
    if found != "none" and Version(found) >= Version(first):
        return None
    return f"needs transformers >= {first} (the extra 'witness'), found {found}"


def needs_transformers(first: str) -> pytest.MarkDecorator:
    """Mark of a test that calls transformers, in version ``first`` or later."""
    why = why_not(first)
    return pytest.mark.skipif(why is not None, reason=f"not run: {why}")
