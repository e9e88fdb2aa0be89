"""The picture of a race among programs: a bar for each over time, NumPy a line."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlc_course.errors import UsageError
from mlc_course.measure import Comparison
from mlc_course.tensor_program.picture import (
    INK,
    NUMPY,
    OURS,
    STYLE,
    TINT,
    WIDTH_IN,
    milliseconds,
    round_ticks,
    svg_text,
    times,
)

ROW_IN, FRAME_IN = 0.36, 1.65


def orders_figure(
    found: Mapping[str, Comparison], title: str, selected: str | None = None
) -> Figure:
    """A bar for each program, in the order given; the selected one is marked.

    Raises ``UsageError`` for a selected one that is not there, and where there is none at all.
    """
    names = list(found)
    if not names or (selected is not None and selected not in names):
        raise UsageError("no such program", expected=" | ".join(names), got=selected)
    with mpl.rc_context(STYLE):
        height = FRAME_IN + ROW_IN * len(names)
        figure = Figure(figsize=(WIDTH_IN, height))
        axes = figure.add_subplot()
        numpy_s = next(iter(found.values())).baseline.median_s
        _time_axis(axes, [numpy_s, *(s for each in found.values() for s in each.timing.iqr_s)])
        _rows(axes, names, selected)
        for place, name in enumerate(names):
            _bar(axes, place, found[name], marked=name == selected)
        axes.axvline(1e3 * numpy_s, color=NUMPY, linewidth=2.5, zorder=3)
        axes.annotate(
            f"NumPy {milliseconds(numpy_s)}",
            (1e3 * numpy_s, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            color=NUMPY,
            fontweight="bold",
        )
        axes.set_title(title, loc="left", pad=26, fontsize=14, fontweight="bold")
        figure.subplots_adjust(0.09, 0.62 / height, 0.985, 1 - 0.72 / height)
    return figure


def orders_svg(found: Mapping[str, Comparison], title: str, selected: str | None = None) -> str:
    """``orders_figure`` as SVG text; the parts of program 3 have the ids ``row-3``, ``rung-3`` (its
    bar) and ``name-3``."""
    return svg_text(orders_figure(found, title, selected))


def _time_axis(axes: Axes, seconds: list[float]) -> None:
    low, high = 1e3 * min(seconds), 1e3 * max(seconds)
    span = max(high / low, 1.5)
    axes.set_xscale("log")
    axes.set_xlim(low / span**0.12, high * span**0.62)  # room for the labels at the bars
    axes.set_xlabel("time of one call, ms (logarithmic); whiskers: the middle half of the readings")
    round_ticks(axes.xaxis, axes.get_xlim()[0], high * 1.1)


def _rows(axes: Axes, names: list[str], selected: str | None) -> None:
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), labels=names)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    for place, label in enumerate(axes.get_yticklabels()):
        marked = names[place] == selected
        label.set_gid(f"name-{place}")
        label.set_fontweight("bold" if marked else "normal")
        colour = TINT if marked else "none"
        band = axes.axhspan(place - 0.5, place + 0.5, facecolor=colour, edgecolor="none", zorder=0)
        band.set_gid(f"row-{place}")


def _bar(axes: Axes, place: int, found: Comparison, *, marked: bool) -> None:
    time_ms = 1e3 * found.timing.median_s
    low, high = (1e3 * quartile for quartile in found.timing.iqr_s)
    left = axes.get_xlim()[0]
    (bar,) = axes.barh(place, time_ms - left, left=left, height=0.66, color=OURS, zorder=2)
    bar.set_gid(f"rung-{place}")
    if found.warning:
        bar.set_hatch("//")
    if marked:
        bar.set(edgecolor=INK, linewidth=2.5)
    whiskers = [[time_ms - low], [high - time_ms]]
    axes.errorbar(time_ms, place, xerr=whiskers, color=INK, capsize=4, linewidth=1.6, zorder=4)
    axes.annotate(
        f"{milliseconds(found.timing.median_s)}, {times(found.ratio)} NumPy"
        + (", noisy" if found.warning else ""),
        (max(high, 1e3 * found.baseline.median_s), place),  # to the right of the line as well
        xytext=(9, 0),
        textcoords="offset points",
        va="center",
        zorder=5,
    )
