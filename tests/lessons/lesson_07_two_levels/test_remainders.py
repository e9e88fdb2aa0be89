"""Four ways to cut 1,000 columns: each computes the product, and one of them asks."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from mlc_course.lessons.lesson_07_two_levels.articles_tile import article, article_hoisted
from mlc_course.lessons.lesson_07_two_levels.remainders import WAYS, guard_of, ways_svg
from mlc_course.tensor_program.ladders import Rung, contest
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule


@pytest.mark.parametrize("name", WAYS)
def test_each_way_computes_the_product(name: str) -> None:
    contest("matmul", (8, 128, 1000), Rung(name, "", WAYS[name]))


def test_both_forms_of_the_articles_tile_compute_the_product() -> None:
    for apply in (article, article_hoisted):
        contest("matmul", (32, 64, 64), Rung("", "", apply))


def test_a_factor_that_does_not_divide_brings_a_guard() -> None:
    sch = Schedule(matmul(8, 128, 1000).program())
    assert guard_of(sch) == ""
    steps.split(sch, "C", "n", 96, partial=True)
    assert guard_of(sch).startswith("T.where")


def test_the_picture_names_every_way() -> None:
    svg = ways_svg()
    ET.fromstring(svg)
    assert all(name in svg for name in WAYS)
