"""The six orders of a matrix product's loops, and products whose operands stand transposed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np

from mlc_course.errors import UsageError
from mlc_course.tensor_program import steps
from mlc_course.tensor_program.problems.workload import Array, Operand, Workload
from mlc_course.tensor_program.tvm_names import Schedule, te

ORDERS = tuple("-".join(each) for each in permutations("mnk"))  # m-n-k is the naive one
LAYOUTS = {  # the indices of A and of B, in the order in which they stand in memory
    "as they are": ("mk", "kn"),
    "A transposed": ("km", "kn"),
    "B transposed": ("mk", "nk"),
}


def in_order(order: str) -> Callable[[Schedule], None]:
    """The schedule of one of the ``ORDERS``; raises ``UsageError`` for another text."""
    check_order(order)
    return lambda sch: steps.reorder(sch, "C", *order.split("-"))


def check_order(order: str) -> None:
    """Raises ``UsageError`` for what is none of the ``ORDERS``."""
    if order not in ORDERS:
        raise UsageError("no such order", expected=" | ".join(ORDERS), got=order)


def product(M: int, K: int, N: int, layout: str = "as they are") -> Workload:
    """C (M, N) = A B, where A or B may stand transposed in memory; its block is C.

    Raises ``UsageError`` for a layout that is none of ``LAYOUTS``, ``SizeError`` for a size below
    one.
    """
    at_a, at_b = _indices(layout)
    size = {"m": M, "k": K, "n": N}
    a, b = (Operand(name, (size[at[0]], size[at[1]])) for name, at in (("A", at_a), ("B", at_b)))

    def expression() -> list[te.Tensor]:
        left, right = (te.placeholder(each.shape, name=each.name) for each in (a, b))
        k = te.reduce_axis((0, K), name="k")

        def element(m: te.Var, n: te.Var) -> te.Tensor:
            at = {"m": m, "n": n, "k": k}
            return te.sum(left[*(at[i] for i in at_a)] * right[*(at[i] for i in at_b)], axis=[k])

        c = te.compute((M, N), element, name="C", varargs_names=["m", "n"])
        return [left, right, c]

    def upright(a: Array, b: Array) -> tuple[Array, Array]:
        return (a if at_a == "mk" else a.T), (b if at_b == "kn" else b.T)

    return Workload(
        name="matmul" if layout == "as they are" else f"matmul, {layout}",
        sizes={"M": M, "K": K, "N": N},
        operands=(a, b),
        result=Operand("C", (M, N)),
        expression=expression,
        numpy=lambda a, b, out: np.matmul(*upright(a, b), out=out),
        exact=lambda a, b: np.matmul(*upright(a, b)),
        flops=2 * M * K * N,
    )


def _indices(layout: str) -> tuple[str, str]:
    if layout not in LAYOUTS:
        raise UsageError("no such layout", expected=" | ".join(LAYOUTS), got=layout)
    return LAYOUTS[layout]
