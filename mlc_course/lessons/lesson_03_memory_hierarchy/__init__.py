"""Lesson 3: why do equal loops differ in speed? The cache theatre."""

from mlc_course.lessons.lesson_03_memory_hierarchy import streams
from mlc_course.lessons.lesson_03_memory_hierarchy.cache_theatre import Theatre
from mlc_course.lessons.lesson_03_memory_hierarchy.hierarchy_picture import hierarchy_svg
from mlc_course.lessons.lesson_03_memory_hierarchy.plays import total
from mlc_course.lessons.lesson_03_memory_hierarchy.reuse_picture import reuse_svg

__all__ = [
    "Theatre",
    "hierarchy_svg",
    "reuse_svg",
    "streams",
    "total",
]
