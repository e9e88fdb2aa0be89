"""The lines that the reader of lesson 18 writes: right ones, and what wrong ones are told."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mlc_course.lessons.lesson_18_superoptimization.blanks import graphs_of, may_become, rescaled

Line = Callable[..., Any]


def portion_by(line: Callable[[float, float, float], float]) -> Line:
    """The lesson's function with this line in it."""

    def add_portion(top: float, total: float, portion: Any) -> Any:
        larger = max(top, portion.max())
        total = line(top, total, larger)
        total += np.exp(portion - larger).sum()
        return larger, total

    return add_portion


@pytest.mark.parametrize(
    "line",
    [
        lambda top, total, larger: total * np.exp(top - larger),
        lambda top, total, larger: total / np.exp(larger - top),
    ],
    ids=["times", "divided by"],
)
def test_a_sum_that_is_rescaled_is_right(line: Line) -> None:
    assert rescaled(portion_by(line)).right


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (lambda top, total, larger: total, "here the largest score grows from 2 to 5"),
        (lambda top, total, larger: total * np.exp(larger - top), "the wrong sum"),
        (lambda top, total, larger: total * (top - larger), "the wrong sum"),
        (lambda top, total, larger: total * np.exp(top), "here the largest score stays 2"),
        (lambda top, total, larger: np.exp(top - larger), "the wrong sum"),
    ],
    ids=["unscaled", "the other way round", "without exp", "not relative", "without the sum"],
)
def test_a_sum_of_another_scale_is_told_a_case(line: Line, words: str) -> None:
    found = rescaled(portion_by(line))
    assert not found.right and words in str(found)


def test_something_else_than_two_numbers_is_told() -> None:
    assert "not two numbers" in str(rescaled(lambda top, total, portion: total))
    assert "not two numbers" in str(rescaled(lambda top, total, portion: (top, portion)))


@pytest.mark.parametrize(
    "line",
    [
        lambda number, factors, goal, within: goal % number == 0 and factors <= within,
        lambda number, factors, goal, within: not goal % number and not factors - within,
    ],
    ids=["as sets", "what is missing"],
)
def test_a_number_that_divides_and_factors_that_are_there_are_enough(line: Line) -> None:
    assert may_become(line).right


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (lambda number, factors, goal, within: factors <= within, "21 is odd"),
        (lambda number, factors, goal, within: goal % number == 0, "no product removes the W"),
        (lambda number, factors, goal, within: number % goal == 0, "multiply by B, and sum over 7"),
        (
            lambda number, factors, goal, within: goal % number == 0 and factors < within,
            "nothing is missing",
        ),
        (
            lambda number, factors, goal, within: goal % number == 0 and bool(factors & within),
            "products add factors, and remove none",
        ),
    ],
    ids=["factors alone", "numbers alone", "the other way round", "strictly within", "in common"],
)
def test_a_test_of_half_the_rule_is_told_a_case(line: Line, words: str) -> None:
    found = may_become(line)
    assert not found.right and words in str(found)


@pytest.mark.parametrize("line", [lambda n: 2**n, lambda n: 1 << n], ids=["power", "shift"])
def test_each_value_doubles_the_graphs(line: Line) -> None:
    assert graphs_of(line).right


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (lambda n: n**2, "with this value, or without it"),
        (lambda n: 2 * n, "expected  8"),
        (lambda n: 2**n - 1, "with this value, or without it"),
        (math.factorial, "with this value, or without it"),
    ],
    ids=["square", "double", "without the inputs alone", "orders"],
)
def test_another_count_is_told_a_case(line: Line, words: str) -> None:
    found = graphs_of(line)
    assert not found.right and words in str(found)


def test_what_is_not_written_yet_is_not_wrong() -> None:
    assert may_become(lambda number, factors, goal_number, goal_factors: ...).empty
    assert graphs_of(lambda n: ...).empty

    def add_portion(top: float, total: Any, portion: Any) -> Any:
        total = ...
        total += portion.sum()
        return top, total

    assert rescaled(add_portion).empty
