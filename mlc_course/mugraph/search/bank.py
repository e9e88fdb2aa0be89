"""A bank of values: everything that one nest of loops can compute and that may be of use.

Graphs are not enumerated; values are. A new value is kept where ``rules.py`` has nothing against
it, its abstract expression is a part of the goal, and its residues on random inputs (``field.py``)
say that it is new. If they say that it is known, the way in which it was made is kept beside the
first one, so that a graph is read off a value by following ways (``ways.py``).

*Why one value is enough.* What can be made of a value can be made of any that is equal to it on all
inputs, by the same operators, at the same cost. Residues are equal for values that are not with a
probability below 1e-9 for each pair; such an accident could lose a graph, and never lets a wrong
one through, because every graph that is found is verified afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mlc_course.mugraph import ops
from mlc_course.mugraph.field import Field, Residues
from mlc_course.mugraph.ops import Op
from mlc_course.mugraph.search import rules
from mlc_course.mugraph.search.abstract import AbstractArithmetic
from mlc_course.mugraph.search.expr import Poly
from mlc_course.mugraph.search.iterated import Iterated, each_turn, stacked
from mlc_course.mugraph.search.labels import Dims
from mlc_course.mugraph.search.prune import Goal, Role
from mlc_course.mugraph.search.rules import Facts, Refused
from mlc_course.mugraph.search.values import Kept, Made, Use

WAYS = 8  # kept for one value
EXPRESSIONS, EQUALITY, ORDER = "expressions", "equality", "order"
EVERY = frozenset({EXPRESSIONS, EQUALITY, ORDER})  # prunings, each of which can be left out


def fingerprint(x: Residues) -> Hashable:
    """The residues of the highest level: what tells values apart."""
    return tuple(x.top.flat) if x.top.dtype == object else x.top.tobytes()


Watch = Callable[[Made, str], None]  # a candidate, and why it is pruned, or ""


@dataclass
class Bank:
    """Values of a nest, by number. ``fields[n]`` is the arithmetic where n loops are open.

    ``turns[n]`` is how often loop n turns, ``cuts[n]`` which dimensions it cuts.
    """

    goal: Goal
    fields: Sequence[Field]
    turns: Sequence[int] = ()
    cuts: Sequence[frozenset[str]] = ()
    most_operators: int | None = None
    prunings: frozenset[str] = EVERY
    watch: Watch | None = None
    values: list[Kept] = field(default_factory=list)
    tried: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    _seen: dict[Any, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.abstract = AbstractArithmetic(self.goal.among)
        self.by_level: list[list[Kept]] = [[] for _ in self.fields]
        open_loops = [self.cuts[:level] for level in range(len(self.fields))]
        self._cut = [frozenset[str]().union(*loops) for loops in open_loops]

    @property
    def pruned(self) -> dict[str, int]:
        """How many candidates were no use, by the reason."""
        return {why: n for why, n in sorted(self.counts.items()) if why}

    def enter(self, name: str, dims: Dims, level: int, residues: Residues) -> Kept | None:
        """An input's tile, where ``level`` loops are open; None where it is known already."""
        varies = frozenset(n for n, cut in enumerate(self.cuts[:level]) if cut & set(dims))
        poly = self.goal.among.atom(name)
        facts = Facts(level, residues.shape, dims, poly, varies)
        return self._tried(Made(name), (), lambda: self._kept(Made(name), facts, residues, ()))

    def apply(self, use: Use, operands: Sequence[Kept]) -> Kept | None:
        """One operator, if what it makes is of use."""
        op, attributes = use.op, use.resolved
        made = Made(op, tuple(each.number for each in operands), use.attributes)

        def attempt() -> Kept:
            references = {each.reference for each in operands if each.reference is not None}
            facts = [each.facts for each in operands]
            cut = self._cut[max(each.level for each in facts)]
            reference = rules.relative_to(op, facts, references, attributes, cut)
            self._check_roles(op, operands)
            meant = rules.meant(op, facts, attributes, self.abstract)
            self._check(meant.poly, operands)
            known = rules.facts_of(op, facts, attributes, meant, reference)
            return self._kept(made, known, self._value(op, operands, attributes), operands)

        return self._tried(made, operands, attempt)

    def carry(self, op: Op, operands: Sequence[Kept]) -> Kept | None:
        """An accumulator over the innermost open loop, or a running value in it."""
        made = Made(op, tuple(each.number for each in operands))
        x, r = operands[0], operands[1] if len(operands) > 1 else None

        def attempt() -> Kept:
            turns = self.turns[x.facts.level - 1]
            rescales = r is not None and x.reference == r.number and r.running_of is not None
            known = rules.carried(
                op,
                x.facts,
                r.facts if r else None,
                rescales=rescales,
                turns=turns,
                m=self.abstract,
            )
            if r is not None:
                known = self._relative(known, r)
            self._check(known.poly, operands)
            return self._kept(made, known, self._carried(op, operands), operands)

        return self._tried(made, operands, attempt)

    def rebase(self, x: Kept, running: Kept) -> Kept | None:
        """x * exp(m - running), where x is relative to m, whose running value ``running`` is.

        m and its running value have one expression, so that their difference has none: this is the
        one place where something cancels.
        """
        assert x.reference is not None
        m = self.values[x.reference]
        below = self._step(ops.sub, [m, running], running)
        weight = self._step(ops.exp, [below], running)
        varies = x.facts.varies | m.facts.varies
        facts = replace(x.facts, varies=varies, reference=running.number)
        made = Made(ops.mul, (x.number, weight.number))

        def attempt() -> Kept:
            self._check(facts.poly, (x, weight))
            return self._kept(made, facts, self._value(ops.mul, [x, weight], {}), (x, weight))

        return self._tried(made, (x, weight), attempt)

    def _relative(self, known: Facts, running: Kept) -> Facts:
        """What was rescaled to a running maximum is relative to what that ends with."""
        if not known.varies:
            return known
        assert running.running_of is not None
        last = self.carry(ops.accumulate_max, [self.values[running.running_of]])
        if last is None:
            way = Made(ops.accumulate_max, (running.running_of,))
            last = next(each for each in self.by_level[known.level] if way in each.ways)
        return replace(known, reference=last.number)

    def _step(self, op: Op, operands: Sequence[Kept], running: Kept) -> Kept:
        """A value on the way to another; it is known by how it was made."""
        made = Made(op, tuple(each.number for each in operands))
        if made not in self._seen:
            residues = self._value(op, operands, {})
            first = operands[0].facts
            varies = frozenset[int]().union(*(each.facts.varies for each in operands))
            poly = self.abstract.among.atom("zero")
            facts = replace(first, poly=poly, varies=varies, reference=running.number)
            self._seen[made] = len(self.values)
            self.values.append(self._new(made, facts, residues, operands))
        return self.values[self._seen[made]]

    def _tried(
        self, made: Made, operands: Sequence[Kept], attempt: Callable[[], Kept]
    ) -> Kept | None:
        """The value, or None; either way it is counted, and ``watch`` is told."""
        try:
            kept, reason = attempt(), ""
        except Refused as refused:
            kept, reason = None, refused.reason
        self.tried += 1
        self.counts[reason] += 1
        if self.watch is not None:
            self.watch(made, reason)
        return kept

    def _check(self, poly: Poly, operands: Sequence[Kept]) -> None:
        """Raises ``Refused`` for too many operators, and for what is no part of the goal."""
        if self.most_operators is not None:
            below = frozenset[int]().union(*(each.operators for each in operands))
            if len(below) >= self.most_operators:
                raise Refused(rules.TOO_LARGE)
        if EXPRESSIONS in self.prunings and not self.goal.has(poly):
            raise Refused(rules.NO_PART)

    def _check_roles(self, op: Op, operands: Sequence[Kept]) -> None:
        """Raises ``Refused`` where what they make is no part of the goal, as ``Role`` tells."""
        match [each.role for each in operands]:
            case Role() as x, Role() as y if not x.goes(op, y):
                raise Refused(rules.NO_PART)

    def _value(self, op: Op, operands: Sequence[Kept], attributes: Mapping[str, Any]) -> Residues:
        level = max(each.facts.level for each in operands)
        where = self.fields[level]
        return self._defined(
            where, op.meaning(where, *(self._at(level, each) for each in operands), **attributes)
        )

    def _at(self, level: int, x: Kept) -> Residues:
        """The same in every iteration of the loops that are open besides its own."""
        value = x.residues
        for inner in self.fields[x.facts.level + 1 : level + 1]:
            value = inner.entered(value)
        return value

    def _carried(self, op: Op, operands: Sequence[Kept]) -> Residues:
        """The accumulator's meaning, iteration by iteration."""
        level = operands[0].facts.level
        assert all(each.facts.level == level for each in operands)
        inner, outer = self.fields[level], self.fields[level - 1]
        assert isinstance(inner, Iterated)
        said, results = None, list[Residues]()
        for tiles in each_turn([each.residues for each in operands], outer, inner.times):
            said = op.meaning(outer, said, *tiles)
            results.append(op.result(said))
        if op.carried == "running":
            return self._defined(inner, stacked(results, inner))
        return self._defined(outer, results[-1])

    def _defined(self, where: Field, x: Residues) -> Residues:
        """Raises ``Refused`` where something was divided by zero, or exp was taken of exp."""
        bad = where.bad.any()
        where.bad = np.zeros(where.trials, bool)
        if bad or x.levels[-1] is None:
            raise Refused(rules.NO_VALUE)
        return x

    def _kept(self, made: Made, facts: Facts, residues: Residues, operands: Sequence[Kept]) -> Kept:
        """A new value; raises ``Refused`` for one that is known, and keeps the way to it."""
        own = "own" if facts.reference == "own" else facts.reference
        key: Any = (facts.level, facts.dims, own, residues.shape, fingerprint(residues))
        if EQUALITY not in self.prunings:
            key = made
        number = self._seen.setdefault(key, len(self.values))
        kept = self._new(made, facts, residues, operands)
        if number < len(self.values):
            known = self.values[number]
            if len(known.ways) < WAYS and known.depth >= kept.depth and made not in known.ways:
                known.ways.append(made)  # of operands that are less deep: never of itself
            raise Refused(rules.EQUAL)
        self.values.append(kept)
        self.by_level[facts.level].append(kept)
        return kept

    def _new(
        self,
        made: Made,
        facts: Facts,
        residues: Residues,
        operands: Sequence[Kept],
    ) -> Kept:
        number = len(self.values)
        operators = frozenset[int]().union(*(each.operators for each in operands))
        if not isinstance(made.op, str):
            operators |= {number}
        depth = 1 + max((each.depth for each in operands), default=-1)
        role = self.goal.role(facts.poly) if EXPRESSIONS in self.prunings else None
        return Kept(number, facts, residues, [made], depth, operators, role)
