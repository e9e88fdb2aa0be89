"""The article's ladder: two matrix products with exp between, from naive past NumPy.

The first nine rungs are the article's, on today's TensorIR; its tile is (16, 8, 8). The others are
what the article says TVM lacks: staged memory, packing, and a micro-kernel held in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mlc_course.machine import Machine
from mlc_course.tensor_program.ladders.micro_kernels import (
    Product,
    by_shape,
    left_is_larger,
    micro_kernel,
    register_tile,
    tile_for,
)
from mlc_course.tensor_program.ladders.rungs import Rung
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import Schedule

Apply = Callable[[Schedule], None]

FIRST = Product("C", left="A", right="B", row="m", column="l", inner="k")
SECOND = Product("F", left="D", right="E", row="m", column="n", inner="l")
PRODUCTS = (FIRST, SECOND)
ROWS, COLUMNS, INNER = 16, 8, 8  # the article's tile


def _naive(sch: Schedule) -> None:
    """The program as TE writes it."""


def _reorder(sch: Schedule) -> None:
    for p in PRODUCTS:
        steps.reorder(sch, p.block, p.row, p.inner, p.column)


def _split_reduction(sch: Schedule) -> None:
    for p in PRODUCTS:
        steps.pad(sch, p.block, **{p.inner: INNER})
        steps.split(sch, p.block, p.inner, INNER)
        steps.reorder(sch, p.block, f"{p.inner}_0", p.row, f"{p.inner}_1", p.column)


def _tile(sch: Schedule) -> None:
    for p in PRODUCTS:
        steps.pad(sch, p.block, **{p.row: ROWS, p.column: COLUMNS, p.inner: INNER})
        steps.tile(sch, p.block, **{p.row: ROWS, p.column: COLUMNS, p.inner: INNER})
        steps.reorder(sch, p.block, f"{p.inner}_1", f"{p.column}_1")


def _hoist_inits(sch: Schedule) -> None:
    for p in PRODUCTS:
        steps.hoist_init(sch, p.block, f"{p.inner}_0")


def _join_exp(sch: Schedule) -> None:
    # On sizes that the tile does not divide, exp is followed by a copy with zeros around. The two
    # become one block: fused one by one, TVM would leave those zeros unwritten.
    *earlier, last = lookup.between(sch, FIRST.block, SECOND.block)
    for block in earlier:
        steps.inline(sch, block)
    steps.fuse_consumer(sch, last, into=FIRST.block, at=f"{FIRST.column}_0")


def _hoist_init(sch: Schedule) -> None:
    _tile(sch)
    _hoist_inits(sch)


def _fuse_exp(sch: Schedule) -> None:
    _tile(sch)
    _join_exp(sch)
    _hoist_inits(sch)


def _merge_loops(sch: Schedule) -> None:
    _merged(sch)
    _hoist_inits(sch)


def _merged(sch: Schedule) -> None:
    _tile(sch)
    _join_exp(sch)
    for copy in lookup.late_producers(sch, FIRST.block, SECOND.block):
        steps.inline(sch, copy)  # E with zeros around, on sizes that the tile does not divide
    steps.merge(sch, FIRST.block, SECOND.block, at=f"{FIRST.row}_0")


def _vectorize(sch: Schedule) -> None:
    _merged(sch)
    _vector_columns(sch)
    _hoist_inits(sch)


def _vector_columns(sch: Schedule) -> None:
    for p in PRODUCTS:
        steps.vectorize(sch, p.block, f"{p.column}_1")


def _parallel(sch: Schedule) -> None:
    _merged(sch)
    steps.parallel(sch, FIRST.block, lookup.loops(sch, FIRST.block)[0])
    _vector_columns(sch)
    _hoist_inits(sch)


def _products(machine: Machine, *, larger_stays: bool = False, **choices: bool) -> Apply:
    def apply(sch: Schedule) -> None:
        tiles = [tile_for(machine, sch, p) for p in PRODUCTS]
        rows = [larger_stays and left_is_larger(sch, p) for p in PRODUCTS]
        for p, tile, rows_outermost in zip(PRODUCTS, tiles, rows, strict=True):
            micro_kernel(sch, p, tile, rows_outermost=rows_outermost, **choices)

    return apply


def _best(sch: Schedule, machine: Machine) -> None:
    by_shape(sch, FIRST, machine, fast_exp=True)
    by_shape(sch, SECOND, machine)


def rungs(machine: Machine) -> tuple[Rung, ...]:
    """The rungs, for any sizes; register tiles are the machine's, and waste little at the edges."""
    size = register_tile(machine)
    vectors = size.columns // machine.lanes
    return (
        Rung(
            "naive",
            "Three nested loops: the innermost walks down a column of B, and each element it "
            "touches stands in another cache line.",
            _naive,
            row_by_row=True,
        ),
        Rung(
            "reorder",
            "With the column loop innermost, B and C are read along their rows: 16 float32 share "
            "a cache line, and neighbours can share a vector.",
            _reorder,
        ),
        Rung(
            "split-reduction",
            "Eight rows of B are used for all of A before the next eight: fewer passes over B, "
            "many more over C.",
            _split_reduction,
        ),
        Rung(
            "tile",
            "Blocks of 16 x 8 x 8 stay in the first-level cache while they are used; but "
            "TensorIR keeps the zeroing of C inside the innermost loops, behind a branch.",
            _tile,
        ),
        Rung(
            "hoist-init",
            "Setting C to zero before the sum takes the branch out of the innermost loop; TE's "
            "schedules did so by themselves.",
            _hoist_init,
        ),
        Rung(
            "fuse-exp",
            "exp is taken of each tile as soon as it is summed, so C is not read again from "
            "memory.",
            _fuse_exp,
        ),
        Rung(
            "merge-loops",
            "Both products share their outer loop: 16 rows of D are used while they are in cache.",
            _merge_loops,
        ),
        Rung(
            "vectorize",
            "The innermost 8 columns become one vector instruction; half of an AVX-512 register "
            "stays empty.",
            _vectorize,
        ),
        Rung("parallel", "The blocks of 16 rows are shared among the cores.", _parallel),
        Rung(
            "stage-memory",
            f"A new tile, {size} or a little less, fits the registers of this machine; it is "
            "summed in a local buffer and written once, and B is read from a private copy, still "
            "row by row.",
            _products(machine, pack_right=False, unrolled=False),
        ),
        Rung(
            "pack-B",
            f"The copy of B is laid out in panels of {vectors} vectors a row, so the inner loop "
            "reads straight on: no new page and no new cache set for each row.",
            _products(machine, unrolled=False),
        ),
        Rung(
            "pack-A",
            "A is laid out in panels too, each as high as the tile, as BLAS libraries do.",
            _products(machine, pack_left=True, unrolled=False),
        ),
        Rung(
            "micro-kernel",
            "The tile is written out row by row: with constant indices, its sums are sure to stay "
            "in registers. LLVM often sees that unasked; then nothing changes.",
            _products(machine, pack_left=True),
        ),
        Rung(
            "pack-per-panel",
            "Each panel of B is packed just before use, so it is still in cache; then all of A "
            "passes by.",
            _products(machine, pack_left=True, per_panel=True),
        ),
        Rung(
            "larger-stays",
            "Where A is no smaller than B, the other way round: panels of A, packed just before "
            "use, stay in the nearest caches, and B passes by. What passes by is read again and "
            "again from far away, so it had better be the smaller one.",
            _products(machine, pack_left=True, per_panel=True, larger_stays=True),
        ),
        Rung(
            "polynomial-exp",
            "exp as a polynomial is vector instructions on a tile in registers, where the C "
            "library takes one call per element. On other sizes than the article's a small A is "
            "not packed, and for a few rows nothing is.",
            partial(_best, machine=machine),
        ),
    )
