"""What a kernel returns, compared with the interpreter in float64.

How far float32 may be from float64 depends on the program: a difference of large numbers has fewer
digits than they have. So every operator is asked once more, in an arithmetic of pairs: a value, and
the size of what was added up to make it. Rounding each step moves a result by at most about the
machine's epsilon times that size (a running error analysis: N. Higham, Accuracy and Stability of
Numerical Algorithms, 2002, section 3.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.errors import WrongResult
from mlc_course.mugraph.ir import Array, KernelGraph, Number, Shape, evaluate

SMALLEST, LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
TOLERANCE: Mapping[str, float] = {"float32": 1e-5, "float16": 1e-2, "bfloat16": 8e-2}


@dataclass(frozen=True)
class Sized:
    """A value and the size of its terms: how much it moves if every step is rounded once."""

    value: Array
    size: Array

    @property
    def shape(self) -> Shape:
        return self.value.shape

    def __add__(self, other: Any) -> Sized:
        o = _sized(other)
        return _made(self.value + o.value, self.size + o.size)

    def __sub__(self, other: Any) -> Sized:
        o = _sized(other)
        return _made(self.value - o.value, self.size + o.size)

    def __mul__(self, other: Any) -> Sized:
        o = _sized(other)
        size = self.size * np.abs(o.value) + np.abs(self.value) * o.size
        return _made(self.value * o.value, size)

    def __truediv__(self, other: Any) -> Sized:
        o = _sized(other)
        value = self.value / o.value
        return _made(value, (self.size + np.abs(value) * o.size) / np.abs(o.value))

    def __matmul__(self, other: Sized) -> Sized:
        size = self.size @ np.abs(other.value) + np.abs(self.value) @ other.size
        return _made(self.value @ other.value, size)

    def __neg__(self) -> Sized:
        return Sized(-self.value, self.size)

    def __radd__(self, other: Any) -> Sized:
        return _sized(other) + self

    def __rmul__(self, other: Any) -> Sized:
        return _sized(other) * self

    def __rsub__(self, other: Any) -> Sized:
        return _sized(other) - self

    def __rtruediv__(self, other: Any) -> Sized:
        return _sized(other) / self


def _sized(x: Any) -> Sized:
    if isinstance(x, Sized):
        return x
    value = np.asarray(x, np.float64)
    return _made(value, np.abs(value))


def _made(value: Array, size: Array) -> Sized:
    """The size of what a step makes is at least that of its value, and of the smallest numbers.

    What is infinite stays so: it does not move. Where a number is beyond float32, a kernel has
    infinity, and nothing is known of what is made of it: its size is infinite.
    """
    known = (np.abs(value) <= LARGEST) & ~np.isnan(size)
    size = np.where(known, np.fmax(size, np.maximum(np.abs(value), SMALLEST)), np.inf)
    return Sized(value, np.where(np.isfinite(value), size, 0.0))


class Sizes:
    """The arithmetic of ``Sized`` values."""

    def constant(self, number: Number) -> Sized:
        return _sized(float(number))

    def exp(self, x: Sized) -> Sized:
        value = np.exp(x.value)
        return _made(value, value * x.size)

    def function(self, name: str, x: Sized) -> Sized:
        if name == "sqrt":
            value = np.sqrt(x.value)
            steep = np.sqrt(x.size / TOLERANCE["float32"])  # as far as 0 moves
            return _made(value, np.fmin(x.size / (2 * value), steep))
        value = np.log(x.value)
        return _made(value, x.size / np.abs(x.value))

    def maximum(self, x: Any, y: Any) -> Sized:
        a, b = _sized(x), _sized(y)
        return Sized(np.maximum(a.value, b.value), np.maximum(a.size, b.size))

    def minimum(self, x: Any, y: Any) -> Sized:
        a, b = _sized(x), _sized(y)
        return Sized(np.minimum(a.value, b.value), np.maximum(a.size, b.size))

    def sum(self, x: Sized, axis: int) -> Sized:
        return _made(*(each.sum(axis=axis, keepdims=True) for each in (x.value, x.size)))

    def max(self, x: Sized, axis: int) -> Sized:
        return Sized(*(each.max(axis=axis, keepdims=True) for each in (x.value, x.size)))

    def count(self, x: Sized, axis: int) -> int:
        return int(x.shape[axis])

    def reshape(self, x: Sized, shape: Shape) -> Sized:
        return Sized(x.value.reshape(shape), x.size.reshape(shape))

    def transpose(self, x: Sized, axes: Sequence[int]) -> Sized:
        return Sized(np.transpose(x.value, axes), np.transpose(x.size, axes))

    def concatenate(self, xs: Sequence[Sized], axis: int) -> Sized:
        values, sizes = [x.value for x in xs], [x.size for x in xs]
        return Sized(np.concatenate(values, axis), np.concatenate(sizes, axis))

    def take(self, x: Sized, place: tuple[slice, ...]) -> Sized:
        return Sized(x.value[place], x.size[place])

    def stored(self, x: Sized) -> Sized:
        return x


@dataclass(frozen=True)
class Check:
    """The largest error of each output, as a part of the size of its terms; NaN where one is.

    So many elements are ``unknown``, since numbers on their way are beyond float32.
    """

    errors: tuple[float, ...]
    tolerance: float
    unknown: int = 0

    @property
    def passed(self) -> bool:
        return all(error <= self.tolerance for error in self.errors)

    def __str__(self) -> str:
        errors = ", ".join(f"{error:.1e}" for error in self.errors)
        verdict = "agrees with" if self.passed else "DIFFERS from"
        unknown = f"; {self.unknown} elements overflow on their way, and were not compared"
        return (
            f"{verdict} the interpreter in float64: error {errors} of the size of the terms, "
            f"at most {self.tolerance:.0e} allowed{unknown * (self.unknown > 0)}"
        )


def check(
    graph: KernelGraph,
    inputs: Mapping[str, Array],
    outputs: Sequence[Array],
    storage: str = "float32",
) -> Check:
    """Compare outputs with what the interpreter makes of the same inputs in float64."""
    given = [_sized(inputs[each.name]) for each in graph.inputs]
    with np.errstate(all="ignore"):
        wanted = evaluate(graph, given, Sizes())
        pairs = list(zip(outputs, wanted, strict=True))
        errors = tuple(_error(got, want, storage) for got, want in pairs)
    unknown = sum(int(np.isinf(want.size).sum()) for want in wanted)
    return Check(errors, TOLERANCE[storage], unknown)


def _error(got: Array, want: Sized, storage: str) -> float:
    """The largest error of what is known; what is infinite or no number has to be so in both."""
    value, stored = np.asarray(got, np.float64), want.value.astype(storage)
    known, finite = np.isfinite(want.size), np.isfinite(stored)
    endless = known & ~finite
    if value.shape != stored.shape or not np.array_equal(
        value[endless], stored[endless], equal_nan=True
    ):
        return float("nan")
    finite &= known
    floor = SMALLEST if storage == "bfloat16" else float(np.finfo(storage).tiny)
    off = np.abs(value - want.value)[finite] / np.maximum(want.size[finite], floor)
    return float(off.max(initial=0.0)) if not np.isnan(off).any() else float("nan")


def raise_unless(passed: Check, name: str) -> None:
    """Raise ``WrongResult`` for a kernel that differs from the interpreter."""
    if not passed.passed:
        raise WrongResult(
            f"{name}: the compiled kernel differs from the interpreter",
            expected=f"errors of at most {passed.tolerance:.0e} of the size of the terms",
            got=", ".join(f"{error:.1e}" for error in passed.errors),
            hint="this is a fault of the compiler: please report the graph",
        )
