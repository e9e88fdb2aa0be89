"""Integer operators of TensorIR and their meaning on ranges and on NumPy arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.tensor_program.tir.tvm import Call, tirx

Ends = tuple[int, int]  # smallest and largest value
NO_LIMIT: Ends = (-(1 << 70), 1 << 70)  # fits no type: nothing is known of the result


@dataclass(frozen=True)
class Meaning:
    """The meaning of an operator on ranges, and on NumPy arrays."""

    ends: Callable[..., Ends]
    values: Callable[..., Any]


def _monotone(function: Callable[[int, int], int], values: Callable[..., Any]) -> Meaning:
    """A function that is monotone in both operands, so its extremes are at the ends of these."""

    def ends(a: Ends, b: Ends) -> Ends:
        found = [function(x, y) for x in a for y in b]
        return min(found), max(found)

    return Meaning(ends, values)


def _quotient(a: Ends, b: Ends) -> Ends:
    return (
        (min(a[0] // b[0], a[0] // b[1]), max(a[1] // b[0], a[1] // b[1])) if b[0] > 0 else NO_LIMIT
    )


def _remainder(a: Ends, b: Ends) -> Ends:
    return (0, b[1] - 1) if b[0] > 0 else NO_LIMIT


def _logical(values: Callable[..., Any]) -> Meaning:
    return Meaning(lambda *_: (0, 1), values)


def _choice(condition: Ends, then: Ends, otherwise: Ends) -> Ends:
    return min(then[0], otherwise[0]), max(then[1], otherwise[1])


_choose = Meaning(_choice, np.where)
_same = Meaning(lambda a: a, lambda a: a)
MEANINGS: dict[Any, Meaning] = {
    tirx.Add: _monotone(operator.add, np.add),
    tirx.Sub: _monotone(operator.sub, np.subtract),
    tirx.Mul: _monotone(operator.mul, np.multiply),
    tirx.Min: _monotone(min, np.minimum),
    tirx.Max: _monotone(max, np.maximum),
    tirx.FloorDiv: Meaning(_quotient, np.floor_divide),
    tirx.FloorMod: Meaning(_remainder, np.mod),
    tirx.EQ: _logical(np.equal),
    tirx.NE: _logical(np.not_equal),
    tirx.LT: _logical(np.less),
    tirx.LE: _logical(np.less_equal),
    tirx.GT: _logical(np.greater),
    tirx.GE: _logical(np.greater_equal),
    tirx.And: _logical(np.logical_and),
    tirx.Or: _logical(np.logical_or),
    tirx.Not: _logical(np.logical_not),
    tirx.Select: _choose,
    "prim.if_then_else": _choose,
    "prim.likely": _same,
    tirx.Cast: Meaning(lambda a: a, lambda a: np.multiply(a, 1)),  # NumPy adds truths as truths
}
LIMITS: dict[str, Ends] = {
    "bool": (0, 1),
    **{f"int{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32)},
}


def kind_of(expr: Any) -> Any:
    """The key of an expression in ``MEANINGS``."""
    return expr.op.name if isinstance(expr, Call) else type(expr)
