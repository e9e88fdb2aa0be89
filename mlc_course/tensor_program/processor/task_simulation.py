"""Timelines of a parallel loop, computed: how workers share its tasks, and how long that takes.

An iteration of the parallel loop is a **task**. Here timelines are computed for any number of
workers; ``task_clock`` measures them on the cores of this machine.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, groupby

from mlc_course.errors import SizeError, UsageError, check_known

HOW = ("static", "interleaved", "dynamic")


@dataclass(frozen=True)
class Interval:
    """The time from ``start`` to ``end``, in which ``worker`` ran one task of the loop ``loop``.

    ``region`` counts how often a parallel loop was entered before.
    """

    task: int
    worker: int
    start: float
    end: float
    loop: str = "task"
    region: int = 0

    @property
    def length(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Timeline:
    """All tasks of one run that began at 0 and was over at ``end``, in any unit of time."""

    workers: int
    intervals: tuple[Interval, ...]
    end: float

    @property
    def work(self) -> float:
        """The sum of the times of all tasks."""
        return sum(each.length for each in self.intervals)

    @property
    def regions(self) -> tuple[tuple[float, float], ...]:
        """The start and the end of each parallel region."""
        in_order = sorted(self.intervals, key=lambda each: each.region)
        groups = (list(group) for _, group in groupby(in_order, key=lambda each: each.region))
        return tuple((min(i.start for i in g), max(i.end for i in g)) for g in groups)

    @property
    def serial(self) -> float:
        """The time outside all regions, in which one worker works or starts the others."""
        return self.end - sum(end - start for start, end in self.regions)

    @property
    def alone(self) -> float:
        """The time that one worker would take for everything, at the same pace."""
        return self.serial + self.work

    @property
    def speedup(self) -> float:
        """``alone`` / ``end``."""
        return self.alone / self.end

    @property
    def utilisation(self) -> float:
        """The share of all workers' time in which they work, 0 to 1."""
        return self.speedup / self.workers

    @property
    def took_turns(self) -> bool:
        """Tell whether several workers had tasks but worked together less than 5 % of the time.

        On a machine whose other cores are taken, threads of one program wait for each other's.
        """
        spans: dict[tuple[int, int], tuple[float, float]] = {}
        for each in self.intervals:
            start, end = spans.get((each.region, each.worker), (each.start, each.end))
            spans[each.region, each.worker] = min(start, each.start), max(end, each.end)
        pairs = combinations(spans.items(), 2)
        together = sum(
            max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for (i, a), (j, b) in pairs if i[0] == j[0]
        )
        return len({worker for _, worker in spans}) > 1 and together < 0.05 * self.end

    def busy(self, worker: int) -> float:
        """The sum of the times of one worker's tasks."""
        return sum(each.length for each in self.intervals if each.worker == worker)


def chunks(tasks: int, workers: int) -> list[range]:
    """The tasks of each worker as TVM shares them: runs of ceil(tasks / workers).

    The last workers get what is left, which may be nothing: 5 tasks on 4 workers are 2, 2, 1, 0.
    """
    _check_workers(workers)
    step = -(-tasks // workers)
    return [range(min(w * step, tasks), min((w + 1) * step, tasks)) for w in range(workers)]


def grouped(costs: Sequence[float], grain: int) -> list[float]:
    """The costs of coarser tasks, each of ``grain`` neighbours, the last one of what is left."""
    if grain < 1:
        raise SizeError("no task without work", expected="a grain >= 1", got=grain)
    return [sum(costs[first : first + grain]) for first in range(0, len(costs), grain)]


def simulate(
    costs: Sequence[float],
    workers: int,
    *,
    how: str = "static",
    serial: float = 0.0,
    start: float = 0.0,
    take: float = 0.0,
) -> Timeline:
    """Simulate tasks of these costs on ``workers`` equally fast workers.

    ``how``: "static", in TVM's ``chunks``; "interleaved", task t on worker t % workers; "dynamic",
    each worker takes the next task when it is free, which costs ``take`` for each one. Before the
    first task, one worker does ``serial`` work and needs ``start`` to wake the others.

    Raises ``UsageError`` for another ``how``, no tasks or no workers, ``SizeError`` for a cost
    below 0.
    """
    _check_workers(workers)
    check_known("no such way to share tasks", how, HOW)
    if not costs:
        raise UsageError("nothing to do", expected="one task or more", got="none")
    if any(not each >= 0 for each in (*costs, serial, start, take)):
        raise SizeError("a cost is below 0", expected="costs >= 0", got=min(costs))
    begin = serial + start
    if how == "dynamic":
        intervals = _dynamic(costs, workers, begin, take)
    else:
        count = len(costs)
        shares = chunks(count, workers)
        if how == "interleaved":
            shares = [range(w, count, workers) for w in range(workers)]
        intervals = [each for w, own in enumerate(shares) for each in _run(costs, own, w, begin)]
    return Timeline(workers, tuple(intervals), max(each.end for each in intervals))


def _run(costs: Sequence[float], own: range, worker: int, begin: float) -> list[Interval]:
    """One worker's tasks, one after another."""
    times = list(accumulate((costs[task] for task in own), initial=begin))
    return [Interval(t, worker, times[i], times[i + 1]) for i, t in enumerate(own)]


def _dynamic(costs: Sequence[float], workers: int, begin: float, take: float) -> list[Interval]:
    free = [(begin, worker) for worker in range(workers)]
    intervals = []
    for task, cost in enumerate(costs):
        now, worker = heapq.heappop(free)
        now += take
        intervals.append(Interval(task, worker, now, now + cost))
        heapq.heappush(free, (now + cost, worker))
    return intervals


def amdahl(serial: float, workers: int) -> float:
    """The largest possible speed-up when the share ``serial`` of the work runs on one worker.

    Source: G. Amdahl, AFIPS 1967. Raises ``UsageError`` for a share that is not in [0, 1].
    """
    _check_workers(workers)
    if not 0 <= serial <= 1:
        raise UsageError("not a share", expected="serial in [0, 1]", got=serial)
    return 1 / (serial + (1 - serial) / workers)


def serial_share(speedup: float, workers: int) -> float:
    """The serial share that would give this speed-up by Amdahl's law (Karp and Flatt's metric).

    Whatever held the workers up counts as serial; below 0, the speed-up is above their number.
    Source: A. Karp, H. Flatt, CACM 1990. Raises ``UsageError`` for fewer than two workers, or a
    speed-up that is not above 0.
    """
    if workers < 2 or not speedup > 0:
        raise UsageError(
            "no serial share can be told",
            expected="two workers or more, a speed-up above 0",
            got=f"{workers} workers, speed-up {speedup}",
        )
    return (workers / speedup - 1) / (workers - 1)


def _check_workers(workers: int) -> None:
    if workers < 1:
        raise UsageError("nobody to do the work", expected="one worker or more", got=workers)
