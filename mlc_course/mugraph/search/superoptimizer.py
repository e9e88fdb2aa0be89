"""The superoptimizer: search for fused graphs that are equal to a program, as a stream of events.

The whole program comes first: each bank of ``loop_nests`` is a task. Then come programs in several
kernels (``kernel_partition``), of which each part is searched by itself and the best graphs are
joined. The order of the events is that of the tasks, whoever does them, so that a seed repeats a
search on one process, on many, and on a cluster. A progress bar, a log and a test read the same
stream.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

from mlc_course.errors import CourseError, GraphError, UsageError
from mlc_course.mugraph.cost import A100, Cost, Target, cost
from mlc_course.mugraph.ir import BlockGraph, KernelGraph, ThreadGraph, parse
from mlc_course.mugraph.search.jobs import Job, results
from mlc_course.mugraph.search.kernel_partition import Plan, Segment, inside, joined, plans
from mlc_course.mugraph.search.loop_nests import Loops, Problem, expressions
from mlc_course.mugraph.search.residue_bank import OUT_OF_TIME
from mlc_course.mugraph.search.result_store import Store
from mlc_course.mugraph.search.task import (
    DEARER,
    WORTH,
    FusedGraph,
    Outcome,
    Task,
    confirmed,
    explore,
    verification,
)
from mlc_course.mugraph.search.value_facts import Refused
from mlc_course.mugraph.verify import Verdict, read_verdict, verify

MOST_SIZES = 12  # each of which is a prime of its own in the tests of a bank
KEEP = 2  # graphs of each nest
Done = dict[tuple[str, Loops], Outcome]  # by the program's text and the loops of a task


@dataclass(frozen=True)
class Started:
    """The search has ``tasks`` tasks to do, each of which ends with a ``Tried``."""

    tasks: int


@dataclass(frozen=True)
class Tried:
    """One bank was grown: ``candidates`` were tried, ``values`` kept, ``instances`` costed.

    ``part`` names the part of the program, ``nests`` its loops. ``cut`` are the limits that ended
    the growth; without one the bank is complete.
    """

    part: str
    nests: str
    candidates: int
    values: int
    instances: int
    cut: tuple[str, ...]


@dataclass(frozen=True)
class Pruned:
    """``count`` of a bank's candidates, or of graphs read off it, are refused for one reason."""

    part: str
    nests: str
    reason: str
    count: int


@dataclass(frozen=True)
class Found:
    """A graph that is equal to the program, with its estimated cost.

    It is the cheapest of ``instances`` choices of grids and extents, of which ``fit`` the machine.
    """

    graph: KernelGraph
    verdict: Verdict
    cost: Cost
    how: str
    operators: int
    instances: int
    fit: int


@dataclass(frozen=True)
class Ended:
    """The search is over. If it found no graph, ``closest`` says what came closest to one.

    ``cut`` lists the limits that were reached, in words.
    """

    found: int
    closest: str = ""
    cut: tuple[str, ...] = field(default=())


Event = Started | Tried | Pruned | Found | Ended


def superoptimize(
    program: KernelGraph,
    target: Target = A100,
    *,
    max_ops: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    error: float = 1e-9,
    executor: Executor | None = None,
    store: Store | None = None,
) -> Iterator[Event]:
    """Search for fused graphs that are equal to a program of predefined operators.

    ``max_ops`` limits the operators of a graph, loads and stores not counted, ``time_limit`` the
    seconds. Every graph is verified with at most this ``error``. Without an executor this process
    does the work, task by task, as events are asked for. A store gives what it has of the same
    search and keeps what is new, so that a search that was stopped goes on. Raises, before anything
    is searched, ``UsageError``, ``GraphError`` or ``Undecided`` for a program or for limits with
    which nothing could be found.
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
    """Tasks that keep one graph of each nest without parts; it is verified with the whole."""
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
    store: Store | None,
) -> Iterator[Event]:
    yield Started(len(work))
    done: Done = {}
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
            parse(each.text),
            read_verdict(each.verdict or {}),
            each.cost,
            each.nest,
            each.operators,
            each.instances,
            each.fit,
        )


def _joint(
    program: KernelGraph,
    plan: Plan,
    base: Task,
    done: Done,
    of_piece: dict[KernelGraph, list[Task]],
) -> Job[Event | None]:
    """Join the graphs of a plan's segments, if each of them has one, and verify the whole."""
    how = " | ".join(each.name for each in plan)
    best = [_best(each, base.target, done, of_piece) for each in plan]
    chosen = [each for each in best if each is not None]
    if len(chosen) < len(plan):
        return None
    graphs = [parse(each.text) for each in chosen]
    operators = sum(each.operators for each in chosen)
    if base.max_ops is not None and operators > base.max_ops:
        return None
    graph = joined(program, graphs, f"{program.name}_in_{len(plan)}")
    price = cost(graph, base.target)
    if price.total > WORTH * cost(program, base.target).total:
        return Pruned(program.name, how, DEARER, 1)
    (verdict,) = yield [verification(base, str(graph))]
    if isinstance(verdict, str):
        return Pruned(program.name, how, verdict, 1)
    instances, fit = sum(each.instances for each in chosen), sum(each.fit for each in chosen)
    said = read_verdict(verdict)
    return Found(graph, said, price, f"cut: {how}", operators, instances, fit)


def _best(
    of: Segment,
    target: Target,
    done: Done,
    of_piece: dict[KernelGraph, list[Task]],
) -> FusedGraph | None:
    """Return the cheapest graph of a segment; a single operator may stay unfused."""
    found: list[FusedGraph] = []
    if len(of.program.equations) == 1:
        found.append(FusedGraph(str(of.program), "", 1, cost(of.program, target)))
    for task in of_piece.get(of.program, ()):
        outcome = done.get((task.program, task.loops))
        found += outcome.found if outcome else []
    return min(found, key=lambda each: each.cost.total, default=None)


# What a search refuses before it starts: programs and limits with which nothing can be found.


def admitted(
    program: KernelGraph,
    target: Target,
    *,
    max_ops: int | None = None,
    time_limit: float | None = None,
) -> Problem:
    """Return the program as a problem to search; raise ``CourseError`` with what is wrong."""
    if max_ops is not None and max_ops < 1:
        raise UsageError("superoptimize: operators", expected="1 or more", got=max_ops)
    if time_limit is not None and not time_limit > 0:
        raise UsageError("superoptimize: seconds", expected="more than 0", got=time_limit)
    for equation in program.equations:
        if isinstance(equation.op, BlockGraph | ThreadGraph):
            raise GraphError(
                f"{program.name}: {equation} is a graph already",
                expected="a program of predefined operators",
                hint="give the program that this graph computes",
            )
    if not program.equations or not any(inside(equation.op) for equation in program.equations):
        raise GraphError(
            f"{program.name}: nothing to fuse",
            expected="an operator on elements, a sum, a maximum or a product",
            got=", ".join(str(equation.op) for equation in program.equations) or "no operator",
        )
    if len(program.sizes) > MOST_SIZES:
        raise UsageError(
            f"{program.name}: too many dimensions", expected=MOST_SIZES, got=len(program.sizes)
        )
    _check_limits(program, target)
    _check_sizes(program)
    _check_meaning(program)
    return Problem(program)


def _check_limits(program: KernelGraph, target: Target) -> None:
    """Check that a block can hold an element of an input and one of an output."""
    if target.shared_bytes < 2 * target.itemsize:
        raise UsageError(
            f"{target.name}: no block fits into {target.shared_bytes} bytes of shared memory",
            expected=f"{2 * target.itemsize} or more: an element that comes in, one that goes out",
            got=target.shared_bytes,
        )


def _check_sizes(program: KernelGraph) -> None:
    sizes = {size for _, size in program.sizes if size > 1}
    if not any(_divides(size) for size in sizes):
        raise UsageError(
            f"{program.name}: no size can be cut into tiles",
            expected="a size with a divisor",
            got=", ".join(f"{name}={size}" for name, size in program.sizes),
            hint="pad one to a multiple of 16",
        )


def _divides(size: int) -> bool:
    return any(size % d == 0 for d in range(2, math.isqrt(size) + 1))


def _check_meaning(program: KernelGraph) -> None:
    """Check that the program can be verified and that each value has an abstract expression."""
    try:
        expressions(program)
    except Refused as refused:
        raise GraphError(
            f"{program.name}: it has no abstract expression: {refused.reason}",
            expected="no term that is subtracted from itself",
            hint="write the program without what cancels",
        ) from None
    except (AttributeError, TypeError, NotImplementedError) as error:
        raise GraphError(
            f"{program.name}: an operator without an abstract meaning",
            expected="a meaning in the operations of ``Arithmetic`` alone",
            got=error,
        ) from None
    try:
        verify(program, program, error=0.5, seed=0)
    except CourseError as error:
        error.add_note(f"so that nothing could be verified against {program.name}")
        raise
