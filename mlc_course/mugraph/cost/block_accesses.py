"""The accesses of a block: which parts of its tensors it reads and writes, by the maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import Axes, AxisMap, BlockGraph, Index, KernelGraph, Shape, offsets
from mlc_course.words import tr

Slices = tuple[slice, ...]


@dataclass(frozen=True)
class Tile:
    """A tensor of device memory, value ``number`` of its graph, and what one block has of it.

    ``part`` is the block's over all iterations; ``now`` that of this iteration, or None where the
    block does nothing with this tensor now. ``grid`` and ``loops`` say which axis cuts which
    dimension.
    """

    kind: str  # "load" or "store"
    number: int
    name: str
    shape: Shape
    grid: AxisMap
    loops: AxisMap
    part: Slices
    now: Slices | None

    @property
    def here(self) -> Slices:
        """The tile of a tensor in this iteration, or else the block's part."""
        return self.part if self.now is None else self.now

    def __str__(self) -> str:
        return self.name + said(self.here)


def tiles(graph: KernelGraph, place: int, block: Index, iteration: Index = ()) -> tuple[Tile, ...]:
    """Return what a block of the block graph at ``place`` loads in an iteration and what it stores.

    ``block`` is its number along each grid axis, ``iteration`` that along each loop. It stores
    after the last iteration; ``iteration`` () of a graph with loops is that time. Raises
    ``UsageError`` for a place, a block or an iteration that is not there.
    """
    inside = block_graph(graph, place)
    _check("block", inside.grid, block)
    after = not iteration
    if not after:
        _check("iteration", inside.loops, iteration)
    axes = (*inside.grid, *inside.loops)
    at = dict(zip((name for name, _ in axes), (*block, *iteration), strict=False))
    shapes = graph.tiles(place).shapes
    operands = graph.equations[place].operands
    found = []
    for number, load, shape in zip(operands, inside.loads, shapes, strict=False):
        whole = graph.shapes[number]
        part = offsets(load.imap, inside.grid, at, _cut(whole, load.imap, inside.grid))
        loaded = not after or not inside.loops
        now = offsets((*load.imap, *load.fmap), axes, at, shape) if loaded else None
        found.append(
            Tile("load", number, graph.names[number], whole, load.imap, load.fmap, part, now)
        )
    for number, store in zip(graph.results(place), inside.stores, strict=True):
        part = offsets(store.omap, inside.grid, at, shapes[store.value])
        whole = graph.shapes[number]
        now = part if after else None
        found.append(Tile("store", number, graph.names[number], whole, store.omap, (), part, now))
    return tuple(found)


def block_graph(graph: KernelGraph, place: int) -> BlockGraph:
    """Return the block graph of equation ``place``; raise ``UsageError`` where there is none."""
    places = dict(graph.blocks)
    if place not in places:
        known = " | ".join(map(str, places)) or "a graph with a block graph"
        raise UsageError(f"{graph.name}: no block graph at {place}", expected=known, got=place)
    return places[place]


def said(slices: Slices) -> str:
    """Return slices as text, such as ``[0:16, 128:256]``."""
    return f"[{', '.join(f'{each.start}:{each.stop}' for each in slices)}]"


def sentence(graph: KernelGraph, place: int, block: Index, iteration: Index = ()) -> str:
    """Return a sentence: what a block does in an iteration, or after its loop."""
    inside = block_graph(graph, place)
    found = tiles(graph, place, block, iteration)
    loads, stores = (
        ", ".join(str(tile) for tile in found if tile.kind == kind and tile.now)
        for kind in ("load", "store")
    )
    who = moment(inside, block, iteration)
    if inside.loops and not iteration:
        return tr("{who}, stores {tiles}.", who=who, tiles=stores)
    if loads and stores:
        return tr("{who} loads {loads} and stores {stores}.", who=who, loads=loads, stores=stores)
    return tr("{who} loads {tiles}.", who=who, tiles=loads)


def moment(inside: BlockGraph, block: Index, iteration: Index) -> str:
    """Name a block and an iteration, such as ``block x=3, iteration k=1``."""
    who = tr("block {at}", at=_named(inside.grid, block)) if block else tr("the only block")
    if iteration:
        return tr("{who}, iteration {at}", who=who, at=_named(inside.loops, iteration))
    return tr("{who}, after its loop", who=who) if inside.loops else who


def _named(axes: Axes, index: Index) -> str:
    return ", ".join(f"{name}={n}" for (name, _), n in zip(axes, index, strict=True))


def _cut(shape: Shape, cuts: AxisMap, axes: Axes) -> Shape:
    """Return the shape that one index along each axis leaves of a tensor."""
    extents = dict(axes)
    return tuple(
        size // math.prod(extents[axis] for axis, dim in cuts if dim == place)
        for place, size in enumerate(shape)
    )


def _check(what: str, axes: Axes, index: Sequence[int]) -> None:
    if len(index) != len(axes) or not all(
        0 <= n < extent for n, (_, extent) in zip(index, axes, strict=True)
    ):
        known = ", ".join(f"{name} from 0 to {extent - 1}" for name, extent in axes) or "()"
        raise UsageError(f"no such {what}", expected=known, got=tuple(index))
