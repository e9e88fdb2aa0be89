"""The tests of ``equivalence`` that accept, for programs that are runs and not whole graphs.

A *run* is what a program does with inputs in any arithmetic: the interpreter of a graph, or that of
a graph whose last tiles are short, which no block graph says.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import Shape
from mlc_course.mugraph.verify.digits import Run
from mlc_course.mugraph.verify.false_accept_bound import needed_tests
from mlc_course.mugraph.verify.laws import Laws, LongExponents
from mlc_course.mugraph.verify.uninterpreted import MOST, Growths, Uninterpreted

ROUNDS = 16
REDRAWS = 8  # of a round in which something is divided by zero


def missed_by_runs(
    left: Run,
    right: Run,
    shapes: Mapping[str, Shape],
    *,
    error: float = 1e-9,
    seed: int | None = None,
) -> float | None:
    """Return how likely a difference of two runs was missed, or None where one was not excluded.

    Outputs are compared in their order, for inputs of these shapes by name. exp, sqrt, log and max
    are uninterpreted functions first, then functions that obey the laws of ``laws``. None does not
    say that they differ: they may be equal by another law.

    Raises ``UsageError`` for an error that is no probability.
    """
    if not 0 < error < 1:
        raise UsageError("missed_by_runs: error", expected="between 0 and 1", got=error)
    question = _Runs(left, right, shapes, error, random.Random(seed))
    found = question.uninterpreted()
    for laws in (Laws, LongExponents):
        found = question.by(laws) if found is None else found
    return found


class _Runs:
    def __init__(
        self,
        left: Run,
        right: Run,
        shapes: Mapping[str, Shape],
        error: float,
        rng: random.Random,
    ) -> None:
        self.runs, self.shapes, self.error, self.rng = (left, right), shapes, error, rng
        self.growths = Growths()
        ours, theirs = self._both(self.growths)
        self.alike = [a.shape for a in ours] == [b.shape for b in theirs]
        self.apart = [a.apart(b) for a, b in zip(ours, theirs, strict=False)]

    def _both(self, m: Any) -> list[Sequence[Any]]:
        known = {name: m.random(shape) for name, shape in self.shapes.items()}
        return [run(known, m) for run in self.runs]

    def uninterpreted(self) -> float | None:
        best: tuple[int, int, float] | None = None
        for primes in range(1, MOST + 1):
            miss = self.growths.missed(primes, self.apart)
            rounds = needed_tests(miss, self.error) if miss < 1 else ROUNDS + 1
            if rounds <= ROUNDS and (best is None or primes * rounds < best[0] * best[1]):
                best = primes, rounds, miss
        if best is None or not self.alike:
            return None
        primes, rounds, miss = best
        made = (self._round(lambda: self._field(primes)) for _ in range(rounds))
        return miss**rounds if all(each is not None for each in made) else None

    def by(self, laws: type[Laws]) -> float | None:
        """Test with functions that obey laws; None where these do not tell."""
        for primes in range(2, MOST + 1) if self.alike else ():
            rounds, made, miss = 1, 0, 1.0
            while made < rounds:
                found = self._round(lambda: laws(self._field(primes), Growths()))  # noqa: B023
                if found is None:
                    return None
                if made == 0:
                    m, ours, theirs = found
                    pairs = zip(ours, theirs, strict=True)
                    apart = [a.growth.apart(b.growth) for a, b in pairs]
                    miss = m.growths.missed(primes, apart)
                    rounds = needed_tests(miss, self.error) if miss < 1 else ROUNDS + 1
                    if rounds > ROUNDS:
                        break
                made += 1
            else:
                return miss**rounds
        return None

    def _field(self, primes: int) -> Uninterpreted:
        return Uninterpreted(primes, self.rng, self.growths.roots)

    def _round(self, draw: Callable[[], Any]) -> tuple[Any, Sequence[Any], Sequence[Any]] | None:
        """Return the arithmetic of a round and the outputs in it, or None where they differ."""
        for _ in range(REDRAWS):
            m = draw()
            ours, theirs = self._both(m)
            pairs = [(m.residues(a), m.residues(b)) for a, b in zip(ours, theirs, strict=True)]
            if any(each.void is not None and each.void.any() for pair in pairs for each in pair):
                continue
            same = all((a.top == b.top).all() for a, b in pairs)
            return (m, ours, theirs) if same else None
        return None
