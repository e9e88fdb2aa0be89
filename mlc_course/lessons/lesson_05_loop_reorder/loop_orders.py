"""The six orders of a matrix product's loops, and what each visits and misses on a tiny cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import check_known
from mlc_course.lessons.kit import accesses
from mlc_course.machine import Machine, describe
from mlc_course.tensor_program.legality import Run
from mlc_course.tensor_program.memory import count, levels
from mlc_course.tensor_program.problems import Array, Operand, Workload
from mlc_course.tensor_program.processor import assembly
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule, te
from mlc_course.tensor_program.tir import accesses as accesses_of
from mlc_course.words import tr

ORDERS = tuple("-".join(each) for each in permutations("mnk"))  # m-n-k is the naive one
LAYOUTS = {  # the indices of A and of B, in the order in which they are stored
    "as they are": ("mk", "kn"),
    "A transposed": ("km", "kn"),
    "B transposed": ("mk", "nk"),
}
SIDE = 8  # of the matrices
LINE = 4  # elements
LINES = 8  # of the cache, each of which may hold any line of memory
BUFFERS = ("A", "B", "C")


def in_order(order: str) -> Callable[[Schedule], None]:
    """The schedule of one of the ``ORDERS``; raises ``UsageError`` for another text."""
    check_known("no such order", order, ORDERS)
    return lambda sch: steps.reorder(sch, "C", *order.split("-"))


def product(M: int, K: int, N: int, layout: str = "as they are") -> Workload:
    """C (M, N) = A B, where A or B may be stored transposed; its block is C.

    Raises ``UsageError`` for a layout that is none of ``LAYOUTS``, ``SizeError`` for a size below
    one.
    """
    check_known("no such layout", layout, LAYOUTS)
    at_a, at_b = LAYOUTS[layout]
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


def fitting(machine: Machine) -> int:
    """The side of three square matrices that leave an eighth of the first cache free."""
    elements = (machine.l1d_bytes or 32 * 1024) * 7 // 8 // 4
    return max(16, int((elements / 3) ** 0.5) // 16 * 16)


# --- what is counted ------------------------------------------------------------------------------


def misses(problem: Workload, schedule: Callable[[Schedule], None]) -> int:
    """The misses of a scheduled problem in this machine's first cache."""
    sch = Schedule(problem.program())
    schedule(sch)
    return count(sch, levels(describe())[0])[0].misses


def jumps(problem: Workload, order: str, per_line: int) -> int:
    """The operands in which a step of the inner loop always leads to another line."""
    touched = [each for each in accesses_of(problem.program()) if each.block == "C"]
    inner = order[-1]
    strides = {
        each.buffer: by
        for each in touched
        for loop, by in zip(each.loops, each.strides, strict=True)
        if loop.name == inner
    }
    return sum(by is None or abs(by) >= per_line for by in strides.values())


def hot_loop(problem: Workload, schedule: Callable[[Schedule], None]) -> tuple[int, float]:
    """The float32 that one instruction of the hot loop works on, and loads per multiply-add."""
    sch = Schedule(problem.program())
    schedule(sch)
    found = assembly(sch)
    # without fused multiply-adds, a product and a sum are two instructions
    does = found.multiply_adds or found.histogram()["arithmetic"] / 2
    return found.lanes, found.loads / does


# --- what an order visits -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Visits:
    """The iterations of a product of ``SIDE`` x ``SIDE`` matrices in one of the ``ORDERS``.

    ``elements[t, b]`` is the row and the column of ``BUFFERS[b]`` that iteration t touches, and
    ``missed[t, b]`` whether its line was fetched for that; ``held[t]`` are the lines, as numbers
    over all three matrices, that the cache holds after t iterations.
    """

    order: str
    points: NDArray[np.int64]
    elements: NDArray[np.int64]
    missed: NDArray[np.bool_]
    held: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def misses(self) -> dict[str, int]:
        """The misses of each matrix."""
        return self.misses_until(len(self))

    def misses_until(self, step: int) -> dict[str, int]:
        """The misses of each matrix in the first ``step`` iterations."""
        counts = self.missed[:step].sum(axis=0)
        return {name: int(count) for name, count in zip(BUFFERS, counts, strict=True)}

    def said(self, step: int) -> str:
        """A sentence about the last of the first ``step`` iterations."""
        if step == 0:
            return tr(
                "{order}: an empty cache; {count} iterations to come.",
                order=self.order,
                count=len(self),
            )
        values = zip("mnk", self.points[step - 1], strict=True)
        where = ", ".join(f"{name} = {value}" for name, value in values)
        fetched = [n for n, m in zip(BUFFERS, self.missed[step - 1], strict=True) if m]
        return tr(
            "{order}, iteration {step} of {count} ({where}): {what}. {misses} misses.",
            order=self.order,
            step=step,
            count=len(self),
            where=where,
            what=_fetched_said(fetched),
            misses=sum(self.misses_until(step).values()),
        )


def _fetched_said(matrices: list[str]) -> str:
    match matrices:
        case []:
            return tr("all lines are here")
        case [one]:
            return tr("fetches a line of {one}", one=one)
        case [one, other]:
            return tr("fetches a line of {one} and of {other}", one=one, other=other)
    one, other, third = matrices
    return tr(
        "fetches a line of {one} and of {other} and of {third}", one=one, other=other, third=third
    )


def visits(order: str) -> Visits:
    """Run the product in this order, without its init; raises ``UsageError`` for another text."""
    sch = Schedule(product(SIDE, SIDE, SIDE).program())
    in_order(order)(sch)
    run = Run(sch)
    (part,) = (i for i, each in enumerate(run.parts) if each.statement.block == "C")
    each = run.parts[part]
    by_time = np.argsort(each.times)
    names = [str(loop.var.name) for loop in each.statement.loops]
    points = each.points[by_time][:, [names.index(name) for name in "mnk"]]
    buffers = [str(touch.buffer.name) for touch in each.touches]
    flat = each.elements[by_time][:, [buffers.index(name) for name in BUFFERS]]
    missed, held = _cached(flat)
    return Visits(order, points, np.stack(np.divmod(flat, SIDE), axis=-1), missed, held)


def _cached(flat: NDArray[np.int64]) -> tuple[NDArray[np.bool_], tuple[tuple[int, ...], ...]]:
    """Count misses in an LRU cache; each iteration reads C, A and B, and then writes C."""
    lines = flat // LINE + np.arange(len(BUFFERS)) * (SIDE * SIDE // LINE)
    order = [2, 0, 1, 2]
    missed = np.zeros(lines.shape, np.bool_)
    held: list[tuple[int, ...]] = [()]
    found = list(accesses(lines[:, order].reshape(-1).tolist(), sets=1, ways=LINES))
    for t in range(len(lines)):
        here = found[len(order) * t : len(order) * (t + 1)]
        for matrix, each in zip(order, here, strict=True):
            missed[t, matrix] |= not each.hit
        held.append(tuple(sorted(line for line in here[-1].held if line is not None)))
    return missed, tuple(held)
