"""Adapters to engines: that each calls its engine rightly is seen where the engine is right, and that a missing one says so.

Whether an engine conforms is for the suites of masks and stores to say: ``pytest suites/mask --mask-impl flex``.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.exits import ExitCode
from harness.implementations import NotAvailableError, load_implementation, short_names
from harness.statuses import not_run
from impl.peers import stand_ins
from impl.peers.available import lacks, require
from reference.cache_contracts import StoreImplementation, as_store_implementation
from reference.cache_model import StoreModel
from reference.contracts import EngineNotAvailableError, MaskImplementation, as_mask_implementation
from reference.dense import packed_mask
from reference.profiles import PROFILES
from suites.mask.checks import build, rule_of
from suites.mask.report import assert_same
from suites.strategies.masks import MaskCase, mask_cases, request

ADAPTERS = {
    "hf-gemma3": "hugging_face:GEMMA3",
    "hf-gemma4": "hugging_face:GEMMA4",
    "hf-or-last": "hugging_face:OR_LAST",
    "hf-embedding": "hugging_face_forward:EMBEDDING",
    "flex": "flex:FLEX",
    "flex-blocks": "flex:FLEX_BLOCKS",
    "sdpa": "sdpa:SDPA",
    "flashinfer": "flashinfer:FLASHINFER",
    "vllm": "vllm:VLLM",
}
"""Those whose engine does what they claim."""

DEPARTING = {
    "hf-packed": ("hugging_face_packed:PACKED", "gemma3-sliding", MaskCase((request("0"), request("011")), 4)),
    "hf-gemma4-unified": ("hugging_face_forward:UNIFIED", "gemma4-full", MaskCase((request("11"),))),
    "mlx": ("mlx:MLX", "mlxvlm-gemma4-full", MaskCase((request("0|11"),))),
    "sglang-gemma3": ("sglang:GEMMA3", "sglang-gemma3-full", MaskCase((request("1|11", "aaa"),), prefix_known=True)),
    "sglang-gemma4": ("sglang:GEMMA4", "vllm-gemma4-full", MaskCase((request("11"),))),
}
"""Those whose engine departs, each with a case in which it does; text alone is right."""

STORES = {"cachetools": "cachetools", "sglang-static": "sglang", "trtllm-lru": "tensorrt-llm", "vllm-manager": "vllm"}
"""Stores by their short names, each with what pip calls its engine: every one does what it claims."""

ROOT = Path(__file__).parents[2]


def _adapter(spec: str, device: str) -> MaskImplementation:
    module, attribute = spec.split(":")
    try:
        found = getattr(importlib.import_module(f"impl.peers.{module}"), attribute)
    except EngineNotAvailableError as error:
        not_run(str(error))
    adapter = as_mask_implementation(found, spec)
    if device not in adapter.claims.devices:
        not_run(f"{spec} needs another device than {device}")
    return adapter


@pytest.mark.parametrize("name", ADAPTERS)
@settings(max_examples=20)
@given(data=st.data())
def test_an_engine_that_is_right_is_called_rightly(device: str, name: str, data: st.DataObject) -> None:
    adapter = _adapter(ADAPTERS[name], device)
    profile = data.draw(st.sampled_from(adapter.claims.profile_names), label="profile")
    case = data.draw(mask_cases(PROFILES[profile]), label="case").within(adapter.claims)
    batch, rule = case.batch(device), rule_of(profile, case)
    assert_same(batch, rule, profile, build(adapter, batch, rule), packed_mask(batch, rule).view(torch.uint8))


@pytest.mark.parametrize("name", DEPARTING)
@settings(max_examples=20)
@given(data=st.data())
def test_an_engine_that_departs_is_right_about_text(device: str, name: str, data: st.DataObject) -> None:
    adapter = _adapter(DEPARTING[name][0], device)
    profile = data.draw(st.sampled_from(adapter.claims.profile_names), label="profile")
    drawn = data.draw(mask_cases(PROFILES[profile]), label="case").within(adapter.claims)
    texts = tuple(request(r.types.translate(str.maketrans("12", "03")), r.items, r.cached) for r in drawn.requests)
    case = MaskCase(texts, drawn.window, drawn.prefix_known)
    batch, rule = case.batch(device), rule_of(profile, case)
    assert_same(batch, rule, profile, build(adapter, batch, rule), packed_mask(batch, rule).view(torch.uint8))


@pytest.mark.parametrize("name", DEPARTING)
def test_a_departure_that_is_documented_is_still_there(device: str, name: str) -> None:
    """If this fails the engine was mended: its adapter's ``about``, and the pages about it, say otherwise."""
    spec, profile, case = DEPARTING[name]
    adapter = _adapter(spec, device)
    batch, rule = case.batch(device), rule_of(profile, case)
    assert not torch.equal(build(adapter, batch, rule), packed_mask(batch, rule).view(torch.uint8))


def _store(name: str) -> StoreImplementation:
    try:
        found = load_implementation("--store-impl", name, short_names("stores", ROOT), ROOT, EngineNotAvailableError)
    except NotAvailableError as error:
        not_run(str(error))
    return as_store_implementation(found, name)


def _bytes(value: int, size: int) -> torch.Tensor:
    return torch.full((size,), value, dtype=torch.uint8)


@pytest.mark.parametrize("name", STORES)
@settings(max_examples=20)
@given(items=st.lists(st.tuples(st.integers(0, 3), st.sampled_from((0, 1, 3, 4, 8, 9))), max_size=12))
def test_an_engine_whose_store_is_right_is_called_rightly(name: str, items: list[tuple[int, int]]) -> None:
    """As an encoder cache calls it: an item is looked up by the hash of its content, and put where it is missing."""
    store, model = _store(name).make(8), StoreModel(8)
    for content, size in items:
        key, value = f"{content}, {size}", store.get(f"{content}, {size}")
        assert (value is None) == (model.get(key) is None)
        if value is None:
            assert store.put(key, _bytes(content, size)) == model.put(key, content, size)
        else:
            assert torch.equal(value, _bytes(content, size))
        assert (len(store), store.current_bytes) == (len(model.entries), model.current_bytes)


@pytest.mark.parametrize("name", [name for name in STORES if name != "vllm-manager"])
def test_an_engine_that_removes_gives_the_value_and_its_bytes_back(name: str) -> None:
    store = _store(name).make(8)
    store.put("a", _bytes(1, 3))
    store.put("b", _bytes(2, 5))
    assert store.pop("a").tolist() == [1, 1, 1]
    assert store.pop("a") is None
    assert (len(store), store.current_bytes) == (1, 5)


@pytest.mark.parametrize("name", STORES)
def test_an_engine_replaces_where_it_claims_to_and_keeps_the_older_value_elsewhere(name: str) -> None:
    """Either way the put is a use."""
    implementation = _store(name)
    store = implementation.make(3)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4), ("d", 5)):
        assert store.put(key, _bytes(value, 1))
    assert store.get("a").item() == (3 if implementation.claims.replaces else 1)
    assert store.get("b") is None


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("part", ["whole", "slice"])
def test_an_engine_copies_what_it_claims_to_copy_and_nothing_else(name: str, part: str) -> None:
    """A slice is copied by those too that only keep no batch alive."""
    implementation = _store(name)
    batch = torch.ones(8)
    store = implementation.make(100)
    store.put("key", batch if part == "whole" else batch[2:4])
    copied = implementation.claims.copies or (implementation.claims.compacts and part == "slice")
    batch.zero_()
    assert bool(store.get("key").all()) == copied


def test_an_engine_that_is_not_installed_is_said_to_be_needed() -> None:
    message = r"^no-such-engine is not installed, expected no-such-engine>=2; get it with: pip install 'no-such-engine>=2'$"
    with pytest.raises(EngineNotAvailableError, match=message):
        require("no-such-engine", ">=2")


def test_an_engine_that_is_too_old_is_named_with_both_versions() -> None:
    found = metadata.version("torch").replace("+", r"\+")
    with pytest.raises(
        EngineNotAvailableError, match=rf"^torch {found} is installed, expected torch>=999; get it with: pip install"
    ):
        require("torch", ">=999")


def test_an_engine_without_the_function_is_named_with_it() -> None:
    found = metadata.version("torch").replace("+", r"\+")
    error = lacks("torch", "masks", AttributeError("gone"), ">=999", pip="--no-deps torch")
    assert isinstance(error, ImportError)
    want = rf"^torch {found} gives no masks \(AttributeError: gone\), expected torch>=999; .*: pip install --no-deps torch$"
    with pytest.raises(EngineNotAvailableError, match=want):
        raise error


def test_a_version_that_will_do_is_returned() -> None:
    assert str(require("torch", ">=2")) == metadata.version("torch")


@pytest.mark.parametrize("module", ["hugging_face", "vllm", "sglang", "mlx", "flashinfer"])
def test_an_adapter_without_its_engine_says_so_when_it_is_chosen(module: str, tmp_path: Path) -> None:
    """The engine's distribution is hidden from a process of its own."""
    script = tmp_path / "hidden.py"
    script.write_text(
        "from importlib import metadata\n"
        "def version(name):\n"
        "    raise metadata.PackageNotFoundError(name)\n"
        "metadata.version = version\n"
        f"import impl.peers.{module}\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script)], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "reference.contracts.EngineNotAvailableError: " in done.stderr
    assert " is not installed, expected " in done.stderr


@pytest.mark.parametrize("name", STORES)
def test_a_store_without_its_engine_ends_the_run_with_a_status_of_its_own(name: str, tmp_path: Path) -> None:
    """The engine's distribution is hidden from a process of its own."""
    script = tmp_path / "hidden.py"
    script.write_text(
        "from importlib import metadata\n"
        "known = metadata.version\n"
        "def version(name):\n"
        f"    if name == {STORES[name]!r}:\n"
        "        raise metadata.PackageNotFoundError(name)\n"
        "    return known(name)\n"
        "metadata.version = version\n"
        "import pytest\n"
        f"raise SystemExit(pytest.main(['-m', 'l0_b200', '-n0', '--only', 'stores', '--store-impl', {name!r}]))\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == ExitCode.NOT_AVAILABLE, done.stdout + done.stderr
    said = done.stdout + done.stderr
    assert f"--store-impl {name}: not available: {STORES[name]} is not installed, expected {STORES[name]}" in said


def test_one_module_is_loaded_without_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it imports of its own package, and what is named missing, is a stand-in; what it defines is real."""
    package = tmp_path / "an_engine"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('needs a GPU')", encoding="utf-8")
    (package / "deep" / "__init__.py").write_text("raise RuntimeError('needs a GPU')", encoding="utf-8")
    (package / "deep" / "real.py").write_text("TWO = 2", encoding="utf-8")
    (package / "deep" / "masks.py").write_text(
        "import a_library\n"
        "from an_engine.layers import Base, logger, register\n"
        "from an_engine.names import ONE\n"
        "from .real import TWO\n"
        "@register('masks', flag=Base.FLAG)\n"
        "def build():\n"
        "    return ONE + TWO\n"
        "class Masks(Base[int], a_library.Other):\n"
        "    size = 3 if a_library.on_gpu() else 4\n"
        "logger().warning('loaded')\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    module = stand_ins.load(
        "an_engine.deep.masks", real={"an_engine.deep.real"}, missing={"a_library"}, given={"an_engine.names": {"ONE": 1}}
    )
    assert module.Masks.size == 4
    assert module.build() == 3
    assert set(sys.modules) == before
    with pytest.raises(RuntimeError, match="needs a GPU"):
        importlib.import_module("an_engine")
