"""Lesson 4: would a larger cache help, and would the program then be faster?

Read ``programs`` first, then ``limits``: what bytes and operations allow. ``race`` measures six
programs, ``reuse_explorer`` is the widget, and ``remarks`` makes sentences of the values.
"""

from mlc_course.lessons.lesson_04_reuse_distance_and_roofline import (
    blanks,
    checks,
    problems,
    remarks,
)
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.hook_picture import fetches_svg
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.limits import (
    bytes_into,
    least_seconds,
)
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.race import (
    bytes_by_level,
    contenders,
    measure_all,
    operations,
)
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.reuse_explorer import ReuseExplorer
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.reuse_picture import reuse_svg
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.roofline_picture import roofs_svg
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.time_picture import times_svg

__all__ = [
    "ReuseExplorer",
    "blanks",
    "bytes_by_level",
    "bytes_into",
    "checks",
    "contenders",
    "fetches_svg",
    "least_seconds",
    "measure_all",
    "operations",
    "problems",
    "remarks",
    "reuse_svg",
    "roofs_svg",
    "times_svg",
]
