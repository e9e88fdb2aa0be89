"""A small loop nest on a tiny cache, iteration by iteration: which elements, and which misses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlc_course.tensor_program import steps
from mlc_course.tensor_program.legality.runs import Run
from mlc_course.tensor_program.orders import check_order, product
from mlc_course.tensor_program.tvm_names import Schedule

SIDE = 8  # of the matrices
LINE = 4  # elements
LINES = 8  # of the cache, each of which may hold any line of memory
BUFFERS = ("A", "B", "C")


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
        """Of each matrix."""
        return self.misses_until(len(self))

    def misses_until(self, step: int) -> dict[str, int]:
        """Of each matrix, in the first ``step`` iterations."""
        counts = self.missed[:step].sum(axis=0)
        return {name: int(count) for name, count in zip(BUFFERS, counts, strict=True)}

    def said(self, step: int) -> str:
        """A sentence about the last of the first ``step`` iterations."""
        if step == 0:
            return f"{self.order}: an empty cache; {len(self)} iterations to come."
        values = zip("mnk", self.points[step - 1], strict=True)
        where = ", ".join(f"{name} = {value}" for name, value in values)
        fetched = [n for n, m in zip(BUFFERS, self.missed[step - 1], strict=True) if m]
        what = f"fetches a line of {' and of '.join(fetched)}" if fetched else "all lines are here"
        total = sum(self.misses_until(step).values())
        return f"{self.order}, iteration {step} of {len(self)} ({where}): {what}. {total} misses."


def visits(order: str) -> Visits:
    """What the program does in this order, without its init; raises ``UsageError`` for no order."""
    check_order(order)
    sch = Schedule(product(SIDE, SIDE, SIDE).program())
    steps.reorder(sch, "C", *order.split("-"))
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
    """Least recently used; in each iteration C, A and B, in the order in which they are read."""
    lines = flat // LINE + np.arange(len(BUFFERS)) * (SIDE * SIDE // LINE)
    recent: list[int] = []  # the last one used at the end
    missed = np.zeros(lines.shape, np.bool_)
    held: list[tuple[int, ...]] = [()]
    for t, row in enumerate(lines.tolist()):
        a, b, c = row
        for place, line in ((2, c), (0, a), (1, b), (2, c)):
            if line in recent:
                recent.remove(line)
            else:
                missed[t, place] = True
            recent = [*recent, line][-LINES:]
        held.append(tuple(sorted(recent)))
    return missed, tuple(held)
