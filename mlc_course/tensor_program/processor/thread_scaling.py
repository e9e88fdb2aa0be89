"""Speed-ups by threads: the same call is timed on one thread and on several, in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from mlc_course.errors import UsageError
from mlc_course.machine import usable_cores
from mlc_course.measure import (
    FEWEST,
    Call,
    Clock,
    Comparison,
    Timing,
    limited_threads,
    warning_lines,
)
from mlc_course.tensor_program.ladders import Rung, contest
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.tir import Schedule
from mlc_course.units import milliseconds, plural

WAKE_S, READ_S = 0.01, 0.005


def scaling(
    calls: Mapping[str, Call],
    *,
    threads: int | None = None,
    budget_s: float = 2.0,
    rounds: tuple[int, int] = (FEWEST, 30),
    settle_s: float = 0.02,
    clock: Clock = time.perf_counter,
    sleep: Callable[[float], object] = time.sleep,
) -> dict[str, Comparison]:
    """Time each call on ``threads`` threads (two, where there are two cores) and on one.

    The baseline of each comparison is the same call on one thread, so its ratio is the speed-up.
    Every reading waits ``settle_s``, until the workers of the one before sleep: TVM's do within
    milliseconds, NumPy's need ``measure.SETTLE_SECONDS``. Then it calls for ``WAKE_S``, to wake its
    own and have them spread over the cores. Then it times calls for ``READ_S``, one at least, and
    takes their mean.

    Raises ``UsageError`` without calls, and for threads that this machine does not have.
    """
    many = min(2, usable_cores()) if threads is None else threads
    if not calls or not 1 <= rounds[0] <= rounds[1]:
        raise UsageError("nothing to measure", expected="one call or more", got=len(calls))
    taken: list[dict[tuple[str, int], float]] = []
    start = clock()
    while len(taken) < rounds[0] or (clock() - start < budget_s and len(taken) < rounds[1]):
        readings: dict[tuple[str, int], float] = {}
        for count in (1, many):
            with limited_threads(count):
                for name, call in calls.items():
                    sleep(settle_s if many > 1 else 0.0)
                    _mean_seconds(call, WAKE_S, clock)
                    readings[name, count] = _mean_seconds(call, READ_S, clock)
        taken.append(readings)

    def timing(name: str, count: int) -> Timing:
        return Timing(
            f"{name}, {plural(count, 'thread')}", tuple(each[name, count] for each in taken)
        )

    return {name: Comparison(timing(name, many), timing(name, 1)) for name in calls}


def _mean_seconds(call: Call, at_least_s: float, clock: Clock) -> float:
    """Mean seconds of a call, over as many calls as fill this time."""
    start, count = clock(), 0
    while True:
        call()
        count += 1
        spent = clock() - start
        if spent >= at_least_s:
            return spent / count


def prepared(
    workload: Workload, programs: Mapping[str, Callable[[Schedule], None]]
) -> dict[str, Call]:
    """Schedule each program, compile it for all cores, check it, and return it as a call."""
    cores = usable_cores()
    return {
        name: contest(workload, rung=Rung(name, "", apply), threads=cores).ours
        for name, apply in programs.items()
    }


def speedups(found: Mapping[str, Comparison]) -> str:
    """A line for each call: its times on one thread and on several, its speed-up; then warnings.

    On a machine with one core, it says that there is nothing to compare.
    """
    lines = []
    for name, each in found.items():
        low, high = each.interval
        alone, together = (milliseconds(t.median_s) for t in (each.baseline, each.timing))
        gained = f"{each.ratio:5.2f} x [{low:.2f} to {high:.2f}]{each.mark}"
        if each.timing.name == each.baseline.name:
            gained = "one core: nothing to compare"
        lines.append(f"{name:<13}{alone:>10} -> {together:>10}   {gained}")
    return "\n".join([*lines, *warning_lines(each.warning for each in found.values())])
