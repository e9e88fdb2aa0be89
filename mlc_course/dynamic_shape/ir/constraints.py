"""The predicates of a shape-constraint graph: how the sizes of a program depend on each other.

They are those of BladeDISC's design (docs/design/shape_constraint_ir.md there); what is shipped
there has products only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import assert_never

from mlc_course.dynamic_shape.ir.dims import Dim


@dataclass(frozen=True)
class Eq:
    """Two sizes are equal."""

    left: Dim
    right: Dim


@dataclass(frozen=True)
class Divisible:
    """The product of the first sizes is divided by the product of the second."""

    sizes: tuple[Dim, ...]
    by: tuple[Dim, ...]


@dataclass(frozen=True)
class Less:
    """The first size is smaller than the second."""

    small: Dim
    large: Dim


@dataclass(frozen=True)
class MulEq:
    """A size is the product of others."""

    size: Dim
    factors: tuple[Dim, ...]


@dataclass(frozen=True)
class ProductEq:
    """Two products of sizes are equal."""

    left: tuple[Dim, ...]
    right: tuple[Dim, ...]


@dataclass(frozen=True)
class AffineEq:
    """A size is a sum of multiples of others, and a constant."""

    size: Dim
    terms: tuple[tuple[int, Dim], ...]
    constant: int = 0


@dataclass(frozen=True)
class AtMost:
    """The product of some sizes is no larger than a limit; no program states it, passes ask it."""

    sizes: tuple[Dim, ...]
    limit: int


Constraint = Eq | Divisible | Less | MulEq | ProductEq | AffineEq | AtMost


def dims_of(constraint: Constraint) -> Iterator[Dim]:
    """Yield the sizes that a constraint names, as often as it does."""
    match constraint:
        case Eq(left, right) | Less(left, right):
            yield from (left, right)
        case Divisible(left, right) | ProductEq(left, right):
            yield from (*left, *right)
        case MulEq(size, factors):
            yield from (size, *factors)
        case AffineEq(size, terms, _):
            yield size
            yield from (dim for _, dim in terms)
        case AtMost(sizes, _):
            yield from sizes
        case _:
            assert_never(constraint)


def holds(constraint: Constraint, sizes: Mapping[str, int]) -> bool:
    """Tell whether a constraint is true of given sizes."""

    def of(dim: Dim) -> int:
        return dim if isinstance(dim, int) else sizes[dim]

    match constraint:
        case Eq(left, right):
            return of(left) == of(right)
        case Less(small, large):
            return of(small) < of(large)
        case Divisible(left, right):
            return prod(map(of, left)) % prod(map(of, right)) == 0
        case ProductEq(left, right):
            return prod(map(of, left)) == prod(map(of, right))
        case MulEq(size, factors):
            return of(size) == prod(map(of, factors))
        case AffineEq(size, terms, constant):
            return of(size) == sum(by * of(dim) for by, dim in terms) + constant
        case AtMost(factors, limit):
            return prod(map(of, factors)) <= limit
    assert_never(constraint)


def forced_size(constraint: Constraint, name: str, sizes: Mapping[str, int]) -> int | None:
    """Return the one size that a dimension can have if all others of an equation are given.

    None where there may be several, or none that is whole.
    """

    def of(dim: Dim) -> int:
        return dim if isinstance(dim, int) else sizes[dim]

    def ratio(above: Sequence[Dim], below: Sequence[Dim]) -> int | None:
        if list(above).count(name) != 0 or list(below).count(name) != 1:
            return None
        over = prod(of(dim) for dim in above)
        under = prod(of(dim) for dim in below if dim != name)
        return None if under == 0 or over % under else over // under

    match constraint:
        case Eq(left, right):
            return of(right if left == name else left) if left != right else None
        case MulEq(size, factors):
            found = ratio(factors, (size,))
            return ratio((size,), factors) if found is None else found
        case ProductEq(left, right):
            found = ratio(left, right)
            return ratio(right, left) if found is None else found
        case AffineEq(size, terms, constant):
            times = sum(by for by, dim in terms if dim == name) - (size == name)
            rest = sum(by * of(dim) for by, dim in terms if dim != name) + constant
            rest -= of(size) if size != name else 0
            return None if not times or rest % times else -rest // times
        case Divisible() | Less() | AtMost():
            return None


def said(constraint: Constraint) -> str:
    """Return a constraint as a formula, such as ``B*S == T``."""
    match constraint:
        case Eq(left, right):
            return f"{left} == {right}"
        case Less(small, large):
            return f"{small} < {large}"
        case Divisible(left, right):
            by = _product(right)
            return f"{_product(left)} % {f'({by})' if '*' in by else by} == 0"
        case ProductEq(left, right):
            return f"{_product(left)} == {_product(right)}"
        case MulEq(size, factors):
            return f"{size} == {_product(factors)}"
        case AffineEq(size, terms, constant):
            return f"{size} == {_sum(terms, constant)}"
        case AtMost(sizes, limit):
            return f"{_product(sizes)} <= {limit}"
    assert_never(constraint)


def _product(sizes: tuple[Dim, ...]) -> str:
    return "*".join(map(str, sizes)) or "1"


def _sum(terms: tuple[tuple[int, Dim], ...], constant: int) -> str:
    parts = [(by, str(dim) if abs(by) == 1 else f"{abs(by)}*{dim}") for by, dim in terms]
    if constant or not parts:
        parts.append((constant, str(abs(constant))))
    first, *more = parts
    text = f"-{first[1]}" if first[0] < 0 else first[1]
    return text + "".join(f" {'-' if by < 0 else '+'} {said}" for by, said in more)
