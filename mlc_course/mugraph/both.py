"""Two graphs on the same inputs: their formulas' bounds side by side, and their residues."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from mlc_course.mugraph.bounds import Bounds
from mlc_course.mugraph.field import Array, Field, Residues
from mlc_course.mugraph.growth import Bound
from mlc_course.mugraph.interpret import evaluate
from mlc_course.mugraph.kernel import KernelGraph


def formulas(left: KernelGraph, right: KernelGraph, bounds: Bounds) -> list[tuple[Bound, Bound]]:
    """The bounds of what is to be equal: each entry of an output and of any of the same shape."""
    ours, theirs = _both(left, right, bounds)
    return [
        entries
        for a, b in itertools.product(ours, theirs)
        if a.shape == b.shape
        for entries in zip(a.entries.flat, b.entries.flat, strict=True)
    ]


def _both(left: KernelGraph, right: KernelGraph, m: Any) -> tuple[list[Any], list[Any]]:
    """The outputs of both graphs on the same random inputs, in the arithmetic ``m``."""
    known = {
        each.name: m.random(shape) for each, shape in zip(left.inputs, left.shapes, strict=False)
    }
    ours, theirs = (
        evaluate(graph, [known[each.name] for each in graph.inputs], m) for graph in (left, right)
    )
    return ours, theirs


def compared(
    left: KernelGraph, right: KernelGraph, field: Field
) -> dict[tuple[int, int], tuple[Array, Array]]:
    """For outputs i and j: in which trials they are equal, and of which entries these tell.

    An entry that is divided by zero in a trial tells nothing: that one is drawn again for it.
    """
    ours, theirs = _both(left, right, field)
    outputs = itertools.product(enumerate(ours), enumerate(theirs))
    return {(i, j): _equal(a, b, field.trials) for (i, a), (j, b) in outputs}


def _equal(a: Residues, b: Residues, trials: int) -> tuple[Array, Array]:
    if a.shape != b.shape:
        return np.zeros(trials, bool), np.zeros((trials, 1), bool)
    void = np.zeros(a.top.shape, bool)
    for each in (a.void, b.void):
        void = void if each is None else void | each
    same = np.ones(a.top.shape, bool)
    for x, y in zip(a.levels, b.levels, strict=True):
        if x is not None and y is not None:
            same &= np.asarray(x == y, bool) | void
    return np.asarray(same.reshape(trials, -1).all(axis=1)), ~void.reshape(trials, -1)
