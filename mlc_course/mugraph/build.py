"""Building a graph in Python, with operators as operators.

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
from typing import Any

from mlc_course.errors import GraphError
from mlc_course.mugraph.arithmetic import Shape
from mlc_course.mugraph.attributes import axis_map, kept
from mlc_course.mugraph.check import check_block, check_inside, result_shape
from mlc_course.mugraph.ir import BlockGraph, Equation, Input, Load, Store, ThreadGraph
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.ops import Op
from mlc_course.mugraph.value import Value


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
        """One more equation; raises ``GraphError`` for values of another graph."""
        given = kept(op, attributes or {})
        made = name or self.fresh()
        return self.add(Equation(op, self.numbers(operands, op.name), given, (made,)))

    def add(self, equation: Equation) -> Value:
        """The equation's value, if it fits."""
        self.unused(equation.names[0])
        self.check(equation)
        self.equations.append(equation)
        return self.named(equation.names[0])

    def named(self, name: str) -> Value:
        """The value that is next, under this name; raises ``GraphError`` for a name twice."""
        self.unused(name)
        self.names.append(name)
        return Value(self, len(self.names) - 1)

    def unused(self, name: str) -> None:
        """Raises ``GraphError`` for a name that something has."""
        if name in self.names:
            raise GraphError(f"{name} is made twice", expected="a name of its own", got=name)

    def fresh(self) -> str:
        """A name that nothing has."""
        number = len(self.names)
        while f"{self.letter}{number}" in self.names:
            number += 1
        return f"{self.letter}{number}"

    def rename(self, number: int, name: str) -> None:
        """Another name for a value that an equation made."""
        made = 0
        for place, equation in enumerate(self.equations):
            first = len(self.names) - sum(len(e.names) for e in self.equations) + made
            made += len(equation.names)
            if first <= number < first + len(equation.names):
                names = list(equation.names)
                names[number - first] = name
                self.equations[place] = Equation(
                    equation.op, equation.operands, equation.attributes, tuple(names)
                )
        self.names[number] = name

    def numbers(self, operands: Sequence[Value], what: str) -> tuple[int, ...]:
        """The operands' numbers, if they are this graph's."""
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
        """Raises what is wrong with the equation, where that can be told yet."""


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
        """At once, and the shape is kept."""
        shapes = [self.shapes[number] for number in equation.operands]
        if isinstance(equation.op, BlockGraph):
            self.shapes += check_block(equation.op, shapes, self.sizes).results
        else:
            self.shapes.append(result_shape(equation, shapes, self.sizes))

    def block(
        self, *, grid: Mapping[str, int], loop: Mapping[str, int] | None = None
    ) -> BlockBuilder:
        """A graph-defined operator; it is in the graph when its ``with`` ends."""
        return BlockBuilder(self, grid, loop or {})

    def returns(self, *values: Value) -> KernelGraph:
        """The graph, whose outputs these values are."""
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
        self.loads.append(Load(axis_map(imap, [*self.grid]), axis_map(fmap, [*self.loop]), made))
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
        thread, read = _in_order_of_reading(inner, len(values))
        made = name or self.fresh()
        return self.add(Equation(thread, tuple(list(values)[n] for n in read), (), (made,)))

    def store(
        self, value: Value, *, omap: Mapping[str, int] | None = None, name: str | None = None
    ) -> Value:
        """Give a value to the kernel graph, blocks side by side as ``omap`` says."""
        (number,) = self.numbers([value], "store")
        self.stores.append(Store(number, axis_map(omap, [*self.grid])))
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
        """At once, but for what it will store."""
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


def _in_order_of_reading(inner: Equations, operands: int) -> tuple[ThreadGraph, list[int]]:
    """The thread graph on those of its operands that it reads, and which these are."""
    numbers = (n for each in inner.equations for n in each.operands)
    read = list(dict.fromkeys(n for n in numbers if n < operands))
    values = [*read, *range(operands, len(inner.names))]
    place = {number: place for place, number in enumerate(values)}
    equations = (
        replace(each, operands=tuple(place[n] for n in each.operands)) for each in inner.equations
    )
    return ThreadGraph(tuple(inner.names[n] for n in read), tuple(equations)), read
