"""Memory traffic: the bytes that each kernel of a graph moves, and the shared memory of a block.

The bytes are ``graph_cost.counts``, of all blocks together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlc_course.mugraph.cost.graph_cost import Counts, counts
from mlc_course.mugraph.cost.targets import A100
from mlc_course.mugraph.ir import BlockGraph, Equation, KernelGraph
from mlc_course.words import padded, tr


@dataclass(frozen=True)
class Traffic:
    """The bytes that one kernel moves.

    ``operands`` is the size of the tensors that it reads, ``loaded`` what all its blocks load of
    them: more, where several blocks load the same. The blocks of a predefined operator are not
    known; it is taken to load its operands once, which is the least that is possible.
    """

    name: str
    blocks: int
    operands: int
    loaded: int
    stored: int
    shared: int  # of shared memory, in one block, each tile in a place of its own

    @property
    def loaded_by_block(self) -> int:
        """The bytes that a single block loads; all load the same amount."""
        return self.loaded // self.blocks


def traffic(graph: KernelGraph, itemsize: int = 2) -> tuple[Traffic, ...]:
    """Return the traffic of each kernel, with elements of ``itemsize`` bytes (2: float16)."""
    counted = counts(graph, replace(A100, itemsize=itemsize))  # bytes are the same on any machine
    return tuple(map(_traffic, graph.equations, counted))


def _traffic(equation: Equation, of: Counts) -> Traffic:
    if isinstance(equation.op, BlockGraph):
        loaded = of.blocks * of.loaded
        return Traffic(f"block {equation.names[0]}", of.blocks, of.read, loaded, of.stored, of.held)
    return Traffic(equation.op.name, 1, of.read, of.read, of.stored, 0)


def total(kernels: Sequence[Traffic]) -> Traffic:
    """Add up the traffic of all kernels; ``shared`` and ``blocks`` are the largest."""
    return Traffic(
        f"{len(kernels)} kernel{'s' * (len(kernels) != 1)}",
        max(each.blocks for each in kernels),
        sum(each.operands for each in kernels),
        sum(each.loaded for each in kernels),
        sum(each.stored for each in kernels),
        max(each.shared for each in kernels),
    )


def table(graph: KernelGraph, itemsize: int = 2) -> str:
    """Return a table with one line a kernel, and their sum where there are several."""
    kernels = traffic(graph, itemsize)
    rows = [*kernels, total(kernels)] if len(kernels) > 1 else kernels
    head = [
        padded(tr("kernel"), 14),
        padded(tr("loaded"), 12, right=True),
        padded(tr("stored"), 10, right=True),
    ]
    if any(graph.blocks):
        head += [
            padded(tr("blocks"), 8, right=True),
            padded(tr("shared memory of each"), 23, right=True),
        ]
    return "\n".join([" ".join(head), *map(_line, rows)])


def _line(row: Traffic) -> str:
    moved = f"{row.name:<14} {kilobytes(row.loaded):>12} {kilobytes(row.stored):>10}"
    return f"{moved} {row.blocks:>8} {kilobytes(row.shared):>23}" if row.shared else moved


def kilobytes(size: int) -> str:
    """Return a size such as ``1,234.5 kB``; a kilobyte is 1000 bytes."""
    return f"{size / 1000:,.1f} kB"
