"""CUDA text becomes machine code without a GPU, and what it needs is read from the log."""

from __future__ import annotations

import sys

import pytest

from mlc_course.errors import MachineError, RefusedText, UsageError
from mlc_course.mugraph.cuda import nvrtc
from mlc_course.mugraph.cuda.nvrtc import (
    TARGETS,
    Resources,
    compile_cubin,
    compile_ptx,
    generations,
    resources,
    shared_limit,
)

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="NVIDIA has no compiler for macOS")

ADDS = """
extern "C" __global__ void adds(const float* a, float* b) {
  b[threadIdx.x] = a[threadIdx.x] + 1.0f;
}
"""
SPILLS = """
extern "C" __global__ void __launch_bounds__(1024, 2) spills(const float* a, float* b) {
  float kept[96];
#pragma unroll
  for (int n = 0; n < 96; ++n) kept[n] = a[n * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int n = 0; n < 96; ++n) b[n * 1024 + threadIdx.x] = kept[n] * kept[95 - n];
}
"""


@pytest.mark.parametrize("arch", TARGETS)
def test_a_text_becomes_machine_code(arch: str) -> None:
    for generation in generations():
        cubin = compile_cubin(ADDS, arch, generation)
        assert cubin.image.startswith(b"\x7fELF")
        assert cubin.kernels["adds"].registers > 0
        assert cubin.kernels["adds"].spills == 0


def test_a_compiler_is_installed() -> None:
    assert 13 in generations()


def test_ptx_names_its_kernel() -> None:
    assert ".entry adds(" in compile_ptx(ADDS, "sm_80")


def test_a_kernel_that_spills_is_seen_to() -> None:
    assert compile_cubin(SPILLS, "sm_80").kernels["spills"].spills > 0


def test_wrong_text_is_refused_with_its_line() -> None:
    with pytest.raises(RefusedText, match=r"kernels\.cu\(3\): error"):
        compile_cubin(ADDS.replace("1.0f", "one"), "sm_80")


@pytest.mark.parametrize("arch", ["sm90", "90", "", "sm_90; rm", "compute_80", "sm_80 "])
def test_what_is_no_architecture_is_refused(arch: str) -> None:
    with pytest.raises(UsageError, match="no GPU architecture"):
        compile_cubin(ADDS, arch)


def test_an_architecture_that_the_compiler_does_not_know_is_refused() -> None:
    with pytest.raises(UsageError, match="has no code for sm_10"):
        compile_cubin(ADDS, "sm_10")


def test_without_a_compiler_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "_wheels", list)
    nvrtc._loaded.cache_clear()
    try:
        assert generations() == ()
        with pytest.raises(MachineError, match=r"mlc-course\[cuda-text\]"):
            compile_cubin(ADDS, "sm_80")
    finally:
        nvrtc._loaded.cache_clear()


def test_the_log_of_two_kernels_is_told_apart() -> None:
    log = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'one' for 'sm_80'
ptxas info    : Function properties for one
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 8 bytes cumulative stack size, 512 bytes smem
ptxas info    : Compiling entry function 'two' for 'sm_80'
ptxas info    : Used 8 registers, used 0 barriers
"""
    found = dict(resources(log))
    assert found["one"] == Resources(40, 8, 4, 12, 512, 1)
    assert found["two"] == Resources(8, 0, 0, 0, 0, 0)
    assert found["one"].spills == 16


def test_a_block_can_have_less_on_smaller_chips() -> None:
    kib = {arch: shared_limit(arch) // 1024 for arch in ("sm_80", "sm_86", "sm_90a", "sm_123")}
    assert kib == {"sm_80": 163, "sm_86": 99, "sm_90a": 227, "sm_123": 99}
