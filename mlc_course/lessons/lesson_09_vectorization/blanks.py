"""The lines that the reader of lesson 9 writes, and how they are judged."""

from __future__ import annotations

from collections.abc import Callable

from mlc_course.exercise import computes, holds, lanes, returns, scheduled
from mlc_course.grading.checks import Demand
from mlc_course.grading.process import called
from mlc_course.lessons.kit import Blank, asks, column_sums
from mlc_course.lessons.lesson_09_vectorization.checks import sums_stay
from mlc_course.machine import describe
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule


def _in_registers(middle: Callable[[Schedule], object]) -> Demand:
    """Return what is asked of the steps between the split and the zeros."""
    width = describe().lanes

    def whole(sch: Schedule) -> None:
        steps.split(sch, "S", "j", 4 * width)
        middle(sch)
        steps.hoist_init(sch, "S", "k")

    asked = computes(), lanes(width), holds(sums_stay, kind="counted")
    # Too many columns for LLVM to keep all their sums in registers by itself.
    return Demand(scheduled(whole, column_sums(64, 1024)), asked)


lanes_inside = Blank(
    _in_registers,
    (
        "Which of the three loops j_0, j_1 and k can be lanes, if no two lanes may add to the same "
        "sum?",
        "The sums of one piece stay in registers only if k runs inside j_0 and outside j_1.",
        'steps.reorder(sch, "S", "j_0", "k", "j_1"), and then vectorize ...',
    ),
    'steps.reorder(sch, "S", "j_0", "k", "j_1")\nsteps.vectorize(sch, "S", "j_1")',
)

waiting = Blank(
    asks(
        called,
        returns(4096, 1, result=4097, hint="one sum is one chain; then it is added to the result"),
        returns(4096, 64, result=128, hint="64 terms for each sum, and then 64 sums"),
        returns(64, 64, result=65),
        returns(1024, 16, result=80),
    ),
    (
        "How many terms does each of the sums get? Those additions wait for each other.",
        "The sums themselves run side by side. At the end they are added up one by one.",
        "terms // sums additions wait in one sum. How many more wait at the end?",
    ),
    "return terms // sums + sums",
)

registers_of = Blank(
    asks(
        called,
        returns(1, 1, result=3, hint="one register of sums, one vector of B, one element of A"),
        returns(4, 2, result=11, hint="8 for the sums; how many vectors of B are there in a step?"),
        returns(6, 2, result=15),
        returns(16, 4, result=69),
    ),
    (
        "How many registers do the sums take?",
        "One step of k also needs a row of B (how many vectors?) and one element of A at a time.",
        "rows * vectors + vectors + ...",
    ),
    "return rows * vectors + vectors + 1",
)
