"""Tilings for many threads: a graph's own where its tiles fit a block, and smaller ones elsewhere.

A published graph is cut for a GPU, so its tiling is kept. What has none, an operator outside block
graphs, or does not fit the shared memory or the registers of this machine, is cut again: of tiles
that fit, those by which a multiprocessor loads the least.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from mlc_course.errors import SizeError
from mlc_course.mugraph.codegen import (
    LOAD,
    PRODUCT,
    BlockLowering,
    KernelLowering,
    Node,
    Tiling,
    cut_extent,
    free_axes,
    in_blocks,
    live_nodes,
    program_of,
    published_tiling,
    retiled,
)
from mlc_course.mugraph.ir import LOOP as IN_LOOP
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.kernel_checks import CodeVerdict, verify_program
from mlc_course.mugraph.kernels import ZERO, Allocate, Kernel, KernelProgram, walk
from mlc_course.mugraph.thread_kernels.spreads import matrix_spread, spread_of
from mlc_course.mugraph.thread_kernels.thread_lowering import Gpu, lower_for_threads

GRID_TILES = (1, 8, 16, 32, 64, 128, 256)
LOOP_TILES = (16, 32, 64, 128)
MOST_THREADS = 1024  # of a block
MORE_THREADS = (1, 2, 4)  # times as many, for tiles of many sums
MOST_SUMS = 64  # of one product that a thread has, of its 255 registers
MOST_KEPT = 144  # numbers that a thread keeps of all tiles
MOST = 200  # candidates of a block graph
STARTING, STEPPING = 8192, 2048  # bytes that could come while a block starts, or waits at a barrier


@dataclass(frozen=True)
class ThreadProgram:
    """A kernel program for many threads, with what each of its kernels was made of, and for."""

    program: KernelProgram
    tilings: tuple[Tiling, ...]
    gpus: tuple[Gpu, ...]

    def verified(self, error: float = 1e-9) -> CodeVerdict:
        """Compare the kernels with their graph over finite fields (``code_verification``).

        Raises ``Undecided`` where the graph cannot be made small enough.
        """
        places = [place for place, _ in self.program.graph.blocks]
        of = dict(zip(places, self.gpus, strict=True))

        def lower(graph: KernelGraph, place: int, tiling: Tiling) -> Kernel:
            return lower_for_threads(graph, place, tiling, of[place])

        iterations = 1 + max((gpu.stages for gpu in self.gpus), default=1)
        return verify_program(self.program, self.tilings, lower, error=error, iterations=iterations)


def thread_program(graph: KernelGraph, gpu: Gpu) -> ThreadProgram:
    """Return the kernel program of a graph.

    Operators outside block graphs get kernels of their own. Raises ``SizeError`` for a block graph
    of which no tiles fit.
    """
    whole = in_blocks(graph)
    own = {place for place, _ in graph.blocks}
    found = [kernel_for(whole, place, gpu, is_cut=place in own) for place, _ in whole.blocks]
    return ThreadProgram(
        program_of(whole, [kernel for kernel, _, _ in found]),
        tuple(tiling for _, tiling, _ in found),
        tuple(used for _, _, used in found),
    )


def kernel_for(
    graph: KernelGraph, place: int, gpu: Gpu, *, is_cut: bool
) -> tuple[Kernel, Tiling, Gpu]:
    """Return the kernel of a block graph, its tiling, and what it was lowered for.

    Its own tiling is kept if it ``is_cut`` and fits, with more threads if it takes these. Where no
    tiles fit, operands are read in place and not copied into shared memory first.
    """
    published = published_tiling(dict(graph.blocks)[place])

    def choices() -> Iterator[tuple[Tiling, Gpu]]:
        for used in (gpu, replace(gpu, copy_bytes=0)):
            for times in MORE_THREADS if is_cut else ():
                if times == 1 or times * gpu.threads <= MOST_THREADS:
                    yield published, replace(used, threads=times * gpu.threads)
            yield from ((tiling, used) for tiling in smaller_tilings(graph, place, used))

    refused: SizeError | None = None
    crowded: tuple[Kernel, Tiling, Gpu] | None = None
    for tiling, used in choices():
        if crowded and (tiling, used.copy_bytes) != (published, gpu.copy_bytes):
            break
        try:
            check_fits(graph, place, tiling, used)
            made = lower_for_threads(graph, place, tiling, used), tiling, used
        except SizeError as error:
            refused = refused or error
            continue
        if kept_in_registers(made[0]) <= MOST_KEPT:
            return made
        crowded = crowded or made
    if crowded:
        return crowded
    if is_cut:  # its sums may not fit the registers: right, and slow
        used = replace(gpu, copy_bytes=0)
        with suppress(SizeError):
            return lower_for_threads(graph, place, published, used), published, used
    assert refused
    raise refused


def kept_in_registers(kernel: Kernel) -> int:
    """Return how many numbers a thread keeps in registers, all at once in the worst case."""
    made = (each.buffer for each in walk(kernel.body) if isinstance(each, Allocate))
    return sum(each.size for each in made if each.scope == "registers")


def smaller_tilings(graph: KernelGraph, place: int, gpu: Gpu) -> Iterator[Tiling]:
    """Yield tilings whose tiles may fit, those first by which a multiprocessor loads the least."""
    block = dict(graph.blocks)[place]
    free = free_axes(graph, place)
    choices: list[list[tuple[str, int]]] = []
    for axis, tiles in (
        *((axis, GRID_TILES) for axis, _ in block.grid if axis in free.grid),
        *((loop, LOOP_TILES) for loop, _ in block.loops if loop in free.loops - free.assumed),
    ):
        total = cut_extent(graph, place, axis) or 1
        choices.append([(axis, tile) for tile in dict.fromkeys(min(n, total) for n in tiles)])
    found = [retiled(graph, place, dict(each)) for each in itertools.product(*choices)]
    found = [each for each in found if _fits(graph, place, each, gpu)]
    found.sort(key=lambda each: loaded(graph, place, each, gpu))
    yield from found[:MOST]


def loaded(graph: KernelGraph, place: int, tiling: Tiling, gpu: Gpu) -> int:
    """Return the bytes that a multiprocessor loads for its blocks, and could while it waits."""
    block = dict(graph.blocks)[place]
    steps = math.prod(tiling[loop].steps for loop, _ in block.loops)
    blocks = math.prod(tiling[axis].steps for axis, _ in block.grid)
    total = STARTING + STEPPING * steps
    for node in live_tiles(graph, place, tiling):
        if node.kind == LOAD:
            times = steps if node.stage == IN_LOOP else 1
            total += math.prod(node.shape) * gpu.storage_bytes * times
    return total * -(-blocks // gpu.multiprocessors)


def check_fits(graph: KernelGraph, place: int, tiling: Tiling, gpu: Gpu) -> None:
    """Raise ``SizeError`` for tiles that cannot fit, before they are lowered.

    Both operands of a product are in shared memory at once, and its sums in registers.
    """
    for node in live_tiles(graph, place, tiling):
        if node.kind != PRODUCT:
            continue
        for pair in zip(node.args[::2], node.args[1::2], strict=True):
            shared = [x for x in pair if x.kind != LOAD or gpu.copy_bytes]
            needed = sum(math.prod(x.shape) for x in shared) * gpu.storage_bytes
            if needed > gpu.limit:
                raise SizeError(
                    f"{graph.name}, block graph {place}: operands of {node.name}, in bytes",
                    expected=f"at most the {gpu.limit} of a block's shared memory",
                    got=needed,
                    hint="cut the tiles smaller (tilings.retiled)",
                )
        spread = spread_of(node.shape, gpu.threads, gpu.widest)
        if gpu.matrix_unit:
            spread = matrix_spread(node.shape, gpu.threads) or spread
        if spread.elements > MOST_SUMS:
            raise SizeError(
                f"{graph.name}, block graph {place}: sums of {node.name} for each thread",
                expected=f"at most {MOST_SUMS}",
                got=spread.elements,
                hint="cut the tiles smaller (tilings.retiled)",
            )


def _fits(graph: KernelGraph, place: int, tiling: Tiling, gpu: Gpu) -> bool:
    try:
        check_fits(graph, place, tiling, gpu)
    except SizeError:
        return False
    return True


def live_tiles(graph: KernelGraph, place: int, tiling: Tiling) -> list[Node]:
    """Return the full tiles of a block graph that something needs."""
    whole = KernelLowering(graph, place, tiling, BlockLowering)
    tiles = whole.tiles({axis: ZERO for axis, _ in whole.grid}, ())
    live = live_nodes(tiles)
    return [node for node in tiles.nodes if node in live]
