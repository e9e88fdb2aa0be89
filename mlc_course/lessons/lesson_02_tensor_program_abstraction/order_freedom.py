"""The order that a program needs: of all pairs of iterations, which must keep theirs?

Two statement instances must keep their order when both touch an element and one of them writes
it. Two terms of one sum may change sides (the rounding changes), but may not run at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.tensor_program.legality import READ, UPDATE, Inspection, Run
from mlc_course.tensor_program.tir import IRModule, PrimFunc, Schedule

MOST = 2_000  # instances: a pair is a byte


@dataclass(frozen=True)
class Freedom:
    """The pairs of ``instances`` statements that run, by what their order means for the result.

    ``kept`` pairs must stay in order, ``sums`` are two terms of one sum.
    """

    instances: int
    kept: int
    sums: int

    @property
    def pairs(self) -> int:
        return self.instances * (self.instances - 1) // 2

    @property
    def free(self) -> int:
        """The number of pairs that may run in any order, or at the same time."""
        return self.pairs - self.kept - self.sums

    def __str__(self) -> str:
        return (
            f"{self.pairs:,} pairs of {self.instances:,}: {self.kept:,} keep their order, "
            f"{self.sums:,} are terms of one sum, {self.free:,} are free"
        )


def pairs(
    program: IRModule | PrimFunc | Schedule,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Two matrices over all pairs of instances: which must keep their order, which are of one sum.

    Instances are numbered in the order in which they run, and each pair is told once, above the
    diagonal. Raises ``UsageError`` above ``MOST`` instances, and what ``legality`` raises.
    """
    run = Run(program)
    size = len(run)
    if size > MOST:
        raise UsageError(
            "too many instances to compare in pairs",
            expected=f"at most {MOST:,}",
            got=f"{size:,}",
            hint="make the program smaller",
        )
    touches = run.touches()
    kept, sums = np.zeros((size, size), np.bool_), np.zeros((size, size), np.bool_)
    ends = [*np.nonzero(touches.starts)[0].tolist(), touches.elements.size]
    for start, end in zip(ends, ends[1:], strict=False):
        who, does = touches.instances[start:end], touches.modes[start:end]
        conflict = (does[:, None] != READ) | (does[None, :] != READ)
        same_sum = (does[:, None] == does[None, :]) & (does[:, None] >= UPDATE)
        kept[np.ix_(who, who)] |= conflict & ~same_sum
        sums[np.ix_(who, who)] |= same_sum
    return np.triu(kept, 1), np.triu(sums & ~kept, 1)


def by_iterations(program: IRModule | PrimFunc | Schedule) -> Freedom:
    """Count the pairs of a small program by looking at each; raises what ``pairs`` raises."""
    kept, sums = pairs(program)
    return Freedom(len(kept), int(kept.sum()), int(sums.sum()))


def by_kinds(inspection: Inspection) -> Freedom:
    """Count the pairs from what a block declares alone, without a look at its body.

    Each element has one init, which comes before its terms; the terms are the values of the
    reduction axes. Right if the block's kinds are true and its axes are bound to one loop each.
    """
    elements = prod(axis.extent for axis in inspection.axes if axis.kind == "S")
    terms = prod(axis.extent for axis in inspection.axes if axis.kind == "R")
    has_init = any(moment.init for moment in inspection.moments)
    if "R" not in inspection.kinds:
        return Freedom(elements * (1 + has_init), elements * has_init, 0)
    inits = elements if has_init else 0
    return Freedom(elements * terms + inits, inits * terms, elements * (terms * (terms - 1) // 2))
