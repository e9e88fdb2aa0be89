"""Lesson 13: what does a graph compiler decide? Small graphs, fair races, and who shares a kernel.

Read ``examples`` for the graphs, ``contest`` for what is raced and counted.
"""

from mlc_course.lessons.lesson_13_computational_graphs import blanks, checks, contest, examples
from mlc_course.lessons.lesson_13_computational_graphs.pictures import (
    graph_view,
    nests,
    program_view,
    race_view,
)

__all__ = [
    "blanks",
    "checks",
    "contest",
    "examples",
    "graph_view",
    "nests",
    "program_view",
    "race_view",
]
