"""The referee: graphs in 60 decimal digits, where float64 cannot tell whether two differ.

An eps of 1e-10 that is added twice changes the tenth digit of a result, and a sum in another order
the sixteenth. In 60 digits both are far from each other; and 1e-200 squared is not 0. Large graphs
would take seconds and are computed in NumPy's ``longdouble``, which has 80 bits on most machines.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Array, Floats, KernelGraph, Number, run

DIGITS = 60
SAME = Decimal("1e-30")  # of the larger of two entries
NOTHING = Decimal("1e-45")  # of the largest entry of all
IN_80_BITS = 1e-12  # relative, and absolute
CONTEXT = decimal.Context(prec=DIGITS, traps=[])
FEW = 20_000  # numbers of a graph, of which 60 digits are computed in a moment
CLOSE = 0.1  # the part of a difference that more digits may change


class Digits(Floats):
    """Arrays of ``Decimal``. What is made of an infinite number, or of 0/0, is no number."""

    def entered(self, array: Array) -> Array:
        return array if array.dtype == object else _each(lambda x: Decimal(float(x)), array)

    def constant(self, number: Number) -> Any:
        coefficient = number.coefficient
        made = Decimal(coefficient.numerator) / coefficient.denominator
        for prime in number.roots:
            made *= Decimal(prime).sqrt()
        return made

    def exp(self, x: Array) -> Array:
        return _each(Decimal.exp, x)

    def function(self, name: str, x: Array) -> Array:
        return _each({"sqrt": Decimal.sqrt, "log": Decimal.ln}[name], x)

    def maximum(self, x: Array, y: Array) -> Array:
        return np.asarray(LARGER(x, y), object)

    def minimum(self, x: Array, y: Array) -> Array:
        return np.asarray(-LARGER(-x, -y), object)

    def max(self, x: Array, axis: int) -> Array:
        return np.asarray(LARGER.reduce(x, axis=axis, keepdims=True), object)

    def stored(self, x: Array) -> Array:
        return _each(lambda each: each if each.is_finite() else Decimal("NaN"), x)


class Finite(Floats):
    """Floats in which what is made of an infinite number is none."""

    def stored(self, x: Array) -> Array:
        return np.where(np.isfinite(x), x, np.nan)


FINITE = Finite()
LONG = Finite(np.longdouble, np.longdouble)


def precisely(inputs: Mapping[str, Array], *graphs: KernelGraph) -> list[list[Array]]:
    """Return what graphs compute with more digits than float64 has; NaN where that is no number."""
    if all(sum(map(math.prod, graph.shapes)) <= FEW for graph in graphs):
        try:
            with decimal.localcontext(CONTEXT):
                return [run(graph, inputs, Digits()) for graph in graphs]
        except TypeError:  # an operator of one's own has a float in it
            pass
    return [run(graph, inputs, LONG) for graph in graphs]


def holds(difference: float, a: Any, b: Any) -> bool:
    """Tell whether two numbers with more digits have this difference, but for a part of it."""
    with decimal.localcontext(CONTEXT):
        return abs(float(a - b) - difference) <= CLOSE * abs(difference)


LARGER = np.frompyfunc(lambda a, b: a if a.is_nan() or a >= b else b, 2, 1)


def _each(function: Any, x: Array) -> Array:
    return np.asarray(np.frompyfunc(function, 1, 1)(x), object)


def differ_in_digits(
    left: KernelGraph,
    right: KernelGraph,
    inputs: Mapping[str, Array],
    orders: Sequence[Sequence[int]],
) -> bool:
    """Tell whether outputs differ, in each order of the right ones, where both are numbers."""
    ours, theirs = precisely(inputs, left, right)
    with decimal.localcontext(CONTEXT):
        return not any(
            all(_alike(a, theirs[j]) for a, j in zip(ours, order, strict=True)) for order in orders
        )


def _alike(a: Array, b: Array) -> bool:
    if a.shape != b.shape:
        return False
    if object not in (a.dtype, b.dtype):
        known = np.isfinite(a) & np.isfinite(b)
        return bool(np.allclose(a[known], b[known], rtol=IN_80_BITS, atol=IN_80_BITS))
    pairs = [(x, y) for x, y in zip(a.flat, b.flat, strict=True) if x.is_finite() and y.is_finite()]
    largest = max((max(abs(x), abs(y)) for x, y in pairs), default=Decimal(0))
    return all(abs(x - y) <= max(SAME * max(abs(x), abs(y)), NOTHING * largest) for x, y in pairs)
