"""Two tiles: what a register tile loads, and where the tile of B finds its places."""

from __future__ import annotations

import importlib

import pytest

from mlc_course.lessons.lesson_07_two_levels.sets_picture import sets_svg
from mlc_course.lessons.lesson_07_two_levels.two_tiles import (
    RegisterTile,
    counted,
    depth_by_sets,
    depth_by_size,
    fullest_set,
    hot_loop,
    panel_fetches,
    register_tiles,
    two_levels,
)
from mlc_course.machine import describe
from mlc_course.tensor_program.ladders import Rung, contest
from mlc_course.tensor_program.memory import Cache

L1 = Cache(32 << 10)
# The room has a function of the same name, which hides the module.
module = importlib.import_module("mlc_course.lessons.lesson_07_two_levels.two_tiles")


@pytest.mark.parametrize(
    ("tile", "registers", "loads"), [((1, 1), 3, 2.0), ((4, 2), 11, 0.75), ((4, 3), 16, 7 / 12)]
)
def test_a_tile_of_r_rows_and_v_vectors_needs_r_plus_v_loads_a_step(
    tile: tuple[int, int], registers: int, loads: float
) -> None:
    found = RegisterTile(*tile)
    assert (found.registers, found.loads) == (registers, pytest.approx(loads))


def test_two_levels_compute_the_product() -> None:
    contest("matmul", (24, 192, 192), Rung("", "", two_levels(RegisterTile(4, 2), 96)))


def test_the_count_is_the_formula_where_the_sums_fit() -> None:
    found = hot_loop(two_levels(RegisterTile(4, 2), 96), (48, 384, 384))
    assert (found.stores, found.spills) == (0, 0)
    assert found.loads_each == pytest.approx(0.75)


def test_too_many_sums_are_spilled() -> None:
    tile = RegisterTile(6, 6)
    assert tile.registers > describe().vector_registers
    found = hot_loop(two_levels(tile, 32), (24, 96, 6 * 6 * 16))
    assert found.spills > 0
    assert found.moves_each > tile.loads


def test_a_tile_may_fit_by_its_bytes_and_not_by_its_sets() -> None:
    assert fullest_set(64, 64, 960, L1) == 4
    assert fullest_set(64, 64, 1024, L1) == 64
    tile = RegisterTile(6, 2)
    deep, shallow = depth_by_size(tile, L1), depth_by_sets(tile, L1)
    assert deep > shallow
    assert fullest_set(deep, tile.columns, 960, L1) > L1.ways
    assert fullest_set(shallow, tile.columns, 960, L1) <= L1.ways // 2


def test_a_panel_is_fetched_at_every_use_where_its_sets_overflow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "caches", lambda: (L1,))
    tile = RegisterTile(6, 2)
    panel_fetches.cache_clear()
    assert panel_fetches(tile, 64, 1024)[0] == pytest.approx(40, rel=0.1)
    assert panel_fetches(tile, 64, 960)[0] < 1.5
    panel_fetches.cache_clear()


def test_the_picture_of_the_sets_says_what_overflows() -> None:
    assert "64 lines for 8 places" in sets_svg(64, 64, 1024, L1)
    assert "of 64 sets in use: 4 lines for 8 places" in sets_svg(64, 64, 960, L1)


def test_the_lesson_compares_sixteen_tiles_that_divide_the_product() -> None:
    assert len(register_tiles()) == 16
    assert all(240 % t.rows == 0 and 960 % t.columns == 0 for t in register_tiles())
    assert counted(RegisterTile(2, 1)) is counted(RegisterTile(2, 1))
