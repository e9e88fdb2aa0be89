"""Register tiles of a product whose operands are read where they are, before any is packed.

The tiles are those of ``micro_kernels``; here each is summed in the result itself.
"""

from __future__ import annotations

from mlc_course.machine import Machine
from mlc_course.tensor_program.ladders.micro_kernels import (
    FLOAT_BYTES,
    SMALLEST_L2,
    Product,
    RegisterTile,
    in_vectors,
)
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import Schedule


def tiles_in_block(machine: Machine, tile: RegisterTile, rows: int, inner: int) -> int:
    """Return the number of tiles that make a block of a left operand of ``rows`` x ``inner``.

    A block fills half of the second cache, the other half is for the panel that it is multiplied
    by. It is no more than the share of one core, and all blocks have as many tiles.
    """
    most = (machine.l2_bytes or SMALLEST_L2) // 2 // (FLOAT_BYTES * inner * tile.rows)
    tiles = -(-rows // tile.rows)
    return lookup.divisor(tiles, at_most=max(1, min(most, -(-tiles // machine.cores))))


def tiles_in_place(sch: Schedule, p: Product, tile: RegisterTile, tiles: int) -> None:
    """Cut a product into blocks of so many tiles: block by block, panel by panel, the tiles in it.

    before  for m, n, k:                          C[m, n] += A[m, k] * B[k, n]
    after   for m_0, n_0, m_1_0, k, m_1_1, n_1:   the same body, at m = m_0*64 + m_1_0*8 + m_1_1
    """
    row, column = (f"{loop}_{{}}".format for loop in (p.row, p.column))
    steps.split(sch, p.block, p.row, tiles * tile.rows, partial=True)
    steps.split(sch, p.block, row(1), tile.rows)
    steps.split(sch, p.block, p.column, tile.columns, partial=True)
    inner = row("1_0"), p.inner, row("1_1"), column(1)
    steps.reorder(sch, p.block, row(0), column(0), *inner)


def in_registers(sch: Schedule, p: Product) -> None:
    """Make vectors of the columns of a tile, and write its rows out, to be held in registers."""
    in_vectors(sch, p.block, f"{p.column}_1")
    steps.unroll(sch, p.block, f"{p.row}_1_1")
