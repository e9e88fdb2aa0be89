"""The task timeline: a grain, a load and a number of workers; simulated for 16, measured here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import traitlets

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import (
    LOADS,
    Choice,
    Widget,
    charts,
    columns_of,
    one_of,
    scores,
)
from mlc_course.lessons.lesson_10_parallelism.timeline_picture import gantt_svg, speedup_svg
from mlc_course.machine import usable_cores
from mlc_course.parallel import interruptible
from mlc_course.tensor_program.processor import HOW, Timeline, amdahl, grouped, simulate, timeline
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule

WORDS = 128
MOST_WORKERS = 16
GRAINS = tuple(1 << power for power in range(8))
SERIAL = (0, 5, 10, 25, 50)  # percent of all work
START, TAKE = 30.0, 2.0  # in dot products: to wake the workers; to fetch a task
UNIT = "dot products of 64"

Key = tuple[str, str, int, int]  # load, how, grain, serial


class TaskTimeline(Widget):
    """Share 128 tasks among workers, and see who waits.

    ``load`` is one of ``loads.LOADS``, ``how`` one of ``tasks.HOW``, ``grain`` a power of two up to
    128, ``workers`` 1 to 16, ``serial`` the percentage of the work that one worker does first.
    ``source`` is "simulated", or "here" for a choice that ``measure`` has measured. Raises
    ``UsageError`` for values that it cannot show.
    """

    load, how = Choice("triangular", LOADS), Choice("static", HOW)
    grain, serial = Choice(4, GRAINS), Choice(0, SERIAL)
    workers = Choice(4, range(1, MOST_WORKERS + 1))
    source = traitlets.Unicode("simulated").tag(sync=True)

    loads = traitlets.List(list(LOADS)).tag(sync=True)
    hows = traitlets.List(list(HOW)).tag(sync=True)
    grains = traitlets.List(list(GRAINS)).tag(sync=True)
    serials = traitlets.List(list(SERIAL)).tag(sync=True)
    most_workers = traitlets.Int(MOST_WORKERS).tag(sync=True)

    svg = traitlets.Unicode("").tag(sync=True)
    curve = traitlets.Unicode("").tag(sync=True)
    measured = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        load: str = "triangular",
        *,
        workers: int = 4,
        cores: int | None = None,
        timeline: Callable[..., Timeline] = timeline,
    ) -> None:
        self._timeline = timeline
        self._cores = usable_cores() if cores is None else cores
        self.found: dict[Key, dict[int, Timeline]] = {}
        super().__init__(load=load, workers=workers)
        self._draw()

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("source")
    def _check_source(self, proposal: Any) -> str:
        if proposal.value == "here" and self._here() is None:
            raise UsageError(
                "this choice is not measured here yet", hint="press Measure here: measure()"
            )
        return one_of("source", ("simulated", "here"), proposal.value)

    # --- what is shown --------------------------------------------------------------------------

    @property
    def choice(self) -> Key:
        """Everything that a measurement depends on but the number of workers."""
        return self.load, self.how, self.grain, self.serial

    @property
    def simulated(self) -> Timeline:
        """The timeline of the present choice, in dot products."""
        return self._simulate(self.workers)

    def _simulate(self, workers: int) -> Timeline:
        columns = columns_of(self.load, WORDS)
        return simulate(
            grouped(columns, self.grain),
            workers,
            how=self.how,
            serial=_before(columns, self.serial),
            start=START if workers > 1 else 0.0,
            take=TAKE if self.how == "dynamic" else 0.0,
        )

    def _here(self) -> Timeline | None:
        return self.found.get(self.choice, {}).get(self.workers)

    @traitlets.observe("load", "how", "grain", "workers", "serial", "source")
    def _change(self, change: Any) -> None:
        if change.name != "source" and self.source == "here" and self._here() is None:
            self.source = "simulated"  # draws
            return
        self._draw()

    def _draw(self) -> None:
        here = self._here()
        self.measured = here is not None
        if self.source == "here" and here is not None:
            shown, unit, scale = here, "µs", 1e6
            speed = self._speedups_here()[self.workers]
        else:
            shown, unit, scale = self.simulated, UNIT, 1.0
            speed = self._speedup(shown)
        self.svg = gantt_svg(shown, self._heading(), unit=unit, scale=scale)
        counts = range(1, MOST_WORKERS + 1)
        self.curve = speedup_svg(
            [self._speedup(self._simulate(count)) for count in counts],
            [amdahl(self.serial / 100, count) for count in counts],
            chosen=self.workers,
            measured=self._speedups_here(),
        )
        if not self.busy:
            told = "Measured here" if self.source == "here" else "Simulated"
            self.status = (
                f"{told}: {speed:.2f} times as fast as one worker; "
                f"each is busy {speed / self.workers:.0%} of the time."
            )
            self.status += self._not_dealt()
            if self.source == "here" and shown.took_turns:
                self.status += " The workers took turns on one core: no second one was free."

    def _heading(self) -> str:
        tasks = -(-WORDS // self.grain)
        unit = "word" if self.grain == 1 else "words"
        chunked = self.source == "here" and not self._as_chosen(self.workers)
        how = "in chunks" if chunked else self.how
        what = f"{tasks} task{'s' * (tasks > 1)} of {self.grain} {unit}, {self.load}, {how}"
        return f"{what}, {self.workers} worker{'s' * (self.workers > 1)}"

    def _as_chosen(self, workers: int) -> bool:
        """Tell whether a measurement on so many workers shares the tasks in the chosen way."""
        return self.how != "interleaved" or can_deal(self.grain, workers)

    def _not_dealt(self) -> str:
        """Name the measurements shown that ran in chunks instead; empty where none did."""
        runs = self.found.get(self.choice, {})
        chunked = ", ".join(str(count) for count in sorted(runs) if not self._as_chosen(count))
        if not chunked:
            return ""
        return (
            f" Measured on {chunked} workers, the tasks ran in chunks, as static does: "
            "a split deals only where their number is a multiple of the workers."
        )

    def _speedup(self, shown: Timeline) -> float:
        columns = columns_of(self.load, WORDS)
        return (sum(columns) + _before(columns, self.serial)) / shown.end

    def _speedups_here(self) -> dict[int, float]:
        runs = self.found.get(self.choice, {})
        return {count: runs[1].end / each.end for count, each in runs.items()} if 1 in runs else {}

    def static_html(self) -> str:
        """Both pictures, and what they say."""
        return f"{charts(self.svg, self.curve)}<p>{self.status}</p>"

    # --- measuring ------------------------------------------------------------------------------

    def measure(self) -> None:
        """Run this choice here on 1, 2, ... workers, as many as are chosen and there are cores.

        An interrupt keeps what is done. Raises ``UsageError`` for dynamic sharing, which TVM's
        parallel loops do not have.
        """
        if self.how == "dynamic":
            raise UsageError(
                "TVM's parallel loops share their tasks before they start",
                expected="static or interleaved",
                got="dynamic, which can only be simulated here",
            )
        counts = range(1, min(self.workers, self._cores) + 1)
        runs = self.found.setdefault(self.choice, {})
        self.busy, self.status = True, "Measuring ..."
        try:
            for count, found in interruptible(self._runs(counts)):
                runs[count] = found
                self.status = f"Measured on {count} of {len(counts)} ..."
        except KeyboardInterrupt:
            pass
        finally:
            self.busy = False
        self._show(runs, stopped=len(runs) < len(counts))

    def _runs(self, counts: range) -> Iterator[tuple[int, Timeline]]:
        problem = scores(self.load, WORDS, 64, _before(columns_of(self.load, WORDS), self.serial))
        arrays = [*problem.inputs(), problem.output()]
        for count in counts:
            sch = Schedule(problem.program())
            schedule(sch, self.grain, interleaved=count if self.how == "interleaved" else 0)
            yield count, self._timeline(sch, arrays, threads=count)

    def _show(self, runs: dict[int, Timeline], *, stopped: bool) -> None:
        if not runs:
            self._draw()
            self.status = "Stopped before anything was measured."
            return
        asked = self.workers
        self.workers = min(asked, max(runs))
        self.source = "here"
        self._draw()
        if stopped:
            self.status += " Stopped: not every number of workers is measured."
        elif asked > self._cores:
            here = "is 1 core" if self._cores == 1 else f"are {self._cores} cores"
            self.status += f" There {here} here; {asked} stay simulated."


def can_deal(grain: int, workers: int) -> bool:
    """Tell whether a split can deal out the tasks to the workers in turns, as many to each."""
    return (WORDS // grain) % workers == 0


def schedule(sch: Schedule, grain: int, *, interleaved: int = 0) -> None:
    """Make tasks of ``grain`` words and run them in parallel.

    ``interleaved`` workers take every so many-th task; with 0, or where ``can_deal`` says no, TVM
    shares them in chunks.
    """
    steps.split(sch, "R", "i", grain)
    loop = "i_0"
    if interleaved and can_deal(grain, interleaved):
        steps.split(sch, "R", "i_0", interleaved)
        steps.reorder(sch, "R", "i_0_1", "i_0_0")
        loop = "i_0_1"
    steps.parallel(sch, "R", loop)


def _before(columns: list[int], percent: int) -> int:
    """Dot products of a serial part that is this percentage of all work."""
    return round(sum(columns) * percent / (100 - percent))
