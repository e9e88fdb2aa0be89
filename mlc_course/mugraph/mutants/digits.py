"""The referee: graphs in 60 decimal digits, where float64 cannot tell whether two differ.

An eps of 1e-10 that is added twice changes the tenth digit of a result, and a sum in another order
the sixteenth. In 60 digits both are far from each other.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Array, Floats, KernelGraph, Number, run

DIGITS = 60
SAME = Decimal("1e-30")  # of the larger of two entries
NOTHING = Decimal("1e-45")  # of the largest entry of all
CONTEXT = decimal.Context(prec=DIGITS, traps=[])


class Digits(Floats):
    """Arrays of ``Decimal``. What is made of an infinite number, or of 0/0, is no number."""

    def entered(self, array: Array) -> Array:
        return _each(lambda x: Decimal(float(x)), array)

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
    with decimal.localcontext(CONTEXT):
        ours, theirs = (run(graph, inputs, Digits()) for graph in (left, right))
        return not any(
            all(_alike(a, theirs[j]) for a, j in zip(ours, order, strict=True)) for order in orders
        )


def _alike(a: Array, b: Array) -> bool:
    if a.shape != b.shape:
        return False
    pairs = [(x, y) for x, y in zip(a.flat, b.flat, strict=True) if x.is_finite() and y.is_finite()]
    largest = max((max(abs(x), abs(y)) for x, y in pairs), default=Decimal(0))
    return all(abs(x - y) <= max(SAME * max(abs(x), abs(y)), NOTHING * largest) for x, y in pairs)
