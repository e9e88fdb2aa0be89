"""An OpenCL device is found by name; what is not there is said with a way out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mlc_course.errors import MachineError, UsageError
from mlc_course.machine import usable_cores
from mlc_course.mugraph.opencl import find_device, gpu_of
from mlc_course.mugraph.opencl.device import CHOICE, POCL, chosen

ROOT = Path(__file__).parents[3]


def test_a_device_says_what_it_can_hold() -> None:
    found = find_device()
    assert found.is_cpu
    assert found.most_threads >= 64
    assert found.shared_bytes >= 32 * 1024
    assert found.name in str(found)


def test_a_cpu_is_asked_for_some_cores() -> None:
    assert find_device(1).cores == 1
    assert find_device(1) == find_device(1)
    assert find_device(usable_cores()).cores <= find_device().cores


@pytest.mark.parametrize(
    ("wanted", "name"),
    [("", POCL), ("portable", POCL), ("cuda", "NVIDIA CUDA"), ("o", POCL)],
)
def test_a_platform_is_chosen_by_a_part_of_its_name(wanted: str, name: str) -> None:
    there = [SimpleNamespace(name="NVIDIA CUDA"), SimpleNamespace(name=POCL)]
    assert chosen(there, wanted).name == name


def test_the_first_platform_is_chosen_where_there_is_no_pocl() -> None:
    there = [SimpleNamespace(name="Intel(R) OpenCL"), SimpleNamespace(name="NVIDIA CUDA")]
    assert chosen(there, "").name == "Intel(R) OpenCL"


def test_a_platform_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "no such platform")
    with pytest.raises(UsageError, match=f"(?s){CHOICE}.*{POCL}"):
        find_device()


WITHOUT = """
import sys
sys.modules["pyopencl"] = None
from mlc_course.errors import MachineError
from mlc_course.mugraph.opencl import find_device
try:
    find_device()
except MachineError as error:
    print(error)
"""


def test_without_pyopencl_it_is_said_what_to_install() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], env=environment, capture_output=True, text=True
    )
    assert "mlc-course[opencl]" in done.stdout, done.stderr
    assert "target cpu computes the same" in done.stdout


def test_without_a_platform_it_is_said_what_to_install() -> None:
    with pytest.raises(MachineError, match=r"(?s)no OpenCL platform.*mlc-course\[opencl\].*cpu"):
        chosen([], "")


@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_kernels_are_lowered_for_its_limits(storage: str) -> None:
    on = find_device()
    gpu = gpu_of(on, storage)
    assert gpu.threads <= on.most_threads
    assert gpu.limit <= on.shared_bytes
    assert gpu.multiprocessors == on.cores
    assert gpu_of(None, storage).limit == 32 * 1024
