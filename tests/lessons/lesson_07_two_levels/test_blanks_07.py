"""Lesson 7's blanks: the answer is right, and typical wrong lines are told why."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.lessons.lesson_07_two_levels import blanks


def test_what_is_not_written_yet_is_empty() -> None:
    assert blanks.loads(lambda r, v: ...).empty
    assert blanks.order(...).empty
    assert blanks.set_of(lambda address, line, sets: ...).empty


def test_the_answers_are_right() -> None:
    assert blanks.loads(lambda r, v: (r + v) / (r * v)).right
    assert blanks.order(("k_1", "m_1", "n_1")).right
    assert blanks.set_of(lambda address, line, sets: address // line % sets).right


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (lambda r, v: 1 / r, "one element of A and one vector of B"),
        (lambda r, v: (r + v) / r, "for 8 multiply-adds"),
        (lambda r, v: (r * v) / (r + v), "expected  2"),
    ],
)
def test_a_wrong_count_is_told(written: Any, words: str) -> None:
    assert words in str(blanks.loads(written))


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (("m_1", "k_1", "n_1"), "too many loads"),
        (("k_1", "m_1", "n_2"), "n_2"),
        (("m_1", "n_1"), "hint"),
    ],
)
def test_a_wrong_order_is_told(order: tuple[str, ...], words: str) -> None:
    found = blanks.order(order)
    assert not found.right and words in str(found)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (lambda address, line, sets: address % sets, "byte 100 is in line 1"),
        (lambda address, line, sets: address // line, "counting starts again"),
        (lambda address, line, sets: address // sets % line, "(5000, 64, 128)"),
    ],
)
def test_a_wrong_set_is_told(written: Any, words: str) -> None:
    assert words in str(blanks.set_of(written))
