"""The map of tiles as a record, and how well one ranking predicts another."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.kit.tiles import Tile, grid
from mlc_course.lessons.lesson_06_tiling import tile_map
from mlc_course.lessons.lesson_06_tiling.tile_map import (
    cells,
    facts,
    figures,
    levels_of,
    map_record,
    measure,
    other_kind,
    recorded_map,
)
from mlc_course.machine import describe
from mlc_course.tensor_program.ladders import made_on
from mlc_course.tensor_program.memory import Cache

LEVELS = (Cache(4096), Cache(16384))
SIZES = (16, 64, 96)
TILES = (Tile(8, 16), Tile(8, 32), Tile(16, 32))


def test_a_tile_is_checked_timed_and_counted() -> None:
    done = list(measure(LEVELS, tiles=TILES, sizes=SIZES, budget_s=0))
    assert [each.tile for each in done] == [TILES[0], TILES[2], TILES[1]]
    assert all(each.comparison.ratio > 0 for each in done)
    record = json.loads(json.dumps(map_record(done, LEVELS, SIZES)))
    assert cells(record).keys() == set(TILES)
    assert levels_of(record) == LEVELS
    assert cells(record)[TILES[0]]["b_times"] == [1.0, 1.0]


def test_facts_that_are_known_are_not_found_again() -> None:
    known = {"lines": [7, 3], "b_times": [1.0, 1.0], "multiply_adds": 1, "loads": 2, "stores": 3}
    (done,) = measure(LEVELS, tiles=TILES[:1], sizes=SIZES, known=lambda tile: known, budget_s=0)
    assert done.facts is known


def test_facts_count_the_hot_loop() -> None:
    found = facts(Tile(8, 32), LEVELS, SIZES)
    assert found["lines"][0] >= found["lines"][1] > 0
    assert found["multiply_adds"] + found["loads"] > 0


def test_every_tile_is_in_the_recorded_map() -> None:
    record = recorded_map()
    assert cells(record).keys() == set(grid())
    assert made_on(record)
    shown = figures(record)
    assert list(shown)[-1] == "measured"
    assert all(values.keys() == set(grid()) for values in shown.values())


def test_counts_of_the_recorded_map_can_be_found_again() -> None:
    record = recorded_map()
    tile = Tile(96, 64)
    again = facts(tile, levels_of(record))
    assert again["lines"] == cells(record)[tile]["lines"]


@pytest.mark.parametrize("isa", ["AVX2", "AVX-512"])
def test_there_is_a_map_for_each_kind_of_vectors(isa: str) -> None:
    record = recorded_map(isa)
    assert record["machine"]["isa"] == isa
    assert cells(record).keys() == set(grid())
    assert "targets" not in record


@pytest.mark.parametrize(
    ("isa", "bits", "chosen", "told"),
    [
        ("AVX-512", 512, "AVX-512", ""),
        ("AVX2", 256, "AVX2", ""),
        ("SSE", 128, "AVX2", "AVX2 is the nearest"),
        ("NEON", 128, "AVX2", "AVX2 is the nearest"),
    ],
)
def test_the_map_of_the_readers_kind_is_shown(
    monkeypatch: pytest.MonkeyPatch, isa: str, bits: int, chosen: str, told: str
) -> None:
    here = replace(describe(), isa=isa, vector_bits=bits)
    monkeypatch.setattr(tile_map, "describe", lambda: here)
    record = recorded_map()
    assert record["machine"]["isa"] == chosen
    assert told in other_kind(record) and bool(told) == bool(other_kind(record))


def test_a_kind_that_is_not_recorded_is_refused() -> None:
    with pytest.raises(UsageError, match="no recorded map"):
        recorded_map("VAX")
