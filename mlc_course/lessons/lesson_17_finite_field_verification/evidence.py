"""How often one test accepts graphs that differ, counted at tiny primes, and the bound for it.

The bound is the verifier's, on the same formulas, for primes so small that tests go wrong often
enough to be counted. The verifier proves that its large primes are prime by a theorem; here trial
division does. Nothing else is different. A test that divides by zero is drawn again.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, ndtri  # scipy.stats takes a second to import

from mlc_course.errors import Undecided, UsageError, check_known
from mlc_course.mugraph.ir import KernelGraph, evaluate
from mlc_course.mugraph.verify import (
    Bounds,
    Field,
    Levels,
    Residues,
    Successors,
    Tower,
    compared,
    draw,
    formulas,
    meeting,
    order_chance,
)

LOWEST = (5, 7, 11, 13, 17, 19, 23, 29, 31)
FACTORS = 1000  # a prime above q is c * q + 1 with c up to this
WIDTH = float(ndtri(0.995))  # standard deviations to either side of 99 % of a normal distribution
HIGHEST = 2  # levels above the lowest prime: above that, the lists are long


def is_prime(n: int) -> bool:
    """Tell whether a number is prime, by trial division."""
    return n > 1 and all(n % d for d in range(2, isqrt(n) + 1))


@lru_cache(maxsize=1 << 12)
def above(q: int) -> Successors:
    """Return every prime c*q + 1, c up to ``FACTORS``, each with a number of order q modulo it."""
    primes = tuple(p for p in range(2 * q + 1, FACTORS * q + 2, 2 * q) if is_prime(p))
    return Successors(primes, tuple(_root(q, p) for p in primes))


def _root(q: int, p: int) -> int:
    """Return a number of order q: that of a**((p - 1) / q) divides the prime q, so is 1 or q."""
    return next(w for a in range(2, p) if (w := pow(a, (p - 1) // q, p)) != 1)


@lru_cache
def tiny_levels(q: int, height: int) -> Levels:
    """Return the set from which towers of ``height`` primes above q are drawn.

    Raises ``UsageError`` for another q than those in ``LOWEST``, and for more than two levels.
    """
    check_known("no tiny prime", q, LOWEST)
    if not 0 <= height <= HIGHEST:
        raise UsageError("exp in exp at tiny primes", expected=f"at most {HIGHEST}", got=height)
    least, listed, below = list[int](), list[int](), {q}
    for _ in range(height):
        lists = [above(p) for p in sorted(below)]
        least.append(min(each.primes[0] for each in lists))
        listed.append(min(len(each.primes) for each in lists))
        below = _all(lists)
    return Levels(q, tuple(least), tuple(listed))


def _all(lists: Iterable[Successors]) -> set[int]:
    return {p for each in lists for p in each.primes}


def draw_tiny(q: int, height: int, rng: random.Random) -> Tower:
    """Draw a tower of tiny primes."""
    return draw(q, height, rng, above)


AT_A_TIME = 10_000
REDRAWS = 20  # batches without one test in which nothing is divided by zero


@dataclass(frozen=True)
class Evidence:
    """``accepted`` of ``tests`` tests took two graphs for equal; ``bound`` is what theory states.

    A bound of 1 states nothing.
    """

    tests: int
    accepted: int
    bound: float

    @property
    def rate(self) -> float:
        return self.accepted / self.tests

    @property
    def interval(self) -> tuple[float, float]:
        """The interval that holds the true rate 99 times in 100 (E. Wilson, 1927)."""
        n, k, z2 = self.tests, self.accepted, WIDTH**2
        middle = (k + z2 / 2) / (n + z2)
        half = WIDTH / (n + z2) * math.sqrt(k * (n - k) / n + z2 / 4)
        return (middle - half if k else 0.0), (middle + half if k < n else 1.0)

    @property
    def luck(self) -> float:
        """The probability that so many tests accept, or more, if each does with ``bound``.

        Below 1e-6 the bound is wrong, and not merely reached.
        """
        if self.accepted == 0:
            return 1.0
        return float(bdtrc(self.accepted - 1, self.tests, self.bound))


@dataclass(frozen=True)
class Trial:
    """Two graphs, and a tiny prime to test them on; ``bound`` is what one test may miss with."""

    left: KernelGraph
    right: KernelGraph
    primes: Levels
    independence: int
    bound: float

    def outcomes(self, tests: int, rng: random.Random) -> NDArray[np.bool_]:
        """Tell which of so many tests accept; raises ``Undecided`` where all divide by zero."""
        found: list[NDArray[np.bool_]] = []
        wanted, redrawn = tests, 0
        while wanted > 0:
            batch = self._batch(min(wanted + wanted // 4 + 4, AT_A_TIME), rng)[:wanted]
            found.append(batch)
            wanted -= batch.size
            redrawn = 0 if batch.size else redrawn + 1
            if redrawn == REDRAWS:
                raise Undecided(
                    f"something is divided by zero in every test modulo {self.primes.lowest}",
                    expected="a larger prime",
                )
        return np.concatenate(found) if found else np.zeros(0, bool)

    def _batch(self, size: int, rng: random.Random) -> NDArray[np.bool_]:
        lowest, height = self.primes.lowest, self.primes.height
        towers = [draw_tiny(lowest, height, rng) for _ in range(size)]
        field = Field(towers, rng, self.independence)
        equal, known = compared(self.left, self.right, field)[0, 0]
        return np.asarray(equal[known.all(axis=1)])


def trial(left: KernelGraph, right: KernelGraph, prime: int) -> Trial:
    """Return a test of two graphs with one output each, on the sizes that they have.

    ``prime`` is one of ``LOWEST``. Raises ``UsageError`` for another one, for other
    inputs or outputs, and for exp nested deeper than towers of tiny primes go.
    """
    ours, theirs = left.input_shapes, right.input_shapes
    if ours != theirs:
        raise UsageError("graphs to be tested: inputs", expected=ours, got=theirs)
    if len(left.outputs) != 1 or left.output_shapes != right.output_shapes:
        raise UsageError(
            "graphs to be tested",
            expected="one output each, of the same shape",
            got=f"{left.output_shapes} and {right.output_shapes}",
        )
    bounds = Bounds(1)
    pairs = formulas(left, right, bounds)
    primes = tiny_levels(prime, bounds.height)
    meet = meeting(pairs, bounds, primes)
    chance = min(order_chance(a, b) for a, b in pairs)
    most = max(max(len(a.compared | b.compared), len(a.calls | b.calls)) for a, b in pairs)
    return Trial(left, right, primes, most, min(1.0, (1 - chance) + chance * meet))


def accepted(
    left: KernelGraph, right: KernelGraph, prime: int, tests: int, *, seed: int | None = None
) -> Evidence:
    """Test two graphs ``tests`` times modulo a tiny prime, and count how often they pass."""
    if tests < 1:
        raise UsageError("tests", expected="1 or more", got=tests)
    made = trial(left, right, prime)
    passed = made.outcomes(tests, random.Random(seed))
    return Evidence(tests, int(passed.sum()), made.bound)


def needed(bound: float, error: float) -> int | None:
    """Return how many tests leave no more than ``error``; None where no number does."""
    if not 0 < error < 1:
        raise UsageError("error", expected="a probability between 0 and 1", got=error)
    if bound >= 1:
        return None
    return 1 if bound <= error else math.ceil(math.log(error) / math.log(bound) - 1e-9)


def recorded() -> dict[str, Any]:
    """Return the counts of ``benchmarks/evidence.py``: all near misses at all tiny primes.

    Holds ``machine``, ``date``, ``tests``, and ``pairs`` with ``name``, ``said`` and ``points``.
    """
    folder = (
        resources.files("mlc_course.lessons.lesson_17_finite_field_verification") / "recordings"
    )
    found: dict[str, Any] = json.loads((folder / "near_misses.json").read_text(encoding="utf-8"))
    return found


RARE = 1e-6  # how seldom luck explains a count above its bound


def beyond_luck(record: Mapping[str, Any]) -> list[str]:
    """Return the points of a record whose count is above the bound by more than luck explains."""
    return [
        f"{pair['name']} modulo {point['prime']}"
        for pair in record["pairs"]
        for point in pair["points"]
        if Evidence(record["tests"], point["accepted"], point["bound"]).luck < RARE
    ]


def zeros(left: KernelGraph, right: KernelGraph, prime: int) -> NDArray[np.bool_]:
    """Return at which points (x, y) modulo ``prime`` two graphs of two scalars, without exp, agree.

    Shape (prime, prime). Raises ``UsageError`` for other graphs. Where something is divided by
    zero they do not agree.
    """
    if list(left.input_shapes.values()) != [(1,), (1,)] or left.input_shapes != right.input_shapes:
        raise UsageError("graphs on a grid", expected="two inputs [n=1]", got=str(left))
    field = Field([Tower((prime,), (1,))] * prime**2, random.Random(0), 1)
    x, y = np.divmod(np.arange(prime**2).reshape(-1, 1), prime)
    known = dict(zip((each.name for each in left.inputs), (x, y), strict=True))
    ours, theirs = (
        evaluate(graph, [Residues(field, [known[each.name]]) for each in graph.inputs], field)[0]
        for graph in (left, right)
    )
    apart = ours - theirs
    same = apart.top == 0 if apart.void is None else (apart.top == 0) & ~apart.void
    return np.asarray(same.reshape(prime, prime), bool)
