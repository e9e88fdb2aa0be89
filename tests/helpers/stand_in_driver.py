"""A driver without a GPU, for tests: ``stand_in_driver.c``, compiled with NVIDIA's header."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from mlc_course.mugraph.cuda import driver
from mlc_course.mugraph.cuda.nvrtc import header_folders


def use_stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, generation: int) -> ctypes.CDLL:
    """Let ``driver`` find the stand-in; skip the test where it cannot be compiled."""
    headers = [each for each in header_folders(generation) if (each / "cuda.h").exists()]
    compiler = shutil.which("cc")
    if not headers or not compiler:
        pytest.skip(f"no C compiler, or no header of CUDA {generation}")
    made = folder / "libcuda.so"
    source = Path(__file__).with_suffix(".c")
    command = [compiler, "-shared", "-fPIC", f"-I{headers[0]}", str(source), "-o", str(made)]
    subprocess.run(command, check=True)
    stand_in = driver.libcuda(str(made))
    monkeypatch.setattr(driver, "libcuda", lambda: stand_in)
    return stand_in
