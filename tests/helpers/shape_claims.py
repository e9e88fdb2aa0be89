"""Constraints on sizes that are drawn: of every kind, or such that a claim's answer is known."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from mlc_course.dynamic_shape.ir import (
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
    holds,
)

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 30, 64)


def free(names: Sequence[str]) -> dict[str, SymbolicDim]:
    """Dimensions of any size."""
    return {name: SymbolicDim(name) for name in names}


def drawn_constraint(
    rng: random.Random, names: Sequence[str], *, asked: bool = False
) -> Constraint:
    """A constraint of any kind; ``AtMost`` only where it is asked."""

    def dim() -> Dim:
        return rng.choice(names) if rng.random() < 0.8 else rng.randint(1, 6)

    def dims(low: int, high: int) -> tuple[Dim, ...]:
        return tuple(dim() for _ in range(rng.randint(low, high)))

    kinds = [
        lambda: Eq(dim(), dim()),
        lambda: Divisible(dims(1, 2), dims(1, 2)),
        lambda: Less(dim(), dim()),
        lambda: MulEq(dim(), dims(1, 2)),
        lambda: ProductEq(dims(1, 3), dims(1, 3)),
        lambda: AffineEq(
            dim(),
            tuple((rng.choice([1, 1, 2, 3, -1]), dim()) for _ in range(rng.randint(1, 2))),
            rng.randint(-2, 2),
        ),
        lambda: AtMost(dims(1, 2), rng.randint(1, 30)),
    ]
    return rng.choice(kinds if asked else kinds[:-1])()


def drawn_dims(rng: random.Random, names: Sequence[str]) -> dict[str, SymbolicDim]:
    """Dimensions with one or two short ranges each."""
    found = {}
    for name in names:
        low = rng.randint(1, 3)
        ranges = ((low, low + rng.randint(0, 6)),) if rng.random() < 0.8 else ((1, 2), (4, 6))
        found[name] = SymbolicDim(name, ranges)
    return found


def models_up_to(
    largest: int, dims: Mapping[str, SymbolicDim], stated: Sequence[Constraint]
) -> list[dict[str, int]]:
    """All sizes up to ``largest`` that keep the constraints, by trying all."""
    ranges = [[n for n in range(1, largest + 1) if dim.may_be(n)] for dim in dims.values()]
    every = (dict(zip(dims, sizes, strict=True)) for sizes in product(*ranges))
    return [model for model in every if all(holds(each, model) for each in stated)]


@dataclass(frozen=True)
class Known:
    """A claim of which the answer is known by how it was made."""

    claim: Constraint
    is_entailed: bool


@dataclass(frozen=True)
class Products:
    """Products, constants and divisors, and sizes that keep them."""

    names: list[str]
    stated: list[Constraint]
    hidden: dict[str, int]


def drawn_products(rng: random.Random, dims: int, count: int) -> Products:
    """Draw what a solver has to be complete on."""
    names = [f"S{at}" for at in range(dims)]
    hidden = {name: rng.choice(SIZES) for name in names}
    stated: list[Constraint] = []
    for _ in range(count):
        name, kind = rng.choice(names), rng.randrange(6)
        if kind == 0:
            stated.append(Divisible((name,), (hidden[name],)))
        elif kind == 1:
            stated.append(Eq(name, hidden[name]))
        else:
            left, right = (tuple(rng.sample(names, rng.randint(1, 3))) for _ in range(2))
            ratio = Fraction(*(prod(hidden[each] for each in side) for side in (left, right)))
            stated.append(ProductEq((*left, ratio.denominator), (*right, ratio.numerator)))
    return Products(names, stated, hidden)


def drawn_known(rng: random.Random, of: Products) -> Known:
    """A product of constraints with a common factor, or a claim that hidden sizes make false."""
    if rng.random() < 0.5:
        common = rng.choices(of.names, k=rng.randint(0, 2))
        left, right = list[Dim](common), list[Dim](common)
        equal = [each for each in of.stated if isinstance(each, ProductEq)]
        for each in rng.sample(equal, min(len(equal), rng.randint(1, 3))):
            left += each.left
            right += each.right
        rng.shuffle(left)
        rng.shuffle(right)
        return Known(ProductEq(tuple(left), tuple(right)), is_entailed=True)
    while True:
        sides = [tuple(rng.choices(of.names, k=rng.randint(1, 3))) for _ in range(2)]
        claim = ProductEq(*sides) if rng.random() < 0.7 else Divisible(*sides)
        if not holds(claim, of.hidden):
            return Known(claim, is_entailed=False)
