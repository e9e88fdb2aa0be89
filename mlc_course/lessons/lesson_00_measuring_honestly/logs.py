"""The logs of exercise 2, and their picture."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from mlc_course.drawing import NUMPY, OURS, STYLE, svg_text
from mlc_course.words import tr

Reading = list[object]  # who, start_s, seconds

QUIET: list[Reading] = [
    ["numpy", 0.009, 0.010], ["numpy", 0.029, 0.010], ["numpy", 0.049, 0.010],
    ["ours", 0.000, 0.008], ["ours", 0.020, 0.008], ["ours", 0.040, 0.008],
]  # fmt: skip
PICTURED: list[Reading] = [
    ["numpy", 0.000, 0.0300], ["numpy", 0.031, 0.0100], ["numpy", 0.042, 0.0100],
    ["numpy", 0.053, 0.0100], ["numpy", 0.064, 0.0100], ["numpy", 0.111, 0.0220],
    ["numpy", 0.153, 0.0220], ["numpy", 0.194, 0.0220], ["numpy", 0.236, 0.0220],
    ["numpy", 0.278, 0.0150], ["numpy", 0.307, 0.0150], ["numpy", 0.336, 0.0150],
    ["ours", 0.075, 0.0352], ["ours", 0.134, 0.0176], ["ours", 0.176, 0.0176],
    ["ours", 0.259, 0.0176], ["ours", 0.294, 0.0120], ["ours", 0.323, 0.0120],
    ["ours", 0.352, 0.0120],
]  # fmt: skip
SLOWER: list[Reading] = [
    ["numpy", 0.025, 0.010], ["numpy", 0.060, 0.030], ["numpy", 0.155, 0.030],
    ["ours", 0.000, 0.020], ["ours", 0.036, 0.020], ["ours", 0.091, 0.060],
]  # fmt: skip


def log_html(readings: Sequence[Reading]) -> str:
    """Each reading from its start to its end, as high as it took, as inline SVG."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 3.2))
        axes = figure.add_axes((0.07, 0.2, 0.91, 0.74))
        for who, start_s, seconds in readings:
            colour = NUMPY if who == "numpy" else OURS
            assert isinstance(start_s, float) and isinstance(seconds, float)
            axes.bar(start_s, 1e3 * seconds, seconds, align="edge", color=colour, edgecolor="white")
        axes.set_xlabel(tr("start_s, seconds (orange: NumPy, blue: ours)"))
        axes.set_ylabel(tr("reading, ms"))
    said = tr("A log of {count} readings over time, of NumPy and of ours", count=len(readings))
    return f'<div role="img" aria-label="{said}">{svg_text(figure)}</div>'
