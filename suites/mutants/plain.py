"""What the tests need of conftest.py, without the plugin of the harness: for runs in which the harness itself is mutated."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

from impl.cache import GEMMA4, TensorLRUCache
from impl.masks import EAGER
from reference.cache_contracts import (
    CacheImplementation,
    StoreImplementation,
    as_cache_implementation,
    as_store_implementation,
)
from reference.contracts import MaskImplementation, as_mask_implementation

# A failing example is not made smaller: mutmut ends a test that takes many times what it takes without a fault.
settings.register_profile(
    "plain", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)
settings.load_profile("plain")

pytest_plugins = ["pytester", "suites.cache.conftest", "suites.harness.conftest"]


def pytest_configure(config: pytest.Config) -> None:
    for marker in ("requirement", "needs_claim", "cuda", "stateful"):
        config.addinivalue_line("markers", f"{marker}: as harness/plugin.py says")


@pytest.fixture(scope="session")
def mask_impl() -> MaskImplementation:
    """The usual way, by torch."""
    return as_mask_implementation(EAGER, "eager")


@pytest.fixture(scope="session")
def cache_impl() -> CacheImplementation:
    """The cache of Gemma 4."""
    return as_cache_implementation(GEMMA4, "gemma4")


@pytest.fixture(scope="session")
def store_impl() -> StoreImplementation:
    """The store of the caches."""
    return as_store_implementation(TensorLRUCache, "tensor-lru")


@pytest.fixture(scope="session")
def device() -> str:
    """Where tensors lie."""
    return "cpu"
