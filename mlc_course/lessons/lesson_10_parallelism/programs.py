"""The lesson's programs in steps, and how often the writes of two workers meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlc_course.lessons.kit import column_sums, scores
from mlc_course.machine import usable_cores
from mlc_course.tensor_program.processor import Timeline, timeline, writes_by_worker
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import PrimFunc, Schedule, T

COLUMNS = 256
FLOATS_IN_A_LINE = 16  # in 64 bytes


def lines_in_turns(sch: Schedule) -> None:
    """Deal the columns to two workers in turns, a whole line at a time."""
    steps.split(sch, "S", "j", FLOATS_IN_A_LINE)
    deal_lines(sch)


def deal_lines(sch: Schedule) -> None:
    """Deal the iterations of ``j_0`` to two workers in turns; inside, run along ``j_1``."""
    steps.split(sch, "S", "j_0", 2)
    steps.reorder(sch, "S", "j_0_1", "k", "j_0_0", "j_1")
    steps.parallel(sch, "S", "j_0_1")
    steps.hoist_init(sch, "S", "k")


def writes(apply: Callable[[Schedule], None], workers: int = 2) -> Any:
    """Return who writes which element of the sums of 256 columns, in the first parallel loop."""
    sch = Schedule(column_sums().program())
    apply(sch)
    return writes_by_worker(sch, workers)[0]


def by_chunk(sch: Schedule) -> None:
    """Give each of two workers a sum of its own for every column, one row of sums each."""
    k_0, _ = sch.split(lookup.loop(sch, "S", "k"), [2, None])
    sch.rfactor(k_0, factor_axis=0)
    steps.reorder(sch, "S_rf", "k_0", "k_1", "j")
    steps.parallel(sch, "S_rf", "k_0")


def by_lane(sch: Schedule) -> None:
    """Give each of two workers a sum of its own for every column, side by side."""
    steps.several_sums(sch, "S", "k", 2)
    steps.reorder(sch, "S_rf", "k_1", "k_0", "j")
    steps.parallel(sch, "S_rf", "k_1")


def racing(rows: int) -> PrimFunc:
    """Return a program whose workers add their rows of X to the same 16 sums: a race."""

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(  # type: ignore[no-untyped-def]
        X: T.Buffer((rows, 16), "float32"),  # type: ignore[valid-type]
        S: T.Buffer((16,), "float32"),  # type: ignore[valid-type]
    ):
        for j in range(16):
            S[j] = T.float32(0)
        for k in T.parallel(rows):
            for j in range(16):
                S[j] = S[j] + X[k, j]

    return main


def measured(load: str, grain: int = 4, words: int = 128) -> Timeline:
    """Return the timeline of one of the loads, measured on two threads if there are two cores."""
    problem = scores(load, words)
    sch = Schedule(problem.program())
    steps.split(sch, "R", "i", grain)
    steps.parallel(sch, "R", "i_0")
    arrays = [*problem.inputs(), problem.output()]
    return timeline(sch, arrays, threads=min(2, usable_cores()))


def shared_lines(programs: Mapping[str, Callable[[Schedule], None]]) -> str:
    """Return a line for each program: the lines of S that it writes, and those that two write."""
    found = {name: writes(apply) for name, apply in programs.items()}
    return "\n".join(
        f"{name:<15} {each.lines} lines written, {each.shared_lines} of them by both"
        for name, each in found.items()
    )
