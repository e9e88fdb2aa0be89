"""How many sums over a loop does a graph multiply with each other? So many steps have to be seen.

A graph is evaluated on formulas of which only this number is kept, beside what it needs: which
sums are below a fraction line, and which stand in a logarithm or an exponent.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from mlc_course.errors import Undecided
from mlc_course.mugraph.ir import (
    Constant,
    KernelGraph,
    Number,
    Shape,
    ThreadGraph,
    evaluate,
)
from mlc_course.mugraph.kernel_checks import evaluate_tiled
from mlc_course.mugraph.symbolic.symbolic_graphs import SymbolicGraph
from mlc_course.mugraph.verify import kept_axes

BLOCKS = 2  # full tiles along an axis of a grid, at least
LEAST_PRIME = 13  # no usual constant has it as a factor


def sums_multiplied(symbolic: SymbolicGraph, program: KernelGraph | None = None) -> int:
    """Return how many sums are multiplied at most in the numerator of a difference.

    It counts, for what is above and what is below the line of each formula, how many sums over free
    sizes a monomial is a product of. The graphs are looked at on sizes that are primes, so that a
    factor of a constant is known to be a size, which is a sum of ones. Raises ``Undecided`` where
    the terms of a sum are divided by sums of their own.
    """
    sizes = _primes(symbolic, program)
    graphs = [each for each in (symbolic.graph, program) if each]
    powers = [power for graph in graphs for name, power in powers_of_sizes(graph) if name in sizes]
    rooted = any(power.denominator > 1 for power in powers)
    m, small = _Counting(tuple(sizes.values()), 2 if rooted else 1), symbolic.at(sizes)
    found = evaluate_tiled(small, m.inputs(small.graph), m)
    if program is not None:
        given = program.resized(sizes)
        found += evaluate(given, m.inputs(given), m)
    for each in found:
        m.compared(each)
    return max(1, m.above + m.below)


def _primes(symbolic: SymbolicGraph, program: KernelGraph | None) -> dict[str, int]:
    """Return a prime for each free size, of two full tiles or more, that no known size has."""
    graphs = [each for each in (symbolic.graph, program) if each]
    others = [n for each in graphs for name, n in each.sizes if name not in symbolic.tiles]
    found = dict[str, int]()
    for name, tile in symbolic.tiles.items():
        prime = max(LEAST_PRIME, BLOCKS * tile + 1)
        while prime in found.values() or any(n % prime == 0 for n in others) or not _prime(prime):
            prime += 1
        found[name] = prime
    return found


def _prime(n: int) -> bool:
    return all(n % factor for factor in range(2, math.isqrt(n) + 1))


def powers_of_sizes(graph: KernelGraph) -> Iterator[tuple[str, Fraction]]:
    """Yield the names of sizes in the attributes of operators, and their powers."""
    blocks = [each for _, block in graph.blocks for each in block.equations]
    for equation in (*graph.equations, *blocks):
        op = equation.op
        for inner in op.equations if isinstance(op, ThreadGraph) else [equation]:
            for _, value in inner.attributes:
                for each in value if isinstance(value, tuple) else (value,):
                    yield from each.powers if isinstance(each, Constant) else ()


@dataclass(frozen=True)
class _Divisor:
    """How many sums a divisor has in a monomial, and the axes along which its entries differ."""

    count: int
    axes: frozenset[int] = frozenset()


@dataclass(frozen=True)
class _Quotient:
    """How many sums a monomial has: above the line, and below it by the formula of each divisor.

    Two formulas that are divided by the same have one denominator, by others the product of both.
    """

    above: int = 0
    divisors: Mapping[int, _Divisor] = field(default_factory=dict)

    @property
    def below(self) -> int:
        return sum(each.count for each in self.divisors.values())

    def plus(self, other: _Quotient) -> _Quotient:
        divisors = self._joined(other, max)
        below = sum(each.count for each in divisors.values())
        above = max(each.above + below - each.below for each in (self, other))
        return _Quotient(above, divisors)

    def times(self, other: _Quotient) -> _Quotient:
        return _Quotient(self.above + other.above, self._joined(other, operator.add))

    def _joined(self, other: _Quotient, join: Callable[[int, int], int]) -> dict[int, _Divisor]:
        found = dict(self.divisors)
        for key, each in other.divisors.items():
            before = found.get(key, _Divisor(0))
            found[key] = _Divisor(join(before.count, each.count), before.axes | each.axes)
        return found

    def inverse(self, key: int, axes: frozenset[int]) -> _Quotient:
        return _Quotient(self.below, {key: _Divisor(self.above, axes)} if self.above else {})

    def moved(self, to: Callable[[int], Collection[int]]) -> _Quotient:
        """Return the same with axes elsewhere."""
        return _Quotient(
            self.above,
            {
                key: _Divisor(each.count, _moved(each.axes, to))
                for key, each in self.divisors.items()
            },
        )

    def summed(self, axis: int, extent: int, *, is_free: bool) -> _Quotient:
        """Return what a sum along an axis is: one more sum, if there are as many as a size says.

        Terms with denominators of their own have the product of them all.
        """
        above, divisors = self.above + is_free, dict[int, _Divisor]()
        for key, each in self.divisors.items():
            if axis in each.axes:
                if is_free:
                    raise Undecided(
                        "sums are divided by, of which there is one for each term of a sum",
                        expected="one denominator for all terms that are added up over a free size",
                        hint="keep the size that is added up at a known number",
                    )
                above += (extent - 1) * each.count
                each = _Divisor(extent * each.count, each.axes - {axis})
            divisors[key] = each
        return _Quotient(above, divisors)


def _moved(axes: frozenset[int], to: Callable[[int], Collection[int]]) -> frozenset[int]:
    return frozenset(new for axis in axes for new in to(axis))


NO_SUMS = _Quotient()


@dataclass(frozen=True, eq=False)
class _Sums:
    """How many sums over free sizes are in a tensor's entries, whose formula has a ``key``.

    ``free`` are the axes along which it is a part of a free size, or all. ``exponents`` are those
    of what exp is taken of, where exps are multiplied. ``logs`` counts the sums that are factors of
    exp of this: exp(log(x) + log(y)) is x y. ``number`` is known of a constant.
    """

    m: _Counting
    shape: Shape
    key: int
    free: frozenset[int] = frozenset()
    quotient: _Quotient = NO_SUMS
    exponents: _Quotient = NO_SUMS
    logs: int = 0
    number: float | None = None

    @property
    def axes(self) -> frozenset[int]:
        """The axes along which entries may differ."""
        return self.free | {axis for axis, extent in enumerate(self.shape) if extent > 1}

    def _of(self, other: Any) -> _Sums:
        return other if isinstance(other, _Sums) else self.m.constant(Number(Fraction(other)))

    def _joint(self, name: str, other: _Sums, quotient: _Quotient, logs: int) -> _Sums:
        shape = self.shape or other.shape
        if self.shape and other.shape:
            shape = tuple(map(max, zip(self.shape, other.shape, strict=True)))
        key, free = hash((name, self.key, other.key)), self.free | other.free
        exponents = self.exponents.plus(other.exponents)
        return _Sums(self.m, shape, key, free, quotient, exponents, logs)

    def __add__(self, other: Any) -> _Sums:
        right = self._of(other)
        logs = self.logs + right.logs
        return self._joint("add", right, self.quotient.plus(right.quotient), logs)

    def __sub__(self, other: Any) -> _Sums:
        return self + -self._of(other)

    def __rsub__(self, other: Any) -> _Sums:
        return self._of(other) - self

    def __mul__(self, other: Any) -> _Sums:
        right = self._of(other)
        logs = self.logs * _ceiling(right.number) + right.logs * _ceiling(self.number)
        return self._joint("mul", right, self.quotient.times(right.quotient), logs)

    def __truediv__(self, other: Any) -> _Sums:
        right = self._of(other)
        below = right.quotient.inverse(right.key, right.axes)
        logs = self.logs * _ceiling(right.number and 1 / right.number) + right.logs
        return self._joint("div", right, self.quotient.times(below), logs)

    def __rtruediv__(self, other: Any) -> _Sums:
        return self._of(other) / self

    def __neg__(self) -> _Sums:
        return replace(self, key=hash(("neg", self.key)))

    def __matmul__(self, other: _Sums) -> _Sums:
        """Add up products along one more axis, the last one."""
        rank, extent = len(self.shape), self.shape[-1]
        left = self.at((*self.shape[:-1], 1, extent), lambda axis: {axis + (axis == rank - 1)})
        right = other.at(
            (*other.shape[:-2], 1, other.shape[-1], extent),
            lambda axis: {rank if axis == rank - 2 else axis},
        )
        made = self.m.sum(left * right, rank)
        return replace(made, shape=made.shape[:-1])

    def at(self, shape: Shape, to: Callable[[int], Collection[int]], *how: Any) -> _Sums:
        """Return the same entries, or some of them, with axes elsewhere."""
        return replace(
            self,
            shape=shape,
            key=hash((self.key, *how)) if how else self.key,
            free=_moved(self.free, to),
            quotient=self.quotient.moved(to),
            exponents=self.exponents.moved(to),
        )

    __radd__ = __add__
    __rmul__ = __mul__


def _ceiling(number: float | None) -> int:
    """Return how often a factor counts as a summand: exp(3 log(x)) is x x x."""
    return math.ceil(abs(number)) if number and math.isfinite(number) else 1


class _Counting:
    """The arithmetic of these counts, where a size is one of some ``primes``.

    Each counts so many ``times``: twice if there are square roots of sizes, which are sizes then.
    """

    def __init__(self, primes: tuple[int, ...], times: int) -> None:
        self.primes, self.times = primes, times
        self.above = self.below = 0

    def inputs(self, graph: KernelGraph) -> list[_Sums]:
        """Return the inputs of a graph; those of one name are the same."""
        found = []
        for name, shape in graph.input_shapes.items():
            free = frozenset(axis for axis, n in enumerate(shape) if n in self.primes)
            found.append(_Sums(self, shape, hash(name), free))
        return found

    def compared(self, x: _Sums) -> None:
        """Count a formula that is compared with another one like it."""
        for each in (x.quotient, x.exponents, _Quotient(x.logs)):
            self.above, self.below = max(self.above, each.above), max(self.below, each.below)

    def constant(self, number: Number) -> _Sums:
        above, divisors = 0, dict[int, _Divisor]()
        for prime in self.primes:
            halves = 2 * _times_in(prime, number.coefficient) + (prime in number.roots)
            count = -(-abs(halves) * self.times // 2)
            if halves > 0:
                above += count
            elif halves:
                divisors[prime] = _Divisor(count)
        key, quotient = hash(("number", number)), _Quotient(above, divisors)
        return _Sums(self, (), key, quotient=quotient, number=float(number))

    def exp(self, x: _Sums) -> _Sums:
        self.compared(x)
        logs = {x.key: _Divisor(x.logs, x.axes)} if x.logs else {}
        exponents = x.quotient.plus(x.exponents)
        made = replace(x, key=hash(("exp", x.key)), quotient=_Quotient(x.logs, logs))
        return replace(made, exponents=exponents, logs=0, number=None)

    def function(self, name: str, x: _Sums) -> _Sums:
        """Count a function's value: two roots make a factor, and log(exp(x)) is x."""
        self.compared(x)
        known = {"sqrt": x.quotient, "log": x.exponents}
        logs = x.quotient.above + x.quotient.below if name == "log" else 0
        made = replace(x, key=hash((name, x.key)), quotient=known.get(name, NO_SUMS))
        return replace(made, logs=logs, number=None)

    def maximum(self, x: Any, y: Any) -> _Sums:
        return self.function("max", x + y if isinstance(x, _Sums) else y + x)

    minimum = maximum

    def sum(self, x: _Sums, axis: int) -> _Sums:
        made = self._reduced("sum", x, axis)
        is_free, extent = axis in x.free, x.shape[axis]
        return replace(made, quotient=x.quotient.summed(axis, extent, is_free=is_free))

    def max(self, x: _Sums, axis: int) -> _Sums:
        return self.function("max", self._reduced("max", x, axis))

    def _reduced(self, name: str, x: _Sums, axis: int) -> _Sums:
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return x.at(shape, lambda each: {each} - {axis}, name, axis)

    def count(self, x: _Sums, axis: int) -> int:
        return x.shape[axis]

    def reshape(self, x: _Sums, shape: Shape) -> _Sums:
        kept = kept_axes(x.shape, shape)
        new = set(range(len(shape))) - set(kept.values())
        return x.at(shape, lambda axis: {kept[axis]} if axis in kept else new, shape)

    def transpose(self, x: _Sums, axes: Sequence[int]) -> _Sums:
        shape = tuple(x.shape[axis] for axis in axes)
        return x.at(shape, lambda axis: {list(axes).index(axis)}, tuple(axes))

    def concatenate(self, xs: Sequence[_Sums], axis: int) -> _Sums:
        """Join tensors, of which all parts of a free size have one formula."""
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        made, *others = {x.key: x for x in xs}.values()
        if others:
            pieces = (made, *others)
            made = replace(made, shape=(), number=None)
            for each in others:
                made = made + replace(each, shape=())
            made = replace(
                made,
                quotient=_either([each.quotient for each in pieces], axis),
                exponents=_either([each.exponents for each in pieces], axis),
            )
        return replace(made, shape=tuple(shape))

    def take(self, x: _Sums, place: tuple[slice, ...]) -> _Sums:
        """Take a part: of a known size it is one by itself, of a free size it stands for all."""
        spans = [range(n)[cut] for n, cut in zip(x.shape, place, strict=True)]
        parts = [
            (axis, span.start, span.stop)
            for axis, span in enumerate(spans)
            if len(span) < x.shape[axis] and axis not in x.free
        ]
        shape = tuple(map(len, spans))
        return x.at(shape, lambda axis: {axis}, *parts)

    def stored(self, x: _Sums) -> _Sums:
        return x


def _either(quotients: Sequence[_Quotient], axis: int) -> _Quotient:
    """Return what an entry has that is one of one of these, which lie along an axis."""
    divided = [tuple(sorted(each.divisors)) for each in quotients]
    count = max(each.below for each in quotients)
    axes = {axis}.union(*(d.axes for each in quotients for d in each.divisors.values()))
    divisors = {hash(("concat", *divided)): _Divisor(count, frozenset(axes))} if count else {}
    return _Quotient(max(each.above + count - each.below for each in quotients), divisors)


def _times_in(prime: int, number: Fraction) -> int:
    """Return how often a prime divides a number; less than 0 if it divides what is below."""
    count = 0
    for n, sign in ((number.numerator, 1), (number.denominator, -1)):
        while n and n % prime == 0:
            n, count = n // prime, count + sign
    return count
