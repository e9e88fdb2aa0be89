"""The subexpression test: a graph with a value that is no part of the goal is not equal to it.

*Why that holds.* A value of a graph goes on to the goal through operators. A sum over an axis
multiplies its expression by a whole number, a product by an expression, a sum adds terms, a
function wraps it, division by it makes it a denominator; nothing ever takes a term or a factor
away (nothing cancels). So some expression t that occurs in the goal holds u * e * r, term by term,
where r is what was summed over and u one of the terms of what e was multiplied by: that is the
test. It lets more through than there are graphs, which costs time, and refuses nothing that the
rules of ``normal_form`` make equal to the goal, with these exceptions:

- where a coefficient came from a division by a whole number (gelu), ratios are those of the whole;
- exp(x) is a part of exp(2 x) only where the program makes that of exp(x) exp(x);
- a term is subtracted as a whole: -x alone, without an operator that negates, is no part of x - y;
- a denominator that is a product of sums in which reciprocals merge (1/x and 1/y are one atom):
  the order in which it is divided is not one that such products keep;
- a denominator whose quotient by the part has more than 64 terms, and products of more than 10,000
  terms, which would take longer than a search.

Most candidates are refused before their expression is made, by the ``Role`` of each operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering

from mlc_course.deadline import check_time
from mlc_course.mugraph.expressions.normal_form import (
    EXP,
    INVERSE,
    SUM,
    UNIT,
    ZERO,
    Atom,
    Cancelled,
    Coefficient,
    Expressions,
    Monomial,
    Poly,
    added,
    whole,
)
from mlc_course.mugraph.ir import Op, ops

MOST_STEPS = 64  # of a long division; a quotient with more terms is not looked for
_Base = tuple[int, Monomial]  # an atom (0), or a term of an exponent (1)


@dataclass(frozen=True)
class Role:
    """A quick test of an expression: in which ways it may be a part of the goal.

    ``added``: for each term of a part of which its first term may be a factor, that part and what
    is missing; ``divides``: may it be a factor of a denominator? Exponentials and reciprocals, in
    which factors disappear, are left out of account.
    """

    added: frozenset[tuple[Poly, Monomial]]
    divides: bool

    def goes(self, op: Op, other: Role) -> bool:
        """Tell whether ``op`` of both may be a part, which saves computing most of them.

        In u * (x + y) the first terms of x and of y lack the same u in the same part; x/y stands
        where a multiple of y, and so of its first term, is a denominator.
        """
        if op is ops.div:
            return other.divides
        return op not in (ops.add, ops.sub) or not self.added.isdisjoint(other.added)


class Goal:
    """The expressions that a program returns, and everything that occurs in them.

    ``negates``: there is an operator that changes a sign.
    """

    def __init__(self, among: Expressions, goals: Iterable[Poly], *, negates: bool = False) -> None:
        self.among, self.negates = among, negates
        self.halves = among.like_exponents
        self.parts: dict[Poly, None] = {}
        self._denominators: set[Poly] = set()
        self._known: dict[Poly, bool] = {}
        self.goals = tuple(goals)
        for goal in self.goals:
            self._collect(goal)

    def _collect(self, poly: Poly) -> None:
        """It, and the arguments of its functions: one of them is a reciprocal's denominator."""
        if not poly or poly in self.parts:
            return
        self.parts[poly] = None
        for monomial, c in poly:
            for atom, _ in monomial:
                known = self.among.atoms[atom]
                if known.name == INVERSE:
                    self._denominators |= {*known.of}
                for argument in known.of:
                    self._collect(self.among.times(argument, c) if known.name == SUM else argument)

    def has(self, poly: Poly) -> bool:
        """Tell whether an expression is a part of the goal."""
        pieces = self.among.pieces(poly)
        if pieces is not None:  # tensors beside each other: each goes its way
            return all(map(self.has, pieces[1]))
        if poly not in self._known:
            terms = self.among.unboxed(poly)
            forms = (poly,) if terms == poly else (poly, terms)
            found = (self._within(each, t) for each in forms for t in self.parts)
            self._known[poly] = bool(poly) and any(found)
        return self._known[poly]

    def role(self, poly: Poly) -> Role:
        """Return the role of an expression."""
        first, as_term = self._plain(poly[0][0]), self._plain(self.among.unboxed(poly)[0][0])
        added = {
            (part, missing)
            for part in self.parts
            for whole, _ in part
            if (missing := self._quotient(self._plain(whole), as_term)) is not None
        }
        below = (self._plain(whole) for part in self._denominators for whole, _ in part)
        divides = any(self._quotient(whole, first) is not None for whole in below)
        return Role(frozenset(added), divides)

    def _plain(self, monomial: Monomial) -> Monomial:
        """The factors of a term that no product changes."""
        merged = (EXP, INVERSE)
        return tuple((a, power) for a, power in monomial if self.among.atoms[a].name not in merged)

    def _within(self, poly: Poly, t: Poly) -> bool:
        """Tell whether u * poly * r is in t, for a monomial u and a number r that sums can make."""
        terms = dict(t)
        (first, c), *rest = poly
        for monomial, d in t:
            ratio = d // c
            if d % c or (ratio < 0 and not self._negated(poly, t)):
                continue
            missing = self._quotient(monomial, first)
            if missing is None:
                continue
            try:
                if all(
                    terms.get(self.among.monomial(each, missing)) == e * ratio for each, e in rest
                ):
                    return True
            except Cancelled:
                continue
        return False

    def _negated(self, poly: Poly, t: Poly) -> bool:
        """Tell whether poly may be subtracted in t: t has other terms, or the program negates."""
        return self.negates or len(t) > len(poly)

    def _quotient(self, whole: Monomial, part: Monomial) -> Monomial | None:
        """Divide the whole by a part; None if the part is no factor of it."""
        powers = dict(whole)
        for atom, power in part:
            if powers.get(atom, 0) >= power:
                powers[atom] -= power
                continue
            name = self.among.atoms[atom].name
            other = next((a for a in powers if self.among.atoms[a].name == name), None)
            if other is None or name not in (EXP, INVERSE):
                return None
            (inner,), (outer,) = self.among.atoms[atom].of, self.among.atoms[other].of
            remaining = self._rest(outer, inner) if name == EXP else self._cofactor(outer, inner)
            if remaining is None:
                return None
            del powers[other]
            powers[self.among.number(Atom(name, (remaining,)))] = 1
        return tuple(sorted((atom, power) for atom, power in powers.items() if power))

    def _rest(self, whole: Poly, part: Poly) -> Poly | None:
        """Subtract a part from an exponent, as exp(x + y) is exp(x) exp(y)."""
        terms = dict(self.among.unboxed(whole))
        for monomial, c in self.among.unboxed(part):
            left = terms.pop(monomial, 0) - c
            if left and not (self.halves and left * c > 0):
                return None
            terms |= {monomial: left} if left else {}
        rest = tuple(sorted(terms.items()))
        makes = self.negates or any(c > 0 for _, c in rest)
        return self.among.boxed(rest) if rest and makes else None

    def _cofactor(self, product: Poly, part: Poly) -> Poly | None:
        """Divide a denominator by a part without remainder, as (x/y)/z is x/(yz); long division.

        Not a number: sums multiply numerators only.
        """
        leading, c = max(part, key=self._order)
        rest, factor = product, ZERO
        for _ in range(min(len(product), MOST_STEPS)):
            check_time()
            monomial, d = max(rest, key=self._order)
            missing = self._quotient(monomial, leading)
            if missing is None:
                return None
            step: Poly = ((missing, whole(Fraction(d) / c)),)
            try:
                rest = _less(rest, self.among.mul(part, step))
                factor = added(factor, step)
            except Cancelled:
                return None
            if not rest:
                return None if [m for m, _ in factor] == [UNIT] else factor
        return None

    def _order(self, term: tuple[Monomial, Coefficient]) -> _Order:
        powers: dict[_Base, Coefficient] = {}
        for atom, power in term[0]:
            known = self.among.atoms[atom]
            if known.name == EXP:
                powers |= {(1, m): c * power for m, c in self.among.unboxed(known.of[0])}
            else:
                powers[0, ((atom, 1),)] = power
        return _Order(powers)


def _less(x: Poly, y: Poly) -> Poly:
    """The difference of two sums, in a division."""
    terms = dict(x)
    for monomial, c in y:
        terms[monomial] = terms.get(monomial, 0) - c
    return tuple(sorted((monomial, c) for monomial, c in terms.items() if c))


@total_ordering
class _Order:
    """Lexicographic by powers. An exponential counts by its exponent, so that products keep it."""

    def __init__(self, powers: Mapping[_Base, Coefficient]) -> None:
        self.powers = powers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Order) and self.powers == other.powers

    def __lt__(self, other: _Order) -> bool:
        ours, theirs = self.powers, other.powers
        first = min(base for base in {*ours, *theirs} if ours.get(base, 0) != theirs.get(base, 0))
        return ours.get(first, 0) < theirs.get(first, 0)
