"""What this machine is, in the properties that list conditions name."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

Property = str | int


PROPERTIES = (
    "cpu",
    "cpu_count",
    "os",
    "linux_distribution_name",
    "system_memory",
    "system_gpu_count",
    "gpu",
    "compute_capability",
    "gpu_memory",
)
"""All that a condition can ask of a machine here; one without a GPU lacks the last three."""


def machine_properties() -> dict[str, Property]:
    """The machine as conditions see it: names as TensorRT-LLM's lists use them.

    Returns:
        ``gpu`` (name of the first, absent without one), ``system_gpu_count``, ``compute_capability`` (90 for 9.0),
        ``gpu_memory`` (MiB), ``cpu``, ``cpu_count``, ``system_memory`` (MiB), ``linux_distribution_name`` and ``os``.
    """
    properties: dict[str, Property] = {
        "cpu": platform.machine(),
        "cpu_count": os.cpu_count() or 1,
        "os": platform.system().lower(),
        "system_memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        **_gpus(),
    }
    try:
        properties["linux_distribution_name"] = platform.freedesktop_os_release().get("ID", "unknown")
    except OSError:
        properties["linux_distribution_name"] = "unknown"
    return properties


def _gpus() -> dict[str, Property]:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return {"system_gpu_count": 0}
    count = int(pynvml.nvmlDeviceGetCount())
    if not count:
        return {"system_gpu_count": 0}
    first = pynvml.nvmlDeviceGetHandleByIndex(0)
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(first)
    return {
        "system_gpu_count": count,
        "gpu": str(pynvml.nvmlDeviceGetName(first)),
        "compute_capability": 10 * int(major) + int(minor),
        "gpu_memory": int(pynvml.nvmlDeviceGetMemoryInfo(first).total) // 2**20,
    }


def machine_class(properties: Mapping[str, Property]) -> str:
    """What tests take about the same time on: the name of the GPU in small letters, or ``cpu``."""
    words = re.findall(r"[a-z0-9]+", str(properties.get("gpu", "cpu")).lower())
    return "_".join(word for word in words if word != "nvidia") or "gpu"


def commit_of(root: Path) -> str:
    """The commit that is checked out, with ``+`` where files have changed; empty outside of git."""
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
        changed = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head.stdout.strip() + "+" * bool(changed.stdout.strip())


@dataclass(frozen=True)
class Version:
    """An installed package."""

    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


def versions(packages: tuple[str, ...] = ("torch", "triton", "hypothesis", "pytest")) -> list[Version]:
    """Versions of the packages that a verdict depends on, without importing them; absent ones are left out."""
    found = [Version("python", platform.python_version())]
    for package in packages:
        try:
            found.append(Version(package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return found
