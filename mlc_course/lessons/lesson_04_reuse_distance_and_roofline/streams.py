"""Problems that read a long vector once: one operation for each element, and two dozen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlc_course.machine import describe
from mlc_course.tensor_program.problems import FLOAT_BYTES, Array, Operand, Workload
from mlc_course.tensor_program.schedule import lookup, polynomial_exp, steps
from mlc_course.tensor_program.tir import Schedule, te, tirx

LEAST, MOST = 1 << 23, 1 << 25  # elements


def long_vector() -> int:
    """Return a length so that a vector and its result are twice as large as the last cache."""
    here = describe()
    last = max(here.l1d_bytes, here.l2_bytes, here.l3_bytes)
    return min(max(LEAST, last // FLOAT_BYTES), MOST)


def relu(length: int) -> Workload:
    """Y = max(X, 0), element by element."""
    return _pointwise(
        "relu",
        length,
        lambda value: te.max(value, tirx.const(0.0, "float32")),
        lambda x, out: np.maximum(x, np.float32(0), out=out),
        lambda x: np.maximum(x, 0),
    )


def exp(length: int) -> Workload:
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
