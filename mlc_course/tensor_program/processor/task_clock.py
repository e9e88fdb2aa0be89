"""Measured times of the tasks of a parallel loop, and the worker of each.

The program itself reads a clock before and after each task. It calls C's ``clock_gettime``, which
takes some 30 ns, and ``pthread_self``, which names the thread; both are in every Unix process.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.measure import limited_threads
from mlc_course.tensor_program.memory import int64_array
from mlc_course.tensor_program.problems import Array
from mlc_course.tensor_program.processor.task_simulation import Interval, Timeline
from mlc_course.tensor_program.tir import (
    PrimFunc,
    SBlockRealize,
    TensorProgram,
    compile_program,
    main_function,
    shared_tensor,
    tirx,
    with_body,
)

START, END, THREAD, FIELDS = 0, 2, 4, 5  # a time is two numbers: seconds and nanoseconds
MOST_TASKS = 1 << 16
READINGS = 40
PAUSE_S = 0.005  # between readings: a scheduler needs time to give each thread a core of its own


@dataclass(frozen=True)
class Clocked:
    """A parallel loop whose tasks write their times to the marks, from row ``first`` on.

    It is entered ``entries`` times, once for each iteration of the loops around it.
    """

    name: str
    first: int
    entries: int
    tasks: int


def timeline(
    program: TensorProgram,
    arrays: Sequence[Array],
    *,
    threads: int,
    readings: int = READINGS,
) -> Timeline:
    """The tasks of the fastest of several runs on ``threads`` threads, in seconds.

    The fastest, because a neighbour on one core holds all of them up, and on a shared machine that
    can be every other run. ``arrays`` are the program's buffers in order, inputs and outputs, as
    ``problems.aligned`` makes them. Worker 0 is the thread that called the program. Raises
    ``UsageError`` for a program without a parallel loop, or one with more than 65,536 tasks.
    """
    clocked, loops = with_clock(program)
    rows = loops[-1].first + loops[-1].entries * loops[-1].tasks
    marks = int64_array(rows * FIELDS, 0).reshape(rows, FIELDS)
    run = compile_program(clocked, threads=threads)
    tensors = [*(shared_tensor(each) for each in arrays), shared_tensor(marks)]
    best: Timeline | None = None
    with limited_threads(threads):
        for _ in range(readings):
            time.sleep(PAUSE_S if threads > 1 else 0)
            run(*tensors)
            found = _read(marks, loops, threads)
            if best is None or found.end < best.end:
                best = found
    assert best is not None
    return best


def with_clock(program: TensorProgram) -> tuple[PrimFunc, tuple[Clocked, ...]]:
    """The program with one more buffer, the marks, int64 (rows, 5), and the loops that write them.

    Row 0 is the whole program. In each row, columns 0 and 1 are seconds and nanoseconds at the
    start, 2 and 3 at the end, and 4 names the thread.
    """
    function = main_function(program)
    found = _find(function.body, 1, 1)
    if not found:
        raise UsageError(
            "no parallel loop, so there are no tasks",
            expected="a program with a loop of kind parallel",
            got="serial loops only",
            hint="steps.parallel(sch, block, loop)",
        )
    rows = found[-1].first + found[-1].entries * found[-1].tasks
    if rows - 1 > MOST_TASKS:
        raise UsageError("too many tasks", expected=f"at most {MOST_TASKS:,}", got=f"{rows - 1:,}")
    marks = tirx.decl_buffer((rows, FIELDS), "int64", name="marks")
    body = _clock_around(_Writer(marks).statement(function.body, []), marks, 0)
    made = PrimFunc([*function.params, marks], body, function.ret_type, function.attrs)
    return made.with_attr("global_symbol", "main"), tuple(found)


def _find(stmt: Any, first: int, entries: int) -> list[Clocked]:
    """The outermost parallel loops, in program order; row ``first`` is the next one."""
    match stmt:
        case tirx.For() if stmt.kind == tirx.ForKind.PARALLEL:
            return [Clocked(str(stmt.loop_var.name), first, entries, int(stmt.extent))]
        case tirx.For():
            return _find(stmt.body, first, entries * int(stmt.extent))
        case SBlockRealize():
            return _find(stmt.block.body, first, entries)
        case tirx.SeqStmt():
            found: list[Clocked] = []
            for each in stmt.seq:
                if found:
                    first = found[-1].first + found[-1].entries * found[-1].tasks
                found += _find(each, first, entries)
            return found
    return []


class _Writer:
    """Rebuilds the statements above the parallel loops; ``row`` is the next loop's first."""

    def __init__(self, marks: Any) -> None:
        self.marks, self.row = marks, 1

    def statement(self, stmt: Any, around: list[Any]) -> Any:
        """The same statement; ``around`` are the serial loops that enclose it."""
        match stmt:
            case tirx.For() if stmt.kind == tirx.ForKind.PARALLEL:
                row = tirx.const(0, "int32")
                for each in (*around, stmt):
                    row = row * int(each.extent) + (each.loop_var - each.min)
                first, self.row = self.row, self.row + prod(int(e.extent) for e in (*around, stmt))
                return with_body(stmt, _clock_around(stmt.body, self.marks, first + row))
            case tirx.For():
                return with_body(stmt, self.statement(stmt.body, [*around, stmt]))
            case tirx.SeqStmt():
                return tirx.SeqStmt([self.statement(each, around) for each in stmt.seq])
            case SBlockRealize():
                return with_body(stmt, self.statement(stmt.block.body, around))
        return stmt


def _clock_around(body: Any, marks: Any, row: Any) -> Any:
    """``body`` between two readings of the clock, which go to this row of the marks."""

    def read_clock(column: int) -> Any:
        place = tirx.address_of(marks[row, column])
        call = tirx.call_extern("int32", "clock_gettime", int(time.CLOCK_MONOTONIC), place)
        return tirx.Evaluate(call)

    thread = tirx.call_extern("int64", "pthread_self")
    last = tirx.BufferStore(marks, thread, [row, THREAD])
    return tirx.SeqStmt([read_clock(START), body, read_clock(END), last])


def _read(marks: NDArray[np.int64], loops: Sequence[Clocked], threads: int) -> Timeline:
    """The timeline that a run has written to the marks."""
    start, end = (marks[:, c] * 10**9 + marks[:, c + 1] for c in (START, END))
    began = start[0]
    names: dict[int, int] = {int(marks[0, THREAD]): 0}
    intervals, region = [], 0
    for loop in loops:
        for entry in range(loop.entries):
            for task in range(loop.tasks):
                row = loop.first + entry * loop.tasks + task
                worker = names.setdefault(int(marks[row, THREAD]), len(names))
                first, last = (1e-9 * int(at[row] - began) for at in (start, end))
                intervals.append(Interval(task, worker, first, last, loop.name, region))
            region += 1
    return Timeline(max(threads, len(names)), tuple(intervals), 1e-9 * int(end[0] - began))
