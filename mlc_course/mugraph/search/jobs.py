"""Jobs: who makes the calls of a search, this process as results are asked for, or an executor.

A *job* is a generator. It yields calls, several at once where it can, is sent what they return, and
returns a result. It does not know who makes its calls, so its result does not depend on that. Calls
go to other processes and machines: they are functions of modules, with plain data.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Call = tuple[Callable[..., Any], tuple[Any, ...]]
Job = Generator[Sequence[Call], Any, T]
LONG = 1e6  # seconds
MANY = 16  # workers of an executor that does not say how many it has
GRACE = 0.2  # seconds for a worker to notice that the time is up


class Crew:
    """A crew makes the calls of jobs: an executor's workers, or this process when it is asked.

    Everything ends at the deadline, a time of ``time.time``.
    """

    def __init__(self, executor: Executor | None = None, deadline: float | None = None) -> None:
        self.executor, self.deadline = executor, deadline
        self.workers = getattr(executor, "_max_workers", MANY)
        self._waiting: deque[Job[Any]] = deque()
        self._behind: dict[int, _Running[Any]] = {}  # by the job

    def later(self, jobs: Iterable[Job[Any]]) -> None:
        """Begin these jobs where workers have nothing else to do; ``results`` is asked later."""
        if self.executor is not None:
            self._waiting.extend(jobs)

    def results(self, jobs: Sequence[Job[T]]) -> Iterator[T]:
        """Yield what the jobs return, in their order, until the deadline.

        Without an executor a job begins when its result is asked for. An executor gets the calls of
        all jobs at once, so that no worker waits for a job that takes long.
        """
        if self.executor is not None:
            yield from self._results_of(self.executor, jobs)
            return
        for job in jobs:
            if self.deadline is not None and time.time() >= self.deadline:
                return
            running = _Running(job, _called_here)
            while not running.over:
                running.go_on()
            yield running.result

    def close(self) -> None:
        """Cancel what waits."""
        self._waiting.clear()
        for running in self._behind.values():
            running.cancel()

    def _results_of(self, executor: Executor, jobs: Sequence[Job[T]]) -> Iterator[T]:
        asked = set(map(id, jobs))
        self._waiting = deque(job for job in self._waiting if id(job) not in asked)
        every = [
            self._behind.pop(id(job)) if id(job) in self._behind else _Running(job, executor.submit)
            for job in jobs
        ]
        try:
            for each in every:
                while not each.over:
                    pending = [future for running in every for future in running.go_on()]
                    if each.over or not pending:
                        continue
                    pending += self._others(executor, len(pending))
                    left = None
                    if self.deadline is not None:
                        left = min(max(0.0, self.deadline + GRACE - time.time()), LONG)
                    if not wait(pending, left, FIRST_COMPLETED).done:
                        return
                yield each.result
        except CancelledError:
            return
        finally:
            for running in every:
                running.cancel()

    def _others(self, executor: Executor, busy: int) -> list[Future[Any]]:
        """Return the calls of the jobs behind; begin another where a worker would be idle."""
        pending = [future for running in self._behind.values() for future in running.go_on()]
        while busy + len(pending) < self.workers and self._waiting:
            job = self._waiting.popleft()
            self._behind[id(job)] = running = _Running(job, executor.submit)
            pending += running.go_on()
        return pending


def _called_here(function: Callable[..., Any], *given: Any) -> Future[Any]:
    made: Future[Any] = Future()
    made.set_result(function(*given))
    return made


class _Running(Generic[T]):
    """A job that has begun, with the calls that it waits for."""

    result: T

    def __init__(self, job: Job[T], submit: Callable[..., Future[Any]]) -> None:
        self.job, self.submit, self.over = job, submit, False
        self._ask(None)

    def go_on(self) -> list[Future[Any]]:
        """Resume the job if all its calls are answered; return the calls that it now waits for."""
        waits_for = [future for future in self.futures if not future.done()]
        if self.over or waits_for:
            return waits_for
        self._ask([future.result() for future in self.futures])
        return self.futures

    def cancel(self) -> None:
        """Cancel the calls that have not begun."""
        for future in self.futures:
            future.cancel()

    def _ask(self, answers: Sequence[Any] | None) -> None:
        try:
            self.futures = [self.submit(call, *given) for call, given in self.job.send(answers)]
        except StopIteration as end:
            self.over, self.result, self.futures = True, end.value, []
