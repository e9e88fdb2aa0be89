"""The first few tilings of a graph, timed in turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlc_course.machine import usable_cores
from mlc_course.measure import Comparison, compare
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.runtime.arrays import random_inputs
from mlc_course.mugraph.runtime.compiled import Compiled, compile_graph, programs

FIRST = 3  # programs that are timed


@dataclass(frozen=True)
class Timed:
    """A compiled program and its time beside that of the one the cost model puts first."""

    compiled: Compiled
    comparison: Comparison | None  # None for the first itself

    @property
    def ratio(self) -> float:
        """How many times as fast as the first one."""
        return self.comparison.ratio if self.comparison else 1.0


def tuned(
    graph: KernelGraph,
    target: str = "cpu",
    *,
    threads: int | None = None,
    storage: str = "float32",
    most: int = FIRST,
    budget_s: float = 1.0,
    on_program: Callable[[int, int], object] | None = None,
) -> list[Timed]:
    """Compile a graph with the tilings that the cost model puts first, and time them.

    Returns them with the fastest first. ``on_program`` is told (number done, number of all).
    """
    threads = usable_cores() if threads is None else threads
    found = []
    listed = programs(graph, threads, most)
    for number, program in enumerate(listed, 1):
        found.append(
            compile_graph(graph, target, threads=threads, storage=storage, lowered=program)
        )
        if on_program:
            on_program(number, len(listed))
    if len(found) == 1:
        return [Timed(found[0], None)]
    inputs = random_inputs(graph)
    if storage != "float32":
        inputs = {name: array.astype(storage) for name, array in inputs.items()}
    first, *others = [each.bind(inputs) for each in found]
    compared = compare(
        {str(n): each for n, each in enumerate(others, 1)},
        ("0", first),
        threads=threads,
        budget_s=budget_s,
    )
    timed = [Timed(found[0], None)]
    timed += [Timed(found[n], compared[str(n)]) for n in range(1, len(found))]
    return sorted(timed, key=lambda each: -each.ratio)
