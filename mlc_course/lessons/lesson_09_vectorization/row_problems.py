"""Small problems with an operation or two for each element: sums, and elementwise ones.

They differ in what waits for what, which decides whether vectors help.
"""

from __future__ import annotations

import numpy as np

from mlc_course.tensor_program.problems import Array, Operand, Workload
from mlc_course.tensor_program.tir import te, tirx

APART = 16  # elements from one overlapping row to the next: a line of 64 bytes


def row_sums(rows: int = 256, columns: int = 1024) -> Workload:
    """S[m] = the sum of row m of X (rows, columns): every addition waits for the one before."""
    operands = (Operand("X", (rows, columns)),)

    def expression() -> list[te.Tensor]:
        x = te.placeholder((rows, columns), name="X")
        k = te.reduce_axis((0, columns), name="k")
        total = te.compute(
            (rows,), lambda m: te.sum(x[m, k], axis=[k]), name="S", varargs_names=["m"]
        )
        return [x, total]

    return Workload(
        name="row_sums",
        sizes={"rows": rows, "columns": columns},
        operands=operands,
        result=Operand("S", (rows,)),
        expression=expression,
        numpy=lambda x, out: np.sum(x, axis=1, out=out),
        exact=lambda x: x.sum(axis=1),
        flops=rows * columns,
    )


def row_dots(rows: int = 64, columns: int = 1024) -> Workload:
    """S[m] = row m of X (rows, columns) times w (columns): a matrix times a vector."""
    operands = (Operand("X", (rows, columns)), Operand("w", (columns,)))

    def expression() -> list[te.Tensor]:
        x, w = (te.placeholder(each.shape, name=each.name) for each in operands)
        k = te.reduce_axis((0, columns), name="k")
        total = te.compute(
            (rows,), lambda m: te.sum(x[m, k] * w[k], axis=[k]), name="S", varargs_names=["m"]
        )
        return [x, w, total]

    return Workload(
        name="row_dots",
        sizes={"rows": rows, "columns": columns},
        operands=operands,
        result=Operand("S", (rows,)),
        expression=expression,
        numpy=lambda x, w, out: np.matmul(x, w, out=out),
        exact=lambda x, w: x @ w,
        flops=2 * rows * columns,
    )


def weighted_columns(rows: int = 256, columns: int = 80) -> Workload:
    """S[j] = w (rows) times column j of X (rows, columns): a vector times a matrix."""
    operands = (Operand("w", (rows,)), Operand("X", (rows, columns)))

    def expression() -> list[te.Tensor]:
        w, x = (te.placeholder(each.shape, name=each.name) for each in operands)
        k = te.reduce_axis((0, rows), name="k")
        total = te.compute(
            (columns,), lambda j: te.sum(w[k] * x[k, j], axis=[k]), name="S", varargs_names=["j"]
        )
        return [w, x, total]

    return Workload(
        name="weighted_columns",
        sizes={"rows": rows, "columns": columns},
        operands=operands,
        result=Operand("S", (columns,)),
        expression=expression,
        numpy=lambda w, x, out: np.matmul(w, x, out=out),
        exact=lambda w, x: w @ x,
        flops=2 * rows * columns,
    )


def add_one(rows: int = 256, columns: int = 1024) -> Workload:
    """Y = X + 1, with X (rows, columns): no addition waits for another."""
    operands = (Operand("X", (rows, columns)),)

    def expression() -> list[te.Tensor]:
        x, one = te.placeholder((rows, columns), name="X"), tirx.const(1.0, "float32")
        y = te.compute(x.shape, lambda m, n: x[m, n] + one, name="Y", varargs_names=["m", "n"])
        return [x, y]

    def numpy(x: Array, out: Array) -> None:
        np.add(x, np.float32(1), out=out)

    return Workload(
        name="add_one",
        sizes={"rows": rows, "columns": columns},
        operands=operands,
        result=Operand("Y", (rows, columns)),
        expression=expression,
        numpy=numpy,
        exact=lambda x: x + 1,
        flops=rows * columns,
    )


def overlapping_sums(rows: int = 64, columns: int = 4096) -> Workload:
    """S[m] = X[16 m] + X[16 m + 1] + ..., ``columns`` terms: rows that overlap.

    With the default sizes all of X is 20 KiB, so that many long rows are summed from a first-level
    cache, and memory plays no part.
    """
    length = APART * (rows - 1) + columns
    operands = (Operand("X", (length,)),)

    def expression() -> list[te.Tensor]:
        x = te.placeholder((length,), name="X")
        k = te.reduce_axis((0, columns), name="k")
        total = te.compute(
            (rows,), lambda m: te.sum(x[m * APART + k], axis=[k]), name="S", varargs_names=["m"]
        )
        return [x, total]

    def windows(x: Array) -> Array:
        return np.lib.stride_tricks.sliding_window_view(x, columns)[::APART]

    return Workload(
        name="overlapping_sums",
        sizes={"rows": rows, "columns": columns},
        operands=operands,
        result=Operand("S", (rows,)),
        expression=expression,
        numpy=lambda x, out: np.sum(windows(x), axis=1, out=out),
        exact=lambda x: windows(x).sum(axis=1),
        flops=rows * columns,
    )


def exponentials(rows: int = 64, columns: int = 256) -> Workload:
    """Y = exp(X), with X (rows, columns): elementwise, but no instruction computes an exp."""
    operands = (Operand("X", (rows, columns)),)

    def expression() -> list[te.Tensor]:
        x = te.placeholder((rows, columns), name="X")
        y = te.compute(x.shape, lambda m, n: te.exp(x[m, n]), name="Y", varargs_names=["m", "n"])
        return [x, y]

    return Workload(
        name="exponentials",
        sizes={"rows": rows, "columns": columns},
        operands=operands,
        result=Operand("Y", (rows, columns)),
        expression=expression,
        numpy=lambda x, out: np.exp(x, out=out),
        exact=lambda x: np.exp(x),
        flops=rows * columns,
    )
