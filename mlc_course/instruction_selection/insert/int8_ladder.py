"""A matmul of bytes, u8 x s8 -> s32, as a ladder whose last rung puts found instructions in.

B is packed: ``(columns / 16, depth / 4, 16, 4)``, so that the four bytes that a column adds up in
one instruction are neighbours, and so are the columns of a register.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlc_course.errors import SizeError
from mlc_course.instruction_selection.insert.selecting import select
from mlc_course.instruction_selection.isa import CellProgram
from mlc_course.instruction_selection.spec import specification
from mlc_course.tensor_program.ladders import Rung
from mlc_course.tensor_program.schedule import data_steps, hoist_init, lookup, steps, tile
from mlc_course.tensor_program.tir import PrimFunc, Schedule, tvm

COLUMNS, LANES, ROWS = 16, 4, 8  # of a panel of B, of a cell, and of a tile of the result
INT8_CELL = "s32 C, u8*4 A!, s8*4 B -> s32 C: C + A * B"  # what the last rung needs a program for


def int8_matmul(rows: int, columns: int, depth: int) -> PrimFunc:
    """Return the naive program of A (rows, depth), B packed, and C (rows, columns).

    Raises:
        SizeError: the sizes are not whole tiles.
    """
    if rows % ROWS or columns % COLUMNS or depth % LANES or min(rows, columns, depth) < 1:
        raise SizeError(
            "a matmul of bytes in whole tiles",
            expected=f"multiples of {ROWS} rows, {COLUMNS} columns and {LANES} of depth",
            got=f"{rows} x {depth} times {depth} x {columns}",
        )
    panels = f"({columns // COLUMNS}, {depth // LANES}, {COLUMNS}, {LANES})"
    return tvm.read_script(f"""
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({rows}, {depth}), "uint8"), B: T.Buffer({panels}, "int8"),
         C: T.Buffer(({rows}, {columns}), "int32")):
    for m, n, k in T.grid({rows}, {columns}, {depth}):
        with T.sblock("C"):
            vm, vn, vk = T.axis.remap("SSR", [m, n, k])
            with T.init():
                C[vm, vn] = T.int32(0)
            C[vm, vn] = C[vm, vn] + T.cast(A[vm, vk], "int32") * T.cast(
                B[vn // {COLUMNS}, vk // {LANES}, vn % {COLUMNS}, vk % {LANES}], "int32")
""")


def packed_bytes(b: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Return B of shape (depth, columns) in the layout of ``int8_matmul``."""
    depth, columns = b.shape
    panels = b.reshape(depth // LANES, LANES, columns // COLUMNS, COLUMNS)
    return np.ascontiguousarray(panels.transpose(2, 0, 3, 1))


def int8_rungs(level: str, program: CellProgram, width: int | None = None) -> tuple[Rung, ...]:
    """Return the ladder, whose last rung has the instructions of a program for ``INT8_CELL``."""

    def tiles(sch: Schedule) -> None:
        tile(sch, "C", m=ROWS, n=COLUMNS, k=LANES)

    def in_registers(sch: Schedule) -> None:
        tiles(sch)
        writer = data_steps.accumulate_locally(sch, "C", at="n_0")
        # Small buffers of any scope are on the stack; the description of an intrinsic has this one.
        sch.set_scope(lookup.block(sch, "C"), 0, "global")
        hoist_init(sch, "C", "k_0")
        for block in ("C_init", writer):
            *_, rows, columns = lookup.loops(sch, block)
            steps.unroll(sch, block, rows)
            steps.vectorize(sch, block, columns)

    def selected(sch: Schedule) -> None:
        in_registers(sch)
        steps.unroll(sch, "C_update", "m_1")
        spec = specification(INT8_CELL)
        select(sch, "C_update", level=level, program=program, width=width, spec=spec)

    return (
        Rung("naive", "One product at a time, as it is written.", lambda sch: None),
        Rung(
            "tiles",
            f"A tile of {ROWS} rows and {COLUMNS} columns reads each byte of B once for all rows, "
            f"{LANES} of a column together.",
            tiles,
        ),
        Rung(
            "sums in registers",
            f"The {ROWS * COLUMNS} sums of a tile are written to C once, not after each product.",
            in_registers,
        ),
        Rung(
            "selected",
            f"The {LANES} products of a column and their sum are what the instructions compute: "
            f"{program}.",
            selected,
        ),
    )
