"""What is counted of the stages, and the sentences that follow from it."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.lessons.lesson_01_primitive_tensor_functions import chains, counts
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.networks import digits, train


def found(ratio: float, spread: float = 0.0) -> Comparison:
    """A race that NumPy loses by this ratio, give or take a spread."""
    ours = tuple(1.0 / (ratio * (1 + spread * (n % 3 - 1))) for n in range(30))
    return Comparison(Timing("ours", ours), Timing("NumPy", (1.0,) * 30))


def test_fusing_moves_all_bytes_and_drops_none() -> None:
    _, five, two, library = chains()
    assert counts.bytes_between_and_inside(five) == (2440, 0)
    assert counts.bytes_between_and_inside(two) == (800, 1640)
    assert counts.bytes_between_and_inside(library) == (800, 840)


@pytest.mark.parametrize(
    ("before", "after", "words"), [(8, 8, "none"), (8, 3, "some of them"), (8, 0, "all of them")]
)
def test_bytes_that_are_gone(before: int, after: int, words: str) -> None:
    assert counts.gone(before, after) == words


def test_errors_are_relative_to_what_was_added_up() -> None:
    image = digits().test_images[:1]
    right = train().numpy(image)
    assert counts.disagreement(right, train(), image) < 1e-6
    wrong = right + np.float32(1)
    assert counts.disagreement(wrong, train(), image) > 1e-3


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (2.0, "faster than NumPy"),
        (0.5, "slower, by less than 3 x"),
        (0.07, "slower, by 3 x or more"),
    ],
)
def test_answers_of_the_prediction(ratio: float, words: str) -> None:
    assert counts.slower_by(ratio) == words


@pytest.mark.parametrize(
    ("race", "words"),
    [
        (found(2.0), "the library is 2.0 times as fast as NumPy"),
        (found(0.25), "NumPy is 4.0 times as fast as the library"),
        (found(1.02), "the library is about as fast as NumPy"),
        (found(1.0, 0.3), "the library is about as fast as NumPy"),
    ],
)
def test_who_is_faster(race: Comparison, words: str) -> None:
    assert counts.versus("the library", race) == words


def test_functions_are_many() -> None:
    assert counts.versus("two functions", found(1), "five functions").startswith(
        "two functions are about"
    )
    assert counts.versus("two functions", found(0.5), "five functions").startswith(
        "five functions are 2.0"
    )


@pytest.mark.parametrize(
    ("ratio", "words"), [(1.2, "mostly the price of calling"), (4.0, "less than half")]
)
def test_the_price_of_calls(ratio: float, words: str) -> None:
    assert words in counts.calls_said(found(ratio))


def test_what_fusing_saves_is_counted_before_it_is_raced(monkeypatch: pytest.MonkeyPatch) -> None:
    said = counts.fusing_said(256, found(1.0))
    assert said.startswith("256 images: 3 calls fewer, and 420 kB of 625 kB less")
    assert "into your largest cache" in said


def test_the_order_is_held_against_two_functions() -> None:
    races = {1: {"five functions": found(0.5), "two functions": found(1), "library": found(4)}}
    assert "made two functions 4.0 times as fast, 4.00 x NumPy's" in counts.order_said(races)
