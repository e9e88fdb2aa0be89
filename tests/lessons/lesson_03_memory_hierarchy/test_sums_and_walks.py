from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mlc_course.errors import WrongResult
from mlc_course.lessons.lesson_03_memory_hierarchy import (
    SIDE,
    addresses_down,
    far_bytes,
    lines_svg,
    misses_svg,
    race_sums,
    race_svg,
    remarks,
    total,
    walk_misses,
)
from mlc_course.lessons.lesson_03_memory_hierarchy.cache_theatre import Theatre
from mlc_course.machine import describe
from mlc_course.measure import Comparison, Timing, compare
from mlc_course.tensor_program.memory import Cache, Probe, ring


def timing(name: str, milliseconds: float) -> Timing:
    return Timing(name, (milliseconds / 1e3,) * 6)


FOUND = {
    name: Comparison(timing(name, ms), timing("NumPy", 1.0))
    for name, ms in {"rows": 3.0, "columns": 30.0, "columns, padded": 9.0}.items()
}


def test_an_array_is_larger_than_the_last_cache() -> None:
    here = replace(describe(), l1d_bytes=32 << 10, l2_bytes=1 << 20, l3_bytes=64 << 20)
    assert far_bytes(here) == 128 << 20
    assert far_bytes(replace(here, l3_bytes=1 << 20)) == 64 << 20
    assert far_bytes(replace(here, l3_bytes=1 << 30)) == 256 << 20


def test_misses_of_walks_are_those_of_the_theatre() -> None:
    small = Cache(1 << 12, 8)
    way = ring(1 << 14)  # 256 lines, of which 64 stay
    assert walk_misses(way, 512, small) == 512
    assert walk_misses(way, 512, Cache(1 << 15, 8)) == 256
    assert walk_misses(ring(1 << 14, spacing=8, shuffled=False), 2048, small) == 256
    assert walk_misses(ring(1 << 20), 512, small, chains=8) == 512


def test_a_column_of_padded_rows_is_further_apart() -> None:
    addresses = list(addresses_down(SIDE + 16))
    assert addresses[:2] == [0, 4 * (SIDE + 16)]
    assert len(addresses) == SIDE


def test_a_sum_that_is_wrong_is_not_raced() -> None:
    with pytest.raises(WrongResult):
        race_sums({"half": total(SIDE, SIDE, read=SIDE // 2)})


def test_sums_race_with_numpy() -> None:
    quick = {"rows": total(SIDE, SIDE)}
    seen = {}

    def watched(*contestants: object, **options: object) -> dict[str, Comparison]:
        seen["baseline"] = contestants[1]
        return compare(*contestants, rounds=(1, 1), budget_s=0.01)  # type: ignore[arg-type]

    found = race_sums(quick, compare=watched)
    name, call = seen["baseline"]  # type: ignore[misc]
    assert name == "NumPy" and np.asarray(call()) == SIDE * SIDE
    assert set(found) == {"rows"}


# --- what is said and drawn -----------------------------------------------------------------------


def test_what_padding_saved_is_said_cache_by_cache() -> None:
    said = remarks.what_padding_saved({"columns": [100, 100, 10], "columns, padded": [100, 10, 10]})
    assert said == "With the longer rows, L2 misses 10 times less often. L1 and L3 gained nothing."
    nothing = remarks.what_padding_saved({"columns": [10], "columns, padded": [10]})
    assert nothing == "With the longer rows, no cache misses less often."


def test_more_lines_than_a_core_keeps_waiting_are_explained() -> None:
    level = {"L1": Probe(4096, (1.0,), (100.0,)), "memory": Probe(1 << 26, (300.0,), (60.0,))}
    said = remarks.under_way(level, {"L1": 1.6, "memory": 281.0})
    assert "the two figures of memory" in said
    assert "do not belong" not in remarks.under_way(level, {"L1": 1.6, "memory": 60.0})


def test_a_staircase_is_told_step_by_step() -> None:
    here = replace(describe(), l1d_bytes=32 << 10, l2_bytes=512 << 10, l3_bytes=0)
    probes = [Probe(4096 << n, (1.0 + n,), (9.0,)) for n in range(10)]
    said = remarks.staircase(probes, here)
    assert "L1 holds 32 KiB: a load takes 3.0 ns in 16 KiB and 5.0 ns in 64 KiB" in said
    assert "L2" in said and "L3" not in said


def test_slowest_and_fastest_are_named() -> None:
    assert remarks.which_is_longest(FOUND) == "columns takes 10.0 times as long as rows."


def test_pictures_say_what_they_show() -> None:
    svg = lines_svg({"rows": [0, 4, 64], "columns": [0, 128, 256]})
    assert "rows: 2 of 3 loads want another line than the last" in svg
    assert svg.count("<circle") == 1
    bars = misses_svg({"rows": [10, 1], "columns": [160, 160]}, 160)
    assert "columns: L1 160, L2 160" in bars
    race = race_svg(FOUND, "Sums", "columns")
    assert 'role="img"' in race and "NumPy 1.00 ms" in race


def test_the_theatre_ends_with_the_latency_bar() -> None:
    theatre = Theatre("columns", FOUND, "Sums")
    assert set(theatre.bars) == {*FOUND, ""}
    assert "NumPy 1.00 ms" in theatre.static_html()
    assert not Theatre("columns").bars
