"""Tiles of B: what they touch, what sizes predict, and what the simulated caches count."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mlc_course.errors import SizeError, UsageError
from mlc_course.lessons.kit.tiles import (
    Tile,
    best_for,
    fetched_lines,
    grid,
    moved,
    tiled,
    untiled,
)
from mlc_course.tensor_program.ladders import Rung, contest
from mlc_course.tensor_program.memory import Cache, traffic
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.tir import Schedule

SMALL = (Cache(4096), Cache(16384))
SIZES = (16, 64, 96)


def schedule(apply: Callable[[Schedule], None], sizes: tuple[int, int, int]) -> Schedule:
    sch = Schedule(matmul(*sizes).program())
    apply(sch)
    return sch


def test_the_working_set_is_the_tile_and_a_row_each_of_a_and_c() -> None:
    assert Tile(16, 16).working_set == 4 * (256 + 32)
    assert str(Tile(96, 64)) == "96 x 64"


@pytest.mark.parametrize("sides", [(0, 16), (16, 0), (-1, 4)])
def test_a_tile_without_elements_is_refused(sides: tuple[int, int]) -> None:
    with pytest.raises(SizeError, match="row and a column"):
        Tile(*sides)


def test_tiled_and_untiled_programs_compute_the_product() -> None:
    for apply in (tiled(Tile(8, 32)), untiled):
        contest("matmul", SIZES, Rung("", "", apply))  # raises when it is wrong


@pytest.mark.parametrize("tile", [Tile(8, 32), Tile(64, 16), Tile(64, 96), Tile(2, 48)])
def test_counting_line_by_line_finds_what_counting_every_element_finds(tile: Tile) -> None:
    quick = moved(tile, SMALL, SIZES)
    whole = traffic(schedule(tiled(tile), SIZES), *SMALL)
    for each in whole.buffers:
        assert quick.of(each.buffer).fetched == each.fetched
        assert quick.of(each.buffer).returned == each.returned


def test_one_tile_of_all_of_b_is_no_tile() -> None:
    whole = traffic(schedule(untiled, SIZES), *SMALL).of("B")
    assert moved(Tile(64, 96), SMALL, SIZES).of("B").fetched == whole.fetched


def test_a_tile_that_fits_is_fetched_once_and_one_that_does_not_for_every_row() -> None:
    size = 4 * 64 * 96
    assert moved(Tile(16, 32), SMALL, SIZES).of("B").fetched[0] == size
    assert moved(Tile(64, 96), SMALL, SIZES).of("B").fetched[0] == 16 * size


@pytest.mark.parametrize("tile", [Tile(5, 16), Tile(8, 80), Tile(8, 8)])
def test_a_tile_that_does_not_divide_is_not_counted(tile: Tile) -> None:
    with pytest.raises(SizeError, match="does not divide"):
        moved(tile, SMALL, SIZES)


def test_lines_shorter_than_the_steps_are_not_counted() -> None:
    with pytest.raises(SizeError, match="lines"):
        moved(Tile(8, 32), (Cache(4096, line=32),), SIZES)


def test_sizes_predict_what_is_counted_where_the_rows_spread_over_the_sets() -> None:
    cache = Cache(32 * 1024)
    for tile in (Tile(16, 32), Tile(96, 64), Tile(320, 480)):
        counted = moved(tile, (cache,)).bytes(0) / 64
        assert fetched_lines(tile, cache.bytes) == pytest.approx(counted, rel=0.06)


def test_the_best_tile_fits_and_is_nearly_square() -> None:
    best = best_for(32 * 1024)
    assert best.working_set <= 32 * 1024
    assert best in grid()
    assert best == Tile(96, 64)
    assert best_for(1 << 20) == Tile(320, 480)


def test_a_cache_for_which_every_tile_is_too_large_is_refused() -> None:
    with pytest.raises(UsageError, match="no tile fits"):
        best_for(100)
