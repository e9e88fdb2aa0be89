"""Lesson 3: why does the same load take one nanosecond here and a hundred there?

Read ``plays`` first, the small programs of the cache theatre; ``large_sums`` has the one that the
lesson races, ``walks`` the chases, and ``remarks`` the sentences that follow from the values.
"""

from mlc_course.lessons.lesson_03_memory_hierarchy import blanks, checks, remarks
from mlc_course.lessons.lesson_03_memory_hierarchy.bar_pictures import misses_svg, race_svg
from mlc_course.lessons.lesson_03_memory_hierarchy.cache_theatre import Theatre
from mlc_course.lessons.lesson_03_memory_hierarchy.hierarchy_picture import hierarchy_svg
from mlc_course.lessons.lesson_03_memory_hierarchy.large_sums import (
    SIDE,
    addresses_down,
    race_sums,
    sums,
)
from mlc_course.lessons.lesson_03_memory_hierarchy.lines_picture import lines_svg
from mlc_course.lessons.lesson_03_memory_hierarchy.plays import total
from mlc_course.lessons.lesson_03_memory_hierarchy.walks import far_bytes, walk_misses

__all__ = [
    "SIDE",
    "Theatre",
    "addresses_down",
    "blanks",
    "checks",
    "far_bytes",
    "hierarchy_svg",
    "lines_svg",
    "misses_svg",
    "race_sums",
    "race_svg",
    "remarks",
    "sums",
    "total",
    "walk_misses",
]
