"""Read by pytest first of all: picks the device before torch or triton are imported, and ties the parts together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from harness.device import DeviceError, choose_device
from harness.implementations import ImplementationError, load_implementation

if TYPE_CHECKING:
    from reference.contracts import MaskImplementation

try:
    DEVICE = choose_device()
except DeviceError as error:
    pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)

pytest_plugins = ["harness.plugin", "pytester"]

BUILTIN_MASKS = {"triton": "impl.masks:TRITON", "eager": "impl.masks:EAGER"}

# Examples of drawn tensors have no deadline: the first one compiles kernels. A mask case is large by design.
_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], print_blob=True)
settings.register_profile("dev", _COMMON, max_examples=100)
# On CI the same commit draws the same examples: a red run can be repeated, a green one is not luck.
settings.register_profile("ci", _COMMON, max_examples=100, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("conformance").addoption(
        "--mask-impl",
        metavar="MODULE:ATTRIBUTE",
        default="triton",
        help=f"the mask builder under test; short names: {', '.join(BUILTIN_MASKS)} and entry points mm_conformance.masks",
    )


def pytest_configure(config: pytest.Config) -> None:
    from harness.plugin import conformance
    from reference.contracts import as_mask_implementation

    spec = config.getoption("--mask-impl")
    try:
        found = load_implementation("--mask-impl", spec, "mm_conformance.masks", BUILTIN_MASKS, config.invocation_params.dir)
        implementation = as_mask_implementation(found, spec)
    except (ImplementationError, TypeError, ValueError) as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_MASKS] = implementation
    conformance(config).header[:] = [f"mask implementation: {spec}", f"device: {DEVICE.in_words()}"]


_MASKS = pytest.StashKey["MaskImplementation"]()


@pytest.fixture(scope="session")
def mask_impl(pytestconfig: pytest.Config) -> MaskImplementation:
    """The mask builder under test."""
    return pytestconfig.stash[_MASKS]


@pytest.fixture(scope="session")
def device() -> str:
    """``cuda`` or ``cpu``: where the tensors of the suite lie."""
    return DEVICE.name
