"""Grids and extents: all choices for a structure are costed at once, and the cheapest is taken.

A grid axis cuts one dimension of what is stored, in every tensor that has it; there are up to three
axes, the last of them for parts. A loop cuts its dimensions in every tensor that has them; a tensor
with none of them stays in shared memory. So the maps follow from which dimensions are cut.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.mugraph.cost import Cost, Counts, Target, block_counts, fits, seconds
from mlc_course.mugraph.ir import GRID_AXES, Axes, BlockGraph, Equation, KernelGraph, Load, Store
from mlc_course.mugraph.search.dimensions import Dims, extent
from mlc_course.mugraph.search.graph_extraction import Stage, Structure

PART, LOOPS = "part", ("k", "l")
MOST_CHOICES = 1 << 18


@dataclass(frozen=True)
class Choice:
    """The number of tiles into which grid, loop and parts cut each dimension.

    The numbers may be arrays: many choices at once.
    """

    grid: Mapping[str, Any]
    loop: Mapping[str, Any]
    parts: Mapping[str, Any]

    def tile(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """The extent of each dimension in a tile."""
        found: dict[str, Any] = dict(sizes)
        for cuts in (self.grid, self.loop, self.parts):
            for dim, steps in cuts.items():
                found[dim] = found[dim] // steps
        return found

    def at(self, place: int) -> Choice:
        """Return one of many choices."""

        def one(cuts: Mapping[str, Any]) -> dict[str, int]:
            return {dim: int(steps[place]) for dim, steps in cuts.items()}

        return Choice(one(self.grid), one(self.loop), one(self.parts))


def choices(structure: Structure, sizes: Mapping[str, int]) -> Choice:
    """Return all choices as arrays: every divisor of every dimension, on at most three axes.

    A loop and a number of parts of 1 is left to the nests without them. Of sizes with very many
    divisors some are left out.
    """
    nest = structure.nest
    grid = [_divisors(sizes[dim]) for dim in structure.cuttable]
    loop = [_divisors(sizes[dim])[1:] for dim in nest.loop]
    parts = [_divisors(sizes[dim])[1:] for dim in nest.parts]
    _thin([*grid, *loop, *parts])
    every = np.meshgrid(*grid, *loop, *parts, indexing="ij") if grid or loop or parts else []
    columns = [column.ravel() for column in every] or [np.ones(1, np.int64)]
    g, n = len(grid), len(grid) + len(loop)
    fits = sum((column > 1).astype(int) for column in columns[:g]) + len(parts) <= len(GRID_AXES)
    for first, dim in enumerate(nest.loop):
        for second, other in enumerate(nest.parts):
            if dim == other:
                both = columns[g + first] * columns[n + second]
                fits = fits & (sizes[dim] % both == 0)
    kept = [column[np.broadcast_to(fits, column.shape)] for column in columns]
    return Choice(
        dict(zip(structure.cuttable, kept[:g], strict=True)),
        dict(zip(nest.loop, kept[g:n], strict=True)),
        dict(zip(nest.parts, kept[n : n + len(parts)], strict=True)),
    )


def _divisors(n: int) -> list[int]:
    below = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return below + [n // d for d in reversed(below) if d * d < n]


def _thin(every: Sequence[list[int]]) -> None:
    """Leave out every other one, but the smallest and the largest, of the longest lists."""
    while math.prod(map(len, every)) > MOST_CHOICES:
        longest = max(every, key=len)
        longest[1:-1] = longest[2:-1:2]


def graph(
    structure: Structure, choice: Choice, program: KernelGraph, dims: Sequence[Dims], name: str
) -> KernelGraph:
    """Return the graph of one choice; ``dims`` has the labels of the program's inputs.

    Raises ``GraphError`` or ``ShapeError`` for a choice that does not fit.
    """
    numbers = {each.name: n for n, each in enumerate(program.inputs)}
    inputs = tuple(numbers)
    labels = dict(zip(inputs, dims, strict=False))
    equations: list[Equation] = []
    for stage in structure.stages:
        block = _block(stage, choice, labels, inputs)
        operands = tuple(numbers[load] for load in stage.loads)
        made = tuple(each for each, _ in stage.stores)
        equations.append(Equation(block, operands, (), made))
        for each, value in stage.stores:
            numbers[each] = len(numbers)
            labels[each] = stage.dims[value]
    outputs = tuple(numbers[each] for each, _ in structure.stages[-1].stores)
    return KernelGraph(name, program.inputs, tuple(equations), outputs, program.sizes)


def axes(stage: Stage, choice: Choice) -> tuple[Axes, dict[str, str], Axes, dict[str, str]]:
    """Return grid and loops of a stage, and which dimension each axis and each loop cuts."""
    cut = {dim: steps for dim, steps in choice.grid.items() if steps > 1}
    grid = [(axis, dim, steps) for axis, (dim, steps) in zip(GRID_AXES, cut.items(), strict=False)]
    if stage.in_parts:
        grid += [(GRID_AXES[len(grid)], dim, steps) for dim, steps in choice.parts.items()]
    extents = choice.parts if stage.over_parts else choice.loop
    called = (PART,) if stage.over_parts else LOOPS
    loops = [(name, dim, extents[dim]) for name, dim in zip(called, stage.loop, strict=False)]
    return (
        tuple((axis, steps) for axis, _, steps in grid) or (("x", 1),),
        {axis: dim for axis, dim, _ in grid},
        tuple((loop, steps) for loop, _, steps in loops),
        {loop: dim for loop, dim, _ in loops},
    )


def _block(
    stage: Stage, choice: Choice, labels: Mapping[str, Dims], inputs: Collection[str]
) -> BlockGraph:
    grid, cut_by, loops, looped = axes(stage, choice)
    loads = []
    for name, source in zip(stage.names, stage.loads, strict=False):
        dims = labels[source]
        imap = tuple((axis, dims.index(dim)) for axis, dim in cut_by.items() if dim in dims)
        fmap = tuple((loop, dims.index(dim)) for loop, dim in looped.items() if dim in dims)
        if source not in inputs:
            imap = tuple((axis, _along(dims, dim)) for axis, dim in cut_by.items())
            fmap = ((PART, len(dims) - 1),)
        loads.append(Load(imap, fmap, name))
    stores = tuple(
        Store(n, tuple((axis, _lies(stage, n, dim, choice)) for axis, dim in cut_by.items()))
        for _, n in stage.stores
    )
    return BlockGraph(grid, loops, tuple(loads), stage.equations, stores)


def _lies(stage: Stage, number: int, dim: str, choice: Choice) -> int:
    """Return the axis along which blocks store a dimension; the last one for parts."""
    dims = stage.dims[number]
    return len(dims) - 1 if stage.in_parts and dim in choice.parts else _along(dims, dim)


def _along(dims: Dims, dim: str) -> int:
    """Return the axis of a dimension, or the last axis, for copies of a tile without it."""
    return dims.index(dim) if dim in dims else len(dims) - 1


def blocks(stage: Stage, choice: Choice) -> Any:
    """Return the number of blocks of a stage; an array for arrays."""
    found: Any = math.prod(choice.grid.values())
    return found * math.prod(choice.parts.values()) if stage.in_parts else found


def turns(stage: Stage, choice: Choice) -> list[Any]:
    """Return the iterations of each loop of a stage."""
    extents = choice.parts if stage.over_parts else choice.loop
    return [extents[dim] for dim in stage.loop]


@dataclass(frozen=True)
class Ranked:
    """The best graph of a structure, out of ``tried``, of which ``fit`` the machine's limits.

    Without a graph none does; ``least_held`` bytes of shared memory is what the smallest needs.
    """

    graph: KernelGraph | None
    cost: Cost | None
    choice: Choice | None
    tried: int
    fit: int
    least_held: int


def ranked(
    structure: Structure, program: KernelGraph, dims: Sequence[Dims], target: Target, name: str
) -> Ranked:
    """Return the cheapest choice for a structure; ``dims`` has the labels of the inputs."""
    sizes = {
        dim: extent
        for labels, shape in zip(dims, program.shapes, strict=False)
        for dim, extent in zip(labels, shape, strict=True)
        if dim
    }
    every = choices(structure, sizes)
    columns = [*every.grid.values(), *every.loop.values(), *every.parts.values()]
    tried = len(columns[0]) if columns else 1
    if not tried:
        return Ranked(None, None, None, 0, 0, 0)
    first = graph(structure, every.at(0), program, dims, name)
    of = list(stage_counts(structure, every, first, sizes, target))
    within = [np.broadcast_to(fits(each, target), (tried,)) for each in of]
    good = np.logical_and.reduce(within)
    held = np.maximum.reduce([np.broadcast_to(each.held, (tried,)) for each in of])
    if not good.any():
        return Ranked(None, None, None, tried, 0, int(held.min()))
    head, *rest = (seconds(each, target) for each in of)
    total = np.where(good, np.broadcast_to(sum(rest, head).total, (tried,)), np.inf)
    best = int(total.argmin())
    choice = every.at(best)
    chosen = graph(structure, choice, program, dims, name)
    cost = _at(sum(rest, head), best)
    return Ranked(chosen, cost, choice, tried, int(good.sum()), int(held.min()))


def stage_counts(
    structure: Structure,
    choice: Choice,
    example: KernelGraph,
    sizes: Mapping[str, int],
    target: Target,
) -> list[Counts]:
    """Return the counts of each kernel for all choices; ``example`` is the graph of any of them."""
    extents = choice.tile(sizes)
    found, left = list[Counts](), dict[str, Any]()
    for place, stage in enumerate(structure.stages):
        block = example.equations[place].op
        assert isinstance(block, BlockGraph)
        shapes = [tuple(extent(label, extents) for label in dims) for dims in stage.dims]
        size = {
            name: math.prod(extent(label, sizes) for label in dims)
            for name, dims in zip(stage.loads, stage.dims, strict=False)
        }
        size |= {name: left[name] for name in stage.loads if name in left}
        for name, value in stage.stores:
            left[name] = _stored(stage, value, sizes, choice)
        found.append(
            block_counts(
                block,
                shapes,
                example.tiles(place).stages,
                turns(stage, choice),
                blocks(stage, choice),
                sum(size.values()),
                sum(left[name] for name, _ in stage.stores),
                example.size_of,
                target,
            )
        )
    return found


def _stored(stage: Stage, value: int, sizes: Mapping[str, int], choice: Choice) -> Any:
    """Count the elements that all blocks of a stage store of one value."""
    extents = choice.tile(sizes)
    tile = math.prod(extent(label, extents) for label in stage.dims[value])
    return tile * blocks(stage, choice)


def _at(cost: Cost, place: int) -> Cost:
    return Cost(*(float(np.ravel(v)[place if np.size(v) > 1 else 0]) for v in vars(cost).values()))
