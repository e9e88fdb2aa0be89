"""Lesson 16: what does one block do? The mu-graph explorer."""

from mlc_course.lessons.lesson_16_mu_graphs.agreement_picture import agreement_svg
from mlc_course.lessons.lesson_16_mu_graphs.examples import NAMES, example
from mlc_course.lessons.lesson_16_mu_graphs.grid_picture import GridMap
from mlc_course.lessons.lesson_16_mu_graphs.mugraph_explorer import explore

__all__ = [
    "GridMap",
    "NAMES",
    "agreement_svg",
    "example",
    "explore",
]
