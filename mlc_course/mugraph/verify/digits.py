"""The referee: graphs in 60 decimal digits, each number with a bound on its error.

An eps of 1e-10 that is added twice changes the tenth digit of a result, and a sum in another order
the sixteenth. In 60 digits both are far from each other; and 1e-200 squared is not 0. But no number
of digits helps where a rounded zero is multiplied by 1e70 and cut off at 1. So a bound on the error
goes along with each number, and what is not known well counts for nothing. Large graphs would take
seconds and are computed in NumPy's ``longdouble``, which has 80 bits on most machines.

Source: N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.3 (running
error analysis).
"""

from __future__ import annotations

import decimal
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Array, KernelGraph, Number, Shape, evaluate

DIGITS = 60
SAME = 1e-30  # of the larger of two entries
NOTHING = 1e-45  # of the largest entry of all
IN_80_BITS = 1e-12  # relative, and absolute
CONTEXT = decimal.Context(prec=DIGITS, traps=[])
FEW = 20_000  # numbers of a graph, of which 60 digits are computed in a moment
CLOSE = 0.1  # the part of a difference that more digits may change
LEAST = 5e-324  # the smallest float
SAFETY = 8  # units of rounding in place of half of one: exp and log have some, and so have bounds


@dataclass(frozen=True)
class Bounded:
    """Numbers, and for each a bound on its error; infinite where the number is unknown, or none.

    ``value`` has Decimals or long doubles, ``error`` float64 from 0 up.
    """

    value: Array
    error: Array

    @property
    def shape(self) -> Shape:
        return self.value.shape

    def __add__(self, other: Any) -> Bounded:
        other = self._of(other)
        return _rounded(self.value + other.value, self.error + other.error)

    def __sub__(self, other: Any) -> Bounded:
        other = self._of(other)
        return _rounded(self.value - other.value, self.error + other.error)

    def __rsub__(self, other: Any) -> Bounded:
        return self._of(other) - self

    def __neg__(self) -> Bounded:
        return Bounded(np.asarray(-self.value), self.error)

    def __mul__(self, other: Any) -> Bounded:
        other = self._of(other)
        mine, its = _size(self.value), _size(other.value)
        error = _times(mine, other.error) + _times(its, self.error)
        product = self.value * other.value
        lost = np.where((mine > 0) & (its > 0) & (product == 0), LEAST, 0.0)
        return _rounded(product, error + _times(self.error, other.error) + lost)

    def __truediv__(self, other: Any) -> Bounded:
        other = self._of(other)
        left = _size(other.value) - other.error  # of the divisor, whatever its error
        quotient = self.value / other.value
        error = (self.error + _times(_size(quotient), other.error)) / left
        return _rounded(quotient, np.where(left > 0, error, np.inf))

    def __rtruediv__(self, other: Any) -> Bounded:
        return self._of(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __matmul__(self, other: Bounded) -> Bounded:
        mine, its = _size(self.value), _size(other.value)
        rounded = self.shape[-1] * _unit(self.value) * (mine @ its)
        error = mine @ other.error + self.error @ its + self.error @ other.error + rounded
        return _rounded(self.value @ other.value, error)

    def each(self, action: Callable[[Array], Array]) -> Bounded:
        """Move entries, but leave each of them as it is."""
        return Bounded(action(self.value), action(self.error))

    def _of(self, other: Any) -> Bounded:
        if isinstance(other, Bounded):
            return other
        number = Decimal(other) if self.value.dtype == object else np.longdouble(other)
        return Bounded(np.asarray(number, self.value.dtype), np.zeros(()))


def _size(value: Array) -> Array:
    """Upper bounds, but for the rounding of float64."""
    size = np.asarray(np.abs(value)).astype(float)
    return np.where((size == 0) & (value != 0), LEAST, size)


def _unit(value: Array) -> float:
    exact = value.dtype == object
    return SAFETY * (10.0**-DIGITS if exact else float(np.finfo(np.longdouble).eps))


def _times(size: Array, error: Array) -> Array:
    """Their product; what has no error has none, however large it is."""
    return np.where((size == 0) | (error == 0), 0.0, size * error)


def _rounded(value: Any, error: Any) -> Bounded:
    """A result, with its rounding added to what the errors of its operands make of it.

    Where the number is not 0, its bound is not, either: what is too small for a float is something.
    """
    value = np.asarray(value)
    size = _size(value)
    bound = error + _unit(value) * size
    bound = np.where((bound > 0) | (size > 0), np.nextafter(bound, np.inf), bound)
    return Bounded(value, np.where(np.isfinite(size) & ~np.isnan(bound), bound, np.inf))


class Referee:
    """The arithmetic of bounded numbers, in 60 digits or in 80 bits."""

    def __init__(self, *, digits: bool) -> None:
        self.digits = digits

    def entered(self, array: Array) -> Bounded:
        made = _each(lambda x: Decimal(float(x)), array) if self.digits else array
        value = np.asarray(made, object if self.digits else np.longdouble)
        return Bounded(value, np.where(np.isfinite(_size(value)), 0.0, np.inf))

    def constant(self, number: Number) -> Bounded:
        above, below = number.coefficient.numerator, number.coefficient.denominator
        rooted = math.prod(number.roots)
        if self.digits:
            value: Any = Decimal(above) / below * Decimal(rooted).sqrt()
            return _rounded(np.asarray(value, object), 0.0)
        long = np.longdouble
        return _rounded(np.asarray(long(above) / long(below) * np.sqrt(long(rooted))), 0.0)

    def exp(self, x: Bounded) -> Bounded:
        made = _each(Decimal.exp, x.value) if self.digits else np.exp(x.value)
        most = np.exp(x.value.astype(float) + x.error)  # where the result is too small for 80 bits
        error = np.where(made == 0, most + LEAST, _times(_size(made), np.expm1(x.error)))
        return _rounded(made, error)

    def function(self, name: str, x: Bounded) -> Bounded:
        """Square root or logarithm; unknown where the argument may be too small for it."""
        least = x.value.astype(float) * (1 - 1e-9) - x.error
        if name == "log":
            made = _each(Decimal.ln, x.value) if self.digits else np.log(x.value)
            return _rounded(made, np.where(least > 0, x.error / least, np.inf))
        made = _each(Decimal.sqrt, x.value) if self.digits else np.sqrt(x.value)
        error = np.where(x.error == 0, 0.0, x.error / _size(made))
        return _rounded(made, np.where((least > 0) | (x.error == 0), error, np.inf))

    def maximum(self, x: Bounded, y: Bounded) -> Bounded:
        gap = np.asarray(x.value - y.value).astype(float)
        reach = (x.error + y.error) * (1 + 1e-9)
        either = np.maximum(x.error, y.error)
        error = np.where(gap > reach, x.error, np.where(-gap > reach, y.error, either))
        unknown = ~np.isfinite(x.error) | ~np.isfinite(y.error)
        value = np.asarray(np.where(gap >= 0, x.value, y.value), x.value.dtype)
        return Bounded(value, np.where(unknown, np.inf, error))

    def minimum(self, x: Bounded, y: Bounded) -> Bounded:
        return -self.maximum(-x, -y)

    def sum(self, x: Bounded, axis: int) -> Bounded:
        added = np.asarray(np.sum(x.value, axis=axis, keepdims=True))
        size, error = (
            np.asarray(np.sum(each, axis=axis, keepdims=True))
            for each in (_size(x.value), np.broadcast_to(x.error, x.shape))
        )
        return _rounded(added, error + x.shape[axis] * _unit(x.value) * size)

    def max(self, x: Bounded, axis: int) -> Bounded:
        entries = range(x.shape[axis])
        values, errors = (
            [np.take(part, [n], axis) for n in entries]
            for part in (x.value, np.broadcast_to(x.error, x.shape))
        )
        return functools.reduce(self.maximum, map(Bounded, values, errors))

    def count(self, x: Bounded, axis: int) -> int:
        return int(x.shape[axis])

    def reshape(self, x: Bounded, shape: Shape) -> Bounded:
        return x.each(lambda part: part.reshape(shape))

    def transpose(self, x: Bounded, axes: Sequence[int]) -> Bounded:
        return x.each(lambda part: part.transpose(axes))

    def concatenate(self, xs: Sequence[Bounded], axis: int) -> Bounded:
        parts = [x.value for x in xs], [np.broadcast_to(x.error, x.shape) for x in xs]
        return Bounded(*(np.concatenate(each, axis) for each in parts))

    def take(self, x: Bounded, place: tuple[slice, ...]) -> Bounded:
        return x.each(lambda part: part[place])

    def stored(self, x: Bounded) -> Bounded:
        return x


def _each(function: Any, x: Array) -> Array:
    return np.asarray(np.frompyfunc(function, 1, 1)(x), object)


Run = Callable[[Mapping[str, Any], Any], Sequence[Any]]  # outputs from inputs, in an arithmetic


def precisely(inputs: Mapping[str, Array], *graphs: KernelGraph) -> list[Sequence[Bounded]]:
    """Return what graphs compute with more digits than float64 has."""
    numbers = max(sum(map(math.prod, graph.shapes)) for graph in graphs)
    return _run(inputs, [_run_of(graph) for graph in graphs], numbers)


def _run_of(graph: KernelGraph) -> Run:
    return lambda inputs, m: evaluate(graph, [inputs[each.name] for each in graph.inputs], m)


def _run(inputs: Mapping[str, Array], runs: Sequence[Run], numbers: int) -> list[Sequence[Bounded]]:
    """Run programs of which each computes so many ``numbers``, at most."""

    def computed(referee: Referee) -> list[Sequence[Bounded]]:
        entered = {name: referee.entered(np.asarray(array)) for name, array in inputs.items()}
        with decimal.localcontext(CONTEXT), np.errstate(all="ignore"):
            return [run(entered, referee) for run in runs]

    if numbers <= FEW:
        try:
            return computed(Referee(digits=True))
        except TypeError:  # an operator of one's own has a float in it
            pass
    return computed(Referee(digits=False))


def differing_output(
    left: Run, right: Run, inputs: Mapping[str, Array], numbers: int
) -> int | None:
    """Return the first output that two runs surely compute otherwise; None where there is none.

    Each of the runs computes so many ``numbers``, at most; who asks repeatedly counts all of them.
    """
    ours, theirs = _run(inputs, (left, right), numbers)
    with decimal.localcontext(CONTEXT), np.errstate(all="ignore"):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next((number for number, pair in pairs if not _alike(*pair)), None)


def holds(difference: Array | float, a: Bounded, b: Bounded | float = 0.0) -> Array:
    """Tell, for each entry, whether two numbers have this difference, but for a part of it."""
    with decimal.localcontext(CONTEXT), np.errstate(all="ignore"):
        found = a - b
        missed = np.abs(found.value.astype(float) - difference) + found.error
        return np.asarray(missed <= CLOSE * np.abs(difference))


def differ_in_digits(
    left: KernelGraph,
    right: KernelGraph,
    inputs: Mapping[str, Array],
    orders: Sequence[Sequence[int]],
) -> bool:
    """Tell whether outputs surely differ, in each order of the right ones, where both are known."""
    ours, theirs = precisely(inputs, left, right)
    with decimal.localcontext(CONTEXT), np.errstate(all="ignore"):
        return not any(
            all(_alike(a, theirs[j]) for a, j in zip(ours, order, strict=True)) for order in orders
        )


def _alike(a: Bounded, b: Bounded) -> bool:
    if a.shape != b.shape:
        return False
    apart, larger = _size((a - b).value), np.maximum(_size(a.value), _size(b.value))
    errors = a.error + b.error
    known = np.isfinite(errors)
    if a.value.dtype == object:
        allowed = np.maximum(SAME * larger, NOTHING * larger[known].max(initial=0))
    else:
        allowed = IN_80_BITS * (1 + larger)
    return not bool((known & (apart > errors + allowed)).any())
