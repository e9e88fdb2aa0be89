"""The lines that the reader of this lesson writes, and what judges them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlc_course.exercise import Program, UnmetCheck, called, computes, holds, returns, scheduled
from mlc_course.grading.checks import Demand
from mlc_course.lessons.kit import Blank, asks, column_sums
from mlc_course.tensor_program.processor import writes_by_worker


def _dealt_lines(program: Program) -> str:
    """Return how many lines are written; raise ``UnmetCheck`` where two workers write one."""
    (found, *_) = writes_by_worker(program.module, 2)
    if found.shared_lines:
        line = next(
            place
            for place in range(found.lines)
            if len(set(found.owners[16 * place : 16 * place + 16])) > 1
        )
        owners = ", ".join(map(str, found.owners[16 * line : 16 * line + 16]))
        raise UnmetCheck(
            f"{found.shared_lines} of {found.lines} lines are written by both workers",
            expected="one worker for all 16 columns of a line",
            got=f"line {line} is written by the workers {owners}",
            hint="j_1 must run along whole lines",
        )
    return f"{found.lines} lines are written, each by one worker"


def _demand(mine: Callable[..., Any]) -> Demand:
    problem = column_sums(64, 256)
    return Demand(scheduled(mine, problem), (computes(), holds(_dealt_lines, kind="counted")))


lines_in_turns = Blank(
    _demand,
    (
        "split cuts j into j_0 outside and j_1 inside; the number is the length of j_1.",
        "The iterations of j_0 are dealt, so one iteration of j_0 should be one line of S.",
        "A line has 64 bytes, and a float32 has 4. How many columns is that?",
    ),
    'steps.split(sch, "S", "j", 16)',
)

loop_ends = Blank(
    asks(
        called,
        returns([[1, 2], [3, 4]], result=7, hint="worker 1 needs 3 + 4"),
        returns([[5, 5], [1]], result=10, hint="the last to finish need not be the last worker"),
        returns([[2], [2], [2]], result=2, hint="the workers work at the same time"),
        returns([[3, 1], []], result=4, hint="a worker may have no task at all"),
    ),
    (
        "How long does one worker need for the list of its own tasks?",
        "It needs their sum. The loop is over when the slowest worker is done.",
        "The slowest worker has the largest of these sums: max(... for own in shares).",
    ),
    "return max(sum(own) for own in shares)",
)

at_most = Blank(
    asks(
        called,
        returns(0.0, 4, result=4.0, hint="nothing is serial: four workers, four times as fast"),
        returns(1.0, 4, result=1.0, hint="everything is serial: more workers bring nothing"),
        returns(0.25, 3, result=2.0, hint="the time is 0.25 + 0.75 / 3, of 1 on one worker"),
        returns(0.1, 1, result=1.0),
        returns(0.5, 4, result=1.6, hint="the time is 0.5 + 0.5 / 4, of 1 on one worker"),
    ),
    (
        "Call the time on one worker 1. Which part of it stays as long on many workers?",
        "The share stays; the rest, 1 - share, is divided by the number of workers. Add them.",
        "A speed-up is the old time divided by the new one: 1 / (...).",
    ),
    "return 1 / (share + (1 - share) / workers)",
)
