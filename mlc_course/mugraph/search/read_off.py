"""From a derivation to block graphs: which values each kernel makes, in the order of a reader."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mlc_course.mugraph import ops
from mlc_course.mugraph.ir import Equation
from mlc_course.mugraph.ops import Op
from mlc_course.mugraph.search.bank import Bank
from mlc_course.mugraph.search.labels import met
from mlc_course.mugraph.search.names import Names
from mlc_course.mugraph.search.nest import Nest
from mlc_course.mugraph.search.structure import Stage, Structure
from mlc_course.mugraph.search.threads import threaded
from mlc_course.mugraph.search.values import Made
from mlc_course.mugraph.search.ways import Derivation


def read_off(
    bank: Bank,
    nest: Nest,
    derivation: Derivation,
    targets: Mapping[str, int],
    names: Names,
    uncuttable: Collection[str] = (),
) -> Structure | None:
    """The structure that makes ``targets``, values by the names of outputs.

    ``uncuttable`` are dimensions that a grid must not cut besides those whose elements meet.
    None where the nest has parts, and some target needs none of them.
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
    first = _Reader(bank, derivation, names, set(derivation) - second)
    return Structure(
        nest, (first.stage(partial, nest.loop, in_parts=True), last), frozenset(meeting)
    )


def _second(bank: Bank, derivation: Derivation) -> set[int]:
    """What comes after the parts: behind an accumulator over them, or a running value in them."""
    found: set[int] = set()
    for number in sorted(derivation, key=lambda n: (bank.values[n].depth, n)):
        way, facts = derivation[number], bank.values[number].facts
        after = facts.closed and facts.level == 0
        running = way.op is ops.running_max and facts.level == 1
        if after or running or any(n in found for n in way.operands):
            found.add(number)
    return found


class _Reader:
    """Writes the equations of one stage, in the order in which a reader wants them.

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
        """The stage that stores ``targets``."""
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
        """Load it, or make it after what it is made of."""
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
        """Of each tile: in which loop it changes, and whether it is behind an accumulator."""
        known = [self.bank.values[n].facts for n in values]
        return [(facts.level if facts.varies else 0, facts.closed) for facts in known]
