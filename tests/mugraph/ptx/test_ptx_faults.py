"""What kernels do wrong is found while they run, with the threads, the bytes and the lines."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from cuda_kernels import MATRIX, RING, SUMS, TILED, matrix_text

from mlc_course.errors import WrongResult
from mlc_course.mugraph.cuda import compile_ptx
from mlc_course.mugraph.ptx import Fault, Report, load

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="NVIDIA has no compiler for macOS")
RANDOM = np.random.default_rng(0)


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def run(text: str, name: str, threads: object, *arguments: object, **options: object) -> Report:
    shared = options.pop("shared_bytes", 0)
    module = load(compile_ptx(text, "sm_80"))
    return module.launch(name, 1, threads, shared, list(arguments), **options)  # type: ignore


def kinds(report: Report) -> set[str]:
    return {each.kind for each in report.faults}


def only(report: Report) -> Fault:
    (fault,) = report.faults
    return fault


def broken(text: str, part: str, other: str = "") -> str:
    assert part in text
    return text.replace(part, other, 1)


# ---- races


@pytest.mark.parametrize("barrier", ["filled", "halved"])
def test_a_barrier_that_is_removed_leaves_a_race(barrier: str) -> None:
    text = broken(SUMS, f"__syncthreads();  // {barrier}")
    report = run(text, "sums", 128, RANDOM.normal(size=128).astype("f4"), np.zeros(1, "f4"), 128)
    assert kinds(report) == {"race"}
    with pytest.raises(WrongResult, match="race"):
        report.checked()


def test_a_race_names_both_threads_the_bytes_and_the_lines() -> None:
    text = """extern "C" __global__ void k(float* y) {
      __shared__ float s[64];
      s[threadIdx.x] = threadIdx.x;
      y[threadIdx.x] = s[63 - threadIdx.x];
    }"""
    fault = only(run(text, "k", 64, np.zeros(64, "f4")))
    assert fault.kind == "race" and fault.threads == (0, 63) and fault.times == 64
    assert fault.lines == (4, 3)
    assert "thread 0 reads shared bytes 252 to 255, which thread 63 wrote" in str(fault)


def test_a_thread_may_read_what_it_wrote_itself() -> None:
    text = """extern "C" __global__ void k(float* y) {
      __shared__ float s[64];
      volatile float* v = s;
      v[threadIdx.x] = threadIdx.x;
      y[threadIdx.x] = v[threadIdx.x];
      v[threadIdx.x] = 1;
    }"""
    run(text, "k", 64, np.zeros(64, "f4")).checked()


def test_reading_before_a_write_by_another_is_a_race_too() -> None:
    for barrier in ("filled", "read"):
        text = broken(TILED, f"__syncthreads();  // {barrier}")
        a = RANDOM.normal(size=(32, 32)).astype("f4")
        report = run(text, "tiled", (16, 16), a, a, np.zeros((32, 32), "f4"), 32)
        assert kinds(report) == {"race"}
        said = " ".join(map(str, report.faults))
        assert ("reads" in said) if barrier == "filled" else ("writes" in said and "read," in said)


def test_two_threads_that_write_one_place_race() -> None:
    text = """extern "C" __global__ void k(float* y) {
      __shared__ float s[64];
      s[threadIdx.x / 2] = threadIdx.x;
      __syncthreads();
      y[threadIdx.x] = s[threadIdx.x / 2];
    }"""
    fault = only(run(text, "k", 64, np.zeros(64, "f4")))
    assert fault.kind == "race" and fault.threads == (0, 1) and fault.lines == (3, 3)


def test_a_race_shows_as_other_values_in_another_order_of_warps() -> None:
    text = broken(SUMS, "__syncthreads();  // filled")
    x = RANDOM.normal(size=128).astype("f4")
    found = set()
    for order in ("together", "ascending", "descending"):
        out = np.zeros(1, "f4")
        run(text, "sums", 128, x, out, 128, order=order)
        found.add(out.tobytes())
    assert len(found) > 1


def test_a_barrier_of_a_warp_orders_its_threads_alone() -> None:
    text = """extern "C" __global__ void k(float* y) {
      __shared__ float s[64];
      const int t = threadIdx.x;
      s[t] = t;
      __syncwarp();
      y[t] = s[t ^ DISTANCE];
      __syncwarp();
      s[t ^ DISTANCE] = 0;
    }"""
    run(text.replace("DISTANCE", "1"), "k", 64, np.zeros(64, "f4")).checked()
    assert kinds(run(text.replace("DISTANCE", "32"), "k", 64, np.zeros(64, "f4"))) == {"race"}
    report = run(text.replace("DISTANCE", "1").replace("__syncwarp();", ""), "k", 64,
                 np.zeros(64, "f4"))  # fmt: skip
    assert kinds(report) == {"race"}


def test_blocks_that_write_one_place_race_in_whatever_order_they_are_run() -> None:
    text = """extern "C" __global__ void k(int* y, int by) {
      y[blockIdx.x * by + threadIdx.x] = 1;
    }"""
    module = load(compile_ptx(text, "sm_80"))
    module.launch("k", 3, 32, 0, [np.zeros(96, "i4"), 32]).checked()
    fault = only(module.launch("k", 3, 32, 0, [np.zeros(96, "i4"), 30]))
    assert fault.kind == "race" and fault.block == (1, 0, 0) and fault.times == 4
    assert "thread 0 writes byte 120 of argument 0, which block 0 of those run wrote" in fault.says


def test_a_block_does_not_read_what_another_writes() -> None:
    text = """extern "C" __global__ void k(volatile int* y) {
      if (blockIdx.x) y[32 + threadIdx.x] = y[threadIdx.x]; else y[threadIdx.x] = 1;
    }"""
    module = load(compile_ptx(text, "sm_80"))
    fault = only(module.launch("k", 2, 32, 0, [np.zeros(64, "i4")]))
    assert fault.kind == "race" and "reads byte 0" in fault.says


# ---- copies


def test_a_copy_may_be_shorter_than_what_it_fills() -> None:
    text = """extern "C" __global__ void k(const char* x, float4* y, int bytes) {
      __shared__ float4 s[32];
      asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;\\n"
                   "cp.async.wait_all;"
                   :: "r"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x])),
                      "l"(x + 16 * threadIdx.x), "r"(threadIdx.x == 31 ? bytes : 16) : "memory");
      y[threadIdx.x] = s[threadIdx.x];
    }"""
    x = np.arange(1, 510, dtype="u2").astype("u1")
    for count in (0, 4, 13):
        y = np.zeros((32, 16), "u1")
        run(text, "k", 32, x, y, count).checked()
        assert np.array_equal(y[31], [*x[496 : 496 + count], *[0] * (16 - count)])
    assert kinds(run(text, "k", 32, x, np.zeros((32, 16), "u1"), 16)) == {"bounds", "unwritten"}


def ring(text: str, copies: str = "late", steps: int = 5) -> tuple[Report, np.ndarray]:
    x, out = RANDOM.normal(size=(steps, 512)).astype("f4"), np.zeros(128, "f4")
    return run(text, "ring", 128, x, out, steps, shared_bytes=6144, copies=copies), out


@pytest.mark.parametrize("copies", ["early", "late"])
@pytest.mark.parametrize(
    ("part", "other"),
    [
        ('asm volatile("cp.async.wait_group 1;" ::: "memory");', ""),
        ("wait_group 1", "wait_group 2"),
        ('    asm volatile("cp.async.commit_group;" ::: "memory");\n    for', "    for"),
    ],
)
def test_a_copy_that_is_not_awaited_is_found(part: str, other: str, copies: str) -> None:
    report, _ = ring(broken(RING, part, other), copies)
    assert "copy" in kinds(report)
    fault = next(each for each in report.faults if each.kind == "copy")
    assert "to which a copy of thread" in fault.says


def test_a_copy_that_is_awaited_by_its_thread_alone_is_a_race() -> None:
    report, _ = ring(broken(RING, "__syncthreads();  // landed"))
    assert "race" in kinds(report)


def test_a_stage_that_is_still_read_must_not_be_filled() -> None:
    report, _ = ring(broken(RING, "128 * ((k + 2) % 3)", "128 * ((k + 1) % 3)"))
    assert kinds(report) & {"race", "copy"}


def test_what_is_not_awaited_lands_in_time_or_not() -> None:
    text = broken(RING, 'asm volatile("cp.async.wait_group 1;" ::: "memory");')
    (_, early), (_, late) = ring(text, "early"), ring(text, "late")
    assert np.isfinite(early).all() and np.isnan(late).any()


# ---- places


def test_an_access_outside_of_an_array_is_found_and_not_made() -> None:
    text = """extern "C" __global__ void k(const float* x, float* y, int by) {
      y[threadIdx.x] = x[(int)threadIdx.x + by];
    }"""
    x, y = np.arange(32, dtype="f4"), np.full(32, -1, "f4")
    fault = only(run(text, "k", 32, x, y, 4))
    assert fault.kind == "bounds" and fault.times == 4 and fault.threads == (28,)
    assert "bytes 128 to 131 of argument 0, which has 128" in fault.says and fault.lines == (2,)
    fault = only(run(text, "k", 32, x, y, -1))
    assert "bytes -4 to -1 of argument 0" in fault.says
    fault = only(run(text, "k", 64, np.zeros(64, "f4"), y, 0))
    assert "of argument 1" in fault.says and fault.times == 32


def test_an_access_outside_of_shared_memory_is_found() -> None:
    text = """extern "C" __global__ void k(float* y) {
      extern __shared__ float s[];
      s[threadIdx.x + 1] = 1;
      __syncthreads();
      y[threadIdx.x] = s[threadIdx.x + 1];
    }"""
    report = run(text, "k", 32, np.zeros(32, "f4"), shared_bytes=128)
    assert [each.kind for each in report.faults] == ["bounds", "bounds"]
    assert "thread 31 accesses bytes 128 to 131 of shared memory, which has 128" in str(
        report.faults[0]
    )
    run(text, "k", 32, np.zeros(32, "f4"), shared_bytes=132).checked()


def test_wide_accesses_have_to_be_aligned() -> None:
    text = """extern "C" __global__ void k(const float* x, float4* y) {
      __shared__ __align__(16) float s[256];
      for (int i = 0; i < 8; ++i) s[8 * threadIdx.x + i] = 0;
      __syncthreads();
      y[threadIdx.x] = *(const float4*)(x + 5 * threadIdx.x);
      y[threadIdx.x] = *(const float4*)(s + 2 * threadIdx.x);
    }"""
    report = run(text, "k", 32, np.zeros(160, "f4"), np.zeros(128, "f4"))
    assert kinds(report) == {"alignment"}
    # The compiler leaves out what is overwritten, or not: what is there is found.
    assert all(each.times in (16, 24) for each in report.faults)


def test_a_row_of_a_matrix_has_to_be_aligned() -> None:
    text = broken(matrix_text("f16", True), "x[16][24], y[16][24]", "x[16][20], y[16][24]")
    a, b, c = (np.zeros(n, kind) for n, kind in ((256, "f2"), (128, "f2"), (128, "f4")))
    report = run(text, "matrix", 32, a, b, c)
    assert kinds(report) == {"alignment"}
    assert "16 bytes of shared memory" in str(report.faults[0])


def test_shared_memory_that_nobody_wrote_is_found_and_is_no_number() -> None:
    text = """extern "C" __global__ void k(float* y) {
      __shared__ float s[64];
      if (threadIdx.x < 60) s[threadIdx.x] = 1;
      __syncthreads();
      y[threadIdx.x] = s[threadIdx.x];
    }"""
    y = np.zeros(64, "f4")
    fault = only(run(text, "k", 64, y))
    assert fault.kind == "unwritten" and fault.threads == (60,) and fault.times == 4
    assert np.isnan(y[60:]).all() and (y[:60] == 1).all()


def test_shared_memory_is_not_that_of_the_block_before() -> None:
    text = """extern "C" __global__ void k(float* y) {
      __shared__ float s[32];
      if (blockIdx.x == 0) s[threadIdx.x] = 1;
      __syncthreads();
      y[threadIdx.x + 32 * blockIdx.x] = s[threadIdx.x];
    }"""
    module = load(compile_ptx(text, "sm_80"))
    fault = only(module.launch("k", 2, 32, 0, [np.zeros(64, "f4")]))
    assert fault.kind == "unwritten" and fault.block == (1, 0, 0)


# ---- threads that are needed and missing


def test_a_barrier_that_not_all_threads_reach_is_found() -> None:
    text = """extern "C" __global__ void k(int* y) {
      if (threadIdx.x >= 40) return;
      __syncthreads();
      y[threadIdx.x] = 1;
    }"""
    fault = only(run(text, "k", 64, np.zeros(64, "i4")))
    assert fault.kind == "barrier" and fault.threads == (0, 40)


def test_threads_of_a_warp_at_different_barriers_are_found() -> None:
    text = """extern "C" __global__ void k(volatile int* y) {
      if (threadIdx.x & 1) { y[threadIdx.x] = 2; asm volatile("bar.sync 0;"); y[0] = 1; }
      else { y[threadIdx.x] = 3; asm volatile("bar.sync 0;"); y[1] = 2; }
    }"""
    assert kinds(run(text, "k", 32, np.zeros(32, "i4"))) == {"barrier"}


def test_a_product_of_half_a_warp_is_found() -> None:
    text = broken(MATRIX, "float s[4] = {1, 1, 1, 1};",
                  "float s[4] = {1, 1, 1, 1}; if (t < 16)")  # fmt: skip
    text = text.replace("TYPE", "half").replace("KIND", "f16").replace("TRANS", ".trans")
    text = text.replace("COLUMNS", "8").replace("COLUMN", "0").replace("ROW", "t % 16")
    a, b, c = (np.zeros(n, kind) for n, kind in ((256, "f2"), (128, "f2"), (128, "f4")))
    fault = only(run(text, "matrix", 32, a, b, c))
    assert fault.kind == "warp" and "16 are missing, such as thread 16" in fault.says


def test_a_value_of_a_lane_that_does_not_take_part_is_found() -> None:
    text = """extern "C" __global__ void k(int* y) {
      int v = threadIdx.x;
      if (v < 16) v = __shfl_xor_sync(0xffff, v, 16);
      y[threadIdx.x] = v;
    }"""
    assert kinds(run(text, "k", 32, np.zeros(32, "i4"))) == {"warp"}


def test_lines_are_those_from_where_a_function_is_called() -> None:
    text = """__device__ __forceinline__ void put(float* s, int at, float v) {
      s[at] = v;
    }
    extern "C" __global__ void k(float* y) {
      __shared__ float s[32];
      put(s, threadIdx.x / 2, 1);
      __syncthreads();
      y[threadIdx.x] = s[threadIdx.x / 2];
    }"""
    assert only(run(text, "k", 32, np.zeros(32, "f4"))).lines == (6, 6)
