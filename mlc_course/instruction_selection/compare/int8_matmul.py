"""A matmul of bytes with found instructions, beside LLVM and NumPy.

LLVM has it in the loops of the ladder, as they are before the last rung, and in loops that suit it
better: B in another layout, whose rows of columns the schedule makes vectors of.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np

from mlc_course.instruction_selection.compare.comparison import (
    FOUND,
    ROUNDS,
    LoopComparison,
    aligned,
    check_values,
)
from mlc_course.instruction_selection.compare.contestants import NUMPY, WIDE_VECTORS
from mlc_course.instruction_selection.compare.turns import in_turns, python_window, tvm_window
from mlc_course.instruction_selection.insert import (
    int8_matmul,
    int8_rungs,
    packed_bytes,
    target_of,
)
from mlc_course.instruction_selection.isa import CellProgram, Level
from mlc_course.tensor_program.tir import Schedule, read_script, shared_tensor, tvm

SAME_LOOPS, BLAS = "the same loops", f"{NUMPY} float32, BLAS"
ROWS, COLUMNS = 4, (16, 32)  # of a tile of LLVM's; the fastest of these is LLVM's best
TYPES = {"": "int32", "narrow ": "int16"}


def compare_matmul(
    level: Level, program: CellProgram, *, size: int = 512, rounds: int = ROUNDS
) -> LoopComparison:
    """Time u8 x s8 -> s32 of ``size`` cubed with a program for ``insert.INT8_CELL``.

    NumPy has it in int32, and in float32 through BLAS, which is exact while sums stay below 2**24.
    All are checked, and run on one thread. Instructions are not counted: they add up in registers,
    and are not for a number of bytes that is stored.

    Raises:
        SizeError: the size is not whole tiles.
        WrongResult: one of them computes something else.
    """
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (size, size), dtype=np.uint8)
    b = rng.integers(-128, 128, (size, size), dtype=np.int8)
    wanted = a.astype(np.int32) @ b.astype(np.int32)
    windows = {}
    for name, kernel, layout in _programs(level, program, size, b):
        arrays = [aligned(a), aligned(layout), aligned(np.zeros((size, size), np.int32))]
        kernel["main"](*map(shared_tensor, arrays))
        check_values("matmul_u8s8", name, arrays[-1].reshape(-1), wanted.reshape(-1))
        windows[name] = tvm_window(kernel, arrays)
    wide = [each.astype(np.int32) for each in (a, b)]
    single = [each.astype(np.float32) for each in (a, b)]
    windows[f"{NUMPY} int32"] = python_window(lambda: wide[0] @ wide[1])
    windows[BLAS] = python_window(lambda: single[0] @ single[1])
    return LoopComparison(
        spec=f"matmul_u8s8, {size} cubed",
        level=level.name,
        outputs=size * size,
        result_bytes=4,
        timings=MappingProxyType(in_turns(windows, rounds)),
        code=MappingProxyType({}),
    )


def _programs(
    level: Level, program: CellProgram, size: int, b: np.ndarray[Any, np.dtype[np.int8]]
) -> Iterator[tuple[str, Any, np.ndarray[Any, np.dtype[np.int8]]]]:
    """Yield each compiled program, with B in the layout that it reads."""
    targets = {"": target_of(level)}
    if level.width == 512:
        targets[", 512 bits"] = target_of(level, WIDE_VECTORS)
    *_, before, last = int8_rungs(level.name, program)
    sch = Schedule(int8_matmul(size, size, size))
    last.apply(sch)
    yield FOUND, tvm.compile_module(sch.mod, targets[""]), packed_bytes(b)
    sch = Schedule(int8_matmul(size, size, size))
    before.apply(sch)
    for words, target in targets.items():
        yield f"{SAME_LOOPS}{words}", tvm.compile_module(sch.mod, target), packed_bytes(b)
    words, target = list(targets.items())[-1]
    for columns in COLUMNS:
        layout = b.reshape(size, size // columns, columns).transpose(1, 0, 2)
        for prefix, dtype in TYPES.items():
            kernel = tvm.compile_module(_by_columns(size, columns, dtype).mod, target)
            yield f"{prefix}vectors of {columns}{words}", kernel, np.ascontiguousarray(layout)


def _by_columns(size: int, columns: int, dtype: str) -> Schedule:
    """Return the loops in which each row of a panel of B is a vector; products are of ``dtype``."""
    product = (
        f'T.cast(A[vm, vk], "{dtype}") * T.cast(B[vn // {columns}, vk, vn % {columns}], "{dtype}")'
    )
    sum_of = product if dtype == "int32" else f'T.cast({product}, "int32")'
    sch = Schedule(
        read_script(f"""@T.prim_func(s_tir=True)
def main(A: T.Buffer(({size}, {size}), "uint8"),
         B: T.Buffer(({size // columns}, {size}, {columns}), "int8"),
         C: T.Buffer(({size}, {size}), "int32")):
    for m, n, k in T.grid({size}, {size}, {size}):
        with T.sblock("C"):
            vm, vn, vk = T.axis.remap("SSR", [m, n, k])
            with T.init():
                C[vm, vn] = T.int32(0)
            C[vm, vn] = C[vm, vn] + {sum_of}
""")
    )
    m, n, k = sch.get_loops(sch.get_sblock("C"))
    (m_0, m_1), (n_0, n_1) = sch.split(m, [None, ROWS]), sch.split(n, [None, columns])
    sch.reorder(n_0, m_0, k, m_1, n_1)
    sch.vectorize(n_1)
    sch.unroll(m_1)
    sch.decompose_reduction(sch.get_sblock("C"), k)
    return sch
