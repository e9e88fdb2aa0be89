"""Jobs: whoever makes their calls, in their order; and the graphs of a task that are kept."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from mlc_course.mugraph.cost import A100, Cost, cost
from mlc_course.mugraph.programs import published, workload
from mlc_course.mugraph.search.jobs import Call, Job, results
from mlc_course.mugraph.search.task import (
    CANNOT_TELL,
    DEARER,
    REFUTED,
    FusedGraph,
    Outcome,
    Task,
    check,
    confirmed,
)


def summed(*rounds: Sequence[int]) -> Job[int]:
    """Asks for some squares, then for others; the sum of all."""
    total = 0
    for numbers in rounds:
        total += sum((yield [(pow, (n, 2)) for n in numbers]))
    return total


def jobs() -> list[Job[int]]:
    return [summed([1, 2], [3]), summed(), summed([4], [], [5, 6]), summed([])]


def test_results_come_in_the_order_of_the_jobs_whoever_works() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert list(results(jobs(), pool)) == list(results(jobs(), None)) == [14, 0, 77, 0]


def test_a_job_goes_on_while_one_before_it_waits() -> None:
    """The first job's call ends only after the second job's second one."""
    begun = Event()

    def slow() -> Job[str]:
        (late,) = yield [(begun.wait, (10,))]
        return "late" if late else "never"

    def quick() -> Job[str]:
        yield [(pow, (1, 2))]
        yield [(begun.set, ())]
        return "quick"

    with ThreadPoolExecutor(2) as pool:
        assert list(results([slow(), quick()], pool)) == ["late", "quick"]


def test_here_a_job_begins_when_its_result_is_asked_for() -> None:
    begun: list[int] = []

    def noted(number: int) -> Generator[Sequence[Call], Any, int]:
        yield [(begun.append, (number,))]
        return number

    stream = results([noted(0), noted(1)], None)
    assert (next(stream), begun) == (0, [0])


class Never(Executor):
    """Work that is never done."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        self.futures.append(Future())
        return self.futures[-1]


def test_at_the_deadline_results_end_and_calls_are_cancelled() -> None:
    assert not list(results(jobs(), None, deadline=time.time()))
    pool = Never()
    assert not list(results(jobs(), pool, deadline=time.time() - 10))
    assert pool.futures
    assert all(each.cancelled() for each in pool.futures)


def test_what_a_call_raises_is_raised() -> None:
    def broken() -> Job[int]:
        return (yield [(divmod, (1, 0))])

    with ThreadPoolExecutor(2) as pool:
        for executor in (None, pool):
            with pytest.raises(ZeroDivisionError):
                list(results([broken()], executor))


LORA = workload("lora")
RIGHT = str(published("lora_looped"))
WRONG = RIGHT.replace("= add(", "= mul(")
TASK = Task(str(LORA), (), A100, keep=1)
FREE = Cost(*[0.0] * len(vars(cost(LORA, A100))))


def found(text: str, nest: str = "no loop", cost: Cost = FREE) -> FusedGraph:
    return FusedGraph(text, nest, 4, cost)


def kept(*graphs: FusedGraph, task: Task = TASK) -> Outcome:
    (outcome,) = results([confirmed(task, Outcome(found=list(graphs)))], None)
    return outcome


def test_what_is_refuted_is_counted_and_the_next_takes_its_place() -> None:
    assert WRONG != RIGHT
    outcome = kept(found(WRONG), found(RIGHT), found(RIGHT + " "))
    assert [each.text for each in outcome.found] == [RIGHT]
    assert (outcome.found[0].verdict or {})["equal"]
    assert outcome.pruned == {REFUTED: 1}


def test_of_each_nest_some_are_kept_and_what_is_too_dear_is_said() -> None:
    outcome = kept(found(RIGHT), found(RIGHT + " ", "loop over d", replace(FREE, memory=1.0)))
    assert [each.nest for each in outcome.found] == ["no loop"]
    assert outcome.pruned == {DEARER: 1}
    assert "loop over d" in outcome.closest


def test_without_verification_all_are_kept_that_are_wanted() -> None:
    task = Task(str(LORA), (), A100, keep=1, verified=False)
    outcome = kept(found(WRONG), found(RIGHT, "loop over d"), found(RIGHT), task=task)
    assert [each.text for each in outcome.found] == [WRONG, RIGHT]


def test_a_check_says_why_there_is_no_verdict() -> None:
    inputs = "p(X[b=2, d=2], Z[b, d])"
    roots = f"{inputs}:\n  r = sqrt(X)\n  s = sqrt(Z)\n  Y = mul(r, s)\n  return Y"
    alone = f"{inputs}:\n  p = mul(X, Z)\n  Y = sqrt(p)\n  return Y"
    assert check(roots, alone, 1e-9, 0) == CANNOT_TELL
    assert check(str(LORA), WRONG, 1e-9, 0) == REFUTED
