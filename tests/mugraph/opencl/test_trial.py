"""Each text is compiled in a child process first; a driver that ends it is an error, no more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlc_course.errors import MachineError, RefusedText
from mlc_course.mugraph.opencl import find_device
from mlc_course.mugraph.opencl.device import ways_to_build
from mlc_course.mugraph.opencl.trial import LaunchSize, tried

TEXT = """
__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void twice(__global float* X) { X[get_global_id(0)] *= 2; }
"""
LAUNCH = (LaunchSize("twice", (8, 1, 1), (4, 1, 1), (32,)),)
# What PoCL's own compiler ends the process on cannot be told of all its versions, but this is
# no better: the kernel writes where no memory is.
ENDS = TEXT.replace("*= 2", "*= 2; *(volatile __global int*)(X + (1L << 42)) = 3")


def test_a_text_that_passes_is_remembered(tmp_path: Path) -> None:
    on = find_device()
    options = tried(TEXT, LAUNCH, on, tmp_path)
    assert options in ways_to_build(on)
    (mark,) = tmp_path.iterdir()
    before = mark.stat()
    assert tried(TEXT, LAUNCH, on, tmp_path) == options
    assert mark.stat() == before
    tried(TEXT, (LaunchSize("twice", (4, 1, 1), (4, 1, 1), (16,)),), on, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_text_that_is_not_opencl_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedText, match=r"(?s)expected ';'.*target cpu computes the same"):
        tried(TEXT.replace(";", ""), LAUNCH, find_device(), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_driver_that_ends_its_process_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="the OpenCL driver ended the process") as refused:
        tried(ENDS, LAUNCH, find_device(), tmp_path)
    assert re.search(r"exit status -?\d+", str(refused.value))
    assert not list(tmp_path.iterdir())


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "a file"
    file.touch()
    assert tried(TEXT, LAUNCH, find_device(), file / "folder")
