from __future__ import annotations

import numpy as np
import pytest

from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.reuse_picture import (
    _bins,
    reuse_svg,
)
from mlc_course.tensor_program.memory import Reuse

FOUND = Reuse(
    64,
    {"A": 6, "B": 4},
    {"A": np.array([7, 0, 2, 3, 0, 0, 0, 0, 1, 0]), "B": np.zeros(10, np.int64)},
)


def test_uses_are_counted_by_powers_of_two() -> None:
    assert _bins(FOUND) == [7, 0, 5, 0, 1]
    assert _bins(FOUND, 3) == [0, 0, 3, 0, 1]  # what a cache of three lines misses
    svg = reuse_svg(FOUND)
    for label in (">0<", ">2+<", ">8+<", ">first use<"):
        assert label in svg


def test_heading_caches_and_misses_are_named_and_told() -> None:
    svg = reuse_svg(FOUND, {"L1": 4 * 64, "huge": 1 << 30}, "a & walk", chosen=3 * 64)
    for words in ("a &amp; walk", "L1 256", "huge: larger than every distance", "14 misses"):
        assert words in svg
    assert "11 misses with L1" in svg and "14 misses with a cache of 3 lines" in svg
    assert "7 at distance 0; 5 at distance 2 to 3" in svg


def test_what_the_chosen_cache_misses_is_hatched() -> None:
    hatched = 'fill="url(#mlc-reuse)"'
    assert hatched not in reuse_svg(FOUND)
    assert reuse_svg(FOUND, chosen=3 * 64).count(hatched) == 3  # distances 3 and 8, first uses
    assert reuse_svg(FOUND, chosen=1 << 20).count(hatched) == 1  # first uses


@pytest.mark.parametrize("lines", [1, 2, 5000])
def test_few_and_many_lines_can_be_drawn(lines: int) -> None:
    assert "<svg" in reuse_svg(Reuse(64, {"A": lines}, {"A": np.ones(lines, np.int64)}), chosen=64)
