"""Which axes of a mu-graph follow a size that is not known? Tiles stay, grids and loops grow.

A *free* size has a tile of a fixed extent, and everything that it is the extent of is cut into such
tiles: by one axis of a grid whose blocks are independent, or by one loop that adds up over them.
Then a block does the same at every size. What does not fit is refused, with the equation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral

from mlc_course.errors import GraphError, ShapeError, SizeError, UsageError, check_known
from mlc_course.mugraph.codegen import (
    Cut,
    Sized,
    SizedCut,
    Tiling,
    free_axes,
    in_blocks,
    obstacle,
    published_tiling,
)
from mlc_course.mugraph.ir import (
    Axes,
    BlockGraph,
    Constant,
    Equation,
    KernelGraph,
    ThreadGraph,
)
from mlc_course.mugraph.kernel_checks import Smaller
from mlc_course.mugraph.kernels import Expr, const, var

Dims = tuple[str | int, ...]
Sizes = Mapping[str, int]
LEAST_STEPS = 2  # on the sizes on which a graph is looked at
LARGEST_TILE = 1 << 24  # elements


@dataclass(frozen=True)
class SymbolicGraph:
    """A graph some of whose sizes are free, and the extent of the tiles of each.

    ``graph`` has some sizes or other, and a block graph for each equation. ``dims`` has the shape
    of each value, with names for free sizes, and ``cuts`` says by the place of a block graph which
    size each of its axes cuts. ``assumed`` are loops, by their place, that may run over any number
    of tiles only if the rescaling of their accumulators is right: that has to be verified.
    """

    graph: KernelGraph
    tiles: Mapping[str, int]
    dims: tuple[Dims, ...]
    cuts: Mapping[int, Mapping[str, str]]
    assumed: tuple[tuple[int, str], ...]

    @property
    def tails(self) -> tuple[str, ...]:
        """The free sizes that may leave a short tile."""
        return tuple(name for name, tile in self.tiles.items() if tile > 1)

    @property
    def looped(self) -> tuple[str, ...]:
        """The free sizes that some loop cuts."""
        found = [
            size
            for place, block in self.graph.blocks
            for loop, _ in block.loops
            for size in [self.cuts[place].get(loop)]
            if size
        ]
        return tuple(dict.fromkeys(found))

    def shape(self, value: int, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape of a value at given sizes."""
        return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in self.dims[value])

    def at(self, sizes: Sizes) -> Smaller:
        """Return the graph at given sizes, and its tilings: the last step has what is left."""
        equations, tilings = list(self.graph.equations), dict[int, Tiling]()
        for place, block in self.graph.blocks:
            own = self.cuts[place]
            cuts = []
            for cut in published_tiling(block).cuts:
                if cut.axis in own:
                    extent, tile = sizes[own[cut.axis]], self.tiles[own[cut.axis]]
                    steps = -(-extent // tile)
                    cut = Cut(cut.axis, steps, tile, extent - (steps - 1) * tile)
                cuts.append(cut)
            tilings[place] = Tiling(tuple(cuts))
            steps_of = {cut.axis: 1 if cut.short else cut.steps for cut in cuts}
            equations[place] = replace(equations[place], op=_with_steps(block, steps_of))
        kept = {**self.graph.size_of, **{name: sizes[name] for name in self.tiles}}
        graph = replace(self.graph, sizes=tuple(kept.items()), equations=tuple(equations))
        return Smaller(graph, tilings)

    # ---- what a lowering needs

    def used(self, place: int) -> tuple[str, ...]:
        """Return the free sizes that the block graph at ``place`` depends on."""
        equation = self.graph.equations[place]
        dims = [d for n in (*equation.operands, *self.graph.results(place)) for d in self.dims[n]]
        assert isinstance(equation.op, BlockGraph)
        named = _named_sizes(equation.op.equations)
        return tuple(name for name in self.tiles if name in dims or name in named)

    def lowered(self, place: int, *, exact: bool) -> tuple[Tiling, Sized]:
        """Return the tiling of a block graph for all sizes, or for those that tiles divide.

        An exact kernel is given the number of tiles of each size, another one the size.
        """
        block = dict(self.graph.blocks)[place]
        extents = {name: self._extent(name, exact=exact) for name in self.used(place)}
        cuts = []
        for cut in published_tiling(block).cuts:
            size = self.cuts[place].get(cut.axis)
            if size:
                tile = self.tiles[size]
                cut = SizedCut(cut.axis, LEAST_STEPS, tile, tile, extents[size], exact)
            cuts.append(cut)
        values = (*self.graph.equations[place].operands, *self.graph.results(place))
        shapes = {
            n: tuple(extents[d] if isinstance(d, str) else const(d) for d in self.dims[n])
            for n in values
        }
        arguments = tuple(argument(name, exact=exact) for name in extents)
        return Tiling(tuple(cuts)), Sized(shapes, extents, arguments)

    def _extent(self, name: str, *, exact: bool) -> Expr:
        number = var(argument(name, exact=exact))
        return number * self.tiles[name] if exact else number


def argument(name: str, *, exact: bool) -> str:
    """Return the name of the number that a kernel is given for a size."""
    return f"tiles_of_{name}" if exact else f"size_{name}"


def symbolic_graph(graph: KernelGraph, free: Mapping[str, int]) -> SymbolicGraph:
    """Return a graph with free sizes, given the extent of a tile of each.

    Raises ``UsageError`` for a size that the graph does not have, or that has no name there,
    ``SizeError`` for a tile that is no whole number from 1 to ``LARGEST_TILE``, and ``GraphError``
    where a block does not do the same at every size.
    """
    for name, tile in free.items():
        check_known(f"{graph.name}: no size", name, graph.size_of)
        if name == str(graph.size_of[name]):
            raise UsageError(
                f"{graph.name}: a size without a name is not free",
                expected=f"a name for it, such as n={name}",
                got=name,
            )
        is_whole = isinstance(tile, Integral) and not isinstance(tile, bool)
        if not is_whole or not 1 <= tile <= LARGEST_TILE:
            raise SizeError(
                f"size {name}: elements of a tile",
                expected=f"a whole number, 1 to {LARGEST_TILE:,}",
                got=tile,
            )
    free = {name: int(tile) for name, tile in free.items()}
    graph = in_blocks(graph)
    _check_names(graph, free)
    dims: list[Dims] = [
        tuple(dim if dim in free else graph.size_of[dim] for dim in each.dims)
        for each in graph.inputs
    ]
    cuts: dict[int, dict[str, str]] = {}
    for place, block in graph.blocks:
        cuts[place] = _cuts(graph.equations[place], block, dims)
        tiles = graph.tiles(place)
        for store, shape in zip(block.stores, tiles.results, strict=True):
            own = {dim: cuts[place][axis] for axis, dim in store.omap if axis in cuts[place]}
            dims.append(tuple(own.get(dim, extent) for dim, extent in enumerate(shape)))
    looked_at = _on_few_steps(graph, free, cuts)
    assumed = tuple(
        (place, loop)
        for place, block in looked_at.blocks
        for loop in _checked_axes(looked_at, place, block, cuts[place])
    )
    found = SymbolicGraph(looked_at, free, tuple(dims), cuts, assumed)
    _check_short_tiles(found)
    return found


def _check_names(graph: KernelGraph, free: Mapping[str, int]) -> None:
    """Refuse operators whose attributes are free sizes, and names that kernels give to sizes."""
    for place, block in graph.blocks:
        for equation in _inner(block.equations):
            for attribute, value in equation.attributes:
                sizes = value if isinstance(value, tuple) else (value,)
                is_size = equation.op.attributes[attribute] in ("size", "sizes")  # type: ignore[union-attr]
                named = {n for each in sizes if isinstance(each, Constant) for n, _ in each.powers}
                if is_size and named & free.keys():
                    raise GraphError(
                        f"{equation}: its {attribute} is a free size",
                        expected="a size that is known",
                        got=", ".join(sorted(named & free.keys())),
                    )
        given = {argument(name, exact=exact) for name in free for exact in (True, False)}
        taken = given & {*graph.names, *block.names, *(name for name, _ in block.loops), "block"}
        if taken:
            raise GraphError(
                f"{graph.equations[place]}: names that a kernel gives to its sizes",
                expected="other names",
                got=", ".join(sorted(taken)),
            )


def _inner(equations: Sequence[Equation]) -> list[Equation]:
    found: list[Equation] = []
    for each in equations:
        found += each.op.equations if isinstance(each.op, ThreadGraph) else [each]
    return found


def _named_sizes(equations: Sequence[Equation]) -> set[str]:
    values = (value for each in _inner(equations) for _, value in each.attributes)
    return {name for each in values if isinstance(each, Constant) for name, _ in each.powers}


def _cuts(equation: Equation, block: BlockGraph, dims: Sequence[Dims]) -> dict[str, str]:
    """Return the free size that each axis of a block graph cuts, for those that cut one."""
    found: dict[str, str | int] = {}
    for number, load in zip(equation.operands, block.loads, strict=True):
        for dim, extent in enumerate(dims[number]):
            axes = [axis for axis, on in (*load.imap, *load.fmap) if on == dim]
            if isinstance(extent, str) and len(axes) != 1:
                kept = "kept whole inside the block" if not axes else "cut by two axes"
                raise GraphError(
                    f"{equation}: {extent} is {kept}, in {load.name} = load",
                    expected="one axis of the grid, or one loop, that cuts it into tiles",
                    got=f"dimension {dim} of {load.name}: {', '.join(axes) or 'no axis'}",
                    hint=f"cut it by a new axis, or keep {extent} at a known size",
                )
            for axis in axes:
                own = extent if isinstance(extent, str) else 0  # known sizes may differ
                if found.setdefault(axis, own) != own:
                    raise GraphError(
                        f"{equation}: axis {axis} cuts different sizes",
                        expected="one size, by its name in all inputs",
                        got=f"{found[axis] or 'a known one'} and {own or 'a known one'}",
                    )
    return {axis: size for axis, size in found.items() if isinstance(size, str)}


def _on_few_steps(
    graph: KernelGraph, free: Mapping[str, int], cuts: Mapping[int, Mapping[str, str]]
) -> KernelGraph:
    """Return the graph on few tiles of each free size, of no two as many."""
    steps = {name: number for number, name in enumerate(free, LEAST_STEPS)}
    equations = list(graph.equations)
    for place, block in graph.blocks:
        own = {axis: steps[size] for axis, size in cuts[place].items()}
        extents = {**dict((*block.grid, *block.loops)), **own}
        equations[place] = replace(equations[place], op=_with_steps(block, extents))
    sizes = {**graph.size_of, **{name: steps[name] * tile for name, tile in free.items()}}
    return replace(graph, sizes=tuple(sizes.items()), equations=tuple(equations))


def _check_short_tiles(symbolic: SymbolicGraph) -> None:
    """Refuse operands whose known extent is that of a tile: they do not fit a short one."""
    known = [n for name, n in symbolic.graph.sizes if name not in symbolic.tiles]
    more = enumerate(symbolic.tiles.items(), max(known, default=1) + 1)
    sizes = {name: steps * tile + 1 for steps, (name, tile) in more}
    try:
        symbolic.at(sizes)
    except ShapeError as error:
        raise GraphError(
            f"{symbolic.graph.name}: a tile has to be as large as a known size",
            expected="operands whose extents are 1, or are cut by the same axis",
            got=error.got,
        ) from None


def _with_steps(block: BlockGraph, steps: Mapping[str, int]) -> BlockGraph:
    def counted(axes: Axes) -> Axes:
        return tuple((axis, steps[axis]) for axis, _ in axes)

    return replace(block, grid=counted(block.grid), loops=counted(block.loops))


def _checked_axes(
    graph: KernelGraph, place: int, block: BlockGraph, cuts: Mapping[str, str]
) -> list[str]:
    """Check that the axes that cut free sizes are free; return the loops that this assumes."""
    free = free_axes(graph, place)
    for axis, size in cuts.items():
        kind = "blocks are independent" if axis in dict(block.grid) else "tiles are added up"
        if axis not in free.grid | free.loops:
            raise GraphError(
                f"{graph.equations[place]}: {size} is not free, in {obstacle(graph, place, axis)}",
                expected=f"an axis {axis} along which {kind}, whatever their number",
                got="an operator that needs all of it, or knows how much it is, or tensors cut by "
                f"{axis} that no operator joins",
            )
    for equation in block.equations:
        for loop, _ in dict(equation.attributes).get("fmap", ()):
            if loop in cuts:
                raise GraphError(
                    f"{equation}: it keeps all of {cuts[loop]} inside the block",
                    expected="an accumulator that adds up the tiles of a loop over a free size",
                    got=f"fmap of {loop}",
                )
    return sorted(free.assumed & cuts.keys())
