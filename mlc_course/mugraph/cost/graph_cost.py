"""The cost model: what each kernel of a graph counts, and the time that each count takes alone.

The counts are exact: ``tests/mugraph/cost/test_graph_cost.py`` watches the interpreter and counts
the same. The model adds up the times of its terms, as if nothing overlapped: no prediction of a
measured time, but an order, and one that can be explained term by term. Every count may be an
array, one number for each of many graphs of the same structure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mlc_course.mugraph.cost.operation_counts import broadcast, operations
from mlc_course.mugraph.cost.targets import Target
from mlc_course.mugraph.ir import (
    AFTER,
    ALWAYS,
    LOOP,
    BlockGraph,
    Equation,
    KernelGraph,
    Load,
    Op,
    ThreadGraph,
    resolved,
)

Number = Any  # an int, or an array of them


@dataclass(frozen=True)
class Counts:
    """Counts of one kernel. ``read`` and ``stored`` are bytes of distinct elements on the device.

    The others are of one block: ``loaded`` from device memory, ``shared`` and back to registers;
    ``matrix`` multiplications and additions, ``elements`` other ones, ``special`` functions;
    ``barriers``; and ``held``, the bytes of shared memory that it needs.
    """

    blocks: Number
    read: Number
    stored: Number
    loaded: Number
    shared: Number
    matrix: Number
    elements: Number
    special: Number
    barriers: Number
    held: Number


@dataclass(frozen=True)
class Cost:
    """Seconds, term by term; each may be an array."""

    memory: Number
    near: Number
    shared: Number
    matrix: Number
    elements: Number
    special: Number
    barriers: Number
    launches: Number

    @property
    def total(self) -> Number:
        return sum(getattr(self, each.name) for each in fields(self))

    @property
    def terms(self) -> dict[str, float]:
        """The seconds of each term by name, the largest first."""
        named = {each.name: float(getattr(self, each.name)) for each in fields(self)}
        return dict(sorted(named.items(), key=lambda term: -term[1]))

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __str__(self) -> str:
        terms = ", ".join(f"{name} {1e6 * s:.2f}" for name, s in self.terms.items() if s)
        return f"{1e6 * self.total:.2f} us ({terms})"


def cost(graph: KernelGraph, target: Target) -> Cost:
    """Return the cost of all kernels, one after the other."""
    first, *rest = (seconds(each, target) for each in counts(graph, target))
    return sum(rest, first)


def counts(graph: KernelGraph, target: Target) -> list[Counts]:
    """Return the counts of each kernel in order."""
    return [_kernel(graph, place, target) for place in range(len(graph.equations))]


def seconds(of: Counts, target: Target) -> Cost:
    """Return the time of each term on a machine.

    A multiprocessor holds as many blocks as its shared memory has room for; the blocks go through
    in waves, and a wave in which most multiprocessors have nothing to do takes as long as a full
    one. Blocks that share a multiprocessor share its units, so that the busiest has them ``turns``
    blocks after each other.
    """
    turns = np.ceil(of.blocks / target.multiprocessors)
    at_once = np.clip(target.shared_bytes_per_sm // np.maximum(of.held, 1), 1, target.blocks_per_sm)
    waves = np.ceil(of.blocks / (target.multiprocessors * at_once))

    def busiest(count: Number, rate: float) -> Number:
        return turns * count * target.multiprocessors / rate

    return Cost(
        memory=(of.read + of.stored) / target.memory_bytes_per_s,
        near=busiest(of.loaded, target.near_bytes_per_s),
        shared=busiest(of.shared, target.shared_bytes_per_s),
        matrix=busiest(of.matrix, target.matrix_flops),
        elements=busiest(of.elements, target.element_flops),
        special=busiest(of.special, target.special_per_s),
        barriers=waves * of.barriers * target.barrier_s,
        launches=target.launch_s + 0 * of.blocks,
    )


def fits(of: Counts, target: Target) -> Number:
    """Tell whether a block is within the machine's limits."""
    return (of.held <= target.shared_bytes) & (of.blocks <= target.most_blocks)


def why(graph: KernelGraph, other: KernelGraph, target: Target) -> str:
    """Explain the difference in cost from another graph, term by term."""
    a, b = cost(graph, target), cost(other, target)
    saved = {name: b.terms[name] - a.terms[name] for name in a.terms}
    said = [
        f"{name} {'saves' if s > 0 else 'costs'} {1e6 * abs(s):.2f} us"
        for name, s in sorted(saved.items(), key=lambda term: -abs(term[1]))
        if abs(s) >= 0.01 * abs(b.total - a.total) and s
    ]
    less = "less" if b.total >= a.total else "more"
    return (
        f"{1e6 * abs(b.total - a.total):.2f} us {less}: {', '.join(said)}" if said else "the same"
    )


def _kernel(graph: KernelGraph, place: int, target: Target) -> Counts:
    equation = graph.equations[place]
    results = graph.results(place)
    read = sum(math.prod(graph.shapes[n]) for n in set(equation.operands))
    stored = sum(math.prod(graph.shapes[n]) for n in results)
    if not isinstance(equation.op, BlockGraph):
        work = _Work(target)
        work.equation(
            equation,
            [graph.shapes[n] for n in equation.operands],
            graph.shapes[results[0]],
            1,
            graph.size_of,
        )
        return work.shared_out(read, stored)
    tiles = graph.tiles(place)
    blocks = math.prod(extent for _, extent in equation.op.grid)
    turns = [extent for _, extent in equation.op.loops]
    return block_counts(
        equation.op, tiles.shapes, tiles.stages, turns, blocks, read, stored, graph.size_of, target
    )


def block_counts(
    block: BlockGraph,
    shapes: Sequence[Sequence[Number]],
    stages: Sequence[str],
    turns: Sequence[Number],
    blocks: Number,
    read: Number,
    stored: Number,
    sizes: Mapping[str, int],
    target: Target,
) -> Counts:
    """Return the counts of a block graph with tiles of these shapes and stages.

    ``turns`` are the iterations of each loop; ``read`` and ``stored`` count elements; ``sizes`` are
    those that constants name.
    """
    work = _Work(target)
    iterations = math.prod(turns)
    for load, shape in zip(block.loads, shapes, strict=False):
        work.load(loaded_elements(load, shape, block, turns))
    for number, equation in enumerate(block.equations, len(block.loads)):
        carried = equation.op.carried
        times = iterations if carried or stages[number] == LOOP else 1
        operands = [shapes[n] for n in equation.operands]
        work.equation(equation, operands, shapes[number], times, sizes)
    for store in block.stores:
        work.shared += math.prod(shapes[store.value])
    return Counts(
        blocks=blocks,
        read=read * target.itemsize,
        stored=stored * target.itemsize,
        loaded=work.loaded * target.itemsize,
        shared=work.shared * target.itemsize,
        matrix=work.matrix,
        elements=work.elements,
        special=work.special,
        barriers=_barriers(block, stages, iterations),
        held=sum(math.prod(shape) for shape in shapes) * target.itemsize,
    )


def loaded_elements(
    load: Load, tile: Sequence[Number], block: BlockGraph, turns: Sequence[Number] = ()
) -> Number:
    """Count what a block loads of one operand: a tile that it still holds is not loaded again.

    ``turns`` are the iterations of each loop, if not the block graph's own.
    """
    turns = turns or [extent for _, extent in block.loops]
    cut = [place for place, (loop, _) in enumerate(block.loops) if loop in dict(load.fmap)]
    return math.prod(tile) * math.prod(turns[: cut[-1] + 1] if cut else ())


def _barriers(block: BlockGraph, stages: Sequence[str], iterations: Number) -> Number:
    """Count a barrier after each depth of each stage: values of one depth do not wait."""
    depths = {stage: set[int]() for stage in (ALWAYS, LOOP, AFTER)}
    depth: list[int] = []
    for number, stage in enumerate(stages):
        below: tuple[int, ...] = ()
        if number >= len(block.loads):
            below = block.equations[number - len(block.loads)].operands
        depth.append(1 + max((depth[n] for n in below), default=-1))
        depths[stage].add(depth[number])
    return len(depths[ALWAYS]) + len(depths[AFTER]) + iterations * len(depths[LOOP])


class _Work:
    """A running total of elements moved and operators done."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.loaded: Number = 0
        self.shared: Number = 0
        self.matrix: Number = 0
        self.elements: Number = 0
        self.special: Number = 0

    def load(self, elements: Number) -> None:
        """Add elements that go from device memory into shared memory."""
        self.loaded += elements
        self.shared += elements

    def equation(
        self,
        equation: Equation,
        operands: Sequence[Sequence[Number]],
        result: Sequence[Number],
        times: Number,
        sizes: Mapping[str, int],
    ) -> None:
        """Add an equation, ``times`` over; a thread graph reads its operands, writes its result."""
        self.shared += times * sum(map(math.prod, operands))
        accumulates = equation.op.carried == "accumulate"
        self.shared += math.prod(result) * (1 if accumulates else times)
        if not isinstance(equation.op, ThreadGraph):
            self._operator(equation, operands, times, sizes)
            return
        values = [tuple(each) for each in operands]
        for inner in equation.op.equations:
            read = [values[n] for n in inner.operands]
            values.append(broadcast(read))
            self._operator(inner, read, times, sizes)

    def _operator(
        self,
        equation: Equation,
        operands: Sequence[Sequence[Number]],
        times: Number,
        sizes: Mapping[str, int],
    ) -> None:
        assert isinstance(equation.op, Op)
        given = resolved(equation, sizes)
        given.pop("fmap", None)
        done = operations(equation.op, operands, given, self.target.matrix_tile)
        self.matrix += times * done.matrix
        self.elements += times * done.elements
        self.special += times * done.special

    def shared_out(self, read: Number, stored: Number) -> Counts:
        """Return a predefined operator's counts: a library loads once, on the whole machine."""
        self.load(read)
        n, itemsize = self.target.multiprocessors, self.target.itemsize
        return Counts(
            blocks=n,
            read=read * itemsize,
            stored=stored * itemsize,
            loaded=read * itemsize / n,
            shared=self.shared * itemsize / n,
            matrix=self.matrix / n,
            elements=self.elements / n,
            special=self.special / n,
            barriers=0,
            held=0,
        )
