"""The picture of one comparison: every reading, in order and as a histogram."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mlc_course.drawing import INK, NUMPY, OURS, STYLE, WIDTH_IN, round_ticks, svg_text
from mlc_course.measure import Comparison, Timing
from mlc_course.units import milliseconds
from mlc_course.words import tr


def readings_svg(comparison: Comparison, heading: str) -> str:
    """Every reading in the order in which it was taken, and its histogram; times, then ratios.

    Both pairs of panels show the same factor from bottom to top, so that the eye may compare how
    far times and ratios wander.
    """
    ours, numpy = ([1e3 * s for s in t.seconds] for t in (comparison.timing, comparison.baseline))
    ratios = list(comparison.ratios)
    factor = _factor([*ours, *numpy], ratios)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 5.5))
        (times_at, times_of), (ratios_at, ratios_of) = figure.subplots(
            2, 2, sharey="row", sharex="col", width_ratios=(3, 1)
        )
        _readings(times_at, times_of, ours, numpy, factor)
        _readings(ratios_at, ratios_of, ratios, None, factor)
        times_at.set_ylabel(tr("time, ms"))
        ratios_at.set_ylabel(tr("NumPy / ours"))
        ratios_at.set_xlabel(tr("round"))
        ratios_at.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        ratios_of.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        ratios_of.set_xlabel(tr("readings"))
        for at in (ratios_at, ratios_of):
            at.axhline(1, color=NUMPY, linewidth=2)
        said = _said(comparison.timing, tr("ours")), _said(comparison.baseline, "NumPy")
        _say(times_at, [(said[0], OURS), (said[1], NUMPY)])
        _say(ratios_at, [(_said_of_ratio(comparison), INK)])
        figure.suptitle(heading, x=0.012, ha="left", fontsize=14, fontweight="bold")
        figure.subplots_adjust(0.085, 0.1, 0.985, 0.836, wspace=0.08, hspace=0.28)
    return svg_text(figure)


def readings_html(comparison: Comparison, heading: str) -> str:
    """The picture of ``readings_svg`` as HTML, with an alternative text."""
    said = f"{heading}: {_said(comparison.timing, tr('ours'))}. {_said_of_ratio(comparison)}"
    svg = readings_svg(comparison, heading)
    return f'<div role="img" aria-label="{html.escape(said)}">{svg}</div>'


def _factor(*groups: Sequence[float]) -> float:
    """Return a factor that spans every group from its lowest value to its highest, at least 1.6."""
    return max(1.6, *(max(group) / min(group) for group in groups)) * 1.1


def _readings(
    at: Axes, of: Axes, ours: Sequence[float], numpy: Sequence[float] | None, factor: float
) -> None:
    values = [*ours, *(numpy or ())]
    middle = math.sqrt(min(values) * max(values))
    low, high = middle / math.sqrt(factor), middle * math.sqrt(factor)
    bins = np.geomspace(low, high, 41)
    at.set_yscale("log")
    at.set_ylim(low, high)
    rounds = range(1, len(ours) + 1)
    at.plot(rounds, ours, ".", color=OURS, markersize=7)
    of.hist(ours, bins=list(bins), color=OURS, orientation="horizontal")
    if numpy:
        at.plot(rounds, numpy, color=NUMPY, linewidth=1.6)
        of.hist(
            numpy,
            bins=list(bins),
            color=NUMPY,
            orientation="horizontal",
            histtype="step",
            linewidth=2,
        )
    round_ticks(at.yaxis, low, high)


def _say(axes: Axes, lines: Sequence[tuple[str, str]]) -> None:
    """Lines of text above the panel, each in its colour."""
    for place, (text, colour) in enumerate(reversed(lines)):
        axes.annotate(
            text,
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, 8 + 17 * place),
            textcoords="offset points",
            color=colour,
            fontweight="bold",
        )


def _said(timing: Timing, name: str) -> str:
    low, high = timing.iqr_s
    return tr(
        "{name}: median {median}, best {best}, half of the readings from {low} to {high}",
        name=name,
        median=milliseconds(timing.median_s),
        best=milliseconds(timing.best_s),
        low=milliseconds(low),
        high=milliseconds(high),
    )


def _said_of_ratio(comparison: Comparison) -> str:
    (low, high), (first, third) = comparison.interval, comparison.ratio_iqr
    return tr(
        "NumPy / ours: median {ratio:.3f}, 95 % interval {low:.3f} to {high:.3f}, "
        "half from {first:.3f} to {third:.3f}{mark}",
        ratio=comparison.ratio,
        low=low,
        high=high,
        first=first,
        third=third,
        mark=comparison.mark,
    )
