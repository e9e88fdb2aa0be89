"""Lesson 20: how is a program compiled for sizes that nobody knows yet? The size slider.

Read ``tables`` first, what the lesson counts and times; ``constraint_picture`` draws facts, and
``wrong_guard`` runs a kernel at sizes that its guard refuses. For the exercises, ``one_step`` is a
prover of equal products that is in use, and ``row_sums`` a kernel in variants that are right at
some sizes only.
"""

from mlc_course.lessons.lesson_20_dynamic_shapes import blanks, checks
from mlc_course.lessons.lesson_20_dynamic_shapes.blanks import without_facts
from mlc_course.lessons.lesson_20_dynamic_shapes.constraint_picture import constraint_graph
from mlc_course.lessons.lesson_20_dynamic_shapes.exercise_programs import (
    TO_FUSE,
    TO_INFER,
    with_sizes,
)
from mlc_course.lessons.lesson_20_dynamic_shapes.last_words import last_sentence
from mlc_course.lessons.lesson_20_dynamic_shapes.one_step import proves
from mlc_course.lessons.lesson_20_dynamic_shapes.row_sums import (
    VARIANTS,
    Rows,
    run_variant,
)
from mlc_course.lessons.lesson_20_dynamic_shapes.size_slider import SizeSlider, tails
from mlc_course.lessons.lesson_20_dynamic_shapes.tables import (
    asked,
    at_lengths,
    combination,
    divisions,
    kernels_by_facts,
    lengths_table,
    listing,
)
from mlc_course.lessons.lesson_20_dynamic_shapes.wrong_guard import without_guard

__all__ = [
    "Rows",
    "SizeSlider",
    "TO_FUSE",
    "TO_INFER",
    "VARIANTS",
    "asked",
    "at_lengths",
    "blanks",
    "checks",
    "combination",
    "constraint_graph",
    "divisions",
    "kernels_by_facts",
    "last_sentence",
    "lengths_table",
    "listing",
    "proves",
    "run_variant",
    "tails",
    "with_sizes",
    "without_facts",
    "without_guard",
]
