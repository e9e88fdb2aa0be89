"""Do two graphs compute the same function? A random test over finite fields, with a true bound.

Both graphs are made small (``shrink.py``), the sizes of their formulas are bounded (``growth.py``),
from which follows how many tests on which primes leave no more than the error that was asked for
(``error.py`` has the theorem and its proof); then the tests are made (``field.py``). Graphs that
differ in one test are different formulas; a float64 input then shows it, where one exists.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import GraphError, Undecided, UsageError
from mlc_course.mugraph.bounds import Bounds
from mlc_course.mugraph.error import Plan, plan
from mlc_course.mugraph.field import Field, Residues
from mlc_course.mugraph.growth import Bound
from mlc_course.mugraph.interpret import evaluate
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.primes import draw
from mlc_course.mugraph.shrink import Small, shrunk
from mlc_course.mugraph.witness import Counterexample, counterexample

FIRST = 4  # tests that most wrong graphs do not survive
AT_A_TIME = 1024
REDRAWS = 40  # batches without one test in which nothing is divided by zero


@dataclass(frozen=True)
class Verdict:
    """Equal, wrong with probability at most ``error_bound``; or different, with no error.

    Output i of the left graph is output ``outputs[i]`` of the right. ``sizes`` are those that were
    tested. A ``counterexample`` is found for graphs that differ on some float64 input.
    """

    equal: bool
    error_bound: float
    trials: int
    counterexample: Counterexample | None
    outputs: tuple[int, ...]
    sizes: Mapping[str, int]
    plan: Plan | None

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        if self.equal:
            return (
                f"equal: a difference would be missed with probability at most "
                f"{self.error_bound:.1e} ({self.trials} tests on {sizes})"
            )
        return f"different: {self.counterexample or 'as formulas'} (on {sizes})"


def verify(
    left: KernelGraph,
    right: KernelGraph,
    *,
    error: float = 1e-9,
    seed: int | None = None,
    extent: int = 2,
    full: bool = False,
) -> Verdict:
    """Compare two graphs that have inputs of the same names and shapes; outputs in any order.

    ``extent`` is the number of steps that grids and loops keep on small sizes; ``full`` makes one
    test on the full sizes besides, which finds what depends on them. A seed makes the draws
    repeatable. Raises ``GraphError`` for graphs whose inputs differ, ``Undecided`` where the
    verifier can neither accept nor show a difference.
    """
    if not 0 < error < 1:
        raise UsageError("verify: error", expected="a probability between 0 and 1", got=error)
    if extent < 2:
        raise UsageError("verify: extent", expected="2 or more", got=extent)
    _check_inputs(left, right)
    if sorted(left.output_shapes) != sorted(right.output_shapes):
        return Verdict(False, 0.0, 0, None, (), left.size_of, None)
    small = shrunk(left, right, extent)
    rng = random.Random(seed)
    outputs = len(left.outputs)
    planned, laws = _planned(small.left, small.right, error / outputs**2, rng)
    order, trials = _tested(small.left, small.right, planned, planned.tests, rng)
    if full and None not in order:
        small = Small(left, right, left.size_of)
        order, more = _tested(left, right, planned, 1, rng)
        trials += more
    if None not in order:
        bound, matched = outputs**2 * planned.error_bound, tuple(each or 0 for each in order)
        return Verdict(True, bound, trials, None, matched, small.sizes, planned)
    example = counterexample(small.left, small.right, _paired(order), seed=rng.getrandbits(32))
    if example is None and laws:
        raise Undecided(
            f"{left.name}, {right.name}: different as formulas; no float64 input shows it",
            expected="graphs that differ on some input, or are equal by the laws of arithmetic",
            got=f"{', '.join(laws)}, of which the verifier knows equal arguments only",
            hint="equal by another law of theirs? Then write both graphs alike in this place",
        )
    return Verdict(False, 0.0, trials, example, (), small.sizes, planned)


def _check_inputs(left: KernelGraph, right: KernelGraph) -> None:
    ours, theirs = (
        {each.name: shape for each, shape in zip(g.inputs, g.shapes, strict=False)}
        for g in (left, right)
    )
    if ours != theirs:
        raise GraphError(
            f"{left.name}, {right.name}: inputs differ",
            expected=", ".join(f"{name} {shape}" for name, shape in ours.items()),
            got=", ".join(f"{name} {shape}" for name, shape in theirs.items()),
        )


def _planned(
    left: KernelGraph, right: KernelGraph, error: float, rng: random.Random
) -> tuple[Plan, list[str]]:
    """How to test them, and which of sqrt, log and max are in them."""
    bounds = Bounds(rng.getrandbits(64))
    known = {
        each.name: bounds.random(shape)
        for each, shape in zip(left.inputs, left.shapes, strict=False)
    }
    ours, theirs = (
        evaluate(graph, [known[each.name] for each in graph.inputs], bounds)
        for graph in (left, right)
    )
    pairs: list[tuple[Bound, Bound]] = [
        entries
        for a, b in itertools.product(ours, theirs)
        if a.shape == b.shape
        for entries in zip(a.entries.flat, b.entries.flat, strict=True)
    ]
    laws = {name for pair in pairs for entry in pair for name, _ in entry.calls}
    if any(entry.compared for pair in pairs for entry in pair):
        laws.add("max")
    return plan(pairs, bounds, error), sorted(laws)


def _tested(
    left: KernelGraph, right: KernelGraph, planned: Plan, tests: int, rng: random.Random
) -> tuple[list[int | None], int]:
    """For each output of the left graph the equal one of the right, or None; and the tests made.

    The first few are made alone: few wrong graphs pass them.
    """
    outputs = len(left.outputs)
    equal = np.ones((outputs, outputs), bool)
    made, redrawn = 0, 0
    while made < tests:
        size = min(FIRST if made == 0 else AT_A_TIME, tests - made)
        found, good = _batch(left, right, planned, size, rng)
        if not good:
            redrawn += 1
            if redrawn == REDRAWS:
                raise Undecided(
                    f"{left.name}, {right.name}: something is divided by zero in every test",
                    expected="denominators that are not zero everywhere",
                )
            continue
        equal &= found
        made += good
        if not equal.any(axis=1).all():
            break
    order: list[int | None] = []
    for row in equal:
        free = [int(j) for j in np.flatnonzero(row) if j not in order]
        order.append(free[0] if free else None)
    return order, made


def _batch(
    left: KernelGraph, right: KernelGraph, planned: Plan, size: int, rng: random.Random
) -> tuple[NDArray[np.bool_], int]:
    """Which outputs are equal in all good ones of ``size`` tests, and how many those are."""
    primes = planned.primes
    towers = [draw(primes.lowest, primes.height, rng) for _ in range(size)]
    field = Field(towers, rng, planned.independence)
    known = {
        each.name: field.random(shape)
        for each, shape in zip(left.inputs, left.shapes, strict=False)
    }
    ours, theirs = (
        evaluate(graph, [known[each.name] for each in graph.inputs], field)
        for graph in (left, right)
    )
    good = ~field.bad
    equal = [[a.shape == b.shape and _equal(a, b, good) for b in theirs] for a in ours]
    return np.array(equal), int(good.sum())


def _equal(a: Residues, b: Residues, good: NDArray[np.bool_]) -> bool:
    return all(
        bool(np.all(x[good] == y[good]))
        for x, y in zip(a.levels, b.levels, strict=True)
        if x is not None and y is not None
    )


def _paired(order: Sequence[int | None]) -> list[int]:
    """Each output with its equal one, the rest with what is left over."""
    rest = (n for n in range(len(order)) if n not in order)
    return [next(rest) if each is None else each for each in order]
