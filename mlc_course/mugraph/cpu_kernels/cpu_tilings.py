"""Tilings for a CPU: candidates for every block graph, ranked by their estimated time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from mlc_course.errors import CourseError
from mlc_course.mugraph.codegen import (
    LOAD,
    PRODUCT,
    KernelLowering,
    Tiling,
    cut_extent,
    free_axes,
    in_blocks,
    program_of,
    published_tiling,
    retiled,
)
from mlc_course.mugraph.cpu_kernels.cpu_cost import Estimate, Rates, estimate
from mlc_course.mugraph.cpu_kernels.cpu_lowering import FLOAT_BYTES, Cpu, CpuBlock, lower
from mlc_course.mugraph.ir import BlockGraph, KernelGraph
from mlc_course.mugraph.kernel_checks import CodeVerdict, verify_program
from mlc_course.mugraph.kernels import ZERO, Kernel, KernelProgram
from mlc_course.mugraph.verify import verify

TILES = (16, 64, 256)  # elements of a block along a grid axis, besides a core's share
STEPS = (16, 64, 256, 512)  # elements of an iteration of a loop
MOST_STREAMS = 1024  # rows that are read side by side, each in a page of its own
LINE_ELEMENTS = 16  # tiles begin at cache lines
SET_PERIOD = 4096  # bytes: lines so far apart are in one set of the first cache
MOST = 96  # candidates of one block graph
MOST_BLOCKS = 512  # for each thread: starting one takes a moment


@dataclass(frozen=True)
class Ranked:
    """A kernel with a tiling, and its estimated time."""

    tiling: Tiling
    kernel: Kernel
    estimate: Estimate


def ranked_tilings(graph: KernelGraph, place: int, cpu: Cpu, rates: Rates) -> list[Ranked]:
    """Return the tilings of a block graph for a machine, the fastest by estimate first."""
    found = []
    for tiling in candidates(graph, place, rates.threads):
        kernel = lower(graph, place, tiling, cpu)
        found.append(Ranked(tiling, kernel, estimate(kernel, rates)))
    return sorted(found, key=lambda each: each.estimate.total)


def candidates(graph: KernelGraph, place: int, threads: int) -> list[Tiling]:
    """Return tilings to choose from: shares of the cores, and tiles for the caches."""
    block = dict(graph.blocks)[place]
    free = free_axes(graph, place)
    shown = free.loops - free.assumed
    loops = shown | {loop for loop in free.assumed if _sums_up(graph, place, loop)}
    choices: list[list[tuple[str, int]]] = []
    for axis in [name for name, _ in block.grid if name in free.grid]:
        total = cut_extent(graph, place, axis) or 1
        shares = [_rounded(-(-total // (threads * turns)), total) for turns in (1, 2, 4)]
        choices.append([(axis, n) for n in _some(total, [total, *shares, *TILES])])
    for loop in [name for name, _ in block.loops if name in loops]:
        total = cut_extent(graph, place, loop) or 1
        whole = [total] if total <= MOST_STREAMS else []
        choices.append([(loop, n) for n in _some(total, [*STEPS, *whole])])
    every = [dict(each) for each in itertools.product(*choices)]
    few = [each for each in every if _blocks(graph, place, each) <= MOST_BLOCKS * threads]
    few = few or every
    few = few[:: -(-len(few) // MOST)]
    found = [retiled(graph, place, tiles) for tiles in few] or [published_tiling(block)]
    panels = _clashing(graph, place, found[0])
    return [replace(each, panels=panels) for each in found]


def _clashing(graph: KernelGraph, place: int, tiling: Tiling) -> tuple[str, ...]:
    """Return the right operands whose rows compete for the same sets of the first cache."""
    block = dict(graph.blocks)[place]
    whole = KernelLowering(graph, place, tiling, CpuBlock)
    tiles = whole.tiles({axis: ZERO for axis, _ in block.grid}, ())
    products = [node for node in tiles.nodes if node.kind == PRODUCT]
    loads = [b.what for node in products for b in node.args[1::2] if b.kind == LOAD]
    found = dict.fromkeys(whole.operands[number] for number in loads)
    return tuple(
        each.name
        for each in found
        if each.shape[-2] > 1 and FLOAT_BYTES * each.shape[-1] % SET_PERIOD == 0
    )


def _rounded(extent: int, total: int) -> int:
    return min(total, -(-extent // LINE_ELEMENTS) * LINE_ELEMENTS if extent > 8 else extent)


def _some(total: int, extents: Sequence[int]) -> list[int]:
    """Each extent once, without those larger than all."""
    return list(dict.fromkeys(n for n in extents if 1 <= n <= total))


def _blocks(graph: KernelGraph, place: int, tiles: dict[str, int]) -> int:
    block = dict(graph.blocks)[place]
    tiling = retiled(graph, place, tiles)
    return math.prod(tiling[axis].steps for axis, _ in block.grid)


@lru_cache(maxsize=256)
def _sums_up(graph: KernelGraph, place: int, loop: str) -> bool:
    """Tell whether a loop gives the same in one step, by the verifier's word."""
    equation = graph.equations[place]
    block = equation.op
    assert isinstance(block, BlockGraph)
    whole = replace(block, loops=tuple((n, 1 if n == loop else steps) for n, steps in block.loops))
    equations = list(graph.equations)
    equations[place] = replace(equation, op=whole)
    try:
        return verify(graph, replace(graph, equations=tuple(equations)), seed=0).equal
    except CourseError:
        return False


def choices(graph: KernelGraph, cpu: Cpu, rates: Rates, most: int = 1) -> list[CpuProgram]:
    """Return kernel programs of a graph for a machine, the fastest by estimate first.

    Programs differ in their tilings; operators outside block graphs get kernels of their own.
    """
    whole = in_blocks(graph)
    kernels = [ranked_tilings(whole, place, cpu, rates) for place, _ in whole.blocks]
    count = min(most, max(map(len, kernels), default=1))
    return [
        CpuProgram(
            program_of(whole, [each.kernel for each in chosen]),
            tuple(each.tiling for each in chosen),
            cpu,
            tuple(each.estimate for each in chosen),
        )
        for chosen in ([each[min(n, len(each) - 1)] for each in kernels] for n in range(count))
    ]


@dataclass(frozen=True)
class CpuProgram:
    """A kernel program with what its kernels were made of, and their estimated times."""

    program: KernelProgram
    tilings: tuple[Tiling, ...]
    cpu: Cpu
    estimates: tuple[Estimate, ...]

    @property
    def seconds(self) -> float:
        return sum(each.total for each in self.estimates)

    @property
    def limited_by(self) -> str:
        """What the longest of its kernels waits for, in words."""
        return max(self.estimates, key=lambda each: each.total).limited_by

    def verified(self, error: float = 1e-9) -> CodeVerdict:
        """Compare the kernels with their graph over finite fields (``code_verification``).

        Raises ``Undecided`` where the graph cannot be made small enough.
        """
        return verify_program(self.program, self.tilings, partial(lower, cpu=self.cpu), error=error)
