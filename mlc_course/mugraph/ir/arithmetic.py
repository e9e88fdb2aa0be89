"""Arithmetics: what an operator may do with its operands, be they floats, residues or bounds.

An operator's ``meaning`` is written once, in these words and in ``+ - * /``, and so means the same
in floating point, in a finite field, and to whoever counts how large its formula grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import GraphError, check_known
from mlc_course.mugraph.ir.constants import Number

Array = NDArray[Any]
Shape = tuple[int, ...]
Tensor = Any  # has ``shape``, ``+ - * /`` and ``@`` as NumPy's, also with whole numbers


class Arithmetic(Protocol):
    """The operations on one kind of number. Reductions keep the axis, with extent 1."""

    def constant(self, number: Number) -> Tensor: ...

    def exp(self, x: Tensor) -> Tensor: ...

    def function(self, name: str, x: Tensor) -> Tensor:
        """``sqrt`` or ``log``: to exact arithmetic equal arguments have equal values, no more."""

    def maximum(self, x: Tensor, y: Tensor) -> Tensor: ...

    def minimum(self, x: Tensor, y: Tensor) -> Tensor: ...

    def sum(self, x: Tensor, axis: int) -> Tensor: ...

    def max(self, x: Tensor, axis: int) -> Tensor: ...

    def count(self, x: Tensor, axis: int) -> int:
        """Return the extent of an axis, for an operator whose value depends on it."""

    def reshape(self, x: Tensor, shape: Shape) -> Tensor: ...

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor: ...

    def concatenate(self, xs: Sequence[Tensor], axis: int) -> Tensor: ...

    def take(self, x: Tensor, place: tuple[slice, ...]) -> Tensor:
        """Return one tile."""

    def stored(self, x: Tensor) -> Tensor:
        """Round a value to what memory keeps of it."""


FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "sqrt": np.sqrt,
    "log": np.log,
    "erf": np.vectorize(math.erf, otypes=[float]),
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "abs": np.abs,
    "round": np.round,
}


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

    def exp(self, x: Array) -> Array:
        return np.exp(x)

    def function(self, name: str, x: Array) -> Array:
        check_known("no function", name, FUNCTIONS, GraphError)
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
