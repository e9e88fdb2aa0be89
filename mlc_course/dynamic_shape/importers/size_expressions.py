"""Sums of products of sizes: what a model computes of its sizes while it reshapes and slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import prod

from mlc_course.dynamic_shape.ir import AffineEq, Constraint, Dim, Less, MulEq
from mlc_course.errors import ShapeError

Product = tuple[str, ...]  # the names of sizes, in order; () is 1


@dataclass(frozen=True)
class Expression:
    """A whole number that depends on sizes; equal ones have the same terms."""

    terms: tuple[tuple[Product, int], ...] = ()  # in order, each with a factor that is not 0

    @property
    def constant(self) -> int | None:
        """The number, if it depends on no size."""
        if not self.terms:
            return 0
        product, by = self.terms[0]
        return by if len(self.terms) == 1 and not product else None

    @property
    def least(self) -> int | None:
        """A number that it is never below, as sizes are 1 or more; None if that is not seen."""
        if any(by < 0 and product for product, by in self.terms):
            return None
        return sum(by for _, by in self.terms)

    def __str__(self) -> str:
        """Return it as a formula."""
        return (
            " + ".join(
                "*".join([str(by)] * (by != 1 or not product) + list(product))
                for product, by in reversed(self.terms)
            )
            or "0"
        )

    def __add__(self, other: Expression) -> Expression:
        return _expression((*self.terms, *other.terms))

    def __neg__(self) -> Expression:
        return Expression(tuple((product, -by) for product, by in self.terms))

    def __sub__(self, other: Expression) -> Expression:
        return self + -other

    def __mul__(self, other: Expression) -> Expression:
        return _expression(
            (tuple(sorted(one + two)), by * times)
            for one, by in self.terms
            for two, times in other.terms
        )

    def divided(self, other: Expression) -> Expression | None:
        """Return the quotient, or None where it is not seen to be whole."""
        if len(other.terms) != 1:
            return whole(1) if self == other and other.terms else None
        below, times = other.terms[0]
        found = []
        for product, by in self.terms:
            rest = Counter(product)
            rest.subtract(below)
            if by % times or min(rest.values(), default=0) < 0:
                return None
            found.append((tuple(sorted(rest.elements())), by // times))
        return _expression(found)

    def split(self) -> tuple[Expression, Expression]:
        """Return what is added and what is taken away."""
        added = tuple((product, by) for product, by in self.terms if by > 0)
        taken = tuple((product, -by) for product, by in self.terms if by < 0)
        return Expression(added), Expression(taken)


def whole(value: int) -> Expression:
    """Return a number that depends on no size."""
    return Expression((((), value),) if value else ())


def named(name: str) -> Expression:
    """Return a size."""
    return Expression((((name,), 1),))


def product_of(factors: Iterable[Expression]) -> Expression:
    """Return a product."""
    return prod(factors, start=whole(1))


def is_at_least(found: Expression, bound: int) -> bool:
    """Tell whether an expression is seen to be no smaller than a bound at all sizes."""
    return found.least is not None and found.least >= bound


def may_be_equal(one: Expression, other: Expression) -> bool:
    """Tell whether two expressions are not seen to differ at all sizes."""
    return not is_at_least(one - other, 1) and not is_at_least(other - one, 1)


def _expression(terms: Iterable[tuple[Product, int]]) -> Expression:
    found: dict[Product, int] = {}
    for product, by in terms:
        found[product] = found.get(product, 0) + by
    return Expression(tuple((product, by) for product, by in sorted(found.items()) if by))


class Sizes:
    """The dimensions of a program that is being built, each with its expression.

    Equal expressions are one dimension. One that is a sum or a product is tied to its parts.
    """

    def __init__(self, taken: Collection[str]) -> None:
        """Keep away from the names that the model gives to dimensions."""
        self.taken = set(taken)
        self.expressions: dict[str, Expression] = {}
        self.names: dict[Expression, str] = {}
        self.constraints: list[Constraint] = []

    def declare(self, name: str = "") -> str:
        """Return a dimension that is not made of others, of a new name if none is given."""
        name = name or self._fresh()
        self.expressions.setdefault(name, named(name))
        self.names.setdefault(named(name), name)
        return name

    def _fresh(self) -> str:
        count = len(self.expressions)
        while (name := f"S{count}") in self.taken or name in self.expressions:
            count += 1
        return name

    def of(self, dim: Dim) -> Expression:
        """Return a dimension's expression."""
        return whole(dim) if isinstance(dim, int) else self.expressions[dim]

    def total(self, dims: Iterable[Dim]) -> Expression:
        """Return the product of sizes."""
        return product_of(map(self.of, dims))

    def dim(self, found: Expression) -> Dim:
        """Return the dimension that has an expression; raise ``ShapeError`` if it is below 1."""
        if is_at_least(-found, 0):
            raise ShapeError("a size", expected="1 or more", got=found)
        if found.constant is not None:
            return found.constant
        if found in self.names:
            return self.names[found]
        name = self._fresh()
        self.expressions[name], self.names[found] = found, name
        if len(found.terms) == 1:
            product, by = found.terms[0]
            self.constraints.append(MulEq(name, product if by == 1 else (by, *product)))
        else:
            constant = sum(by for product, by in found.terms if not product)
            terms = [(by, Expression(((product, 1),))) for product, by in found.terms if product]
            parts = tuple((by, self.dim(term)) for by, term in terms)
            self.constraints.append(AffineEq(name, parts, constant))
        return name

    def need_not_negative(self, found: Expression, what: str) -> None:
        """State that an expression is 0 or more; raise ``ShapeError`` if it never is."""
        if is_at_least(-found, 1):
            raise ShapeError(what, expected="0 or more", got=found)
        added, taken = (found + whole(1)).split()
        if taken.terms:
            self.constraints.append(Less(self.dim(taken), self.dim(added)))
