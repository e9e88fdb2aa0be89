"""Small sizes: the same two programs on a few elements, where they are compared.

A graph does not know how long its axes are: a matrix product sums over an axis of any extent, a
block loads its tile of any grid. So it represents a family of programs, one for each choice of
sizes, and two graphs are compared on a small member of their families: every grid axis and every
loop has ``extent`` steps, two by default, and so has every axis of every tile, if it had as many.
(More, where tiles do not fit otherwise.) One would not do: a forgotten sum would not show.

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
every row of two; it takes three. A larger ``extent`` covers more. Nor does it cover numbers: one
that is added in each of eight steps counts twice on two steps, and ``scale(x, by=1/4096)`` is
``by=1/d`` at d = 4096 only. That is why ``equivalence`` tests at the given sizes besides.

*Sizes as numbers.* A mean divides by an extent, ``1/d`` names one, a sum over a repeated value is a
multiple by one; each follows the small sizes. So that 1/d is not taken for 1/4, or for 1/n where d
and n happen to be alike, graphs that are equal are tested on a second member too, in which the
sizes that a constant names, or all if a mean is taken, are others and no two the same (but for
sizes along which maxima are taken: they would cost too many tests).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mlc_course.errors import CourseError, Undecided
from mlc_course.mugraph.ir import (
    Axes,
    BlockGraph,
    Constant,
    Equation,
    KernelGraph,
    Shape,
    ThreadGraph,
)

TILED = 4  # times over, at most, that a dimension is cut
TRIED = 128  # sizes, where one cannot be told from the others
Name = tuple[int, str]  # of a size, or of a grid axis or a loop: in which graph


@dataclass(frozen=True)
class Small:
    """Both graphs on small sizes; ``sizes`` are by the left graph's names."""

    left: KernelGraph
    right: KernelGraph
    sizes: Mapping[str, int]
    chosen: Mapping[Name, int]


@dataclass(frozen=True)
class Family:
    """Two graphs that have the same inputs, with ``extent`` steps of each grid axis and loop.

    ``classes`` says which of their sizes are one: those of the same axis of the same input.
    """

    graphs: tuple[KernelGraph, KernelGraph]
    classes: Mapping[Name, Name]
    extent: int

    @property
    def free(self) -> list[Name]:
        """The sizes that can be chosen: an extent of 1 stays."""
        roots = dict.fromkeys(self.classes.values())
        return [(side, name) for side, name in roots if self.graphs[side].size_of[name] > 1]

    @property
    def named(self) -> list[Name]:
        """The free sizes that a constant names."""
        found = {
            self.classes[side, name]
            for side, graph in enumerate(self.graphs)
            for each in _constants(graph.equations)
            for name, _ in each.powers
        }
        return [name for name in self.free if name in found]

    def smallest(self) -> Small:
        """Return the member with the least sizes that keep every axis an axis.

        Raises ``Undecided`` where some size follows from none of the inputs' dimensions.
        """
        small = self._all_alike() or self._step_by_step()
        if small is None:
            raise Undecided(
                "these graphs cannot be made small",
                expected="every size follows from the dimensions of the inputs, by name",
                got=", ".join(f"{name}={size}" for name, size in self.graphs[0].sizes),
                hint="where a size is meant, name it: shape=[b*h, d]",
            )
        for name in self.free:
            small = self._resized_at(small, name, range(2, small.chosen[name]))
        return small

    def _all_alike(self) -> Small | None:
        """Return the member with the least size that all can have: equal sizes stay equal."""
        divisible = math.lcm(*range(1, self.extent + 1)) ** TILED  # by any number of steps
        sizes = (*range(self.extent, 2 * self.extent**TILED), divisible)
        members = (self.member(dict.fromkeys(self.free, size)) for size in sizes)
        return next((each for each in members if each is not None), None)

    def _step_by_step(self) -> Small | None:
        """Lower each size, from the full ones, as far as the others let it, until nothing changes.

        So a grid keeps four steps whose results a loop of two reads two by two. None where the
        sizes stay large.
        """
        steps = {
            (side, _axis(place, axis)): extent
            for side, graph in enumerate(self.graphs)
            for place, block in graph.blocks
            for axis, extent in (*block.grid, *block.loops)
        }
        full = {name: self.graphs[name[0]].size_of[name[1]] for name in self.free}
        small, before = self.member({**full, **steps}), None
        while small is not None and small.chosen != before:
            before = small.chosen
            for name in (*reversed(steps), *full):
                least = self.extent if name in steps else 2
                most = min(small.chosen[name], least + TRIED)
                small = self._resized_at(small, name, range(least, most))
        return small if small and max(small.chosen.values()) <= 2 * TRIED else None

    def larger(self, small: Small, names: Sequence[Name]) -> Small:
        """Return a member in which each of these sizes is larger and differs from all others."""
        for name in names:
            least, most = small.chosen[name] + 1, 2 * self.extent**TILED
            rest = {size for each, size in small.chosen.items() if each != name}
            small = self._resized_at(small, name, [n for n in range(least, most) if n not in rest])
        return small

    def _resized_at(self, small: Small, name: Name, candidates: Iterable[int]) -> Small:
        """Return the member with the first of these sizes that fits; unchanged, if none does."""
        members = (self.member({**small.chosen, name: size}) for size in candidates)
        return next((each for each in members if each is not None), small)

    def member(self, sizes: Mapping[Name, int]) -> Small | None:
        """Return both graphs on these sizes, if they fit and axes keep ``extent`` elements."""
        try:
            pair = [self._resized(side, sizes) for side in (0, 1)]
        except CourseError:
            return None
        if not all(map(self._keeps_axes, self.graphs, pair)):
            return None
        named = {n: size for n, size in pair[0].sizes if self.graphs[0].size_of[n] > 1}
        return Small(pair[0], pair[1], named, sizes)

    def _resized(self, side: int, sizes: Mapping[Name, int]) -> KernelGraph:
        graph = self.graphs[side]
        named = tuple((n, sizes.get(self.classes[side, n], size)) for n, size in graph.sizes)
        equations = tuple(
            replace(each, op=self._cut(each.op, side, place, sizes))
            if isinstance(each.op, BlockGraph)
            else each
            for place, each in enumerate(graph.equations)
        )
        return replace(graph, sizes=named, equations=equations)

    def _keeps_axes(self, graph: KernelGraph, small: KernelGraph) -> bool:
        return all(
            after >= min(before, self.extent)
            for shape, other in zip(_all_shapes(graph), _all_shapes(small), strict=True)
            for before, after in zip(shape, other, strict=True)
        )

    def _cut(
        self, block: BlockGraph, side: int, place: int, sizes: Mapping[Name, int]
    ) -> BlockGraph:
        def steps(axes: Axes) -> Axes:
            return tuple(
                (axis, sizes.get((side, _axis(place, axis)), min(extent, self.extent)))
                for axis, extent in axes
            )

        return replace(block, grid=steps(block.grid), loops=steps(block.loops))


def _axis(place: int, axis: str) -> str:
    """Name an axis or a loop of the block graph at ``place``."""
    return f"{axis} of {place}"


def family(left: KernelGraph, right: KernelGraph, extent: int = 2) -> Family:
    """Return the family of two graphs that have inputs of the same names and shapes."""
    return Family((left, right), _classes(left, right), extent)


def _classes(left: KernelGraph, right: KernelGraph) -> dict[Name, Name]:
    """Map each size to its class: sizes of one axis of one input are one, in both graphs."""
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


def _constants(equations: Iterable[Equation]) -> Iterator[Constant]:
    for equation in equations:
        if isinstance(equation.op, BlockGraph | ThreadGraph):
            yield from _constants(equation.op.equations)
        for _, value in equation.attributes:
            if isinstance(value, Constant):
                yield value


def _all_shapes(graph: KernelGraph) -> Iterator[Shape]:
    yield from graph.shapes
    for place, _ in graph.blocks:
        yield from graph.tiles(place).shapes
