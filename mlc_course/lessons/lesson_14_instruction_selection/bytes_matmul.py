"""A product of matrices of bytes: as LLVM compiles it, and with the instructions of a program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from IPython.display import HTML

from mlc_course import measure
from mlc_course.drawing import NUMPY
from mlc_course.errors import WrongResult
from mlc_course.instruction_selection.insert import processor_has, target_of
from mlc_course.instruction_selection.isa import level_of
from mlc_course.lessons.kit import Bar, bars_svg, shown
from mlc_course.lessons.lesson_14_instruction_selection.recorded import recorded
from mlc_course.machine import describe
from mlc_course.tensor_program.tir import IRModule, PrimFunc, Schedule, T, tvm
from mlc_course.units import milliseconds

SIZE = 256
SECONDS = 1.5
LLVM, OURS = "LLVM", "our program"
Row = tuple[str, float, tuple[float, float, float]]  # name, seconds, speed in units of NumPy's


def in_bytes(size: int = SIZE) -> PrimFunc:
    """Return ``C += A B`` in TensorIR: u8 by s8 into s32, with four rows of B side by side."""

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(  # type: ignore[no-untyped-def]
        A: T.Buffer((size, size), "uint8"),  # type: ignore[valid-type]
        B: T.Buffer((size // 4, size, 4), "int8"),  # type: ignore[valid-type]
        C: T.Buffer((size, size), "int32"),  # type: ignore[valid-type]
    ):
        for m, k, n, i in T.grid(size, size // 4, size, 4):
            with T.sblock("C"):
                vm, vk, vn, vi = T.axis.remap("SRSR", [m, k, n, i])
                C[vm, vn] = C[vm, vn] + T.Cast("int32", A[vm, vk * 4 + vi]) * T.Cast(
                    "int32", B[vk, vn, vi]
                )

    made: PrimFunc = main
    return made


def matmul_schedule(size: int = SIZE) -> Schedule:
    """Return a schedule of ``in_bytes``, whose block is C."""
    return Schedule(IRModule({"main": in_bytes(size)}))


def matmul_race(sch: Schedule, level: str = "avx2") -> HTML:
    """Race a schedule of ``in_bytes`` against LLVM's program for it and NumPy's float32 product.

    On a machine without the level, show the recording. The product of such small numbers is exact
    in float32, so all three compute the same.

    Raises:
        WrongResult: one of them computes something else.
    """
    if not processor_has(level):
        held = recorded("matmul_race")
        rows: list[Row] = [
            (name, at, (low, mid, high)) for name, at, (low, mid, high) in held["rows"]
        ]
        return _drawn(rows, held["numpy_s"], f", recorded on {held['machine']}, {held['date']}")
    rows, numpy_s = raced(sch, level)
    return _drawn(rows, numpy_s, "")


def raced(sch: Schedule, level: str) -> tuple[list[Row], float]:
    """Return what the race on this machine gives, and NumPy's seconds."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (SIZE, SIZE)).astype(np.uint8)
    b = rng.integers(-128, 128, (SIZE // 4, SIZE, 4)).astype(np.int8)
    flat = b.transpose(0, 2, 1).reshape(SIZE, SIZE)
    wanted = a.astype(np.int64) @ flat.astype(np.int64)
    floats = a.astype(np.float32), flat.astype(np.float32)
    out = np.empty((SIZE, SIZE), np.float32)
    calls: dict[str, Callable[[], object]] = {}
    for name, each in ((LLVM, matmul_schedule()), (OURS, sch)):
        entry = tvm.compile_module(each.mod, target_of(level_of(level)))["main"]
        tensors = [tvm.tensor(x) for x in (a, b, np.zeros((SIZE, SIZE), np.int32))]
        calls[name] = partial(entry, *tensors)
        calls[name]()
        if not np.array_equal(tensors[2].numpy(), wanted):
            raise WrongResult(f"{name} computes another product", expected="A B", got="other sums")
    numpy = "NumPy", lambda: np.matmul(*floats, out=out)
    found = measure.compare(calls, numpy, budget_s=SECONDS, tight=0)
    rows = [
        (name, x.timing.median_s, (x.ratio_iqr[0], x.ratio, x.ratio_iqr[1]))
        for name, x in found.items()
    ]
    return rows, next(iter(found.values())).baseline.median_s


def record_matmul(sch: Schedule, level: str, date: str) -> dict[str, object]:
    """Return what ``matmul_race`` shows on machines without the level."""
    rows, numpy_s = raced(sch, level)
    return {"rows": rows, "numpy_s": numpy_s, "machine": str(describe()), "date": date}


def _drawn(rows: list[Row], numpy_s: float, where: str) -> HTML:
    slowest = rows[0][1]
    bars = [
        Bar(
            name,
            mid,
            f"{mid:.2f} x NumPy, {slowest / seconds:.1f} x LLVM, {milliseconds(seconds)}",
            (low, high),
        )
        for name, seconds, (low, mid, high) in rows
    ]
    title = f"{SIZE} cubed, one thread; NumPy in float32 {milliseconds(numpy_s)}{where}"
    drawn = bars_svg(title, bars, axis="speed, NumPy's is 1", mark=(1.0, "NumPy", NUMPY))
    return shown(drawn)
