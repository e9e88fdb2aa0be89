"""A student's graph beside the library's own search, the program unfused, and NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from IPython.display import HTML

from mlc_course.lessons.kit import race_svg, shown
from mlc_course.lessons.lesson_21_capstone.plain_programs import Moved, measured
from mlc_course.machine import describe
from mlc_course.measure import Comparison
from mlc_course.mugraph.cpu_kernels import cpu_target
from mlc_course.mugraph.ir import KernelGraph, parse
from mlc_course.mugraph.runtime import fastest_of_each, race
from mlc_course.mugraph.search import Found, superoptimize
from mlc_course.tensor_program.memory import roofs

YOURS, LIBRARY, UNFUSED = "yours", "the library's search", "unfused"


@dataclass(frozen=True)
class Contest:
    """Graphs of one program on one thread of this machine, each beside NumPy."""

    program: str
    graphs: Mapping[str, str]
    found: Mapping[str, Comparison]

    def moved(self, name: str) -> Moved:
        """Return what a graph moves."""
        return measured(self.graphs[name])

    @property
    def gain(self) -> float:
        """The speed of the student's graph as a multiple of the unfused program's."""
        return self.found[YOURS].ratio / self.found[UNFUSED].ratio

    def __str__(self) -> str:
        lines = [f"{'':<22}{'kernels':>8}{'MB moved':>10}{'times NumPy':>14}"]
        for name, each in self.found.items():
            moved = self.moved(name)
            lines.append(f"{name:<22}{moved.launches:>8}{moved.bytes / 1e6:>10.1f}{each:>14.2f}")
        return "\n".join(lines)

    def picture(self) -> HTML:
        """Return the speeds as bars, NumPy as a line."""
        title = f"{parse(self.program).name} on one thread"
        return shown(race_svg(title, self.found), f"{title}: {self}")


def contest(program: str, mine: str, *, budget_s: float = 1.0) -> Contest:
    """Search with the library, compile all graphs, check them, and time them beside NumPy.

    Raises ``WrongResult`` for a graph whose kernels differ from the interpreter.
    """
    known = parse(program)
    graphs: dict[str, KernelGraph] = {YOURS: parse(mine), UNFUSED: known}
    target = cpu_target(describe(), roofs(1))
    events = [event for event in superoptimize(known, target) if isinstance(event, Found)]
    if events:
        graphs[LIBRARY] = min(events, key=lambda event: float(event.cost.total)).graph
    racers = fastest_of_each(
        race(known, graphs, threads=1, most_tilings=1, always=tuple(graphs), budget_s=budget_s)
    )
    found = {each.name: each.comparison for each in racers}
    return Contest(program, {name: str(graph) for name, graph in graphs.items()}, found)
