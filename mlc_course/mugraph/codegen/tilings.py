"""Tilings: into how many steps the axes of a block graph cut their dimensions, on this machine.

A published graph is cut for a GPU of a hundred multiprocessors; a CPU has a few cores and large
caches. The number of steps of an axis may be changed where the graph says the same for any number.
Then a step may have any number of elements, and the last one has what is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlc_course.errors import SizeError, check_known
from mlc_course.mugraph.ir import AxisMap, BlockGraph, KernelGraph, Shape
from mlc_course.mugraph.kernels import ZERO, Expr


@dataclass(frozen=True)
class Cut:
    """``steps`` steps of ``tile`` elements, of which the last has ``rest``; tile 0: equal parts."""

    axis: str
    steps: int
    tile: int = 0
    rest: int = 0

    @property
    def short(self) -> bool:
        """True where the last step is shorter than the others."""
        return self.rest != self.tile


@dataclass(frozen=True)
class SizedCut(Cut):
    """As many steps of ``tile`` elements as an ``extent`` takes that depends on sizes.

    An ``exact`` extent is a multiple of the tile. Otherwise the last step is a whole tile too, with
    padding. ``steps`` only says that there may be more than one.
    """

    extent: Expr = ZERO
    exact: bool = False

    @property
    def short(self) -> bool:
        return not self.exact and self.tile > 1


@dataclass(frozen=True)
class Tiling:
    """The cuts of a block graph, grid axes first.

    ``panels`` are operands of which a strip of columns is copied to one place, where a register
    tile's first use of it meets others.
    """

    cuts: tuple[Cut, ...]
    panels: tuple[str, ...] = ()

    def __getitem__(self, axis: str) -> Cut:
        return next(each for each in self.cuts if each.axis == axis)

    def __str__(self) -> str:
        cuts = [
            f"{c.axis}={c.steps}"
            + (f" of {c.tile}" + f", last {c.rest}" * c.short if c.tile else "")
            for c in self.cuts
        ]
        return ", ".join([*cuts, *(f"{name} in panels" for name in self.panels)])


def published_tiling(block: BlockGraph) -> Tiling:
    """Return the tiling that a block graph has: equal parts."""
    return Tiling(tuple(Cut(axis, steps) for axis, steps in (*block.grid, *block.loops)))


def retiled(graph: KernelGraph, place: int, tiles: Mapping[str, int]) -> Tiling:
    """Return a tiling with so many elements a step along some axes, and the others unchanged.

    Raises ``UsageError`` for an axis that the block graph does not have, ``SizeError`` for a tile
    below one or an axis that cuts dimensions of different extents.
    """
    block = dict(graph.blocks)[place]
    cuts = {each.axis: each for each in published_tiling(block).cuts}
    for axis, tile in tiles.items():
        check_known("no axis", axis, cuts)
        total = cut_extent(graph, place, axis)
        if total is None:
            raise SizeError(
                f"axis {axis} cuts dimensions of different extents, or none",
                expected="one extent, which may be cut into other tiles",
                hint="leave its number of steps unchanged",
            )
        if tile < 1:
            raise SizeError(f"axis {axis}: elements a step", expected="1 or more", got=tile)
        tile = min(tile, total)
        steps = -(-total // tile)
        cuts[axis] = Cut(axis, steps, tile, total - (steps - 1) * tile)
    return Tiling(tuple(cuts.values()))


def cut_extent(graph: KernelGraph, place: int, axis: str) -> int | None:
    """Return the extent of all dimensions that an axis cuts; None if they differ, or there is none.

    Where two axes cut one dimension, the inner one cuts what the outer one leaves.
    """
    block = dict(graph.blocks)[place]
    extents = dict((*block.grid, *block.loops))
    found = set()
    for number, load in zip(graph.equations[place].operands, block.loads, strict=True):
        left = list(graph.shapes[number])
        for other, dim in (*load.imap, *load.fmap):
            if other == axis:
                found.add(left[dim])
            left[dim] //= extents[other]
    return found.pop() if len(found) == 1 else None


def load_tile(
    shape: Shape, cuts: AxisMap, tiling: Tiling, numbers: Mapping[str, Expr], last: Sequence[str]
) -> tuple[Shape, tuple[Expr, ...]]:
    """Return the shape of a tile of an operand, and the index of its first element.

    ``numbers`` are the numbers of block and iteration; ``last`` are the axes at a short last step.
    """
    extents, start = list(shape), [ZERO] * len(shape)
    for axis, dim in cuts:
        cut = tiling[axis]
        step = cut.tile or extents[dim] // cut.steps
        start[dim] = start[dim] + numbers[axis] * step
        extents[dim] = cut.rest if axis in last else step
    return tuple(extents), tuple(start)


def store_start(
    shape: Shape, omap: AxisMap, tiling: Tiling, numbers: Mapping[str, Expr]
) -> tuple[Expr, ...]:
    """Return the index of a stored tile's first element; ``shape`` is that of a full tile."""
    number = [ZERO] * len(shape)
    for axis, dim in omap:
        number[dim] = number[dim] * tiling[axis].steps + numbers[axis]
    return tuple(n * extent for n, extent in zip(number, shape, strict=True))
