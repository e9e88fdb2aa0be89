"""How many bytes the kernels of a graph move, and how much shared memory a block needs.

Counted from the maps, without running anything; ``tests/mugraph/test_kernel_traffic.py`` watches
the interpreter and counts the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlc_course.mugraph.arithmetic import Shape
from mlc_course.mugraph.ir import BlockGraph, Load
from mlc_course.mugraph.kernel import KernelGraph


@dataclass(frozen=True)
class Traffic:
    """What one kernel moves, in bytes.

    ``operands`` is the size of what it reads, ``loaded`` what its blocks load of that all together:
    more, where several of them load the same. A predefined operator keeps its blocks to itself; it
    is taken to load its operands once, which is the least that anyone can do.
    """

    name: str
    blocks: int
    operands: int
    loaded: int
    stored: int
    shared: int  # of shared memory, in one block, each tile in a place of its own

    @property
    def loaded_by_block(self) -> int:
        """What a single block loads; all load the same amount."""
        return self.loaded // self.blocks


def traffic(graph: KernelGraph, itemsize: int = 2) -> tuple[Traffic, ...]:
    """Of each kernel, in order, with elements of ``itemsize`` bytes (2: float16)."""
    return tuple(_kernels(graph, itemsize))


def total(kernels: Sequence[Traffic]) -> Traffic:
    """All kernels together; ``shared`` and ``blocks`` are the largest."""
    return Traffic(
        f"{len(kernels)} kernel{'s' * (len(kernels) != 1)}",
        max(each.blocks for each in kernels),
        sum(each.operands for each in kernels),
        sum(each.loaded for each in kernels),
        sum(each.stored for each in kernels),
        max(each.shared for each in kernels),
    )


def table(graph: KernelGraph, itemsize: int = 2) -> str:
    """One line a kernel, and their sum where there are several."""
    kernels = traffic(graph, itemsize)
    rows = [*kernels, total(kernels)] if len(kernels) > 1 else kernels
    head = f"{'kernel':<14} {'loaded':>12} {'stored':>10}"
    if any(graph.blocks):
        head += f" {'blocks':>8}   shared memory of each"
    return "\n".join([head, *map(_line, rows)])


def _line(row: Traffic) -> str:
    moved = f"{row.name:<14} {kilobytes(row.loaded):>12} {kilobytes(row.stored):>10}"
    return f"{moved} {row.blocks:>8} {kilobytes(row.shared):>23}" if row.shared else moved


def kilobytes(size: int) -> str:
    """``1,234.5 kB``, where a kilobyte is 1000 bytes."""
    return f"{size / 1000:,.1f} kB"


def _kernels(graph: KernelGraph, itemsize: int) -> Iterator[Traffic]:
    sizes = [itemsize * math.prod(shape) for shape in graph.shapes]
    made = len(graph.inputs)
    for place, equation in enumerate(graph.equations):
        results = range(made, made + len(equation.names))
        made += len(equation.names)
        read = sum(sizes[number] for number in set(equation.operands))
        stored = sum(sizes[number] for number in results)
        if isinstance(equation.op, BlockGraph):
            tiles, block = graph.tiles(place), equation.op
            blocks = math.prod(extent for _, extent in block.grid)
            loads = zip(block.loads, tiles.shapes, strict=False)
            loaded = itemsize * blocks * sum(loaded_elements(*each, block) for each in loads)
            name = f"block {graph.names[results[0]]}"
            yield Traffic(name, blocks, read, loaded, stored, tiles.shared_bytes(itemsize))
        else:
            yield Traffic(equation.op.name, 1, read, read, stored, 0)


def loaded_elements(load: Load, tile: Shape, block: BlockGraph) -> int:
    """What a block loads of one operand: a tile that it still holds, it does not load again."""
    looped = [place for place, (loop, _) in enumerate(block.loops) if loop in dict(load.fmap)]
    changes = block.loops[: looped[-1] + 1] if looped else ()
    return math.prod(tile) * math.prod(extent for _, extent in changes)
