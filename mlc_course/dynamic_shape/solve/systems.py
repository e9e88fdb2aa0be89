"""The equations and inequalities that a constraint means, in two systems.

In the system of products the unknowns are logarithms of sizes, and primes stay as they are; in the
system of sums they are the sizes themselves, and the number 1 stays. A quotient that is a whole
number is an unknown of its own, whose name begins with ``#``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import isqrt, lcm, prod

from mlc_course.dynamic_shape.ir import (
    LARGEST,
    AffineEq,
    AtMost,
    Constraint,
    Dim,
    Divisible,
    Eq,
    Less,
    MulEq,
    ProductEq,
    SymbolicDim,
    dims_of,
    said,
)
from mlc_course.dynamic_shape.solve.echelon import Vector, add_to
from mlc_course.dynamic_shape.solve.integers import Cut, Equation
from mlc_course.errors import UsageError, check_known

ONE = Fraction(1)
MOST_POWERS = 64  # of a size, to compare a product with a limit
Dims = Mapping[str, SymbolicDim]


@dataclass(frozen=True)
class Range:
    """A dimension has a size of its ranges; every dimension is a fact of this kind."""

    dim: SymbolicDim


Claim = Constraint | Range


def check_sizes(constraint: Constraint, dims: Dims) -> None:
    """Raise ``UsageError`` for a dimension that is not known, and a number that is no size.

    Multiples and limits are whole numbers, of at most the largest size.
    """
    if not isinstance(constraint, Constraint):
        raise UsageError("no constraint", expected="such as Eq('A', 'B')", got=repr(constraint))
    for dim in dims_of(constraint):
        if isinstance(dim, str):
            check_known(f"{said(constraint)}: no dimension", dim, dims)
        elif type(dim) is not int or not 1 <= dim <= LARGEST:
            raise UsageError(f"{said(constraint)}: a size", expected=f"1 to {LARGEST}", got=dim)
    for number in _numbers(constraint):
        if type(number) is not int or abs(number) > LARGEST:
            raise UsageError(
                f"{said(constraint)}: a number",
                expected=f"a whole one, -{LARGEST} to {LARGEST}",
                got=number,
            )


def _numbers(constraint: Constraint) -> Iterator[int]:
    """Yield the numbers in a constraint that are no sizes."""
    match constraint:
        case AffineEq(_, terms, constant):
            yield constant
            yield from (by for by, _ in terms)
        case AtMost(_, limit):
            yield limit


def check_names(dims: Dims) -> None:
    """Raise ``UsageError`` where a dimension goes by another name than its own."""
    for name, dim in dims.items():
        if name != dim.name:
            raise UsageError("a dimension's name", expected=dim.name, got=name)


@cache
def primes_of(size: int) -> Mapping[int, int]:
    """Return the prime factors of a size below 2^40, and how often each divides it."""
    found: dict[int, int] = {}
    rest, by = size, 2
    while by <= isqrt(rest):
        while rest % by == 0:
            found[by] = found.get(by, 0) + 1
            rest //= by
        by += 1 if by == 2 else 2
    if rest > 1:
        found[rest] = found.get(rest, 0) + 1
    return found


def quotient(fact: int) -> str:
    """Return the name of the unknown quotient of a fact about divisibility."""
    return f"#{fact}"


def log(sizes: Sequence[Dim]) -> Vector:
    """Return the logarithm of a product."""
    total = Vector()
    for dim in sizes:
        one: Mapping[str | int, Fraction]
        if isinstance(dim, str):
            one = {dim: ONE}
        else:
            one = {prime: Fraction(times) for prime, times in primes_of(dim).items()}
        add_to(total, one, ONE)
    return total


def ratio(above: Sequence[Dim], below: Sequence[Dim]) -> Vector:
    """Return the logarithm of a ratio of products."""
    total = log(above)
    add_to(total, log(below), -ONE)
    return total


def is_within(product: Vector, limit: int, dims: Dims) -> bool:
    """Tell whether a product is at most a limit for all sizes in their ranges, by its logarithm.

    False where that takes a high power to tell.
    """
    scale = lcm(*(by.denominator for by in product.values()))
    if limit < 1 or scale > MOST_POWERS:
        return False
    above: int = 1
    below: int = limit**scale
    for key, by in product.items():
        times = int(abs(by) * scale)
        size = _extreme(key, dims, is_largest=by > 0)
        if size is None or times > MOST_POWERS:
            return False
        if by > 0:
            above *= size**times
        else:
            below *= size**times
    return above <= below


def _extreme(key: str | int, dims: Dims, *, is_largest: bool) -> int | None:
    """Return the largest or the smallest value of a factor, or None."""
    if isinstance(key, int):
        return key
    if key not in dims:  # a quotient
        return None if is_largest else 1
    return dims[key].largest if is_largest else dims[key].smallest


def product_equation(fact: int, claim: Claim) -> Vector | None:
    """Return what a claim says in the system of products, if it is an equation there."""
    match claim:
        case Eq(left, right):
            return ratio((left,), (right,))
        case MulEq(size, factors):
            return ratio((size,), factors)
        case ProductEq(left, right):
            return ratio(left, right)
        case Divisible(sizes, by):
            return ratio(sizes, (*by, quotient(fact)))
        case AffineEq(size, ((by, dim),), 0) if by > 0:
            return ratio((size,), (by, dim))
        case Range(SymbolicDim(name, ((low, high),))) if low == high:
            return ratio((name,), (low,))
    return None


def sum_equation(fact: int, claim: Claim) -> Vector | None:
    """Return what a claim says in the system of sums, if it is an equation there."""
    match claim:
        case Eq(left, right):
            return affine((1, left), (-1, right))
        case AffineEq(size, terms, constant):
            return affine((1, size), *((-by, dim) for by, dim in terms), (-1, constant))
        case MulEq(size, factors):
            return _multiple((size,), factors)
        case ProductEq(left, right):
            return _multiple(left, right)
        case Divisible(sizes, by):
            return _multiple(sizes, (*by, quotient(fact)))
    return None


def _multiple(left: Sequence[Dim], right: Sequence[Dim]) -> Vector | None:
    """A multiple of one size that is equal to a multiple of another."""
    sides: list[tuple[int, Dim]] = []
    for side in (left, right):
        names: list[Dim] = [dim for dim in side if isinstance(dim, str)]
        if len(names) > 1:
            return None
        times = prod(dim for dim in side if isinstance(dim, int))
        sides.append((times, names[0] if names else 1))
    (by, one), (times, other) = sides
    return affine((by, one), (-times, other))


def affine(*terms: tuple[int, Dim]) -> Vector:
    """Return a sum of multiples; a size that is a number goes with the number 1."""
    total = Vector()
    for by, dim in terms:
        one: tuple[str | int, int] = (dim, by) if isinstance(dim, str) else (1, by * dim)
        add_to(total, {one[0]: Fraction(one[1])}, ONE)
    return total


def inequalities(fact: int, claim: Claim, dims: Dims) -> Iterator[Cut]:
    """Yield the inequalities that a claim means in the system of sums."""
    match claim:
        case Range(dim):
            yield Cut({dim.name: -1}, -dim.smallest)
            if dim.largest is not None:
                yield Cut({dim.name: 1}, dim.largest)
        case Less(small, large):
            yield below((1, small), (-1, large), by=1)
        case AtMost((dim,), limit):
            yield below((1, dim), (-limit, 1), by=0)
        case MulEq(size, factors):
            yield from _factors_below(size, factors, dims)
        case ProductEq((size,), factors) | ProductEq(factors, (size,)):
            yield from _factors_below(size, factors, dims)
        case Divisible(sizes, by):
            yield Cut({quotient(fact): -1}, -1)
            if len(sizes) == 1:
                yield from _factors_below(sizes[0], (*by, quotient(fact)), dims)


def below(*terms: tuple[int, Dim], by: int) -> Cut:
    """Return the inequality that a sum of multiples is at most ``-by``."""
    total = affine(*terms)
    constant = total.pop(1, Fraction(0))
    return Cut({str(name): int(times) for name, times in total.items()}, -by - int(constant))


def _factors_below(size: Dim, factors: Sequence[Dim], dims: Dims) -> Iterator[Cut]:
    """Yield that each factor, as often as all others are at least, is at most the product."""
    least = [
        each if isinstance(each, int) else dims[each].smallest if each in dims else 1
        for each in factors
    ]
    for at, each in enumerate(factors):
        if isinstance(each, str):
            yield below((prod(least[:at] + least[at + 1 :]), each), (-1, size), by=0)


def as_equation(fact: int, vector: Vector, key: int) -> Equation:
    """Return a vector as an equation for whole numbers: of one prime's exponents, or of sizes."""
    total = {name: value for name, value in vector.items() if isinstance(name, str)}
    return Equation(fact, total, -vector.get(key, Fraction(0)))


def bounds_of(claim: Constraint) -> Iterator[Cut]:
    """Yield the inequalities that are together what a claim says in the system of sums."""
    match claim:
        case Less(small, large):
            yield below((1, small), (-1, large), by=1)
        case AtMost((dim,), limit):
            yield below((1, dim), (-limit, 1), by=0)
        case Eq() | AffineEq():
            vector = sum_equation(-1, claim)
            assert vector is not None
            for sign in (1, -1):
                constant = vector.get(1, Fraction(0))
                goal = {n: sign * int(by) for n, by in vector.items() if isinstance(n, str)}
                yield Cut(goal, -sign * int(constant))
