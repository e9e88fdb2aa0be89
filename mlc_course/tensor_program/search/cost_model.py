"""A cost model, which guesses the speed of a candidate from its decisions without running it.

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
from mlc_course.tensor_program.search.evolution import Gene

RIDGE = 1.0  # keeps weights small where there are few trials

Vector = NDArray[np.float64]


def features(genes: Sequence[Gene]) -> list[float]:
    """Features of a candidate: log2 of each tile's inner factors, and the squares of these.

    The squares are there because a size may be too small or too large. The outermost factor follows
    from the others.
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
