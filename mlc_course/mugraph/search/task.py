"""The tasks of a search: grow one bank, read graphs off it, keep the best that are verified.

A ``Task`` and an ``Outcome`` hold texts and numbers only, so that they can go to another process,
to another machine and into a file.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mlc_course.errors import Undecided
from mlc_course.mugraph.cost import Cost, Target, cost
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.search.graph_extraction import Structure, derivations, read_off, weigher
from mlc_course.mugraph.search.grids_and_extents import Ranked, ranked
from mlc_course.mugraph.search.jobs import Call, Job
from mlc_course.mugraph.search.loop_nests import Loops, Nest, Problem, Start, start
from mlc_course.mugraph.search.residue_bank import EVERY, Limits, grow
from mlc_course.mugraph.search.value_facts import TOO_LARGE
from mlc_course.mugraph.search.value_names import Names
from mlc_course.mugraph.verify import plain_verdict, verify

EXPANDED = Limits(values=1500, tried=9_000)  # where sums are multiplied out
WHOLE = Limits(values=2000, tried=60_000)
NOMINAL = 16  # tiles of a dimension, to weigh ways by
REFUTED, CANNOT_TELL = "refuted by the verifier", "the verifier cannot tell"
WORTH = 2  # times what the program itself costs, no more
DEARER = f"dearer than {WORTH} times the program itself"
NO_ROOM = "no grid leaves a block within the machine's limits"


@dataclass(frozen=True)
class Task:
    """A program, the loops to try, and the limits.

    ``thorough``: multiply sums out, if that ends in time. ``keep`` graphs are kept of each nest,
    ``verified`` or not.
    """

    program: str
    loops: Loops
    target: Target
    max_ops: int | None = None
    seed: int = 0
    keep: int = 2
    error: float = 1e-9
    thorough: bool = True
    verified: bool = True
    parts: bool = True
    deadline: float | None = None  # of time.time
    prunings: frozenset[str] = EVERY

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
    operators: int
    cost: Cost
    instances: int = 1
    fit: int = 1
    verdict: dict[str, Any] | None = None


@dataclass
class Outcome:
    """The result of a task. ``cut`` are the limits that ended the growth of its bank.

    ``closest`` says what came closest to a graph, where none is found.
    """

    values: int = 0
    tried: int = 0
    instances: int = 0
    pruned: dict[str, int] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)
    found: list[FusedGraph] = field(default_factory=list)
    closest: str = ""
    reach: float = 0.0  # of what came closest: 1 is a graph that only does not fit

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count what was pruned."""
        self.pruned[reason] = self.pruned.get(reason, 0) + count

    def note(self, reach: float, what: str) -> None:
        """Keep what came closest, the first of those that came equally close."""
        if reach > self.reach:
            self.reach, self.closest = reach, what


def explore(task: Task) -> Outcome:
    """Grow the bank and read off all its graphs, the cheapest first, not verified."""
    program = parse(task.program)
    problem, outcome = Problem(program), Outcome()
    candidates: dict[str, FusedGraph] = {}
    for begun in _grown(task, problem, outcome):
        for structure in _structures(task, problem, begun):
            if task.max_ops is not None and structure.operators > task.max_ops:
                outcome.refuse(TOO_LARGE)
                continue
            best = ranked(
                structure, program, _labels(problem), task.target, f"{program.name}_fused"
            )
            outcome.instances += best.tried
            if best.graph is not None and best.cost is not None:
                text, nest = str(best.graph), str(structure.nest)
                candidates.setdefault(
                    text,
                    FusedGraph(text, nest, structure.operators, best.cost, best.tried, best.fit),
                )
                continue
            outcome.refuse(NO_ROOM)
            outcome.note(1.0, _no_room(structure, best, task.target))
    outcome.found = sorted(candidates.values(), key=lambda each: (each.cost.total, each.text))
    return outcome


def _grown(task: Task, problem: Problem, outcome: Outcome) -> Iterator[Start]:
    """Yield the grown bank with sums multiplied out; if a limit ended it, one with whole sums."""
    rounds = ((False, EXPANDED), (True, WHOLE)) if task.thorough else ((True, WHOLE),)
    for whole_sums, limits in rounds:
        deadline = None
        if task.deadline is not None:
            deadline = time.monotonic() + max(0.0, task.deadline - time.time())
        begun = start(
            problem,
            task.nests[0],
            seed=f"{task.seed} {task.loops}",
            whole_sums=whole_sums,
            most_operators=task.max_ops,
            prunings=task.prunings,
        )
        cut = grow(begun.bank, begun.offer, replace(limits, deadline=deadline))
        outcome.values += len(begun.bank.values)
        outcome.tried += begun.bank.tried
        for reason, count in begun.bank.pruned.items():
            outcome.refuse(reason, count)
        outcome.note(*_furthest(begun, problem, task))
        yield begun
        if not cut:
            return
        outcome.cut.append(f"{cut}{'' if whole_sums else ', sums multiplied out'}")


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


def confirmed(task: Task, outcome: Outcome) -> Job[Outcome]:
    """Keep the cheapest graphs of each nest, verified to be equal if the task asks for that.

    Each verification is a call of its own: one may take longer than the search.
    """
    program = parse(task.program)
    most = WORTH * cost(program, task.target).total if task.verified else math.inf
    verdicts: dict[str, Any] = {}
    while True:
        kept, dear = _chosen(task, outcome.found, most, verdicts)
        asked = [each.text for each in kept if task.verified and each.text not in verdicts]
        if not asked:
            break
        answers = yield [verification(task, text) for text in asked]
        verdicts |= zip(asked, answers, strict=True)
    for verdict in verdicts.values():
        if isinstance(verdict, str):
            outcome.refuse(verdict)
    for each in dear:
        outcome.refuse(DEARER)
        outcome.note(1.0, f"a graph of {each.operators} operators, {each.nest}: {each.cost}")
    outcome.found = [replace(each, verdict=verdicts.get(each.text)) for each in kept]
    return outcome


def _chosen(
    task: Task,
    found: Sequence[FusedGraph],
    most: float,
    verdicts: Mapping[str, dict[str, Any] | str],
) -> tuple[list[FusedGraph], list[FusedGraph]]:
    """Choose ``task.keep`` graphs of each nest; return them, and those that cost too much.

    A graph without a verdict counts as equal; a text in place of a verdict says why it is not.
    """
    kept, dear, taken = list[FusedGraph](), list[FusedGraph](), Counter[str]()
    for each in found:  # the cheapest first
        if taken[each.nest] == task.keep or isinstance(verdicts.get(each.text), str):
            continue
        if each.cost.total > most:
            dear.append(each)
            continue
        taken[each.nest] += 1
        kept.append(each)
    return kept, dear


def verification(task: Task, graph: str) -> Call:
    """Return the call that compares a graph with the program of a task."""
    return check, (task.program, graph, task.error, task.seed)


def check(program: str, graph: str, error: float, seed: int) -> dict[str, Any] | str:
    """Return a plain verdict of equality, or the reason why there is none."""
    try:
        verdict = verify(parse(program), parse(graph), error=error, seed=seed)
    except Undecided:
        return CANNOT_TELL
    return plain_verdict(verdict) if verdict.equal else REFUTED
