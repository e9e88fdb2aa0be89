"""The ladder widget: a climb as a picture whose rungs can be chosen, and a button to climb here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import traitlets

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import (
    INTERRUPT,
    Choice,
    Widget,
    charts,
    in_range,
    one_of,
    side_by_side,
)
from mlc_course.machine import usable_cores
from mlc_course.parallel import interruptible
from mlc_course.tensor_program.ladders import (
    QUICK_SIZES,
    Climbed,
    Record,
    Rung,
    climb,
    counted,
    is_counted,
    ladder_record,
    made_on,
    recordings,
    roofs_of,
    timed_part,
)
from mlc_course.tensor_program.ladders import ladder as ladder_of
from mlc_course.tensor_program.memory import roofs
from mlc_course.tensor_program.plots import ladder_svg, record_svg
from mlc_course.tensor_program.problems import Workload, make_workload

RECORDINGS = {"one": "{}_1_thread", "all": "{}_all_threads"}


@dataclass(frozen=True)
class Course:
    """The climb to make: sizes ("small" or "full"), and the time on each rung."""

    sizes: str
    budget_s: float


COURSES = {
    "small sizes": Course("small", 0.4),
    "full sizes": Course("full", 1.0),
}
TIMES = "times"
# Larger than the command line's --quick: the caches must not hold everything.
SMALL_SIZES = {**QUICK_SIZES, "matmul_exp_matmul": (512, 1024, 512, 1536)}


class LadderWidget(Widget):
    """A ladder's climbs, recorded and measured here.

    ``rung`` is selected at first, the last one by default; ``selected`` is its place (-1: none).
    ``threads`` is "one" or "all", ``source`` is "recorded" or "here". ``machine`` is the
    instruction set of the machine whose recording is shown, a key of ``machines``, at first that of
    the machine most like this one. ``course`` says what ``measure`` climbs. ``view`` is "times", or
    the level of memory ("L2", "L3", "memory") from which bytes are counted for a roofline. Setting
    them changes ``svg``, ``name``, ``reason`` and ``program``. Raises ``UsageError`` for values
    that it cannot show.
    """

    selected = traitlets.Int(-1).tag(sync=True)
    threads = Choice("one", RECORDINGS)
    source = traitlets.Unicode("recorded").tag(sync=True)
    machine = traitlets.Unicode("").tag(sync=True)
    course = Choice(next(iter(COURSES)), COURSES)
    whole = traitlets.Bool(False).tag(sync=True)
    view = traitlets.Unicode(TIMES).tag(sync=True)

    views: Any = traitlets.List([TIMES]).tag(sync=True)
    machines: Any = traitlets.Dict().tag(sync=True)
    courses = traitlets.List(list(COURSES)).tag(sync=True)
    names: Any = traitlets.List().tag(sync=True)
    count = traitlets.Int(0).tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    name = traitlets.Unicode("").tag(sync=True)
    reason = traitlets.Unicode("").tag(sync=True)
    program = traitlets.Unicode("").tag(sync=True)
    measured = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        workload: str = "matmul_exp_matmul",
        *,
        rung: str | None = None,
        recorded: Mapping[str, Sequence[Record]] | None = None,
        climb: Callable[..., Iterator[Climbed]] = climb,
        roofs: Callable[..., Any] = roofs,
    ) -> None:
        self._rungs = ladder_of(workload)
        self._workload = workload
        if recorded is None:
            recorded = {t: recordings(name.format(workload)) for t, name in RECORDINGS.items()}
        self._recorded = {
            threads: {record["machine"]["isa"]: record for record in records}
            for threads, records in recorded.items()
        }
        self._measured: dict[str, Record] = {}
        self._planned: list[str] = []
        self._climb, self._roofs = climb, roofs
        super().__init__()
        self._say_where_from()
        if self.record:
            names = [each["name"] for each in self.record["rungs"]]
            self.selected = names.index(one_of("rung", names, rung or names[-1]))
        self._draw()

    @property
    def record(self) -> Record | None:
        """The record that is shown."""
        if self.source == "here":
            return self._measured.get(self.threads)
        return self._recorded.get(self.threads, {}).get(self.machine)

    @traitlets.default("machines")
    def _recorded_machines(self) -> dict[str, str]:
        """The machines with a recording on this many threads, the one most like this one first."""
        recorded = self._recorded.get(self.threads, {})
        return {isa: made_on(record) for isa, record in recorded.items()}

    @traitlets.default("machine")
    def _first_machine(self) -> str:
        return next(iter(self.machines), "")

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> int:
        count = len(self.record["rungs"]) if self.record else 0
        return in_range("rung here", -1, count - 1, proposal.value)

    @traitlets.validate("view")
    def _check_view(self, proposal: Any) -> Any:
        return one_of("view", self.views, proposal.value)

    @traitlets.validate("machine")
    def _check_machine(self, proposal: Any) -> Any:
        return one_of("machine", self.machines, proposal.value)

    @traitlets.validate("source")
    def _check_source(self, proposal: Any) -> str:
        if proposal.value == "here" and not self.measured:
            raise UsageError("nothing is measured here yet", hint="press Measure here: measure()")
        return one_of("source", ("recorded", "here"), proposal.value)

    # --- what is shown --------------------------------------------------------------------------

    @traitlets.observe("threads", "source", "machine")
    def _change_record(self, change: Any) -> None:
        if self.record is None and self.source == "here" and not self.busy:
            self.source = "recorded"  # nothing is measured on this many threads yet
            return
        count = len(self.record["rungs"]) if self.record else 0
        self.selected = min(self.selected, count - 1)
        self._say_where_from()
        self._draw()

    @traitlets.observe("selected", "whole")
    def _change_rung(self, change: Any) -> None:
        self._draw()

    @traitlets.observe("view")
    def _change_view(self, change: Any) -> None:
        missing = self.source == "here" and self.record and not is_counted(self.record)
        if self.view != TIMES and missing:
            self._count()
        self._draw()

    def _count(self) -> None:
        """Count the bytes of what was measured here; an interrupt goes back to the times."""
        assert self.record is not None
        self.busy = True
        try:
            for place, record in enumerate(interruptible(counted(self.record, self._rungs))):
                self._measured[self.threads] = record
                done = f"{place + 1} of {len(record['rungs'])} rungs"
                self.status = f"Counting bytes: {done}. {INTERRUPT}."
            self._say_where_from()
        except KeyboardInterrupt:
            self.status = "Stopped before the bytes of every rung were counted."
            self.view = TIMES
        finally:
            self.busy = False

    def _say_where_from(self) -> None:
        if self.record is None:
            self.status = "Nothing is recorded; press Measure here."
        elif self.source == "recorded":
            self.status = f"Recorded on {made_on(self.record)}."
        else:
            self.status = f"Measured here, {self.record['date']}."

    def _draw(self) -> None:
        """Picture and texts of the record and the rung that are chosen."""
        self.machines = self._recorded_machines()
        if self.record is None:
            self.names, self.count = [], 0
            self.svg = self.name = self.reason = self.program = ""
            return
        rungs = self.record["rungs"]
        chosen = rungs[self.selected] if self.selected >= 0 else None
        self.names, self.count = [rung["name"] for rung in rungs], len(rungs)
        self.views = [TIMES, *roofs_of(self.record).sources]
        if self.view not in self.views:
            self.view = TIMES  # that machine has no such cache
        self.svg = self._picture(self.record, self.selected if chosen else None)
        self.name = chosen["name"] if chosen else ""
        self.reason = self._reason(self.record, chosen) if chosen else ""
        self.program = self._programs(rungs) if chosen else ""

    def _picture(self, record: Record, place: int | None) -> str:
        if self.source == "here":  # the record grows
            return self._drawn_now(record, place)
        view = id(record), self.view, place  # records live as long as this widget
        return self.once(view, lambda: self._drawn_now(record, place))

    def _drawn_now(self, record: Record, place: int | None) -> str:
        if self.view == TIMES or not is_counted(record):
            return ladder_svg(record, place, planned=self._planned)
        return record_svg(record, self.view, place)

    def draw_all(self) -> None:
        """Draw every rung of the record that is shown, and this rung of the other records."""
        every = [each for records in self._recorded.values() for each in records.values()]
        pictures = [(each, min(self.selected, len(each["rungs"]) - 1)) for each in every]
        if self.record is not None:
            pictures += [(self.record, place) for place in range(self.count)]
        self.draw_ahead(functools.partial(self._picture, *each) for each in pictures)

    def _reason(self, record: Record, rung: Record) -> str:
        part = timed_part(record, rung)
        return f"{rung['why']} ({part.capitalize()}.)" if part else str(rung["why"])

    def _programs(self, rungs: list[Record]) -> str:
        before, after = rungs[max(self.selected - 1, 0)], rungs[self.selected]
        first = self.selected == 0
        return side_by_side(
            before["program"],
            after["program"],
            titles=(before["name"], after["name"]),
            context=None if self.whole or first else 5,
        )

    def static_html(self) -> str:
        """The picture, and every rung's reason, for a page on which nothing can be clicked."""
        rungs = self.record["rungs"] if self.record else []
        reasons = "".join(f"<li><b>{rung['name']}</b> {rung['why']}</li>" for rung in rungs)
        return f"{charts(self.svg)}<ol>{reasons}</ol>"

    # --- measuring ------------------------------------------------------------------------------

    def measure(self) -> None:
        """Climb here, now. Rungs appear as they are measured; an interrupt keeps what is done."""
        course = COURSES[self.course]
        sizes = SMALL_SIZES[self._workload] if course.sizes == "small" else ()
        workload = make_workload(self._workload, sizes)
        rungs = self._rungs
        self._planned = [rung.name for rung in rungs]
        climbed: list[Climbed] = []
        self.busy = True
        try:
            for record in self._records_of(workload, rungs, climbed, course.budget_s):
                self._show(record)
            self._say_where_from()
        except KeyboardInterrupt:
            self.status = f"Stopped: {len(climbed)} of {len(rungs)} rungs are measured."
        finally:
            self._pace.stop()
            self._planned, self.busy = [], False
            self._draw()

    def _records_of(
        self, workload: Workload, rungs: Sequence[Rung], climbed: list[Climbed], budget_s: float
    ) -> Iterator[Record]:
        """The record of the climb so far, after each rung; what is done is kept in ``climbed``."""
        self.status = "Measuring the roofs of this machine ..."
        threads = 1 if self.threads == "one" else usable_cores()
        limits = self._roofs(threads, remeasure=True)
        steps = self._climb(workload, rungs, threads=threads, budget_s=budget_s)
        self._say_progress(rungs, 0)
        for done in self.paced(steps, unit="rung"):
            climbed.append(done)
            yield ladder_record(workload, climbed, limits, threads=threads)
            self._say_progress(rungs, len(climbed))

    def _say_progress(self, rungs: Sequence[Rung], done: int) -> None:
        if done < len(rungs):
            self.status = (
                f"Measuring {rungs[done].name}, {done + 1} of {len(rungs)}. "
                f"{INTERRUPT} and keeps what is done."
            )

    def _show(self, record: Record) -> None:
        self._measured[self.threads] = record
        self.measured = True
        self.source = "here"
        last = len(record["rungs"]) - 1
        if self.selected == last:
            self._draw()
        self.selected = last
