"""The picture of a ladder: a bar for each rung over a logarithmic axis of time.

Ours is always a bar, NumPy always a line, the machine's roof always dashed, and the middle half of
the readings always a whisker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlc_course.drawing import (
    INK,
    NUMPY,
    OURS,
    ROOF,
    STYLE,
    TINT,
    UNDATED,
    WIDTH_IN,
    round_ticks,
    svg_text,
)
from mlc_course.errors import UsageError
from mlc_course.measure import mark
from mlc_course.tensor_program.ladders import (
    Record,
    headline,
    made_on,
    ratio_interval,
    setback_mark,
)
from mlc_course.units import milliseconds, plural, times

ROW_IN, FRAME_IN = 0.34, 2.05


def ladder_figure(
    record: Record, selected: int | None = None, *, planned: Sequence[str] = ()
) -> Figure:
    """The rungs of a record as bars over a logarithmic axis of time, the first rung on top.

    ``selected`` is marked. ``planned`` names every rung of a climb that is still under way: the
    ones without a record yet keep their place. Raises ``UsageError`` for a rung that is not there.
    """
    rungs = record["rungs"]
    names = [rung["name"] for rung in rungs]
    names += planned[len(names) :]
    if selected is not None and not 0 <= selected < len(names):
        raise UsageError(
            "the ladder has no such rung", expected=f"0 to {len(names) - 1}", got=selected
        )
    numpy_s, roof_s = record["baseline"]["median_s"], record["roofs"]["seconds"]
    with mpl.rc_context(STYLE):
        height = FRAME_IN + ROW_IN * max(len(names), 1)
        figure = Figure(figsize=(WIDTH_IN, height))
        axes = figure.add_subplot()
        quartiles = [seconds for rung in rungs for seconds in rung["iqr_s"]]
        _time_axis(axes, [*quartiles, roof_s, *([numpy_s] if numpy_s else [])])
        _rows(axes, names, selected)
        for place, rung in enumerate(rungs):
            _bar(axes, place, rung, numpy_s, selected=place == selected)
        roof = f"measured roof\n{milliseconds(roof_s)}{mark(record['roofs'].get('warning'))}"
        _line(axes, roof_s, roof, ROOF, side="left")
        if numpy_s:
            _line(axes, numpy_s, f"NumPy\n{milliseconds(numpy_s)}", NUMPY, side="right")
        axes.set_title(headline(record), loc="left", pad=48, fontsize=14, fontweight="bold")
        figure.text(0.012, 0.12 / height, _foot(record), fontsize=10)
        figure.subplots_adjust(0.16, 1.1 / height, 0.985, 1 - 0.95 / height)
    return figure


def ladder_svg(record: Record, selected: int | None = None, *, planned: Sequence[str] = ()) -> str:
    """``ladder_figure`` as SVG text.

    The parts of rung 3 have the ids ``row-3``, ``rung-3`` (its bar) and ``name-3``.
    """
    return svg_text(ladder_figure(record, selected, planned=planned))


def save_plot(record: Record, path: Path) -> None:
    """Write the picture of a record: PNG, SVG or PDF, by the ending of ``path``."""
    with mpl.rc_context(STYLE):
        ladder_figure(record).savefig(path, dpi=150, metadata=UNDATED.get(path.suffix))


def _foot(record: Record) -> str:
    each = plural(record["threads"], "thread")
    return (
        f"{made_on(record)}; {each} for NumPy and for ours.\n"
        "Bars: median; whiskers: the middle half of the readings; "
        "x NumPy: its time / ours, in turns."
    )


def _time_axis(axes: Axes, seconds: Sequence[float]) -> None:
    low, high = 1e3 * min(seconds), 1e3 * max(seconds)
    span = max(high / low, 1.5)
    axes.set_xscale("log")
    axes.set_xlim(low / span**0.15, high * span**0.95)  # room for the labels at the bars
    axes.set_xlabel("time of one call, ms (logarithmic)")
    round_ticks(axes.xaxis, axes.get_xlim()[0], high * 1.1)


def _rows(axes: Axes, names: Sequence[str], selected: int | None) -> None:
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), labels=list(names))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    for place, label in enumerate(axes.get_yticklabels()):
        label.set_gid(f"name-{place}")
        label.set_fontweight("bold" if place == selected else "normal")
        colour = TINT if place == selected else "none"
        band = axes.axhspan(place - 0.5, place + 0.5, facecolor=colour, edgecolor="none", zorder=0)
        band.set_gid(f"row-{place}")


def _bar(
    axes: Axes, place: int, rung: Mapping[str, Any], numpy_s: float | None, *, selected: bool
) -> None:
    time_ms = 1e3 * rung["median_s"]
    low, high = (1e3 * quartile for quartile in rung["iqr_s"])
    left = axes.get_xlim()[0]
    (bar,) = axes.barh(place, time_ms - left, left=left, height=0.66, color=OURS, zorder=2)
    bar.set_gid(f"rung-{place}")
    if rung["warning"]:
        bar.set_hatch("//")
    if selected:
        bar.set(edgecolor=INK, linewidth=2.5)
    whiskers = [[time_ms - low], [high - time_ms]]
    axes.errorbar(time_ms, place, xerr=whiskers, color=INK, capsize=4, linewidth=1.6, zorder=4)
    past_numpy = ratio_interval(rung)[0] >= 1 and not rung["warning"]
    axes.annotate(
        f"{milliseconds(rung['median_s'])}, {times(rung['ratio_to_numpy'])} NumPy"
        f"{setback_mark(rung)}{mark(rung['warning'])}",
        (max(high, 1e3 * (numpy_s or 0)), place),  # to the right of the line as well
        xytext=(9, 0),
        textcoords="offset points",
        va="center",
        fontweight="bold" if past_numpy else "normal",
        zorder=5,
    )


def _line(axes: Axes, seconds: float, text: str, colour: str, *, side: str) -> None:
    dashes = "--" if colour == ROOF else "-"
    axes.axvline(1e3 * seconds, color=colour, linestyle=dashes, linewidth=2.5, zorder=3)
    axes.annotate(
        text,
        (1e3 * seconds, 1),
        xycoords=("data", "axes fraction"),
        xytext=(-5 if side == "left" else 5, 4),
        textcoords="offset points",
        ha="right" if side == "left" else "left",
        color=colour,
        fontweight="bold",
    )
