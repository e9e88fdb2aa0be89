"""Lesson 6: which tile is fast? The tile-size heat map, predicted and measured."""

from mlc_course.lessons.lesson_06_tiling import blanks, checks, tile_heat_map
from mlc_course.lessons.lesson_06_tiling.counted import (
    agreement,
    best_tile,
    caches,
    cliff_svg,
    fetches,
    hot_loop,
    in_degrees,
    narrow_tile,
    orders,
    scheduled,
    small_maps,
    squeezed,
)
from mlc_course.lessons.lesson_06_tiling.tile_heat_map import TileMap
from mlc_course.lessons.lesson_06_tiling.tile_map import (
    NAME,
    Facts,
    Measured,
    cells,
    figures,
    map_record,
    measure,
    recorded_map,
)

__all__ = [
    "Facts",
    "Measured",
    "NAME",
    "TileMap",
    "agreement",
    "best_tile",
    "blanks",
    "caches",
    "cells",
    "checks",
    "cliff_svg",
    "fetches",
    "figures",
    "hot_loop",
    "in_degrees",
    "map_record",
    "measure",
    "narrow_tile",
    "orders",
    "recorded_map",
    "scheduled",
    "small_maps",
    "squeezed",
    "tile_heat_map",
]
