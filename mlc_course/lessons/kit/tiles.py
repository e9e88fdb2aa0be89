"""Tiles of B in C = A B: what one touches, and what it should save.

A tile is k x n elements of B. It is used for every row of A before the next one is: the loops are
n_0, k_0, m, k_1, n_1 from outside to inside. Between two uses of the same element of B the program
touches the tile, k elements of A and n of C: its working set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mlc_course.errors import SizeError, UsageError
from mlc_course.tensor_program.memory import Cache, Traffic, traffic
from mlc_course.tensor_program.problems import FLOAT_BYTES
from mlc_course.tensor_program.processor import Assembly
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import PrimFunc, Schedule, T

SIZES = (240, 960, 960)  # M, K, N of the map
KS = (8, 16, 32, 64, 96, 160, 320, 960)
NS = (16, 32, 64, 96, 160, 320, 480, 960)
Sizes = tuple[int, int, int]


@dataclass(frozen=True, order=True)
class Tile:
    """``k`` rows and ``n`` columns of B. Raises ``SizeError`` below one."""

    k: int
    n: int

    def __post_init__(self) -> None:
        if self.k < 1 or self.n < 1:
            raise SizeError("a tile has a row and a column at least", expected=">= 1", got=self)

    def __str__(self) -> str:
        return f"{self.k} x {self.n}"

    @property
    def working_set(self) -> int:
        """Bytes touched between two uses of an element: the tile, and a row each of A and C."""
        return FLOAT_BYTES * (self.k * self.n + self.k + self.n)


def grid(ks: Sequence[int] = KS, ns: Sequence[int] = NS) -> tuple[Tile, ...]:
    """Every tile of a map, row by row."""
    return tuple(Tile(k, n) for k in ks for n in ns)


def tiled(tile: Tile) -> Callable[[Schedule], None]:
    """Return a schedule that makes a matmul use ``tile`` for all rows of A before the next."""

    def apply(sch: Schedule) -> None:
        steps.tile(sch, "C", n=tile.n, k=tile.k)
        steps.reorder(sch, "C", "n_0", "k_0", "m", "k_1", "n_1")
        steps.hoist_init(sch, "C", "k_0")

    return apply


def untiled(sch: Schedule) -> None:
    """The best order without tiles: m, k, n."""
    steps.reorder(sch, "C", "m", "k", "n")
    steps.hoist_init(sch, "C", "k")


def multiply_adds(hot: Assembly) -> int:
    """Return the multiply-adds of a hot loop; SSE takes two instructions for one."""
    return hot.multiply_adds or max(1, hot.histogram()["arithmetic"] // 2)


# --- what the sizes of the caches predict -------------------------------------------------------


def fetched_lines(tile: Tile, cache_bytes: int, sizes: Sizes = SIZES, line: int = 64) -> int:
    """Lines that a cache of this size should fetch and write back, by its size alone.

    A tile that fits is fetched once, one that does not for every row of A. A is read for every
    column of tiles, C read and written for every row of tiles.
    """
    rows, depth, columns = sizes
    across, down = -(-columns // tile.n), -(-depth // tile.k)
    per_row = -(-tile.k * FLOAT_BYTES // line), -(-tile.n * FLOAT_BYTES // line)
    passes = 1 if tile.working_set <= cache_bytes else rows
    b = passes * across * down * tile.k * per_row[1]
    return b + rows * across * down * (per_row[0] + 2 * per_row[1])


def best_for(
    cache_bytes: int, tiles: Iterable[Tile] = grid(), sizes: Sizes = SIZES, line: int = 64
) -> Tile:
    """Return the tile that moves the fewest lines, of those that fit into a cache of this size.

    Raises ``UsageError`` where none fits.
    """
    fitting = [tile for tile in tiles if tile.working_set <= cache_bytes]
    if not fitting:
        raise UsageError("no tile fits", expected="a working set below the cache", got=cache_bytes)
    return min(fitting, key=lambda tile: fetched_lines(tile, cache_bytes, sizes, line))


# --- what the simulated caches count ------------------------------------------------------------


def moved(tile: Tile, levels: Sequence[Cache], sizes: Sizes = SIZES) -> Traffic:
    """Bytes that each buffer moves at each level, sets and all; about 100 ms.

    Along a row, every element of a line after the first is a hit; so only the first is counted.
    Raises ``SizeError`` where the tile does not divide the sizes, or cuts a line of 64 bytes, and
    for caches with shorter lines.
    """
    rows, depth, columns = sizes
    lanes = 64 // FLOAT_BYTES
    if depth % tile.k or columns % tile.n or tile.n % lanes:
        raise SizeError(
            f"a tile of {tile} does not divide B",
            expected=f"divisors of {depth} and {columns}, the second a multiple of {lanes}",
            got=tile,
        )
    if any(level.line < 64 for level in levels):
        raise SizeError("lines are too short", expected="64 bytes or more", got=levels)
    return traffic(_line_by_line(rows, depth, columns, tile, lanes), *levels)


def _line_by_line(M: int, K: int, N: int, tile: Tile, lanes: int) -> PrimFunc:
    """The tiled program, with one access for each line of B and C."""
    across, down, inner = N // tile.n, K // tile.k, tile.n // lanes

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(  # type: ignore[no-untyped-def]
        A: T.Buffer((M, K), "float32"),  # type: ignore[valid-type]
        B: T.Buffer((K, N), "float32"),  # type: ignore[valid-type]
        C: T.Buffer((M, N), "float32"),  # type: ignore[valid-type]
    ):
        for n_0 in range(across):
            for m, n_1 in T.grid(M, inner):
                C[m, n_0 * tile.n + n_1 * lanes] = T.float32(0)
            for k_0, m, k_1, n_1 in T.grid(down, M, tile.k, inner):
                C[m, n_0 * tile.n + n_1 * lanes] = (
                    C[m, n_0 * tile.n + n_1 * lanes]
                    + A[m, k_0 * tile.k + k_1] * B[k_0 * tile.k + k_1, n_0 * tile.n + n_1 * lanes]
                )

    program: PrimFunc = main
    return program
