"""Tiles that are counted: the one that is fetched once, the exceptions, and their pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from mlc_course.lessons.kit import Tile, moved
from mlc_course.lessons.lesson_06_tiling import (
    agreement,
    best_tile,
    cliff_svg,
    in_degrees,
    narrow_tile,
    orders,
    recorded_map,
)
from mlc_course.tensor_program.memory import Cache

WHOLE = 4 * 960 * 960


@pytest.mark.parametrize("cache", [Cache(32 << 10), Cache(48 << 10, ways=12), Cache(128 << 10)])
def test_the_best_tile_fits_and_is_fetched_once(cache: Cache) -> None:
    for tile in (best_tile(cache), narrow_tile(cache)):
        assert tile.working_set <= cache.bytes
        assert moved(tile, (cache,)).of("B").fetched[0] <= 1.5 * WHOLE


def test_a_tile_may_fit_and_be_fetched_again() -> None:
    tile, cache = Tile(160, 32), Cache(32 << 10)
    assert tile.working_set < 0.9 * cache.bytes
    assert moved(tile, (cache,)).of("B").fetched[0] > 100 * WHOLE


def test_both_orders_are_the_same_multiply_adds() -> None:
    plain, tiles = orders()
    assert sorted(plain) == sorted(tiles) and plain != tiles


def test_the_cliff_can_be_read_without_seeing_it() -> None:
    svg = cliff_svg([Tile(16, 32), Tile(320, 480)])
    ET.fromstring(svg)
    assert 'role="img"' in svg and "KiB: " in svg


@pytest.mark.parametrize("isa", ["AVX2", "AVX-512"])
def test_misses_never_rank_the_tiles_as_the_clock_does(isa: str) -> None:
    degrees = ("nearly", "some", "none")
    found = agreement(recorded_map(isa))
    assert in_degrees(found["L1 misses"], degrees) != "nearly"
