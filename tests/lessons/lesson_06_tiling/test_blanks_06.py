"""Lesson 6's blanks: the answer is right, and typical wrong lines are told why."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.lessons.lesson_06_tiling import blanks


def reordered(*places: int) -> Any:
    def by_hand(sch: Any) -> None:
        m, n, k = sch.get_loops(sch.get_sblock("C"))
        k_0, k_1 = sch.split(k, [None, 32])
        n_0, n_1 = sch.split(n, [None, 32])
        loops = (n_0, k_0, m, k_1, n_1)
        sch.reorder(*(loops[place] for place in places))

    return by_hand


def dots(sch: Any) -> None:
    sch.reorder(...)


def test_what_is_not_written_yet_is_empty() -> None:
    assert blanks.working_set(lambda k, n: ...).empty
    assert blanks.tiled(dots).empty


def test_the_answers_are_right() -> None:
    assert blanks.working_set(lambda k, n: k * n + k + n).right
    assert blanks.tiled(reordered(0, 1, 2, 3, 4)).right
    assert blanks.tiled(reordered(1, 0, 2, 3, 4)).right


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (lambda k, n: k * n, "add those of A and of C"),
        (lambda k, n: k * n + 2 * k, "k elements of A and n of C"),
        (lambda k, n: 4 * (k * n + k + n), "expected  24"),
    ],
)
def test_a_wrong_working_set_is_told(written: Any, words: str) -> None:
    assert words in str(blanks.working_set(written))


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ((2, 0, 1, 3, 4), "too many cache misses"),
        ((0, 1, 3, 4, 2), "strides by"),
        ((0, 1, 2, 4, 3), "strides by"),
    ],
)
def test_a_wrong_order_is_told(places: tuple[int, ...], words: str) -> None:
    assert words in str(blanks.tiled(reordered(*places)))
