"""The same two programs on small sizes: what a proof is made on.

A graph does not know how long its axes are: a matrix product sums over an axis of any extent, a
block loads its tile of any grid. So it stands for a family of programs, one for each choice of
sizes, and two graphs are compared on a small member of their families: every grid axis and every
loop has ``extent`` steps, every other axis the least extent above 1 that all tiles divide. No axis
that has several elements is left with one, because then a forgotten sum would not show.

*Why a difference does not hide.* Take one output entry on the full sizes, and the difference of
its two formulas, over one denominator. Each of its monomials has one index for each sum that it
comes from; say it has at most r along any one axis. Pick a monomial whose coefficient is not 0, and
keep, along every axis, only the blocks, iterations and places in the tile of its indices: at most r
of each. Set the other terms to what adds nothing: entries that are multiplied to 0, terms
exp(s) to 0 by letting s go to minus infinity, which no maximum picks. The monomial is still there,
so the difference is not 0, and it is now the difference of the small members with extents of at
most r; what is equal on ``extent`` >= r is equal on every size.

*What that does not cover*: differences that need more indices along one axis than ``extent``. The
third elementary symmetric polynomial of the entries of a row, written by their power sums, is 0 on
every row of two; it takes three. A larger ``extent`` covers more; ``full`` tests the full sizes
besides. Nor does it cover sizes written as numbers: ``scale(x, by=1/4096)`` is 1/4096 on small
sizes too; ``1/d`` follows d.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mlc_course.errors import CourseError, Undecided
from mlc_course.mugraph.arithmetic import Shape
from mlc_course.mugraph.ir import Axes, BlockGraph
from mlc_course.mugraph.kernel import KernelGraph

TILED = 4  # times over, at most, that a dimension is cut


@dataclass(frozen=True)
class Small:
    """Both graphs on small sizes, and those by the left graph's names."""

    left: KernelGraph
    right: KernelGraph
    sizes: Mapping[str, int]


def shrunk(left: KernelGraph, right: KernelGraph, extent: int = 2) -> Small:
    """The two graphs, which have the same inputs, on the least sizes that keep every axis an axis.

    Raises ``Undecided`` where some size follows from none of the inputs' dimensions.
    """
    family = _Family((left, right), _classes(left, right), extent)
    start = {name: extent**TILED for name in family.free}
    pair = family.member(start)
    if pair is None:
        raise Undecided(
            "these graphs cannot be made small",
            expected="every size follows from the dimensions of the inputs, by name",
            got=", ".join(f"{name}={size}" for name, size in left.sizes),
            hint="write 1/d, or shape=[b*h, d], where a size is meant; or compare the full sizes",
        )
    for name in start:
        for size in range(2, start[name]):
            smaller = family.member(start | {name: size})
            if smaller is not None:
                start[name], pair = size, smaller
                break
    chosen = {name: size for name, size in pair[0].sizes if left.size_of[name] > 1}
    return Small(*pair, chosen)


Name = tuple[int, str]  # of a size: in which graph


def _classes(left: KernelGraph, right: KernelGraph) -> dict[Name, Name]:
    """Sizes that are the same size: those of one axis of one input, in both graphs."""
    parent: dict[Name, Name] = {
        (side, name): (side, name) for side, g in enumerate((left, right)) for name in g.size_of
    }

    def root(name: Name) -> Name:
        while parent[name] != name:
            name = parent[name]
        return name

    ours = {each.name: each.dims for each in left.inputs}
    for each in right.inputs:
        for mine, theirs in zip(ours[each.name], each.dims, strict=True):
            parent[root((1, theirs))] = root((0, mine))
    return {name: root(name) for name in parent}


@dataclass(frozen=True)
class _Family:
    graphs: tuple[KernelGraph, KernelGraph]
    classes: Mapping[Name, Name]
    extent: int

    @property
    def free(self) -> list[Name]:
        """The sizes that can be chosen: an extent of 1 stays."""
        roots = dict.fromkeys(self.classes.values())
        return [(side, name) for side, name in roots if self.graphs[side].size_of[name] > 1]

    def member(self, sizes: Mapping[Name, int]) -> tuple[KernelGraph, KernelGraph] | None:
        """Both graphs on these sizes, if they fit and no axis of several elements has one."""
        try:
            pair = [self._resized(side, sizes) for side in (0, 1)]
        except CourseError:
            return None
        whole = all(map(_keeps_axes, self.graphs, pair))
        return (pair[0], pair[1]) if whole else None

    def _resized(self, side: int, sizes: Mapping[Name, int]) -> KernelGraph:
        graph = self.graphs[side]
        named = tuple((n, sizes.get(self.classes[side, n], size)) for n, size in graph.sizes)
        equations = tuple(
            replace(each, op=self._cut(each.op)) if isinstance(each.op, BlockGraph) else each
            for each in graph.equations
        )
        return replace(graph, sizes=named, equations=equations)

    def _cut(self, block: BlockGraph) -> BlockGraph:
        return replace(block, grid=self._steps(block.grid), loops=self._steps(block.loops))

    def _steps(self, axes: Axes) -> Axes:
        return tuple((name, min(extent, self.extent)) for name, extent in axes)


def _keeps_axes(graph: KernelGraph, small: KernelGraph) -> bool:
    return all(
        (before > 1) == (after > 1)
        for shape, other in zip(_all_shapes(graph), _all_shapes(small), strict=True)
        for before, after in zip(shape, other, strict=True)
    )


def _all_shapes(graph: KernelGraph) -> Iterator[Shape]:
    yield from graph.shapes
    for place, _ in graph.blocks:
        yield from graph.tiles(place).shapes
