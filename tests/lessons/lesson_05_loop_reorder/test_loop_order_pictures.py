# mypy: ignore-errors
"""The pictures of lesson 5: bars of a race, matrices being visited, iterations in conflict."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_05_loop_reorder.bars_picture import Bar, Bars, Mark
from mlc_course.lessons.lesson_05_loop_reorder.conflict_picture import iterations_svg
from mlc_course.lessons.lesson_05_loop_reorder.loop_order_pictures import (
    beside,
    counts_svg,
    frames,
    orders_svg,
    small_misses_svg,
    total_misses_svg,
    visits_svg,
)
from mlc_course.lessons.lesson_05_loop_reorder.loop_orders import ORDERS, visits
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.legality import compare, reordered, run_as
from mlc_course.tensor_program.memory import Roofs
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.tir import T


def comparison(name: str, *seconds: float) -> Comparison:
    return Comparison(Timing(name, seconds), Timing("NumPy", (0.5,) * len(seconds)))


RACE = {
    "quick": comparison("quick", *[0.25] * 6),
    "slow": comparison("slow", *[20.0] * 6),
    "wild": comparison("wild", 1.0, 3.0, 9.0),
}


def test_a_race_has_a_bar_for_each_and_says_times_and_ratios() -> None:
    svg = orders_svg(RACE, "a race", "slow")
    ET.fromstring(svg)
    for text in ("a race", "NumPy 500 ms", "250 ms, 2.00 x NumPy", "20,000 ms, 0.025 x NumPy"):
        assert text in svg
    assert "3,000 ms, 0.17 x NumPy (noisy)" in svg
    assert all(f'id="rung-{place}"' in svg for place in range(3))


def test_the_roof_is_dashed_and_left_of_all_bars() -> None:
    svg = orders_svg(RACE, "a race", roofs=Roofs(1, 100.0, 10.0), flops=10**10)
    assert "roof 100 ms" in svg and "stroke-dasharray" in svg
    assert "stroke-dasharray" not in orders_svg(RACE, "a race")
    root = ET.fromstring(svg)
    starts = [float(e.get("x")) for e in root.iter() if (e.get("id") or "").startswith("rung")]
    dashed = next(e.get("d") for e in root.iter() if e.get("stroke-dasharray"))
    assert min(starts) < float(re.match(r"M([\d.]+)", dashed)[1])


def test_beside_the_matrices_a_bar_says_its_time_alone() -> None:
    svg = orders_svg(RACE, "a race", narrow=True)
    assert "250 ms" in svg and "x NumPy" not in svg
    assert 'viewBox="0 0 380' in svg


@pytest.mark.parametrize("narrow", [False, True])
def test_no_words_leave_the_picture(narrow: bool) -> None:
    root = ET.fromstring(orders_svg(RACE, "a race", narrow=narrow))
    wide = float(root.get("viewBox").split()[2])
    for each in root.iter():
        if each.tag.endswith("text") and each.get("text-anchor") == "start":
            assert float(each.get("x")) + 5.5 * len(each.text) < wide + 20, each.text


def test_counts_have_bars_and_a_line_of_one_miss_each() -> None:
    svg = counts_svg({"m-n-k": 1000, "m-k-n": 62}, "misses", 1000)
    assert "1,000 (1.000 per multiply-add)" in svg
    assert "one miss per multiply-add" in svg
    with pytest.raises(UsageError):
        counts_svg({"m-n-k": 0}, "misses", 1000)


def test_a_bar_at_numpys_left_has_its_words_right_of_numpys_line() -> None:
    marks = [Mark(10.0, "NumPy", "#d55e00")]
    svg = Bars("t", "ms", [Bar("a", 1.0, "ONE"), Bar("b", 100.0, "MANY")], marks).svg()
    root = ET.fromstring(svg)
    x = {e.text: float(e.get("x")) for e in root.iter() if e.tag.endswith("text")}
    assert x["ONE"] > x["NumPy"]


def test_the_small_misses_are_those_of_the_visits() -> None:
    svg, total = small_misses_svg(), total_misses_svg("k-n-m")
    for order in ORDERS:
        misses = visits(order).misses
        assert f"{order}: " + ", ".join(f"{k} {v}" for k, v in misses.items()) in svg
        assert f">{sum(misses.values())}<" in total
    assert total.count('class="chosen"') == 1


def test_pictures_beside_each_other_are_all_there() -> None:
    assert beside("<svg>1</svg>", "<svg>2</svg>").count("<svg>") == 2


def test_the_selected_bar_is_marked() -> None:
    assert orders_svg(RACE, "a race", "slow") != orders_svg(RACE, "a race", "quick")
    with pytest.raises(UsageError, match="no such program"):
        orders_svg(RACE, "a race", "absent")
    with pytest.raises(UsageError):
        orders_svg({}, "no race")


def test_visits_show_held_lines_frames_and_counts() -> None:
    svg = visits_svg(visits("m-n-k"), 100)
    root = ET.fromstring(svg)
    classes = {each.get("id"): each.get("class") for each in root.iter() if each.get("id")}
    assert classes["now-B"] == "now miss"
    assert classes["now-A"] == classes["now-C"] == "now hit"
    assert sum(state == "held" for state in classes.values()) == 8
    assert ">100 misses<" in svg
    assert "m = 1, n = 4, k = 3" in svg
    assert "    for k in range(8):" in svg


def test_nothing_is_held_before_the_first_iteration() -> None:
    svg = visits_svg(visits("k-n-m"), 0)
    assert 'class="held"' not in svg
    assert "now hit" not in svg
    assert "now miss" not in svg
    with pytest.raises(UsageError, match="no such step"):
        visits_svg(visits("k-n-m"), 513)


def test_the_frames_say_what_the_pictures_show() -> None:
    shown = visits("k-m-n")
    frame = frames(shown)
    for step in (0, 1, 77, 512):
        svg = visits_svg(shown, step)
        held = {int(line) for line in re.findall(r'id="line-(\d+)" class="held"', svg)}
        assert held == set(frame["held"][step])
        for name, misses in zip("ABC", frame["misses"][step], strict=True):
            assert f">{misses} misses<" in svg
            assert f'id="bar-{name}" class="count"' in svg
        for square in filter(None, frame["now"][step]):
            assert f'x="{square[0]}" y="{square[1]}"' in svg


@T.prim_func(s_tir=True)
def smooth(X: T.Buffer((7, 7), "float32")):
    for i, j in T.grid(6, 6):
        X[i + 1, j] = (X[i, j] + X[i, j + 1]) * T.float32(0.5)


@T.prim_func(s_tir=True)
def down(X: T.Buffer((7, 7), "float32")):
    for i, j in T.grid(6, 6):
        X[i + 1, j] = X[i, j] * T.float32(0.5)


def test_a_conflict_has_both_iterations_with_their_turns() -> None:
    after = reordered(smooth, "j", "i")
    svg = iterations_svg(smooth, after, compare(smooth, after), ("one", "other"))
    root = ET.fromstring(svg)
    text = [each.text for each in root.iter() if each.text]
    assert text.count("2") > 2
    assert text.count("7") == 2  # each of the two has the seventh turn once
    assert {"one", "other"} <= set(text)
    assert svg.count('class="first"') == svg.count('class="second"') == 2
    assert "illegal (flow dependence)" in svg


def test_a_legal_order_has_no_witness() -> None:
    after = reordered(down, "j", "i")
    svg = iterations_svg(down, after, compare(down, after))
    assert 'class="first"' not in svg
    assert "legal: 36 instances" in svg


def test_a_race_can_be_drawn_too() -> None:
    after = run_as(smooth, "i", "parallel")
    assert 'class="second"' in iterations_svg(smooth, after, compare(smooth, after))


@T.prim_func(s_tir=True)
def long(X: T.Buffer((20, 7), "float32")):
    for i, j in T.grid(19, 6):
        X[i + 1, j] = X[i, j] * T.float32(0.5)


def test_what_is_too_long_to_draw_is_refused() -> None:
    with pytest.raises(UsageError, match="too many iterations"):
        iterations_svg(long, long, compare(long, long))


def test_what_is_no_nest_of_two_loops_is_refused() -> None:
    product = matmul(3, 3, 3).program()
    verdict = compare(smooth, smooth)
    for before, after in ((product, product), (smooth, product)):
        with pytest.raises(UsageError, match="not one statement"):
            iterations_svg(before, after, verdict)
