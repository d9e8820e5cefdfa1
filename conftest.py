"""Read by pytest first of all: picks the device before torch or triton are imported, and ties the parts together."""

from __future__ import annotations

import gc
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase, MultiplexedDatabase

import harness
import suites.profiles  # noqa: F401  # loads the usual one
from harness.device import DeviceError, choose_device
from harness.example_db import SHARED, SharedExamples
from harness.exits import ExitCode
from harness.implementations import OPTIONS, ImplementationError, NotAvailableError, load_implementation, short_names
from harness.nearest import nearest
from harness.statuses import not_run

if TYPE_CHECKING:
    from reference.cache_contracts import CacheImplementation, StoreImplementation
    from reference.contracts import MaskImplementation

try:
    DEVICE = choose_device()
except DeviceError as error:
    pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)

pytest_plugins = ["harness.plugin", "pytester"]

ROOT = Path(harness.__file__).parents[1]

DEFAULTS = {
    "masks": ("triton", "mask builder"),
    "caches": ("gemma4", "encoder cache"),
    "stores": ("tensor-lru", "tensor store"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance")
    for kind, (default, what) in DEFAULTS.items():
        group.addoption(
            OPTIONS[kind],
            metavar="MODULE:ATTRIBUTE",
            default=default,
            help=f"the {what} under test (default: {default}), or a short name: {', '.join(_names(kind))}",
        )
    group.addoption(
        "--only",
        choices=tuple(OPTIONS),
        help="judge only this of the three: the tests of the others, and those that judge none of them, are left out",
    )
    group.addoption(
        "--profile",
        action="append",
        default=[],
        metavar="NAME",
        help="judge a mask builder by this profile, whatever it claims; can be given more than once",
    )


def _names(kind: str) -> dict[str, str]:
    return short_names(kind, ROOT)


def pytest_configure(config: pytest.Config) -> None:
    from harness.plugin import run_of
    from reference.cache_contracts import as_cache_implementation, as_store_implementation
    from reference.contracts import EngineNotAvailableError, as_mask_implementation
    from reference.profiles import PROFILES

    adapters = {"masks": as_mask_implementation, "caches": as_cache_implementation, "stores": as_store_implementation}
    run = run_of(config)
    only = config.getoption("--only")
    profiles = config.getoption("--profile")
    if only is not None:
        run.options += ["--only", only]
        run.concerns = lambda item: _FIXTURES[only] in getattr(item, "fixturenames", ())
    if profiles:
        if only not in (None, "masks"):
            raise pytest.UsageError(f"--only {only} judges no mask builder; leave out --profile or --only")
        for name in profiles:
            if name not in PROFILES:
                known = f"expected one of {', '.join(PROFILES)}"
                raise pytest.UsageError(f"--profile {name}: no such profile{nearest(name, PROFILES)}; {known}")
    for kind, (default, what) in DEFAULTS.items():
        option = OPTIONS[kind]
        if only not in (None, kind):
            if config.getoption(option) != default:
                raise pytest.UsageError(f"--only {only} judges no {what}; leave out {option} or --only")
            continue
        spec = config.getoption(option)
        try:
            found = load_implementation(option, spec, _names(kind), config.invocation_params.dir, EngineNotAvailableError)
            implementation = adapters[kind](found, spec)
            if kind == "masks" and profiles:
                claims = replace(implementation.claims, profiles=frozenset(profiles))
                implementation = replace(implementation, claims=claims)
            config.stash[_STASH[kind]] = implementation
        except NotAvailableError as error:
            pytest.exit(str(error), returncode=ExitCode.NOT_AVAILABLE)
        except EngineNotAvailableError as error:
            pytest.exit(f"{option} {spec}: not available: {error}", returncode=ExitCode.NOT_AVAILABLE)
        except ImplementationError as error:
            raise pytest.UsageError(str(error)) from error
        except Exception as error:  # making the object runs the user's code
            raise pytest.UsageError(f"{option} {spec}: {type(error).__name__}: {error}") from error
        run.implementations[option] = f"{spec} as {', '.join(profiles)}" if kind == "masks" and profiles else spec
        if about := getattr(found, "about", None):
            run.about[option] = str(about)
        run.options += [option, spec] * (spec != default)
    run.options += [f"--profile={name}" for name in profiles]
    run.device = DEVICE.in_words()
    run.requirements = _requirements(config.rootpath / "SPEC.md")
    if (run.nightly or not os.environ.get("CI")) and not config.getoption("--hypothesis-profile"):
        # A kept example is a failure of one implementation, and a riddle for the next.
        judged = re.sub(r"[^\w.-]+", "-", "-".join(config.getoption(option) for option in OPTIONS.values()))
        database: ExampleDatabase = DirectoryBasedExampleDatabase(config.rootpath / ".hypothesis" / "examples" / judged)
        if url := os.environ.get(SHARED):
            shared = SharedExamples(url, judged, lambda: run.folder)
            config.pluginmanager.register(shared)
            database = MultiplexedDatabase(database, shared.database)
        profile = "nightly" if run.nightly else "dev"
        settings.register_profile(profile, settings.get_profile(profile), database=database)
        settings.load_profile(profile)


def _requirements(specification: Path) -> dict[str, str]:
    """The sentence of each requirement of SPEC.md, by its id."""
    if not specification.exists():
        return {}
    rows = re.findall(r"^\| ([A-Z]+-[A-Z]+-\d+) \| (.*?) \|", specification.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(rows)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    # Behind the fixtures, which say what is not claimed.
    marker = item.get_closest_marker("cuda")
    if marker is not None and DEVICE.name != "cuda":
        not_run(": ".join(("needs a CUDA device", *marker.args)))


def pytest_collection_finish() -> None:
    # Modules and tests live as long as the run: looking through them again and again costs a tenth of all examples.
    gc.collect()
    gc.freeze()


_STASH = {kind: pytest.StashKey[Any]() for kind in OPTIONS}
_FIXTURES = {"masks": "mask_impl", "caches": "cache_impl", "stores": "store_impl"}


@pytest.fixture(scope="session")
def mask_impl(pytestconfig: pytest.Config) -> MaskImplementation:
    """The mask builder under test."""
    implementation: MaskImplementation = pytestconfig.stash[_STASH["masks"]]
    return implementation


@pytest.fixture(scope="session")
def cache_impl(pytestconfig: pytest.Config) -> CacheImplementation:
    """The encoder cache under test."""
    implementation: CacheImplementation = pytestconfig.stash[_STASH["caches"]]
    return implementation


@pytest.fixture(scope="session")
def store_impl(pytestconfig: pytest.Config) -> StoreImplementation:
    """The tensor store under test."""
    implementation: StoreImplementation = pytestconfig.stash[_STASH["stores"]]
    return implementation


@pytest.fixture(scope="session")
def device() -> str:
    """``cuda`` or ``cpu``: where the tensors of the suite lie."""
    return DEVICE.name
