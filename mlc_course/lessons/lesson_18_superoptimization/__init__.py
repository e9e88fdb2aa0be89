"""Lesson 18: how large is the search, and what cuts it? The search-tree explorer.

In the kernel race, what the search finds for this machine runs beside NumPy. Read ``searches``
first: searches and banks as the lesson shows them.
"""

from mlc_course.lessons.lesson_18_superoptimization import blanks, checks
from mlc_course.lessons.lesson_18_superoptimization.choices_picture import choices_svg
from mlc_course.lessons.lesson_18_superoptimization.examples import found_graphs, small_attention
from mlc_course.lessons.lesson_18_superoptimization.growth_picture import growth_svg
from mlc_course.lessons.lesson_18_superoptimization.kernel_race import KernelRace
from mlc_course.lessons.lesson_18_superoptimization.last_words import last_sentence, proof
from mlc_course.lessons.lesson_18_superoptimization.model_tables import beside, tilings, why_table
from mlc_course.lessons.lesson_18_superoptimization.search_explorer import SearchExplorer
from mlc_course.lessons.lesson_18_superoptimization.searches import (
    expressions_of,
    extrapolated,
    grown,
    growth,
    growth_of,
    same_operators,
    searched,
    solutions,
    time_for,
    without_each,
    worth,
)
from mlc_course.lessons.lesson_18_superoptimization.tables import text_table
from mlc_course.mugraph.expressions import said

__all__ = [
    "KernelRace",
    "SearchExplorer",
    "beside",
    "blanks",
    "checks",
    "choices_svg",
    "expressions_of",
    "extrapolated",
    "found_graphs",
    "grown",
    "growth",
    "growth_of",
    "growth_svg",
    "last_sentence",
    "proof",
    "said",
    "same_operators",
    "searched",
    "small_attention",
    "solutions",
    "text_table",
    "tilings",
    "time_for",
    "why_table",
    "without_each",
    "worth",
]
