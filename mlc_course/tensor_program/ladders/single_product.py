"""The ladder of one matrix product, alone or with an elementwise block behind it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mlc_course.machine import Machine
from mlc_course.tensor_program.ladders.micro_kernels import (
    Product,
    by_shape,
    micro_kernel,
    register_tile,
    tile_for,
)
from mlc_course.tensor_program.ladders.rungs import Rung
from mlc_course.tensor_program.ladders.tiles_in_place import (
    in_registers,
    tiles_in_block,
    tiles_in_place,
)
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import Schedule

Apply = Callable[[Schedule], None]


def rungs(machine: Machine, product: Product) -> tuple[Rung, ...]:
    """The rungs for a product of any sizes, by the names of its block, operands and loops."""
    size, p = register_tile(machine), product

    def gebp(**choices: bool) -> Apply:
        return lambda sch: micro_kernel(sch, p, tile_for(machine, sch, p), **choices)

    def reorder(sch: Schedule) -> None:
        steps.reorder(sch, p.block, p.row, p.inner, p.column)

    def tile(sch: Schedule, *, cores: bool = False) -> None:
        axes, tile = lookup.axes(sch, p.block), tile_for(machine, sch, p)
        tiles = tiles_in_block(machine, tile, axes[p.row], axes[p.inner])
        tiles_in_place(sch, p, tile, tiles)
        for block in lookup.between(sch, p.block, "")[:1]:
            steps.fuse_consumer(sch, block, into=p.block, at=f"{p.column}_0")
        if cores:
            steps.parallel(sch, p.block, f"{p.row}_0")
        in_registers(sch, p)
        steps.hoist_init(sch, p.block, p.inner)

    return (
        Rung(
            "naive",
            "Three nested loops, the innermost down a column.",
            lambda sch: None,
            row_by_row=True,
        ),
        Rung("reorder", "The innermost loop walks along rows of B and of the result.", reorder),
        Rung(
            "tile",
            f"Tiles of {size}, or a little less, are summed in registers, with their columns in "
            "vectors; what follows the product is done block by block.",
            tile,
        ),
        Rung("parallel", "Blocks of rows go to cores.", partial(tile, cores=True)),
        Rung(
            "pack-B",
            "B is laid out in panels of columns; each tile is summed in a local buffer.",
            gebp(unrolled=False),
        ),
        Rung(
            "micro-kernel",
            "The tile is written out row by row, so that its sums are sure to live in registers; "
            "LLVM often sees to it unasked.",
            gebp(),
        ),
        Rung(
            "larger-stays",
            "The larger operand stays in the second cache, a few panels at a time, and the smaller "
            "one passes by; panels of B are packed just before they are used. For a few rows "
            "nothing is packed.",
            lambda sch: by_shape(sch, p, machine),
        ),
    )
