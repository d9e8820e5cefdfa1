"""What this machine is: its properties, with any GPU or none, its kind, its commit and its packages."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pynvml
import pytest

from harness import machine
from harness.machine import PROPERTIES, Version, commit_of, machine_class, machine_properties, versions

GPU = {"gpu", "compute_capability", "gpu_memory"}


def _gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Puts GPUs into the machine, or none."""
    monkeypatch.setattr(pynvml, "nvmlInit", lambda: None)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetCount", lambda: count)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", lambda index: f"handle {index}")
    monkeypatch.setattr(pynvml, "nvmlDeviceGetName", {"handle 0": "NVIDIA H200", "handle 1": "another"}.__getitem__)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetCudaComputeCapability", {"handle 0": (9, 3)}.__getitem__)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetMemoryInfo", {"handle 0": SimpleNamespace(total=141 * 2**30 + 1)}.__getitem__)


def test_a_machine_with_gpus_has_every_property_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    _gpus(monkeypatch, 2)
    found = machine_properties()
    assert set(found) == set(PROPERTIES)
    assert {name: found[name] for name in GPU} == {
        "gpu": "NVIDIA H200",
        "compute_capability": 93,
        "gpu_memory": 141 * 1024,
    }
    assert found["system_gpu_count"] == 2


def _no_driver() -> None:
    raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)


@pytest.mark.parametrize("driver", [True, False])
def test_a_machine_without_a_gpu_counts_none_and_lacks_what_only_a_gpu_has(
    monkeypatch: pytest.MonkeyPatch, driver: bool
) -> None:
    _gpus(monkeypatch, 0)
    if not driver:
        monkeypatch.setattr(pynvml, "nvmlInit", _no_driver)
    found = machine_properties()
    assert set(found) == set(PROPERTIES) - GPU
    assert found["system_gpu_count"] == 0


def test_the_host_is_described_as_its_system_does(monkeypatch: pytest.MonkeyPatch) -> None:
    _gpus(monkeypatch, 0)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "debian", "NAME": "Debian"})
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**20 + 1}.__getitem__)
    assert machine_properties() == {
        "cpu": "x86_64",
        "cpu_count": 16,
        "os": "linux",
        "system_memory": 4096,
        "linux_distribution_name": "debian",
        "system_gpu_count": 0,
    }


def _no_release() -> dict[str, str]:
    raise OSError


@pytest.mark.parametrize("release", [dict, _no_release])
def test_what_the_system_does_not_tell_is_unknown(monkeypatch: pytest.MonkeyPatch, release: object) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", release)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    found = machine_properties()
    assert (found["linux_distribution_name"], found["cpu_count"]) == ("unknown", 1)


@pytest.mark.parametrize(
    ("gpu", "kind"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA GeForce RTX 4090", "geforce_rtx_4090"),
        ("NVIDIA B200-SXM/2", "b200_sxm_2"),
        ("nvidia", "gpu"),
        ("", "gpu"),
        (None, "cpu"),
    ],
)
def test_machines_of_one_gpu_are_of_one_kind(gpu: str | None, kind: str) -> None:
    assert machine_class({"cpu": "x86_64"} if gpu is None else {"gpu": gpu, "cpu_count": 3}) == kind


def _git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_commit_is_that_of_the_folder_with_a_mark_where_files_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit_of(tmp_path) == ""
    _git(tmp_path, "init", "-q")
    assert commit_of(tmp_path) == ""
    _git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    head = _git(tmp_path, "rev-parse", "HEAD")
    assert commit_of(tmp_path) == head
    (tmp_path / "new").touch()
    assert commit_of(tmp_path) == head + "+"


def test_without_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(tmp_path) == ""


def test_versions_are_those_of_python_and_of_the_packages_that_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"torch": "2.13.0", "pytest": "9.2.0", "hypothesis": "6.170"}

    def version(package: str) -> str:
        if package not in installed:
            raise metadata.PackageNotFoundError(package)
        return installed[package]

    monkeypatch.setattr(machine.metadata, "version", version)
    python = Version("python", platform.python_version())
    assert versions() == [python, *(Version(name, installed[name]) for name in ("torch", "hypothesis", "pytest"))]
    assert versions(("triton", "pytest")) == [python, Version("pytest", "9.2.0")]
    assert str(Version("torch", "2.13.0")) == "torch 2.13.0"
