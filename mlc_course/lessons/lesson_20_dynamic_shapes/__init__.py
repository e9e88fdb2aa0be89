"""Lesson 20: what may a compiler do with sizes that it does not know? Facts, provers, guards.

Read ``one_step`` first, a prover of equal products that is in use, then ``row_sums``, a kernel in
variants that are right at some sizes only.
"""

from mlc_course.lessons.lesson_20_dynamic_shapes import checks
from mlc_course.lessons.lesson_20_dynamic_shapes.exercise_programs import (
    TO_FUSE,
    TO_INFER,
    with_sizes,
)
from mlc_course.lessons.lesson_20_dynamic_shapes.one_step import proves
from mlc_course.lessons.lesson_20_dynamic_shapes.row_sums import (
    VARIANTS,
    Rows,
    run_variant,
)

__all__ = [
    "Rows",
    "TO_FUSE",
    "TO_INFER",
    "VARIANTS",
    "checks",
    "proves",
    "run_variant",
    "with_sizes",
]
