"""Lesson 8: what does fusion save, and what does it cost? Bytes moved before and after."""

from mlc_course.lessons.lesson_08_fusion import blanks, checks, sentences
from mlc_course.lessons.lesson_08_fusion.bars import buffers_svg, worth_svg
from mlc_course.lessons.lesson_08_fusion.staged_problems import (
    SMALL_CACHES,
    paper_bytes,
    row_by_row,
    scale_shift_clip,
    staged,
)
from mlc_course.lessons.lesson_08_fusion.traffic_widget import TrafficWidget
from mlc_course.lessons.lesson_08_fusion.when_picture import when_svg

__all__ = [
    "SMALL_CACHES",
    "TrafficWidget",
    "blanks",
    "buffers_svg",
    "checks",
    "paper_bytes",
    "row_by_row",
    "scale_shift_clip",
    "sentences",
    "staged",
    "when_svg",
    "worth_svg",
]
