"""The lines that the reader of lesson 20 writes: right ones, and what wrong ones are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from mlc_course.lessons.lesson_20_dynamic_shapes.blanks import exponents, missing

Line = Callable[[list[str], list[str]], Any]


def by_counter(left: list[str], right: list[str]) -> dict[str, int]:
    found = Counter(left)
    found.subtract(right)
    return dict(found)


@pytest.mark.parametrize(
    "line",
    [
        lambda a, b: {name: a.count(name) - b.count(name) for name in {*a, *b}},
        lambda a, b: {name: a.count(name) - b.count(name) for name in a + b},
        by_counter,
    ],
)
def test_a_vector_of_exponents_is_right(line: Line) -> None:
    assert exponents(line).right


@pytest.mark.parametrize(
    "line",
    [
        lambda a, b: {name: a.count(name) for name in {*a, *b}},
        lambda a, b: {name: b.count(name) - a.count(name) for name in {*a, *b}},
        lambda a, b: {name: int(name in a) - int(name in b) for name in {*a, *b}},
        lambda a, b: {name: a.count(name) - b.count(name) for name in a},
        lambda a, b: len(a) - len(b),
        lambda a, b: None,
    ],
    ids=["left alone", "turned round", "once each", "left names", "a number", "nothing"],
)
def test_another_vector_is_wrong(line: Line) -> None:
    assert not exponents(line).right


@pytest.mark.parametrize(
    "fact",
    [
        "P == Q",
        "Q == P",
        "K == V",
        "P + S == V",
        "K - Q == S",
        "P - Q == 0",
        "P + S == Q + S",
        "P*P == Q*Q",
    ],
)
def test_a_fact_that_merges_is_right(fact: str) -> None:
    assert missing(fact).right, str(missing(fact))


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        ("P == S", "there are still two kernels"),
        ("B == A", "there are still two kernels"),
        ("P == R", "no such size: R"),
        ("the caches are equally long", "cannot be read"),
        ("K < V", "there are still two kernels"),
        ("K == P", "no sizes keep this"),
        ("P*Q == 1", "P*Q == 1 is more than is needed"),
        (17, "not a fact"),
        ("", "cannot be read"),
    ],
)
def test_another_fact_is_told_what_it_lacks(fact: Any, words: str) -> None:
    found = missing(fact)
    assert not found.right
    assert words in str(found)


def test_three_dots_are_an_empty_answer() -> None:
    assert missing(...).empty
    assert exponents(lambda left, right: ...).empty
