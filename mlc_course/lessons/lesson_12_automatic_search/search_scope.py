"""The search scope: a search's trials in order, each beside the best; recorded, or made here."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import traitlets

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import (
    INTERRUPT,
    Widget,
    charts,
    in_range,
    one_of,
    side_by_side,
)
from mlc_course.lessons.lesson_12_automatic_search.sayings import SHORT
from mlc_course.lessons.lesson_12_automatic_search.scope_picture import (
    LEAST,
    genes_side_by_side,
    scope_svg,
)
from mlc_course.machine import describe
from mlc_course.measure import mark
from mlc_course.tensor_program.memory import roofs
from mlc_course.tensor_program.problems import Workload, make_workload
from mlc_course.tensor_program.search import (
    Candidate,
    Population,
    Recording,
    Trial,
    evolution,
    place_of_best,
    recording,
)
from mlc_course.units import times

RECORDED = ("random", "blind", "evolutionary", "packing")
HERE = "here"
SIZES = (256, 512, 256, 768)  # of a search here: a candidate takes about half a second
# What to search here: the space, how, and how many trials.
COURSES: dict[str, tuple[str, Callable[..., Iterator[Candidate]], int]] = {
    "random tiles, 12 trials": ("tiles", evolution.random_search, 12),
    "evolved tiles, 24 trials": ("tiles", evolution.evolve, 24),
    "packing, 12 trials": ("packing", evolution.random_search, 12),
}


class SearchScope(Widget):
    """Searches on the article's workload, trial by trial.

    ``strategy`` is "random", "blind", "evolutionary", "packing", or "here" once something was
    searched here; ``selected`` is a trial, from 0. Setting them changes ``svg``, ``said`` and
    ``report``: the decisions of the trial beside those of the best, or with ``programs`` the two
    programs. ``course`` says what ``measure`` searches. Raises ``UsageError`` for values that it
    cannot show.
    """

    strategy = traitlets.Unicode("random").tag(sync=True)
    selected = traitlets.Int(0).tag(sync=True)
    programs = traitlets.Bool(False).tag(sync=True)
    course = traitlets.Unicode(next(iter(COURSES))).tag(sync=True)

    courses = traitlets.List(list(COURSES)).tag(sync=True)
    count = traitlets.Int(0).tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)
    report = traitlets.Unicode("").tag(sync=True)
    measured = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        strategy: str = "random",
        *,
        recordings: Mapping[str, Recording] | None = None,
        courses: Mapping[str, tuple[str, Callable[..., Iterator[Candidate]], int]] = COURSES,
        roofs: Callable[..., Any] = roofs,
    ) -> None:
        self._recordings = dict(recordings or {name: recording(name) for name in RECORDED})
        self._populations = {name: each.population for name, each in self._recordings.items()}
        self._tested: list[Candidate] = []
        self._courses, self._roofs = courses, roofs
        first = one_of("strategy", RECORDED, strategy)
        super().__init__(strategy=first, course=next(iter(courses)), courses=list(courses))
        self._say_where_from()
        self.selected = len(self.population.trials) - 1
        self._draw()

    @property
    def population(self) -> Population:
        """The search that is shown."""
        return self._populations[self.strategy]

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> int:
        return in_range("trial here", 0, len(self.population.trials) - 1, proposal.value)

    @traitlets.validate("strategy")
    def _check_strategy(self, proposal: Any) -> str:
        if proposal.value == HERE and not self._tested:
            raise UsageError("nothing is searched here yet", hint="press Search here: measure()")
        return one_of("strategy", (*RECORDED, HERE), proposal.value)

    @traitlets.validate("course")
    def _check_course(self, proposal: Any) -> str:
        return one_of("course", tuple(self._courses), proposal.value)

    # --- what is shown --------------------------------------------------------------------------

    @traitlets.observe("strategy")
    def _change_strategy(self, change: Any) -> None:
        self._say_where_from()
        count, at_the_end = len(self.population.trials), self.selected == self.count - 1
        self.selected = count - 1 if at_the_end else min(self.selected, count - 1)
        self._draw()

    @traitlets.observe("selected", "programs")
    def _change_trial(self, change: Any) -> None:
        self._draw()

    def _say_where_from(self) -> None:
        self.status = f"{self.population.where}."

    def _draw(self) -> None:
        """Picture and texts of the search and the trial that are chosen."""
        shown, place = self.population, self.selected
        self.count = len(shown.trials)
        mixed = len({each.about["machine"]["isa"] for each in self._recordings.values()}) > 1
        others = {
            self._label(name, mixed): each.ratios
            for name, each in self._populations.items()
            if name != self.strategy and HERE not in (name, self.strategy)
        }
        self.svg = scope_svg(shown, place, others=others)
        best = self._rival(place)
        self.said = _in_words(shown.trials, place, best)
        self.report = self._report(best, place)

    def _label(self, name: str, mixed: bool) -> str:
        """The name of a search in the picture, with its machine where these are of two kinds."""
        if mixed:
            return f"{SHORT[name]}, {self._recordings[name].about['machine']['isa']}"
        return f"best of {SHORT[name]}"

    def _rival(self, place: int) -> int:
        """The best so far; for a trial that is the best so far itself, the one before that."""
        ratios = self.population.ratios
        best = place_of_best(ratios[: place + 1])
        return place_of_best(ratios[:place]) if best == place > 0 else best

    def _report(self, best: int, place: int) -> str:
        trials, titles = self.population.trials, (_title(best, "best so far"), _title(place))
        if not self.programs:
            return genes_side_by_side(trials[best].genes, trials[place].genes, titles=titles)
        return side_by_side(self._program(best), self._program(place), titles=titles, context=3)

    def _program(self, place: int) -> str:
        if self.strategy == HERE:
            return self._tested[place].program
        return str(self._recordings[self.strategy].schedule(place).mod.script())

    def static_html(self) -> str:
        """Every search's picture, for a page on which nothing can be clicked."""
        return "".join(
            f"<p><b>{name}</b></p>{charts(scope_svg(each))}"
            for name, each in self._populations.items()
        )

    # --- searching here -------------------------------------------------------------------------

    def measure(self) -> None:
        """Search here, now. Trials appear as they are made; an interrupt keeps what is done."""
        space, method, trials = self._courses[self.course]
        workload = make_workload("matmul_exp_matmul", SIZES)
        self.busy = True
        done = 0
        try:
            for done in self._search(workload, space, method, trials):
                self.status = f"{done} of {trials} trials. {INTERRUPT} and keeps what is done."
            self._say_where_from()
        except KeyboardInterrupt:
            self.status = f"Stopped: {done} of {trials} trials are made."
        finally:
            self._pace.stop()
            self.busy = False

    def _search(
        self,
        workload: Workload,
        space: str,
        method: Callable[..., Iterator[Candidate]],
        trials: int,
    ) -> Iterator[int]:
        """Show the trials one by one, and yield how many have been made after each."""
        self.status = "Measuring the roofs of this machine ..."
        limits = self._roofs(1, remeasure=True)
        found = method(workload, evolution.space(space, workload), trials)
        made: list[Candidate] = []
        self.status = f"0 of {trials} trials."
        for tested in self.paced(found, unit="trial"):
            made.append(tested)
            floor_s = limits.seconds(workload.flops, workload.bytes)
            self._show(workload, made, floor_s)
            yield len(made)

    def _show(self, workload: Workload, made: Sequence[Candidate], floor_s: float) -> None:
        trials = tuple(map(_trial, made))
        roof = statistics.median(each.comparison.baseline.median_s for each in made) / floor_s
        where = f"Searched here, {describe()}, {datetime.date.today().isoformat()}"
        self._tested = list(made)
        self._populations[HERE] = Population(HERE, workload.title, where, trials, roof)
        self.measured = True
        if self.strategy != HERE:
            self.selected = 0
            self.strategy = HERE
        if self.selected == len(made) - 1:
            self._draw()
        self.selected = len(made) - 1


def _trial(made: Candidate) -> Trial:
    ratios, warning = made.comparison.ratios, made.comparison.warning
    return Trial(made.genes, made.ratio, min(ratios), max(ratios), warning=warning)


def _title(place: int, name: str = "") -> str:
    return f"trial {place + 1}" + (f", {name}" if name else "")


def _in_words(trials: Sequence[Trial], place: int, best: int) -> str:
    """The chosen trial in a sentence."""
    chosen, rival = trials[place], trials[best]
    if chosen.ratio < LEAST:
        return f"Trial {place + 1} did not finish: {chosen.error or 'it is too slow to show'}."
    new = place > 0 and chosen.ratio > rival.ratio or best == place
    beside = "a new best" if new else f"the best so far is trial {best + 1}, {times(rival.ratio)}"
    speed = f"{times(chosen.ratio)} NumPy's speed{mark(chosen.warning)}"
    return f"Trial {place + 1}: {speed}; {beside}."
