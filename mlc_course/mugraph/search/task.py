"""The tasks of a search: grow one bank, read graphs off it, keep the best that is verified.

A ``Task`` and an ``Outcome`` hold texts and numbers only, so that they can go to another process,
to another machine and into a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mlc_course.deadline import OutOfTime, check_time, until
from mlc_course.errors import Undecided
from mlc_course.mugraph.cost import Cost, Target
from mlc_course.mugraph.ir import KernelGraph, Op, ops, parse
from mlc_course.mugraph.search.graph_extraction import Structure, derivations, read_off, weigher
from mlc_course.mugraph.search.grids_and_extents import Ranked, ranked
from mlc_course.mugraph.search.jobs import Call, Job
from mlc_course.mugraph.search.loop_nests import Loops, Nest, Problem, Start, start
from mlc_course.mugraph.search.own_operators import unpacked
from mlc_course.mugraph.search.residue_bank import EVERY, OUT_OF_TIME, Limits, grow
from mlc_course.mugraph.search.value_facts import TOO_LARGE, Refused
from mlc_course.mugraph.search.value_names import Names, once
from mlc_course.mugraph.verify import plain_verdict, verify

EXPANDED = Limits(values=1500, tried=9_000)  # where sums are multiplied out
WHOLE = Limits(values=2000, tried=60_000)
SHORT = Limits(values=1000, tried=12_000)  # of a segment
NOMINAL = 16  # tiles of a dimension, to weigh ways by
REFUTED, CANNOT_TELL = "refuted by the verifier", "the verifier cannot tell"
DEARER = "dearer than the program itself"
MUCH_DEARER = "twice as dear as another graph"
CLOSE = 1.1  # times the cost of the cheapest graph
NEAR = 2.0  # times that cost at most, and a graph is worth a verification
NO_ROOM = "no grid leaves a block within the machine's limits"


@dataclass(frozen=True)
class Task:
    """A program, the loops to try, and the limits.

    ``thorough``: multiply sums out, if that ends in time. One graph of each nest is kept, or two of
    those that are ``verified``. ``most`` seconds are what a graph may cost. ``operators`` are
    those of one's own, packed; ``memory`` is in bytes.
    """

    program: str
    loops: Loops
    target: Target
    name: str = ""  # of the program that is searched, of which this one may be a segment
    max_ops: int | None = None
    seed: int = 0
    error: float = 1e-9
    thorough: bool = True
    verified: bool = True
    parts: bool = True
    deadline: float | None = None  # of time.time
    prunings: frozenset[str] = EVERY
    most: float = math.inf
    operators: bytes = b""
    memory: int | None = None

    @property
    def own(self) -> tuple[Op, ...]:
        """Operators of one's own."""
        return unpacked(self.operators)

    def read(self, text: str) -> KernelGraph:
        """Return a graph from its text."""
        return parse(text, (*ops.OPERATORS, *self.own))

    @property
    def nests(self) -> list[Nest]:
        """The nests whose values are in this bank: a loop may be in a kernel, or between two."""
        match self.loops:
            case ():
                return [Nest()]
            case (only,) if len(only) > 1 or not self.parts:
                return [Nest(only)]
            case (only,):
                return [Nest(only), Nest((), only)]
        outer, inner = self.loops
        return [Nest(inner, outer)]

    def __str__(self) -> str:
        return " / ".join(map(str, self.nests))


@dataclass(frozen=True)
class FusedGraph:
    """A graph that was read off a bank, as text; its ``verdict`` is plain data, if it has one.

    It is the cheapest of ``instances`` choices of grids and extents, of which ``fit`` the machine.
    """

    text: str
    nest: str
    made_of: tuple[str, ...]  # the names of its operators, sorted
    cost: Cost
    instances: int = 1
    fit: int = 1
    verdict: dict[str, Any] | None = None

    @property
    def operators(self) -> int:
        """The number of operators, loads and stores not counted."""
        return len(self.made_of)


@dataclass
class Outcome:
    """The result of a task. ``cut`` are the limits that ended the growth of its bank.

    ``closest`` says what came closest to a graph, where none is found. ``undecided`` are graphs of
    which the verifier could not tell, each with what it said.
    """

    values: int = 0
    tried: int = 0
    instances: int = 0
    pruned: dict[str, int] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)
    found: list[FusedGraph] = field(default_factory=list)
    undecided: list[tuple[FusedGraph, str]] = field(default_factory=list)
    closest: str = ""
    reach: float = 0.0  # of what came closest: 1 is a graph that only does not fit

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count what was pruned."""
        self.pruned[reason] = self.pruned.get(reason, 0) + count

    def note(self, reach: float, what: str) -> None:
        """Keep what came closest, the first of those that came equally close."""
        if reach > self.reach:
            self.reach, self.closest = reach, what


def made_of(graph: KernelGraph) -> tuple[str, ...]:
    """Return the names of a graph's operators, sorted, without loads and stores."""
    found, rest = list[str](), [*graph.equations]
    while rest:
        op = rest.pop().op
        inner = getattr(op, "equations", None)
        rest += inner or ()
        found += () if inner else (op.name,)
    return tuple(sorted(found))


def explore(task: Task) -> Outcome:
    """Grow the bank and read off all its graphs, the cheapest first, not verified."""
    outcome = Outcome()
    candidates: dict[str, FusedGraph] = {}
    with until(task.deadline):
        try:
            _explore(task, outcome, candidates)
        except OutOfTime:
            outcome.cut.append(OUT_OF_TIME)
        except Refused as refused:
            outcome.refuse(refused.reason)
    outcome.found = sorted(candidates.values(), key=lambda each: (each.cost.total, each.text))
    return outcome


def _explore(task: Task, outcome: Outcome, candidates: dict[str, FusedGraph]) -> None:
    program = task.read(task.program)
    problem = Problem(program, task.own)
    name = f"{program.name}_fused"
    for begun in _grown(task, problem, outcome):
        for structure in _structures(task, problem, begun):
            check_time()
            if task.max_ops is not None and structure.operators > task.max_ops:
                outcome.refuse(TOO_LARGE)
                continue
            best = ranked(structure, program, _labels(problem), task.target, name)
            outcome.instances += best.tried
            if best.graph is not None and best.cost is not None:
                text, nest = str(once(best.graph)), str(structure.nest)
                candidates.setdefault(
                    text,
                    FusedGraph(text, nest, structure.made_of, best.cost, best.tried, best.fit),
                )
                continue
            outcome.refuse(NO_ROOM)
            outcome.note(1.0, _no_room(structure, best, task.target))


def _grown(task: Task, problem: Problem, outcome: Outcome) -> Iterator[Start]:
    """Yield the grown bank with sums multiplied out; if a limit ended it, one with whole sums."""
    rounds = ((False, EXPANDED), (True, WHOLE)) if task.thorough else ((True, SHORT),)
    for whole_sums, limits in rounds:
        begun = start(
            problem,
            task.nests[0],
            seed=f"{task.seed} {task.loops}",
            whole_sums=whole_sums,
            most_operators=task.max_ops,
            prunings=task.prunings,
        )
        cut = grow(begun.bank, begun.offer, replace(limits, memory=task.memory))
        outcome.values += len(begun.bank.values)
        outcome.tried += begun.bank.tried
        for reason, count in begun.bank.pruned.items():
            outcome.refuse(reason, count)
        outcome.note(*_furthest(begun, problem, task))
        if cut:
            outcome.cut.append(f"{cut}{'' if whole_sums else ', sums multiplied out'}")
        yield begun
        if not cut:
            return


def _structures(task: Task, problem: Problem, begun: Start) -> Iterator[Structure]:
    program = problem.program
    found = begun.found()
    numbers = [number for number in found if number is not None]
    if len(numbers) < len(found):
        return
    targets = {program.names[o]: n for o, n in zip(program.outputs, numbers, strict=True)}
    extents = {dim: max(1, size // NOMINAL) for dim, size in program.sizes}
    weigh = weigher(extents, [NOMINAL] * len(task.loops), begun.bank)
    for derivation in derivations(begun.bank, numbers, weigh):
        for nest in task.nests:
            names = Names(begun.known, program.names)
            structure = read_off(begun.bank, nest, derivation, targets, names, problem.uncuttable)
            if structure is not None:
                yield structure


def _labels(problem: Problem) -> Sequence[tuple[str, ...]]:
    return [problem.dims(number) for number in range(len(problem.program.inputs))]


def _furthest(begun: Start, problem: Problem, task: Task) -> tuple[float, str]:
    """Share and names of the program's values that the bank has with all loops closed."""
    made = {(each.facts.poly, each.facts.dims) for each in begun.bank.by_level[0]}
    names = [name for key, name in begun.known.items() if key in made]
    wanted = [name for equation in problem.program.equations for name in equation.names]
    has = [name for name in wanted if name in names]
    text = f"{task}: it has {', '.join(has)}" if has else f"{task}: it has no value of the program"
    missing = [name for name in wanted if name not in names]
    return len(has) / (len(wanted) + 1), f"{text}; not {', '.join(missing)}"


def _no_room(structure: Structure, best: Ranked, target: Target) -> str:
    return (
        f"a graph of {structure.operators} operators, {structure.nest}: its smallest tiles take "
        f"{best.least_held} bytes of shared memory, {target.name} has {target.shared_bytes}"
    )


def confirmed(task: Task, outcome: Outcome, best: float = math.inf) -> Job[Outcome]:
    """Keep the cheapest graphs of each nest, verified to be equal if the task asks for that.

    ``best`` is the cost of the cheapest graph of the tasks before; what costs much more than that
    is not verified. Each verification is a call of its own: one may take longer than the search.
    """
    verdicts: dict[str, Any] = {}
    while True:
        kept, dear = _chosen(task, outcome.found, verdicts, best)
        asked = [each.text for each in kept if task.verified and each.text not in verdicts]
        if not asked:
            break
        answers = yield [verification(task, text) for text in asked]
        verdicts |= zip(asked, answers, strict=True)
    by_text = {each.text: each for each in outcome.found}
    for text, verdict in verdicts.items():
        if verdict == OUT_OF_TIME:
            outcome.cut.append(f"{OUT_OF_TIME} in a verification")
        elif isinstance(verdict, str):
            outcome.refuse(REFUTED if verdict == REFUTED else CANNOT_TELL)
            if verdict != REFUTED:
                outcome.undecided.append((by_text[text], verdict))
    for each in dear:
        if each.cost.total < task.most:
            outcome.refuse(MUCH_DEARER)
            continue
        outcome.refuse(DEARER)
        outcome.note(1.0, f"a graph of {each.operators} operators, {each.nest}: {each.cost}")
    outcome.found = [replace(each, verdict=verdicts.get(each.text)) for each in kept]
    return outcome


def _chosen(
    task: Task,
    found: Sequence[FusedGraph],
    verdicts: Mapping[str, dict[str, Any] | str],
    best: float,
) -> tuple[list[FusedGraph], list[FusedGraph]]:
    """Choose graphs of each nest; return them, and those that cost too much.

    These are the cheapest, and the cheapest with other operators if it costs hardly more: a model
    cannot tell which of them is faster. A graph without a verdict counts as equal; a text in place
    of a verdict says why it is not.
    """
    kept, dear, taken = list[FusedGraph](), list[FusedGraph](), dict[str, list[FusedGraph]]()
    for each in found:  # the cheapest first
        if isinstance(verdicts.get(each.text), str):
            continue
        best = min(best, float(each.cost.total))
        if each.cost.total >= task.most or (task.verified and each.cost.total > NEAR * best):
            dear.append(each)
            continue
        before = taken.setdefault(each.nest, [])
        if not before or (task.verified and _worth_showing(each, before)):
            before.append(each)
            kept.append(each)
    return kept, dear


def _worth_showing(graph: FusedGraph, before: Sequence[FusedGraph]) -> bool:
    first, *more = before
    close = graph.cost.total <= CLOSE * first.cost.total
    return not more and close and graph.made_of != first.made_of


def verification(task: Task, graph: str) -> Call:
    """Return the call that compares a graph with the program of a task."""
    return check, (task, graph)


def check(task: Task, graph: str) -> dict[str, Any] | str:
    """Return a plain verdict of equality, or why there is none.

    Why not is ``REFUTED``, ``OUT_OF_TIME``, or what the verifier cannot tell.
    """
    with until(task.deadline):
        try:
            pair = task.read(task.program), task.read(graph)
            verdict = verify(*pair, error=task.error, seed=task.seed)
        except OutOfTime:
            return OUT_OF_TIME
        except Undecided as undecided:
            return undecided.what
    return plain_verdict(verdict) if verdict.equal else REFUTED
