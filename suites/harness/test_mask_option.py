"""``--mask-impl`` with implementations that are not what they should be: a usage error or a failure, never a crash."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from harness.exits import ExitCode
from harness.records import read_manifest
from reference.contracts import as_mask_implementation
from reference.rules import MaskRule
from reference.tokens import MaskBatch
from suites.harness.conftest import run_folders
from suites.mask.checks import check_dense
from suites.strategies.masks import MaskCase, request

CASE = MaskCase((request("0110|110"), request("011")), 3, prefix_known=True)


def _hidden(batch: MaskBatch) -> Tensor:
    return torch.zeros(batch.cells, dtype=torch.bool)


def _raising(batch: MaskBatch, rule: MaskRule) -> Tensor:
    raise RuntimeError("engine fell over")


def _scribbling(batch: MaskBatch, rule: MaskRule) -> Tensor:
    batch.token_types.fill_(0)
    return _hidden(batch)


def _overrunning(batch: MaskBatch, rule: MaskRule) -> Tensor:
    out = torch.empty(batch.cells, dtype=torch.bool)
    out.as_strided((batch.cells + 1,), (1,), out.storage_offset()).fill_(False)
    return out


WRONG: dict[str, tuple[Callable[..., object], str]] = {
    "dtype": (lambda batch, rule: _hidden(batch).to(torch.uint8), "returned dtype torch.uint8, expected torch.bool"),
    "length": (lambda batch, rule: _hidden(batch)[1:], "returned 29 cells, expected 30 = sum Q"),
    "shape": (lambda batch, rule: _hidden(batch)[None], "expected one dimension"),
    "nothing": (lambda batch, rule: None, "returned a NoneType, expected a torch.Tensor"),
    "stride": (lambda batch, rule: _hidden(batch).repeat(2)[::2], "expected a contiguous tensor"),
    "device": (lambda batch, rule: _hidden(batch).to("meta"), "returned a tensor on meta, expected cpu"),
    "unwritten": (lambda batch, rule: torch.empty(batch.cells, dtype=torch.bool), "neither, byte 0xa5: unwritten?"),
    "hidden": (lambda batch, rule: _hidden(batch), "expected visible, got hidden"),
    "raises": (_raising, "engine fell over"),
    "signature": (lambda: None, "takes 0 positional arguments but 2 were given"),
    "scribbles": (_scribbling, "wrote into its inputs: token_types"),
    "overruns": (_overrunning, "wrote outside of its memory: 1 of the 512 bytes after an allocation of 30 bytes"),
}


@pytest.mark.requirement("MASK-PACK-1", "MASK-OUTPUT-1", "MASK-OUTPUT-2", "MASK-INPUT-3")
@pytest.mark.parametrize("kind", WRONG)
def test_what_builds_wrongly_fails_and_says_how(kind: str) -> None:
    build, message = WRONG[kind]
    with pytest.raises((AssertionError, RuntimeError, TypeError)) as caught:
        check_dense(as_mask_implementation(build, kind), CASE, "gemma3-sliding")
    assert message in str(caught.value)


@pytest.fixture
def engine(mask_project: Callable[..., pytest.Pytester]) -> pytest.Pytester:
    """The mask suite's main test, beside a module ``engine``."""
    pytester = mask_project()
    pytester.makepyfile(
        engine="""
        import torch

        def build(batch, rule):
            return torch.ones(batch.cells, dtype=torch.bool, device=batch.token_types.device)
        """
    )
    return pytester


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no_such_engine:build", "cannot import no_such_engine"),
        ("engine:torch.__version__", "expected a callable build(batch, rule) or an object with build"),
    ],
)
def test_what_cannot_be_loaded_is_a_usage_error(engine: pytest.Pytester, spec: str, message: str) -> None:
    run = engine.runpytest_subprocess("--mask-impl", spec)
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert message in run.stderr.str()


def test_an_engine_that_is_not_installed_is_neither_passed_nor_failed(engine: pytest.Pytester) -> None:
    engine.makepyfile(adapter="from reference.contracts import EngineNotAvailableError as E\nraise E('needs engine >= 3')\n")
    run = engine.runpytest_subprocess("--mask-impl", "adapter:build")
    assert run.ret == ExitCode.NOT_AVAILABLE
    assert "--mask-impl adapter:build: not available: needs engine >= 3" in run.stdout.str() + run.stderr.str()
    assert not (engine.path / "runs").exists()


def test_an_engine_that_finds_out_when_it_is_made_is_not_available(engine: pytest.Pytester) -> None:
    engine.makepyfile(
        adapter="""
        from reference.contracts import EngineNotAvailableError

        class Masks:
            def __init__(self):
                raise EngineNotAvailableError("needs a function that engine 2 lacks")

            def build(self, batch, rule): ...
        """
    )
    run = engine.runpytest_subprocess("--mask-impl", "adapter:Masks")
    assert run.ret == ExitCode.NOT_AVAILABLE
    assert "needs a function that engine 2 lacks" in run.stdout.str() + run.stderr.str()


def test_only_one_of_the_three_is_judged(engine: pytest.Pytester) -> None:
    engine.makepyfile(test_other="def test_nothing_of_masks(): raise AssertionError\n")
    (engine.path / "test_lists" / "l0_x.yml").write_text("version: 0.0.1\nl0_x:\n- tests: [test_it.py, test_other.py]\n")
    run = engine.runpytest_subprocess(
        "-m", "l0_x", "--only", "masks", "--mask-impl", "eager", "-k", "gemma4-full or nothing"
    )
    assert run.ret == ExitCode.OK
    (folder,) = run_folders(engine)
    manifest = read_manifest(folder)
    assert manifest.implementations == {"--mask-impl": "eager"}
    assert {test.id.split("::")[0] for test in manifest.tests} == {"test_it.py"}
    assert engine.runpytest_subprocess("--only", "caches", "--mask-impl", "eager").ret == ExitCode.USAGE


def test_an_engine_beside_the_caller_is_judged_profile_by_profile(engine: pytest.Pytester) -> None:
    """Everything visible is right where nothing is causal, and wrong elsewhere; the failure is drawn."""
    run = engine.runpytest_subprocess("--mask-impl", "engine:build", "-k", "all-full or gemma4-sliding]")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    outcomes = run.parseoutcomes()
    assert outcomes["passed"] == 2
    assert outcomes["failed"] >= 1
    run.stdout.fnmatch_lines(
        ["*visible: (c <= p or same blob) and c > p-W*", "*expected hidden, got visible*", "*difference*"]
    )
