"""The ladder of a convolution: the micro-kernel without NumPy's copy of every window."""

from __future__ import annotations

from functools import partial

from mlc_course.machine import Machine
from mlc_course.tensor_program.ladders.micro_kernels import register_tile
from mlc_course.tensor_program.ladders.rungs import Rung
from mlc_course.tensor_program.schedule import data_steps, lookup, steps
from mlc_course.tensor_program.tir import Schedule


def rungs(machine: Machine) -> tuple[Rung, ...]:
    """The rungs for any sizes; tiles are the largest divisors that fit the registers."""
    size = register_tile(machine)

    def reorder(sch: Schedule) -> None:
        steps.reorder(sch, "Y", "f", "h", "c", "r", "s", "w")

    def tile(sch: Schedule) -> None:
        axes = lookup.axes(sch, "Y")
        columns = lookup.divisor(axes["f"], at_most=size.columns)
        rows = lookup.divisor(axes["w"], at_most=size.rows)
        data_steps.pack(sch, "Y", "K", along="f", panel=columns)
        steps.tile(sch, "Y", f=columns, w=rows)
        steps.reorder(sch, "Y", "h", "f_0", "w_0", "c", "r", "s", "w_1", "f_1")

    def packed(sch: Schedule, *, unrolled: bool = False, cores: bool = False) -> None:
        tile(sch)
        writer = data_steps.accumulate_locally(sch, "Y", at="w_0")
        data_steps.store_innermost(sch, "Y", "f")
        if cores:
            steps.parallel(sch, "Y", "h")
        steps.vectorize(sch, "Y", "f_1")
        if unrolled:
            steps.unroll(sch, "Y", "w_1")
        steps.hoist_init(sch, "Y", "c")
        pixels, filters = lookup.loops(sch, "Y_init")[-2:]
        steps.vectorize(sch, "Y_init", filters)
        if unrolled:
            steps.unroll(sch, "Y_init", pixels)
            steps.unroll(sch, writer, lookup.loops(sch, writer)[-1])

    return (
        Rung(
            "naive",
            "Six loops; the innermost three walk a small window, so no vector fits.",
            lambda sch: None,
        ),
        Rung("reorder", "The innermost loop walks along a row of the image.", reorder),
        Rung(
            "pack-filters",
            "With the filters of one weight side by side, a vector holds as many filters, and "
            "one pixel serves them all.",
            packed,
        ),
        Rung(
            "micro-kernel",
            f"{size.rows} pixels x {size.columns} filters are summed in registers; windows are "
            "read in place, where NumPy copies the image nine times.",
            partial(packed, unrolled=True),
        ),
        Rung(
            "parallel",
            "Rows of the image are shared among the cores.",
            partial(packed, unrolled=True, cores=True),
        ),
    )
