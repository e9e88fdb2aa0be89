"""Races of programs against NumPy: each is checked, then all are timed in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mlc_course.errors import check_known
from mlc_course.measure import Call, Comparison, compare, limited_threads, warning_lines
from mlc_course.tensor_program.ladders.catalogue import ladder
from mlc_course.tensor_program.ladders.rungs import Rung, checked, scheduled, select
from mlc_course.tensor_program.problems import Workload, make_workload
from mlc_course.tensor_program.tir import Schedule
from mlc_course.units import milliseconds


@dataclass(frozen=True)
class Contest:
    """Two calls without arguments that compute the same from the same inputs."""

    title: str
    ours: Call
    numpy: Call


def contest(
    workload: str | Workload,
    sizes: tuple[int, ...] = (),
    rung: str | Rung | None = None,
    *,
    threads: int = 1,
) -> Contest:
    """NumPy, and the rung of this name (the ladder's last one by default), compiled and checked.

    A ``Workload`` brings its sizes, and needs a ``Rung`` where it has no ladder.
    Raises ``UsageError`` for an unknown workload or rung, ``WrongResult`` when the two disagree.
    """
    problem = make_workload(workload, sizes) if isinstance(workload, str) else workload
    if not isinstance(rung, Rung):
        rungs = ladder(problem.name)
        rung = select(rungs, [rung])[0] if rung else rungs[-1]
    inputs, out = problem.inputs(), problem.output()
    with limited_threads(threads):
        reference = problem.reference(inputs)
    ours = checked(problem, scheduled(problem, rung), inputs, reference, threads=threads).call
    return Contest(problem.title, ours, lambda: problem.numpy(*inputs, out))


def race(
    workload: str | Workload,
    programs: Mapping[str, Callable[[Schedule], None]],
    sizes: tuple[int, ...] = (),
    *,
    threads: int = 1,
    budget_s: float = 1.5,
) -> dict[str, Comparison]:
    """Schedule, compile and check each program, then time all of them and NumPy in turn.

    ``budget_s`` is for all of the timing together. Raises what ``contest`` raises.
    """
    contests = {
        name: contest(workload, sizes, Rung(name, "", apply), threads=threads)
        for name, apply in programs.items()
    }
    calls = {name: each.ours for name, each in contests.items()}
    numpy = next(iter(contests.values())).numpy
    return compare(calls, ("NumPy", numpy), threads=threads, budget_s=budget_s)


def speedup(found: Mapping[str, Comparison], name: str, *, over: str) -> Comparison:
    """One contestant of a race with another one as its baseline.

    Raises ``UsageError`` for a name that did not race.
    """
    for each in (name, over):
        check_known("did not race:", each, found)
    return Comparison(found[name].timing, found[over].timing)


def standings(found: Mapping[str, Comparison]) -> str:
    """A line for each contestant: its median time, and its speed beside NumPy's; then warnings."""
    lines = []
    for name, each in found.items():
        low, high = each.interval
        time = milliseconds(each.timing.median_s)
        lines.append(
            f"{name:<16} {time:>10}   {each.ratio:.2f} x NumPy's speed [{low:.2f} to {high:.2f}]"
            f"{each.mark}"
        )
    lines += warning_lines(each.warning for each in found.values())
    return "\n".join(lines)
