"""Bounds on formulas: how large the formula of a value can be, as one more arithmetic.

A value is a quotient A / (c * B) of *exponential polynomials*: sums of f * exp(g), where f is a
polynomial with whole coefficients in the entries of the inputs and g again such a quotient. Its
``Bound`` holds, of A and of each factor of B, an upper bound on how many different exponentials
there are, on the degree and on the sum of all coefficients; c is a whole number.

A value is known again by a *fingerprint*, its residue at one random point modulo a random prime of
some 150 bits (equal formulas have equal ones; different ones collide with probability below 1e-30,
whatever numbers somebody chose for them), so that a common denominator counts once, and so does a
value that several maxima are taken of.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Array, Number, Shape
from mlc_course.mugraph.verify.primes import MERSENNE, draw_above

SCALE = 1 << 24  # of the factor by which the prime is above a Mersenne prime
TOO_LARGE = 2**4096


@dataclass(frozen=True, slots=True)
class Size:
    """Upper bounds on an exponential polynomial: exponentials, degree, sum of |coefficients|.

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
        """Return the size of n times the polynomial."""
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
    ``modulus`` is that of fingerprints.
    """

    value: int
    modulus: int
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
        """Return both tops over one denominator, and that denominator."""
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
            value % self.modulus,
            self.modulus,
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
        right = self._of(other)
        ours, theirs, divisor, below = self.over(right)
        return self._made(right, self.value + right.value, ours + theirs, divisor, below)

    def __neg__(self) -> Bound:
        return replace(self, value=-self.value % self.modulus, choices=NOTHING)

    def __sub__(self, other: Bound | int) -> Bound:
        return self + -self._of(other)

    def _of(self, n: Bound | int) -> Bound:
        return n if isinstance(n, Bound) else whole(n, self.modulus)

    def __mul__(self, other: Bound | int) -> Bound:
        right = self._of(other)
        below = dict(self.below)
        for key, (size, power) in right.below.items():
            below[key] = size, power + below.get(key, (size, 0))[1]
        top, divisor = self.top * right.top, self.divisor * right.divisor
        return self._made(right, self.value * right.value, top, divisor, below)

    def inverse(self) -> Bound:
        """Return the bound of 1 / this; 1 / exp(g) is exp(-g)."""
        if self.top.exponent is not None and replace(self.top, exponent=None) == ONE:
            top, below = self.top, dict[int, tuple[Size, int]]()
            top = _raised(replace(top, exponent=-self.top.exponent), {}, self.below)
        else:
            top, below = _raised(ONE, {}, self.below), {self.value: (self.top, 1)}
        value = pow(self.value, -1, self.modulus) if self.value else 1
        top = top.times(self.divisor)
        return replace(self, value=value, top=top, divisor=1, below=below, choices=NOTHING)

    def __rsub__(self, other: int) -> Bound:
        return self._of(other) - self

    __radd__, __rmul__ = __add__, __mul__


def whole(n: int, modulus: int) -> Bound:
    """The bound of a whole number."""
    return Bound(n % modulus, modulus, replace(ONE, coefficients=max(1, abs(n))))


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


class BoundTensor:
    """A tensor of ``Bound``, in ``entries``."""

    def __init__(self, bounds: Bounds, entries: Array) -> None:
        self.bounds, self.entries = bounds, entries

    @property
    def shape(self) -> Shape:
        return self.entries.shape

    def each(self, action: Callable[[Bound], Bound]) -> BoundTensor:
        """Apply an action to every entry."""
        return BoundTensor(
            self.bounds, np.asarray(np.frompyfunc(action, 1, 1)(self.entries), object)
        )

    def __add__(self, other: Any) -> BoundTensor:
        return BoundTensor(self.bounds, np.asarray(self.entries + _entries(other), object))

    def __sub__(self, other: Any) -> BoundTensor:
        negated: BoundTensor = -other
        return self + negated

    def __mul__(self, other: Any) -> BoundTensor:
        return BoundTensor(self.bounds, np.asarray(self.entries * _entries(other), object))

    def __truediv__(self, other: Any) -> BoundTensor:
        if isinstance(other, int):
            return self * self.bounds.constant(Number(Fraction(1, other)))
        divided: BoundTensor = self * self.bounds.inverse(other)
        return divided

    def __matmul__(self, other: BoundTensor) -> BoundTensor:
        return BoundTensor(self.bounds, self.entries @ other.entries)

    def __neg__(self) -> BoundTensor:
        return self.each(lambda e: -e)

    def __rsub__(self, other: int) -> BoundTensor:
        return -self + other

    def __rtruediv__(self, other: int) -> BoundTensor:
        return self.bounds.inverse(self) * other

    __radd__, __rmul__ = __add__, __mul__


def _entries(other: Any) -> Any:
    return other.entries if isinstance(other, BoundTensor) else other


class Bounds:
    """The arithmetic of bounds, on NumPy arrays of ``Bound``.

    ``counted`` says whether some value depends on an extent, ``symbols`` holds the irrational
    constants. ``divisors`` and ``arguments`` keep, by fingerprint, what was divided by, and what
    was compared or given to sqrt or log: the first formula of each, which represents all.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.modulus = draw_above(2 ** MERSENNE[-2] - 1, SCALE, self._rng)
        self._keys: dict[str, tuple[int, ...]] = {}
        self.symbols: dict[str, Bound] = {}
        self.counted = False
        self.divisors: dict[int, Bound] = {}
        self.arguments: dict[int, Bound] = {}
        self.height = 0

    def _hash(self, name: str, value: int) -> int:
        """A random cubic polynomial of the fingerprint, one for each name."""
        if name not in self._keys:
            self._keys[name] = tuple(self._rng.randrange(self.modulus) for _ in range(4))
        a, b, c, d = self._keys[name]
        return (((a * value + b) * value + c) * value + d) % self.modulus

    def variable(self) -> Bound:
        """An entry of an input."""
        value = self._rng.randrange(1, self.modulus)
        return Bound(value, self.modulus, replace(ONE, degree=1))

    def random(self, shape: Shape) -> BoundTensor:
        """Entries of an input."""
        made = np.empty(shape, object)
        for place in np.ndindex(shape):
            made[place] = self.variable()
        return BoundTensor(self, made)

    def constant(self, number: Number) -> BoundTensor:
        n, d = number.coefficient.numerator, number.coefficient.denominator
        value = n * pow(d, -1, self.modulus) % self.modulus
        made = Bound(value, self.modulus, replace(ONE, coefficients=max(1, abs(n))), d)
        for prime in number.roots:
            made = made * self.symbols.setdefault(f"sqrt({prime})", self.variable())
        return self._scalar(made)

    def _scalar(self, bound: Bound) -> BoundTensor:
        made = np.empty((), object)
        made[()] = bound
        return BoundTensor(self, made)

    def exp(self, x: BoundTensor) -> BoundTensor:
        deepest = max((e.depth for e in x.entries.flat), default=0)
        self.height = max(self.height, deepest + 1)
        return x.each(
            lambda e: replace(
                e,
                value=self._hash("exp", e.value),
                top=Size(1, 0, 1, e),
                divisor=1,
                below={},
                depth=e.depth + 1,
                choices=NOTHING,
            )
        )

    def function(self, name: str, x: BoundTensor) -> BoundTensor:
        return x.each(lambda e: self._called(name, e))

    def _called(self, name: str, e: Bound) -> Bound:
        self.arguments.setdefault(e.value, e)
        return replace(
            e,
            value=self._hash(name, e.value),
            top=replace(ONE, degree=1),
            divisor=1,
            below={},
            calls=e.calls | {(name, e.value)},
            choices=NOTHING,
        )

    def maximum(self, x: BoundTensor, y: BoundTensor) -> BoundTensor:
        return self._chosen(x, y, "max")

    def minimum(self, x: BoundTensor, y: BoundTensor) -> BoundTensor:
        return self._chosen(x, y, "min")

    def _chosen(self, x: BoundTensor, y: BoundTensor, name: str) -> BoundTensor:
        pick = np.frompyfunc(lambda a, b: self._one_of([a, b], name), 2, 1)
        return BoundTensor(self, np.asarray(pick(x.entries, y.entries), object))

    def _one_of(self, entries: Sequence[Bound], name: str) -> Bound:
        """The largest or the least: the formula of one of them."""
        if len(entries) == 1:
            return entries[0]
        for each in entries:
            if not each.choices:
                self.arguments.setdefault(each.value, each)
        choices = frozenset[int]().union(*(each.choices or {each.value} for each in entries))
        # x + max(y, z) is one of two formulas, of which either may be a value that is compared too
        built_on_maxima = any(each.compared and not each.choices for each in entries)
        named = choices if name == "max" else {each.value for each in entries}
        one = reduce(covering, entries)
        return replace(
            one,
            value=sum(self._hash(name, each) for each in named) % self.modulus,
            compared=one.compared | choices,
            selections=one.selections | {choices},
            choices=choices if name == "max" else NOTHING,
            ordered=one.ordered or name == "min" or built_on_maxima,
        )

    def sum(self, x: BoundTensor, axis: int) -> BoundTensor:
        return BoundTensor(self, np.add.reduce(x.entries, axis, keepdims=True))

    def max(self, x: BoundTensor, axis: int) -> BoundTensor:
        rows = np.moveaxis(x.entries, axis, -1)
        made = np.empty(rows.shape[:-1], object)
        for place in np.ndindex(made.shape):
            made[place] = self._one_of(list(rows[place]), "max")
        return BoundTensor(self, np.expand_dims(made, axis))

    def count(self, x: BoundTensor, axis: int) -> int:
        self.counted = True
        return x.shape[axis]

    def reshape(self, x: BoundTensor, shape: Shape) -> BoundTensor:
        return BoundTensor(self, x.entries.reshape(shape))

    def transpose(self, x: BoundTensor, axes: Sequence[int]) -> BoundTensor:
        return BoundTensor(self, x.entries.transpose(axes))

    def concatenate(self, xs: Sequence[BoundTensor], axis: int) -> BoundTensor:
        return BoundTensor(self, np.concatenate([x.entries for x in xs], axis))

    def take(self, x: BoundTensor, place: tuple[slice, ...]) -> BoundTensor:
        return BoundTensor(self, x.entries[place])

    def stored(self, x: BoundTensor) -> BoundTensor:
        return x

    def inverse(self, x: BoundTensor) -> BoundTensor:
        """Return the bounds of 1 / x; equal entries share the formula that was divided by first."""
        return x.each(lambda e: self.divisors.setdefault(e.value, e).inverse())
