"""The pictures of a search: the opened tree, and how it grows."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from mlc_course.drawing import SMALL, width
from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_18_superoptimization.growth_picture import growth_svg
from mlc_course.lessons.lesson_18_superoptimization.opened_tree import Opened, Place, parsed
from mlc_course.lessons.lesson_18_superoptimization.tree_picture import WIDE, clipped, tree_svg
from mlc_course.mugraph.enumeration import Level, Tree
from mlc_course.mugraph.expressions import why_not
from mlc_course.mugraph.programs import workload
from mlc_course.mugraph.search import Nest

LORA = Tree(workload("lora"))
SOLUTION = next(key for level in LORA.count() for key in level.solutions)
DEEP = Tree(workload("rms_norm_matmul"), Nest(("d",)), ("order",), most=9)


def places(svg: str) -> list[str]:
    return re.findall(r'id="at-([^"]*)"', svg)


def test_a_tree_begins_with_its_inputs_and_the_first_operators() -> None:
    svg = tree_svg(Opened(LORA))
    ElementTree.fromstring(svg)
    assert places(svg)[0] == "root"
    assert "X W A B" in svg
    assert "8 alive, 7 cut" in svg
    assert "p = sum(X, axis=1)" in svg
    assert "… 2 more" in svg
    assert "p = sum(X, axis=0)" not in svg


def test_the_way_to_a_solution_is_marked_by_more_than_colour() -> None:
    svg = tree_svg(Opened(LORA, str(Place(SOLUTION))))
    for n in range(1, len(SOLUTION) + 1):
        assert str(Place(SOLUTION[:n])) in places(svg)
    assert "a solution" in svg
    assert "No more is needed." in svg
    assert svg.count('stroke-width="4"') == len(SOLUTION) + 1  # the way, and the chosen frame


def test_a_group_that_is_open_shows_what_was_cut() -> None:
    opened = Opened(LORA, "root/0")
    assert opened.reason == "its expression is no part of the goal"
    svg = tree_svg(opened)
    assert "p = sum(X, axis=0)" in svg
    cut = tree_svg(Opened(LORA, opened.moves["ArrowRight"]))
    assert places(cut) == places(svg)


def test_a_deep_tree_stays_as_wide_and_as_high_and_shows_the_newest_columns() -> None:
    opened = Opened(DEEP)
    for _ in range(9):
        opened = Opened(DEEP, opened.moves["ArrowRight"])
    svg = tree_svg(opened)
    assert ">6 more<" in svg
    assert "9 operators: the limit." in svg
    high = float(re.search(r'viewBox="0 0 1000 (\d+)"', svg)[1])  # type: ignore[index]
    assert high < 900
    for x, wide in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg):
        assert float(x) + float(wide) <= WIDE


def test_of_many_rows_those_around_the_chosen_one_are_shown() -> None:
    opened = Opened(DEEP)
    last = Opened(DEEP, opened.columns[0].places(None)[-2])
    shown = places(tree_svg(last))
    assert last.chosen in shown
    assert len(shown) < 30
    more = [row for row in last.rows(0) if row.kind == "more"]
    assert [row.words.split()[-1] for row in more] == ["before"]
    assert Opened(DEEP, more[0].place)


@pytest.mark.parametrize("place", ["", "root-", "3", "root-999", "root/77", "root-3/x", "ROOT"])
def test_a_place_that_is_not_there_is_refused(place: str) -> None:
    with pytest.raises(UsageError):
        Opened(LORA, place)


def test_places_are_read_back() -> None:
    for place in (Place(()), Place((3, 17)), Place((), 0), Place((3,), 2)):
        assert parsed(str(place)) == place


def test_long_words_are_clipped_to_the_room() -> None:
    assert clipped("p = matmul(X, W)", 400) == "p = matmul(X, W)"
    short = clipped("6 G W X/(sqrt(6 (1/6) X^2))", 100)
    assert short.endswith("…")
    assert width(short, SMALL) <= 100


# --- growth ---------------------------------------------------------------------------------------


def level(depth: int, alive: int, *, found: int = 0, complete: bool = True) -> Level:
    return Level(depth, alive, {}, found, complete)


def test_growth_has_a_curve_and_a_label_for_each() -> None:
    svg = growth_svg(
        {
            "all": [level(0, 1), level(1, 8), level(2, 37, found=1)],
            "none": [level(0, 1), level(1, 142), level(2, 45_226), level(3, 99, complete=False)],
        }
    )
    ElementTree.fromstring(svg)
    assert "all: 37" in svg
    assert "none: 45,226" in svg
    assert "100,000" in svg
    assert "first solution" in svg
    assert "goes on, not counted" in svg


def test_a_count_that_a_limit_ended_is_not_drawn() -> None:
    curve = [level(0, 1), level(1, 142)]
    svg = growth_svg({"none": [*curve, level(2, 99, complete=False)]})
    assert "none: 142" in svg and "99" not in re.findall(r">([^<]*)</text>", svg)
    assert "goes on, not counted" not in growth_svg({"none": curve})


def test_labels_of_curves_that_end_at_one_place_do_not_meet() -> None:
    curves = {str(n): [level(0, 1), level(1, 10)] for n in range(6)}
    heights = [float(y) for y in re.findall(r' y="([\d.]+)"[^>]*>\d: 10<', growth_svg(curves))]
    assert len(heights) == 6
    assert min(b - a for a, b in pairwise(sorted(heights))) >= 12  # points: the size of the letters


@pytest.mark.parametrize("curves", [{}, {"nothing": []}, {"zero": [level(0, 0)]}])
def test_where_nothing_grows_there_are_axes(curves: dict[str, list[Level]]) -> None:
    ElementTree.fromstring(growth_svg(curves))


# --- why ------------------------------------------------------------------------------------------

GOAL = {("A", "B", "X"): 21, ("W", "X"): 3}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({("X", "X"): 1}, "X^2 occurs nowhere"),
        ({("C",): 1}, "C occurs nowhere"),
        ({("A", "W"): 1}, "A and W are never multiplied"),
        ({("W",): 5}, "5 W adds up along another axis than 3 W X"),
        ({("B",): 1, ("W",): 3}, "no product brings its terms together to terms of the goal"),
    ],
)
def test_a_value_that_is_no_part_of_the_goal_says_why(
    value: dict[tuple[str, ...], int], why: str
) -> None:
    assert why_not(dict(value), [dict(GOAL)]) == why


def test_every_value_that_the_library_refuses_has_a_reason() -> None:
    for tree in (LORA, Tree(workload("rms_norm_matmul"), Nest(("d",)))):
        for child in tree.root.children():
            for each in [child, *(child.node.children() if child.node else [])]:
                assert bool(tree.why(each)) == ("no part" in each.reason)
