"""Lesson 18: how large is the search, and what cuts it? The search-tree explorer.

In the kernel race, what the search finds for this machine runs beside NumPy.
"""

from mlc_course.lessons.lesson_18_superoptimization.choices_picture import choices_svg
from mlc_course.lessons.lesson_18_superoptimization.growth_picture import growth_svg
from mlc_course.lessons.lesson_18_superoptimization.kernel_race import KernelRace
from mlc_course.lessons.lesson_18_superoptimization.search_explorer import SearchExplorer

__all__ = [
    "KernelRace",
    "SearchExplorer",
    "choices_svg",
    "growth_svg",
]
