"""The micro-kernel: a register tile of C, summed over packed panels (GEBP).

Source: K. Goto, R. van de Geijn, Anatomy of High-Performance Matrix Multiplication, ACM TOMS 2008;
F. Van Zee, R. van de Geijn, BLIS, ACM TOMS 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_course.machine import Machine
from mlc_course.tensor_program.schedule import data_steps, lookup, polynomial_exp, steps
from mlc_course.tensor_program.tir import Schedule


@dataclass(frozen=True)
class RegisterTile:
    """``rows`` x ``columns`` float32 of the result, held in vector registers during the sum."""

    rows: int
    columns: int


def register_tile(machine: Machine) -> RegisterTile:
    """The tile with the fewest loads per multiply-add among those that fit in the registers.

    A tile of r rows and v vectors takes r * v accumulators, v vectors of B and one broadcast
    element of A; each step of the sum loads r + v of them for r * v multiply-adds. Powers of two,
    because they divide the sizes of most networks; of equals, the wider one, which walks further
    along each packed row.
    """
    fitting = [
        (rows, vectors)
        for rows in (1, 2, 4, 8, 16)
        for vectors in (1, 2, 4)
        if rows * vectors + vectors + 1 <= machine.vector_registers
    ]
    rows, vectors = min(fitting, key=lambda t: ((t[0] + t[1]) / (t[0] * t[1]), -t[1]))
    return RegisterTile(rows, vectors * machine.lanes)


@dataclass(frozen=True)
class Product:
    """A block that computes ``left @ right``, with its loops: row, column, reduction."""

    block: str
    left: str
    right: str
    row: str
    column: str
    inner: str


def register_tiles(sch: Schedule, p: Product, tile: RegisterTile) -> None:
    """Cut the product into register tiles: for each column panel, for each row block, the sum."""
    steps.pad(sch, p.block, **{p.row: tile.rows, p.column: tile.columns})
    steps.tile(sch, p.block, **{p.column: tile.columns, p.row: tile.rows})
    steps.reorder(sch, p.block, p.inner, f"{p.row}_1", f"{p.column}_1")


def micro_kernel(
    sch: Schedule,
    p: Product,
    tile: RegisterTile,
    *,
    pack_right: bool = True,
    pack_left: bool = False,
    unrolled: bool = True,
    per_panel: bool = False,
    fast_exp: bool = False,
) -> None:
    """Compute a product in register tiles, with its column panels shared among the cores.

    ``pack_right``, ``pack_left``  lay the operands out in panels (else B is copied unchanged)
    ``unrolled``   write the tile's rows out, so that its sums live in registers
    ``per_panel``  pack each panel of B just before it is used, not all of B beforehand
    ``fast_exp``   compute an exp that follows the product as a polynomial
    """
    register_tiles(sch, p, tile)
    column_panel, row, column = f"{p.column}_0", f"{p.row}_1", f"{p.column}_1"
    if pack_right:
        copy = data_steps.pack(sch, p.block, p.right, along=p.column, panel=tile.columns)
    else:
        copy = data_steps.stage(sch, p.block, p.right)
    if pack_left:
        data_steps.pack(sch, p.block, p.left, along=p.row, panel=tile.rows)
    writer = data_steps.accumulate_locally(sch, p.block, at=f"{p.row}_0")
    if fast_exp:
        polynomial_exp(sch, writer)
    steps.parallel(sch, p.block, column_panel)
    if per_panel:
        steps.compute_per_iteration(sch, copy, of=p.block, at=column_panel)
    if unrolled:
        steps.unroll(sch, p.block, row)
    steps.vectorize(sch, p.block, column)
    steps.hoist_init(sch, p.block, p.inner)
    for block in (f"{p.block}_init", writer):
        *_, rows, columns = lookup.loops(sch, block)
        steps.vectorize(sch, block, columns)
        if unrolled:
            steps.unroll(sch, block, rows)
