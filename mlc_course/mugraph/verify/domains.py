"""Domains: an input on which one of two equal graphs has a value, and the other has none.

x * t / t is x wherever it has a value, and has none for t = 0. ``undefined`` looks for such inputs
among whole numbers, because rounding must not make a zero, or a negative number under a root, that
is none: it trusts a number only as far as whole numbers are computed without rounding, and anything
else is not taken for zero or negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import FLOAT64, Array, KernelGraph, Number, Shape, evaluate, run
from mlc_course.mugraph.verify.digits import holds, precisely

MOST = 2.0**53  # whole numbers below are exact
FEW, ROUNDS = 1000, 8  # inputs of so few entries are drawn so often
AT_ONCE = 1 << 17  # entries of the inputs of all draws that are evaluated at once
DRAWS: tuple[Callable[[np.random.Generator, Shape], Array], ...] = (
    lambda rng, shape: rng.integers(-2, 3, shape, np.int8),
    lambda rng, shape: rng.integers(0, 2, shape, np.int8),
    lambda rng, shape: -rng.integers(1, 3, shape, np.int8),
    lambda rng, shape: np.zeros(shape, np.int8),
)


@dataclass(frozen=True)
class Undefined:
    """An input on which ``without`` has no value in a place of its output, and ``other`` has one.

    It divides by zero there, or takes a root or a logarithm that no real number is. The graphs may
    be those asked about with batch sizes of 1.
    """

    without: KernelGraph
    other: KernelGraph
    inputs: dict[str, Array]
    output: int
    place: tuple[int, ...]
    value: float

    def __str__(self) -> str:
        at = ", ".join(map(str, self.place))
        on = ""
        if all(x.size == 1 for x in self.inputs.values()):
            on = " on " + ", ".join(f"{name} = {x.item():g}" for name, x in self.inputs.items())
        return (
            f"equal where both are defined: {self.without.name} has no value in output "
            f"{self.output} at [{at}]{on}, where {self.other.name} gives {self.value:.6g}"
        )


def undefined(
    left: KernelGraph, right: KernelGraph, order: Sequence[int], *, seed: int = 0
) -> Undefined | None:
    """Search for an input on which one graph has a value in output i or ``order[i]``, one has none.

    Return None where no draw shows any.
    """
    rng = np.random.default_rng(seed)
    entries = sum(math.prod(shape) for shape in left.input_shapes.values())
    draws = DRAWS * (ROUNDS if entries <= FEW else 1)
    at_once = max(1, AT_ONCE // max(1, entries))
    for start in range(0, len(draws), at_once):
        inputs = {
            name: np.stack(
                [draw(rng, shape) for draw in draws[start : start + at_once]], dtype=float
            )
            for name, shape in left.input_shapes.items()
        }
        ours, theirs = (_voids(graph, inputs) for graph in (left, right))
        for number, other in enumerate(order):
            pair = (left, number, ours[number]), (right, other, theirs[other])
            for (without, place, a), (having, its, b) in (pair, pair[::-1]):
                for wrong in np.argwhere(a & ~b)[:1]:
                    drawn, *index = map(int, wrong)
                    shown = {name: x[drawn] for name, x in inputs.items()}
                    values = run(having, shown)[its]
                    sure = holds(values, precisely(shown, having)[0][its])
                    if sure[*index]:
                        value = float(values[*index])
                        return Undefined(without, having, shown, place, tuple(index), value)
    return None


def _voids(graph: KernelGraph, inputs: dict[str, Array]) -> list[Array]:
    """Tell for each entry of each output, in each draw, whether it has surely no value."""
    with np.errstate(all="ignore"):
        entering = [Partial.of(inputs[each.name]) for each in graph.inputs]
        return [x.void for x in evaluate(graph, entering, PARTIAL)]


@dataclass(frozen=True)
class Partial:
    """Numbers in float64: which are ``exact``, being whole, and which are none, or ``void``.

    The arrays have the shape (draws, *shape); of constants, which all draws share, (1,).
    """

    value: Array
    exact: Array
    void: Array

    @classmethod
    def of(cls, value: Any) -> Partial:
        array = np.asarray(value, float)
        array = array.reshape(1) if array.ndim == 0 else array
        exact = (np.floor(array) == array) & (np.abs(array) < MOST)
        return cls(array, np.asarray(exact), np.zeros(array.shape, bool))

    @property
    def shape(self) -> Shape:
        return self.value.shape[1:]

    def _meeting(self, other: Any) -> tuple[Partial, Partial]:
        """Return both with as many axes as the one that has more."""
        right = other if isinstance(other, Partial) else Partial.of(other)
        rank = max(self.value.ndim, right.value.ndim)
        return self._raised(rank), right._raised(rank)

    def _raised(self, rank: int) -> Partial:
        shape = self.value.shape
        if len(shape) == rank:
            return self
        wider = (shape[0], *[1] * (rank - len(shape)), *shape[1:])
        return self.each(lambda part: part.reshape(wider))

    def _with(self, other: Any, action: Callable[[Array, Array], Array]) -> Partial:
        left, right = self._meeting(other)
        made = Partial.of(action(left.value, right.value))
        exact = made.exact & left.exact & right.exact
        return Partial(made.value, exact, left.void | right.void)

    def __add__(self, other: Any) -> Partial:
        return self._with(other, np.add)

    def __sub__(self, other: Any) -> Partial:
        return self._with(other, np.subtract)

    def __mul__(self, other: Any) -> Partial:
        return self._with(other, np.multiply)

    def __neg__(self) -> Partial:
        return Partial(-self.value, self.exact, self.void)

    def __rsub__(self, other: Any) -> Partial:
        return Partial.of(other) - self

    def __rtruediv__(self, other: Any) -> Partial:
        return Partial.of(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Partial:
        left, right = self._meeting(other)
        made = left._with(right, np.divide)
        whole = made.exact & (made.value * right.value == left.value)
        by_zero = right.exact & (right.value == 0)
        return Partial(made.value, np.asarray(whole), np.asarray(made.void | by_zero))

    def __matmul__(self, other: Partial) -> Partial:
        rows = self.exact.all(axis=-1, keepdims=True)
        exact = rows & other.exact.all(axis=-2, keepdims=True)
        if exact.any():
            exact &= np.abs(self.value) @ np.abs(other.value) < MOST
        void = self.void.any(axis=-1, keepdims=True) | other.void.any(axis=-2, keepdims=True)
        return Partial(self.value @ other.value, np.asarray(exact), np.asarray(void))

    def each(self, action: Callable[[Array], Array]) -> Partial:
        """Move entries, but leave each of them as it is."""
        return Partial(action(self.value), action(self.exact), action(self.void))


class Partials:
    """The arithmetic of partial functions: what has no value for some operand has none."""

    def constant(self, number: Number) -> Partial:
        made = Partial.of(float(number))
        rational = not number.roots and number.coefficient.denominator == 1
        return made if rational else Partial(made.value, np.zeros(1, bool), made.void)

    def exp(self, x: Partial) -> Partial:
        return Partial(np.exp(x.value), np.asarray(x.exact & (x.value == 0)), x.void)

    def function(self, name: str, x: Partial) -> Partial:
        """Apply sqrt, of numbers from 0 up, or log, of those above 0."""
        made = Partial.of(FLOAT64.function(name, x.value))
        void = x.exact & ((x.value < 0) | ((x.value == 0) & (name == "log")))
        exact = made.exact & x.exact & (name == "sqrt") & (made.value**2 == x.value)
        return Partial(made.value, np.asarray(exact), np.asarray(x.void | void))

    def maximum(self, x: Partial, y: Partial) -> Partial:
        return x._with(y, np.maximum)

    def minimum(self, x: Partial, y: Partial) -> Partial:
        return x._with(y, np.minimum)

    def sum(self, x: Partial, axis: int) -> Partial:
        largest = np.abs(x.value).sum(axis=axis + 1, keepdims=True)
        exact = x.exact.all(axis=axis + 1, keepdims=True) & (largest < MOST)
        void = np.asarray(x.void.any(axis=axis + 1, keepdims=True))
        return Partial(x.value.sum(axis=axis + 1, keepdims=True), exact, void)

    def max(self, x: Partial, axis: int) -> Partial:
        exact = np.asarray(x.exact.all(axis=axis + 1, keepdims=True))
        void = np.asarray(x.void.any(axis=axis + 1, keepdims=True))
        return Partial(x.value.max(axis=axis + 1, keepdims=True), exact, void)

    def count(self, x: Partial, axis: int) -> int:
        return x.shape[axis]

    def reshape(self, x: Partial, shape: Shape) -> Partial:
        return x.each(lambda part: part.reshape(-1, *shape))

    def transpose(self, x: Partial, axes: Sequence[int]) -> Partial:
        return x.each(lambda part: part.transpose(0, *(axis + 1 for axis in axes)))

    def concatenate(self, xs: Sequence[Partial], axis: int) -> Partial:
        return Partial(
            np.concatenate([x.value for x in xs], axis + 1),
            np.concatenate([x.exact for x in xs], axis + 1),
            np.concatenate([x.void for x in xs], axis + 1),
        )

    def take(self, x: Partial, place: tuple[slice, ...]) -> Partial:
        return x.each(lambda part: part[(slice(None), *place)])

    def stored(self, x: Partial) -> Partial:
        return x


PARTIAL = Partials()
