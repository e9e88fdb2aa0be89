"""The judges of the lines that readers of lesson 7 write."""

from __future__ import annotations

from typing import Any

from mlc_course.errors import UnmetCheck
from mlc_course.exercise import Program, called, computes, holds, returns
from mlc_course.grading.process import scheduled
from mlc_course.lessons.kit import Blank, asks, check_work
from mlc_course.lessons.lesson_07_two_levels.two_tiles import (
    HotLoop,
    RegisterTile,
    counted_loop,
    in_vectors,
)
from mlc_course.machine import describe
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule

SMALL = matmul(48, 384, 384)  # shorter loops are written out whole
TILE = RegisterTile(4, 2)


def in_registers(at_most: float) -> Any:
    """Return the check that sums stay in registers, with so few loads for each multiply-add."""

    def look(program: Program) -> str:
        return few_loads(program, at_most)

    return holds(look, "counted")


def few_loads(program: Program, at_most: float) -> str:
    """Say what the hot loop of a program loads; refuse busy ones that store, spill or load more."""
    check_work(program)
    loops = [counted_loop(each) for each in program.busy_loops]
    for loop in loops:
        _check_loop(loop, at_most)
    return f"{loops[0]}; asked: {at_most:.2f} or fewer"


def _check_loop(found: HotLoop, at_most: float) -> None:
    if found.stores or found.spills:
        raise UnmetCheck(
            "sums leave their registers in the hot loop",
            expected="no stores, no spills",
            got=str(found),
            hint="which loop should run while a tile of C stays in registers?",
        )
    if found.loads_each > at_most + 0.01:
        raise UnmetCheck(
            "too many loads for each multiply-add",
            expected=f"at most {at_most:.2f}",
            got=str(found),
            hint="a vector of B should serve all rows of the tile before the next one is loaded",
        )


loads = Blank(
    asks(
        called,
        returns(
            1, 1, result=2.0, hint="one element of A and one vector of B, for one multiply-add"
        ),
        returns(4, 2, result=0.75, hint="4 elements of A and 2 vectors of B, for 8 multiply-adds"),
        returns(6, 4, result=10 / 24),
    ),
    (
        "Take one step of k. How many vectors of B does it load, and how many elements of A?",
        "v vectors and r elements. How many vectors of C do they add to?",
        "Divide r + v loads by the number of multiply-adds, one for each vector of the tile.",
    ),
    "return (r + v) / (r * v)",
)


def _ordered(written: Any) -> Any:
    """A schedule of the small product, with the reader's order of the three inner loops."""

    def apply(sch: Schedule) -> None:
        steps.tile(sch, "C", n=TILE.columns, k=96, m=TILE.rows)
        steps.reorder(sch, "C", *written)
        in_vectors(sch, describe().lanes)
        steps.unroll(sch, "C", "m_1")
        steps.hoist_init(sch, "C", "k_0")

    return scheduled(apply, SMALL)


order = Blank(
    asks(_ordered, computes(), in_registers(TILE.loads)),
    (
        "Which of the three loops sums? While it runs, the tile of C should stay where it is.",
        "k_1 is the sum: in each of its steps all rows and vectors of the tile are updated.",
        "So k_1 is the outermost of the three. n_1 walks along rows, and becomes the vectors.",
    ),
    'order = "k_1", "m_1", "n_1"',
)

set_of = Blank(
    asks(
        called,
        returns(0, 64, 64, result=0),
        returns(100, 64, 64, result=1, hint="byte 100 is in line 1"),
        returns(4096, 64, 64, result=0, hint="line 64 of 64 sets: counting starts again"),
        returns(5000, 64, 128, result=78),
    ),
    (
        "In which line is the byte? A line has `line` bytes, and line 0 begins at address 0.",
        "Line 0 goes to set 0, line 1 to set 1. Where does the line after the last set go?",
        "`//` gives the number of the line. Which operator starts again at 0 after `sets` lines?",
    ),
    "return address // line % sets",
)
