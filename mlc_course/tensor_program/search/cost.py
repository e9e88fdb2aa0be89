"""A cost model: from the decisions of a candidate to a guess of its rank, without running it.

MetaSchedule's own is xgboost over 164 features of each loop nest; this one is least squares over
the logarithms of the inner tile sizes, so that it can be read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.tensor_program.search.genome import Gene

RIDGE = 1.0  # keeps weights small where there are few trials

Vector = NDArray[np.float64]


def features(genes: Sequence[Gene]) -> list[float]:
    """log2 of each tile's inner factors, and their squares: a size may be too small or too large.

    The outermost factor follows from the others. Decisions that are no tiles are left out.
    """
    inner = [math.log2(factor) for gene in genes for factor in gene.value[1:]]
    return [*inner, *(size * size for size in inner)]


@dataclass(frozen=True)
class CostModel:
    """Predicts log2 of the speed; ``weights`` are for features of mean 0 and deviation 1."""

    mean: Vector
    deviation: Vector
    weights: Vector
    middle: float

    def predict(self, rows: Sequence[Sequence[float]]) -> Vector:
        """One number for each row of features: the higher, the faster it should be."""
        scaled: Vector = (np.asarray(rows, float) - self.mean) / self.deviation
        return scaled @ self.weights + self.middle


def fit(rows: Sequence[Sequence[float]], ratios: Sequence[float]) -> CostModel:
    """Least squares of log2(ratio) on the features, with a ridge.

    Raises ``UsageError`` for fewer than two trials, unequal numbers, or ratios that are not
    positive (leave out what did not finish).
    """
    table, speeds = np.asarray(rows, float), np.asarray(ratios, float)
    if table.ndim != 2 or len(table) != len(speeds) or len(speeds) < 2 or not (speeds > 0).all():
        raise UsageError(
            "fit: not a table of features and positive ratios",
            expected="two trials or more, as many ratios as rows, each above 0",
            got=f"rows {table.shape}, {len(speeds)} ratios",
        )
    target = np.log2(speeds)
    mean, deviation = table.mean(axis=0), table.std(axis=0)
    deviation[deviation == 0] = 1.0
    scaled = (table - mean) / deviation
    square = scaled.T @ scaled + RIDGE * np.eye(table.shape[1])
    weights = np.linalg.solve(square, scaled.T @ (target - target.mean()))
    return CostModel(mean, deviation, weights, float(target.mean()))


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's: 1 when both put all in the same order, -1 in the opposite order, 0 at random.

    Raises ``UsageError`` for unequal numbers, fewer than two, or values that are all the same.
    """
    if len(first) != len(second) or len(first) < 2:
        raise UsageError(
            "rank_correlation: two values or more, of each as many",
            got=f"{len(first)} and {len(second)}",
        )
    a, b = (_ranks(values) - (len(values) - 1) / 2 for values in (first, second))
    scale = float(np.sqrt((a @ a) * (b @ b)))
    if not scale:
        raise UsageError("rank_correlation: there is no order among equal values")
    return float(a @ b) / scale


def _ranks(values: Sequence[float]) -> Vector:
    """0 for the smallest; equal values share the mean of their ranks."""
    array = np.asarray(values, float)
    below = (array[:, None] > array).sum(axis=1)
    equal = (array[:, None] == array).sum(axis=1)
    ranks: Vector = below + (equal - 1) / 2
    return ranks
