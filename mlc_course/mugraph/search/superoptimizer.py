"""The superoptimizer: search for fused graphs that are equal to a program, as a stream of events.

Segments of the program come first (``kernel_partition``): each is searched by itself, short ones
before long ones, and the best graphs of a plan's segments are joined, so that there is an answer
early, and a better one whenever a plan gets cheaper. Then the whole program is searched, each bank
of ``loop_nests`` a task, if it is not too long for that. The order of the events is that of the
tasks, whoever does them, so that a seed repeats a search on one process, on many, and on a cluster.
A progress bar, a log and a test read the same stream.

*Why the segments' verdicts are enough.* A joined graph computes, segment by segment, what the
program computes there. So it is equal to the program if each of its kernels is equal to its
segment, with an error of at most the sum of theirs.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

from mlc_course.deadline import OutOfTime, until
from mlc_course.errors import CourseError, GraphError, Undecided, UsageError
from mlc_course.mugraph.cost import A100, Cost, Target, cost
from mlc_course.mugraph.ir import BlockGraph, KernelGraph, Op, ThreadGraph, ops, parse
from mlc_course.mugraph.search.dimensions import Classes
from mlc_course.mugraph.search.jobs import Crew, Job
from mlc_course.mugraph.search.kernel_partition import (
    Partition,
    Plan,
    Segment,
    inside,
    joined,
    segment_program,
)
from mlc_course.mugraph.search.loop_nests import Problem, expressions
from mlc_course.mugraph.search.own_operators import alone, check_operator, own, packed
from mlc_course.mugraph.search.residue_bank import OUT_OF_TIME
from mlc_course.mugraph.search.result_store import Store
from mlc_course.mugraph.search.task import (
    REFUTED,
    FusedGraph,
    Outcome,
    Task,
    confirmed,
    explore,
    verification,
)
from mlc_course.mugraph.search.value_facts import Refused
from mlc_course.mugraph.search.value_names import once
from mlc_course.mugraph.verify import Verdict, read_verdict, screen, together

FEW = 6  # elements along each axis, to try an operator on
MOST_ELEMENTS = 1 << 40  # of a value
MOST_SIZES = 12  # each of which is a prime of its own in the expressions of a bank
LONGEST = 16  # equations that are searched as one kernel
LENGTHS = (4, 8, LONGEST)  # of segments, the shorter ones first
LEAST = 1e-6  # share by which a graph has to be cheaper
NO_CHEAPER = "no graph of the program, or of a part of it, is cheaper than what is given"
NO_TWO = "no two operators that one block could hold follow each other"
MUCH = 0.1  # cheaper: then it is told at once
GAIN = 0.02  # of what a plan costs: for less, no segment is searched


@dataclass(frozen=True)
class Started:
    """The search has ``tasks`` tasks so far, each of which ends with a ``Tried``."""

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
class Unverified:
    """A graph that may be equal: ``why`` is what the verifier could not tell."""

    part: str
    graph: KernelGraph
    cost: Cost
    how: str
    why: str


@dataclass(frozen=True)
class Found:
    """A graph that is equal to the program, with its estimated cost, which is less.

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


Event = Started | Tried | Pruned | Unverified | Found | Ended


def superoptimize(
    program: KernelGraph,
    target: Target = A100,
    *,
    operators: Sequence[Op] = (),
    max_ops: int | None = None,
    time_limit: float | None = None,
    memory: int | None = None,
    seed: int = 0,
    error: float = 1e-9,
    executor: Executor | None = None,
    store: Store | None = None,
) -> Iterator[Event]:
    """Search for fused graphs that are equal to a program, and cheaper.

    The program may have operators of one's own; ``operators`` are offered to the search besides.
    ``max_ops`` limits the operators of a graph, loads and stores not counted; ``time_limit`` is in
    seconds, ``memory`` in bytes that one bank may take. Every graph is verified with at most this
    ``error``. Without an executor this process does the work, task by task, as events are asked
    for. A store gives what it has of the same search and keeps what is new, so that a search that
    was stopped goes on; what it gives is verified again. Raises, before anything is searched,
    ``UsageError``, ``GraphError`` or ``Undecided`` for a program or for limits with which nothing
    could be found.
    """
    began = time.time()
    inner = admitted(
        program,
        target,
        max_ops=max_ops,
        time_limit=time_limit,
        memory=memory,
        error=error,
        operators=operators,
    )
    deadline = None if time_limit is None else began + time_limit
    task = Task(
        str(inner),
        (),
        target,
        inner.name,
        max_ops,
        seed,
        error=error,
        deadline=deadline,
        operators=packed(own(inner, operators)),
        memory=memory,
    )
    if store is not None:
        store.check(task)
    try:
        with until(deadline):
            search = _Search(program, inner, task, (*operators,), executor, store)
    except OutOfTime:
        yield Ended(0, OUT_OF_TIME, (f"{OUT_OF_TIME} after 0 tasks",))
    else:
        yield from search.events()


class _Search:
    """A search that goes on: what was explored, and the best that is known."""

    def __init__(
        self,
        given: KernelGraph,
        program: KernelGraph,
        base: Task,
        operators: tuple[Op, ...],
        executor: Executor | None,
        store: Store | None,
    ) -> None:
        self.given, self.program, self.store = given, program, store
        self.own = own(program, operators)
        self.crew = Crew(executor, base.deadline)
        self.problem = Problem(program, self.own)
        self.end = len(program.equations)
        self.base, self.target = base, base.target
        self.price = self.best = float(cost(program, self.target).total)
        self.partition = Partition(program, self.problem.classes, self.target, LONGEST)
        self.explored: dict[Segment, list[FusedGraph]] = {}
        self.above: defaultdict[int, dict[int, float]] = defaultdict(dict)  # by stop and start
        self.done: dict[Task, Outcome] = {}
        self.jobs: dict[Task, Job[Outcome]] = {}
        self.cheapest: dict[Task, float] = {}  # cost of a graph of a bank, not verified
        self.refused: set[tuple[str, str]] = set()  # a segment's program, and a graph
        self.verdicts: dict[tuple[str, str], Verdict] = {}
        self.tasks, self.found, self.planned = 0, 0, False
        self.cut: dict[str, None] = {}
        self.short: Counter[str] = Counter()  # limits of banks of segments
        self.closest = (False, 0.0, "")

    def events(self) -> Iterator[Event]:
        """All events: of segments, of the whole program, and of segments in parts."""
        try:
            yield from self._all()
        finally:
            self.crew.close()

    def _all(self) -> Iterator[Event]:
        whole = self.end <= LONGEST and all(inside(e.op) for e in self.program.equations)
        task = replace(self.base, most=self.price)
        tasks = [replace(task, loops=loops) for loops in self.problem.banks() if whole]
        self.crew.later([self._job(each, tasks[:n]) for n, each in enumerate(tasks)])
        lengths = LENGTHS[:1] if whole else LENGTHS  # of a short program, long ones after the whole
        for longest in sorted({min(each, self.end - whole) for each in lengths} - {0, 1}):
            yield from self._by_segments(longest)
        if whole:
            yield from self._try((self.program.name, each) for each in tasks)
            yield from self._by_segments(self.end - 1)
        elif self.end > LONGEST:
            self.cut[f"{self.end} operators: searched in segments of at most {LONGEST}"] = None
        yield from self._in_parts()
        self.cut |= {f"{n} banks of segments: {why}": None for why, n in self.short.items()}
        if self._late():
            self.cut[f"{OUT_OF_TIME} after {len(self.done)} tasks"] = None
        closest = self.closest[2] or (NO_CHEAPER if self.done else NO_TWO)
        if self._late() and not self.done:
            closest = OUT_OF_TIME
        yield Ended(self.found, "" if self.found else closest, tuple(self.cut))

    def _read(self, text: str) -> KernelGraph:
        return parse(text, (*ops.OPERATORS, *self.own))

    def _late(self) -> bool:
        return self.base.deadline is not None and time.time() >= self.base.deadline

    # --- segments ---------------------------------------------------------------------------------

    def _by_segments(self, longest: int) -> Iterator[Event]:
        """Search the segments of the plan that may be cheapest, until none may be cheaper."""
        while not self._late():
            plan, price = self.partition.cheapest(self._hoped, longest)
            fresh = [each for each in plan if self._open(each)]
            _, known = self.partition.cheapest(self._known, longest)
            if not fresh or price > (1 - GAIN) * min(known, self.best):
                break
            yield from self._explore(fresh, parts=False)
            _, known = self.partition.cheapest(self._known, longest)
            if known < (1 - MUCH) * self.best:
                yield from self._report()
        yield from self._report()

    def _in_parts(self) -> Iterator[Event]:
        """Search the segments of the best plan once more, with dimensions cut into parts."""
        seen = set[Segment]()
        while self.planned and not self._late():
            plan, _ = self.partition.cheapest(self._known, LONGEST)
            fresh = [each for each in plan if self._fusable(each) and each not in seen]
            if not fresh:
                break
            seen |= {*fresh}
            yield from self._explore(fresh, parts=True)
            yield from self._report()

    def _fusable(self, segment: Segment) -> bool:
        return segment.fused and segment.stop - segment.start > 1

    def _open(self, segment: Segment) -> bool:
        return self._fusable(segment) and segment not in self.explored

    def _hoped(self, segment: Segment) -> float:
        """Return what a segment costs, or may cost at least if it was not searched yet.

        What a shorter one with the same results costs above its least, the longer one will, too.
        """
        if not self._open(segment):
            return self._known(segment)
        above = self.above[segment.stop]
        inside = (more for start, more in above.items() if start > segment.start)
        return segment.least + max(inside, default=0.0)

    def _known(self, segment: Segment) -> float:
        if segment.stop - segment.start == 1:
            return segment.apart
        best = self._best(segment)
        return math.inf if best is None else float(best.cost.total)

    def _best(self, segment: Segment) -> FusedGraph | None:
        """Return the cheapest graph that is known; a single operator stays as it is."""
        if segment.stop - segment.start == 1:
            made_of = (segment.program.equations[0].op.name,)
            return FusedGraph(segment.text, "", made_of, cost(segment.program, self.target))
        found = self.explored.get(segment, ())
        known = (graph for graph in found if (segment.text, graph.text) not in self.refused)
        return min(known, key=lambda each: (each.cost.total, each.text), default=None)

    def _explore(self, segments: Sequence[Segment], *, parts: bool) -> Iterator[Event]:
        work, owner = list[tuple[str, Task]](), dict[Task, Segment]()
        for segment in segments:
            self.explored.setdefault(segment, [])
            task = replace(
                self.base,
                program=segment.text,
                error=self.base.error / self.end,
                thorough=False,
                verified=False,
                parts=parts,
                most=segment.apart,
            )
            problem = Problem(segment.program)
            for loops in problem.banks(parts=parts):
                each = replace(task, loops=loops)
                if not parts or len(each.nests[-1].parts):
                    owner[each] = segment
                    work.append((segment.name, each))
        yield from self._try(work)
        for task, segment in owner.items():
            self.explored[segment] += self.done[task].found if task in self.done else []
        for segment in segments:
            self.above[segment.stop][segment.start] = self._known(segment) - segment.least

    def _report(self) -> Iterator[Event]:
        """Verify the segments of the cheapest plan, join them, and tell of the whole."""
        while True:
            plan, price = self.partition.cheapest(self._known, LONGEST)
            if price > (1 - LEAST) * self.best or not any(map(self._fusable, plan)):
                return
            chosen = [(each, graph) for each in plan if (graph := self._best(each)) is not None]
            operators = sum(graph.operators for _, graph in chosen)
            if self.base.max_ops is not None and operators > self.base.max_ops:
                return
            pairs = {
                (each.text, graph.text): (each, graph)
                for each, graph in chosen
                if self._fusable(each)
            }
            asked = {key: pair for key, pair in pairs.items() if key not in self.verdicts}
            answers = self.crew.results([self._verdict(*key) for key in asked])
            given = dict(zip(asked, answers, strict=False))
            for key, answer in given.items():
                if isinstance(answer, dict):
                    self.verdicts[key] = read_verdict(answer)
                elif answer != OUT_OF_TIME:
                    yield from self._not_equal(*asked[key], answer)
            if self._late() and any(key not in self.verdicts for key in pairs):
                return
            if all(key in self.verdicts for key in pairs):
                yield self._joined(plan, chosen, [self.verdicts[key] for key in pairs])
                return

    def _verdict(self, program: str, graph: str) -> Job[dict[str, object] | str]:
        task = replace(self.base, program=program, error=self.base.error / self.end)
        (answer,) = yield [verification(task, graph)]
        return answer  # type: ignore[no-any-return]

    def _not_equal(self, segment: Segment, graph: FusedGraph, why: str) -> Iterator[Event]:
        self.refused.add((segment.text, graph.text))
        if why == REFUTED:
            yield Pruned(segment.name, graph.nest, why, 1)
        else:
            yield self._unverified(segment.name, graph, why)

    def _unverified(self, part: str, graph: FusedGraph, why: str) -> Unverified:
        return Unverified(part, self._read(graph.text), graph.cost, graph.nest, why)

    def _joined(
        self,
        plan: Plan,
        chosen: Sequence[tuple[Segment, FusedGraph]],
        verdicts: Sequence[Verdict],
    ) -> Found:
        parts = [
            (segment.program, self._read(graph.text), self._outputs(segment, graph))
            for segment, graph in chosen
        ]
        whole = once(joined(self.program, parts, f"{self.program.name}_in_{len(plan)}"))
        price = cost(whole, self.target)
        self.best, self.planned = float(price.total), True
        self.found += 1
        return Found(
            *_as_given(self.given, self.program, whole, together(verdicts, len(whole.outputs))),
            price,
            f"cut: {' | '.join(each.name for each in plan)}",
            sum(graph.operators for _, graph in chosen),
            sum(graph.instances for _, graph in chosen),
            sum(graph.fit for _, graph in chosen),
        )

    def _outputs(self, segment: Segment, graph: FusedGraph) -> Sequence[int]:
        """Return which output of a graph each output of its segment is, as was verified."""
        verdict = self.verdicts.get((segment.text, graph.text))
        return verdict.outputs if verdict else range(len(segment.program.outputs))

    # --- tasks ------------------------------------------------------------------------------------

    def _try(self, given: Iterable[tuple[str, Task]]) -> Iterator[Event]:
        """Do tasks, and tell of each."""
        work = [each for each in given if each[1] not in self.done]
        if self._late() or not work:
            return
        self.tasks += len(work)
        yield Started(self.tasks)
        outcomes = self.crew.results([self._job(task) for _, task in work])
        for (part, task), outcome in zip(work, outcomes, strict=False):
            self.done[task] = outcome
            yield from self._events(part, task, outcome)

    def _job(self, task: Task, before: Sequence[Task] = ()) -> Job[Outcome]:
        return self.jobs.setdefault(task, self._outcome(task, before))

    def _outcome(self, task: Task, before: Sequence[Task]) -> Job[Outcome]:
        outcome = self.store.load(task) if self.store else None
        if outcome is None:
            (outcome,) = yield [(explore, (task,))]
            if self.store and OUT_OF_TIME not in outcome.cut:
                try:
                    self.store.save(task, outcome)
                except OSError as error:  # what is found does not depend on it
                    self.cut[f"results are not kept: {error}"] = None
        self.cheapest[task] = min((float(g.cost.total) for g in outcome.found), default=math.inf)
        while not all(each in self.cheapest for each in before):
            yield []
        best = min((self.cheapest[each] for each in before), default=math.inf)
        return (yield from confirmed(task, outcome, best))

    def _events(self, part: str, task: Task, outcome: Outcome) -> Iterator[Event]:
        nests = str(task)
        yield Tried(
            part, nests, outcome.tried, outcome.values, outcome.instances, tuple(outcome.cut)
        )
        for reason, count in sorted(outcome.pruned.items()):
            yield Pruned(part, nests, reason, count)
        for fused, why in outcome.undecided:
            yield self._unverified(part, fused, why)
        for each in outcome.found if task.verified else ():
            self.found += 1
            self.planned &= each.cost.total >= self.best
            self.best = min(self.best, float(each.cost.total))
            graph, verdict = self._read(each.text), read_verdict(each.verdict or {})
            yield Found(
                *_as_given(self.given, self.program, graph, verdict),
                cost(graph, self.target),
                each.nest,
                each.operators,
                each.instances,
                each.fit,
            )
        if task.thorough:
            self.cut |= {f"{task}: {each}": None for each in outcome.cut}
        else:
            self.short.update(outcome.cut)
        reached = (task.program == self.base.program, outcome.reach, outcome.closest)
        self.closest = max(self.closest, reached, key=lambda each: each[:2])


# What a search refuses before it starts: programs and limits with which nothing can be found.


def admitted(
    program: KernelGraph,
    target: Target,
    *,
    max_ops: int | None = None,
    time_limit: float | None = None,
    memory: int | None = None,
    error: float = 1e-9,
    operators: Sequence[Op] = (),
) -> KernelGraph:
    """Return what has to be computed of the program; raise ``CourseError`` with what is wrong."""
    for name, value, least in (
        ("max_ops", max_ops, 1),
        ("memory in bytes", memory, 1 << 20),
    ):
        if value is not None and not (isinstance(value, int) and value >= least):
            expected = f"a whole number, {least} or more"
            raise UsageError(f"superoptimize: {name}", expected=expected, got=value)
    if not 0 < error < 1:
        raise UsageError("superoptimize: error", expected="between 0 and 1", got=error)
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise UsageError("superoptimize: time_limit", expected="seconds, above 0", got=time_limit)
    for equation in program.equations:
        if isinstance(equation.op, BlockGraph | ThreadGraph):
            raise GraphError(
                f"{program.name}: {equation} is a graph already",
                expected="a program of predefined operators",
                hint="give the program that this graph computes",
            )
    needed = _needed(program)
    if not any(inside(equation.op) for equation in needed.equations):
        raise GraphError(
            f"{program.name}: nothing to fuse",
            expected="an operator on elements, a sum, a maximum or a product",
            got=", ".join(str(equation.op) for equation in needed.equations) or "no operator",
        )
    if len(program.sizes) > MOST_SIZES:
        raise UsageError(
            f"{program.name}: too many dimensions", expected=MOST_SIZES, got=len(program.sizes)
        )
    _check_limits(program, target)
    _check_sizes(program)
    _check_large(needed)
    _check_own(needed, operators)
    _check_meaning(needed)
    return needed


def _needed(program: KernelGraph) -> KernelGraph:
    """Return the program without equations that nothing reads, and without outputs that need none.

    An output that is an input, or is returned twice, needs no search.
    """
    first = len(program.inputs)
    needed, rest = set[int](), list(program.outputs)
    while rest:
        number = rest.pop()
        if number >= first and number not in needed:
            needed.add(number)
            rest += program.equations[number - first].operands
    kept = [*range(first), *sorted(needed)]
    place = {number: n for n, number in enumerate(kept)}
    equations = tuple(
        replace(equation, operands=tuple(place[n] for n in equation.operands))
        for number, equation in enumerate(program.equations, first)
        if number in needed
    )
    outputs = dict.fromkeys(place[n] for n in program.outputs if n >= first)
    if not equations or (len(equations), tuple(outputs)) == (
        len(program.equations),
        program.outputs,
    ):
        return program
    return replace(program, equations=equations, outputs=tuple(outputs))


def _as_given(
    given: KernelGraph, needed: KernelGraph, graph: KernelGraph, verdict: Verdict
) -> tuple[KernelGraph, Verdict]:
    """Return a graph of what is needed with all outputs of the program that was given."""
    if needed is given and list(verdict.outputs) == list(range(len(given.outputs))):
        return graph, verdict
    of = {needed.names[n]: graph.outputs[verdict.outputs[i]] for i, n in enumerate(needed.outputs)}
    outputs = (n if n < len(given.inputs) else of[given.names[n]] for n in given.outputs)
    count = len(given.outputs)
    return replace(graph, outputs=tuple(outputs)), replace(verdict, outputs=tuple(range(count)))


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


def _check_own(program: KernelGraph, operators: Sequence[Op]) -> None:
    """Check operators of one's own, on few elements where their shape rule lets that be."""
    known, classes = own(program, operators), Classes(program)
    for place, equation in enumerate(program.equations):
        if equation.op in known:
            part = segment_program(program, classes, place, place + 1)
            if part is None:
                continue
            with contextlib.suppress(CourseError):
                part = part.resized({name: min(size, FEW) for name, size in part.sizes})
            assert isinstance(equation.op, Op)
            check_operator(equation.op, part)
    for op in known:
        part = alone(op)
        if part is not None:
            check_operator(op, part)


def _check_large(program: KernelGraph) -> None:
    """Check that what the program does can be counted in 64 bits."""
    for shape in program.shapes:
        if math.prod(shape) > MOST_ELEMENTS:
            raise UsageError(
                f"{program.name}: a value too large to plan for",
                expected=f"at most {MOST_ELEMENTS:,} elements",
                got=shape,
            )


def _check_meaning(program: KernelGraph) -> None:
    """Check that operators have a meaning in every arithmetic, and that the whole has a value."""
    try:
        if len(program.equations) <= LONGEST:
            expressions(program)
    except Refused as refused:
        raise GraphError(
            f"{program.name}: it has no abstract expression: {refused.reason}",
            expected="no difference of terms that are made of the same factors",
            hint="abstract expressions know neither rows nor columns; search the parts around it",
        ) from None
    try:
        screen(program, program, error=0.5, seed=0)
    except Undecided:
        if len(program.equations) <= LONGEST:
            raise
    except CourseError as error:
        error.add_note(f"so that nothing could be verified against {program.name}")
        raise
