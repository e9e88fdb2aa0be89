"""How good is one test? What it lets pass, counted at tiny primes, beside the bound of theory.

The bound is ``error.py``'s, on the same formulas, for the primes that are drawn here
(``tiny_primes.py``). A test in which something is divided by zero is drawn again.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import Undecided, UsageError
from mlc_course.mugraph.both import compared, formulas
from mlc_course.mugraph.bounds import Bounds
from mlc_course.mugraph.error import Levels, meeting, order_chance
from mlc_course.mugraph.field import Field, Residues
from mlc_course.mugraph.interpret import evaluate
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.primes import Tower
from mlc_course.mugraph.tiny_primes import draw_tiny, tiny_levels

AT_A_TIME = 10_000
REDRAWS = 20  # batches without one test in which nothing is divided by zero
WIDTH = 2.576  # standard deviations to either side: 99 % of a normal distribution


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
        """Where the true rate is, 99 times in 100 (E. Wilson, 1927)."""
        n, z = self.tests, WIDTH
        middle = (self.rate + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(self.rate * (1 - self.rate) / n + (z / n) ** 2 / 4)
        return max(0.0, middle - half), min(1.0, middle + half)

    @property
    def luck(self) -> float:
        """How likely so many tests accept, or more, if each does with probability ``bound``.

        Below 1e-6 the bound is wrong, and not merely reached.
        """
        n, b = self.tests, self.bound
        if self.accepted <= n * b:
            return 1.0  # no more than expected: about one half, or above
        term = math.exp(
            math.lgamma(n + 1)
            - math.lgamma(self.accepted + 1)
            - math.lgamma(n - self.accepted + 1)
            + self.accepted * math.log(b)
            + (n - self.accepted) * math.log1p(-b)
        )
        total = 0.0
        for i in range(self.accepted, n + 1):
            total += term
            term *= (n - i) / (i + 1) * b / (1 - b)
            if term < 1e-12 * total:
                break
        return total


@dataclass(frozen=True)
class Trial:
    """Two graphs, and a tiny prime to test them on; ``bound`` is what one test may miss with."""

    left: KernelGraph
    right: KernelGraph
    primes: Levels
    independence: int
    bound: float

    def outcomes(self, tests: int, rng: random.Random) -> NDArray[np.bool_]:
        """Which of so many tests accept; raises ``Undecided`` where all divide by zero."""
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
    """A test of two graphs with one output each, on the sizes that they have.

    ``prime`` is one of ``tiny_primes.LOWEST``. Raises ``UsageError`` for another one, for other
    inputs or outputs, and for exp nested deeper than towers of tiny primes go.
    """
    ours, theirs = _inputs(left), _inputs(right)
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


def _inputs(graph: KernelGraph) -> dict[str, tuple[int, ...]]:
    return {each.name: shape for each, shape in zip(graph.inputs, graph.shapes, strict=False)}


def accepted(
    left: KernelGraph, right: KernelGraph, prime: int, tests: int, *, seed: int | None = None
) -> Evidence:
    """Test two graphs so many times modulo a tiny prime, and count how often they pass."""
    if tests < 1:
        raise UsageError("tests", expected="1 or more", got=tests)
    made = trial(left, right, prime)
    passed = made.outcomes(tests, random.Random(seed))
    return Evidence(tests, int(passed.sum()), made.bound)


def needed(bound: float, error: float) -> int | None:
    """How many tests leave no more than ``error``; None where no number does."""
    if not 0 < error < 1:
        raise UsageError("error", expected="a probability between 0 and 1", got=error)
    if bound >= 1:
        return None
    return 1 if bound <= error else math.ceil(math.log(error) / math.log(bound) - 1e-9)


def recorded() -> dict[str, Any]:
    """All near misses at all tiny primes, as ``benchmarks/evidence.py`` has counted them.

    Holds ``machine``, ``date``, ``tests``, and ``pairs`` with ``name``, ``said`` and ``points``.
    """
    folder = resources.files("mlc_course") / "recordings" / "evidence"
    found: dict[str, Any] = json.loads((folder / "near_misses.json").read_text(encoding="utf-8"))
    return found


def zeros(left: KernelGraph, right: KernelGraph, prime: int) -> NDArray[np.bool_]:
    """At which of all points (x, y) modulo ``prime`` two graphs of two scalars without exp agree.

    Shape (prime, prime). Raises ``UsageError`` for other graphs. Where something is divided by
    zero they do not agree.
    """
    if list(_inputs(left).values()) != [(1,), (1,)] or _inputs(left) != _inputs(right):
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
