"""The lesson's counts, and the sentences that follow from its measurements."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from mlc_course.lessons.lesson_00_measuring_honestly import figures, logs
from mlc_course.measure import Comparison, Timing


def comparison(ours: float, numpy: float) -> Comparison:
    return Comparison(Timing("ours", (ours,) * 9), Timing("NumPy", (numpy,) * 9))


def test_memory_that_is_touched_for_the_first_time_faults() -> None:
    before = figures.page_faults()
    fresh = figures.untouched(np.zeros((1 << 10, 1 << 10), np.float32))
    fresh[:] = 1
    touched = figures.page_faults()
    assert touched - before > 16
    fresh[:] = 2
    assert figures.page_faults() - touched < 16


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ([500, 0, 3, 0, 0], "in the first call"),
        ([100, 100, 90, 100, 99], "in every call, about as many"),
        ([0, 0, 0, 0, 0], "in every call, about as many"),
    ],
)
def test_where_faults_are(faults: list[int], words: str) -> None:
    assert figures.where_faults_are(faults) == words


def test_two_times_and_their_ratio() -> None:
    said = figures.two_times([0.1] * 8, [0.25] * 8)
    assert said.splitlines()[0] == "NumPy took 100 ms"
    assert "one median is 2.50 times the other" in said
    assert "Neither 100 ms nor 250 ms" in figures.neither([0.1], [0.25])


@pytest.mark.parametrize(
    ("claimed", "words"), [(1.05, "within"), (1.5, "too high"), (0.6, "too low")]
)
def test_how_far_a_ratio_is_off(claimed: float, words: str) -> None:
    assert words in figures.verdict(claimed, 1.0)


def test_figures_that_moved_are_drawn() -> None:
    changes = figures.moved(comparison(1.0, 2.0), comparison(2.0, 3.8))
    assert changes["median of ours"] == pytest.approx(1.0)
    assert changes["NumPy / ours"] == pytest.approx(-0.05)
    assert figures.moved_said(changes).startswith("Least: NumPy / ours, -5%. Most: ")
    ElementTree.fromstring(figures.moved_svg(changes))


def test_a_time_below_the_floor_is_called_impossible() -> None:
    assert "impossible" in figures.floor_said(0.001, 0.002)
    assert "2.00 times the floor" in figures.floor_said(0.002, 0.001)


def test_the_addition_fits_its_cache_and_the_sweep_does_not() -> None:
    (add, small), (_, large) = figures.addition(), figures.sweep()
    assert add() is not None
    assert large > small
    assert "no longer in" in figures.cold_said(small, large)


@pytest.mark.parametrize(
    ("ratio", "words"), [(1.1, "as long as before"), (2, "1.2 to 3"), (9, "3 times as long or")]
)
def test_how_much_longer(ratio: float, words: str) -> None:
    assert words in figures.longer(1.0, ratio)


def test_a_log_is_drawn_with_an_alternative_text() -> None:
    shown = logs.log_html(logs.QUIET)
    assert "<svg" in shown and 'aria-label="A log of 6 readings' in shown
