"""Jobs: whoever makes their calls, in their order; and the graphs of a task that are kept."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from mlc_course.mugraph.cost import A100, Cost, cost
from mlc_course.mugraph.programs import published, workload
from mlc_course.mugraph.search.jobs import Call, Crew, Job
from mlc_course.mugraph.search.residue_bank import OUT_OF_TIME
from mlc_course.mugraph.search.task import (
    CANNOT_TELL,
    DEARER,
    MUCH_DEARER,
    REFUTED,
    FusedGraph,
    Outcome,
    Task,
    check,
    confirmed,
    explore,
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
        there = list(Crew(pool).results(jobs()))
    assert there == list(Crew().results(jobs())) == [14, 0, 77, 0]


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
        assert list(Crew(pool).results([slow(), quick()])) == ["late", "quick"]


def test_here_a_job_begins_when_its_result_is_asked_for() -> None:
    begun: list[int] = []

    def noted(number: int) -> Generator[Sequence[Call], Any, int]:
        yield [(begun.append, (number,))]
        return number

    crew, both = Crew(), [noted(0), noted(1)]
    crew.later(both)
    stream = crew.results(both)
    assert (next(stream), begun) == (0, [0])


class Never(Executor):
    """Work that is never done."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        self.futures.append(Future())
        return self.futures[-1]


def test_at_the_deadline_results_end_and_calls_are_cancelled() -> None:
    assert not list(Crew(deadline=time.time()).results(jobs()))
    pool = Never()
    assert not list(Crew(pool, deadline=time.time() - 10).results(jobs()))
    assert pool.futures
    assert all(each.cancelled() for each in pool.futures)


def test_what_a_call_raises_is_raised() -> None:
    def broken() -> Job[int]:
        return (yield [(divmod, (1, 0))])

    with ThreadPoolExecutor(2) as pool:
        for executor in (None, pool):
            with pytest.raises(ZeroDivisionError):
                list(Crew(executor).results([broken()]))


def test_an_idle_worker_begins_what_is_asked_for_later() -> None:
    """The first job ends only once one of the jobs behind it has run."""
    begun = Event()

    def first() -> Job[bool]:
        (late,) = yield [(begun.wait, (10,))]
        return bool(late)

    def behind() -> Job[str]:
        yield [(begun.set, ())]
        return "behind"

    with ThreadPoolExecutor(2) as pool:
        crew, later = Crew(pool), [behind(), behind()]
        crew.later(later)
        assert list(crew.results([first()])) == [True]
        assert list(crew.results(later)) == ["behind", "behind"]


def test_what_waits_behind_is_cancelled_at_the_end() -> None:
    pool = Never()
    crew = Crew(pool, deadline=time.time() - 10)
    crew.later(jobs())
    assert not list(crew.results([summed([1])]))
    crew.close()
    assert len(pool.futures) > 1
    assert all(each.cancelled() for each in pool.futures)


LORA = workload("lora")
RIGHT = str(published("lora_looped"))
WRONG = RIGHT.replace("= add(", "= mul(")
TASK = Task(str(LORA), (), A100, most=cost(LORA, A100).total)
FREE = Cost(*[0.0] * len(vars(cost(LORA, A100))))


FOUR = ("add", "matmul", "matmul", "matmul")


def found(
    text: str, nest: str = "no loop", cost: Cost = FREE, made_of: tuple[str, ...] = FOUR
) -> FusedGraph:
    return FusedGraph(text, nest, made_of, cost)


def kept(*graphs: FusedGraph, task: Task = TASK) -> Outcome:
    (outcome,) = Crew().results([confirmed(task, Outcome(found=list(graphs)))])
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


def test_what_is_twice_as_dear_as_a_graph_of_another_task_is_not_verified() -> None:
    one, two = replace(FREE, memory=1e-9), replace(FREE, memory=2.1e-9)
    graphs = found(RIGHT, cost=one), found(WRONG, "loop over d", cost=two)
    for best, names in ((math.inf, [RIGHT]), (0.9e-9, [RIGHT]), (0.4e-9, [])):
        (outcome,) = Crew().results([confirmed(TASK, Outcome(found=list(graphs)), best)])
        assert [each.text for each in outcome.found] == names
        assert outcome.pruned == ({MUCH_DEARER: 1} if names else {MUCH_DEARER: 2})


def test_without_verification_all_are_kept_that_are_wanted() -> None:
    task = Task(str(LORA), (), A100, verified=False)
    outcome = kept(found(WRONG), found(RIGHT, "loop over d"), found(RIGHT), task=task)
    assert [each.text for each in outcome.found] == [WRONG, RIGHT]


def test_a_graph_of_other_operators_that_costs_hardly_more_is_kept_too() -> None:
    dear = replace(FREE, memory=1e-9)
    first = found(RIGHT, cost=replace(FREE, memory=9.5e-10))
    same, other = found(RIGHT + " ", cost=dear), found(RIGHT + "  ", cost=dear, made_of=FOUR[1:])
    much = found(RIGHT + "   ", cost=replace(FREE, memory=2e-9), made_of=FOUR[1:])
    assert [each.text for each in kept(first, same, other, much).found] == [RIGHT, RIGHT + "  "]
    assert len(kept(first, same, much).found) == 1


def test_a_check_says_why_there_is_no_verdict() -> None:
    inputs = "p(X[b=2, d=2], Z[b, d])"
    roots = f"{inputs}:\n  r = sqrt(X)\n  s = sqrt(Z)\n  Y = mul(r, s)\n  return Y"
    alone = f"{inputs}:\n  p = mul(X, Z)\n  Y = sqrt(p)\n  return Y"
    why = check(Task(roots, (), A100), alone)
    assert isinstance(why, str)
    assert why not in (REFUTED, OUT_OF_TIME)
    assert check(TASK, WRONG) == REFUTED
    assert check(replace(TASK, deadline=0.0), RIGHT) == OUT_OF_TIME


def test_what_the_verifier_cannot_tell_is_listed() -> None:
    inputs = "p(X[b=2, d=2], Z[b, d])"
    roots = f"{inputs}:\n  r = sqrt(X)\n  s = sqrt(Z)\n  Y = mul(r, s)\n  return Y"
    alone = f"{inputs}:\n  p = mul(X, Z)\n  Y = sqrt(p)\n  return Y"
    outcome = kept(found(alone), task=Task(roots, (), A100))
    assert not outcome.found
    assert [(graph.text, bool(why)) for graph, why in outcome.undecided] == [(alone, True)]
    assert outcome.pruned == {CANNOT_TELL: 1}


def test_without_time_nothing_is_verified_and_the_outcome_says_so() -> None:
    outcome = kept(found(RIGHT), task=replace(TASK, deadline=0.0))
    assert not outcome.found
    assert outcome.cut == ["out of time in a verification"]
    assert not outcome.pruned


def test_a_bank_stops_at_its_memory() -> None:
    task = Task(str(workload("qk_norm_attention")), (("n",),), A100, memory=20_000)
    outcome = explore(task)
    assert all(cut.startswith("0.0 GB") for cut in outcome.cut)
    assert outcome.cut
    assert outcome.values < explore(replace(task, memory=1 << 30)).values
