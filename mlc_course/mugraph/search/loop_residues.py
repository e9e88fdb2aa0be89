"""Residues of values inside a loop: the iterations of a trial are further trials.

Iteration j of trial i is trial ``i * times + j``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Number
from mlc_course.mugraph.verify import Field, Level, Residues


class Iterated(Field):
    """Repeat each trial of ``base`` for every iteration, with the same primes and functions."""

    def __init__(self, base: Field, steps: Sequence[int]) -> None:
        """Take the number of steps of each dimension that is cut; the last varies fastest."""
        times = math.prod(steps)
        self.base, self.steps, self.times, self.rng = base, steps, times, base.rng
        self.independence, self.small = base.independence, base.small
        self.trials = base.trials * times
        self.primes = [np.repeat(each, times) for each in base.primes]
        self.roots = [np.repeat(each, times) for each in base.roots]
        self.bad = np.zeros(self.trials, bool)

    def _at(self, name: str, level: int, x: Level) -> Level:
        if x is None:
            return None
        found = self.base._at(name, level, x.reshape(self.base.trials, self.times, *x.shape[1:]))
        return None if found is None else found.reshape(x.shape)

    def constant(self, number: Number) -> Residues:
        return self.entered(self.base.constant(number))

    def entered(self, x: Residues) -> Residues:
        """Bring in a value from outside the loop: it is the same in every iteration."""
        if x.field is self:
            return x
        return self.cut(x, [None for _ in self.steps])

    def cut(self, x: Residues, axes: Sequence[int | None]) -> Residues:
        """Bring in a value from outside, of which each iteration has its tile along these axes.

        The axis is None for a dimension that the value does not have.
        """
        return Residues(self, [_each(level, lambda a: self._tiles(a, axes)) for level in x.levels])

    def _tiles(self, level: Any, axes: Sequence[int | None]) -> Any:
        for axis, steps in zip(axes, self.steps, strict=True):
            level = np.repeat(level, steps, 0) if axis is None else _moved(level, axis + 1, steps)
        return level


def _moved(level: Any, axis: int, steps: int) -> Any:
    """Turn the steps of an axis into further trials."""
    shape = level.shape
    tile = shape[axis] // steps
    pieces = level.reshape(*shape[:axis], steps, tile, *shape[axis + 1 :])
    rest = (*shape[1:axis], tile, *shape[axis + 1 :])
    return np.moveaxis(pieces, axis, 1).reshape(shape[0] * steps, *rest)


def each_turn(xs: Sequence[Residues], outer: Field, times: int) -> Iterator[list[Residues]]:
    """Yield the values of a loop, iteration by iteration, as values of what is around it."""
    apart = [
        [_each(level, lambda a: a.reshape(outer.trials, times, *a.shape[1:])) for level in x.levels]
        for x in xs
    ]
    for turn in range(times):
        yield [
            Residues(outer, [None if level is None else level[:, turn] for level in levels])
            for levels in apart
        ]


def stacked(turns: Sequence[Residues], inner: Iterated) -> Residues:
    """Join what a value is in each iteration into one value of the loop: reverses ``each_turn``."""
    levels: list[Level] = []
    for parts in zip(*(each.levels for each in turns), strict=True):
        known = [part for part in parts if part is not None]
        whole = np.stack(known, axis=1) if len(known) == len(turns) else None
        levels.append(_each(whole, lambda a: a.reshape(inner.trials, *a.shape[2:])))
    return Residues(inner, levels)


def _each(level: Level, action: Any) -> Level:
    return None if level is None else action(level)
