"""Problems that read long vectors once: almost no arithmetic for each byte, and some."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlc_course.machine import describe
from mlc_course.tensor_program.problems import Array, Operand, Workload, placeholders
from mlc_course.tensor_program.schedule import lookup, polynomial_exp, steps
from mlc_course.tensor_program.tir import Schedule, te, tirx

LENGTH = 1 << 23


def dot(length: int = LENGTH) -> Workload:
    """D = sum of X[k] Y[k]; its schedule is ``dot_in_vectors``."""
    operands = (Operand("X", (length,)), Operand("Y", (length,)))

    def expression() -> list[te.Tensor]:
        x, y = placeholders(operands)
        k = te.reduce_axis((0, length), name="k")
        return [x, y, te.compute((1,), lambda d: te.sum(x[k] * y[k], axis=[k]), name="D")]

    def numpy(x: Array, y: Array, out: Array) -> None:
        out[0] = np.dot(x, y)

    return Workload(
        name="dot",
        sizes={"length": length},
        operands=operands,
        result=Operand("D", (1,)),
        expression=expression,
        numpy=numpy,
        exact=lambda x, y: np.array([x @ y]),
        flops=2 * length,
        tolerance=1e-2,  # millions of terms of either sign nearly cancel; the rounding stays
    )


def relu(length: int = LENGTH) -> Workload:
    """Y = max(X, 0), element by element."""
    return _pointwise(
        "relu",
        length,
        lambda value: te.max(value, tirx.const(0.0, "float32")),
        lambda x, out: np.maximum(x, np.float32(0), out=out),
        lambda x: np.maximum(x, 0),
    )


def exp(length: int = LENGTH) -> Workload:
    """Y = exp(X), element by element."""
    return _pointwise("exp", length, te.exp, lambda x, out: np.exp(x, out=out), np.exp)


def _pointwise(
    name: str,
    length: int,
    function: Callable[..., object],
    numpy: Callable[..., object],
    exact: Callable[..., Array],
) -> Workload:
    operands = (Operand("X", (length,)),)

    def expression() -> list[te.Tensor]:
        x = te.placeholder((length,), name="X")
        return [x, te.compute(x.shape, lambda i: function(x[i]), name="Y")]

    return Workload(
        name=name,
        sizes={"length": length},
        operands=operands,
        result=Operand("Y", (length,)),
        expression=expression,
        numpy=numpy,
        exact=exact,
        flops=length,
    )


def in_vectors(sch: Schedule) -> None:
    """Y in vectors of this machine's width; an exp without calls."""
    if lookup.is_exp(sch, "Y"):
        polynomial_exp(sch, "Y")
    steps.split(sch, "Y", "i", describe().lanes)
    steps.vectorize(sch, "Y", "i_1")


def dot_in_vectors(sch: Schedule) -> None:
    """D by sums side by side that fill four vectors, as one sum waits for itself."""
    lanes = steps.several_sums(sch, "D", "k", 4 * describe().lanes)
    *_, k, lane = lookup.loops(sch, lanes)
    steps.vectorize(sch, lanes, lane)
    steps.hoist_init(sch, lanes, k)
