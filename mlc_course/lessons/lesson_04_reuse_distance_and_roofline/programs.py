"""The programs whose reuse the lesson looks at, each with its counts and its race with NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from mlc_course.lessons.lesson_04_reuse_distance_and_roofline import problems, streams
from mlc_course.machine import describe
from mlc_course.tensor_program.memory import Reuse, reuse
from mlc_course.tensor_program.problems import FLOAT_BYTES, Workload, matmul
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule


@dataclass(frozen=True)
class Program:
    """One way to compute a problem. Programs of one ``family`` compute the same.

    ``order`` changes the order of the loops; ``apply`` is what is timed, which may use wide
    registers besides: they change no reuse distance between lines.
    """

    name: str
    family: str
    why: str
    work: Callable[[], Workload]
    order: Callable[[Schedule], None]
    apply: Callable[[Schedule], None]


def _first_of_four(sch: Schedule) -> None:
    steps.reorder(sch, "Y", "i", "t")


def _vector() -> Workload:
    return streams.relu(2 * (describe().l2_bytes or 512 << 10) // FLOAT_BYTES)


def _transpose() -> Workload:
    return problems.transpose(problems.transpose_side())


def _matmul() -> Workload:
    return matmul(*(problems.matmul_side(),) * 3)


PROGRAMS = {
    each.name: each
    for each in (
        Program(
            "products, vector by vector",
            "products",
            "A is read once for each of four vectors, from its first row to its last.",
            problems.near_products,
            problems.unchanged,
            problems.vector_by_vector,
        ),
        Program(
            "products, row by row",
            "products",
            "Each row of A meets all four vectors before the next row is read.",
            problems.near_products,
            _first_of_four,
            problems.row_by_row,
        ),
        Program(
            "transpose",
            "transpose",
            "X is read along its rows, so Y is written down its columns.",
            _transpose,
            problems.by_rows,
            problems.by_rows,
        ),
        Program(
            "transpose, tiled",
            "transpose",
            "In tiles of 16 x 16: a line of X and a line of Y are used up while they are there.",
            _transpose,
            problems.in_tiles,
            problems.in_tiles,
        ),
        Program(
            "matmul",
            "matmul",
            "C = A B in three loops: a row of A, a column of B, and all of B come back.",
            _matmul,
            problems.unchanged,
            problems.unchanged,
        ),
        Program(
            "matmul, tiled",
            "matmul",
            "In blocks of 16 x 16 x 16, as in lesson 6.",
            _matmul,
            problems.in_cubes,
            problems.in_cubes,
        ),
        Program(
            "one pass",
            "one pass",
            "Y = max(X, 0): every element is used once.",
            _vector,
            problems.unchanged,
            streams.in_vectors,
        ),
    )
}


def ordered(name: str) -> Schedule:
    """The program with its order of loops, element by element."""
    program = PROGRAMS[name]
    sch = Schedule(program.work().program())
    program.order(sch)
    return sch


@functools.cache
def distances(name: str) -> Reuse:
    """The reuse distances of a program, counted once."""
    return reuse(ordered(name), line=describe().line_bytes or 64)


def family(name: str) -> tuple[str, ...]:
    """The names of the programs that compute the same as this one."""
    kin = PROGRAMS[name].family
    return tuple(each.name for each in PROGRAMS.values() if each.family == kin)
