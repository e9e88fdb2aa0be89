"""Lesson 16: what does one block do? The mu-graph explorer, and what notices a wrong map."""

from mlc_course.lessons.lesson_16_mu_graphs import blanks, checks
from mlc_course.lessons.lesson_16_mu_graphs.agreement_picture import agreement_svg
from mlc_course.lessons.lesson_16_mu_graphs.changes import CHANGES, changed, complaint, verdict
from mlc_course.lessons.lesson_16_mu_graphs.examples import NAMES, example
from mlc_course.lessons.lesson_16_mu_graphs.grid_picture import GridMap
from mlc_course.lessons.lesson_16_mu_graphs.mugraph_explorer import explore
from mlc_course.lessons.lesson_16_mu_graphs.trade_picture import trade_svg

__all__ = [
    "CHANGES",
    "GridMap",
    "NAMES",
    "agreement_svg",
    "blanks",
    "changed",
    "checks",
    "complaint",
    "example",
    "explore",
    "trade_svg",
    "verdict",
]
