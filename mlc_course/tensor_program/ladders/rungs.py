"""Ladders: one program, transformed in several ways, each checked and then timed beside NumPy."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlc_course.errors import check_known
from mlc_course.measure import Call, Comparison, compare
from mlc_course.tensor_program.problems import Array, Workload
from mlc_course.tensor_program.tir import (
    Schedule,
    TensorProgram,
    compile_program,
    shared_tensor,
)


@dataclass(frozen=True)
class Rung:
    """One transformation: its name, why it should help, and what it does to a naive schedule.

    ``apply`` always starts from the naive program; a rung that builds on another calls it.
    """

    name: str
    why: str
    apply: Callable[[Schedule], None]


def select(rungs: Sequence[Rung], names: Sequence[str]) -> tuple[Rung, ...]:
    """The rungs with these names, in ladder order; raises ``UsageError`` for any other name."""
    known = [rung.name for rung in rungs]
    for name in names:
        check_known("the ladder has no such rung", name, known)
    return tuple(rung for rung in rungs if rung.name in names)


@dataclass(frozen=True)
class Climbed:
    """A rung that was checked and timed."""

    rung: Rung
    comparison: Comparison
    relative_error: float
    program: str


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
    """A compiled program on its inputs, as a call, and the error of the result that it gave."""

    call: Call
    relative_error: float


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
    run(*tensors)
    return Checked(lambda: run(*tensors), workload.check(out, reference))


def climb(
    workload: Workload,
    rungs: Sequence[Rung],
    *,
    threads: int = 1,
    budget_s: float = 3.0,
    seed: int = 0,
) -> Iterator[Climbed]:
    """Apply each rung, check it against float64, then time it beside NumPy on as many threads.

    Yields each rung when it is done. Each has ``budget_s`` seconds of measuring. Raises
    ``WrongResult`` for a rung that computes something else than the workload, before timing it.
    """
    inputs, out = workload.inputs(seed), workload.output()
    reference = workload.reference(inputs)
    workload.numpy(*inputs, out)
    workload.check(out, reference)
    for rung in rungs:
        sch = scheduled(workload, rung)
        with _errors_name(rung, workload):
            made = checked(workload, sch, inputs, reference, threads=threads)
        timed = compare(
            {rung.name: made.call},
            ("NumPy", lambda: workload.numpy(*inputs, out)),
            threads=threads,
            budget_s=budget_s,
            rounds=(2, 40),
            warm_up=False,  # checking the result was the first call
        )
        yield Climbed(rung, timed[rung.name], made.relative_error, sch.mod.script())
