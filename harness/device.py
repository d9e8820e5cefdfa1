"""Which device the suite runs on, decided before torch or triton are imported."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

DEVICE_VARIABLE = "MM_CONFORMANCE_DEVICE"
"""``auto`` (default), ``cpu`` or ``cuda``."""

SLOTS = "MM_CONFORMANCE_SLOTS"
"""Set by the controller of a run for its workers: the folder of the locks by which they share the GPUs."""

INTERPRET_VARIABLE = "TRITON_INTERPRET"
"""Read by triton once, when it is first imported."""


@dataclass(frozen=True)
class Device:
    """The device of this process.

    Attributes:
        name: ``cuda`` or ``cpu``.
        interpreted: Whether Triton kernels run in its interpreter.
    """

    name: str
    interpreted: bool

    def in_words(self) -> str:
        """For the header and the reports."""
        return f"{self.name}, Triton kernels {'interpreted' if self.interpreted else 'compiled'}"


class DeviceError(Exception):
    """The device asked for cannot be had; the message says how to mend it."""


def choose_device(environ: dict[str, str] | os._Environ[str] = os.environ, gpus: int | None = None) -> Device:
    """Picks CUDA if there is a GPU and the CPU otherwise, and prepares the process for it.

    Without a GPU ``TRITON_INTERPRET=1`` is set. A pytest-xdist worker gets one GPU: its number counts through the
    GPUs that the caller made visible.

    Args:
        environ: The environment; written to.
        gpus: GPUs of the machine; default asks the driver.

    Returns:
        The device.

    Raises:
        DeviceError: CUDA is asked for and there is no GPU, the variable has another value, or triton is imported already.
    """
    wanted = environ.get(DEVICE_VARIABLE, "auto")
    if wanted not in ("auto", "cpu", "cuda"):
        raise DeviceError(f"{DEVICE_VARIABLE} is {wanted!r}, expected auto, cpu or cuda")
    visible = visible_gpus(environ.get("CUDA_VISIBLE_DEVICES"), count_gpus() if gpus is None else gpus)
    if wanted == "cuda" and not visible:
        raise DeviceError(f"{DEVICE_VARIABLE} is cuda, but no GPU is visible; unset it, or look at CUDA_VISIBLE_DEVICES")
    if wanted == "cpu" or not visible:
        if environ.get(INTERPRET_VARIABLE) != "1":
            if "triton" in sys.modules:
                raise DeviceError(
                    f"triton was imported before {INTERPRET_VARIABLE}=1 could be set; set it in the environment, "
                    "or do not load a plugin that imports triton"
                )
            environ[INTERPRET_VARIABLE] = "1"
        return Device("cpu", interpreted=True)
    if environ.get("PYTEST_XDIST_WORKER", "").startswith("gw"):
        environ["CUDA_VISIBLE_DEVICES"] = visible[_slot(environ) % len(visible)]
    return Device("cuda", interpreted=environ.get(INTERPRET_VARIABLE) == "1")


_SLOTS: list[IO[bytes]] = []  # open as long as the process lives: what closes them, closes the slot


def _slot(environ: Mapping[str, str]) -> int:
    """The first place among the workers of this run that no living one holds.

    A worker that takes over from a dead one has a new number: counted by numbers, two could share a GPU and leave
    another one idle. The locks are the kernel's, and end with the process that holds them.
    """
    number = int(environ["PYTEST_XDIST_WORKER"][2:])
    if SLOTS not in environ:
        return number
    folder = Path(environ[SLOTS])
    for slot in range(int(environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))):
        lock = (folder / f"{slot}.lock").open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        _SLOTS.append(lock)
        return slot
    return number  # the dead one is not gone yet


def visible_gpus(variable: str | None, count: int) -> list[str]:
    """The GPUs that a process may use, as CUDA_VISIBLE_DEVICES names them.

    Args:
        variable: The value of CUDA_VISIBLE_DEVICES; None where it is unset.
        count: GPUs of the machine.

    Returns:
        Indices or UUIDs. Like CUDA, stops at the first entry that names no GPU.
    """
    if variable is None:
        return [str(index) for index in range(count)]
    visible: list[str] = []
    for entry in variable.split(","):
        entry = entry.strip()
        if not entry or not count or (entry.lstrip("-").isdigit() and not 0 <= int(entry) < count):
            break
        visible.append(entry)
    return visible


def count_gpus() -> int:
    """GPUs that the NVIDIA driver of this machine reports; 0 where there is none."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return 0
    return int(pynvml.nvmlDeviceGetCount())
