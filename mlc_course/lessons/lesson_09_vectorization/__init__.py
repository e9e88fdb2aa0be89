"""Lesson 9: what does the compiler make of a loop? Chains, lanes and the assembly lens."""

from mlc_course.lessons.lesson_09_vectorization import blanks, checks, sentences
from mlc_course.lessons.lesson_09_vectorization.assembly_lens import AssemblyLens
from mlc_course.lessons.lesson_09_vectorization.assembly_picture import hot_loop_html
from mlc_course.lessons.lesson_09_vectorization.cost_picture import costs_svg, tiles_of, tiles_svg
from mlc_course.lessons.lesson_09_vectorization.loop_and_end import row_costs
from mlc_course.lessons.lesson_09_vectorization.row_problems import (
    add_one,
    exponentials,
    overlapping_sums,
    row_dots,
    row_sums,
    weighted_columns,
)
from mlc_course.lessons.lesson_09_vectorization.vector_forms import (
    along_a_row,
    as_written,
    columns_at_once,
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
    "blanks",
    "checks",
    "columns_at_once",
    "costs_svg",
    "down_a_column",
    "exponentials",
    "hot_loop_html",
    "in_a_row",
    "in_sums",
    "overlapping_sums",
    "register_tile",
    "row_costs",
    "row_dots",
    "row_sums",
    "sentences",
    "tiles_of",
    "tiles_svg",
    "unrolled",
    "weighted_columns",
]
