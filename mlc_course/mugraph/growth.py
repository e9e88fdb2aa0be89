"""How large the formula of a value can be: what an error bound is made of.

A value is a quotient A / (c * B) of *exponential polynomials*: sums of f * exp(g), where f is a
polynomial with whole coefficients in the entries of the inputs and g again such a quotient. Its
``Bound`` holds, of A and of each factor of B, an upper bound on how many different exponentials
there are, on the degree and on the sum of all coefficients; c is a whole number.

A value is known again by a *fingerprint*, its residue at one random point modulo 2**127 - 1 (equal
formulas have equal ones; different ones collide with probability below 1e-30), so that a common
denominator counts once, and so does a value that several maxima are taken of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

PRINT = 2**127 - 1
TOO_LARGE = 2**4096


@dataclass(frozen=True, slots=True)
class Size:
    """Of an exponential polynomial, at most: exponentials, degree, sum of |coefficients|.

    ``exponent`` is a bound on any of its exponents; None where they are all 0.
    """

    exponentials: float = 1  # whole numbers, or infinite: these are too large to count
    degree: float = 0
    coefficients: float = 1
    exponent: Bound | None = None

    def __mul__(self, other: Size) -> Size:
        return Size(
            _capped(self.exponentials * other.exponentials),
            _capped(self.degree + other.degree),
            _capped(self.coefficients * other.coefficients),
            _sum(self.exponent, other.exponent),
        )

    def __add__(self, other: Size) -> Size:
        apart = self.exponent is None and other.exponent is None
        return Size(
            1 if apart else self.exponentials + other.exponentials,
            max(self.degree, other.degree),
            self.coefficients + other.coefficients,
            _either(self.exponent, other.exponent),
        )

    def covers(self, other: Size) -> Size:
        """A bound on both."""
        return Size(
            max(self.exponentials, other.exponentials),
            max(self.degree, other.degree),
            max(self.coefficients, other.coefficients),
            _either(self.exponent, other.exponent),
        )

    def times(self, n: int) -> Size:
        """Of n times the polynomial."""
        return self if n == 1 else replace(self, coefficients=_capped(self.coefficients * n))


def _capped(n: float) -> float:
    """A whole number, or infinite where it is too long for any prime that could be used."""
    return math.inf if n >= TOO_LARGE else n


ONE = Size()
Factors = Mapping[int, tuple[Size, int]]  # by fingerprint: a polynomial and its power
NOTHING: frozenset[Any] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """Bounds on one entry of a tensor.

    ``compared`` are the values that maxima in it are taken of, ``selections`` the sets of them,
    ``calls`` the arguments of sqrt and log in it; ``choices`` what this maximum itself is one of.
    ``ordered`` is True where more than who is largest matters. ``depth`` counts nested exp.
    """

    value: int
    top: Size = ONE
    divisor: int = 1
    below: Factors = field(default_factory=dict)
    depth: int = 0
    compared: frozenset[int] = NOTHING
    selections: frozenset[frozenset[int]] = NOTHING
    calls: frozenset[tuple[str, int]] = NOTHING
    choices: frozenset[int] = NOTHING
    ordered: bool = False

    def over(self, other: Bound) -> tuple[Size, Size, int, Factors]:
        """Both tops over one denominator, and that."""
        divisor = math.lcm(self.divisor, other.divisor)
        below = dict(self.below)
        for key, (size, power) in other.below.items():
            below[key] = size, max(power, below.get(key, (size, 0))[1])
        return (
            _raised(self.top, self.below, below).times(divisor // self.divisor),
            _raised(other.top, other.below, below).times(divisor // other.divisor),
            divisor,
            below,
        )

    def _made(self, other: Bound, value: int, top: Size, divisor: int, below: Factors) -> Bound:
        if divisor >= TOO_LARGE:
            top, divisor = replace(top, coefficients=math.inf), 1
        return Bound(
            value % PRINT,
            top,
            divisor,
            below,
            max(self.depth, other.depth),
            self.compared | other.compared,
            self.selections | other.selections,
            self.calls | other.calls,
            NOTHING,
            self.ordered or other.ordered,
        )

    def __add__(self, other: Bound | int) -> Bound:
        right = bound_of(other)
        ours, theirs, divisor, below = self.over(right)
        return self._made(right, self.value + right.value, ours + theirs, divisor, below)

    def __neg__(self) -> Bound:
        return replace(self, value=-self.value % PRINT, choices=NOTHING)

    def __sub__(self, other: Bound | int) -> Bound:
        return self + -bound_of(other)

    def __mul__(self, other: Bound | int) -> Bound:
        right = bound_of(other)
        below = dict(self.below)
        for key, (size, power) in right.below.items():
            below[key] = size, power + below.get(key, (size, 0))[1]
        top, divisor = self.top * right.top, self.divisor * right.divisor
        return self._made(right, self.value * right.value, top, divisor, below)

    def inverse(self) -> Bound:
        """Of 1 / this; 1 / exp(g) is exp(-g)."""
        if self.top.exponent is not None and replace(self.top, exponent=None) == ONE:
            top, below = self.top, dict[int, tuple[Size, int]]()
            top = _raised(replace(top, exponent=-self.top.exponent), {}, self.below)
        else:
            top, below = _raised(ONE, {}, self.below), {self.value: (self.top, 1)}
        value = pow(self.value, -1, PRINT) if self.value else 1
        top = top.times(self.divisor)
        return replace(self, value=value, top=top, divisor=1, below=below, choices=NOTHING)

    def __rsub__(self, other: int) -> Bound:
        return bound_of(other) - self

    __radd__, __rmul__ = __add__, __mul__


def bound_of(n: Bound | int) -> Bound:
    """The bound of a whole number."""
    if isinstance(n, Bound):
        return n
    return Bound(n % PRINT, replace(ONE, coefficients=max(1, abs(n))))


def _raised(top: Size, have: Factors, want: Factors) -> Size:
    """The top times what its denominator lacks of ``want``."""
    for key, (size, power) in want.items():
        for _ in range(power - have.get(key, (size, 0))[1]):
            top = top * size
    return top


@lru_cache(maxsize=1 << 14)
def _sum(a: Bound | None, b: Bound | None) -> Bound | None:
    return a + b if a is not None and b is not None else a or b


@lru_cache(maxsize=1 << 14)
def _either(a: Bound | None, b: Bound | None) -> Bound | None:
    """A bound on both exponents; one of 0 is below any other."""
    if a is None or b is None or a is b:
        return a or b
    return covering(a, b)


def covering(a: Bound, b: Bound) -> Bound:
    """A bound on either of two entries, whose value is the first's."""
    ours, theirs, divisor, below = a.over(b)
    return a._made(b, a.value, ours.covers(theirs), divisor, below)
