"""The loop-order dial: one of six orders of a matrix product, what it visits and what it costs."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import traitlets

from mlc_course.lessons.kit import INTERRUPT, Choice, Widget, charts, in_range, one_of, table
from mlc_course.lessons.lesson_05_loop_reorder.loop_order_pictures import (
    frames,
    orders_svg,
    visits_svg,
)
from mlc_course.lessons.lesson_05_loop_reorder.loop_orders import (
    BUFFERS,
    ORDERS,
    SIDE,
    Visits,
    in_order,
    visits,
)
from mlc_course.measure import Comparison
from mlc_course.tensor_program.ladders import race
from mlc_course.units import milliseconds, times

SIZES = (64, 128, 240, 256, 384, 512)
BUDGET_S = 1.5
FIRST = 100  # the step that is shown at the start, when the cache is full
HEAD = ("order", *(f"misses of {name}" for name in BUFFERS), "in all")


class LoopOrderDial(Widget):
    """The six loop orders of C[m, n] += A[m, k] * B[k, n].

    ``order`` is the chosen one, ``step`` how many iterations of it are done on small matrices,
    ``size`` what ``measure`` times all six at, for a product of size x size matrices. ``found``
    holds the last measurement. Raises ``UsageError`` for values that it cannot show.
    """

    order = Choice(ORDERS[0], ORDERS)
    step = traitlets.Int(FIRST).tag(sync=True)
    size = Choice(256, SIZES)

    orders = traitlets.List(list(ORDERS)).tag(sync=True)
    sizes = traitlets.List(list(SIZES)).tag(sync=True)
    stage = traitlets.Unicode("").tag(sync=True)
    frames: Any = traitlets.Dict().tag(sync=True)
    table = traitlets.Unicode("").tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    status = traitlets.Unicode("Nothing is measured yet; press Measure all six.").tag(sync=True)

    def __init__(
        self, order: str = ORDERS[0], *, race: Callable[..., dict[str, Comparison]] = race
    ) -> None:
        self._race = race
        self._visits = {each: visits(each) for each in ORDERS}
        self._title = ""
        self.found: Mapping[str, Comparison] = {}
        super().__init__(order=one_of("order", ORDERS, order))
        self._draw()

    @property
    def visits(self) -> Visits:
        """The iterations of the chosen order, on small matrices."""
        return self._visits[self.order]

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("step")
    def _check_step(self, proposal: Any) -> int:
        return in_range("step", 0, SIDE**3, proposal.value)

    # --- what is shown --------------------------------------------------------------------------

    @traitlets.observe("order")
    def _change_order(self, change: Any) -> None:
        self._draw()

    def _draw(self) -> None:
        """The pictures of the chosen order; the small matrices stay at their step."""
        with self.hold_sync():
            self.frames = frames(self.visits)
            self.stage = visits_svg(self.visits, self.step)
            self.table = self._table()
            self._draw_times()

    def _draw_times(self) -> None:
        if self.found:
            self.svg = orders_svg(self.found, self._title, self.order)

    def _table(self) -> str:
        """The misses of every order on the small matrices, as HTML."""
        misses = {order: each.misses for order, each in self._visits.items()}
        rows = [(order, *each.values(), sum(each.values())) for order, each in misses.items()]
        return table(HEAD, rows, kind="mlc-runs mlc-orders", chosen=ORDERS.index(self.order))

    def static_html(self) -> str:
        """The step that is chosen, the misses of all orders, and the times if there are any."""
        stage = visits_svg(self.visits, self.step)
        return f"{charts(stage, self.svg)}{self.table}<p>{html.escape(self.status)}</p>"

    # --- measuring ------------------------------------------------------------------------------

    def measure(self) -> Mapping[str, Comparison]:
        """Time all six orders and NumPy in turn, on one thread, at the chosen size.

        An interrupt keeps the rounds that are done, and what was measured before if none is.
        """
        sizes = (self.size,) * 3
        what = f"all six orders of {self.size} x {self.size} matrices ... {INTERRUPT}."
        with self.measuring(what):
            orders = {order: in_order(order) for order in ORDERS}
            found = self._race("matmul", orders, sizes, budget_s=BUDGET_S)
        self.found = found
        self._title = f"C = A B, {self.size} x {self.size} matrices, one thread"
        self.status = _summary(found)
        self._draw_times()
        return found


def _summary(found: Mapping[str, Comparison]) -> str:
    by_time = sorted(found, key=lambda name: found[name].timing.median_s)
    fast, slow = by_time[0], by_time[-1]
    ratio = found[slow].timing.median_s / found[fast].timing.median_s
    return (
        f"{slow} takes {milliseconds(found[slow].timing.median_s)}, {ratio:.0f} times as long as "
        f"{fast}, which has {times(found[fast].ratio)} NumPy's speed{found[fast].mark}."
    )
