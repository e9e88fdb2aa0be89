"""One-step rewriting of equal products, as a compiler that is in use decides them.

This is how BladeDISC decides (Apache 2.0; ``SymbolicDimMgr`` in its
``transforms/disc_shape_optimization_utils.cc``), read there and written anew: products that are
known to be equal, and a claim that is one of these equalities, or a multiple of one. There, it may
matter in which order the equalities come; here, it does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product as pairs_of
from math import gcd

from mlc_course.dynamic_shape.ir import (
    Constraint,
    Dim,
    Eq,
    MulEq,
    ProductEq,
    parse_constraint,
)
from mlc_course.errors import Contradiction, UsageError

Sides = tuple[tuple[Dim, ...], tuple[Dim, ...]]


def proves(
    constraints: Sequence[str | Constraint], claim: str | Constraint, *, non_zero: bool = False
) -> bool:
    """Tell whether one step of rewriting proves that two products are equal.

    ``non_zero`` says that no size is 0, as a flag does there: only then may both sides be divided
    by a size that they have in common. Constraints that are no equalities of products are not
    used. Raises ``UsageError`` for a claim that is none, ``TextError`` for a formula that cannot be
    read, and ``Contradiction`` where two numbers would have to be equal.
    """
    sides = _sides(claim)
    if sides is None:
        expected = "two equal products, such as B*S == T"
        raise UsageError("one step: a claim of another form", expected=expected, got=claim)
    known = _Known([_read(each) for each in constraints], non_zero=non_zero)
    left, right = known.apart(*map(known.simplified, sides))
    return left == right or any(
        (factor := left.divided_by(one)) is not None and factor == right.divided_by(other)
        for one, other in known.pairs()
    )


@dataclass(frozen=True)
class Product:
    """A number times sizes, whose names are in alphabetical order."""

    factor: int
    names: tuple[str, ...]

    def divided_by(self, other: Product) -> Product | None:
        """Return what is left, or None where a factor is not there."""
        left, taken = Counter(self.names), Counter(other.names)
        if self.factor % other.factor or taken - left:
            return None
        return Product(self.factor // other.factor, tuple(sorted((left - taken).elements())))


class _Known:
    """What is known: equal sizes, which share a name or a number, and pairs of equal products."""

    def __init__(self, constraints: Sequence[Constraint], *, non_zero: bool) -> None:
        self.non_zero = non_zero
        self.instead: dict[str, Dim] = {}
        self.stated: list[Sides] = []
        for each in constraints:
            if sides := _sides(each):
                self._add(sides, is_size=isinstance(each, Eq))
        # What is learned of sizes may leave one size on each side of a product that came earlier.
        known = -1
        while known != len(self.instead):
            known, earlier, self.stated = len(self.instead), self.stated, []
            for sides in earlier:
                self._add(sides, is_size=False)
        self.classes = self._classes()

    def _add(self, sides: Sides, *, is_size: bool) -> None:
        left, right = self.apart(*map(self.simplified, sides))
        if is_size:
            self._join(*(self._root(size) for size, *_ in sides))
        elif left.factor == right.factor and len(left.names) == len(right.names) == 1:
            self._join(*left.names, *right.names)
        else:
            self.stated.append(sides)

    def _join(self, one: Dim, other: Dim) -> None:
        """Let one size stand for both; a number stands for a name."""
        if one == other:
            return
        if isinstance(one, str):
            self.instead[one] = other
        elif isinstance(other, str):
            self.instead[other] = one
        else:
            raise Contradiction("two numbers would be equal", got=f"{one} == {other}")

    def _root(self, dim: Dim) -> Dim:
        while isinstance(dim, str) and dim in self.instead:
            dim = self.instead[dim]
        return dim

    def simplified(self, sizes: Sequence[Dim]) -> Product:
        """Return a product with all numbers multiplied, and one name for equal sizes."""
        factor, names = 1, []
        for dim in map(self._root, sizes):
            if isinstance(dim, int):
                factor *= dim
            else:
                names.append(dim)
        return Product(factor, tuple(sorted(names)))

    def apart(self, left: Product, right: Product) -> tuple[Product, Product]:
        """Divide two products by a common number, and by common sizes if these are not 0."""
        by = gcd(left.factor, right.factor)
        ours, theirs = Counter(left.names), Counter(right.names)
        common = ours & theirs if self.non_zero else Counter()
        one, other = (
            Product(side.factor // by, tuple(sorted((names - common).elements())))
            for side, names in ((left, ours), (right, theirs))
        )
        return one, other

    def _classes(self) -> list[set[Product]]:
        """Return the products that are known to be equal: here, each is one thing, never opened."""
        classes: list[set[Product]] = []
        for sides in self.stated:
            both = set(self.apart(*map(self.simplified, sides)))
            apart = [each for each in classes if not each & both]
            classes = [*apart, both.union(*(each for each in classes if each & both))]
        return classes

    def pairs(self) -> Iterator[tuple[Product, Product]]:
        """Yield the known equalities."""
        for each in self.classes:
            yield from pairs_of(each, each)


def _read(constraint: str | Constraint) -> Constraint:
    return parse_constraint(constraint) if isinstance(constraint, str) else constraint


def _sides(constraint: str | Constraint) -> Sides | None:
    """Return the two products of an equality; None for a constraint of another form."""
    match _read(constraint):
        case Eq(left, right):
            return (left,), (right,)
        case MulEq(size, factors):
            return (size,), factors
        case ProductEq(left, right):
            return left, right
    return None
