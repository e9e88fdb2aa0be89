"""The loop-order dial: one of six orders of a matrix product, what it visits and what it costs."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets

from mlc_course.measure import Comparison
from mlc_course.tensor_program.contest import race
from mlc_course.tensor_program.draw.orders import orders_svg
from mlc_course.tensor_program.draw.visits import frames, visits_svg
from mlc_course.tensor_program.orders import ORDERS, in_order
from mlc_course.tensor_program.picture import milliseconds, times
from mlc_course.tensor_program.visits import BUFFERS, SIDE, Visits, visits
from mlc_course.widgets import page

SIZES = (64, 128, 240, 256, 384, 512)
BUDGET_S = 1.5
FIRST = 100  # the step that is shown at the start, when the cache is full
HEAD = ("order", *(f"misses of {name}" for name in BUFFERS), "in all")


class LoopOrderDial(anywidget.AnyWidget):
    """The six loop orders of C[m, n] += A[m, k] * B[k, n].

    ``order`` is the chosen one, ``step`` how many iterations of it are done on small matrices,
    ``size`` what ``measure`` times all six at, for a product of size x size matrices. ``found``
    holds the last measurement. Raises ``UsageError`` for values that it cannot show.
    """

    _esm = page.script("loop_order")
    _css = page.STYLE

    order = traitlets.Unicode(ORDERS[0]).tag(sync=True)
    step = traitlets.Int(FIRST).tag(sync=True)
    size = traitlets.Int(256).tag(sync=True)

    orders = traitlets.List(list(ORDERS)).tag(sync=True)
    sizes = traitlets.List(list(SIZES)).tag(sync=True)
    stage = traitlets.Unicode("").tag(sync=True)
    frames: Any = traitlets.Dict().tag(sync=True)
    table = traitlets.Unicode("").tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    status = traitlets.Unicode("Nothing is measured yet; press Measure all six.").tag(sync=True)
    busy = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self, order: str = ORDERS[0], *, race: Callable[..., dict[str, Comparison]] = race
    ) -> None:
        self._race = race
        self._visits = {each: visits(each) for each in ORDERS}
        self._title = ""
        self.found: Mapping[str, Comparison] = {}
        super().__init__(order=page.one_of("order", ORDERS, order))
        self.on_msg(self._on_message)
        self._draw()

    @property
    def visits(self) -> Visits:
        """The iterations of the chosen order, on small matrices."""
        return self._visits[self.order]

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("order")
    def _check_order(self, proposal: Any) -> str:
        return page.one_of("order", ORDERS, proposal.value)

    @traitlets.validate("size")
    def _check_size(self, proposal: Any) -> int:
        return int(page.one_of("size", tuple(map(str, SIZES)), str(proposal.value)))

    @traitlets.validate("step")
    def _check_step(self, proposal: Any) -> int:
        steps = tuple(map(str, range(SIDE**3 + 1)))
        return int(page.one_of("step", steps, str(proposal.value)))

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
        head = "".join(f"<th>{title}</th>" for title in HEAD)
        rows = []
        for order, each in self._visits.items():
            counts = [each.misses[name] for name in BUFFERS]
            cells = "".join(f"<td>{count}</td>" for count in (order, *counts, sum(counts)))
            mark = ' class="mlc-chosen"' if order == self.order else ""
            rows.append(f"<tr{mark}>{cells}</tr>")
        return (
            f'<table class="mlc-runs mlc-orders"><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table>"
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> page.MimeBundle:
        return page.with_static_form(super()._repr_mimebundle_(**kwargs), self.static_html())

    def static_html(self) -> str:
        """The step that is chosen, the misses of all orders, and the times if there are any."""
        stage = visits_svg(self.visits, self.step)
        charts = "".join(f'<div class="mlc-chart">{svg}</div>' for svg in (stage, self.svg) if svg)
        return f"{charts}{self.table}<p>{html.escape(self.status)}</p>"

    # --- measuring ------------------------------------------------------------------------------

    def _on_message(self, widget: object, content: Any, buffers: object) -> None:
        page.measure_when_asked(self, content)

    def measure(self) -> Mapping[str, Comparison]:
        """Time all six orders and NumPy in turn, on one thread, at the chosen size.

        An interrupt keeps the rounds that are done, and what was measured before if none is.
        """
        sizes = (self.size,) * 3
        self.busy = True
        self.status = (
            f"Measuring all six orders of {self.size} x {self.size} matrices ... "
            "Kernel > Interrupt Kernel stops here."
        )
        try:
            orders = {order: in_order(order) for order in ORDERS}
            found = self._race("matmul", orders, sizes, budget_s=BUDGET_S)
        except KeyboardInterrupt:
            self.status = "Stopped before the first round was measured."
            raise
        finally:
            self.busy = False
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
        f"{fast}, which has {times(found[fast].ratio)} NumPy's speed."
    )
