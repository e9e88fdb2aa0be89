"""Formulas expanded exactly: what bounds on their size are held against.

A value is A / B, A a sum of terms c * x**i * y**j * .. * exp(g), B a product of such sums. The same
formula, written out, is the same ``Sum``, so that fingerprints are not needed here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Monomial = tuple[tuple[Any, int], ...]  # (variable, power), in order
Term = tuple[Monomial, Any]  # and the exponent: None, or an ``Exact``
Sum = frozenset[tuple[Term, Fraction]]
ONE: Sum = frozenset({(((), None), Fraction(1))})


def _sum(terms: list[tuple[Term, Fraction]]) -> Sum:
    total: dict[Term, Fraction] = {}
    for term, c in terms:
        total[term] = total.get(term, Fraction()) + c
    return frozenset((term, c) for term, c in total.items() if c)


def _times(a: Sum, b: Sum) -> Sum:
    made = []
    for ((m, g), c), ((n, h), d) in ((x, y) for x in a for y in b):
        powers = dict(m)
        for variable, power in n:
            powers[variable] = powers.get(variable, 0) + power
        monomial = tuple(sorted(powers.items(), key=repr))
        made.append(((monomial, _joined(g, h)), c * d))
    return _sum(made)


def _joined(g: Exact | None, h: Exact | None) -> Exact | None:
    if g is None or h is None:
        return g or h
    total = g + h
    return total if total.top else None


@dataclass(frozen=True)
class Exact:
    """``top`` over the product of ``below``, each to its power."""

    top: Sum
    below: frozenset[tuple[Sum, int]] = field(default_factory=frozenset)

    def over(self, other: Exact) -> tuple[Sum, Sum, frozenset[tuple[Sum, int]]]:
        common = dict(self.below)
        for factor, power in other.below:
            common[factor] = max(power, common.get(factor, 0))
        tops = []
        for each in (self, other):
            top, have = each.top, dict(each.below)
            for factor, power in common.items():
                for _ in range(power - have.get(factor, 0)):
                    top = _times(top, factor)
            tops.append(top)
        return tops[0], tops[1], frozenset(common.items())

    def __add__(self, other: Exact) -> Exact:
        ours, theirs, below = self.over(other)
        return Exact(_sum([*ours, *theirs]), below)

    def __neg__(self) -> Exact:
        return Exact(frozenset((term, -c) for term, c in self.top), self.below)

    def __sub__(self, other: Exact) -> Exact:
        return self + -other

    def __mul__(self, other: Exact) -> Exact:
        below = dict(self.below)
        for factor, power in other.below:
            below[factor] = below.get(factor, 0) + power
        return Exact(_times(self.top, other.top), frozenset(below.items()))

    def inverse(self) -> Exact:
        """Of a value that is not 0."""
        top = ONE
        for factor, power in self.below:
            for _ in range(power):
                top = _times(top, factor)
        if len(self.top) == 1:
            (((monomial, g), c),) = self.top
            if not monomial:
                unit: Sum = frozenset({(((), None if g is None else -g), 1 / c)})
                return Exact(_times(top, unit))
        return Exact(top, frozenset({(self.top, 1)}))

    def __truediv__(self, other: Exact) -> Exact:
        return self * other.inverse()


def variable(name: Any) -> Exact:
    return Exact(frozenset({((((name, 1),), None), Fraction(1))}))


def constant(c: Fraction) -> Exact:
    return Exact(frozenset({(((), None), c)}) if c else frozenset())


def exp(x: Exact) -> Exact:
    return Exact(frozenset({(((), x if x.top else None), Fraction(1))}))


def exponentials(top: Sum) -> int:
    return len({g for (_, g), _ in top})


def degree(top: Sum) -> int:
    return max((sum(power for _, power in monomial) for (monomial, _), _ in top), default=0)


def coefficients(top: Sum) -> int:
    """The sum of their absolute values, as whole numbers without a common factor."""
    whole = math.lcm(*(c.denominator for _, c in top))
    numbers = [int(c * whole) for _, c in top]
    return sum(map(abs, numbers)) // math.gcd(*numbers) if numbers else 0


def exponents(top: Sum) -> list[Exact]:
    zero = constant(Fraction())
    return list({zero if g is None else g for (_, g), _ in top})
