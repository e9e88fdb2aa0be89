"""The blanks of lesson 17: the answers are right, and wrong lines are told what is wrong."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mlc_course.lessons.kit import Blank
from mlc_course.lessons.lesson_17_finite_field_verification import blanks

HEADS = {
    "quotient": "def f(a, b, p):",
    "left_over": "def f(degree, p, tests):",
    "order": "def f(w, p):",
}


def written(name: str, *lines: str) -> Any:
    """The reader's function with these lines in it."""
    names: dict[str, Any] = {"math": math}
    exec("\n    ".join([HEADS[name], *lines]), names)
    return names["f"]


def blank(name: str) -> Blank:
    found = getattr(blanks, name)
    assert isinstance(found, Blank)
    return found


@pytest.mark.parametrize("name", HEADS)
def test_the_answer_is_right_and_three_dots_are_neither(name: str) -> None:
    assert blank(name)(written(name, *blank(name).answer.splitlines())).right
    found = blank(name)(written(name, "return ..."))
    assert found.empty and not found.right


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("quotient", "return a / b", "for (1, 7, 31)"),
        ("quotient", "return a // b % p", "expected  9"),
        ("quotient", "return a * b % p", "63, which is 1 modulo 31"),
        ("quotient", "return a * pow(b, -1, p)", "expected  7"),
        ("left_over", "return degree / p * tests", "independent tests all accept: multiply"),
        ("left_over", "return 1 - (1 - degree / p) ** tests", "multiply"),
        ("left_over", "return (1 / p) ** tests", "the lemma's share"),
        ("left_over", "return degree / p**tests", "d / p"),
        ("order", "return p - 1", "for (2, 31)"),
        ("order", "return next(n for n in range(p) if pow(w, n, p) == 1)", "expected  5"),
        ("order", "return next(n for n in range(1, p) if w**n == 1)", "StopIteration"),
        ("order", "return next(n for n in range(2, p) if pow(w, n, p) == 1)", "for (1, 31)"),
    ],
)
def test_a_wrong_line_is_told_what_is_wrong(name: str, line: str, words: str) -> None:
    found = blank(name)(written(name, line))
    assert not found.right and not found.empty
    assert words in str(found), str(found)
    assert len(blank(name).hints) >= 2
