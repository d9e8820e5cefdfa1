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


TAKE = """
import sys
from harness.device import choose_device
environ = dict(zip(sys.argv[1::2], sys.argv[2::2]))
choose_device(environ, gpus=4)
print(environ["CUDA_VISIBLE_DEVICES"], flush=True)
sys.stdin.read()
"""


def _worker(folder: Path, number: int, workers: int = 2) -> tuple[subprocess.Popen[str], str]:
    """A process that takes a GPU as a worker does, and keeps it until its input ends."""
    environ = {
        "CUDA_VISIBLE_DEVICES": "3,1",
        "PYTEST_XDIST_WORKER": f"gw{number}",
        "PYTEST_XDIST_WORKER_COUNT": str(workers),
        "MM_CONFORMANCE_SLOTS": str(folder),
    }
    words = [word for pair in environ.items() for word in pair]
    process = subprocess.Popen(
        [sys.executable, "-c", TAKE, *words], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_each_worker_gets_one_of_the_callers_gpus_and_a_new_one_that_of_the_dead(tmp_path: Path) -> None:
    """By number, the third worker would sit beside the second, and the GPU of the first would idle."""
    first, gpu_of_first = _worker(tmp_path, 0)
    second, gpu_of_second = _worker(tmp_path, 1)
    assert (gpu_of_first, gpu_of_second) == ("3", "1")
    second.kill()
    second.wait()
    third, gpu_of_third = _worker(tmp_path, 2)
    first.kill()
    first.wait()
    fourth, gpu_of_fourth = _worker(tmp_path, 3)
    for process in (third, fourth):
        process.communicate("")
    assert (gpu_of_third, gpu_of_fourth) == ("1", "3")


def test_more_workers_than_gpus_share_them(tmp_path: Path) -> None:
    workers = [_worker(tmp_path, number, workers=4) for number in range(4)]
    for process, _ in workers:
        process.communicate("")
    assert [gpu for _, gpu in workers] == ["3", "1", "3", "1"]


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
