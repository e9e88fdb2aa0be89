"""A search as a picture: each trial, and the best so far, against NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlc_course.tensor_program.picture import NUMPY, STYLE, round_ticks

# Of Okabe and Ito's colours, those that are neither NumPy's nor the roof's.
COLOURS = ("#56b4e9", "#cc79a7", "#0072b2", "#e69f00")

Readings = Mapping[str, Sequence[float | None]]


def search_figure(readings: Readings, numpy_s: float, foot: str) -> Figure:
    """Milliseconds of each trial by strategy, in the order of the search; failed ones are left out.

    ``numpy_s`` is NumPy's time in seconds; ``foot`` says machine and date.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 5.8), layout="constrained")
        axes = figure.subplots()
        for (name, seconds), colour in zip(readings.items(), COLOURS, strict=False):
            _search(axes, name, [1e3 * s if s is not None else math.nan for s in seconds], colour)
        axes.axhline(1e3 * numpy_s, color=NUMPY, linewidth=3, label="NumPy")
        axes.set(yscale="log", xlabel=f"trial\n\n{foot}", ylabel="time of one call, ms")
        every = [1e3 * s for s in itertools.chain(*readings.values(), [numpy_s]) if s is not None]
        round_ticks(axes.yaxis, min(every), max(every))
        axes.set_title("Best schedule so far (line) and every trial (dots)", loc="left")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def _search(axes: Axes, name: str, milliseconds: list[float], colour: str) -> None:
    ran = [math.inf if math.isnan(each) else each for each in milliseconds]
    best = list(itertools.accumulate(ran, min))
    trials = range(1, len(best) + 1)
    axes.plot(trials, milliseconds, "o", color=colour, alpha=0.5, markersize=6)
    axes.step(trials, best, where="post", color=colour, linewidth=3, label=name)


def save_search_plot(readings: Readings, numpy_s: float, foot: str, path: Path) -> None:
    """Write the picture; the file's ending says the format."""
    with mpl.rc_context(STYLE):
        search_figure(readings, numpy_s, foot).savefig(path, dpi=120)
