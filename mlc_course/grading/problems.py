"""Problems of an exercise's own: shapes, and NumPy that says what to compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mlc_course.tensor_program.problems.workload import Array, Operand, Workload
from mlc_course.tensor_program.tvm_names import te, tirx

Shape = tuple[int, ...]


def problem(
    name: str,
    *,
    inputs: Mapping[str, Shape],
    result: tuple[str, Shape],
    exact: Callable[..., Array],
) -> Workload:
    """A problem for a program that the student writes: float32 inputs, one float32 result.

    ``exact(*inputs)`` computes the result from float64 inputs. There is no program to begin with:
    the one that this problem has writes zeros, and only its buffers count.
    """
    operands = tuple(Operand(each, shape) for each, shape in inputs.items())
    written = Operand(*result)

    def expression() -> list[te.Tensor]:
        read = [te.placeholder(each.shape, "float32", each.name) for each in operands]
        zero = tirx.const(0.0, "float32")
        return [*read, te.compute(written.shape, lambda *at: zero, name=written.name)]

    def numpy(*arrays: Array) -> None:
        *read, out = arrays
        out[...] = exact(*read)

    return Workload(
        name=name,
        sizes={},
        operands=operands,
        result=written,
        expression=expression,
        numpy=numpy,
        exact=exact,
        flops=int(np.prod(written.shape)),
    )
