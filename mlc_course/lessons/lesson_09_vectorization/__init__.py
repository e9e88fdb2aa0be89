"""Lesson 9: what does the compiler make of a loop? The assembly lens."""

from mlc_course.lessons.lesson_09_vectorization.assembly_lens import AssemblyLens
from mlc_course.lessons.lesson_09_vectorization.assembly_picture import hot_loop_html
from mlc_course.lessons.lesson_09_vectorization.row_problems import (
    add_one,
    exponentials,
    overlapping_sums,
    row_dots,
    row_sums,
)
from mlc_course.lessons.lesson_09_vectorization.vector_forms import (
    along_a_row,
    as_written,
    down_a_column,
    in_a_row,
    in_sums,
    register_tile,
    unrolled,
)

__all__ = [
    "AssemblyLens",
    "add_one",
    "along_a_row",
    "as_written",
    "down_a_column",
    "exponentials",
    "hot_loop_html",
    "in_a_row",
    "in_sums",
    "overlapping_sums",
    "register_tile",
    "row_dots",
    "row_sums",
    "unrolled",
]
