"""The unit of work of a search: one bank, and the graphs that are read off it.

A ``Task`` and an ``Outcome`` hold texts and numbers only, so that they go to another process, to
another machine and into a file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mlc_course.mugraph.search import rules
from mlc_course.mugraph.search.bank import EVERY
from mlc_course.mugraph.search.grow import Limits, grow
from mlc_course.mugraph.search.names import Names
from mlc_course.mugraph.search.nest import Nest, Problem, Start, start
from mlc_course.mugraph.search.rank import Ranked, ranked
from mlc_course.mugraph.search.read_off import read_off
from mlc_course.mugraph.search.structure import Structure
from mlc_course.mugraph.search.ways import derivations, weigher
from mlc_course.mugraph.target import Target
from mlc_course.mugraph.text import parse

EXPANDED = Limits(values=1500, tried=9_000)  # where sums are multiplied out
WHOLE = Limits(values=2000, tried=60_000)
NOMINAL = 16  # tiles of a dimension, to weigh ways by
NO_ROOM = "no grid leaves a block within the machine's limits"


@dataclass(frozen=True)
class Task:
    """Which program, which loops, which limits.

    ``thorough``: sums are multiplied out, if that ends in time; ``keep`` graphs are kept of a nest,
    ``verified`` or not.
    """

    program: str
    loops: tuple[tuple[str, ...], ...]
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
        """Those whose values are in this bank: a loop may be in a kernel, or between two."""
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


@dataclass
class Outcome:
    """What came of a task. ``cut`` says which limits ended the growth of its bank.

    ``closest`` is what came closest to a graph, where there is none.
    """

    values: int = 0
    tried: int = 0
    instances: int = 0
    pruned: dict[str, int] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)
    found: list[dict[str, Any]] = field(default_factory=list)
    closest: str = ""
    reach: float = 0.0  # of what came closest: 1 is a graph that only does not fit

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count what was pruned."""
        self.pruned[reason] = self.pruned.get(reason, 0) + count

    def note(self, reach: float, what: str) -> None:
        """Keep what came closest, the first of those that came equally close."""
        if reach > self.reach:
            self.reach, self.closest = reach, what

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def explore(task: Task) -> Outcome:
    """Grow the bank, and read off what is in it: all graphs, the cheapest first, not verified."""
    program = parse(task.program)
    problem, outcome = Problem(program), Outcome()
    candidates: dict[str, tuple[Ranked, Structure]] = {}
    for begun in _grown(task, problem, outcome):
        for structure in _structures(task, problem, begun):
            if task.max_ops is not None and structure.operators > task.max_ops:
                outcome.refuse(rules.TOO_LARGE)
                continue
            best = ranked(
                structure, program, _labels(problem), task.target, f"{program.name}_fused"
            )
            outcome.instances += best.tried
            if best.graph is not None:
                candidates.setdefault(str(best.graph), (best, structure))
                continue
            outcome.refuse(NO_ROOM)
            outcome.note(1.0, _no_room(structure, best, task.target))
    outcome.found = [_plain(*each) for each in sorted(candidates.items(), key=_by_cost)]
    return outcome


def _grown(task: Task, problem: Problem, outcome: Outcome) -> Iterator[Start]:
    """The bank with sums multiplied out; if that has no end, the bank with whole sums."""
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


def _plain(text: str, candidate: tuple[Ranked, Structure]) -> dict[str, Any]:
    best, structure = candidate
    assert best.cost is not None
    return {
        "text": text,
        "nest": str(structure.nest),
        "operators": structure.operators,
        "cost": best.cost.terms,
        "instances": best.tried,
        "fit": best.fit,
    }


def _by_cost(candidate: tuple[str, tuple[Ranked, Structure]]) -> tuple[float, str]:
    text, (best, _) = candidate
    assert best.cost is not None
    return float(best.cost.total), text


def _labels(problem: Problem) -> Sequence[tuple[str, ...]]:
    return [problem.dims(number) for number in range(len(problem.program.inputs))]


def _furthest(begun: Start, problem: Problem, task: Task) -> tuple[float, str]:
    """Which values of the program the bank has, with all loops closed; their share, below 1."""
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
