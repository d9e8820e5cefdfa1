"""What an implementation can be asked, for every folder of tests that judges masks: its conftest.py imports this fixture."""

from __future__ import annotations

import pytest

from harness.statuses import not_claimed
from reference.contracts import MaskImplementation

__all__ = ["claimed"]


@pytest.fixture(autouse=True)
def claimed(request: pytest.FixtureRequest, mask_impl: MaskImplementation, device: str) -> None:
    """Ends a test that asks for what the implementation does not claim."""
    claims = mask_impl.claims
    if device not in claims.devices:
        not_claimed(f"device {device}")
    if "dense" not in claims.layouts:
        not_claimed("layout dense")
    profile = getattr(request.node, "callspec", None) and request.node.callspec.params.get("profile")
    if profile and claims.profiles is not None and profile not in claims.profiles:
        not_claimed(f"profile {profile}")
    for marker in request.node.iter_markers("needs_claim"):
        for claim in marker.args:
            if not getattr(claims, claim):
                not_claimed(claim)
