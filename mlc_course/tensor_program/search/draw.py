"""A search as a picture: each trial, and the best so far, against NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")  # Okabe and Ito: safe for the colour-blind
NUMPY = "#000000"


def search_figure(
    readings: Mapping[str, Sequence[float | None]], numpy_s: float, foot: str
) -> Figure:
    """Milliseconds of each trial by strategy, in the order of the search; failed ones are left out.

    ``numpy_s`` is NumPy's time in seconds; ``foot`` says machine and date.
    """
    figure = Figure(figsize=(10, 5.6), layout="constrained")
    axes = figure.subplots()
    for (name, seconds), colour in zip(readings.items(), itertools.cycle(COLOURS), strict=False):
        milliseconds = [s * 1e3 if s is not None else math.nan for s in seconds]
        best = list(
            itertools.accumulate((m if not math.isnan(m) else math.inf for m in milliseconds), min)
        )
        trials = range(1, len(best) + 1)
        axes.plot(trials, milliseconds, "o", color=colour, alpha=0.35, markersize=5)
        axes.step(trials, best, where="post", color=colour, linewidth=2.5, label=name)
    axes.axhline(numpy_s * 1e3, color=NUMPY, linewidth=2, label="NumPy")
    axes.set(yscale="log", xlabel="trial", ylabel="ms (log scale)")
    axes.set_title("Best schedule so far (line) and each trial (dots)", loc="left")
    axes.legend()
    figure.text(0.01, -0.03, foot, fontsize=9)
    return figure


def save_search_plot(
    readings: Mapping[str, Sequence[float | None]], numpy_s: float, foot: str, path: Path
) -> None:
    """Write the picture; the file's ending says the format."""
    search_figure(readings, numpy_s, foot).savefig(path, dpi=120, bbox_inches="tight")
