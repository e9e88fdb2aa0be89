"""Lesson 12: can the machine find it? The search scope, and Exo's schedule beside ours."""

from mlc_course.lessons.lesson_12_automatic_search import exo_schedule
from mlc_course.lessons.lesson_12_automatic_search.search_scope import SearchScope

__all__ = [
    "SearchScope",
    "exo_schedule",
]
