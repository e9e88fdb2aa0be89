"""The article's ladder: two matrix products with exp between, from naive past NumPy.

The first rungs are the article's, on today's TensorIR, with a tile that suits the machine. The
others are what the article says TVM lacks: packing, and a micro-kernel held in registers.
``article`` is the same climb with the article's own tile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mlc_course.machine import Machine
from mlc_course.tensor_program.ladders.micro_kernels import (
    Product,
    by_shape,
    few_panels,
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
OfProduct = Callable[[Schedule, Product], None]
OfSum = Callable[[Product], str]

FIRST = Product("C", left="A", right="B", row="m", column="l", inner="k")
SECOND = Product("F", left="D", right="E", row="m", column="n", inner="l")
PRODUCTS = (FIRST, SECOND)
ROWS, COLUMNS, INNER = 16, 8, 8  # the article's tile, for vectors of 128 bits


def _reorder(sch: Schedule) -> None:
    for p in PRODUCTS:
        steps.reorder(sch, p.block, p.row, p.inner, p.column)


def _split_reduction(sch: Schedule) -> None:
    for p in PRODUCTS:
        steps.pad(sch, p.block, **{p.inner: INNER})
        steps.split(sch, p.block, p.inner, INNER)
        steps.reorder(sch, p.block, f"{p.inner}_0", p.row, f"{p.inner}_1", p.column)


# --- tiles ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tiling:
    """The cut of both products into tiles, and the loop of each that runs the sum over tiles.

    ``vectorize`` makes vectors of a tile's columns; a rung of its own, or a part of ``tile``.
    """

    cut: Apply
    vectorize: OfProduct
    sums: OfSum


def _article_cut(sch: Schedule) -> None:
    for p in PRODUCTS:
        factors = {p.row: ROWS, p.column: COLUMNS, p.inner: INNER}
        steps.pad(sch, p.block, **factors)
        steps.tile(sch, p.block, **factors)
        steps.reorder(sch, p.block, f"{p.inner}_1", f"{p.column}_1")


def _article_vectorize(sch: Schedule, p: Product) -> None:
    steps.vectorize(sch, p.block, f"{p.column}_1")


ARTICLE = Tiling(_article_cut, _article_vectorize, lambda p: f"{p.inner}_0")


def _for_machine(machine: Machine) -> Tiling:
    def cut(sch: Schedule) -> None:
        axes = lookup.axes(sch, SECOND.block)
        tile = tile_for(machine, sch, FIRST)
        tiles = tiles_in_block(machine, tile, axes[SECOND.row], axes[SECOND.inner])
        for p in PRODUCTS:
            tiles_in_place(sch, p, tile, tiles)

    return Tiling(cut, in_registers, lambda p: p.inner)


def _tiles(
    tiling: Tiling,
    *,
    hoisted: bool = True,
    fused: bool = False,
    merged: bool = False,
    vectors: bool = False,
    cores: bool = False,
) -> Apply:
    """The steps of the rungs from ``tile`` to ``parallel``, each of which takes one more."""

    def apply(sch: Schedule) -> None:
        tiling.cut(sch)
        if fused:
            _join_exp(sch)
        if merged:
            _merge(sch)
        if cores:
            steps.parallel(sch, FIRST.block, lookup.loops(sch, FIRST.block)[0])
        for p in PRODUCTS:
            if vectors:
                tiling.vectorize(sch, p)
            if hoisted:
                steps.hoist_init(sch, p.block, tiling.sums(p))

    return apply


def _join_exp(sch: Schedule) -> None:
    # On sizes that the tile does not divide, exp is followed by a copy with zeros around. The two
    # become one block: fused one by one, TVM would leave those zeros unwritten.
    *earlier, last = lookup.between(sch, FIRST.block, SECOND.block)
    for block in earlier:
        steps.inline(sch, block)
    steps.fuse_consumer(sch, last, into=FIRST.block, at=f"{FIRST.column}_0")


def _merge(sch: Schedule) -> None:
    for copy in lookup.late_producers(sch, FIRST.block, SECOND.block):
        steps.inline(sch, copy)  # E with zeros around, on sizes that the tile does not divide
    steps.merge(sch, FIRST.block, SECOND.block, at=f"{FIRST.row}_0")


# --- register tiles -------------------------------------------------------------------------------


def _products(machine: Machine, **choices: bool) -> Apply:
    def apply(sch: Schedule) -> None:
        for p, tile in [(p, tile_for(machine, sch, p)) for p in PRODUCTS]:
            micro_kernel(sch, p, tile, **choices)

    return apply


def _few_panels(sch: Schedule, machine: Machine) -> None:
    for p in PRODUCTS:
        few_panels(sch, p, machine)


def _by_shape(sch: Schedule, machine: Machine, *, fast_exp: bool = False) -> None:
    by_shape(sch, FIRST, machine, fast_exp=fast_exp)
    by_shape(sch, SECOND, machine)


# --- the rungs ------------------------------------------------------------------------------------

LOOPS = (
    Rung(
        "naive",
        "Three nested loops: the innermost walks down a column of B, and each element it "
        "touches stands in another cache line.",
        lambda sch: None,
        row_by_row=True,
    ),
    Rung(
        "reorder",
        "With the column loop innermost, B and C are read along their rows: 16 float32 share "
        "a cache line, and neighbours can share a vector.",
        _reorder,
    ),
)


HOIST_INIT = (
    "Setting C to zero before the sum takes the branch out of the innermost loop; TE's schedules "
    "did so by themselves."
)
FUSE_EXP = (
    "exp is taken of each tile as soon as it is summed, so C is not read again from memory, and "
    "the memory of one tile serves for all of C."
)
MERGE_LOOPS = "Both products share their outer loop: {} of D are used while they are in cache."
PARALLEL = "The blocks of {} are shared among the cores."
NOT_HOISTED = (
    "TensorIR keeps the zeroing of C inside the innermost loops, behind a branch, so that no sum "
    "stays in a register; hoist-init takes it out."
)


def article(_machine: Machine) -> tuple[Rung, ...]:
    """The article's nine rungs with its own tile, whatever the machine."""
    fused = partial(_tiles, ARTICLE, fused=True)
    rows = f"{ROWS} rows"
    return (
        *LOOPS,
        Rung(
            "split-reduction",
            f"{INNER} rows of B are used for all of A before the next {INNER}: fewer passes over "
            "B, many more over C.",
            _split_reduction,
        ),
        Rung(
            "tile",
            f"Blocks of {ROWS} x {COLUMNS} x {INNER} stay in the first-level cache while they are "
            "used.",
            _tiles(ARTICLE, hoisted=False),
            setback=NOT_HOISTED,
        ),
        Rung("hoist-init", HOIST_INIT, _tiles(ARTICLE)),
        Rung("fuse-exp", FUSE_EXP, fused()),
        Rung("merge-loops", MERGE_LOOPS.format(rows), fused(merged=True)),
        Rung(
            "vectorize",
            f"The innermost {COLUMNS} columns become vector instructions: two registers of 128 "
            "bits, one of 256, half of one of 512.",
            fused(merged=True, vectors=True),
        ),
        Rung("parallel", PARALLEL.format(rows), fused(merged=True, vectors=True, cores=True)),
    )


def rungs(machine: Machine) -> tuple[Rung, ...]:
    """The rungs for any sizes; tiles are the machine's, and waste little at the edges."""
    size, tiling = register_tile(machine), _for_machine(machine)
    vectors, rows = size.columns // machine.lanes, "as many rows as half of the second cache holds"
    tiled = partial(_tiles, tiling, vectors=True)
    return (
        *LOOPS,
        Rung(
            "tile",
            f"Tiles of {size}, or a little less, are summed one by one: with {vectors} vectors a "
            "row, and the rows written out, they fit the registers of this machine, and a vector "
            "of B that is loaded serves all rows of a tile.",
            tiled(hoisted=False),
            setback=NOT_HOISTED,
        ),
        Rung("hoist-init", HOIST_INIT, tiled()),
        Rung("fuse-exp", FUSE_EXP, tiled(fused=True)),
        Rung("merge-loops", MERGE_LOOPS.format(rows), tiled(fused=True, merged=True)),
        Rung("parallel", PARALLEL.format("rows"), tiled(fused=True, merged=True, cores=True)),
        Rung(
            "pack-B",
            f"B is copied into panels of {vectors} vectors a row, so the inner loop reads "
            "straight on: no new page and no new cache set for each row. Tiles are summed in a "
            "local buffer, and each panel is used by all rows of A before the next.",
            _products(machine, unrolled=False),
        ),
        Rung(
            "micro-kernel",
            "The tile is written out row by row: with constant indices, its sums are sure to stay "
            "in registers. LLVM often sees that unasked; then nothing changes.",
            _products(machine),
        ),
        Rung(
            "pack-per-panel",
            "A few panels of B are packed just before they are used, so they are still in the "
            "second cache while all of A passes by.",
            partial(_few_panels, machine=machine),
        ),
        Rung(
            "larger-stays",
            "Where A is no smaller than B, the other way round: a few panels of A stay in the "
            "second cache, and B passes by. What passes by is read again and again from far away, "
            "so it had better be the smaller one. For a few rows nothing is packed.",
            partial(_by_shape, machine=machine),
        ),
        Rung(
            "polynomial-exp",
            "exp as a polynomial is vector instructions on a tile in registers, where the C "
            "library takes one call per element.",
            partial(_by_shape, machine=machine, fast_exp=True),
        ),
    )
