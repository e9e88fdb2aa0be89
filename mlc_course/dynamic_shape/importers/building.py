"""A module that is built value by value, and what is composed of several of its operators."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

from mlc_course.dynamic_shape.ir import (
    BY_NAME,
    Constraint,
    Dim,
    Equation,
    Function,
    Input,
    Module,
    SymbolicDim,
    Type,
)


class Building:
    """Inputs and equations so far; a weight may become an input after the first equation.

    So an input is known by its number, 0 or more, and an equation by the complement of its own.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: list[Input] = []
        self.equations: list[Equation] = []

    def module(
        self, results: Sequence[int], dims: Sequence[str], constraints: Sequence[Constraint]
    ) -> Module:
        """Return all that was built, with some values as results."""

        def placed(value: int) -> int:
            return value if value >= 0 else len(self.inputs) + ~value

        equations = tuple(
            Equation(each.op, tuple(map(placed, each.operands)), each.type, each.attributes)
            for each in self.equations
        )
        function = Function(self.name, tuple(self.inputs), equations, tuple(map(placed, results)))
        return Module(function, tuple(map(SymbolicDim, dims)), tuple(constraints))

    def input(self, name: str, type_: Type) -> int:
        """Add an input."""
        self.inputs.append(Input(name, type_))
        return len(self.inputs) - 1

    def types(self, value: int) -> Type:
        """Return the type of a value."""
        return self.inputs[value].type if value >= 0 else self.equations[~value].type

    def emit(
        self,
        op: str,
        operands: Sequence[int],
        dims: Sequence[Dim],
        dtype: str = "",
        /,
        **given: Any,
    ) -> int:
        """Add an equation, of the first operand's element type unless another is given.

        Raises ``ShapeError`` for what the operator cannot take.
        """
        dtype = dtype or self.types(operands[0]).dtype
        type_ = Type(dtype, tuple(dims))
        for _ in BY_NAME[op].asserted([self.types(each) for each in operands], type_, given):
            pass  # raises now, while it is known what is being read
        self.equations.append(Equation(BY_NAME[op], tuple(operands), type_, tuple(given.items())))
        return ~(len(self.equations) - 1)

    def scalar(self, value: float, dtype: str) -> int:
        """Add a number."""
        return self.emit("constant", (), (), dtype, value=value)

    # What is composed of several operators.

    def reduced(self, op: str, value: int, axes: tuple[int, ...]) -> int:
        """Leave axes out."""
        kept = [dim for at, dim in enumerate(self.types(value).dims) if at not in axes]
        return self.emit(op, (value,), kept, axes=axes)

    def spread(self, op: str, value: int, axes: tuple[int, ...]) -> int:
        """Reduce axes, and give every element its row's result."""
        dims = self.types(value).dims
        others = tuple(at for at in range(len(dims)) if at not in axes)
        return self.emit("broadcast", (self.reduced(op, value, axes),), dims, dims=others)

    def softmax(self, value: int, axes: tuple[int, ...]) -> int:
        """Raise e to each element, less the largest of its row, and divide by the row's sum."""
        dims = self.types(value).dims
        shifted = self.emit("sub", (value, self.spread("reduce_max", value, axes)), dims)
        raised = self.emit("exp", (shifted,), dims)
        return self.emit("div", (raised, self.spread("reduce_sum", raised, axes)), dims)

    def centred(self, value: int, axes: tuple[int, ...]) -> int:
        """Subtract each row's mean."""
        dims = self.types(value).dims
        return self.emit("sub", (value, self.spread("reduce_mean", value, axes)), dims)

    def normalized(self, value: int, axes: tuple[int, ...], epsilon: float) -> int:
        """Divide by the root of each row's mean square."""
        dims, dtype = self.types(value).dims, self.types(value).dtype
        squares = self.emit("square", (value,), dims)
        mean = self.reduced("reduce_mean", squares, axes)
        kept = self.types(mean).dims
        shifted = self.emit("add", (mean, self.scalar(epsilon, dtype)), kept)
        scale = self.emit("rsqrt", (shifted,), kept)
        others = tuple(at for at in range(len(dims)) if at not in axes)
        return self.emit("mul", (value, self.emit("broadcast", (scale,), dims, dims=others)), dims)

    def gelu(self, value: int) -> int:
        """Multiply each element by the chance that a normal variable is smaller."""
        dims, dtype = self.types(value).dims, self.types(value).dtype
        inner = self.emit("mul", (value, self.scalar(0.5**0.5, dtype)), dims)
        more = self.emit("add", (self.emit("erf", (inner,), dims), self.scalar(1.0, dtype)), dims)
        half = self.emit("mul", (value, self.scalar(0.5, dtype)), dims)
        return self.emit("mul", (half, more), dims)

    def tanh_gelu(self, value: int) -> int:
        """Return what is close to ``gelu``, by a hyperbolic tangent."""
        dims, dtype = self.types(value).dims, self.types(value).dtype
        cube = self.emit("mul", (self.emit("square", (value,), dims), value), dims)
        cubic = self.emit("mul", (cube, self.scalar(0.044715, dtype)), dims)
        inner = self.emit("add", (value, cubic), dims)
        inner = self.emit("mul", (inner, self.scalar((2 / pi) ** 0.5, dtype)), dims)
        more = self.emit("add", (self.emit("tanh", (inner,), dims), self.scalar(1.0, dtype)), dims)
        half = self.emit("mul", (value, self.scalar(0.5, dtype)), dims)
        return self.emit("mul", (half, more), dims)

    def relu(self, value: int) -> int:
        """Replace negative elements by 0."""
        dims, dtype = self.types(value).dims, self.types(value).dtype
        return self.emit("max", (value, self.scalar(0.0, dtype)), dims)
