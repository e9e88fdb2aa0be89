"""Builders of graphs in Python: ``+ - * / @`` on a ``Value`` make equations.

::

    g = Builder("scaled_product")
    x, w = g.input("X", "b=16", "d=4096"), g.input("W", "d", "n=64")
    with g.block(grid={"x": 8}, loop={"k": 32}) as t:
        p = t.load(x, fmap={"k": 1}) @ t.load(w, imap={"x": 1}, fmap={"k": 0})
        y = t.store(ops.accumulate(p) * "1/d", omap={"x": 1})
    graph = g.returns(y)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from mlc_course.errors import GraphError
from mlc_course.mugraph.ir import ops
from mlc_course.mugraph.ir.arithmetic import Shape
from mlc_course.mugraph.ir.check import check_block, check_inside, result_shape
from mlc_course.mugraph.ir.constants import constant
from mlc_course.mugraph.ir.graph import KernelGraph
from mlc_course.mugraph.ir.nodes import (
    BlockGraph,
    Equation,
    Input,
    Load,
    Store,
    kept,
    kept_map,
    thread_graph,
)
from mlc_course.mugraph.ir.ops import Op

Scalar = int | float | Fraction | str  # a text such as "1/d" names a size


class Value:
    """A tensor of a graph that is being built: value ``number`` of ``builder``."""

    def __init__(self, builder: Equations, number: int) -> None:
        self.builder, self.number = builder, number

    def called(self, name: str) -> Value:
        """Rename the value, and return it."""
        self.builder.rename(self.number, name)
        return self

    def __repr__(self) -> str:
        return self.builder.names[self.number]

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
        return self.builder.apply(op, operands, attributes)


class Equations:
    """A list of equations that grows, with a name for every value."""

    letter = "t"

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.names: list[str] = []

    def apply(
        self,
        op: Op,
        operands: Sequence[Value],
        attributes: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Value:
        """Add an equation; raise ``GraphError`` for values of another graph."""
        given = kept(op, attributes or {})
        made = name or self.fresh()
        return self.add(Equation(op, self.numbers(operands, op.name), given, (made,)))

    def add(self, equation: Equation) -> Value:
        """Add an equation if it fits, and return its value."""
        self.unused(equation.names[0])
        self.check(equation)
        self.equations.append(equation)
        return self.named(equation.names[0])

    def named(self, name: str) -> Value:
        """Return the next value under this name; raise ``GraphError`` for a name that is taken."""
        self.unused(name)
        self.names.append(name)
        return Value(self, len(self.names) - 1)

    def unused(self, name: str) -> None:
        """Raise ``GraphError`` for a name that is taken."""
        if name in self.names:
            raise GraphError(f"{name} is made twice", expected="a name of its own", got=name)

    def fresh(self) -> str:
        """Return a name that is not taken."""
        number = len(self.names)
        while f"{self.letter}{number}" in self.names:
            number += 1
        return f"{self.letter}{number}"

    def rename(self, number: int, name: str) -> None:
        """Give another name to a value that an equation made."""
        first = len(self.names) - sum(len(each.names) for each in self.equations)
        for place, equation in enumerate(self.equations):
            names = list(equation.names)
            if first <= number < first + len(names):
                names[number - first] = name
                self.equations[place] = replace(equation, names=tuple(names))
            first += len(names)
        self.names[number] = name

    def numbers(self, operands: Sequence[Value], what: str) -> tuple[int, ...]:
        """Return the operands' numbers after checking that they are values of this graph."""
        for each in operands:
            if not isinstance(each, Value):
                raise GraphError(f"{what}: operands", expected="values of a graph", got=repr(each))
            if each.builder is not self:
                raise GraphError(
                    f"{what}: {each} belongs to another graph",
                    expected="values of this graph",
                    hint="a block graph loads what it reads, and stores what it gives",
                )
        return tuple(each.number for each in operands)

    def check(self, equation: Equation) -> None:
        """Raise an error for an equation that cannot fit, as far as that is known yet."""


class Builder(Equations):
    """A kernel graph that is being built."""

    def __init__(self, name: str = "program") -> None:
        super().__init__()
        self.name = name
        self.inputs: list[Input] = []
        self.sizes: dict[str, int] = {}
        self.shapes: list[Shape] = []

    def input(self, name: str, *dims: int | str) -> Value:
        """A tensor that comes in; a dimension is ``"d=4096"``, ``"d"`` when known, or a number.

        Unnamed dimensions of the same extent are taken for the same dimension.
        """
        if self.equations:
            raise GraphError(f"input {name}", expected="all inputs before the first operator")
        self.inputs.append(Input(name, tuple(self._dim(name, str(each)) for each in dims)))
        self.shapes.append(tuple(self.sizes[dim] for dim in self.inputs[-1].dims))
        return self.named(name)

    def _dim(self, tensor: str, text: str) -> str:
        name, _, size = text.partition("=")
        size = size or (name if name.isdecimal() else "")
        if not size and name not in self.sizes:
            raise GraphError(f"{tensor}: dimension {name}", expected=f"{name}=SIZE", got=text)
        if size and not size.isdecimal():
            raise GraphError(f"{tensor}: dimension {name}", expected="a whole number", got=size)
        if size and self.sizes.setdefault(name, int(size)) != int(size):
            raise GraphError(f"{tensor}: size {name}", expected=self.sizes[name], got=size)
        return name

    def check(self, equation: Equation) -> None:
        """Check an equation at once, and keep the shape of its result."""
        shapes = [self.shapes[number] for number in equation.operands]
        if isinstance(equation.op, BlockGraph):
            self.shapes += check_block(equation.op, shapes, self.sizes).results
        else:
            self.shapes.append(result_shape(equation, shapes, self.sizes))

    def block(
        self, *, grid: Mapping[str, int], loop: Mapping[str, int] | None = None
    ) -> BlockBuilder:
        """Begin a graph-defined operator, which joins the graph when its ``with`` ends."""
        return BlockBuilder(self, grid, loop or {})

    def returns(self, *values: Value) -> KernelGraph:
        """Return the graph whose outputs these values are."""
        return KernelGraph(
            self.name,
            tuple(self.inputs),
            tuple(self.equations),
            self.numbers(values, "returns"),
            tuple(self.sizes.items()),
        )


class BlockBuilder(Equations):
    """A block graph that is being built."""

    letter = "s"

    def __init__(self, outer: Builder, grid: Mapping[str, int], loop: Mapping[str, int]) -> None:
        super().__init__()
        self.outer, self.grid, self.loop = outer, grid, loop
        self.operands: list[Value] = []
        self.loads: list[Load] = []
        self.stores: list[Store] = []
        self.results: list[Value] = []

    def load(
        self,
        tensor: Value,
        *,
        imap: Mapping[str, int] | None = None,
        fmap: Mapping[str, int] | None = None,
        name: str | None = None,
    ) -> Value:
        """A tile of a tensor; grid axes and loops that no map names replicate."""
        if self.equations:
            raise GraphError(f"load {tensor}", expected="all loads before the first operator")
        self.outer.numbers([tensor], "load")
        tile = f"{str(tensor).lower()}_tile"
        made = name or (self.fresh() if tile in self.names else tile)
        self.operands.append(tensor)
        self.loads.append(Load(kept_map(imap, [*self.grid]), kept_map(fmap, [*self.loop]), made))
        self._check_inside()
        return self.named(made)

    def thread(
        self, formula: Callable[..., Value], *operands: Value, name: str | None = None
    ) -> Value:
        """A thread graph: the elementwise operators that ``formula`` makes of the operands."""
        numbers = self.numbers(operands, "thread")
        inner = Equations()
        inner.letter = "r"
        values = {number: inner.named(self.names[number]) for number in dict.fromkeys(numbers)}
        formula(*(values[number] for number in numbers))
        results = range(len(values), len(inner.names))
        thread, read = thread_graph(inner.equations, results, inner.names)
        made = name or self.fresh()
        return self.add(Equation(thread, tuple(list(values)[n] for n in read), (), (made,)))

    def store(
        self, value: Value, *, omap: Mapping[str, int] | None = None, name: str | None = None
    ) -> Value:
        """Store a value in device memory, blocks side by side as ``omap`` says."""
        (number,) = self.numbers([value], "store")
        self.stores.append(Store(number, kept_map(omap, [*self.grid])))
        made = self.outer.named(name or self.outer.fresh())
        self.results.append(made)
        return made

    def __enter__(self) -> BlockBuilder:
        self._check_inside()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            equation = self._equation()
            self.outer.check(equation)
            self.outer.equations.append(equation)

    def check(self, equation: Equation) -> None:
        """Check an equation at once, except for what the block will store."""
        self._check_inside(equation)

    def _check_inside(self, *more: Equation) -> None:
        shapes = [self.outer.shapes[each.number] for each in self.operands]
        check_inside(self._graph(*more), shapes, self.outer.sizes)

    def _equation(self) -> Equation:
        operands = self.outer.numbers(self.operands, "block")
        return Equation(self._graph(), operands, (), tuple(map(str, self.results)))

    def _graph(self, *more: Equation) -> BlockGraph:
        return BlockGraph(
            tuple(self.grid.items()),
            tuple(self.loop.items()),
            tuple(self.loads),
            (*self.equations, *more),
            tuple(self.stores),
        )
