"""A heat map can be read by its numbers, its frame and its badges, not by colour alone."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.kit.heat_map import HeatMap, heat_map_svg
from mlc_course.lessons.kit.tiles import Tile
from mlc_course.lessons.lesson_06_tiling.tile_card import kib, tile_card_svg
from mlc_course.lessons.lesson_06_tiling.tile_map import cells, recorded_map

TABLE = HeatMap("speed < 1", [[4, 2, None], [1, 8, 16]], "ab", "xyz", ("rows", "columns"))


def test_every_cell_has_an_id_and_its_number() -> None:
    svg = heat_map_svg(TABLE)
    assert len(re.findall(r'id="cell-\d-\d"', svg)) == 6
    for text in (">4<", ">16<", ">?<", "speed &lt; 1", ">columns<"):
        assert text in svg
    ET.fromstring(svg)


def test_no_type_is_smaller_than_twelve_pixels() -> None:
    marked = replace(TABLE, marks={(0, 0): "L1"}, notes=("below",))
    record = recorded_map()
    card = tile_card_svg(cells(record)[Tile(96, 64)], record)
    for svg in (heat_map_svg(marked), card):
        assert min(map(int, re.findall(r'font-size="(\d+)"', svg))) >= 12


@pytest.mark.parametrize(("better", "best"), [("low", (1, 0)), ("high", (1, 2))])
def test_the_best_cell_is_framed(better: str, best: tuple[int, int]) -> None:
    table = replace(TABLE, better=better)
    assert table.best == best
    x, y = table.corner(best)
    assert f'<rect x="{x}" y="{y}"' in heat_map_svg(table)
    assert table.goodness(table.known[best]) == 1


def test_goodness_goes_by_ratio() -> None:
    assert replace(TABLE, better="high").goodness(4) == pytest.approx(0.5)
    assert TABLE.goodness(16) == 0


def test_two_maps_can_share_their_colours() -> None:
    eight = replace(TABLE, values=[[8] * 3] * 2, scale=(1, 8))
    one = replace(TABLE, values=[[1] * 3] * 2, scale=(1, 8))
    assert (eight.goodness(8), one.goodness(1)) == (0, 1)
    assert one.goodness(0.5) == 1


def test_where_all_are_equal_none_is_the_best() -> None:
    assert replace(TABLE, values=[[8, 8, 8], [8, 8, 8]]).best is None
    assert replace(TABLE, values=[[None] * 3] * 2).best is None


def test_marks_and_the_selected_cell_have_shapes_of_their_own() -> None:
    plain = heat_map_svg(TABLE)
    assert "L2" not in plain
    assert "<path" not in plain
    marked = heat_map_svg(replace(TABLE, marks={(0, 1): "L2"}, selected=(1, 1)))
    assert ">L2<" in marked
    assert "<path" in marked


@pytest.mark.parametrize(
    "change",
    [
        {"values": [[1, 2], [3, 4]]},
        {"values": [[1, 2, 3]]},
        {"better": "blue"},
        {"selected": (2, 0)},
        {"marks": {(0, -1): "L1"}},
    ],
)
def test_what_is_no_table_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="heat map"):
        replace(TABLE, **change)  # type: ignore[arg-type]


def test_the_colours_of_the_page_are_used() -> None:
    for variable in ("--mlc-ink", "--mlc-paper"):
        assert f"var({variable}" in heat_map_svg(TABLE)


def test_a_card_says_where_the_working_set_fits() -> None:
    record = recorded_map()
    found = cells(record)
    assert "fits in L1" in tile_card_svg(found[Tile(16, 32)], record)
    assert "fits in neither" in tile_card_svg(found[Tile(960, 960)], record)
    assert "not measured yet" in tile_card_svg(None, record)
    for tile in found:
        ET.fromstring(tile_card_svg(found[tile], record))


@pytest.mark.parametrize(
    ("size", "text"),
    [(608, "0.594 KiB"), (32768, "32 KiB"), (1 << 20, "1 MiB"), (1023 * 1024, "1,023 KiB")],
)
def test_sizes_are_written_in_binary_units(size: int, text: str) -> None:
    assert kib(size) == text
