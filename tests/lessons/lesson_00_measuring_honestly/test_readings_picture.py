from __future__ import annotations

from mlc_course.lessons.lesson_00_measuring_honestly.readings_picture import (
    readings_html,
    readings_svg,
)
from mlc_course.measure import Comparison, Timing

COMPARISON = Comparison(Timing("ours", (0.002, 0.0021, 0.006)), Timing("NumPy", (0.003,) * 3))


def test_the_picture_says_median_best_and_ratio() -> None:
    svg = readings_svg(COMPARISON, "a race")
    assert "a race" in svg
    assert "median 2.10 ms, best 2.00 ms" in svg
    assert (
        "NumPy / ours: median 1.429, 95 % interval 0.500 to 1.500, half of the rounds from 0.964"
        in svg
    )
    assert "(noisy)" in svg


def test_a_single_round_can_be_drawn() -> None:
    one = Comparison(Timing("ours", (0.002,)), Timing("NumPy", (0.002,)))
    assert "median 1.000" in readings_svg(one, "one")


def test_the_picture_has_an_alternative_text() -> None:
    shown = readings_html(COMPARISON, "a <race>")
    assert 'role="img"' in shown and 'aria-label="a &lt;race&gt;: ours: median 2.10 ms' in shown
