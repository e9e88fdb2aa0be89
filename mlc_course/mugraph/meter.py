"""A verification at a tiny prime, test by test: the bound falls until a test refuses."""

from __future__ import annotations

import random
from typing import Literal

from mlc_course.errors import UsageError
from mlc_course.mugraph.evidence import Evidence, needed, trial
from mlc_course.mugraph.near_misses import Pair
from mlc_course.mugraph.verify import verify

MOST_RUNS = 400  # of one hunt


class Meter:
    """Runs of tests on one pair: a run ends at the first refusal, or when its bound is low enough.

    ``run`` holds what the tests of the present run said; ``tests`` and ``accepted`` count those of
    all runs, ``runs`` the runs that have ended, ``passed`` those without a refusal. ``truth`` is
    what the verifier says, at its own primes. ``tests_needed`` is None where no number suffices.
    """

    def __init__(self, pair: Pair, prime: int, error: float, rng: random.Random) -> None:
        self.pair, self.prime, self.error, self.rng = pair, prime, error, rng
        left, right = pair.left, pair.right
        self.truth = verify(left, right, seed=1).equal
        self.trial = trial(left, right, prime)
        self.tests_needed = needed(self.trial.bound, error)
        self.run: list[bool] = []
        self.tests = self.accepted = self.runs = self.passed = 0

    @property
    def state(self) -> Literal["open", "refused", "passed"]:
        """Of the present run."""
        if self.run and not self.run[-1]:
            return "refused"
        return "passed" if len(self.run) == self.tests_needed else "open"

    @property
    def bound(self) -> float:
        """How likely all tests of this run accept, at most, if the graphs differ."""
        return self.trial.bound ** len(self.run)

    @property
    def counted(self) -> Evidence | None:
        """All tests of all runs; None before the first."""
        return Evidence(self.tests, self.accepted, self.trial.bound) if self.tests else None

    def one(self) -> None:
        """One more test; a run that has ended is followed by a new one."""
        self._note(bool(self.trial.outcomes(1, self.rng)[0]))

    def finish(self) -> None:
        """Go on to the end of this run; or of a new one. Raises ``UsageError`` where none ends."""
        if self.tests_needed is None:
            raise UsageError(
                "no number of tests is enough here",
                expected="a bound below 1 for one test",
                got=f"{self.trial.bound:g} at the prime {self.prime}",
                hint="a larger prime states more",
            )
        done = len(self.run) if self.state == "open" else 0
        for outcome in self.trial.outcomes(self.tests_needed - done, self.rng):
            self._note(bool(outcome))
            if not outcome:
                break

    def hunt(self, most: int = MOST_RUNS) -> bool:
        """Run after run, until one comes to the wrong verdict. Did one?

        Equal graphs are never refused, so for them there is nothing to find.
        """
        if self.truth:
            raise UsageError(
                "these two are equal", expected="graphs that differ", got=self.pair.name
            )
        for _ in range(most):
            self.finish()
            if self.state == "passed":
                return True
        return False

    def _note(self, outcome: bool) -> None:
        if self.state != "open":
            self.run = []
        self.run.append(outcome)
        self.tests += 1
        self.accepted += outcome
        self.runs += self.state != "open"
        self.passed += self.state == "passed"
