"""The cost model, and the order in which it puts candidates."""

from __future__ import annotations

import random

import pytest

from mlc_course.errors import UsageError
from mlc_course.measure import rank_correlation
from mlc_course.tensor_program.search.cost_model import features, fit
from mlc_course.tensor_program.search.evolution import Gene


def test_features_are_the_logarithms_of_inner_factors_and_their_squares() -> None:
    tile, choice = Gene("C: m", (4, 8, 2)), Gene("unroll", (64,))
    assert features([tile, choice]) == [3.0, 1.0, 9.0, 1.0]


def test_a_model_finds_the_order_of_a_law_that_it_can_say() -> None:
    dice = random.Random(0)
    genes = [[Gene("m", (0, 2 ** dice.randrange(7), 2 ** dice.randrange(7)))] for _ in range(60)]
    rows = [features(each) for each in genes]
    speed = [2 ** (row[0] - (row[1] - 3) ** 2) for row in rows]
    model = fit(rows[:40], speed[:40])
    assert rank_correlation(list(model.predict(rows[40:])), speed[40:]) > 0.95


def test_a_feature_that_never_changes_does_no_harm() -> None:
    model = fit([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], [1.0, 2.0, 4.0])
    slow, fast = model.predict([[1.0, 5.0], [3.0, 5.0]])
    assert slow < fast


@pytest.mark.parametrize(
    ("rows", "ratios"),
    [([], []), ([[1.0]], [1.0]), ([[1.0], [2.0]], [1.0]), ([[1.0], [2.0]], [1.0, 0.0])],
)
def test_what_cannot_be_learnt_from_is_refused(
    rows: list[list[float]], ratios: list[float]
) -> None:
    with pytest.raises(UsageError, match="fit:"):
        fit(rows, ratios)
