"""The arithmetic of bounds: a tensor of bounds, one for each entry (``growth.py``)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.mugraph.arithmetic import Shape
from mlc_course.mugraph.constants import Number
from mlc_course.mugraph.growth import NOTHING, ONE, PRINT, Bound, Size, covering

Array = NDArray[Any]


class BoundTensor:
    """A tensor of ``Bound``, in ``entries``."""

    def __init__(self, bounds: Bounds, entries: Array) -> None:
        self.bounds, self.entries = bounds, entries

    @property
    def shape(self) -> Shape:
        return self.entries.shape

    def each(self, action: Callable[[Bound], Bound]) -> BoundTensor:
        """Every entry on its own."""
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
    constants. ``divisors`` and ``arguments`` keep
    what was divided by, and what was compared or given to sqrt or log, by fingerprint: the first
    formula of each, which stands for all.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._keys: dict[str, tuple[int, ...]] = {}
        self.symbols: dict[str, Bound] = {}
        self.counted = False
        self.divisors: dict[int, Bound] = {}
        self.arguments: dict[int, Bound] = {}
        self.height = 0

    def _hash(self, name: str, value: int) -> int:
        """A random cubic polynomial of the fingerprint, one for each name."""
        if name not in self._keys:
            self._keys[name] = tuple(self._rng.randrange(PRINT) for _ in range(4))
        a, b, c, d = self._keys[name]
        return (((a * value + b) * value + c) * value + d) % PRINT

    def variable(self) -> Bound:
        """An entry of an input."""
        return Bound(self._rng.randrange(1, PRINT), replace(ONE, degree=1))

    def random(self, shape: Shape) -> BoundTensor:
        """Entries of an input."""
        made = np.empty(shape, object)
        for place in np.ndindex(shape):
            made[place] = self.variable()
        return BoundTensor(self, made)

    def constant(self, number: Number) -> BoundTensor:
        n, d = number.coefficient.numerator, number.coefficient.denominator
        value = n * pow(d, -1, PRINT) % PRINT
        made = Bound(value, replace(ONE, coefficients=max(1, abs(n))), d)
        for _, size in number.roots:
            made = made * self._symbol(f"sqrt({size})")
        return self._scalar(made)

    def symbol(self, name: str, value: float) -> BoundTensor:
        return self._scalar(self._symbol(name))

    def _symbol(self, name: str) -> Bound:
        return self.symbols.setdefault(name, self.variable())

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
        named = choices if name == "max" else {each.value for each in entries}
        one = reduce(covering, entries)
        return replace(
            one,
            value=sum(self._hash(name, each) for each in named) % PRINT,
            compared=one.compared | choices,
            selections=one.selections | {choices},
            choices=choices if name == "max" else NOTHING,
            ordered=one.ordered or name == "min",
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
        """Of 1 / x, by the formula that was first divided by where it is equal to an entry."""
        return x.each(lambda e: self.divisors.setdefault(e.value, e).inverse())
