"""The pictures of lesson 13 say in words what they show."""

from __future__ import annotations

import pytest

from mlc_course.lessons.lesson_13_computational_graphs import contest, race_view
from mlc_course.measure import Comparison, Timing


def raced(*seconds: float, numpy: float) -> dict[str, Comparison]:
    baseline = Timing("NumPy", (numpy,) * 6)
    names = (contest.FIVE, contest.TWO)
    return {
        name: Comparison(Timing(name, (each,) * 6), baseline)
        for name, each in zip(names, seconds, strict=True)
    }


@pytest.mark.parametrize(("scale", "unit"), [(1e-6, "µs"), (1e-3, "ms")])
def test_a_race_has_a_unit_that_fits_and_words(scale: float, unit: str) -> None:
    page = race_view(raced(4 * scale, 3 * scale, numpy=8 * scale), "1 image").data
    assert f"{unit} (logarithmic)" in page
    assert 'role="img" aria-label="1 image: five kernels' in page


def test_a_verdict_needs_an_interval_on_one_side_of_one() -> None:
    found = raced(4e-3, 2e-3, numpy=3e-3)
    assert "2.00 times as fast" in contest.verdict(found, contest.TWO, over=contest.FIVE)
    assert "slower, 2.00 times the time" in contest.verdict(found, contest.FIVE, over=contest.TWO)
    assert "a launch costs 666.67 to 666.67 µs" in contest.saved_per_launch(found, 3)
    equal = raced(4e-3, 4e-3, numpy=3e-3)
    assert "cannot tell" in contest.verdict(equal, contest.TWO, over=contest.FIVE)
    assert "less than this race can see" in contest.saved_per_launch(equal, 3)


def test_the_change_that_spares_more_is_named() -> None:
    counts = {contest.FIVE: (5, 0, 100), contest.TWO: (2, 0, 80), contest.MERGED: (2, 0, 30)}
    assert "80%" in contest.where_it_went(counts)
    assert contest.where_it_went(counts).endswith("merging the nests spares more")
    counts[contest.TWO] = 2, 0, 40
    assert contest.where_it_went(counts).endswith("grouping the operators spares more")
