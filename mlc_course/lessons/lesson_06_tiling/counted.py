"""Fetches of B, counted on this machine's caches, and on one of a few elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from IPython.display import HTML

from mlc_course.drawing import AMBER, DASHED, PAGE_INK, PAGE_OURS, document, line, text
from mlc_course.lessons.kit import (
    KS,
    NS,
    SIZES,
    HeatMap,
    Sizes,
    Tile,
    fetched_lines,
    grid,
    heat_map_svg,
    moved,
    multiply_adds,
    shown,
    tiled,
)
from mlc_course.lessons.lesson_06_tiling.tile_card import kib
from mlc_course.lessons.lesson_06_tiling.tile_map import figures
from mlc_course.machine import describe
from mlc_course.measure import rank_correlation, ranks
from mlc_course.tensor_program.ladders import Record
from mlc_course.tensor_program.memory import Cache, levels
from mlc_course.tensor_program.problems import FLOAT_BYTES, matmul
from mlc_course.tensor_program.processor import assembly
from mlc_course.tensor_program.tir import Schedule

Step = tuple[int, int, int]  # m, k, n of a multiply-add
FEW = 1.5  # fetches of each element, of which a tile that stays has one
SOME = grid(KS[1::2], NS[1::2])


def caches() -> tuple[Cache, ...]:
    """Return the first two data caches of this machine."""
    return levels(describe())[:2]


@functools.cache
def fetches(tile: Tile, sizes: Sizes = SIZES) -> tuple[float, ...]:
    """Count how often each element of B is fetched, into each cache of this machine."""
    fetched = moved(tile, caches(), sizes).of("B").fetched
    return tuple(each / (FLOAT_BYTES * sizes[1] * sizes[2]) for each in fetched)


@functools.cache
def best_tile(cache: Cache, sizes: Sizes = SIZES) -> Tile:
    """Return the tile that moves the fewest lines, of those that fit and are fetched once.

    A tile whose rows compete for a few sets is fetched again although it fits.
    """
    fitting = [tile for tile in grid() if tile.working_set <= cache.bytes]
    ranked = sorted(fitting, key=lambda tile: fetched_lines(tile, cache.bytes, sizes))
    whole = FLOAT_BYTES * sizes[1] * sizes[2]
    for tile in ranked:
        if moved(tile, (cache,), sizes).of("B").fetched[0] <= FEW * whole:
            return tile
    return ranked[0]


def scheduled(apply: Callable[[Schedule], None], rows: int = SIZES[0]) -> Schedule:
    """Return the schedule of a product with so many rows of A, with ``apply`` done to it."""
    sch = Schedule(matmul(rows, *SIZES[1:]).program())
    apply(sch)
    return sch


# --- a cache of a few elements --------------------------------------------------------------------


def orders(side: int = 8, tile: int = 4) -> tuple[list[Step], list[Step]]:
    """Return the multiply-adds of a small product in the order m-k-n, and in tiles of B."""
    whole, outer, inner = range(side), range(0, side, tile), range(tile)
    plain = [(m, k, n) for m in whole for k in whole for n in whole]
    tiles = [
        (m, k_0 + k_1, n_0 + n_1)
        for n_0 in outer
        for k_0 in outer
        for m in whole
        for k_1 in inner
        for n_1 in inner
    ]
    return plain, tiles


def small_maps(plain: Sequence[Sequence[int]], tiles: Sequence[Sequence[int]]) -> HTML:
    """Show two tables of fetches of an 8 x 8 matrix, side by side and in the same colours."""
    eight = range(8)
    titles = ("m-k-n: fetches of B", "tiles of 4 x 4: fetches of B")
    maps = (
        HeatMap(title, table, eight, eight, ("k", "n"), cell=(44, 28), scale=(1, 8))
        for title, table in zip(titles, (plain, tiles), strict=True)
    )
    return shown(*map(heat_map_svg, maps))


# --- the picture of the cliff ---------------------------------------------------------------------

LEFT, RIGHT, TOP, BOTTOM = 70, 640, 64, 324


def cliff_svg(tiles: Sequence[Tile] = SOME, sizes: Sizes = SIZES) -> str:
    """Draw how often B is fetched over the working set of a tile, with the caches' sizes."""
    known = caches()
    found = sorted((tile.working_set, fetches(tile, sizes)) for tile in tiles)
    small = math.log(min(found[0][0], known[0].bytes) / 1.5)
    large = math.log(max(found[-1][0], known[-1].bytes) * 1.5)

    def at(size: float, times: float) -> tuple[float, float]:
        across = (math.log(size) - small) / (large - small)
        up = math.log(max(times, 1)) / math.log(sizes[0])
        return LEFT + (RIGHT - LEFT) * across, BOTTOM - (BOTTOM - TOP) * up

    parts = [
        text(8, 18, "How often is each element of B fetched?", size=15, bold=True, anchor="start"),
        line((LEFT, TOP - 8), (LEFT, BOTTOM + 8), colour=PAGE_INK),
        line((LEFT, BOTTOM + 8), (RIGHT, BOTTOM + 8), colour=PAGE_INK),
        text((LEFT + RIGHT) / 2, BOTTOM + 48, "working set of the tile (logarithmic)", size=13),
    ]
    for times in (1, 10, sizes[0]):
        parts.append(text(LEFT - 8, at(1, times)[1] + 5, f"{times} x", size=13, anchor="end"))
    for size in (1 << 10, 16 << 10, 256 << 10, 4 << 20):
        if small <= math.log(size) <= large:
            parts.append(text(at(size, 1)[0], BOTTOM + 28, kib(size), size=13))
    for place, cache in enumerate(known, 1):
        x = at(cache.bytes, 1)[0]
        parts.append(line((x, TOP - 8), (x, BOTTOM + 8), colour=PAGE_INK, more=DASHED))
        parts.append(text(x, TOP - 12, f"L{place} holds {kib(cache.bytes)}", size=13, bold=True))
    for size, fetched in found:
        for level, each in enumerate(fetched):
            parts.append(_mark(*at(size, each), level))
    parts += [
        _mark(RIGHT + 24, 84, 0),
        text(RIGHT + 38, 89, "into L1", size=13, anchor="start"),
        _mark(RIGHT + 24, 108, 1),
        text(RIGHT + 38, 113, "into L2", size=13, anchor="start"),
    ]
    counts = "; ".join(f"{kib(s)}: " + " and ".join(f"{t:.1f}" for t in each) for s, each in found)
    return document(760, 380, f"Fetches of B into L1 and L2, by working set: {counts}", parts)


def _mark(x: float, y: float, level: int) -> str:
    """A filled disc for the first cache, an open square for the second."""
    if level == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{PAGE_OURS}"/>'
    box = f'x="{x - 8:.1f}" y="{y - 8:.1f}" width="16" height="16"'
    return f'<rect {box} fill="none" stroke="{AMBER}" stroke-width="3"/>'


def squeezed(tiles: Sequence[Tile] = SOME) -> list[Tile]:
    """Return the tiles that fit into L1 by their size, and are fetched into it again all the same.

    Only those count that leave a tenth of the cache free: there, size is no excuse.
    """
    room = 0.9 * caches()[0].bytes
    return [tile for tile in tiles if tile.working_set <= room and fetches(tile)[0] > 2]


# --- the hot loop of a tile -----------------------------------------------------------------------


def hot_loop(tile: Tile) -> str:
    """Say what LLVM made of a tile's inner loops: sums, loads and stores for each multiply-add."""
    hot = assembly(scheduled(tiled(tile)))
    moved_by = (hot.loads + hot.stores) / multiply_adds(hot)
    return (
        f"{moved_by:.2f} loads and stores for each multiply-add of {hot.lanes} float32, "
        f"{hot.spills} spills"
    )


def narrow_tile(cache: Cache, sizes: Sizes = SIZES) -> Tile:
    """Return the tallest tile of 16 columns that fits a cache and is fetched once."""
    whole = FLOAT_BYTES * sizes[1] * sizes[2]
    tall = [Tile(k, NS[0]) for k in KS if Tile(k, NS[0]).working_set <= cache.bytes]
    once = [t for t in tall if moved(t, (cache,), sizes).of("B").fetched[0] <= FEW * whole]
    return (once or tall)[-1]


# --- how well a count predicts a time -------------------------------------------------------------


def agreement(record: Record) -> dict[str, float]:
    """Return the rank correlation of each figure of a map with the measured times.

    The last one ranks by the sum of two ranks: of L1 misses, and of loads and stores.
    """
    found = figures(record)
    tiles = list(found["measured"])
    times = [1 / found["measured"][tile] for tile in tiles]
    lists = {name: [found[name][tile] for tile in tiles] for name in found if name != "measured"}
    both = zip(ranks(lists["L1 misses"]), ranks(lists["loads + stores"]), strict=True)
    lists["both ranks"] = [sum(pair) for pair in both]
    del lists["working set"]
    return {name: rank_correlation(values, times) for name, values in lists.items()}


def in_degrees(correlation: float, degrees: Sequence[str]) -> str:
    """Return the one of three answers that a correlation belongs to: from 0.8, from 0.1, below."""
    high, middle, low = degrees
    return high if correlation >= 0.8 else middle if correlation >= 0.1 else low
