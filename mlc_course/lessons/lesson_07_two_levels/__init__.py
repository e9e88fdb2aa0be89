"""Lesson 7: one tile for the cache, one for the registers, and what they leave over.

Read ``two_tiles`` first: the schedule, what it loads, and where its tile of B is. ``tile_walk``
is the widget, ``remainders`` cuts columns that no tile divides.
"""

from mlc_course.lessons.lesson_07_two_levels import blanks, checks, tile_walk
from mlc_course.lessons.lesson_07_two_levels.articles_tile import article, article_hoisted
from mlc_course.lessons.lesson_07_two_levels.narrow_vectors import race_targets, vector_targets
from mlc_course.lessons.lesson_07_two_levels.remainders import WAYS, cut, guard_of, ways_svg
from mlc_course.lessons.lesson_07_two_levels.sets_picture import sets_svg
from mlc_course.lessons.lesson_07_two_levels.tile_walk import TileWalk
from mlc_course.lessons.lesson_07_two_levels.two_tiles import (
    HotLoop,
    RegisterTile,
    best_registers,
    caches,
    counted,
    depth_by_sets,
    depth_by_size,
    fullest_set,
    hot_loop,
    loads_maps,
    panel_fetches,
    register_tiles,
    two_levels,
    whose_times,
)

__all__ = [
    "HotLoop",
    "RegisterTile",
    "TileWalk",
    "WAYS",
    "article",
    "article_hoisted",
    "best_registers",
    "blanks",
    "caches",
    "checks",
    "counted",
    "cut",
    "depth_by_sets",
    "depth_by_size",
    "fullest_set",
    "guard_of",
    "hot_loop",
    "loads_maps",
    "panel_fetches",
    "race_targets",
    "register_tiles",
    "sets_svg",
    "tile_walk",
    "two_levels",
    "vector_targets",
    "ways_svg",
    "whose_times",
]
