"""Counts of operations: an operator's ``meaning``, run over an arithmetic that only counts.

So an operator of one's own has a cost as soon as it has a meaning. Extents may be arrays: then
everything is counted for many tiles at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Number, Op

Extents = Sequence[Any]  # ints, or arrays of them


@dataclass
class Operations:
    """Operations of one kind of unit each.

    ``matrix`` multiplications and additions; ``elements``: every operation on an element;
    ``special``: those of them that the special function unit does (exp, log, sqrt, division).
    """

    matrix: Any = 0
    elements: Any = 0
    special: Any = 0


def operations(
    op: Op,
    operands: Sequence[Extents],
    attributes: Mapping[str, Any],
    matrix_tile: tuple[int, int, int] = (1, 1, 1),
) -> Operations:
    """Count what an operator does with operands of these shapes; an accumulator, in an iteration.

    ``matrix_tile`` are rows, columns and depth of the products that the matrix unit does whole.
    """
    try:
        return _counted(op, operands, attributes, matrix_tile)
    except (TypeError, ValueError):  # a meaning that looks at an extent, which is an array
        if not any(np.ndim(extent) for shape in operands for extent in shape):
            raise
    return _one_by_one(op, operands, attributes, matrix_tile)


def _one_by_one(
    op: Op,
    operands: Sequence[Extents],
    attributes: Mapping[str, Any],
    matrix_tile: tuple[int, int, int],
) -> Operations:
    """Count for each combination of extents by itself."""
    flat = np.broadcast_arrays(*(np.ravel(extent) for shape in operands for extent in shape))
    every, place = np.unique(np.stack(flat), axis=1, return_inverse=True)
    found = []
    for column in every.T.tolist():
        extents = iter(column)
        shapes = [[next(extents) for _ in shape] for shape in operands]
        done = _counted(op, shapes, attributes, matrix_tile)
        found.append((done.matrix, done.elements, done.special))
    return Operations(*np.array(found)[place.ravel()].T)


def _counted(
    op: Op,
    operands: Sequence[Extents],
    attributes: Mapping[str, Any],
    matrix_tile: tuple[int, int, int],
) -> Operations:
    counting = Counting(matrix_tile)
    tensors = [Counted(counting, tuple(shape)) for shape in operands]
    if op.carried:
        state = op.meaning(counting, None, *tensors, **attributes)
        counting.done = Operations()
        op.meaning(counting, state, *tensors, **attributes)
    else:
        op.meaning(counting, *tensors, **attributes)
    return counting.done


class Counted:
    """A tensor of which only the shape is known."""

    def __init__(self, among: Counting, shape: tuple[Any, ...]) -> None:
        self.among, self.shape = among, shape

    def _with(self, other: Any) -> Counted:
        return self.among.made(self._joint(other))

    def _over(self, other: Any) -> Counted:
        return self.among.made(self._joint(other), special=True)

    def _joint(self, other: Any) -> tuple[Any, ...]:
        return broadcast([self.shape, other.shape if isinstance(other, Counted) else ()])

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _with

    def __neg__(self) -> Counted:
        return self._with(0)

    def __truediv__(self, other: Any) -> Counted:
        """Divide; by a number that is known before, it is a multiplication."""
        known = not isinstance(other, Counted) or other.shape == ()
        return self._with(other) if known else self._over(other)

    def __rtruediv__(self, other: int) -> Counted:
        return self._over(other)

    def __matmul__(self, other: Counted) -> Counted:
        ahead = broadcast([self.shape[:-2], other.shape[:-2]])
        shape = (*ahead, self.shape[-2], other.shape[-1])
        whole = zip((*shape[-2:], self.shape[-1]), self.among.matrix_tile, strict=True)
        padded = [-(-extent // tile) * tile for extent, tile in whole]
        self.among.done.matrix += 2 * math.prod(ahead) * math.prod(padded)
        return Counted(self.among, shape)


class Counting:
    """The arithmetic that counts into ``done``; moving elements about is no operation."""

    def __init__(self, matrix_tile: tuple[int, int, int]) -> None:
        self.matrix_tile, self.done = matrix_tile, Operations()

    def made(self, shape: tuple[Any, ...], *, special: bool = False) -> Counted:
        """Return a tensor of which each element takes one operation."""
        self.done.elements += math.prod(shape)
        self.done.special += math.prod(shape) if special else 0
        return Counted(self, shape)

    def constant(self, number: Number) -> Counted:
        return Counted(self, ())

    def exp(self, x: Counted) -> Counted:
        return self.made(x.shape, special=True)

    def function(self, name: str, x: Counted) -> Counted:
        return self.made(x.shape, special=True)

    def maximum(self, x: Counted, y: Counted) -> Counted:
        return self.made(broadcast([x.shape, y.shape]))

    minimum = maximum

    def sum(self, x: Counted, axis: int) -> Counted:
        self.made(x.shape)
        return Counted(self, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))

    max = sum

    def count(self, x: Counted, axis: int) -> Any:
        return x.shape[axis]

    def reshape(self, x: Counted, shape: tuple[Any, ...]) -> Counted:
        return Counted(self, tuple(shape))

    def transpose(self, x: Counted, axes: Sequence[int]) -> Counted:
        return Counted(self, tuple(x.shape[axis] for axis in axes))

    def concatenate(self, xs: Sequence[Counted], axis: int) -> Counted:
        first = xs[0].shape
        along = sum(x.shape[axis] for x in xs)
        return Counted(self, (*first[:axis], along, *first[axis + 1 :]))

    def take(self, x: Counted, place: tuple[slice, ...]) -> Counted:
        spans = zip(x.shape, place, strict=True)
        return Counted(self, tuple(_length(extent, each) for extent, each in spans))

    def stored(self, x: Counted) -> Counted:
        return x


def _length(extent: Any, span: slice) -> Any:
    return extent if span == slice(None) else len(range(extent)[span])


def broadcast(shapes: Sequence[Extents]) -> tuple[Any, ...]:
    """Return the larger extent of each axis; a scalar has the shape of the others."""
    ranked = [shape for shape in shapes if len(shape)]
    return tuple(_larger(extents) for extents in zip(*ranked, strict=True))


def _larger(extents: Sequence[Any]) -> Any:
    if all(isinstance(each, int) for each in extents):
        return max(extents)
    found = extents[0]
    for each in extents[1:]:
        found = np.maximum(found, each)
    return found
