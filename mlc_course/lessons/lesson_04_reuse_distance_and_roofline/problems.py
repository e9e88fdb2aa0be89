"""The problems of the lesson: a vector read again, products of one matrix, a transpose.

Their sizes follow from the machine, so that the distances lie between its caches.
"""

from __future__ import annotations

import numpy as np

from mlc_course.machine import Machine, describe
from mlc_course.tensor_program.problems import FLOAT_BYTES, Array, Operand, Workload, placeholders
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import PrimFunc, Schedule, te

VECTORS = 4
MOST_NEAR, MOST_FAR = 4 << 20, 96 << 20
LEAST_FAR = 32 << 20
TILE = 16  # float32 in a line of 64 bytes


def again(length: int, times: int) -> PrimFunc:
    """The sum of X (length), taken ``times`` times over, in a register."""
    x = te.placeholder((length,), "float32", "X")
    t, j = (te.reduce_axis((0, n), name) for n, name in ((times, "t"), (length, "j")))
    summed = te.compute((1,), lambda s: te.sum(x[j], axis=[t, j]), name="S")
    sch = Schedule(te.create_prim_func([x, summed]))
    sch.cache_write(lookup.block(sch, "S"), 0, "local")
    return sch.mod["main"]


def products(matrix_bytes: int, machine: Machine | None = None) -> Workload:
    """Y[t, i] = sum of X[t, k] A[i, k]: four vectors times one matrix A of about this size.

    Rows are short enough for one of A and all of X to fill less than a third of the first cache.
    """
    here = machine or describe()
    depth = max((here.l1d_bytes or 32 << 10) // 64 // 128, 1) * 128
    rows = max(matrix_bytes // (FLOAT_BYTES * depth), 1)
    operands = (Operand("X", (VECTORS, depth)), Operand("A", (rows, depth)))

    def expression() -> list[te.Tensor]:
        x, a = placeholders(operands)
        k = te.reduce_axis((0, depth), name="k")
        y = te.compute((VECTORS, rows), lambda t, i: te.sum(x[t, k] * a[i, k], axis=[k]), name="Y")
        return [x, a, y]

    return Workload(
        name="products",
        sizes={"vectors": VECTORS, "rows": rows, "depth": depth},
        operands=operands,
        result=Operand("Y", (VECTORS, rows)),
        expression=expression,
        numpy=lambda x, a, out: np.matmul(x, a.T, out=out),
        exact=lambda x, a: x @ a.T,
        flops=2 * VECTORS * rows * depth,
    )


def near_products(machine: Machine | None = None) -> Workload:
    """Products of a matrix a quarter larger than the second cache, or of 4 MiB."""
    here = machine or describe()
    second = here.l2_bytes or 512 << 10
    return products(min(second + second // 4, MOST_NEAR), here)


def far_products(machine: Machine | None = None) -> Workload:
    """Products of a matrix one and a half times as large as the last cache, within limits."""
    here = machine or describe()
    last = max(here.l1d_bytes, here.l2_bytes, here.l3_bytes)
    return products(min(max(LEAST_FAR, last + last // 2), MOST_FAR), here)


def vector_by_vector(sch: Schedule) -> None:
    """Multiply A by one vector after the other, in vectors of this machine's width."""
    sums = steps.several_sums(sch, "Y", "k", 4 * describe().lanes)
    *_, k, lane = lookup.loops(sch, sums)
    steps.vectorize(sch, sums, lane)
    steps.hoist_init(sch, sums, k)


def row_by_row(sch: Schedule) -> None:
    """Multiply each row of A by all vectors before the next row."""
    steps.reorder(sch, "Y", "i", "t")
    vector_by_vector(sch)


def transpose(side: int) -> Workload:
    """Y[j, i] = X[i, j] for a square X."""
    operands = (Operand("X", (side, side)),)

    def expression() -> list[te.Tensor]:
        (x,) = placeholders(operands)
        return [x, te.compute((side, side), lambda j, i: x[i, j], name="Y")]

    def numpy(x: Array, out: Array) -> None:
        np.copyto(out, x.T)

    return Workload(
        name="transpose",
        sizes={"side": side},
        operands=operands,
        result=Operand("Y", (side, side)),
        expression=expression,
        numpy=numpy,
        exact=lambda x: x.T,
        flops=0,
    )


def transpose_side(machine: Machine | None = None) -> int:
    """Return a side whose columns have half again as many lines as the first cache.

    It is an odd multiple of 16, so that a column reaches all sets.
    """
    here = machine or describe()
    lines = (here.l1d_bytes or 32 << 10) // (here.line_bytes or 64)
    return TILE * ((lines + lines // 2) // TILE | 1)


def matmul_side(machine: Machine | None = None) -> int:
    """Return a side of square matrices each of which is a little larger than the first cache."""
    here = machine or describe()
    side = ((here.l1d_bytes or 32 << 10) * 1.15 / FLOAT_BYTES) ** 0.5
    return TILE * int(-(-side // TILE))


def by_rows(sch: Schedule) -> None:
    """Read X of a transpose row by row."""
    steps.reorder(sch, "Y", "i", "j")


def in_tiles(sch: Schedule) -> None:
    """Read X of a transpose in tiles of 16 x 16."""
    by_rows(sch)
    steps.tile(sch, "Y", i=TILE, j=TILE)


def in_cubes(sch: Schedule) -> None:
    """Multiply matrices in blocks of 16 x 16 x 16."""
    steps.tile(sch, "C", m=TILE, n=TILE, k=TILE)


def unchanged(sch: Schedule) -> None:
    """Leave the program unchanged."""
