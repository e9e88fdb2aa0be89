"""Which grid and which extents suit a structure on a machine: all of them are costed at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.mugraph.cost import Cost, Counts, block_counts, fits, seconds
from mlc_course.mugraph.ir import BlockGraph
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.search.instances import Choice, blocks, choices, graph, turns
from mlc_course.mugraph.search.labels import Dims, extent
from mlc_course.mugraph.search.structure import Stage, Structure
from mlc_course.mugraph.target import Target


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
    """The cheapest choice for a structure of this program; ``dims`` has its inputs' labels."""
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
    good = np.broadcast_to(np.logical_and.reduce([fits(each, target) for each in of]), (tried,))
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
    """Of each kernel, for all choices; ``example`` is the graph of any of them."""
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
                target,
            )
        )
    return found


def _stored(stage: Stage, value: int, sizes: Mapping[str, int], choice: Choice) -> Any:
    """Elements of what all blocks of a stage store of one value."""
    extents = choice.tile(sizes)
    tile = math.prod(extent(label, extents) for label in stage.dims[value])
    return tile * blocks(stage, choice)


def _at(cost: Cost, place: int) -> Cost:
    return Cost(*(float(np.ravel(v)[place if np.size(v) > 1 else 0]) for v in vars(cost).values()))
