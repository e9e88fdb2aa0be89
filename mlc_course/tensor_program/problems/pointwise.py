"""A problem that is nothing but passes over memory: three stages, one operation an element each."""

from __future__ import annotations

import numpy as np

from mlc_course.tensor_program.problems.expressions import elementwise
from mlc_course.tensor_program.problems.workload import Array, Operand, Workload
from mlc_course.tensor_program.tvm_names import te, tirx


def scale_shift_clip(rows: int = 4096, columns: int = 4096) -> Workload:
    """W = max(2 X + 1, 0), in three stages: Y = 2 X, Z = Y + 1, W = max(Z, 0).

    NumPy's side makes the same three passes, the second and third in place.
    """
    operands = (Operand("X", (rows, columns)),)

    def expression() -> list[te.Tensor]:
        two, one, zero = (tirx.const(value, "float32") for value in (2.0, 1.0, 0.0))
        x = te.placeholder((rows, columns), name="X")
        y = te.compute(x.shape, lambda m, n: x[m, n] * two, name="Y", varargs_names=["m", "n"])
        z = elementwise("Z", y, lambda value: value + one)
        return [x, elementwise("W", z, lambda value: te.max(value, zero))]

    def numpy(x: Array, out: Array) -> None:
        np.multiply(x, np.float32(2), out=out)
        np.add(out, np.float32(1), out=out)
        np.maximum(out, np.float32(0), out=out)

    return Workload(
        name="scale_shift_clip",
        sizes={"rows": rows, "columns": columns},
        operands=operands,
        result=Operand("W", (rows, columns)),
        expression=expression,
        numpy=numpy,
        exact=lambda x: np.maximum(2 * x + 1, 0),
        flops=3 * rows * columns,
    )
