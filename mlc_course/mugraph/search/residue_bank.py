"""A bank of values, deduplicated by their residues: all that one nest of loops can compute.

Values are enumerated, not graphs. A new value is kept where the rules of ``value_facts`` do not
refuse it, its abstract expression is a part of the goal, and its residues on random inputs show
that it is new. If they show that it is known, the way in which it was made is kept beside the first
one, so that ``graph_extraction`` reads graphs off a value by following its ways.

*Why one value is enough.* What can be made of a value can be made of any that is equal to it on all
inputs, by the same operators, at the same cost. Residues are equal for values that are not with a
probability below 1e-9 for each pair; such an accident could lose a graph, and never lets a wrong
one through, because every graph that is found is verified afterwards.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mlc_course.deadline import OutOfTime, check_time
from mlc_course.mugraph.expressions import AbstractArithmetic, Goal, Poly
from mlc_course.mugraph.ir import Op, Shape, ops
from mlc_course.mugraph.search.dimensions import Dims, fit
from mlc_course.mugraph.search.loop_residues import Iterated, each_turn, stacked
from mlc_course.mugraph.search.value_facts import (
    EQUAL,
    NO_PART,
    NO_VALUE,
    TOO_LARGE,
    Facts,
    Kept,
    Made,
    Refused,
    Use,
    carried,
    facts_of,
    meant,
    meet,
    relative_to,
)
from mlc_course.mugraph.verify import Field, Residues

WAYS = 8  # kept for one value
TERM_BYTES = 300  # of a term of an expression
ORDER, EQUALITY, EXPRESSIONS = PRUNINGS = ("order", "equal", "expressions")
EVERY = frozenset(PRUNINGS)


def fingerprint(x: Residues) -> Hashable:
    """Return a digest of the residues of the highest level, which tell values apart."""
    top = x.top
    held = repr(list(top.flat)).encode() if top.dtype == object else top.tobytes()
    return hashlib.blake2b(held, digest_size=16).digest()


def held(x: Residues) -> int:
    """Return the bytes of residues; of long numbers, about 32 each."""
    each = (level for level in x.levels if level is not None)
    return sum(level.size * 32 if level.dtype == object else level.nbytes for level in each)


Watch = Callable[[Made, str], None]  # a candidate, and why it is pruned, or ""


@dataclass
class Bank:
    """Values of a nest, by number. ``fields[n]`` is the arithmetic where n loops are open.

    ``turns[n]`` is how many iterations loop n has, ``cuts[n]`` which dimensions it cuts.
    ``prunings`` are some of ``PRUNINGS``.
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
    residue_bytes: int = 0
    _seen: dict[Any, int] = field(default_factory=dict)
    _kinds: list[int] = field(default_factory=list)  # of each value: its expression and shape
    _kind_numbers: dict[Any, int] = field(default_factory=dict)
    _no_expressions: dict[Any, str] = field(default_factory=dict)  # why not, by use and kinds

    def __post_init__(self) -> None:
        self.abstract = AbstractArithmetic(self.goal.among)
        self.by_level: list[list[Kept]] = [[] for _ in self.fields]
        open_loops = [self.cuts[:level] for level in range(len(self.fields))]
        self._cut = [frozenset[str]().union(*loops) for loops in open_loops]

    @property
    def bytes(self) -> int:
        """The memory that residues and expressions take, about."""
        return self.residue_bytes + TERM_BYTES * self.goal.among.terms

    @property
    def pruned(self) -> dict[str, int]:
        """The number of refused candidates, by reason."""
        return {why: n for why, n in sorted(self.counts.items()) if why}

    def enter(
        self, name: str, dims: Dims, level: int, shape: Shape, residues: Residues
    ) -> Kept | None:
        """Add an input's tile, where ``level`` loops are open; None where it is known already."""
        varies = frozenset(n for n, cut in enumerate(self.cuts[:level]) if cut & set(dims))
        poly = self.goal.among.atom(name)
        facts = Facts(level, shape, dims, poly, varies)
        return self._tried(self._kept, Made(name), (), facts, residues)

    def apply(self, use: Use, operands: Sequence[Kept]) -> Kept | None:
        """Try one operator; return what it makes, or None where that is refused."""
        key = use.op.name, use.attributes, *[self._kinds[each.number] for each in operands]
        refused = self._roles_refuse(use.op, operands)
        reason = NO_PART if refused else self._no_expressions.get(key, "")
        if reason and self.watch is None:  # most candidates end here
            self._tell(None, reason)
            return None
        made = Made(use.op, tuple(each.number for each in operands), use.attributes)
        if reason:
            self._tell(made, reason)
            return None
        return self._tried(self._applied, made, operands, use, key)

    def _applied(self, made: Made, operands: Sequence[Kept], use: Use, key: Hashable) -> Kept:
        op, attributes = use.op, use.resolved
        references = {each.reference for each in operands if each.reference is not None}
        facts = [each.facts for each in operands]
        cut = self._cut[max(each.level for each in facts)]
        reference = relative_to(op, facts, references, attributes, cut)
        self._check_length(operands)
        try:
            abstract = meant(op, facts, attributes, self.abstract)
            self._check_expression(abstract.poly)
        except Refused as refused:  # so is every other value of these expressions
            self._no_expressions[key] = refused.reason
            raise
        known = facts_of(op, facts, attributes, abstract, reference)
        return self._kept(made, operands, known, self._value(op, operands, use.tested))

    def carry(self, op: Op, operands: Sequence[Kept]) -> Kept | None:
        """Try an accumulator over the innermost open loop, or a running value in it."""
        made = Made(op, tuple(each.number for each in operands))
        return self._tried(self._carried, made, operands, op)

    def _carried(self, made: Made, operands: Sequence[Kept], op: Op) -> Kept:
        x, r = operands[0], operands[1] if len(operands) > 1 else None
        known = carried(
            op,
            x.facts,
            r.facts if r else None,
            rescales=r is not None and x.reference == r.number and r.running_of is not None,
            turns=self.turns[x.facts.level - 1],
            m=self.abstract,
        )
        if r is not None:
            known = self._relative(known, r)
        self._check(known.poly, operands)
        return self._kept(made, operands, known, self._accumulated(op, operands))

    def rebase(self, x: Kept, running: Kept) -> Kept | None:
        """Try x * exp(m - running), where x is relative to m, whose running value ``running`` is.

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
        return self._tried(self._rebased, made, (x, weight), facts)

    def _rebased(self, made: Made, operands: Sequence[Kept], facts: Facts) -> Kept:
        self._check(facts.poly, operands)
        return self._kept(made, operands, facts, self._value(ops.mul, operands, {}))

    def _relative(self, known: Facts, running: Kept) -> Facts:
        """Make what was rescaled to a running maximum relative to the last value of that."""
        if not known.varies:
            return known
        assert running.running_of is not None
        last = self.carry(ops.accumulate_max, [self.values[running.running_of]])
        if last is None:
            way = Made(ops.accumulate_max, (running.running_of,))
            last = next(each for each in self.by_level[known.level] if way in each.ways)
        return replace(known, reference=last.number)

    def _step(self, op: Op, operands: Sequence[Kept], running: Kept) -> Kept:
        """Add a value on the way to another, known by how it was made."""
        made = Made(op, tuple(each.number for each in operands))
        if made not in self._seen:
            residues = self._value(op, operands, {})
            first = operands[0].facts
            varies = frozenset[int]().union(*(each.facts.varies for each in operands))
            poly = self.abstract.among.atom("zero")
            facts = replace(first, poly=poly, varies=varies, reference=running.number)
            self._seen[made] = len(self.values)
            self._keep(self._new(made, operands, facts, residues))
        return self.values[self._seen[made]]

    def _tried(
        self, attempt: Callable[..., Kept], made: Made, operands: Sequence[Kept], *given: Any
    ) -> Kept | None:
        """Return what ``attempt`` makes, or None; either way count it and tell ``watch``."""
        try:
            kept, reason = attempt(made, operands, *given), ""
        except Refused as refused:
            kept, reason = None, refused.reason
        self._tell(made, reason)
        return kept

    def _tell(self, made: Made | None, reason: str) -> None:
        """Count a candidate by the reason that refuses it, or "", and tell ``watch`` of it."""
        self.tried += 1
        self.counts[reason] += 1
        if self.watch is not None and made is not None:
            self.watch(made, reason)

    def _check(self, poly: Poly, operands: Sequence[Kept]) -> None:
        """Raise ``Refused`` for too many operators, and for what is no part of the goal."""
        self._check_length(operands)
        self._check_expression(poly)

    def _check_length(self, operands: Sequence[Kept]) -> None:
        if self.most_operators is not None:
            below = frozenset[int]().union(*(each.operators for each in operands))
            if len(below) >= self.most_operators:
                raise Refused(TOO_LARGE)

    def _check_expression(self, poly: Poly) -> None:
        if EXPRESSIONS in self.prunings and not self.goal.has(poly):
            raise Refused(NO_PART)

    def _roles_refuse(self, op: Op, operands: Sequence[Kept]) -> bool:
        """Tell whether the operands' roles show that this is no part of the goal."""
        if len(operands) != 2:
            return False
        x, y = operands[0].role, operands[1].role
        return x is not None and y is not None and not x.goes(op, y)

    def _value(self, op: Op, operands: Sequence[Kept], attributes: Mapping[str, Any]) -> Residues:
        level = max(each.facts.level for each in operands)
        where = self.fields[level]
        return self._defined(
            where, op.meaning(where, *(self._at(level, each) for each in operands), **attributes)
        )

    def _at(self, level: int, x: Kept) -> Residues:
        """Return a value as it is seen inside ``level`` loops: the same in every iteration."""
        value = x.residues
        for inner in self.fields[x.facts.level + 1 : level + 1]:
            value = inner.entered(value)
        return value

    def _accumulated(self, op: Op, operands: Sequence[Kept]) -> Residues:
        """Evaluate the accumulator iteration by iteration."""
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
        """Raise ``Refused`` where something was divided by zero, or exp was taken of exp."""
        bad = where.bad.any()
        where.bad = np.zeros(where.trials, bool)
        if bad or x.levels[-1] is None:
            raise Refused(NO_VALUE)
        return x

    def _kept(self, made: Made, operands: Sequence[Kept], facts: Facts, residues: Residues) -> Kept:
        """Add a new value; of one that is known keep this way to it and raise ``Refused``."""
        key: Any = (
            facts.level, facts.dims, facts.reference, facts.shape, fingerprint(residues)
        )  # fmt: skip
        if EQUALITY not in self.prunings:
            key = made
        number = self._seen.setdefault(key, len(self.values))
        kept = self._new(made, operands, facts, residues)
        if number < len(self.values):
            known = self.values[number]
            if len(known.ways) < WAYS and known.depth >= kept.depth and made not in known.ways:
                known.ways.append(made)  # of operands that are less deep: never of itself
            raise Refused(EQUAL)
        self._keep(kept)
        self.by_level[facts.level].append(kept)
        return kept

    def _keep(self, value: Kept) -> None:
        known = value.facts
        kind = known.poly, known.shape, known.dims
        self._kinds.append(self._kind_numbers.setdefault(kind, len(self._kind_numbers)))
        self.values.append(value)
        self.residue_bytes += held(value.residues)

    def _new(self, made: Made, operands: Sequence[Kept], facts: Facts, residues: Residues) -> Kept:
        number = len(self.values)
        operators = frozenset[int]().union(*(each.operators for each in operands))
        if not isinstance(made.op, str):
            operators |= {number}
        depth = 1 + max((each.depth for each in operands), default=-1)
        role = self.goal.role(facts.poly) if EXPRESSIONS in self.prunings else None
        return Kept(number, facts, residues, [made], depth, operators, role)


COMMUTATIVE = (ops.add, ops.mul, ops.maximum)
BESIDE = Use(ops.concat)


@dataclass(frozen=True)
class Offer:
    """The operators that a search may use; those in ``along`` need an axis as well.

    ``carried`` are accumulators and running values; ``maxima`` are the dimensions along which the
    program takes a maximum: a maximum along another one is no part of it, which no coefficient
    shows. ``joined`` are those along which tiles may be concatenated: [x | y] times [v above w] is
    x v + y w in one product.
    """

    unary: Sequence[Use]
    along: Sequence[Use]
    binary: Sequence[Use]
    carried: Sequence[Op]
    maxima: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Limits:
    """The limits of a bank that stops before it is complete; ``memory`` is in bytes."""

    values: int = 2000
    tried: int = 200_000
    rounds: int = 40
    memory: int | None = None

    def reached(self, bank: Bank) -> str:
        """Name the limit that is reached, or return ""."""
        if len(bank.values) >= self.values:
            return f"{self.values} values"
        if bank.tried >= self.tried:
            return f"{self.tried} candidates"
        if self.memory is not None and bank.bytes > self.memory:
            return f"{self.memory / 1e9:.1f} GB"
        return ""


OUT_OF_TIME = "out of time"


def grow(bank: Bank, offer: Offer, limits: Limits) -> str:
    """Grow a bank round by round until nothing is new; return the limit that ended it, or "".

    A round takes values one operator deeper. When a round makes nothing new, the bank is complete:
    nothing that the rules let through is missing. The deadline of ``mlc_course.deadline`` ends it
    too.
    """
    try:
        return _rounds(bank, offer, limits)
    except OutOfTime:
        return OUT_OF_TIME


def _rounds(bank: Bank, offer: Offer, limits: Limits) -> str:
    fresh = [each for level in bank.by_level for each in level]
    for _ in range(limits.rounds):
        made: list[Kept] = []
        if not fresh:
            return ""
        for kept in _round(bank, offer, fresh):
            if kept is not None:
                made.append(kept)
            check_time()
            cut = limits.reached(bank)
            if cut:
                return cut
        fresh = made
    return f"{limits.rounds} rounds"


def _round(bank: Bank, offer: Offer, fresh: Sequence[Kept]) -> Iterator[Kept | None]:
    """Try each candidate of a round; yield the value that it made, or None."""
    known = [each for level in bank.by_level for each in level]
    newest = {each.number for each in fresh}
    for each in fresh:
        yield from _alone(bank, offer, each)
        for other in known:
            if other.number in newest and other.number < each.number:
                continue  # this pair has been tried
            if meet(each.facts, other.facts):
                yield from _together(bank, offer, each, other)


def _alone(bank: Bank, offer: Offer, x: Kept) -> Iterator[Kept | None]:
    for use in offer.unary:
        yield bank.apply(use, [x])
    for use in offer.along:
        for axis, extent in enumerate(x.facts.shape):
            wrong = use.op is ops.reduce_max and x.facts.dims[axis] not in offer.maxima
            if extent > 1 and not wrong:
                yield bank.apply(use.along(axis), [x])
    if x.facts.level:
        for op in offer.carried:
            if op.operands == 1:
                yield bank.carry(op, [x])


def _together(bank: Bank, offer: Offer, x: Kept, y: Kept) -> Iterator[Kept | None]:
    """Try both orders of the operands; one for operators that commute."""
    for use in offer.binary:
        one_order = x is y or (use.op in COMMUTATIVE and ORDER in bank.prunings)
        for a, b in ((x, y),) if one_order else ((x, y), (y, x)):
            if fit(use.op, a.facts.dims, b.facts.dims):
                yield bank.apply(use, [a, b])
    if x is not y and ops.accumulate_rescaled in offer.carried:
        yield from _rescaled(bank, x, y)
        yield from _rescaled(bank, y, x)
    if offer.joined and x is not y:
        for a, b in ((x, y), (y, x)):
            for axis in _beside(offer, a.facts.dims, b.facts.dims):
                yield bank.apply(BESIDE.along(axis), [a, b])


def _beside(offer: Offer, a: Dims, b: Dims) -> Iterator[int]:
    """Axes along which b may follow a: in alphabetical order, so that both factors agree.

    The dimensions differ: two tiles of one dimension are never concatenated.
    """
    if len(a) == len(b):
        for axis, (x, y) in enumerate(zip(a, b, strict=True)):
            others = a[:axis] == b[:axis] and a[axis + 1 :] == b[axis + 1 :]
            if others and x < y and {x, y} <= offer.joined:
                yield axis


def _rescaled(bank: Bank, x: Kept, r: Kept) -> Iterator[Kept | None]:
    """Try what may be done to a value that is relative to a maximum, with its running value."""
    if r.running_of is None or not fit(ops.mul, x.facts.dims, r.facts.dims):
        return
    if x.reference == r.number and x.facts.level == r.facts.level:
        yield bank.carry(ops.accumulate_rescaled, [x, r])
    if x.reference == r.running_of != x.number:
        yield bank.rebase(x, r)
