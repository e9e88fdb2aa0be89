"""Jobs: who makes the calls of a search, this process as results are asked for, or an executor.

A *job* is a generator. It yields calls, several at once where it can, is sent what they return, and
returns a result. It does not know who makes its calls, so its result does not depend on that. Calls
go to other processes and machines: they are functions of modules, with plain data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Call = tuple[Callable[..., Any], tuple[Any, ...]]
Job = Generator[Sequence[Call], Any, T]
GRACE = 1.0  # seconds for a worker to notice that the time is up


def results(
    jobs: Sequence[Job[T]], executor: Executor | None, deadline: float | None = None
) -> Iterator[T]:
    """Yield what the jobs return, in their order, until the deadline, a time of ``time.time``.

    Without an executor a job begins when its result is asked for. An executor gets the calls of all
    jobs at once, so that no worker waits for a job that takes long.
    """
    if executor is not None:
        yield from _results_of(executor, jobs, deadline)
        return
    for job in jobs:
        if deadline is not None and time.time() >= deadline:
            return
        running = _Running(job, _called_here)
        while not running.over:
            running.go_on()
        yield running.result


def _called_here(function: Callable[..., Any], *given: Any) -> Future[Any]:
    made: Future[Any] = Future()
    made.set_result(function(*given))
    return made


def _results_of(executor: Executor, jobs: Sequence[Job[T]], deadline: float | None) -> Iterator[T]:
    every = [_Running(job, executor.submit) for job in jobs]
    try:
        for each in every:
            while not each.over:
                pending = [future for running in every for future in running.go_on()]
                left = None if deadline is None else max(0.0, deadline + GRACE - time.time())
                if each.over or not pending:
                    continue
                if not wait(pending, left, FIRST_COMPLETED).done:
                    return
            yield each.result
    except CancelledError:
        return
    finally:
        for running in every:
            for future in running.futures:
                future.cancel()


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

    def _ask(self, answers: Sequence[Any] | None) -> None:
        try:
            self.futures = [self.submit(call, *given) for call, given in self.job.send(answers)]
        except StopIteration as end:
            self.over, self.result, self.futures = True, end.value, []
