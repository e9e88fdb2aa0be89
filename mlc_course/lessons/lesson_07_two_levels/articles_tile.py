"""The tile of the article that this course grew from, 16 x 8 x 8, and a fair opponent."""

from __future__ import annotations

from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule


def article(sch: Schedule) -> None:
    """Cut all three loops by 16, 8 and 8, with the zeros inside, as the article does."""
    steps.tile(sch, "C", m=16, n=8, k=8)
    steps.reorder(sch, "C", "k_1", "n_1")


def article_hoisted(sch: Schedule) -> None:
    """Cut as the article does, with the zeros in front."""
    article(sch)
    steps.hoist_init(sch, "C", "k_0")
