"""Adapters to engines: that each calls its engine rightly is seen where the engine is right, and that a missing one says so.

Whether an engine conforms is for the mask suite to say: ``pytest suites/mask --mask-impl impl.peers.flex:FLEX``.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.statuses import not_run
from impl.peers import stand_ins
from impl.peers.available import lacks, require
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
    """If this fails the engine was mended: the docstring of its adapter, and the pages about it, say otherwise."""
    spec, profile, case = DEPARTING[name]
    adapter = _adapter(spec, device)
    batch, rule = case.batch(device), rule_of(profile, case)
    assert not torch.equal(build(adapter, batch, rule), packed_mask(batch, rule).view(torch.uint8))


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
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(script)], env={"PYTHONPATH": str(root)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "reference.contracts.EngineNotAvailableError: " in done.stderr
    assert " is not installed, expected " in done.stderr


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
