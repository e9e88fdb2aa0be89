"""The loop-order dial: one of six orders of a matrix product, what it visits and what it costs."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import traitlets

from mlc_course.lessons.kit import INTERRUPT, Choice, Widget, charts, in_range, one_of
from mlc_course.lessons.lesson_05_loop_reorder.loop_order_pictures import (
    frames,
    orders_svg,
    total_misses_svg,
    visits_svg,
)
from mlc_course.lessons.lesson_05_loop_reorder.loop_orders import (
    ORDERS,
    SIDE,
    Visits,
    in_order,
    visits,
)
from mlc_course.measure import Comparison
from mlc_course.tensor_program.ladders import race
from mlc_course.tensor_program.memory import Roofs
from mlc_course.units import milliseconds, times
from mlc_course.words import tr

SIZES = (64, 128, 240, 256, 384, 512)
BUDGET_S = 1.5
FIRST = 100  # the step that is shown at the start, when the cache is full


class LoopOrderDial(Widget):
    """The six loop orders of C[m, n] += A[m, k] * B[k, n].

    ``order`` is the chosen one, ``step`` how many iterations of it are done on small matrices,
    ``size`` the matrices that ``measure`` times all six orders on, size x size. ``found`` holds
    the last measurement; give one of that size to begin with. The
    bars have a roof if there is one. The page has the pictures of all
    orders and steps from the start, and asks Python only to measure. Raises ``UsageError`` for
    values that it cannot show.
    """

    order = Choice(ORDERS[0], ORDERS)
    step = traitlets.Int(FIRST).tag(sync=True)
    size = Choice(256, SIZES)

    orders = traitlets.List(list(ORDERS)).tag(sync=True)
    sizes = traitlets.List(list(SIZES)).tag(sync=True)
    stage = traitlets.Unicode("").tag(sync=True)
    totals = traitlets.Unicode("").tag(sync=True)
    frames: Any = traitlets.Dict().tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        found: Mapping[str, Comparison] | None = None,
        *,
        order: str = ORDERS[0],
        race: Callable[..., dict[str, Comparison]] = race,
        roof: Roofs | None = None,
    ) -> None:
        self._race, self._roof = race, roof
        self._visits = {each: visits(each) for each in ORDERS}
        self._measured = 0
        self.found: Mapping[str, Comparison] = {}
        super().__init__(
            order=one_of("order", ORDERS, order),
            frames={name: frames(each) for name, each in self._visits.items()},
            totals=total_misses_svg(order),
            stage=visits_svg(self._visits[order], FIRST),
            status=tr("Nothing is measured yet; press Measure all six."),
        )
        if found:
            self._show(found)

    @property
    def visits(self) -> Visits:
        """The iterations of the chosen order, on small matrices."""
        return self._visits[self.order]

    @traitlets.validate("step")
    def _check_step(self, proposal: Any) -> int:
        return in_range("step", 0, SIDE**3, proposal.value)

    def _show(self, found: Mapping[str, Comparison]) -> None:
        """Draw a measurement; the page marks the chosen order in it."""
        self.found = found
        self._measured = self.size
        self.status = _summary(found)
        self.svg = self._times()

    def _times(self, selected: str | None = None) -> str:
        size = self._measured
        return orders_svg(
            self.found,
            tr("C = A B, {size} x {size}, one thread", size=size),
            selected,
            roofs=self._roof,
            flops=2 * size**3,
            narrow=True,
        )

    def static_html(self) -> str:
        """The step that is chosen, the misses of all orders, and the times if there are any."""
        measured = self._times(self.order) if self.found else ""
        stage = visits_svg(self.visits, self.step)
        right = charts(total_misses_svg(self.order), measured)
        return (
            f'<div class="mlc-beside mlc-dial"><div>{charts(stage)}</div><div>{right}</div></div>'
            f"<p>{html.escape(self.status)}</p>"
        )

    # --- measuring ------------------------------------------------------------------------------

    def measure(self) -> Mapping[str, Comparison]:
        """Time all six orders and NumPy in turn, on one thread, at the chosen size.

        An interrupt keeps the rounds that are done, and what was measured before if none is.
        """
        sizes = (self.size,) * 3
        what = tr(
            "all six orders of {size} x {size} matrices ... {stop}.",
            size=self.size,
            stop=tr(INTERRUPT),
        )
        with self.measuring(what):
            orders = {order: in_order(order) for order in ORDERS}
            found = self._race("matmul", orders, sizes, budget_s=BUDGET_S)
        self._show(found)
        return found


def _summary(found: Mapping[str, Comparison]) -> str:
    by_time = sorted(found, key=lambda name: found[name].timing.median_s)
    fast, slow = by_time[0], by_time[-1]
    ratio = found[slow].timing.median_s / found[fast].timing.median_s
    return tr(
        "{slow} takes {time}, {ratio:.0f} times as long as {fast}, which has {share} NumPy's "
        "speed{mark}.",
        slow=slow,
        time=milliseconds(found[slow].timing.median_s),
        ratio=ratio,
        fast=fast,
        share=times(found[fast].ratio),
        mark=found[fast].mark,
    )
