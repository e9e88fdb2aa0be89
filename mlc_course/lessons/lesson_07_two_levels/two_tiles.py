"""Two tiles, one inside the other: a piece of B in the first cache, a piece of C in registers.

The loops are n_0, k_0, m_0, k_1, m_1, n_1 from outside to inside. k_1 walks over a tile of B, depth
x columns; m_1 and n_1 walk over a tile of C, rows x columns, whose sums stay in registers while k_1
runs. A vector of B that is loaded serves all of the rows.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from mlc_course.lessons.kit import (
    KS,
    SIZES,
    HeatMap,
    Place,
    Sizes,
    heat_map_svg,
    multiply_adds,
    shown,
)
from mlc_course.machine import describe, runs_as_written
from mlc_course.tensor_program.memory import Cache, levels, traffic
from mlc_course.tensor_program.problems import FLOAT_BYTES, matmul
from mlc_course.tensor_program.processor import Assembly, assembly
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import PrimFunc, Schedule, T

ROWS, VECTORS = (1, 2, 4, 6), (1, 2, 3, 4)
FEW = 1.5  # fetches, in units of those of a tile that stays
SHARE = 2  # half of a set is left for what passes by: the rows of A and C

Apply = Callable[[Schedule], None]


@dataclass(frozen=True, order=True)
class RegisterTile:
    """A tile of C, ``rows`` x ``vectors`` of this machine, whose sums stay in registers."""

    rows: int
    vectors: int

    @property
    def columns(self) -> int:
        return self.vectors * describe().lanes

    @property
    def registers(self) -> int:
        """Registers for all sums, the vectors of B that they wait for, and one element of A."""
        return self.rows * self.vectors + self.vectors + 1

    @property
    def loads(self) -> float:
        """Loads for each multiply-add: a step of the sum loads a column of A and a row of B."""
        return (self.rows + self.vectors) / (self.rows * self.vectors)

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}"


def register_tiles() -> tuple[RegisterTile, ...]:
    """Return the tiles that the lesson compares, row by row."""
    return tuple(RegisterTile(rows, vectors) for rows in ROWS for vectors in VECTORS)


def two_levels(tile: RegisterTile, depth: int) -> Apply:
    """Return the schedule of a product in register tiles, with ``depth`` rows of B in the cache."""
    lanes = describe().lanes

    def apply(sch: Schedule) -> None:
        steps.tile(sch, "C", n=tile.columns, k=depth, m=tile.rows)
        steps.reorder(sch, "C", "k_1", "m_1", "n_1")
        in_vectors(sch, lanes)
        steps.unroll(sch, "C", "m_1")
        steps.hoist_init(sch, "C", "k_0")

    return apply


def in_vectors(sch: Schedule, lanes: int) -> None:
    """Make vectors of the columns of a register tile, and write them out."""
    steps.split(sch, "C", "n_1", lanes)
    steps.unroll(sch, "C", "n_1_0")
    steps.vectorize(sch, "C", "n_1_1")


def caches() -> tuple[Cache, ...]:
    """Return the first two data caches of this machine."""
    return levels(describe())[:2]


# --- what LLVM makes of it ------------------------------------------------------------------------


@dataclass(frozen=True)
class HotLoop:
    """What the hot loop of a program does, as counted in LLVM's assembly."""

    multiply_adds: int
    loads: int
    stores: int
    spills: int
    lanes: int

    @property
    def loads_each(self) -> float:
        return self.loads / self.multiply_adds

    @property
    def moves_each(self) -> float:
        return (self.loads + self.stores) / self.multiply_adds

    def __str__(self) -> str:
        return (
            f"{self.loads} loads, {self.stores} stores for {self.multiply_adds} multiply-adds of "
            f"{self.lanes} float32 ({self.loads_each:.2f} loads each), {self.spills} spills"
        )


def hot_loop(apply: Apply, sizes: Sizes = SIZES) -> HotLoop:
    """Compile a schedule of a product for this machine, and count its hot loop."""
    sch = Schedule(matmul(*sizes).program())
    apply(sch)
    return counted_loop(assembly(sch))


def counted_loop(hot: Assembly) -> HotLoop:
    """Return what a loop of a program does."""
    return HotLoop(multiply_adds(hot), hot.loads, hot.stores, hot.spills, hot.lanes)


@functools.cache
def counted(tile: RegisterTile) -> HotLoop:
    """Count the hot loop of a register tile, with 96 rows of B at a time."""
    return hot_loop(two_levels(tile, 96))


@functools.cache
def best_registers() -> RegisterTile:
    """Return the tile with the fewest counted loads and stores for each multiply-add."""
    return min(register_tiles(), key=lambda tile: (counted(tile).moves_each, -tile.rows))


def loads_maps() -> object:
    """Show the loads that a sum needs, and the loads and stores that LLVM wrote, as two maps."""
    registers = describe().vector_registers
    marks = {
        (i, j): "s"
        for i, rows in enumerate(ROWS)
        for j, vectors in enumerate(VECTORS)
        if counted(RegisterTile(rows, vectors)).spills
    }
    needed = [[RegisterTile(r, v).loads for v in VECTORS] for r in ROWS]
    written = [[counted(RegisterTile(r, v)).moves_each for v in VECTORS] for r in ROWS]
    maps = (
        _map("(r + v) / (r v)", needed, {}, ()),
        _map(
            "loads and stores, counted",
            written,
            marks,
            (f"s: spills; there are {registers} registers.",),
        ),
    )
    return shown(*map(heat_map_svg, maps))


def _map(
    title: str, values: list[list[float]], marks: dict[Place, str], notes: tuple[str, ...]
) -> HeatMap:
    return HeatMap(
        title,
        values,
        ROWS,
        VECTORS,
        ("rows, r", "vectors, v"),
        text="{:.2f}".format,
        marks=marks,
        notes=notes,
        cell=(100, 42),
        scale=(0.4, 2.0),
    )


def whose_times() -> str:
    """Say so where programs run as code for another processor than the one they are counted for."""
    if runs_as_written():
        return ""
    return f" (counted for {describe().isa}, but run as code for another processor)"


# --- where the tile of B is -----------------------------------------------------------------------


def set_counts(depth: int, columns: int, row: int, cache: Cache) -> Counter[int]:
    """Count the lines of a tile of B that want each set of a cache; a row of B has ``row`` floats.

    The tile is the first of its rows, at an address where a set begins.
    """
    lines = {
        FLOAT_BYTES * (row * k + n) // cache.line for k in range(depth) for n in range(columns)
    }
    return Counter(line % cache.sets for line in lines)


def fullest_set(depth: int, columns: int, row: int, cache: Cache) -> int:
    """Return the lines of a tile of B that want the fullest set of a cache."""
    return max(set_counts(depth, columns, row, cache).values())


def depth_by_size(tile: RegisterTile, cache: Cache) -> int:
    """Return the most rows of B, of those the lessons use, that fit a cache by their bytes."""
    return max(k for k in KS if _bytes(tile, k) <= cache.bytes)


def depth_by_sets(tile: RegisterTile, cache: Cache, row: int = SIZES[2]) -> int:
    """Return the most rows of B that also find places in their sets, half of which stay free."""
    most = max(cache.ways // SHARE, 1)
    fitting = [
        k
        for k in KS
        if _bytes(tile, k) <= cache.bytes and fullest_set(k, tile.columns, row, cache) <= most
    ]
    return max(fitting, default=min(KS))


def _bytes(tile: RegisterTile, depth: int) -> int:
    """Return what is used again and again: a tile of B, and the rows of A that meet it."""
    return FLOAT_BYTES * depth * (tile.columns + tile.rows)


@functools.cache
def panel_fetches(tile: RegisterTile, depth: int, row: int = SIZES[2]) -> tuple[float, ...]:
    """Count how often each element of one panel of B is fetched, into each cache of this machine.

    A panel is as wide as the tile. Every register tile uses it once: 240 / rows times.
    """
    program = _walk(tile, depth, row, describe().lanes)
    fetched = traffic(program, *caches()).of("B").fetched
    lines = {
        FLOAT_BYTES * (row * k + n) // 64 for k in range(SIZES[1]) for n in range(tile.columns)
    }
    return tuple(each / 64 / len(lines) for each in fetched)


def _walk(tile: RegisterTile, depth: int, row: int, lanes: int) -> PrimFunc:
    """The accesses of the first panel of columns, a vector at a time."""
    rows, columns = tile.rows, tile.columns
    down, inner = SIZES[1] // depth, columns // lanes
    M, K = SIZES[0], SIZES[1]

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(  # type: ignore[no-untyped-def]
        A: T.Buffer((M, K), "float32"),  # type: ignore[valid-type]
        B: T.Buffer((K, row), "float32"),  # type: ignore[valid-type]
        C: T.Buffer((M, row), "float32"),  # type: ignore[valid-type]
    ):
        for k_0, m_0 in T.grid(down, M // rows):
            for m_1, n_1 in T.grid(rows, inner):
                C[m_0 * rows + m_1, n_1 * lanes] = T.float32(0)
            for k_1 in range(depth):
                for n_1 in range(inner):
                    C[m_0 * rows, n_1 * lanes] = B[k_0 * depth + k_1, n_1 * lanes]
                for m_1 in range(rows):
                    C[m_0 * rows, 0] = A[m_0 * rows + m_1, k_0 * depth + k_1]

    program: PrimFunc = main
    return program
