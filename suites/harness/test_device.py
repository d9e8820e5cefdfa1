"""The device is chosen from the environment alone, before anything heavy is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.device import Device, DeviceError, choose_device, visible_gpus

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("variable", "count", "visible"),
    [
        (None, 2, ["0", "1"]),
        (None, 0, []),
        ("", 2, []),
        ("-1", 2, []),
        ("1,0", 2, ["1", "0"]),
        ("1,5,0", 2, ["1"]),
        ("GPU-8a,GPU-9b", 2, ["GPU-8a", "GPU-9b"]),
        ("0", 0, []),
    ],
)
def test_visible_gpus_are_those_that_cuda_would_see(variable: str | None, count: int, visible: list[str]) -> None:
    assert visible_gpus(variable, count) == visible


def test_without_a_gpu_the_interpreter_is_turned_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "triton", raising=False)
    environ: dict[str, str] = {}
    assert choose_device(environ, gpus=0) == Device("cpu", interpreted=True)
    assert environ == {"TRITON_INTERPRET": "1"}
    assert Device("cpu", interpreted=True).in_words() == "cpu, Triton kernels interpreted"


def test_with_a_gpu_kernels_are_compiled() -> None:
    environ: dict[str, str] = {}
    assert choose_device(environ, gpus=1) == Device("cuda", interpreted=False)
    assert environ == {}


@pytest.mark.parametrize(("worker", "gpu"), [("gw0", "3"), ("gw1", "1"), ("gw2", "3")])
def test_a_worker_gets_one_of_the_callers_gpus(worker: str, gpu: str) -> None:
    environ = {"CUDA_VISIBLE_DEVICES": "3,1", "PYTEST_XDIST_WORKER": worker}
    choose_device(environ, gpus=4)
    assert environ["CUDA_VISIBLE_DEVICES"] == gpu


def test_the_cpu_can_be_asked_for() -> None:
    environ = {"MM_CONFORMANCE_DEVICE": "cpu", "TRITON_INTERPRET": "1"}
    assert choose_device(environ, gpus=8).name == "cpu"


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"MM_CONFORMANCE_DEVICE": "gpu"}, "MM_CONFORMANCE_DEVICE is 'gpu', expected auto, cpu or cuda"),
        ({"MM_CONFORMANCE_DEVICE": "cuda"}, "no GPU is visible"),
        ({"MM_CONFORMANCE_DEVICE": "cuda", "CUDA_VISIBLE_DEVICES": ""}, "no GPU is visible"),
    ],
)
def test_a_device_that_cannot_be_had_is_refused(environ: dict[str, str], message: str) -> None:
    with pytest.raises(DeviceError, match=message):
        choose_device(environ, gpus=0)


def test_triton_imported_too_early_is_noticed() -> None:
    """TRITON_INTERPRET counts only if set before triton is imported."""
    code = (
        "import sys, types; sys.modules['triton'] = types.ModuleType('triton')\n"
        "from harness.device import *\n"
        "try: choose_device({}, gpus=0)\nexcept DeviceError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "triton was imported before TRITON_INTERPRET=1 could be set" in done.stdout


def test_the_device_is_chosen_without_importing_torch() -> None:
    code = "import sys, conftest, harness.plugin; print({'torch', 'triton'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
