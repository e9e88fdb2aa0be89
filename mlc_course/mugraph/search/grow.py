"""Growing a bank, round by round: each combines what the round before made with all there is.

A round takes values one operator deeper. When a round makes nothing new, the bank is complete:
nothing that the rules let through is missing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlc_course.mugraph import ops
from mlc_course.mugraph.ops import Op
from mlc_course.mugraph.search.bank import ORDER, Bank
from mlc_course.mugraph.search.labels import Dims, fit
from mlc_course.mugraph.search.rules import meet
from mlc_course.mugraph.search.values import Kept, Use

COMMUTATIVE = (ops.add, ops.mul, ops.maximum)
BESIDE = Use(ops.concat)


@dataclass(frozen=True)
class Offer:
    """The operators that a search may use; ``along`` are those that need an axis besides.

    ``carried`` are accumulators and running values; ``maxima`` are the dimensions along which the
    program takes a maximum: one along another is no part of it, and no coefficient says so.
    ``joined`` are those along which tiles may be laid beside each other: [x | y] times [v above w]
    is x v + y w in one product.
    """

    unary: Sequence[Use]
    along: Sequence[Use]
    binary: Sequence[Use]
    carried: Sequence[Op]
    maxima: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Limits:
    """When a bank stops to grow though it is not complete: values, candidates, rounds, a time."""

    values: int = 2000
    tried: int = 200_000
    rounds: int = 40
    deadline: float | None = None  # of time.monotonic

    def reached(self, bank: Bank) -> str:
        """Which limit, or ""."""
        if len(bank.values) >= self.values:
            return f"{self.values} values"
        if bank.tried >= self.tried:
            return f"{self.tried} candidates"
        if self.deadline is not None and time.monotonic() > self.deadline:
            return OUT_OF_TIME
        return ""


OUT_OF_TIME = "out of time"


def grow(bank: Bank, offer: Offer, limits: Limits) -> str:
    """Grow until nothing is new, and say which limit was reached before that, or ""."""
    fresh = [each for level in bank.by_level for each in level]
    for _ in range(limits.rounds):
        made: list[Kept] = []
        if not fresh:
            return ""
        for kept in _round(bank, offer, fresh):
            if kept is not None:
                made.append(kept)
            cut = limits.reached(bank)
            if cut:
                return cut
        fresh = made
    return f"{limits.rounds} rounds"


def _round(bank: Bank, offer: Offer, fresh: Sequence[Kept]) -> Iterator[Kept | None]:
    """Each candidate of a round: the value that it made, or None."""
    known = [each for level in bank.by_level for each in level]
    newest = {each.number for each in fresh}
    for each in fresh:
        yield from _alone(bank, offer, each)
        for other in known:
            if other.number in newest and other.number < each.number:
                continue  # it had its turn
            if meet(each.facts, other.facts):
                yield from _together(bank, offer, each, other)


def _alone(bank: Bank, offer: Offer, x: Kept) -> Iterator[Kept | None]:
    for use in offer.unary:
        yield bank.apply(use, [x])
    for use in offer.along:
        for axis, extent in enumerate(x.facts.shape):
            wrong = use.op is ops.reduce_max and x.facts.dims[axis] not in offer.maxima
            if extent > 1 and not wrong:
                yield bank.apply(use.along(axis), [x])
    if x.facts.level:
        for op in offer.carried:
            if op.operands == 1:
                yield bank.carry(op, [x])


def _together(bank: Bank, offer: Offer, x: Kept, y: Kept) -> Iterator[Kept | None]:
    """Both orders, but for operators to which the order is nothing."""
    for use in offer.binary:
        one_order = x is y or (use.op in COMMUTATIVE and ORDER in bank.prunings)
        for a, b in ((x, y),) if one_order else ((x, y), (y, x)):
            if fit(use.op, a.facts.dims, b.facts.dims):
                yield bank.apply(use, [a, b])
    if x is not y and ops.accumulate_rescaled in offer.carried:
        yield from _rescaled(bank, x, y)
        yield from _rescaled(bank, y, x)
    if offer.joined and x is not y:
        for a, b in ((x, y), (y, x)):
            for axis in _beside(offer, a.facts.dims, b.facts.dims):
                yield bank.apply(BESIDE.along(axis), [a, b])


def _beside(offer: Offer, a: Dims, b: Dims) -> Iterator[int]:
    """Axes along which b may lie after a; of two orders the alphabet's, the same on both sides.

    Of different dimensions: two tiles of one dimension beside each other are not tried.
    """
    if len(a) == len(b):
        for axis, (x, y) in enumerate(zip(a, b, strict=True)):
            others = a[:axis] == b[:axis] and a[axis + 1 :] == b[axis + 1 :]
            if others and x < y and {x, y} <= offer.joined:
                yield axis


def _rescaled(bank: Bank, x: Kept, r: Kept) -> Iterator[Kept | None]:
    """What is done to a value that is relative to a maximum, with its running value."""
    if r.running_of is None:
        return
    if x.reference == r.number and x.facts.level == r.facts.level:
        yield bank.carry(ops.accumulate_rescaled, [x, r])
    if x.reference == r.running_of != x.number:
        yield bank.rebase(x, r)
