"""Abstract expressions: what a value is made of, without rows and columns, in a normal form.

An expression is a sum of monomials over *atoms*, with rational coefficients: an atom is an input,
a function of expressions (exp, sqrt, max, ...), or the reciprocal of one. A sum over an axis
multiplies by its extent, so that where all extents are different primes the coefficient says which
axes were summed. Two graphs whose expressions differ may still be equal, but not by the rules that
hold here by construction, those of M. Wu et al. (Mirage, OSDI 2025, table 2):

====================================================  =========================================
x+y = y+x, xy = yx, and both associate                sorted terms, sorted atoms
x(y+z) = xy + xz, (x+y)/z = x/z + y/z                 products are multiplied out
x(y/z) = (xy)/z, (x/y)/z = x/(yz)                     one reciprocal in a monomial
x = sum(1,x), sum(i,sum(j,x)) = sum(ij,x)             coefficients multiply
sum(i,x+y) = sum(i,x) + sum(i,y)                      each term has a coefficient
sum(i,xy) = sum(i,x) y, sum(i,x/y) = sum(i,x)/y       the coefficient is the monomial's
exp(x) exp(y) = exp(x+y)                              one exponential in a monomial
====================================================  =========================================

The paper's last rule, sqrt(x) sqrt(y) = sqrt(xy), is left out: the verifier takes sqrt for a random
function, and would refuse what it gives. On purpose nothing cancels: x - x raises ``Cancelled`` and
x/x stays, for else everything would be a part of everything. Nor does x + x become 2 x, unless
``like_terms`` allows it for a program that does that itself, for else sums of copies would pass for
sums over axes.

``whole_sums`` leaves out the second line: a sum is an atom, as long as nothing is added to it. Long
sums under squares then stay short; what multiplies them out is not found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

Monomial = tuple[tuple[int, int], ...]  # (atom, power), by atom
Coefficient = int | Fraction  # a whole number is an int, which is quicker
Poly = tuple[tuple[Monomial, Coefficient], ...]  # by monomial
UNIT: Monomial = ()
ONE: Poly = ((UNIT, 1),)
ZERO: Poly = ()
EXP, INVERSE, MAX, SUM, BESIDE = "exp", "inverse", "max", "+", "|"
MOST_TERMS = 10_000  # of a product


class Cancelled(Exception):
    """An error: something cancels, so that the value has no expression."""


class TooLong(Cancelled):
    """An error: a product has too many terms to be multiplied out."""


@dataclass(frozen=True)
class Atom:
    """An input or a constant (``of`` is empty), or a function of expressions."""

    name: str
    of: tuple[Poly, ...] = ()


class Expressions:
    """All atoms of a search, numbered, and arithmetic on expressions over them."""

    def __init__(self, *, whole_sums: bool = False, like_terms: bool = False) -> None:
        self.whole_sums, self.like_terms = whole_sums, like_terms
        self.like_exponents = False  # did exp(x) exp(x) become exp(2 x)?
        self.atoms: list[Atom] = []
        self._numbers: dict[Atom, int] = {}
        self._products: dict[tuple[Poly, Poly], Poly] = {}
        self.terms = 0  # of all products

    def atom(self, name: str, *of: Poly) -> Poly:
        """An atom as an expression."""
        return ((((self.number(Atom(name, of)), 1),), 1),)

    def number(self, atom: Atom) -> int:
        """The atom's number; a new one for a new atom."""
        if atom not in self._numbers:
            self._numbers[atom] = len(self.atoms)
            self.atoms.append(atom)
        return self._numbers[atom]

    def add(self, x: Poly, y: Poly) -> Poly:
        """Raises ``Cancelled`` where terms meet that differ in their coefficients at most."""
        x, y = self.unboxed(x), self.unboxed(y)
        if not self.like_terms and {m for m, _ in x} & {m for m, _ in y}:
            raise Cancelled
        return self.boxed(added(x, y))

    def joined(self, x: Poly, y: Poly) -> Poly:
        """The sum of two exponents, in which like terms may meet."""
        x, y = self.unboxed(x), self.unboxed(y)
        self.like_exponents |= bool({m for m, _ in x} & {m for m, _ in y})
        return self.boxed(added(x, y))

    def times(self, x: Poly, c: Coefficient) -> Poly:
        """Multiply all coefficients by c."""
        return tuple((monomial, whole(coefficient * c)) for monomial, coefficient in x)

    def mul(self, x: Poly, y: Poly) -> Poly:
        """Multiplied out; raises ``Cancelled`` where terms of unlike signs meet, or ``TooLong``."""
        key = x, y
        if key not in self._products:
            if len(x) * len(y) > MOST_TERMS:
                raise TooLong
            terms: dict[Monomial, Coefficient] = {}
            for m, c in x:
                for n, d in y:
                    monomial = self.monomial(m, n)
                    before = terms.get(monomial, 0)
                    if before * c * d < 0:
                        raise Cancelled
                    terms[monomial] = before + c * d
            self.terms += len(terms)
            self._products[key] = tuple(sorted(terms.items()))
        return self._products[key]

    def monomial(self, m: Monomial, n: Monomial) -> Monomial:
        """The product: exponentials become one, and reciprocals become one."""
        powers = dict(m)
        for atom, power in n:
            powers[atom] = powers.get(atom, 0) + power
        self._merge(powers, EXP, self.joined, ZERO)
        self._merge(powers, INVERSE, self.mul, ONE)
        return tuple(sorted(powers.items()))

    def _merge(
        self, powers: dict[int, int], name: str, join: Callable[[Poly, Poly], Poly], none: Poly
    ) -> None:
        those = [atom for atom in powers if self.atoms[atom].name == name]
        if len(those) < 2 and all(powers[atom] == 1 for atom in those):
            return
        whole = none
        for atom in those:
            for _ in range(powers.pop(atom)):
                whole = join(whole, self.atoms[atom].of[0])
        powers[self.number(Atom(name, (whole,)))] = 1

    def inverse(self, x: Poly) -> Poly:
        """An atom; the reciprocal of 1/c is the constant c.

        A sum over an axis of g has the expression of g times its extent, so that not even of a
        monomial the reciprocal is a monomial of reciprocals: 1/sum(g) is not sum(1/g).
        """
        inner = self._single(x, INVERSE)
        if inner is not None and self._constant(inner):
            return inner
        return self.atom(INVERSE, x)

    def _constant(self, x: Poly) -> bool:
        return all(self.atoms[atom].name[0].isdigit() for monomial, _ in x for atom, _ in monomial)

    def largest(self, x: Poly) -> Poly:
        """The maximum along an axis or a loop: a maximum of a maximum is that maximum."""
        return x if self._single(x, MAX) is not None else self.atom(MAX, x)

    def pieces(self, x: Poly) -> tuple[tuple[int, ...], tuple[Poly, ...]] | None:
        """Extents and expressions of tensors that lie beside each other, if that is what x is."""
        if len(x) != 1 or x[0][1] != 1 or len(x[0][0]) != 1:
            return None
        known = self.atoms[x[0][0][0][0]]
        if not known.name.startswith(BESIDE):
            return None
        return tuple(map(int, known.name.removeprefix(BESIDE).split(","))), known.of

    def unboxed(self, x: Poly) -> Poly:
        """The terms of a sum that is one atom."""
        if not self.whole_sums or len(x) != 1:
            return x
        ((monomial, coefficient),) = x
        inner = self._single(((monomial, 1),), SUM)
        return x if inner is None else self.times(inner, coefficient)

    def boxed(self, x: Poly) -> Poly:
        """A sum of several terms as one atom, its coefficients without a common factor."""
        if not self.whole_sums or len(x) < 2:
            return x
        common = Fraction(
            math.gcd(*(c.numerator for _, c in x)), math.lcm(*(c.denominator for _, c in x))
        )
        return self.times(self.atom(SUM, self.times(x, 1 / common)), whole(common))

    def _single(self, x: Poly, name: str) -> Poly | None:
        """The argument, of an expression that is one atom of this name."""
        if len(x) != 1 or x[0][1] != 1 or len(x[0][0]) != 1:
            return None
        ((atom, power),) = x[0][0]
        known = self.atoms[atom]
        return known.of[0] if power == 1 and known.name == name else None

    def text(self, x: Poly) -> str:
        """Return an expression as text, such as ``7 Q K + 3 exp(X)``."""
        return " + ".join(self._term(*term) for term in x) or "0"

    def _term(self, monomial: Monomial, c: Coefficient) -> str:
        parts = [] if c == 1 and monomial else [str(c)]
        for atom, power in monomial:
            known = self.atoms[atom]
            inner = ", ".join(map(self.text, known.of))
            name = "" if known.name == SUM else known.name
            parts.append((f"{name}({inner})" if inner else name) + (f"^{power}" * (power > 1)))
        return " ".join(parts)


def whole(c: Coefficient) -> Coefficient:
    """A number without a denominator as an int."""
    return c if isinstance(c, int) or c.denominator != 1 else c.numerator


def added(x: Poly, y: Poly) -> Poly:
    """Term by term; raises ``Cancelled`` where terms of unlike signs meet."""
    terms = dict(x)
    for monomial, coefficient in y:
        before = terms.get(monomial, 0)
        if before * coefficient < 0:
            raise Cancelled
        terms[monomial] = before + coefficient
    return tuple(sorted(terms.items()))
