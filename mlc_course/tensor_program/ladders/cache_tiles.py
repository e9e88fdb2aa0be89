"""Tiles for the caches: a few rows of B in the nearest one, a block of C in the next.

Source: M. Lam, E. Rothberg, M. Wolf, The Cache Performance and Optimizations of Blocked Algorithms,
ASPLOS 1991.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_course.machine import Machine
from mlc_course.tensor_program.ladders.micro_kernels import (
    FLOAT_BYTES,
    SMALLEST_L2,
    STREAMS,
    Product,
)
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import Schedule

SMALLEST_L1 = 32 << 10  # where the system does not tell


@dataclass(frozen=True)
class CacheTile:
    """``rows`` x ``columns`` of the result, to which ``inner`` rows of B are added at a time."""

    rows: int
    columns: int
    inner: int

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns} x {self.inner}"


def largest_tile(machine: Machine) -> CacheTile:
    """The tile whose part of B takes half of the first-level cache, and its part of C of the next.

    B has few rows in a tile, as many as prefetchers follow: they are read side by side, so that an
    element of C is loaded and stored once for all of them. More rows would not stay in the cache
    either: where rows are 4 KiB apart, all of them want the same few sets.
    """
    first, second = machine.l1d_bytes or SMALLEST_L1, machine.l2_bytes or SMALLEST_L2
    columns = first // 2 // (FLOAT_BYTES * STREAMS)
    return CacheTile(second // 2 // (FLOAT_BYTES * columns), columns, STREAMS)


def cache_tile(machine: Machine, sch: Schedule, p: Product) -> CacheTile:
    """The tile for a product of a schedule, as long as its loops are whole.

    Each loop is cut into equal parts, none above ``largest_tile``; columns are whole vectors, and
    there are as many blocks of rows for each core.
    """
    axes, most = lookup.axes(sch, p.block), largest_tile(machine)
    blocks = _parts(_parts(axes[p.row], most.rows), machine.cores) * machine.cores
    columns = _parts(axes[p.column], _parts(axes[p.column], most.columns))
    return CacheTile(
        _parts(axes[p.row], blocks),
        _parts(columns, machine.lanes) * machine.lanes,
        _parts(axes[p.inner], _parts(axes[p.inner], most.inner)),
    )


def _parts(length: int, part: int) -> int:
    """The number of parts of this length that cover it all; also the length of so many parts."""
    return -(-length // part)


def cache_tiles(sch: Schedule, p: Product, machine: Machine) -> None:
    """Cut a product into blocks of the result, each summed over a few rows of B at a time."""
    size = cache_tile(machine, sch, p)
    factors = {p.row: size.rows, p.column: size.columns, p.inner: size.inner}
    steps.pad(sch, p.block, **factors)
    steps.tile(sch, p.block, **factors)


def vector_columns(sch: Schedule, p: Product, machine: Machine) -> None:
    """Cut the columns of a cache tile into vectors; each is summed over the tile's rows of B."""
    steps.split(sch, p.block, f"{p.column}_1", machine.lanes)
    steps.reorder(sch, p.block, f"{p.inner}_1", f"{p.column}_1_1")
    steps.vectorize(sch, p.block, f"{p.column}_1_1")
