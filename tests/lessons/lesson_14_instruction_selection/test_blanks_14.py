"""The lines that the reader of lesson 14 writes: right ones, and what wrong ones are told."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from mlc_course.lessons.lesson_14_instruction_selection.blanks import exposed, floor


@pytest.mark.parametrize(
    "text",
    [
        "psubb(paddb(A, B), pavgb(A, B))",
        "paddb(psubb(B, pavgb(A, B)), A)",
        "psubb(A, psubb(pavgb(A, B), B))",
        "psubb({255}, pavgb(psubb({255}, A), psubb({255}, B)))",
        "(psubb((paddb(A, B)), pavgb(A, B)))",
    ],
)
def test_every_program_that_is_right_is_right(text: str) -> None:
    assert floor(text).right, str(floor(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pavgb(A, B)", "128"),
        ("pavgb(A, psubb(B, {1}))", "computes something else"),
        ("psubb(pavgb(A, B), {1})", "computes something else"),
        ("psrlw #1(paddb(A, B))", "reads more than the cell has"),
        ("(A + B) >> 1", "no part of a program"),
        ("pavgb(A, B) - 1", "no part of a program"),
        ("psubb:u16(paddb(A, B), pavgb(A, B))", "reads no lanes of 'u16'"),
        (7, "not a program"),
    ],
)
def test_another_program_is_told_why(text: Any, words: str) -> None:
    found = floor(text)
    assert not found.right
    assert words in str(found)


@pytest.mark.parametrize(
    "line",
    [
        lambda n: 1 - (1 - 2**-32) ** n,
        lambda n: -math.expm1(n * math.log1p(-(2.0**-32))),
    ],
)
def test_a_probability_is_right(line: Callable[[int], float]) -> None:
    assert exposed(line).right, str(exposed(line))


@pytest.mark.parametrize(
    "line",
    [
        lambda n: n / 2**32,
        lambda n: (1 - 2**-32) ** n,
        lambda n: 2.0**-32,
        lambda n: 1 - (1 - 2**-16) ** n,
        lambda n: None,
        lambda n: 1 - (1 - 2**32) ** n,
    ],
    ids=["a share", "none", "one test", "16 bits", "nothing", "a power of whole numbers"],
)
def test_another_probability_is_wrong(line: Callable[[int], Any]) -> None:
    assert not exposed(line).right


def test_a_probability_is_asked_of_no_large_whole_number() -> None:
    asked: list[float] = []
    exposed(lambda n: float(asked.append(n) or 0))
    assert all(isinstance(n, float) for n in asked if n > 1)
    assert len(asked) == 3


def test_three_dots_are_an_empty_answer() -> None:
    assert floor(...).empty
    assert exposed(lambda tests: ...).empty
