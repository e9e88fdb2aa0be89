"""Polynomials with integer coefficients over nodes that are not sums or products.

A polynomial maps a monomial, the nodes that are multiplied in the order of their serial numbers, to
its coefficient; ``()`` is the monomial of the constant. A node whose values are 0 and 1 is its own
square and occurs once in a monomial.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from mlc_course.deadline import check_time
from mlc_course.instruction_selection.integers import Formula, const

Monomial: TypeAlias = "tuple[Formula, ...]"
Terms: TypeAlias = "dict[Monomial, int]"
Key: TypeAlias = "frozenset[tuple[Monomial, int]]"
MOST_TERMS = 64  # of a product that is multiplied out


def constant(value: int) -> Terms:
    """Return the polynomial of a number; that of 0 has no terms."""
    return {(): value} if value else {}


def plus(a: Mapping[Monomial, int], b: Mapping[Monomial, int], factor: int = 1) -> Terms:
    """Return a + factor * b."""
    made = dict(a)
    for monomial, coefficient in b.items():
        made[monomial] = made.get(monomial, 0) + factor * coefficient
    return {monomial: c for monomial, c in made.items() if c}


def times(a: Mapping[Monomial, int], b: Mapping[Monomial, int]) -> Terms:
    """Return a * b."""
    made: Terms = {}
    for m, c in a.items():
        check_time()
        for n, d in b.items():
            both = joined(m, n)
            made[both] = made.get(both, 0) + c * d
    return {monomial: c for monomial, c in made.items() if c}


def scaled(a: Mapping[Monomial, int], factor: int) -> Terms:
    """Return factor * a."""
    return plus({}, a, factor)


def joined(m: Monomial, n: Monomial) -> Monomial:
    """Return the product of two monomials."""
    together = sorted((*m, *n), key=lambda x: x.serial)
    return tuple(
        x for i, x in enumerate(together) if not (i and x is together[i - 1] and is_bit(x))
    )


def is_bit(x: Formula) -> bool:
    """Return whether a node has no values but 0 and 1."""
    return x.lo >= 0 and x.hi <= 1


def key_of(terms: Mapping[Monomial, int]) -> Key:
    """Return what equal polynomials have in common, as a key of dictionaries."""
    return frozenset(terms.items())


def variable_part(terms: Mapping[Monomial, int]) -> Terms:
    """Return the polynomial without its constant."""
    return {monomial: c for monomial, c in terms.items() if monomial}


def in_order(terms: Mapping[Monomial, int]) -> list[tuple[Monomial, int]]:
    """Return monomials and coefficients in an order that is the same in each run."""
    return sorted(terms.items(), key=lambda term: (len(term[0]), [x.serial for x in term[0]]))


def primitive(terms: Mapping[Monomial, int]) -> tuple[int, Terms, int]:
    """Return g, x and c with ``terms`` = g * x + c.

    The coefficients of x have no common factor, the first is positive, and x has no constant.
    """
    rest = variable_part(terms)
    factor = math.gcd(*rest.values()) or 1
    if rest and in_order(rest)[0][1] < 0:
        factor = -factor
    return factor, {m: c // factor for m, c in rest.items()}, terms.get((), 0)


def trailing_zeros(value: int) -> int:
    """Return how often 2 divides a number that is not 0."""
    return (value & -value).bit_length() - 1


def centred(value: int, bits: int) -> int:
    """Return the number in -2**(bits - 1) .. 2**(bits - 1) - 1 that is ``value`` mod 2**bits."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def monomial_range(monomial: Monomial) -> tuple[int, int]:
    """Return bounds of a product of nodes; a square is not negative."""
    lo, hi = 1, 1
    i = 0
    while i < len(monomial):
        x, power = monomial[i], 1
        while i + power < len(monomial) and monomial[i + power] is x:
            power += 1
        ends = [x.lo**power, x.hi**power] + ([0] if x.lo < 0 < x.hi else [])
        low, high = min(ends), max(ends)
        products = [p * q for p in (lo, hi) for q in (low, high)]
        lo, hi = min(products), max(products)
        i += power
    return lo, hi


def range_of(terms: Mapping[Monomial, int]) -> tuple[int, int]:
    """Return bounds of a polynomial, each monomial by itself."""
    lo = hi = terms.get((), 0)
    for monomial, c in terms.items():
        if monomial:
            low, high = monomial_range(monomial)
            lo += c * (low if c > 0 else high)
            hi += c * (high if c > 0 else low)
    return lo, hi


def built(terms: Mapping[Monomial, int]) -> Formula:
    """Return the formula of a polynomial; terms with a minus sign are subtracted."""
    made = const(0)
    for monomial, c in sorted(in_order(variable_part(terms)), key=lambda term: term[1] < 0):
        check_time()
        product = _product(monomial)
        made = made + product * c if c > 0 or made.value == 0 else made - product * -c
    value = terms.get((), 0)
    return made + value if value >= 0 else made - -value


def _product(factors: Iterable[Formula]) -> Formula:
    made = const(1)
    for x in factors:
        made = made * x
    return made


def text_of(terms: Mapping[Monomial, int]) -> str:
    """Return a polynomial as text, such as ``A + 2 * B - D``; terms with a plus sign first."""
    text = ""
    for monomial, c in sorted(in_order(terms), key=lambda term: (not term[0], term[1] < 0)):
        factors = [*([str(abs(c))] if abs(c) != 1 or not monomial else []), *map(repr, monomial)]
        sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
        text += sign + " * ".join(factors)
    return text or "0"
