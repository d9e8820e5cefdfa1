"""Fixtures of the cache suite: ends a test that asks for what the implementation does not claim."""

from __future__ import annotations

import pytest

from harness.statuses import not_claimed
from reference.cache_contracts import CacheImplementation, StoreImplementation


@pytest.fixture(autouse=True)
def _claimed(request: pytest.FixtureRequest) -> None:
    for fixture in ("store_impl", "cache_impl"):
        if fixture not in request.fixturenames:
            continue
        implementation: StoreImplementation | CacheImplementation = request.getfixturevalue(fixture)
        for marker in request.node.iter_markers("needs_claim"):
            for claim in marker.args:
                if hasattr(implementation.claims, claim) and not getattr(implementation.claims, claim):
                    not_claimed(claim)
