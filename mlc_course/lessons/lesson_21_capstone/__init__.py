"""Lesson 21: does a superoptimizer fit on one page? Programs as data, a contest, a museum.

Read ``plain_programs`` first: what a superoptimizer of a page works with.
"""

from mlc_course.grading.process import page
from mlc_course.lessons.lesson_21_capstone import blanks, checks
from mlc_course.lessons.lesson_21_capstone.against_the_library import contest
from mlc_course.lessons.lesson_21_capstone.class_table import (
    CLASS_PROGRAMS,
    ClassTable,
    as_page,
    as_plain,
    as_text,
    hand_in,
    handed_in,
)
from mlc_course.lessons.lesson_21_capstone.families import PRACTICE, drawn, practice
from mlc_course.lessons.lesson_21_capstone.last_words import follows, last_sentence
from mlc_course.lessons.lesson_21_capstone.lesson_tilings import (
    LINEAR_TEMPLATE,
    TEMPLATE,
    accepted,
    candidates,
    proof,
)
from mlc_course.lessons.lesson_21_capstone.museum import Museum, exhibits
from mlc_course.lessons.lesson_21_capstone.plain_programs import (
    Line,
    Moved,
    Program,
    measured,
    passes,
    read_program,
    written,
)
from mlc_course.lessons.lesson_21_capstone.tiled_by_a_colleague import colleague

__all__ = [
    "CLASS_PROGRAMS",
    "ClassTable",
    "LINEAR_TEMPLATE",
    "Line",
    "Moved",
    "Museum",
    "PRACTICE",
    "Program",
    "TEMPLATE",
    "accepted",
    "as_page",
    "as_plain",
    "as_text",
    "blanks",
    "candidates",
    "checks",
    "colleague",
    "contest",
    "drawn",
    "exhibits",
    "follows",
    "hand_in",
    "handed_in",
    "last_sentence",
    "measured",
    "page",
    "passes",
    "practice",
    "proof",
    "read_program",
    "written",
]
