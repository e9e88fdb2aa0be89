"""Lesson 6: which tile is fast? The tile-size heat map, predicted and measured."""

from mlc_course.lessons.lesson_06_tiling import tile_heat_map
from mlc_course.lessons.lesson_06_tiling.heat_map_picture import HeatMap, heat_map_svg
from mlc_course.lessons.lesson_06_tiling.narrow_vectors import race_targets, vector_targets
from mlc_course.lessons.lesson_06_tiling.tile_heat_map import TileMap
from mlc_course.lessons.lesson_06_tiling.tile_map import (
    Facts,
    Measured,
    cells,
    figures,
    map_record,
    measure,
)
from mlc_course.lessons.lesson_06_tiling.tiles import (
    KS,
    Tile,
    best_for,
    grid,
    moved,
    tiled,
    untiled,
)

__all__ = [
    "Facts",
    "HeatMap",
    "KS",
    "Measured",
    "Tile",
    "TileMap",
    "best_for",
    "cells",
    "figures",
    "grid",
    "heat_map_svg",
    "map_record",
    "measure",
    "moved",
    "race_targets",
    "tile_heat_map",
    "tiled",
    "untiled",
    "vector_targets",
]
