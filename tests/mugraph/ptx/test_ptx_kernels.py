"""CUDA kernels written by hand, compiled to PTX and run: loops, branches, barriers, matrices."""

from __future__ import annotations

import sys
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from cuda_kernels import RING, SUMS, TILED, matrix_text

from mlc_course.errors import SizeError, UsageError, WrongResult
from mlc_course.mugraph.cuda import compile_ptx
from mlc_course.mugraph.ptx import Module, load

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="NVIDIA has no compiler for macOS")
ORDERS = ("together", "ascending", "descending", 7)
RANDOM = np.random.default_rng(0)


def module_of(text: str, arch: str = "sm_80") -> Module:
    return load(compile_ptx(text, arch))


def normal(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype("f4")


def near(got: np.ndarray, expected: np.ndarray, tolerance: float = 1e-5) -> bool:
    return bool(np.abs(got - expected).max() <= tolerance * np.abs(expected).max())


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_last_block_may_be_short(arch: str) -> None:
    module = module_of(
        """extern "C" __global__ void scaled(const float* x, float* y, float a, int n) {
          const int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) y[i] = a * x[i] + y[i];
        }""",
        arch,
    )
    x, y = normal(1000), normal(1000)
    before = y.copy()
    module.launch("scaled", 4, 256, 0, {"x": x, "y": y, "a": 2.5, "n": 1000}).checked()
    assert near(y, 2.5 * x.astype("f8") + before)


@pytest.mark.parametrize("order", ORDERS)
def test_sums_go_by_halves_through_shared_memory(order: str) -> None:
    x, out = normal(3, 1000), np.zeros(3, "f4")
    module_of(SUMS).launch("sums", 3, 128, 0, [x, out, 1000], order=order).checked()
    assert near(out, x.sum(axis=1, dtype="f8"))


def test_only_some_blocks_may_be_run() -> None:
    x, out = normal(3, 1000), np.zeros(3, "f4")
    module_of(SUMS).launch("sums", 3, 128, 0, [x, out, 1000], blocks=[(1, 0, 0)]).checked()
    assert out[0] == out[2] == 0 and near(out[1:2], x[1:2].sum(axis=1, dtype="f8"))


@pytest.mark.parametrize("order", ORDERS)
def test_matrices_are_multiplied_tile_by_tile(order: str) -> None:
    a, b, c = normal(48, 48), normal(48, 48), np.zeros((48, 48), "f4")
    module_of(TILED).launch("tiled", (3, 3), (16, 16), 0, [a, b, c, 48], order=order).checked()
    assert near(c, a.astype("f8") @ b.astype("f8"))


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
@pytest.mark.parametrize("copies", ["early", "late"])
def test_copies_run_ahead_in_a_ring(steps: int, copies: str) -> None:
    x, out = normal(steps, 512), np.zeros(128, "f4")
    module = module_of(RING)
    for order in ORDERS:
        module.launch(
            "ring", 1, 128, 3 * 2048, [x, out, steps], order=order, copies=copies
        ).checked()
        weights = np.arange(1, steps + 1)[:, None]
        backwards = (weights * x[:, ::-1].astype("f8")).sum(axis=0).reshape(128, 4).sum(axis=1)
        assert near(out, backwards)


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_a_warp_multiplies_matrices(kind: str, by_rows: bool) -> None:
    of = np.float16 if kind == "f16" else ml_dtypes.bfloat16
    a, b = normal(16, 16).astype(of), normal(16, 8).astype(of)
    given = np.ascontiguousarray(b if by_rows else b.T)
    c = np.zeros((16, 8), "f4")
    module_of(matrix_text(kind, by_rows)).launch("matrix", 1, 32, 0, [a, given, c]).checked()
    assert near(c, 1 + a.astype("f8") @ b.astype("f8"), 1e-6)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("x[t % 16][t / 16 * 8]", "x[t / 16 * 8 + t % 8][t / 8 % 2 * 8]"),  # a1 and a2 exchanged
        ("y[t % 16][0]", "y[(t + 8) % 16][0]"),  # b0 and b1 exchanged
        ("x2.trans", "x2"),
        ('"r"(p[1]), "r"(p[2])', '"r"(p[2]), "r"(p[1])'),
        ("t / 4 + i / 2 * 8", "t / 4 + i % 2 * 8"),
        ("t % 4 * 2 + i % 2", "t % 4 * 2 + i / 2"),
    ],
)
def test_another_layout_of_fragments_gives_other_values(right: str, wrong: str) -> None:
    text = matrix_text("f16", by_rows=True)
    assert right in text
    a, b = normal(16, 16).astype("f2"), normal(16, 8).astype("f2")
    c = np.zeros((16, 8), "f4")
    module_of(text.replace(right, wrong)).launch("matrix", 1, 32, 0, [a, b, c])
    assert not near(c, 1 + a.astype("f8") @ b.astype("f8"), 1e-2)


BRANCHES: list[tuple[str, Callable[[int], int]]] = [
    ("int n = t, c = 0; while (n > 1) { n = n % 2 ? 3 * n + 1 : n / 2; ++c; } y[t] = c;",
     lambda t: collatz(t)),
    ("int c = 0; for (int i = 0; i < t; ++i) { if (i % 3 == 0) continue; if (i > 40) break;"
     " c += i; } y[t] = c;",
     lambda t: sum(i for i in range(min(t, 41)) if i % 3)),
    ("if (t & 1) { if (t & 2) y[t] = 3; else { y[t] = 1; return; } } else y[t] = t; y[t] += 100;",
     lambda t: (103 if t & 2 else 1) if t & 1 else t + 100),
    ("switch (t % 5) { case 0: y[t] = 7; break; case 1: y[t] = t; break; case 3: y[t] = -t; break;"
     " default: y[t] = t * t; }",
     lambda t: {0: 7, 1: t, 3: -t}.get(t % 5, t * t)),
]  # fmt: skip


def collatz(t: int) -> int:
    count = 0
    while t > 1:
        t, count = (3 * t + 1 if t % 2 else t // 2), count + 1
    return count


@pytest.mark.parametrize("case", range(len(BRANCHES)))
def test_threads_part_and_meet_again(case: int) -> None:
    body, expected = BRANCHES[case]
    text = f'extern "C" __global__ void k(int* y) {{ const int t = threadIdx.x; {body} }}'
    for order in ORDERS:
        y = np.zeros(96, "i4")
        module_of(text).launch("k", 1, 96, 0, [y], order=order).checked()
        assert y.tolist() == [expected(t) for t in range(96)]


def test_lanes_exchange_values() -> None:
    text = """extern "C" __global__ void k(const float* x, float* y) {
      float v = x[threadIdx.x];
      for (int n = 16; n; n /= 2) v += __shfl_xor_sync(~0u, v, n);
      float up = __shfl_up_sync(~0u, x[threadIdx.x], 3, 8);
      y[threadIdx.x] = v + 1000 * up;
    }"""
    x = np.arange(64, dtype="f4")
    y = np.zeros(64, "f4")
    module_of(text).launch("k", 1, 64, 0, [x, y]).checked()
    lane = np.arange(64)
    up = np.where(lane % 8 < 3, lane, lane - 3)
    assert np.array_equal(y, x.reshape(2, 32).sum(axis=1).repeat(32) + 1000 * up)


def test_a_thread_has_memory_of_its_own() -> None:
    text = """extern "C" __global__ void k(const int* x, int* y) {
      int held[8];
      for (int i = 0; i < 8; ++i) held[x[8 * threadIdx.x + i]] = i;
      int s = 0;
      for (int i = 0; i < 8; ++i) s = 10 * s + held[i];
      y[threadIdx.x] = s;
    }"""
    x = np.stack([RANDOM.permutation(8) for _ in range(32)]).astype("i4")
    y = np.zeros(32, "i4")
    module_of(text).launch("k", 1, 32, 0, [x, y]).checked()
    expected = [int("".join(map(str, np.argsort(row)))) for row in x]
    assert y.tolist() == expected


def test_functions_of_the_runtime_are_as_exact_as_it_says() -> None:
    text = """extern "C" __global__ void k(const float* x, float* y) {
      const int t = threadIdx.x;
      y[t] = expf(x[t]); y[256 + t] = logf(fabsf(x[t])); y[512 + t] = sqrtf(fabsf(x[t]));
      y[768 + t] = 1 / x[t]; y[1024 + t] = fmaxf(x[t], 0.5f); y[1280 + t] = tanhf(x[t]);
    }"""
    x, y = 5 * normal(256), np.zeros((6, 256), "f4")
    module_of(text).launch("k", 1, 256, 0, [x, y]).checked()
    wide = x.astype("f8")
    size = np.abs(wide)
    wanted = [np.exp(wide), np.log(size), np.sqrt(size), 1 / wide, np.maximum(wide, 0.5),
              np.tanh(wide)]  # fmt: skip
    for got, expected in zip(y, wanted, strict=True):
        units = np.spacing(np.abs(expected).astype("f4"))
        assert (np.abs(got - expected) <= 2 * units).all()


# ---- launches that cannot be


def test_a_loop_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlc_course.mugraph.ptx.execution.MOST_TURNS", 1000)
    text = """extern "C" __global__ void k(volatile int* y) { while (y[0] == 0) {} }"""
    with pytest.raises(WrongResult, match="does not end"):
        module_of(text).launch("k", 1, 32, 0, [np.zeros(1, "i4")])


def test_launches_that_a_gpu_refuses_are_refused() -> None:
    module = module_of(SUMS)
    x, out = normal(128), np.zeros(1, "f4")
    with pytest.raises(SizeError, match="threads"):
        module.launch("sums", 1, 2048, 0, [x, out, 128])
    with pytest.raises(SizeError, match="shared memory"):
        module.launch("sums", 1, 128, 228 * 1024, [x, out, 128])
    with pytest.raises(SizeError, match="a launch"):
        module.launch("sums", 0, 128, 0, [x, out, 128])
    with pytest.raises(UsageError, match="arguments"):
        module.launch("sums", 1, 128, 0, [x, out])
    with pytest.raises(UsageError, match="no kernel"):
        module.launch("summs", 1, 128, 0, [x, out, 128])
    with pytest.raises(UsageError, match="no such block"):
        module.launch("sums", 1, 128, 0, [x, out, 128], blocks=[(1, 0, 0)])
    with pytest.raises(UsageError, match="contiguous"):
        module.launch("sums", 1, 128, 0, [normal(256)[::2], out, 128])
