"""Graph extraction: from the values that were found back to the lightest graphs that make them.

A value has several ways, its operands have several each, so the graphs that make it are many. They
are put together from the operands up, and of those that make one value the lightest few are kept.
A value that is used twice is made once, so the weight of a graph is no sum over its operands' and
the lightest may be missed among the few; the cost model chooses in the end.

A derivation, one way for each value, is written as a ``Structure``: block graphs whose tiles have
labels, which say what dimensions lie along their axes. Chains of elementwise operators become
thread graphs. ``grids_and_extents`` turns a structure into a graph by choosing numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from mlc_course.mugraph.ir import Equation, Op, ops, thread_graph
from mlc_course.mugraph.search.dimensions import Dims, extent, met, single
from mlc_course.mugraph.search.loop_nests import Nest
from mlc_course.mugraph.search.residue_bank import Bank
from mlc_course.mugraph.search.value_facts import Kept, Made
from mlc_course.mugraph.search.value_names import Names

Derivation = Mapping[int, Made]  # how each value that it needs is made
Weigh = Callable[[Kept, Made], float]
KEPT = 6


def derivations(
    bank: Bank, targets: Sequence[int], weigh: Weigh, keep: int = KEPT
) -> list[Derivation]:
    """Return up to ``keep`` different derivations of all targets, the lightest first."""
    best: dict[int, list[Derivation]] = {}
    for number in sorted(_needed(bank, targets), key=lambda n: (bank.values[n].depth, n)):
        value = bank.values[number]
        found: list[Derivation] = [
            {**below, number: way}
            for way in value.ways
            for below in _joined([best[n] for n in way.operands])
        ]
        best[number] = _lightest(bank, found, weigh, keep)
    return _lightest(bank, _joined([best[n] for n in targets]), weigh, keep)


def _needed(bank: Bank, targets: Sequence[int]) -> set[int]:
    needed, rest = set[int](), list(targets)
    while rest:
        number = rest.pop()
        if number not in needed:
            needed.add(number)
            rest += [n for way in bank.values[number].ways for n in way.operands]
    return needed


def _joined(choices: Sequence[Sequence[Derivation]]) -> list[Derivation]:
    """Join one choice of each, wherever they agree on how to make what they share."""
    found: list[Derivation] = []
    for chosen in itertools.product(*choices):
        whole: dict[int, Made] = {}
        if all(whole.setdefault(n, way) == way for each in chosen for n, way in each.items()):
            found.append(whole)
    return found


def _lightest(bank: Bank, found: Sequence[Derivation], weigh: Weigh, keep: int) -> list[Derivation]:
    def weight(each: Derivation) -> float:
        return sum(weigh(bank.values[n], way) for n, way in each.items())

    return sorted(found, key=weight)[:keep]


def weigher(extents: Mapping[str, int], turns: Sequence[int], bank: Bank) -> Weigh:
    """Weigh operators by elements made and multiplied, for these extents and iterations."""

    def weigh(value: Kept, way: Made) -> float:
        if isinstance(way.op, str):
            return 0.0
        facts = value.facts
        times: float = math.prod(turns[n] for n in facts.varies)
        if getattr(way.op, "carried", "") == "accumulate":
            times *= turns[facts.level]
        work: float = math.prod(extent(label, extents) for label in facts.dims)
        read = [bank.values[n].facts.dims for n in way.operands]
        if way.op is ops.matmul:
            work += work * extent(read[0][-1], extents) / 8
        else:
            work = max(work, *(math.prod(extent(d, extents) for d in dims) for dims in read))
        return float(work * times + 1)

    return weigh


@dataclass(frozen=True)
class Stage:
    """One block graph: equations over numbered tiles, first those of ``loads``.

    ``loads`` are names of inputs or of what an earlier stage stores; ``stores`` are numbers of
    tiles with the names under which they go out. ``dims`` has the labels of each tile. ``loop`` are
    the dimensions that the loop cuts. With ``in_parts`` the outermost reduction is a grid axis; its
    results lie side by side along their last axis. With ``over_parts`` it is the loop.
    """

    loads: tuple[str, ...]
    names: tuple[str, ...]
    equations: tuple[Equation, ...]
    stores: tuple[tuple[str, int], ...]
    dims: tuple[Dims, ...]
    loop: tuple[str, ...]
    in_parts: bool = False
    over_parts: bool = False


@dataclass(frozen=True)
class Structure:
    """One block graph, or two, of which the second adds up the partial results of the first."""

    nest: Nest
    stages: tuple[Stage, ...]
    meeting: frozenset[str]  # dimensions whose elements meet: a grid cannot cut them

    @property
    def cuttable(self) -> tuple[str, ...]:
        """Dimensions that grid axes can cut: those of every output."""
        last = self.stages[-1]
        stores = [last.dims[n] for _, n in last.stores]
        everywhere = set[str](stores[0]).intersection(*stores) - self.meeting
        return tuple(dim for dim in stores[0] if dim in everywhere and single(dim))

    @property
    def made_of(self) -> tuple[str, ...]:
        """The names of all operators, sorted, without loads and stores."""
        return tuple(
            sorted(
                inner.op.name
                for stage in self.stages
                for equation in stage.equations
                for inner in getattr(equation.op, "equations", (equation,))
            )
        )

    @property
    def operators(self) -> int:
        """The number of operators, without loads and stores."""
        return len(self.made_of)


def threaded(stage: Stage, when: Sequence[tuple[int, bool]]) -> Stage:
    """Turn a stage's chains of elementwise operators into thread graphs.

    An operator goes with the one that alone reads it, if both are elementwise and done at the same
    time: ``when`` says of each tile in which loop it changes and whether that is over.
    """
    first = len(stage.loads)
    readers: dict[int, set[int]] = {}
    for number, equation in enumerate(stage.equations, first):
        for operand in equation.operands:
            readers.setdefault(operand, set()).add(number)
    stored = {number for _, number in stage.stores}
    into: dict[int, int] = {}
    for number in range(len(stage.dims) - 1, first - 1, -1):
        alone = readers.get(number, set())
        if _elementwise(stage, number) and len(alone) == 1 and number not in stored:
            (reader,) = alone
            if _elementwise(stage, reader) and when[number] == when[reader]:
                into[number] = into.get(reader, reader)
    groups: dict[int, list[int]] = {}
    for number in range(first, len(stage.dims)):
        groups.setdefault(into.get(number, number), []).append(number)
    return _written(stage, groups)


def _elementwise(stage: Stage, number: int) -> bool:
    equation = stage.equations[number - len(stage.loads)] if number >= len(stage.loads) else None
    return equation is not None and isinstance(equation.op, Op) and equation.op.elementwise


def _written(stage: Stage, groups: dict[int, list[int]]) -> Stage:
    """Write the stage with one equation for each group, at the place of its last."""
    first = len(stage.loads)
    kept = [*range(first), *sorted(groups)]
    place = {number: n for n, number in enumerate(kept)}
    equations = []
    for last in sorted(groups):
        members = [stage.equations[number - first] for number in groups[last]]
        if len(members) == 1:
            operands = tuple(place[n] for n in members[0].operands)
            equations.append(replace(members[0], operands=operands))
            continue
        thread, read = thread_graph(members, groups[last], stage.names)
        operands = tuple(place[n] for n in read)
        equations.append(Equation(thread, operands, (), members[-1].names))
    return replace(
        stage,
        names=tuple(stage.names[n] for n in kept),
        equations=tuple(equations),
        stores=tuple((name, place[n]) for name, n in stage.stores),
        dims=tuple(stage.dims[n] for n in kept),
    )


def read_off(
    bank: Bank,
    nest: Nest,
    derivation: Derivation,
    targets: Mapping[str, int],
    names: Names,
    uncuttable: Collection[str] = (),
) -> Structure | None:
    """Return the structure that makes ``targets``, values by the names of outputs.

    ``uncuttable`` are dimensions that a grid must not cut besides those whose elements meet.
    None where the nest has parts, and some target needs none of them, or nothing of the first
    kernel.
    """
    facts = {n: bank.values[n].facts for n in derivation}
    meeting = {
        label
        for number, way in derivation.items()
        if isinstance(way.op, Op) and way.operands
        for label in met(way.op, [facts[n].dims for n in way.operands], dict(way.attributes))
    }
    meeting |= {dim for loop in nest.loops for dim in loop} | {*uncuttable}
    if not nest.parts:
        stages = (_Reader(bank, derivation, names, set(derivation)).stage(targets, nest.loop),)
        return Structure(nest, stages, frozenset(meeting))
    second = _second(bank, derivation)
    if not second.issuperset(targets.values()):
        return None
    reader = _Reader(bank, derivation, names, second)
    last = reader.stage(targets, nest.parts, over_parts=True)
    partial = {name: n for n, name in reader.partial.items()}
    if not partial:
        return None
    first = _Reader(bank, derivation, names, set(derivation) - second)
    return Structure(
        nest, (first.stage(partial, nest.loop, in_parts=True), last), frozenset(meeting)
    )


def _second(bank: Bank, derivation: Derivation) -> set[int]:
    """Return the values of the second kernel: those behind an accumulator over the parts."""
    found: set[int] = set()
    for number in sorted(derivation, key=lambda n: (bank.values[n].depth, n)):
        way, facts = derivation[number], bank.values[number].facts
        after = facts.closed and facts.level == 0
        running = way.op is ops.running_max and facts.level == 1
        if after or running or any(n in found for n in way.operands):
            found.add(number)
    return found


class _Reader:
    """A writer of the equations of one stage, each just before it is first used.

    ``own`` are the values that it makes. What changes with the parts and is not its own is loaded
    (``partial``); what does not change, it makes for itself.
    """

    def __init__(
        self, bank: Bank, derivation: Derivation, names: Names, own: Collection[int]
    ) -> None:
        self.bank, self.derivation, self.own = bank, derivation, own
        self.names = names
        self.partial: dict[int, str] = {}
        self.loads: dict[int, str] = {}
        self.order: list[int] = []

    def stage(
        self,
        targets: Mapping[str, int],
        loop: tuple[str, ...],
        *,
        in_parts: bool = False,
        over_parts: bool = False,
    ) -> Stage:
        """Return the stage that stores ``targets``."""
        for number in targets.values():
            self._need(number)
        values = [*self.loads, *self.order]
        place = {number: n for n, number in enumerate(values)}
        taken: set[str] = set()
        called = {n: self.names.tile(name, taken) for n, name in self.loads.items()}
        for number in self.order:
            way = self.derivation[number]
            operands = [called[n] for n in way.operands]
            called[number] = self.names.value(self.bank.values[number], way, operands, taken)
        equations = [self._equation(number, place, called) for number in self.order]
        dims = [self.bank.values[n].facts.dims for n in values]
        stores = [(name, place[number]) for name, number in targets.items()]
        return threaded(
            Stage(
                tuple(self.loads.values()),
                tuple(called[n] for n in values),
                tuple(equations),
                tuple(stores),
                tuple(dims),
                loop,
                in_parts,
                over_parts,
            ),
            self._stages(values),
        )

    def _need(self, number: int) -> None:
        """Load a value, or make it after its operands."""
        way = self.derivation[number]
        if number in self.loads or number in self.order:
            return
        if isinstance(way.op, str):
            self.loads[number] = way.op
        elif number in self.own or not self.bank.values[number].facts.varies:
            for operand in way.operands:
                self._need(operand)
            self.order.append(number)
        else:
            value = self.bank.values[number]
            self.partial[number] = self.names.partial(number, value, self.derivation)
            self.loads[number] = self.partial[number]

    def _equation(
        self, number: int, place: Mapping[int, int], called: Mapping[int, str]
    ) -> Equation:
        way: Made = self.derivation[number]
        assert isinstance(way.op, Op)
        operands = tuple(place[n] for n in way.operands)
        return Equation(way.op, operands, way.attributes, (called[number],))

    def _stages(self, values: Sequence[int]) -> list[tuple[int, bool]]:
        """Tell of each tile in which loop it changes, and whether it is behind an accumulator."""
        known = [self.bank.values[n].facts for n in values]
        return [(facts.level if facts.varies else 0, facts.closed) for facts in known]
