"""A tensor of a graph that is being built: ``+ - * / @`` make equations."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from mlc_course.mugraph import ops
from mlc_course.mugraph.constants import constant
from mlc_course.mugraph.ops import Op

Scalar = int | float | Fraction | str  # a text such as "1/d" names a size


class Value:
    """Value ``number`` of the graph that ``builder`` (``build.py``) makes."""

    def __init__(self, builder: Any, number: int) -> None:
        self.builder, self.number = builder, number

    def called(self, name: str) -> Value:
        """The same value under another name."""
        self.builder.rename(self.number, name)
        return self

    def __repr__(self) -> str:
        return str(self.builder.names[self.number])

    def __matmul__(self, other: Value) -> Value:
        return self._made(ops.matmul, self, other)

    def __add__(self, other: Value | Scalar) -> Value:
        return self._with(ops.add, ops.shift, other)

    def __radd__(self, other: Scalar) -> Value:
        return self + other

    def __sub__(self, other: Value | Scalar) -> Value:
        if isinstance(other, Value):
            return self._made(ops.sub, self, other)
        return self + str(constant(f"-{other}"))

    def __mul__(self, other: Value | Scalar) -> Value:
        return self._with(ops.mul, ops.scale, other)

    def __rmul__(self, other: Scalar) -> Value:
        return self * other

    def __truediv__(self, other: Value | Scalar) -> Value:
        if isinstance(other, Value):
            return self._made(ops.div, self, other)
        return self * f"1/{other}"

    def __neg__(self) -> Value:
        return self._made(ops.neg, self)

    def _with(self, two: Op, one: Op, other: Value | Scalar) -> Value:
        if isinstance(other, Value):
            return self._made(two, self, other)
        return self._made(one, self, by=other)

    def _made(self, op: Op, *operands: Value, **attributes: Any) -> Value:
        made: Value = self.builder.apply(op, operands, attributes)
        return made
