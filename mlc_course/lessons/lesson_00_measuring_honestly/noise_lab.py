"""The noise lab: time one program again and again, and see which figure can be trusted."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import traitlets

from mlc_course.lessons.kit import Choice, Widget, charts, in_range, table
from mlc_course.lessons.lesson_00_measuring_honestly.readings_picture import readings_svg
from mlc_course.machine import usable_cores
from mlc_course.measure import Comparison, compare
from mlc_course.parallel import busy_neighbours
from mlc_course.tensor_program.ladders import Contest, contest
from mlc_course.units import milliseconds
from mlc_course.words import marked, tr

SIZES = (512, 512, 512)
REPEATS = (5, 1000)
BUDGET_S = 10.0  # several threads need pauses between readings: a second for five rounds
HEAD = (
    marked("rounds"),
    marked("threads"),
    marked("neighbours"),
    marked("best"),
    marked("median"),
    marked("NumPy / ours"),
)


@dataclass(frozen=True)
class Run:
    """One measurement of the lab, and its conditions."""

    comparison: Comparison
    threads: int
    neighbours: int

    @property
    def cells(self) -> tuple[str, ...]:
        timing, ratio = self.comparison.timing, self.comparison
        return (
            str(len(timing.seconds)),
            str(self.threads),
            str(self.neighbours),
            milliseconds(timing.best_s),
            milliseconds(timing.median_s),
            f"{ratio:.3f}",
        )


class NoiseLab(Widget):
    """Repeat a matrix product of ours and NumPy's in turn, with or without busy neighbours.

    ``repeats`` is the number of rounds (fewer where they take more than ten seconds), ``threads``
    "one" or "all"; with ``neighbours`` another process runs at full speed on every core. ``runs``
    keeps every measurement that was made. Raises ``UsageError`` for values that it cannot measure.
    """

    repeats = traitlets.Int(100).tag(sync=True)
    threads = Choice("one", ("one", "all"))
    neighbours = traitlets.Bool(False).tag(sync=True)

    svg = traitlets.Unicode("").tag(sync=True)
    table = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        *,
        contest: Callable[..., Contest] = contest,
        compare: Callable[..., Mapping[str, Comparison]] = compare,
    ) -> None:
        self._contest, self._compare = contest, compare
        self._contests: dict[int, Contest] = {}
        self.runs: list[Run] = []
        super().__init__(status=tr("Nothing is measured yet."))

    @traitlets.validate("repeats")
    def _check_repeats(self, proposal: Any) -> int:
        return in_range("number of rounds", *REPEATS, proposal.value)

    def measure(self) -> Comparison:
        """Measure now, with the choices that are set; an interrupt keeps the rounds that are done.

        Busy neighbours are gone when it returns, whatever happened.
        """
        threads = 1 if self.threads == "one" else usable_cores()
        neighbours = usable_cores() if self.neighbours else 0
        with self.measuring(tr("{count} rounds ...", count=self.repeats)):
            if threads not in self._contests:
                self._contests[threads] = self._contest("matmul", SIZES, threads=threads)
            calls = self._contests[threads]
            with busy_neighbours(neighbours):
                found = self._compare(
                    {tr("ours"): calls.ours},
                    ("NumPy", calls.numpy),
                    threads=threads,
                    budget_s=BUDGET_S,
                    rounds=(REPEATS[0], self.repeats),
                    tight=0.0,  # the lab shows the noise, so more rounds are the point,
                    cpu_clock=None,  # and CPU time would hide it
                )[tr("ours")]
        self._show(Run(found, threads, neighbours), calls.title)
        return found

    def _show(self, run: Run, title: str) -> None:
        self.runs.append(run)
        self.svg = readings_svg(run.comparison, title)
        self.table = table([tr(name) for name in HEAD], [each.cells for each in self.runs])
        low, high = run.comparison.interval
        told = tr(
            "The ratio lies between {low:.3f} and {high:.3f}, with 95 % confidence.",
            low=low,
            high=high,
        )
        self.status = run.comparison.warning or told

    def static_html(self) -> str:
        """The last measurement, and a table of all of them."""
        said = html.escape(tr("Readings of the last measurement. {status}", status=self.status))
        picture = f'<div role="img" aria-label="{said}">{charts(self.svg)}</div>'
        return f"{picture}{self.table}<p>{html.escape(self.status)}</p>"
