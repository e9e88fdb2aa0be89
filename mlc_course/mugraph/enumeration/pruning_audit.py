"""The pruning audit: would the search have pruned a known graph, at which value, and why?

A pruning that refuses a value of a graph which is equal to the program is unsound: it loses the
graph. ``tests/mugraph/enumeration/test_audit.py`` asks this of all known graphs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mlc_course.mugraph.expressions import AbstractArithmetic, Goal
from mlc_course.mugraph.ir import (
    AFTER,
    LOOP,
    BlockGraph,
    Equation,
    KernelGraph,
    Op,
    ThreadGraph,
    ops,
    resolved,
)
from mlc_course.mugraph.search import (
    NO_PART,
    NONE,
    Dims,
    Facts,
    Refused,
    applied,
    carried,
    expressions,
    met,
    negates,
    result_dims,
)


@dataclass(frozen=True)
class Audited:
    """A value, what it is made of, and why it would be pruned, or ""."""

    name: str
    expression: str
    reason: str


@dataclass(frozen=True)
class _Value:
    """``weight``: it is exp(m - r) or m - r, for the numbers of m and its running value r."""

    number: int
    facts: Facts
    running_of: int | None = None
    weight: tuple[int, int] | None = None

    @property
    def reference(self) -> int | None:
        known = self.facts.reference
        return self.number if known == "own" else known


def audit(graph: KernelGraph, program: KernelGraph, *, whole_sums: bool = False) -> list[Audited]:
    """Audit every value of a graph that has the program's inputs, up to the first refusal."""
    return list(_Auditor(graph, program, whole_sums).values())


class _Auditor:
    def __init__(self, graph: KernelGraph, program: KernelGraph, whole_sums: bool) -> None:
        self.graph = graph
        self.among, polys = expressions(program, whole_sums=whole_sums)
        self.m = AbstractArithmetic(self.among)
        goals = [polys[number] for number in program.outputs]
        self.goal = Goal(self.among, goals, negates=negates(program))
        self.made = 0

    def value(
        self,
        facts: Facts,
        running_of: int | None = None,
        weight: tuple[int, int] | None = None,
    ) -> _Value:
        self.made += 1
        return _Value(self.made, facts, running_of, weight)

    def values(self) -> Iterator[Audited]:
        """Kernel by kernel, equation by equation."""
        known: list[_Value] = []
        for each, shape in zip(self.graph.inputs, self.graph.shapes, strict=False):
            dims = tuple(d if n > 1 else NONE for d, n in zip(each.dims, shape, strict=True))
            known.append(self.value(Facts(0, shape, dims, self.among.atom(each.name))))
        for place, equation in enumerate(self.graph.equations):
            operands = [known[n] for n in equation.operands]
            try:
                if isinstance(equation.op, BlockGraph):
                    inside = _Block(self, place, equation.op, operands)
                    yield from inside.values()
                    known += inside.results()
                else:
                    known.append(self.applied(equation, operands, frozenset()))
                    yield self.said(equation.names[0], known[-1], "")
            except Refused as refused:
                yield Audited(str(equation), "", refused.reason)
                return

    def applied(
        self, equation: Equation, operands: Sequence[_Value], cut: frozenset[str]
    ) -> _Value:
        """Apply one operator; raise ``Refused`` where the search does."""
        op = equation.op
        assert isinstance(op, Op)
        weighed = self._weighed(op, operands)
        if weighed is not None:
            return weighed
        references = {each.reference for each in operands if each.reference is not None}
        given = resolved(equation, self.graph.size_of)
        roles = [self.goal.role(each.facts.poly) for each in operands]
        if len(roles) == 2 and not roles[0].goes(op, roles[1]):
            raise Refused(f"{NO_PART}: {op}")
        facts = applied(op, [x.facts for x in operands], references, given, cut, self.m)
        if not self.goal.has(facts.poly):
            raise Refused(f"{NO_PART}: {self.among.text(facts.poly)}")
        return self.value(facts)

    def _weighed(self, op: Op, operands: Sequence[_Value]) -> _Value | None:
        """m - r, exp(m - r) and x exp(m - r), for x relative to m whose running value r is."""
        first, last = operands[0], operands[-1]
        if op is ops.sub and last.running_of == first.number:
            facts = replace(first.facts, reference=last.number)
            return self.value(facts, weight=(first.number, last.number))
        if op is ops.exp and first.weight:
            return self.value(first.facts, weight=first.weight)
        if op is ops.mul and last.weight and first.reference == last.weight[0]:
            return self.value(replace(first.facts, reference=last.weight[1]))
        return None

    def said(self, name: str, value: _Value, reason: str) -> Audited:
        return Audited(name, self.among.text(value.facts.poly), reason)


class _Block:
    """One block graph, whose grid is a loop around it where it cuts what the block adds up."""

    def __init__(
        self, auditor: _Auditor, place: int, block: BlockGraph, operands: Sequence[_Value]
    ) -> None:
        self.auditor, self.block, self.operands = auditor, block, operands
        self.tiles = auditor.graph.tiles(place)
        self.turns = dict(block.loops)
        self.known: list[_Value] = []
        self.loop_cut = self._cut("fmap")
        met = self._met()
        self.parts = self._cut("imap") & met
        self.level = bool(self.parts) + bool(block.loops)

    def _cut(self, maps: str) -> frozenset[str]:
        return frozenset(
            operand.facts.dims[dim]
            for load, operand in zip(self.block.loads, self.operands, strict=True)
            for _, dim in getattr(load, maps)
        ) - {NONE}

    def _met(self) -> set[str]:
        """Return the labels that are added up or compared inside, as labels of the loads."""
        dims: list[Dims] = [each.facts.dims for each in self.operands]
        found: set[str] = set()
        for equation in self.block.equations:
            own = [dims[n] for n in equation.operands]
            if not isinstance(equation.op, Op) or equation.op.carried:
                dims.append(max(own, key=lambda each: sum(map(bool, each))))
                continue
            given = dict(equation.attributes)
            found |= met(equation.op, own, given)
            dims.append(result_dims(equation.op, own, given))
        return found

    def _stage(self, facts: Facts, stage: str) -> Facts:
        """Return a value's facts at its stage: its level, and the loops with which it changes."""
        outer = frozenset({0}) if self.parts else frozenset[int]()
        if stage == LOOP:
            return replace(facts, level=self.level, varies=outer | {self.level - 1}, closed=False)
        level = int(bool(self.parts))
        return replace(facts, level=level, varies=outer, closed=stage == AFTER)

    def values(self) -> Iterator[Audited]:
        for number, (load, operand) in enumerate(zip(self.block.loads, self.operands, strict=True)):
            facts = replace(operand.facts, shape=self.tiles.shapes[number])
            staged = self._stage(facts, self.tiles.stages[number])
            self.known.append(replace(operand, facts=staged))
            yield self.auditor.said(load.name, self.known[-1], "")
        for number, equation in enumerate(self.block.equations, len(self.block.loads)):
            operands = [self.known[n] for n in equation.operands]
            for name, value in self._equation(equation, operands):
                staged = self._stage(value.facts, self.tiles.stages[number])
                value = replace(value, facts=staged)
                yield self.auditor.said(name, value, "")
            self.known.append(value)

    def _equation(
        self, equation: Equation, operands: Sequence[_Value]
    ) -> Iterator[tuple[str, _Value]]:
        if isinstance(equation.op, ThreadGraph):
            values = list(operands)
            for inner in equation.op.equations:
                read = [values[n] for n in inner.operands]
                values.append(self.auditor.applied(inner, read, self._open(read)))
                yield inner.names[0], values[-1]
        elif equation.op.carried:
            yield equation.names[0], self._carried(equation, operands)
        else:
            made = self.auditor.applied(equation, operands, self._open(operands))
            yield equation.names[0], made

    def _open(self, operands: Sequence[_Value]) -> frozenset[str]:
        """The dimensions that are cut where these values live."""
        looped = self.block.loops and any(x.facts.level == self.level for x in operands)
        return self.parts | (self.loop_cut if looped else frozenset())

    def _carried(self, equation: Equation, operands: Sequence[_Value]) -> _Value:
        op, x = equation.op, operands[0]
        assert isinstance(op, Op)
        laid = dict(dict(equation.attributes).get("fmap", ()))
        turns = math.prod(n for loop, n in self.turns.items() if loop not in laid)
        r = operands[1] if len(operands) > 1 else None
        if x.facts.level < self.level or not self.turns:  # the same in each iteration
            poly = self.auditor.among.times(x.facts.poly, turns)
            return self.auditor.value(replace(x.facts, poly=poly))
        rescales = r is not None and x.reference == r.number and r.running_of is not None
        facts = carried(
            op, x.facts, r.facts if r else None, rescales=rescales, turns=turns, m=self.auditor.m
        )
        if r is not None and facts.varies:
            last = self._final(r)
            facts = replace(facts, reference=last)
        if not self.auditor.goal.has(facts.poly):
            raise Refused(f"{NO_PART}: {self.auditor.among.text(facts.poly)}")
        return self.auditor.value(facts, x.number if op is ops.running_max else None)

    def _final(self, running: _Value) -> int | None:
        """Return the number of a running maximum's last value, if the block has that."""
        for equation, value in zip(
            self.block.equations, self.known[len(self.block.loads) :], strict=False
        ):
            read = [self.known[n].number for n in equation.operands]
            if equation.op is ops.accumulate_max and read == [running.running_of]:
                return value.number
        return None

    def results(self) -> list[_Value]:
        """Return the stored values with the shapes and labels that they have outside."""
        found = []
        for store, shape in zip(self.block.stores, self.tiles.results, strict=True):
            value = self.known[store.value]
            found.append(replace(value, facts=replace(value.facts, shape=shape)))
        return found
