"""The superoptimizer: every nest of a program, and every cut of it into kernels, as one stream.

The whole program comes first: each bank of ``nest.py`` is a task. Then come programs in several
kernels (``segments.py``), of which each part is searched by itself and the best graphs are joined.
The order of the events is that of the tasks, whoever does them, so that a seed repeats a search on
one process, on many, and on a cluster.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Protocol

from mlc_course.mugraph.cost import Cost, cost
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.search.admission import admitted
from mlc_course.mugraph.search.confirm import DEARER, WORTH, confirmed, verification
from mlc_course.mugraph.search.events import Ended, Event, Found, Pruned, Started, Tried
from mlc_course.mugraph.search.grow import OUT_OF_TIME
from mlc_course.mugraph.search.nest import Problem
from mlc_course.mugraph.search.segments import Plan, Segment, inside, joined, plans
from mlc_course.mugraph.search.task import Outcome, Task, explore
from mlc_course.mugraph.search.work import Job, results
from mlc_course.mugraph.target import A100, Target
from mlc_course.mugraph.text import parse
from mlc_course.mugraph.verdicts import read_verdict

KEEP = 2  # graphs of each nest


class Keeps(Protocol):
    """Where outcomes are kept (``store.py``)."""

    def load(self, task: Task) -> Outcome | None: ...

    def save(self, task: Task, outcome: Outcome) -> None: ...


def superoptimize(
    program: KernelGraph,
    target: Target = A100,
    *,
    max_ops: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    error: float = 1e-9,
    executor: Executor | None = None,
    store: Keeps | None = None,
) -> Iterator[Event]:
    """Search for fused graphs that are equal to a program of predefined operators.

    ``max_ops`` limits the operators of a graph, loads and stores not counted, ``time_limit`` the
    seconds. Every graph is verified with at most this ``error``. Without an executor all is done
    here, task by task, as events are asked for. A store gives what it has of the same search and
    keeps what is new, so that a search that was stopped goes on. Raises, before anything is
    searched, ``UsageError``, ``GraphError`` or ``Undecided`` for a program or for limits with which
    nothing could be found.
    """
    problem = admitted(program, target, max_ops=max_ops, time_limit=time_limit)
    deadline = None if time_limit is None else time.time() + time_limit
    base = Task(str(program), (), target, max_ops, seed, KEEP, error, deadline=deadline)
    whole = [replace(base, loops=loops) for loops in problem.banks()]
    if not all(inside(equation.op) for equation in program.equations):
        whole = []
    cuts = plans(program, problem.classes)
    pieces = {each.program: None for plan in cuts for each in plan if each.fused}
    of_piece = {piece: _tasks_of(piece, base) for piece in pieces}
    work = [(program.name, task) for task in whole]
    work += [(_range(piece), task) for piece, tasks in of_piece.items() for task in tasks]
    yield from _searched(program, base, work, cuts, of_piece, executor, store)


def _tasks_of(piece: KernelGraph, base: Task) -> list[Task]:
    """One graph of each nest without parts; it is verified with the whole."""
    task = replace(base, program=str(piece), keep=1, thorough=False, verified=False, parts=False)
    return [replace(task, loops=loops) for loops in Problem(piece).banks(parts=False)]


def _range(piece: KernelGraph) -> str:
    made = [equation.names[0] for equation in piece.equations]
    return f"{made[0]} to {made[-1]}" if len(made) > 1 else made[0]


def _searched(
    program: KernelGraph,
    base: Task,
    work: Sequence[tuple[str, Task]],
    cuts: Sequence[Plan],
    of_piece: dict[KernelGraph, list[Task]],
    executor: Executor | None,
    store: Keeps | None,
) -> Iterator[Event]:
    yield Started(len(work))
    done: dict[tuple[str, tuple[tuple[str, ...], ...]], Outcome] = {}
    found, cut, closest = 0, dict[str, None](), (0.0, "")
    known = [store.load(task) if store else None for _, task in work]
    jobs = [_outcome(task, each) for (_, task), each in zip(work, known, strict=True)]
    outcomes = results(jobs, executor, base.deadline)
    for (part, task), each, outcome in zip(work, known, outcomes, strict=False):
        done[task.program, task.loops] = outcome
        if store and each is None and OUT_OF_TIME not in " ".join(outcome.cut):
            store.save(task, outcome)
        for event in _events(part, task, outcome):
            found += isinstance(event, Found)
            yield event
        cut |= {f"{task}: {each}": None for each in outcome.cut}
        if task.program == base.program:
            closest = max(closest, (outcome.reach, outcome.closest), key=lambda each: each[0])
    joint = [_joint(program, plan, base, done, of_piece) for plan in cuts]
    for whole in results(joint, executor):
        found += isinstance(whole, Found)
        yield from (whole,) if whole else ()
    if len(done) < len(work):
        cut[f"{OUT_OF_TIME} after {len(done)} of {len(work)} tasks"] = None
    yield Ended(found, "" if found else closest[1], tuple(cut))


def _outcome(task: Task, known: Outcome | None) -> Job[Outcome]:
    if known is not None:
        return known
    (outcome,) = yield [(explore, (task,))]
    return (yield from confirmed(task, outcome))


def _events(part: str, task: Task, outcome: Outcome) -> Iterator[Event]:
    nests = str(task)
    yield Tried(part, nests, outcome.tried, outcome.values, outcome.instances, tuple(outcome.cut))
    for reason, count in sorted(outcome.pruned.items()):
        yield Pruned(part, nests, reason, count)
    for each in outcome.found if task.verified else ():
        yield Found(
            parse(each["text"]),
            read_verdict(each["verdict"]),
            Cost(**each["cost"]),
            each["nest"],
            each["operators"],
            each["instances"],
            each["fit"],
        )


def _joint(
    program: KernelGraph,
    plan: Plan,
    base: Task,
    done: dict[tuple[str, tuple[tuple[str, ...], ...]], Outcome],
    of_piece: dict[KernelGraph, list[Task]],
) -> Job[Event | None]:
    """The graphs of a plan's segments joined, if each of them has one."""
    how = " | ".join(each.name for each in plan)
    best = [_best(each, base.target, done, of_piece) for each in plan]
    chosen = [each for each in best if each is not None]
    if len(chosen) < len(plan):
        return None
    graphs = [parse(each["text"]) for each in chosen]
    operators = sum(each["operators"] for each in chosen)
    if base.max_ops is not None and operators > base.max_ops:
        return None
    graph = joined(program, graphs, f"{program.name}_in_{len(plan)}")
    price = cost(graph, base.target)
    if price.total > WORTH * cost(program, base.target).total:
        return Pruned(program.name, how, DEARER, 1)
    (verdict,) = yield [verification(base, str(graph))]
    if isinstance(verdict, str):
        return Pruned(program.name, how, verdict, 1)
    counted = [sum(each[what] for each in chosen) for what in ("instances", "fit")]
    return Found(graph, read_verdict(verdict), price, f"cut: {how}", operators, *counted)


def _best(
    of: Segment,
    target: Target,
    done: dict[tuple[str, tuple[tuple[str, ...], ...]], Outcome],
    of_piece: dict[KernelGraph, list[Task]],
) -> dict[str, Any] | None:
    """The cheapest graph of a segment; a single operator may stay as it is."""
    found: list[dict[str, Any]] = []
    if len(of.program.equations) == 1:
        terms = cost(of.program, target).terms
        one = {"text": str(of.program), "operators": 1, "instances": 1, "fit": 1, "cost": terms}
        found.append(one)
    for task in of_piece.get(of.program, ()):
        outcome = done.get((task.program, task.loops))
        found += outcome.found if outcome else []
    return min(found, key=lambda each: sum(each["cost"].values()), default=None)
