"""Whether Hugging Face transformers can be called as a witness. Looks at its metadata alone: the import takes seconds."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest
from packaging.version import Version

FIRST_VERSION = "5.13"
"""The first whose masks are those of the model: window last (its pull 46850)."""


def why_not(first: str = FIRST_VERSION) -> str | None:
    """What is missing, for a person; None if nothing is."""
    try:
        found = version("transformers")
    except PackageNotFoundError:
        found = "none"
    if found != "none" and Version(found) >= Version(first):
        return None
    return f"needs transformers >= {first} (the extra 'witness'), found {found}"


_WHY_NOT = why_not()

needs_transformers = pytest.mark.skipif(_WHY_NOT is not None, reason=f"not run: {_WHY_NOT}")
"""Mark of a test that calls transformers."""
