"""The evidence meter: test a pair of graphs at a tiny prime, and watch the bound fall."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from mlc_course.errors import CourseError
from mlc_course.mugraph import near_misses
from mlc_course.mugraph.draw.axes import power
from mlc_course.mugraph.draw.meter import meter_svg
from mlc_course.mugraph.meter import Meter
from mlc_course.mugraph.tiny_primes import LOWEST
from mlc_course.widgets import page

ERRORS = (-1, -3, -9)  # powers of ten
SEED = 14


class EvidenceMeter(anywidget.AnyWidget):
    """Tests of one pair, one by one or a run at a time.

    ``pair`` is one of ``near_misses.NAMES``, ``prime`` one of ``tiny_primes.LOWEST``, ``error`` the
    power of ten of the error asked for. Setting one begins anew. ``one``, ``finish`` and ``hunt``
    test; ``meter`` holds what was found. Raises ``UsageError`` for values that it cannot show.
    """

    _esm = page.script("evidence_meter")
    _css = page.STYLE

    pair = traitlets.Unicode("cube").tag(sync=True)
    prime = traitlets.Int(31).tag(sync=True)
    error = traitlets.Int(-3).tag(sync=True)

    pairs: Any = traitlets.List().tag(sync=True)
    primes = traitlets.List(list(LOWEST)).tag(sync=True)
    errors: Any = traitlets.List().tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    status = traitlets.Unicode("").tag(sync=True)
    busy = traitlets.Bool(False).tag(sync=True)
    can_run = traitlets.Bool(False).tag(sync=True)
    can_hunt = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self, pair: str = "cube", prime: int = 31, *, error: int = -3, seed: int | None = SEED
    ) -> None:
        self._rng = random.Random(seed)
        self.meter: Meter  # of the present choice
        known = near_misses.NAMES
        super().__init__(
            pair=page.one_of("pair", known, pair),
            prime=prime,
            error=error,
            pairs=[[name, f"{name}: {near_misses.pair(name).said}"] for name in known],
            errors=[[exponent, power(-exponent)] for exponent in ERRORS],
        )
        self.on_msg(self._on_message)
        self.restart()

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("pair")
    def _check_pair(self, proposal: Any) -> str:
        return page.one_of("pair", near_misses.NAMES, proposal.value)

    @traitlets.validate("prime", "error")
    def _check_number(self, proposal: Any) -> int:
        name = proposal.trait.name
        known = LOWEST if name == "prime" else ERRORS
        page.one_of(name, [str(each) for each in known], str(proposal.value))
        return int(proposal.value)

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
        """One more test."""
        self._act(self.meter.one)

    def finish(self) -> None:
        """Test until one refuses, or the bound is low enough."""
        self._act(self.meter.finish)

    def hunt(self) -> None:
        """Run after run until a verdict is wrong; an interrupt keeps what is done."""
        before = self.meter.runs
        self._act(self.meter.hunt)
        if self.meter.state != "passed":
            runs, error = self.meter.runs - before, power(-self.error)
            self.status = f"{runs} runs, and no wrong verdict; at most {error} of all runs are."

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

    def _on_message(self, widget: object, content: Any, buffers: object) -> None:
        tasks: dict[Any, Callable[[], None]] = {
            "one": self.one, "finish": self.finish, "hunt": self.hunt, "restart": self.restart,
        }  # fmt: skip
        task = tasks.get(content.get("task") if isinstance(content, dict) else None)
        if task and not self.busy:
            page.on_main_thread(lambda: self._answer(task))

    def _answer(self, task: Callable[[], None]) -> None:
        try:
            with page.can_be_interrupted():
                task()
        except CourseError as error:
            self.status = f"{type(error).__name__}: {error}"

    # --- what is shown --------------------------------------------------------------------------

    def _show(self) -> None:
        self.svg = meter_svg(self.meter)
        self.can_run = self.meter.tests_needed is not None
        self.can_hunt = self.can_run and not self.meter.truth
        self.status = said(self.meter)

    def _repr_mimebundle_(self, **kwargs: Any) -> page.MimeBundle:
        return page.with_static_form(super()._repr_mimebundle_(**kwargs), self.static_html())

    def static_html(self) -> str:
        """The choice as it is, and a wrong verdict that was found at the smallest prime."""
        found = Meter(near_misses.pair("cube"), LOWEST[0], 0.1, random.Random(SEED))
        found.hunt()
        shown = (self.meter, found)
        return "".join(
            f'<div class="mlc-chart">{meter_svg(each)}</div><p>{said(each)}</p>' for each in shown
        )


def said(meter: Meter) -> str:
    """The state of a meter in a sentence or two."""
    bound, wanted, made = meter.trial.bound, meter.tests_needed, len(meter.run)
    if wanted is None:
        return (
            f"At the prime {meter.prime} nothing is stated, however many tests are made: "
            "the bound of one test is not below 1."
        )
    if not made:
        return (
            f"One test misses a difference with probability {bound:.3g} at most; after {wanted}, "
            f"at most {bound**wanted:.2g} is left."
        )
    if meter.state == "refused":
        return f"Test {made} refuses. The graphs differ, without any doubt."
    accept = "1 test accepts" if made == 1 else f"{made} tests accept"
    if meter.state == "open":
        return (
            f"So far {accept}. Different graphs get here with probability {meter.bound:.2g}, "
            "at most."
        )
    if meter.truth:
        return (
            f"Verdict: equal. {accept}; different graphs get here with probability "
            f"{meter.bound:.2g}, at most. The verdict is right."
        )
    return (
        f"Verdict: equal, and it is wrong. {accept}; the bound is how often that happens, at most: "
        f"{meter.bound:.2g}. It came in run {meter.runs}."
    )
