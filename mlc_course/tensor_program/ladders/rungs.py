"""Ladders: one program, transformed in several ways, each checked and then timed beside NumPy."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from mlc_course.errors import check_known
from mlc_course.measure import Call, Comparison, compare, limited_threads
from mlc_course.tensor_program.problems import WORKLOADS, Array, Workload, make_workload
from mlc_course.tensor_program.tir import (
    Schedule,
    TensorProgram,
    compile_program,
    same_structure,
    shared_tensor,
)

LONG_S = 1.0  # a call that takes longer is timed once, or on some of its rows
TIMED_ROWS = 16


@dataclass(frozen=True)
class Rung:
    """One transformation: its name, why it should help, and what it does to a naive schedule.

    ``apply`` always starts from the naive program; a rung that builds on another calls it.
    ``row_by_row`` says that it takes each row of the result by itself, so that the time of a few
    rows tells the time of all. ``setback`` is the reason, if there is one, why the rung may be
    slower than the one before it, until the next takes that reason away.
    """

    name: str
    why: str
    apply: Callable[[Schedule], None]
    row_by_row: bool = False
    setback: str = ""


def select(rungs: Sequence[Rung], names: Sequence[str]) -> tuple[Rung, ...]:
    """The rungs with these names, in ladder order; raises ``UsageError`` for any other name."""
    known = [rung.name for rung in rungs]
    for name in names:
        check_known("the ladder has no such rung", name, known)
    return tuple(rung for rung in rungs if rung.name in names)


@dataclass(frozen=True)
class Climbed:
    """A rung that was checked and timed.

    ``rows`` is the number of rows of the result that were computed, where these were not all; the
    seconds are those of all rows, in proportion.
    """

    rung: Rung
    comparison: Comparison
    relative_error: float
    program: str
    rows: int | None = None


def scheduled(workload: Workload, rung: Rung) -> Schedule:
    """The workload's program after the rung; errors of its steps name the rung."""
    sch = Schedule(workload.program(), error_render_level="fast")
    with _errors_name(rung, workload):
        rung.apply(sch)
    return sch


@contextlib.contextmanager
def _errors_name(rung: Rung, workload: Workload) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"in rung {rung.name!r} of {workload.title}")
        raise


@dataclass(frozen=True)
class Checked:
    """A compiled program on its inputs, as a call, and the error of the result that it gave.

    ``seconds`` is what its first call took.
    """

    call: Call
    relative_error: float
    seconds: float


def checked(
    workload: Workload,
    program: TensorProgram,
    inputs: Sequence[Array],
    reference: Array,
    *,
    threads: int = 1,
    cpu: str | None = None,
) -> Checked:
    """Compile a program, call it once, and check its result.

    ``inputs`` are aligned, as ``Workload.inputs`` makes them. Raises ``WrongResult`` for a program
    that computes something else than the workload.
    """
    run, out = compile_program(program, threads=threads, cpu=cpu), workload.output()
    tensors = [shared_tensor(array) for array in (*inputs, out)]
    with limited_threads(threads):  # threads that wake now would spin into what is timed next
        start = time.perf_counter()
        run(*tensors)
        seconds = time.perf_counter() - start
        return Checked(lambda: run(*tensors), workload.check(out, reference), seconds)


def climb(
    workload: Workload,
    rungs: Sequence[Rung],
    *,
    threads: int = 1,
    budget_s: float = 3.0,
    seed: int = 0,
    thorough: bool = False,
) -> Iterator[Climbed]:
    """Apply each rung, check it against float64, then time it beside NumPy on as many threads.

    Yields each rung when it is done. Each has ``budget_s`` seconds of measuring. A rung whose first
    call takes longer than ``LONG_S`` seconds is timed once; one that takes row by row is computed,
    checked and timed on ``TIMED_ROWS`` rows if all would take longer. Neither with ``thorough``.
    Raises ``WrongResult`` for a rung that computes something else than the workload, before timing
    it.
    """
    inputs, out = workload.inputs(seed), workload.output()
    with limited_threads(threads):
        reference = workload.reference(inputs)
        workload.numpy(*inputs, out)
        workload.check(out, reference)
    for rung in rungs:
        sch = scheduled(workload, rung)
        with _errors_name(rung, workload):
            part = None if thorough else _slow_part(workload, rung, threads=threads)
            made = part or checked(workload, sch, inputs, reference, threads=threads)
        once = made.seconds > LONG_S and not thorough
        timed = compare(
            {rung.name: made.call},
            ("NumPy", lambda: workload.numpy(*inputs, out)),
            threads=threads,
            budget_s=0.0 if once else budget_s,
            rounds=(1 if once else 2, 40),
            warm_up=False,  # checking the result was the first call
        )
        found = timed[rung.name]
        if part:
            found = replace(found, timing=found.timing.times(_rows(workload) / TIMED_ROWS))
        program, rows = sch.mod.script(), TIMED_ROWS if part else None
        yield Climbed(rung, found, made.relative_error, program, rows)


def _rows(workload: Workload) -> int:
    return workload.result.shape[0]


def _slow_part(workload: Workload, rung: Rung, *, threads: int) -> Checked | None:
    """A few rows of the result, computed and checked, if all of them would take too long."""
    sizes = tuple(workload.sizes.values())
    if not rung.row_by_row or _rows(workload) < 2 * TIMED_ROWS or workload.name not in WORKLOADS:
        return None
    if not same_structure(workload.program(), make_workload(workload.name, sizes).program()):
        return None  # another program of this name: it cannot be made for fewer rows
    part = make_workload(workload.name, (TIMED_ROWS, *sizes[1:]))
    inputs = part.inputs()
    with limited_threads(threads):
        reference = part.reference(inputs)
    made = checked(part, scheduled(part, rung), inputs, reference, threads=threads)
    return made if made.seconds * _rows(workload) / TIMED_ROWS > LONG_S else None
