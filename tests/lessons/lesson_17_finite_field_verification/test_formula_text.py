"""A meaning written down as a graph computes what it says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mlc_course.lessons.lesson_17_finite_field_verification.formula_text import (
    REFUSED,
    written_as,
)
from mlc_course.mugraph.ir import ops, parse, run
from mlc_course.mugraph.verify import verify

X = np.linspace(-2, 3, 8)
MEANINGS: tuple[tuple[Callable[[Any, Any], Any], Callable[[Any], Any]], ...] = (
    (lambda m, x: 1 / (1 + m.exp(-x)), lambda x: 1 / (1 + np.exp(-x))),
    (lambda m, x: 3 - x * 2 / 5, lambda x: 3 - x * 2 / 5),
    (lambda m, x: (x - 1) * (x + x) - 4, lambda x: (x - 1) * (x + x) - 4),
    (lambda m, x: 2 * x / (1 + x * x), lambda x: 2 * x / (1 + x * x)),
    (lambda m, x: (1 + x) ** 3, lambda x: (1 + x) ** 3),
)


@pytest.mark.parametrize(("meaning", "numpy"), MEANINGS)
def test_the_graph_computes_the_formula(
    meaning: Callable[[Any, Any], Any], numpy: Callable[[Any], Any]
) -> None:
    text = written_as(meaning, "f")
    assert text is not None
    assert np.allclose(run(parse(text), {"X": X})[0], numpy(X))


def test_the_courses_own_meanings_can_be_written_down() -> None:
    for name in ("sigmoid", "silu", "tanh"):
        text = written_as(ops.BY_NAME[name].meaning, "f")
        assert text is not None
        known = parse(f"f(X[n=8]):\n  F = {name}(X)\n  return F")
        assert verify(parse(text), known).equal


@pytest.mark.parametrize(
    ("meaning", "words"),
    [
        (lambda m, x: m.log(x), "m.log is more than a field has"),
        (lambda m, x: np.tanh(x), "np.tanh is more than a field has"),
        (lambda m, x: x.exp(), "x.exp is more than a field has"),
        (lambda m, x: 0.5 * x, "write x / 2"),
        (lambda m, x: m.exp(1), "m.exp takes a formula of x"),
        (lambda m, x: x**0.5, "powers are whole numbers"),
        (lambda m, x: math.exp(x), "f fails"),
        (lambda m, x: 3, "f returns no formula of x"),
    ],
)
def test_more_than_a_field_has_is_refused_in_words(
    meaning: Callable[[Any, Any], Any], words: str
) -> None:
    text = written_as(meaning, "f")
    assert text is not None
    assert text.startswith(REFUSED)
    assert words in text


def test_what_is_not_written_yet_is_nothing() -> None:
    def empty(m: Any, x: Any) -> Any:
        raise NotImplementedError

    assert written_as(empty, "f") is None
    assert written_as(lambda m, x: ..., "f") is None
