"""Tensors of floating-point numbers, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.mugraph.arithmetic import Shape
from mlc_course.mugraph.constants import Number

Array = NDArray[Any]
FUNCTIONS = {"sqrt": np.sqrt, "log": np.log}


@dataclass(frozen=True)
class Floats:
    """Computes in ``computed``; what is put into memory is rounded to ``kept``.

    Accumulators are registers: they are rounded when the loop is over.
    """

    computed: type[np.floating[Any]] = np.float64
    kept: type[np.floating[Any]] = np.float64

    def entered(self, array: Array) -> Array:
        """An input as it lies in memory."""
        return self.stored(np.asarray(array, self.computed))

    def constant(self, number: Number) -> Any:
        return float(number)

    def symbol(self, name: str, value: float) -> Any:
        return value

    def exp(self, x: Array) -> Array:
        return np.exp(x)

    def function(self, name: str, x: Array) -> Array:
        return np.asarray(FUNCTIONS[name](x))

    def maximum(self, x: Array, y: Array) -> Array:
        return np.maximum(x, y)

    def minimum(self, x: Array, y: Array) -> Array:
        return np.minimum(x, y)

    def sum(self, x: Array, axis: int) -> Array:
        return np.asarray(np.sum(x, axis=axis, keepdims=True))

    def max(self, x: Array, axis: int) -> Array:
        return np.asarray(np.max(x, axis=axis, keepdims=True))

    def count(self, x: Array, axis: int) -> int:
        return int(x.shape[axis])

    def reshape(self, x: Array, shape: Shape) -> Array:
        return np.reshape(x, shape)

    def transpose(self, x: Array, axes: Sequence[int]) -> Array:
        return np.transpose(x, axes)

    def concatenate(self, xs: Sequence[Array], axis: int) -> Array:
        return np.concatenate(xs, axis)

    def take(self, x: Array, place: tuple[slice, ...]) -> Array:
        return x[place]

    def stored(self, x: Array) -> Array:
        return x if self.kept is self.computed else x.astype(self.kept).astype(self.computed)


FLOAT64 = Floats()
FLOAT32 = Floats(np.float32, np.float32)
FLOAT16 = Floats(np.float32, np.float16)
