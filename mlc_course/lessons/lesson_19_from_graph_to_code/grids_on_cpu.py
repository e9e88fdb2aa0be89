"""One program on this machine's CPU, fused and unfused, in several grids, beside NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from mlc_course.drawing import STYLE, WIDTH_IN, svg_text
from mlc_course.lessons.kit import race_bars, race_words
from mlc_course.lessons.lesson_19_from_graph_to_code.knobs import OTHER_GRID, wider
from mlc_course.machine import describe
from mlc_course.measure import Comparison, compare, limited_threads
from mlc_course.mugraph.codegen import Tiling, program_of, published_tiling
from mlc_course.mugraph.cpu_kernels import CpuProgram, cpu_of, lower
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.programs import in_numpy
from mlc_course.mugraph.runtime import NUMPY, Compiled, compile_graph, random_inputs
from mlc_course.units import milliseconds, times

UNFUSED, FITTED, PUBLISHED = "unfused", "fused, this CPU's grid", "fused, the GPU's grid"
WIDER = f"fused, {OTHER_GRID}"
ROW_IN, REST_IN = 0.42, 1.3
BUDGET_S = 1.5


def cpu_race(
    program: KernelGraph, fused: KernelGraph, *, threads: int = 1, grids: bool = True
) -> dict[str, Comparison]:
    """Compile, check and time a program and its fused graph; the fastest is first.

    With ``grids`` the fused graph runs in its published grid and a wider one, too. Raises
    ``WrongResult`` for a kernel that differs from the interpreter.
    """
    inputs = random_inputs(program)
    calls = {}
    for name, made in _compiled(program, fused, threads, grids):
        with limited_threads(threads):
            made(**inputs)
        calls[name] = made.bind(inputs)
    with np.errstate(all="ignore"):
        found = compare(
            calls, (NUMPY, in_numpy(program, inputs)), threads=threads, budget_s=BUDGET_S
        )
    return dict(sorted(found.items(), key=lambda each: -each[1].ratio))


def _compiled(
    program: KernelGraph, fused: KernelGraph, threads: int, grids: bool
) -> Iterator[tuple[str, Compiled]]:
    yield UNFUSED, compile_graph(program, threads=threads, checked=True)
    yield FITTED, compile_graph(fused, threads=threads, checked=True)
    if not grids:
        return
    ((place, block),) = fused.blocks
    for name, tiling in ((PUBLISHED, published_tiling(block)), (WIDER, wider(fused, place))):
        lowered = _in(fused, place, tiling)
        yield name, compile_graph(fused, threads=threads, checked=True, lowered=lowered)


def _in(graph: KernelGraph, place: int, tiling: Tiling) -> CpuProgram:
    """Return a graph's kernel in a given tiling."""
    cpu = cpu_of(describe())
    kernel = lower(graph, place, tiling, cpu)
    return CpuProgram(program_of(graph, [kernel]), (tiling,), cpu, ())


def bars_svg(found: Mapping[str, Comparison]) -> str:
    """Draw a bar for each form of a program, the fastest on top, with NumPy as a line."""
    height = REST_IN + ROW_IN * len(found)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, height))
        axes = figure.add_axes((0.25, 0.62 / height, 0.73, (height - 1.0) / height))
        race_bars(axes, found, None, per_second=1e3, text=milliseconds, of="ms")
    return svg_text(figure, f"Times on this CPU: {race_words(found)}")


@dataclass(frozen=True)
class Gain:
    """The gain of fusion: ``ratio`` is the unfused program's time divided by the fused one's."""

    unfused: Comparison
    fused: Comparison

    @property
    def ratio(self) -> float:
        return self.unfused.timing.median_s / self.fused.timing.median_s

    def __str__(self) -> str:
        ratio = self.ratio
        bought = (
            f"fusion alone made it {times(ratio)} as fast"
            if ratio > 1.1
            else "fusion alone bought nothing"
            if ratio > 0.9
            else f"fusion alone made it slower, {times(1 / ratio)} the time"
        )
        return f"{bought}; fused it has {times(self.fused.ratio)} NumPy's speed"


def gain(found: Mapping[str, Comparison]) -> Gain:
    """Return what fusion bought in a race."""
    return Gain(found[UNFUSED], found[FITTED])
