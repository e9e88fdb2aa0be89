"""Three problems of several stages, and ways to fuse each, which lesson 8 compares.

Elementwise stages do little arithmetic on each byte, a matrix product does much; softmax is
between. Fusion saves bytes in all three, and saves time where bytes are what the core waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from mlc_course.errors import check_known
from mlc_course.machine import describe
from mlc_course.tensor_program.memory import Cache, Traffic, traffic
from mlc_course.tensor_program.problems import (
    Array,
    Operand,
    Workload,
    elementwise,
    matmul_exp_matmul,
    softmax,
)
from mlc_course.tensor_program.processor import Stage, stages
from mlc_course.tensor_program.schedule import lookup, polynomial_exp, steps
from mlc_course.tensor_program.tir import Schedule, te, tirx

Apply = Callable[[Schedule], None]
# The model machine. Small problems do not fit into its caches, as large ones do not fit into real
# caches, and a count takes no time.
SMALL_CACHES = (Cache(4 * 1024), Cache(64 * 1024))


@dataclass(frozen=True)
class Fusion:
    """One way to run the stages: its name, what happens to the bytes, and the steps."""

    name: str
    why: str
    apply: Apply


@dataclass(frozen=True)
class Counted:
    """The bytes that a program moves, and how often it computes each element."""

    traffic: Traffic
    stages: tuple[Stage, ...]

    @property
    def flops(self) -> int:
        """Float operations of a whole run."""
        return sum(stage.flops for stage in self.stages)


@dataclass(frozen=True)
class Staged:
    """A problem of several stages. The first of its fusions leaves them apart.

    ``counted`` is small enough to simulate, ``measured`` large enough to time. ``prepare`` and
    ``finish`` are steps for timing, the same for every fusion: they make the arithmetic fast, so
    that it does not hide the cost of the bytes.
    """

    name: str
    counted: Workload
    measured: Workload
    fusions: tuple[Fusion, ...]
    prepare: Apply
    finish: Apply

    def fusion(self, name: str) -> Fusion:
        """Return the fusion of this name; raises ``UsageError`` for a name that is not there."""
        known = {each.name: each for each in self.fusions}
        check_known(f"{self.name}: no such fusion", name, known)
        return known[name]

    def small(self, fusion: str) -> Schedule:
        """Return the small program, fused in this way."""
        sch = Schedule(self.counted.program())
        self.fusion(fusion).apply(sch)
        return sch

    def count(self, fusion: str, *levels: Cache) -> Counted:
        """Count bytes between the caches, ``SMALL_CACHES`` by default, and runs of each stage.

        Raises ``UsageError`` for a name that is not there.
        """
        sch = self.small(fusion)
        return Counted(traffic(sch, *(levels or SMALL_CACHES)), stages(sch))

    def quick(self, fusion: str) -> Apply:
        """Return the steps that make the program to time."""
        chosen = self.fusion(fusion)

        def apply(sch: Schedule) -> None:
            self.prepare(sch)
            chosen.apply(sch)
            self.finish(sch)

        return apply


# --- sizes ----------------------------------------------------------------------------------------

MIB = 1 << 20


def rows_of(columns: int, wanted: int, *, least: int, most: int) -> int:
    """Return how many rows of float32 make an array of about ``wanted`` bytes, within bounds.

    The number is a power of two.
    """
    rows = min(max(wanted, least), most) // (4 * columns)
    return 1 << rows.bit_length() - 1


def paper_bytes(name: str, problem: Staged | None = None) -> tuple[int, int]:
    """Return the bytes to and from memory of a raced problem, apart and fused, in whole arrays.

    An array that is read moves once, a new one twice, and one that is written in place once more.
    Raises ``UsageError`` for an unknown name.
    """
    work = (problem or staged(name)).measured
    if name != "matmul_exp_matmul":
        array = 4 * prod(work.result.shape)
        return 8 * array, 3 * array
    between = 4 * work.sizes["M"] * work.sizes["L"]  # C moves three times, and D twice
    once = work.bytes + 4 * prod(work.result.shape)  # A, B, E are read; F is fetched and returned
    return once + 5 * between, once


# --- three passes over memory ---------------------------------------------------------------------


def scale_shift_clip(rows: int = 4096, columns: int = 4096) -> Workload:
    """W = max(2 X + 1, 0), in three stages: Y = 2 X, Z = Y + 1, W = max(Z, 0).

    NumPy's side makes the same three passes, the second and third in place.
    """
    operands = (Operand("X", (rows, columns)),)

    def expression() -> list[te.Tensor]:
        two, one, zero = (tirx.const(value, "float32") for value in (2.0, 1.0, 0.0))
        x = te.placeholder((rows, columns), name="X")
        y = te.compute(x.shape, lambda m, n: x[m, n] * two, name="Y", varargs_names=["m", "n"])
        z = elementwise("Z", y, lambda value: value + one)
        return [x, elementwise("W", z, lambda value: te.max(value, zero))]

    def numpy(x: Array, out: Array) -> None:
        np.multiply(x, np.float32(2), out=out)
        np.add(out, np.float32(1), out=out)
        np.maximum(out, np.float32(0), out=out)

    return Workload(
        name="scale_shift_clip",
        sizes={"rows": rows, "columns": columns},
        operands=operands,
        result=Operand("W", (rows, columns)),
        expression=expression,
        numpy=numpy,
        exact=lambda x: np.maximum(2 * x + 1, 0),
        flops=3 * rows * columns,
    )


HERE = describe()
TILE = {"row": 16, "column": 32, "inner": 16}  # of both matrix products
PRODUCTS = {"C": ("m", "l", "k"), "F": ("m", "n", "l")}  # row, column and inner loop


def nothing(sch: Schedule) -> None:
    """Leave the program unchanged."""


def inlined(*blocks: str) -> Apply:
    """Compute each of these blocks inside its readers."""

    def apply(sch: Schedule) -> None:
        for block in blocks:
            steps.inline(sch, block)

    return apply


def row_by_row(sch: Schedule) -> None:
    """Run all stages for one row at a time."""
    *before, last = lookup.blocks(sch)
    for block in reversed(before):
        steps.compute_per_iteration(sch, block, of=last, at="m")


# --- softmax ----------------------------------------------------------------------------------


def several_sums(sch: Schedule) -> None:
    """Prepare sums and maxima for vectors, and compute exp as a polynomial."""
    polynomial_exp(sch, "Exp")
    count = lookup.divisor(lookup.axes(sch, "Sum")["k"], at_most=4 * describe().lanes)
    for block in ("Sum", "Max"):
        steps.several_sums(sch, block, "k", count)


def vector_sums(sch: Schedule) -> None:
    """Put the loop over independent sums innermost, as vectors."""
    for block in [name for name in lookup.blocks(sch) if name.endswith("_rf")]:
        (k,) = lookup.reduction_loops(sch, block)
        around = [each for each in lookup.loops(sch, block) if each != k]
        lane = [each for each in around if sch.get(lookup.loop(sch, block, each)).extent != 1][-1]
        steps.reorder(sch, block, k, lane)
        steps.vectorize(sch, block, lane)
        steps.hoist_init(sch, block, k)


def sum_per_tile(sch: Schedule) -> None:
    """Run row by row, but compute the whole sum again for each 64 columns of the result."""
    steps.split(sch, "P", "n", 64)
    *before, last = lookup.blocks(sch)
    for block in reversed(before):
        at = "m" if block.startswith("Max") else "n_0"
        steps.compute_per_iteration(sch, block, of=last, at=at)


def rows_exp_inlined(sch: Schedule) -> None:
    """Run row by row, and compute exp both where it is summed and where it is divided."""
    steps.inline(sch, "Exp")
    row_by_row(sch)


# --- two matrix products ----------------------------------------------------------------------


def tiled(sch: Schedule) -> None:
    """Run both products tile by tile."""
    for block, (row, column, inner) in PRODUCTS.items():
        steps.tile(sch, block, **{row: TILE["row"], column: TILE["column"], inner: TILE["inner"]})
        steps.reorder(sch, block, f"{inner}_1", f"{column}_1")


def exp_in_tile(sch: Schedule) -> None:
    """Take exp of each tile of the first product as soon as its sum is complete."""
    tiled(sch)
    steps.fuse_consumer(sch, "D", into="C", at="l_0")


def merged(sch: Schedule) -> None:
    """Run both products in one loop over blocks of rows."""
    exp_in_tile(sch)
    steps.merge(sch, "C", "F", at="m_0")


def exp_in_product(sch: Schedule) -> None:
    """Take exp inside the second product."""
    tiled(sch)
    steps.inline(sch, "D")


def first_in_second(sch: Schedule) -> None:
    """Compute, for each tile of the second product, the rows of the first one that it needs."""
    tiled(sch)
    steps.compute_per_iteration(sch, "D", of="F", at="n_0")
    steps.compute_per_iteration(sch, "C", of="D", at="n_0")
    row, column, inner = lookup.loops(sch, "C")[-3:]  # TVM makes these three loops anew
    steps.tile(sch, "C", **{column: TILE["column"], inner: TILE["inner"]})
    steps.reorder(sch, "C", f"{column}_0", f"{inner}_0", row, f"{inner}_1", f"{column}_1")


def vector_columns(sch: Schedule) -> None:
    """Run columns as vectors, and set the zeros before the sum."""
    for block in PRODUCTS:
        inside = lookup.loops(sch, block)
        summed = lookup.reduction_loops(sch, block)
        steps.vectorize(sch, block, inside[-1])
        steps.hoist_init(sch, block, next(name for name in inside if name in summed))


PROBLEMS: dict[str, Staged] = {
    each.name: each
    for each in (
        Staged(
            "scale_shift_clip",
            counted=scale_shift_clip(128, 256),
            measured=scale_shift_clip(
                rows_of(2048, HERE.l3_bytes, least=32 * MIB, most=128 * MIB), 2048
            ),
            prepare=nothing,
            finish=nothing,
            fusions=(
                Fusion("apart", "Three passes: Y and Z go out to memory and come back.", nothing),
                Fusion(
                    "Y inlined",
                    "2 x is computed where it is read: two passes, and no Y.",
                    inlined("Y"),
                ),
                Fusion(
                    "row by row",
                    "Each row of Y and Z is used while it is in the first cache. Both still "
                    "exist, one row long.",
                    row_by_row,
                ),
                Fusion("all inlined", "One pass: X is read and W is written.", inlined("Y", "Z")),
            ),
        ),
        Staged(
            "softmax",
            counted=softmax(128, 256),
            measured=softmax(rows_of(2048, HERE.l3_bytes, least=16 * MIB, most=64 * MIB), 2048),
            prepare=several_sums,
            finish=vector_sums,
            fusions=(
                Fusion("apart", "Four passes: maximum, exp, sum, division.", nothing),
                Fusion(
                    "exp inlined",
                    "There is no matrix of exps, but each exp is computed twice: for the sum, "
                    "and for P.",
                    inlined("Exp"),
                ),
                Fusion(
                    "row by row",
                    "All four stages of a row while that row is in the first cache.",
                    row_by_row,
                ),
                Fusion(
                    "rows, exp inlined",
                    "One row at a time, and each exp twice. This saves no more bytes than row by "
                    "row, and adds work.",
                    rows_exp_inlined,
                ),
                Fusion(
                    "sum per 64 columns",
                    "One loop too deep: 64 results need the sum of their whole row, and the next "
                    "64 compute it again.",
                    sum_per_tile,
                ),
            ),
        ),
        Staged(
            "matmul_exp_matmul",
            counted=matmul_exp_matmul(256, 64, 64, 64),
            # C is four times as large as the second cache, so that it leaves it.
            measured=matmul_exp_matmul(
                rows_of(512, 4 * HERE.l2_bytes, least=1 * MIB, most=8 * MIB), 256, 512, 256
            ),
            prepare=nothing,
            finish=vector_columns,
            fusions=(
                Fusion("apart", "Two tiled products, and a pass of exp between them.", tiled),
                Fusion(
                    "exp in the tile",
                    "exp is taken of a tile of C while it is in the first cache. C is one tile "
                    "now.",
                    exp_in_tile,
                ),
                Fusion(
                    "merged",
                    "Both products run in one loop over blocks of 16 rows. D is 16 rows now.",
                    merged,
                ),
                Fusion(
                    "exp inlined",
                    "There is no D, but the second product takes exp at each multiply-add: N times "
                    "for each element.",
                    exp_in_product,
                ),
                Fusion(
                    "first in second",
                    "Each tile of F computes all rows of D that it reads. The tile beside it "
                    "computes them again.",
                    first_in_second,
                ),
            ),
        ),
    )
}


def staged(name: str) -> Staged:
    """Return a problem by its name; raises ``UsageError`` for an unknown one."""
    check_known("no staged problem", name, PROBLEMS)
    return PROBLEMS[name]
