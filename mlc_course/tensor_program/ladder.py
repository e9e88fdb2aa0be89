"""A ladder: one program, transformed rung by rung; each is checked before it is timed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlc_course.errors import UsageError
from mlc_course.measure import Comparison, compare
from mlc_course.tensor_program.problems.workload import Workload
from mlc_course.tensor_program.tvm_names import Schedule, compile_program, shared_tensor


@dataclass(frozen=True)
class Rung:
    """One transformation: its name, why it should help, and what it does to a naive schedule.

    ``apply`` starts from the naive program, so that a rung stands alone; a rung that builds on
    another calls it.
    """

    name: str
    why: str
    apply: Callable[[Schedule], None]


def select(rungs: Sequence[Rung], names: Sequence[str]) -> tuple[Rung, ...]:
    """The rungs with these names, in ladder order; raises ``UsageError`` for any other name."""
    known = [rung.name for rung in rungs]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            "the ladder has no such rung", expected=" | ".join(known), got=", ".join(unknown)
        )
    return tuple(rung for rung in rungs if rung.name in names)


@dataclass(frozen=True)
class Climbed:
    """A rung that was checked and timed."""

    rung: Rung
    comparison: Comparison
    relative_error: float
    program: str


def scheduled(workload: Workload, rung: Rung) -> Schedule:
    """The workload's program after the rung. Errors of its steps name the rung."""
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


def climb(
    workload: Workload,
    rungs: Sequence[Rung],
    *,
    threads: int = 1,
    budget_s: float = 3.0,
    seed: int = 0,
) -> Iterator[Climbed]:
    """Apply, check against float64, then time each rung, beside NumPy on as many threads.

    Yields as it goes. Each rung has ``budget_s`` seconds of measuring. Raises ``WrongResult`` for
    a rung that computes something else than the workload, before timing it.
    """
    inputs, out = workload.inputs(seed), workload.output()
    reference = workload.reference(inputs)
    workload.numpy(*inputs, out)
    workload.check(out, reference)
    shared = [shared_tensor(value) for value in inputs]
    for rung in rungs:
        sch = scheduled(workload, rung)
        ours = workload.output()
        result = shared_tensor(ours)
        with _errors_name(rung, workload):
            run = compile_program(sch, threads=threads)
            run(*shared, result)
            error = workload.check(ours, reference)
        timed = compare(
            {rung.name: lambda run=run, result=result: run(*shared, result)},  # type: ignore[misc]
            ("NumPy", lambda: workload.numpy(*inputs, out)),
            threads=threads,
            budget_s=budget_s,
            rounds=(2, 40),
            warm_up=False,  # checking the result was the first call
        )
        yield Climbed(rung, timed[rung.name], error, sch.mod.script())
