"""The evidence meter: test a pair of graphs at a tiny prime, and watch the bound fall."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import traitlets

from mlc_course.drawing import power
from mlc_course.lessons.kit import Choice, Widget, charts
from mlc_course.lessons.lesson_17_finite_field_verification.evidence import LOWEST
from mlc_course.lessons.lesson_17_finite_field_verification.meter import Meter, meter_svg
from mlc_course.mugraph.mutants import near_misses

ERRORS = (-1, -3, -9)  # powers of ten
SEED = 14


class EvidenceMeter(Widget):
    """A widget that tests one pair of graphs, one test or one run at a time.

    ``pair`` is one of ``near_misses.NAMES``, ``prime`` one of ``LOWEST``, ``error`` the
    power of ten of the error asked for. Setting any of them starts again. ``one``, ``finish`` and
    ``hunt`` test; ``meter`` holds what was found. Raises ``UsageError`` for values that it cannot
    show.
    """

    tasks = ("one", "finish", "hunt", "restart")

    pair = Choice("cube", near_misses.NAMES)
    prime, error = Choice(31, LOWEST), Choice(-3, ERRORS)

    pairs: Any = traitlets.List().tag(sync=True)
    primes = traitlets.List(list(LOWEST)).tag(sync=True)
    errors: Any = traitlets.List().tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    can_run = traitlets.Bool(False).tag(sync=True)
    can_hunt = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self, pair: str = "cube", prime: int = 31, *, error: int = -3, seed: int | None = SEED
    ) -> None:
        self._rng = random.Random(seed)
        self.meter: Meter  # of the present choice
        known = near_misses.NAMES
        super().__init__(
            pair=pair,
            prime=prime,
            error=error,
            pairs=[[name, f"{name}: {near_misses.pair(name).said}"] for name in known],
            errors=[[exponent, power(-exponent)] for exponent in ERRORS],
        )
        self.restart()

    @traitlets.observe("pair", "prime", "error")
    def _change(self, change: Any) -> None:
        if hasattr(self, "meter"):
            self.restart()

    # --- testing --------------------------------------------------------------------------------

    def restart(self) -> None:
        """Forget all tests."""
        self.meter = self._fresh(self._rng)
        self._show()

    def _fresh(self, rng: random.Random) -> Meter:
        return Meter(near_misses.pair(self.pair), self.prime, 10.0**self.error, rng)

    def one(self) -> None:
        """Make one more test."""
        self._act(self.meter.one)

    def finish(self) -> None:
        """Test until one refuses, or the bound is low enough."""
        self._act(self.meter.finish)

    def hunt(self) -> None:
        """Make run after run until a verdict is wrong; an interrupt keeps what is done."""
        before = self.meter.runs
        self._act(self.meter.hunt)
        if self.meter.state != "passed":
            runs, error = self.meter.runs - before, power(-self.error)
            said = f"{runs} runs and no wrong verdict; "
            self.status = said + f"at most a share of {error} of all runs is wrong."

    def _act(self, act: Callable[[], object]) -> None:
        self.busy = True
        self.status = "Testing ..."
        try:
            act()
        except KeyboardInterrupt:
            pass
        finally:
            self.busy = False
            self._show()

    # --- what is shown --------------------------------------------------------------------------

    def _show(self) -> None:
        self.svg = meter_svg(self.meter)
        self.can_run = self.meter.tests_needed is not None
        self.can_hunt = self.can_run and not self.meter.truth
        self.status = said(self.meter)

    def static_html(self) -> str:
        """Return the present choice, and a wrong verdict found at the smallest prime."""
        found = Meter(near_misses.pair("cube"), LOWEST[0], 0.1, random.Random(SEED))
        found.hunt()
        shown = (self.meter, found)
        return "".join(f"{charts(meter_svg(each))}<p>{said(each)}</p>" for each in shown)


def said(meter: Meter) -> str:
    """Return the state of a meter in a sentence or two."""
    bound, wanted, made = meter.trial.bound, meter.tests_needed, len(meter.run)
    if wanted is None:
        return (
            f"At the prime {meter.prime} nothing is stated, however many tests you make: "
            "the bound for one test is not below 1."
        )
    if not made:
        return (
            f"One test misses a difference with probability {bound:.3g} at most; {wanted} tests "
            f"miss it with {bound**wanted:.2g} at most."
        )
    if meter.state == "refused":
        return f"Test {made} refuses. This proves that the graphs differ."
    accept = "1 test accepts" if made == 1 else f"{made} tests accept"
    if meter.state == "open":
        return (
            f"So far {accept}. Different graphs get here with probability {meter.bound:.2g} "
            "at most."
        )
    if meter.truth:
        return (
            f"Verdict: equal. {accept}; different graphs get here with probability "
            f"{meter.bound:.2g} at most. The verdict is right."
        )
    return (
        f"Verdict: equal, and it is wrong. {accept}, which happens with probability "
        f"{meter.bound:.2g} at most. It came in run {meter.runs}."
    )
