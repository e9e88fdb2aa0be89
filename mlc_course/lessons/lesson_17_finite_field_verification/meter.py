"""A verification at a tiny prime, test by test, and its picture: a bound that falls."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Literal

from mlc_course.drawing import (
    AMBER,
    DASHED,
    GREEN,
    PAGE_INK,
    PAGE_OURS,
    PAGE_PAPER,
    SMALL,
    Decades,
    document,
    line,
    path,
    power,
    text,
)
from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_17_finite_field_verification.evidence import Evidence, needed, trial
from mlc_course.mugraph.mutants import Pair
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
        """The state of the present run."""
        if self.run and not self.run[-1]:
            return "refused"
        return "passed" if len(self.run) == self.tests_needed else "open"

    @property
    def bound(self) -> float:
        """The probability, at most, that all tests of this run accept graphs that differ."""
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
        """Make run after run until one comes to the wrong verdict; return whether one did.

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


# --- the picture ----------------------------------------------------------------------------------

WIDE, HIGH = 1000.0, 470.0
IN_ROW, CELL, ROWS = 32, 29.0, 2
STRIP_TOP, PLOT_TOP, PLOT_FOOT = 62.0, 196.0, 420.0
LEFT, MIDDLE, RIGHT = 70.0, 640.0, 960.0
SHORTEST = 8  # tests that the axis has room for, at least


def meter_svg(meter: Meter) -> str:
    """The present run: its tests as marks, its bound as a line; beside it, all runs together."""
    parts = [*_strip(meter), *_fall(meter), *_all(meter)]
    said = f"{meter.pair.name} modulo {meter.prime}: {len(meter.run)} tests in this run"
    return document(WIDE, HIGH, said, parts)


# --- the tests ------------------------------------------------------------------------------------


def _strip(meter: Meter) -> Iterator[str]:
    truth = "equal" if meter.truth else "different"
    yield text(10, 22, f"{meter.pair.said}:  in truth {truth}", bold=True, anchor="start")
    shown = IN_ROW * ROWS
    first = max(0, len(meter.run) - shown)
    note = f"the last {shown} of {len(meter.run)} tests" if first else "the tests of this run"
    yield text(10, 45, note, size=SMALL, anchor="start")
    for place, accepted in enumerate(meter.run[first:]):
        x = 24 + place % IN_ROW * CELL
        y = STRIP_TOP + 12 + place // IN_ROW * CELL
        yield _mark(x, y, accepted, meter.truth)
    yield from _legend(meter.truth)


def _mark(x: float, y: float, accepted: bool, truth: bool) -> str:
    """A disc accepts, a ring accepts wrongly, a cross refuses."""
    if not accepted:
        return _cross(x, y, 7)
    if truth:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{PAGE_OURS}"/>'
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="{PAGE_PAPER}" stroke="{AMBER}" '
        f'stroke-width="5"/>'
    )


def _cross(x: float, y: float, r: float) -> str:
    return (
        f'<path d="M{x - r:.1f} {y - r:.1f}l{2 * r:g} {2 * r:g}m0 -{2 * r:g}l-{2 * r:g} {2 * r:g}" '
        f'stroke="{PAGE_INK}" stroke-width="3.5"/>'
    )


def _legend(truth: bool) -> Iterator[str]:
    y = STRIP_TOP + ROWS * CELL + 14
    word = "accepts" if truth else "accepts, wrongly"
    yield _mark(24, y, True, truth)
    yield text(40, y + 5, word, size=SMALL, anchor="start")
    yield _cross(260, y, 7)
    yield text(276, y + 5, "refuses: proves that they differ", size=SMALL, anchor="start")


# --- the bound ------------------------------------------------------------------------------------


def _fall(meter: Meter) -> Iterator[str]:
    accepted = len(meter.run) - (meter.state == "refused")
    most = max(SHORTEST, meter.tests_needed or 0, len(meter.run))
    scale = Decades(PLOT_TOP, PLOT_FOOT, -1.15 * math.log10(meter.error) + 0.5)
    step = (MIDDLE - 40 - LEFT) / most
    title = "bound: the probability that all of them accept graphs that differ"
    yield text(10, PLOT_TOP - 34, title, size=SMALL, anchor="start")
    yield from scale.drawn(LEFT, MIDDLE - 40)
    for n in _numbers(most):
        yield text(LEFT + n * step, PLOT_FOOT + 20, str(n), size=SMALL)
    yield text((LEFT + MIDDLE) / 2, PLOT_FOOT + 42, "tests", size=SMALL)
    yield from _asked(meter, scale)
    points = [(LEFT + n * step, scale.y(meter.trial.bound**n)) for n in range(most + 1)]
    seen = [point for point in points if point[1] < PLOT_FOOT]
    yield path(seen, colour=PAGE_OURS, wide=1.2, more='stroke-dasharray="2 5"')
    if accepted:
        yield path(points[: accepted + 1], colour=PAGE_OURS, wide=3)
    for x, y in points[: accepted + 1]:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{PAGE_OURS}"/>'
    yield from _end(meter, points)


def _asked(meter: Meter, scale: Decades) -> Iterator[str]:
    y = scale.y(meter.error)
    yield line((LEFT, y), (MIDDLE - 40, y), colour=GREEN, wide=2.2, more=DASHED)
    words = f"asked for: {power(-round(math.log10(meter.error)))}"
    yield text(LEFT + 8, y + 19, words, size=SMALL, anchor="start", bold=True)


def _end(meter: Meter, points: list[tuple[float, float]]) -> Iterator[str]:
    """Say how the run ended, beside the place where it did."""
    if meter.state == "open":
        return
    x, y = points[len(meter.run)]
    if meter.state == "refused":
        yield _cross(x, y, 9)
        word = "refused: different"
    else:
        word = "verdict: equal" if meter.truth else "verdict: equal. WRONG"
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="none" '
            f'stroke="{PAGE_OURS if meter.truth else AMBER}" stroke-width="4"/>'
        )
    if x > (LEFT + MIDDLE) / 2:
        yield text(x - 16, y + 22, word, bold=True, anchor="end")
    else:
        yield text(x + 16, y - 10, word, bold=True, anchor="start")


def _numbers(most: int) -> range:
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500) if most / s <= 12)
    return range(0, most + 1, step)


# --- all runs -------------------------------------------------------------------------------------


def _all(meter: Meter) -> Iterator[str]:
    left = MIDDLE + 66
    scale = Decades(PLOT_TOP, PLOT_FOOT, 3)
    title = "one test accepts: bound, count"
    yield text(MIDDLE, PLOT_TOP - 34, title, size=SMALL, anchor="start")
    yield from scale.drawn(left, RIGHT)
    y = scale.y(meter.trial.bound)
    yield line((left, y), (RIGHT, y), colour=GREEN, wide=2.2, more=DASHED)
    stated = f"at most {meter.trial.bound:.3g}"
    yield text(RIGHT, y + 19, stated, size=SMALL, anchor="end", bold=True)
    found = meter.counted
    if found is None or meter.truth:
        words = "equal graphs: always" if meter.truth else "no test yet"
        yield text((left + RIGHT) / 2, PLOT_FOOT + 20, words, size=SMALL)
        return
    at = left + 60
    low, high = (scale.y(each) for each in found.interval)
    yield line((at, low), (at, high), colour=PAGE_OURS, wide=4)
    if found.accepted:
        yield f'<circle cx="{at:.1f}" cy="{scale.y(found.rate):.1f}" r="6" fill="{PAGE_OURS}"/>'
    figures = (
        f"{found.accepted} of {_number(found.tests, 'test')}: {found.rate:.3g}",
        f"wrong verdicts: {meter.passed} of {_number(meter.runs, 'run')}",
    )
    for row, each in enumerate(figures):
        yield text((left + RIGHT) / 2, PLOT_FOOT + 20 + 22 * row, each, size=SMALL, bold=True)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
