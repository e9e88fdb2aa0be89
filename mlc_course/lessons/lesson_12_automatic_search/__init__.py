"""Lesson 12: can the machine find it? Evolving by hand, the search scope, what a space permits."""

from mlc_course.lessons.lesson_12_automatic_search import (
    blanks,
    checks,
    exo_schedule,
    permission,
    sayings,
)
from mlc_course.lessons.lesson_12_automatic_search.search_scope import SearchScope
from mlc_course.lessons.lesson_12_automatic_search.strip_picture import strips

__all__ = [
    "SearchScope",
    "blanks",
    "checks",
    "exo_schedule",
    "permission",
    "sayings",
    "strips",
]
