"""Lesson 8: what does fusion save, and what does it cost? Bytes moved before and after."""

from mlc_course.lessons.lesson_08_fusion.staged_problems import (
    SMALL_CACHES,
    row_by_row,
    scale_shift_clip,
    staged,
)
from mlc_course.lessons.lesson_08_fusion.traffic_widget import TrafficWidget

__all__ = [
    "SMALL_CACHES",
    "TrafficWidget",
    "row_by_row",
    "scale_shift_clip",
    "staged",
]
