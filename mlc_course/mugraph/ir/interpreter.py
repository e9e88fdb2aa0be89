"""The interpreter: it runs a graph literally, every block and every iteration, tile by tile.

One walk for every arithmetic. A wrong map reads the wrong tile and gives the wrong numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mlc_course.deadline import check_time
from mlc_course.errors import GraphError
from mlc_course.mugraph.ir.arithmetic import FLOAT64, Arithmetic, Array, Floats, Tensor
from mlc_course.mugraph.ir.check import AFTER, Tiles, offsets, resolved
from mlc_course.mugraph.ir.graph import KernelGraph
from mlc_course.mugraph.ir.nodes import Axes, BlockGraph, Equation, ThreadGraph
from mlc_course.mugraph.ir.ops import Op

Index = tuple[int, ...]


@dataclass(frozen=True)
class Access:
    """A tile that a block copies: load or store ``number`` of the block graph at ``place``."""

    place: int
    kind: str  # "load" or "store"
    number: int
    block: Index  # along each grid axis
    iteration: Index  # along each loop; () for a store, which comes after all of them
    slices: tuple[slice, ...]


Watch = Callable[[Access], None]


def run(
    graph: KernelGraph, inputs: Mapping[str, ArrayLike], floats: Floats = FLOAT64
) -> list[Array]:
    """Return the graph's outputs in floating point; raise ``GraphError`` for wrong inputs.

    A product that overflows is infinite, without a warning.
    """
    if inputs.keys() != {each.name for each in graph.inputs}:
        raise GraphError(
            f"{graph.name}: inputs",
            expected=", ".join(each.name for each in graph.inputs),
            got=", ".join(inputs),
        )
    arrays = [floats.entered(np.asarray(inputs[each.name])) for each in graph.inputs]
    for array, (name, shape) in zip(arrays, graph.input_shapes.items(), strict=True):
        if array.shape != shape:
            raise GraphError(f"{graph.name}: input {name}", expected=shape, got=array.shape)
    with np.errstate(all="ignore"):
        return evaluate(graph, arrays, floats)


def evaluate(
    graph: KernelGraph, inputs: Sequence[Tensor], m: Arithmetic, watch: Watch | None = None
) -> list[Tensor]:
    """Return the graph's outputs in the arithmetic ``m``; tell ``watch`` every load and store.

    A deadline of ``mlc_course.deadline`` ends it.
    """
    values = list(inputs)
    for place, equation in enumerate(graph.equations):
        operands = [values[number] for number in equation.operands]
        if isinstance(equation.op, BlockGraph):
            values += Blocks(graph, place, equation.op, operands, m, watch).results()
        else:
            values.append(m.stored(value_of(equation, operands, m, graph.size_of)))
    return [values[number] for number in graph.outputs]


def value_of(
    equation: Equation, operands: Sequence[Tensor], m: Arithmetic, sizes: Mapping[str, int]
) -> Tensor:
    """Return the value of an operator, or of a thread graph, in the arithmetic ``m``."""
    check_time()
    op = equation.op
    if isinstance(op, ThreadGraph):
        values = list(operands)
        for inner in op.equations:
            values.append(value_of(inner, [values[n] for n in inner.operands], m, sizes))
        return values[-1]
    assert isinstance(op, Op)
    return op.meaning(m, *operands, **resolved(equation, sizes))


class Blocks:
    """The run of one graph-defined operator."""

    def __init__(
        self,
        graph: KernelGraph,
        place: int,
        block: BlockGraph,
        operands: Sequence[Tensor],
        m: Arithmetic,
        watch: Watch | None,
    ) -> None:
        self.place, self.block, self.operands, self.m = place, block, operands, m
        self.tiles: Tiles = graph.tiles(place)
        self.sizes = graph.size_of
        self.watch = watch or (lambda access: None)
        self.first = len(block.loads)  # the number of the first equation's value

    def results(self) -> list[Tensor]:
        """Run all blocks; return what they store, side by side."""
        extents = dict(self.block.grid)
        stored = {index: self._one(index) for index in indices(self.block.grid)}
        joined = []
        for number, store in enumerate(self.block.stores):
            axes = [list(extents).index(axis) for axis, _ in store.omap]
            parts = {
                tuple(index[axis] for axis in axes): tensors[number]
                for index, tensors in stored.items()
            }
            joined.append(_side_by_side(parts, [dim for _, dim in store.omap], self.m))
        return joined

    def _one(self, index: Index) -> list[Tensor]:
        """Run one block: the loop, then what comes after it."""
        values: list[Tensor] = [None] * len(self.tiles.shapes)
        carried: dict[int, dict[Index, Any]] = {}
        for iteration in indices(self.block.loops):
            self._load(index, iteration, values)
            for number, equation in enumerate(self.block.equations, self.first):
                operands = [values[n] for n in equation.operands]
                if equation.op.carried:
                    self._carry(number, equation, operands, iteration, values, carried)
                elif self.tiles.stages[number] != AFTER:
                    values[number] = self._stored(equation, operands)
        for number, equation in enumerate(self.block.equations, self.first):
            if equation.op.carried == "accumulate":
                values[number] = self._accumulated(equation, carried[number])
            elif self.tiles.stages[number] == AFTER:
                values[number] = self._stored(equation, [values[n] for n in equation.operands])
        return [self._store(number, index, values) for number in range(len(self.block.stores))]

    def _load(self, index: Index, iteration: Index, values: list[Tensor]) -> None:
        axes = (*self.block.grid, *self.block.loops)
        at = dict(zip((name for name, _ in axes), (*index, *iteration), strict=True))
        for number in range(len(self.block.loads)):
            slices = self.slices(number, axes, at)
            values[number] = self.m.take(self.operands[number], slices)
            self.watch(Access(self.place, "load", number, index, iteration, slices))

    def slices(self, number: int, axes: Axes, at: Mapping[str, int]) -> tuple[slice, ...]:
        """Return which part of its operand a load copies."""
        load = self.block.loads[number]
        return offsets((*load.imap, *load.fmap), axes, at, self.tiles.shapes[number])

    def _carry(
        self,
        number: int,
        equation: Equation,
        operands: Sequence[Tensor],
        iteration: Index,
        values: list[Tensor],
        carried: dict[int, dict[Index, Any]],
    ) -> None:
        """Do one step of an accumulator, or of a running value."""
        op = equation.op
        assert isinstance(op, Op)
        loops = [name for name, _ in self.block.loops]
        apart = tuple(iteration[loops.index(loop)] for loop, _ in _fmap(equation))
        before = carried.setdefault(number, {})
        before[apart] = op.meaning(self.m, before.get(apart), *operands)
        if op.carried == "running":
            values[number] = self.m.stored(op.result(before[apart]))

    def _accumulated(self, equation: Equation, said: Mapping[Index, Any]) -> Tensor:
        assert isinstance(equation.op, Op)
        parts = {apart: equation.op.result(state) for apart, state in said.items()}
        joined = _side_by_side(parts, [dim for _, dim in _fmap(equation)], self.m)
        return self.m.stored(joined)

    def _stored(self, equation: Equation, operands: Sequence[Tensor]) -> Tensor:
        return self.m.stored(value_of(equation, operands, self.m, self.sizes))

    def _store(self, number: int, index: Index, values: Sequence[Tensor]) -> Tensor:
        store = self.block.stores[number]
        at = dict(zip((name for name, _ in self.block.grid), index, strict=True))
        slices = offsets(store.omap, self.block.grid, at, self.tiles.shapes[store.value])
        self.watch(Access(self.place, "store", number, index, (), slices))
        return values[store.value]


def _fmap(equation: Equation) -> Sequence[tuple[str, int]]:
    return tuple(dict(equation.attributes).get("fmap", ()))


def indices(axes: Axes) -> list[Index]:
    """Every block of a grid, or every iteration of loops, the last axis fastest."""
    return list(itertools.product(*(range(extent) for _, extent in axes)))


def _side_by_side(parts: Mapping[Index, Tensor], dims: Sequence[int], m: Arithmetic) -> Tensor:
    """Lay tensors along ``dims``: number i of an index says where along dimension i."""
    if not dims:
        return parts[()]
    rows: dict[int, dict[Index, Tensor]] = {}
    for (first, *rest), tensor in parts.items():
        rows.setdefault(first, {})[tuple(rest)] = tensor
    joined = [_side_by_side(rows[n], dims[1:], m) for n in sorted(rows)]
    return joined[0] if len(joined) == 1 else m.concatenate(joined, dims[0])
