"""The kernel race: graphs that the search finds for this machine, compiled, and beside NumPy."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib as mpl
import traitlets
from matplotlib.figure import Figure

from mlc_course.drawing import STYLE, WIDTH_IN, svg_text
from mlc_course.errors import check_known
from mlc_course.lessons.kit import INTERRUPT, Widget, charts, one_program, race_bars, race_words
from mlc_course.machine import describe
from mlc_course.mugraph.cpu_kernels import cpu_target
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.programs import NAMES, workload
from mlc_course.mugraph.runtime import Racer, fastest_of_each, race
from mlc_course.mugraph.search import Found, superoptimize
from mlc_course.tensor_program.memory import roofs
from mlc_course.units import milliseconds, plural, times

UNFUSED = "unfused"
MOST_GRAPHS = 6  # that are compiled
ROW_IN, REST_IN = 0.42, 1.3


class KernelRace(Widget):
    """Graphs of one program as bars of time, NumPy as a line; the chosen graph and its kernels.

    ``racers`` are what has been measured; ``selected`` is the number of the chosen one. Raises
    ``UsageError`` for an unknown program.
    """

    program = traitlets.Unicode("").tag(sync=True)
    selected = traitlets.Int(0).tag(sync=True)
    names: Any = traitlets.List().tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    texts = traitlets.Unicode("").tag(sync=True)

    def __init__(self, program: str = "gqa") -> None:
        check_known("no program", program, NAMES)
        self.racers: list[Racer] = []
        super().__init__(program=program)
        self.status = f"{program}: nothing is measured yet."
        self.observe(lambda change: self._draw(), "selected")

    def measure(self) -> Sequence[Racer]:
        """Search, compile, check and time, on one thread; returns the fastest kernel of each graph.

        An interrupt leaves what was measured before.
        """
        known = workload(self.program)
        with self.measuring(f"{self.program}: searching ... {INTERRUPT}."):
            graphs = {}
            for step in self.paced(_searched(known), unit="graph"):
                graphs = step
            self.status = f"Compiling and timing {plural(len(graphs), 'graph')} ... {INTERRUPT}."
            racers = race(
                known,
                graphs,
                threads=1,
                most_graphs=MOST_GRAPHS,
                most_tilings=2,
                always=(UNFUSED,),
            )
        self.racers = fastest_of_each(racers)
        self.selected = 0
        self.status = _summary(self.program, racers)
        self._draw()
        return self.racers

    def _draw(self) -> None:
        if self.racers:
            place = min(max(self.selected, 0), len(self.racers) - 1)
            self.names = [each.name for each in self.racers]
            self.svg = race_svg(self.racers, place)
            self.texts = _texts(self.racers[place])

    def static_html(self) -> str:
        """The bars and the chosen graph, if there are any."""
        return f"{charts(self.svg)}{self.texts}<p>{html.escape(self.status)}</p>"


def _searched(program: KernelGraph) -> Iterator[dict[str, KernelGraph]]:
    """Yield the graphs that are to be compiled, once the search is over."""
    target = cpu_target(describe(), roofs(1))
    found = [event for event in superoptimize(program, target) if isinstance(event, Found)]
    found.sort(key=lambda each: (float(each.cost.total), each.operators))
    named = {f"{n} {each.how}": each.graph for n, each in enumerate(found[:MOST_GRAPHS], 1)}
    yield {**named, UNFUSED: program}


def race_svg(racers: Sequence[Racer], selected: int = 0) -> str:
    """Draw a bar for each graph, the fastest on top, with NumPy as a line."""
    height = REST_IN + ROW_IN * len(racers)
    found = {each.name: each.comparison for each in racers}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, height))
        axes = figure.add_axes((0.3, 0.62 / height, 0.68, (height - 1.0) / height))
        race_bars(
            axes,
            found,
            racers[selected].name,
            per_second=1e3,
            text=milliseconds,
            of="ms",
        )
    return svg_text(figure, f"Times of the graphs: {race_words(found)}")


def _texts(racer: Racer) -> str:
    graph = one_program(str(racer.compiled.graph), title=f"graph: {racer.name}")
    kernels = one_program(str(racer.compiled.program), title="its kernels")
    return f"{graph}<details><summary>its kernels, as compiled</summary>{kernels}</details>"


def _summary(program: str, racers: Sequence[Racer]) -> str:
    best = racers[0]
    numpy = best.comparison.baseline.median_s
    error = max(error for each in racers for error in each.passed.errors)
    return (
        f"{program} on one thread of {describe()}: {best.name} has "
        f"{times(best.comparison.ratio)} NumPy's speed{best.comparison.mark}, which takes "
        f"{milliseconds(numpy)}; by the estimate it is limited by {best.limited_by}. All kernels "
        f"agree with the interpreter in float64: the largest error is {error:.0e} of the size of "
        f"the terms."
    )
