"""The ladder of softmax: four passes over memory become one, and sums become vectors."""

from __future__ import annotations

from functools import partial

from mlc_course.machine import Machine
from mlc_course.tensor_program.ladders.rungs import Rung
from mlc_course.tensor_program.schedule import lookup, polynomial_exp, steps
from mlc_course.tensor_program.tir import Schedule

STAGES = ("Sum", "Exp", "Max")  # from the last before P to the first
VECTORS = 4  # sums side by side, in vectors: an addition is done after 3 to 4 cycles


def rungs(machine: Machine) -> tuple[Rung, ...]:
    """The rungs for rows and columns of any number."""
    most = VECTORS * machine.lanes

    def row_by_row(sch: Schedule) -> None:
        for block in STAGES:
            steps.compute_per_iteration(sch, block, of="P", at="m")

    def polynomial(sch: Schedule) -> None:
        row_by_row(sch)
        polynomial_exp(sch, "Exp")

    def lanes(sch: Schedule, *, cores: bool = False) -> None:
        polynomial_exp(sch, "Exp")
        count = lookup.divisor(lookup.axes(sch, "Sum")["k"], at_most=most)
        total, top = (steps.several_sums(sch, block, "k", count) for block in ("Sum", "Max"))
        for block in ("Sum", total, "Exp", "Max", top):
            steps.compute_per_iteration(sch, block, of="P", at="m")
        if cores:
            steps.parallel(sch, "P", "m")
        for block in (total, top):
            lane, _, k = lookup.loops(sch, block)[1:]
            steps.reorder(sch, block, k, lane)
            steps.vectorize(sch, block, lane)
            steps.hoist_init(sch, block, k)

    return (
        Rung(
            "naive",
            "Four passes over the whole matrix: maximum, exp, sum, division; what one writes, "
            "the next fetches from memory.",
            lambda sch: None,
        ),
        Rung(
            "row-by-row",
            "All four for one row before the next: the row stays in the first-level cache.",
            row_by_row,
        ),
        Rung("polynomial-exp", "exp in vector instructions, not one call an element.", polynomial),
        Rung(
            "several-sums",
            f"Up to {most} sums and maxima side by side fill {VECTORS} vectors; one alone waits "
            "for itself at every step.",
            lanes,
        ),
        Rung(
            "parallel", "Rows are independent, so each core takes some.", partial(lanes, cores=True)
        ),
    )
