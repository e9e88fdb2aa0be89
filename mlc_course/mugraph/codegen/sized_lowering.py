"""Block graphs of all sizes: the grid, the loops and the tensors have extents that depend on sizes.

Tiles keep their extents, so that a block does the same at every size, but for the last step along
an axis whose tiles do not divide it. That step has a body of its own, as with ``KernelLowering``,
on a whole tile with padding::

    a load     reads the last element of its tensor again, where the tile is beyond its end
    a sum      takes 0 for a term that is padding, and a maximum takes minus infinity
    a store    leaves padding out

So padding is no new number, that might overflow or be divided by, and no formula has to map it to
what adds nothing: exp does not map 0 to 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from mlc_course.mugraph.codegen.block_lowering import BlockLowering, KernelLowering, value_name
from mlc_course.mugraph.codegen.dimension_labels import Labels
from mlc_course.mugraph.codegen.tile_graph import Node, TileGraph
from mlc_course.mugraph.codegen.tilings import SizedCut, Tiling
from mlc_course.mugraph.ir import Constant as NamedConstant
from mlc_course.mugraph.ir import Equation, KernelGraph, Number, Shape, resolved
from mlc_course.mugraph.kernels import (
    ONE,
    ZERO,
    Apply,
    Buffer,
    Constant,
    Count,
    Expr,
    Guard,
    Read,
    Repeat,
    Select,
    SizedKernel,
    SizedTensor,
    Statement,
    Value,
    var,
)

BLOCK = "block"  # the only grid axis; those of the graph follow from it
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Sized:
    """What depends on sizes in the lowering of one block graph.

    ``extents`` are those of each value of the kernel graph that the block reads or writes.
    ``numbers`` are the sizes that constants may name, and ``arguments`` the numbers that a launch
    gives.
    """

    extents: Mapping[int, tuple[Expr, ...]]
    numbers: Mapping[str, Expr]
    arguments: tuple[str, ...]


class SizedLowering(KernelLowering):
    """All variants of a block whose axes have a ``SizedCut``: at full tiles, and at padded ones."""

    def __init__(
        self,
        graph: KernelGraph,
        place: int,
        tiling: Tiling,
        variant: Callable[..., BlockLowering],
        sized: Sized,
    ) -> None:
        self.sized = sized
        super().__init__(graph, place, tiling, variant)
        self.taken |= {BLOCK, *sized.arguments}
        self.padded = self._padded()

    def _padded(self) -> dict[tuple[int, int], str]:
        """Return the axis along which dimension d of tile n is cut into tiles that may be short."""
        cut = {each.axis for each in self.tiling.cuts if each.short}
        full = self.tiles({axis: ZERO for axis, _ in self.grid}, ())
        shapes = [self.graph.shapes[n] for n in self.graph.equations[self.place].operands]
        stages = self.graph.tiles(self.place).stages
        labels = Labels(self.tile_graph(shapes, stages, {}, full), self.graph, self.place)
        nodes, axis_of = labels.tiles.nodes, dict[tuple[Node, int], str]()
        for node, load in zip(nodes, self.block.loads, strict=False):
            for axis, dim in (*load.imap, *load.fmap):
                if axis in cut:
                    axis_of[labels.root(node, dim)] = axis
        every = ((n, dim) for n, node in enumerate(nodes) for dim in range(len(node.shape)))
        roots = ((at, labels.root(nodes[at[0]], at[1])) for at in every)
        return {at: axis_of[root] for at, root in roots if root in axis_of}

    def kernel(self) -> SizedKernel:
        """Return the kernel of all sizes."""
        counts = {axis: self._count(axis) for axis, _ in self.grid}
        numbers, left = dict[str, Expr](), var(BLOCK)
        for place, (axis, count) in reversed(list(enumerate(counts.items()))):
            numbers[axis] = left % count if place else left
            left = left // count
        if len([count for count in counts.values() if count != ONE]) == 0:
            numbers = dict.fromkeys(counts, ZERO)
        body = self.body(numbers)
        return SizedKernel(
            name=self.name,
            grid=((BLOCK, 1),),
            threads=1,
            inputs=self.inputs,
            outputs=self.outputs,
            shared=tuple(self.shared),
            body=body,
            sizes=self.sized.arguments,
            count=math.prod(counts.values(), start=ONE),
        )

    def _count(self, axis: str) -> Expr:
        cut = self.tiling[axis]
        if not isinstance(cut, SizedCut):
            return ONE * cut.steps
        return (cut.extent + (cut.tile - 1)) // cut.tile if cut.short else cut.extent // cut.tile

    def _sized(self, axis: str) -> SizedCut:
        cut = self.tiling[axis]
        assert isinstance(cut, SizedCut)
        return cut

    def tiles(
        self, numbers: Mapping[str, Expr], last: Sequence[str], like: TileGraph | None = None
    ) -> TileGraph:
        """Return the tile operators of a block: a last tile is padded, and so as large as all."""
        return super().tiles(numbers, (), like)

    def tile_graph(
        self,
        shapes: Sequence[Shape],
        stages: Sequence[str],
        collected: Mapping[str, int],
        like: TileGraph | None,
    ) -> TileGraph:
        sizes = self.graph.size_of
        return SizedTiles(self.sized.numbers, self.block, shapes, stages, sizes, collected, like)

    def memory(self, number: int) -> Buffer:
        name = value_name(self.graph, number)
        return SizedTensor.shaped(name, self.sized.extents[number])

    def ends(self, axis: str, number: Expr) -> tuple[Expr, Expr]:
        cut = self._sized(axis)
        end = number * cut.tile + cut.tile
        return end < cut.extent + 1, cut.extent < end

    def repeated(self, loop: str, body: Sequence[Statement]) -> Statement:
        cut = self.tiling[loop]
        if not isinstance(cut, SizedCut):
            return super().repeated(loop, body)
        return Repeat(loop, cut.extent // cut.tile, tuple(body))

    def last_number(self, loop: str) -> Expr:
        cut = self._sized(loop)
        return cut.extent // cut.tile

    def at_last(self, loop: str, body: Sequence[Statement]) -> list[Statement]:
        return [Guard(self._rest(loop).is_equal(0), (), tuple(body))]

    def _rest(self, axis: str) -> Expr:
        cut = self._sized(axis)
        return cut.extent % cut.tile

    def loaded(
        self, load: int, place: tuple[Expr, ...], at: Sequence[Expr], last: Sequence[str]
    ) -> Value:
        operand, cuts = self.operands[load], self.block.loads[load]
        value: Callable[[tuple[Expr, ...]], Value] = partial(Read, operand)
        for axis, dim in (*cuts.imap, *cuts.fmap):
            if axis in last and at[dim] != ZERO:
                value = self._repeating_last(value, dim, at[dim] < self._rest(axis), axis)
        return value(place)

    def _repeating_last(
        self, value: Callable[[tuple[Expr, ...]], Value], dim: int, there: Expr, axis: str
    ) -> Callable[[tuple[Expr, ...]], Value]:
        end = self._sized(axis).extent + -1

        def found(place: tuple[Expr, ...]) -> Value:
            return Select(there, value(place), value((*place[:dim], end, *place[dim + 1 :])))

        return found

    def rest(self, node: int, dim: int, last: Sequence[str]) -> Expr | None:
        axis = self.padded.get((node, dim))
        return self._rest(axis) if axis in last and axis is not None else None


class SizedTiles(TileGraph):
    """Tiles in whose formulas constants may follow from sizes that are not known yet."""

    def __init__(self, numbers: Mapping[str, Expr], *given: Any) -> None:
        self.numbers = numbers
        super().__init__(*given)

    def attributes(self, equation: Equation, sizes: Mapping[str, int]) -> Mapping[str, Any]:
        found = dict(resolved(equation, sizes))
        for name, value in equation.attributes:
            follows = isinstance(value, NamedConstant) and any(
                size in self.numbers for size, _ in value.powers
            )
            if follows and isinstance(found[name], Number):
                found[name] = constant_value(value, sizes, self.numbers)
        return found


def constant_value(
    constant: NamedConstant, sizes: Mapping[str, int], numbers: Mapping[str, Expr]
) -> Value:
    """Return a constant that names sizes of which some are the numbers of a launch."""
    known = tuple((name, power) for name, power in constant.powers if name not in numbers)
    found: Value = Constant(NamedConstant(constant.coefficient, known).number(sizes))
    for name, power in constant.powers:
        if name not in numbers:
            continue
        action, size = "mul" if power > 0 else "div", Count(numbers[name])
        for _ in range(int(abs(power))):
            found = Apply(action, (found, size))
        if abs(power) % 1 == HALF:
            found = Apply(action, (found, Apply("sqrt", (size,))))
    return found
