"""The bars of a race among programs, over a logarithmic axis of time; NumPy is a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlc_course.extras import brought_by

with brought_by("lab"):
    from matplotlib.axes import Axes

from mlc_course.drawing import INK, NUMPY, OURS, TINT, round_ticks
from mlc_course.errors import check_known
from mlc_course.measure import Comparison
from mlc_course.units import milliseconds, times
from mlc_course.words import tr


def race_bars(
    axes: Axes,
    found: Mapping[str, Comparison],
    selected: str | None,
    *,
    per_second: float,
    text: Callable[[float], str],
    of: str,
) -> None:
    """Draw a bar for each program, in the order given, with the middle half of its readings.

    A second is ``per_second`` units of the axis, which are named in ``of``; ``text`` writes a time.
    The parts of program 3 have the ids ``row-3``, ``rung-3`` (its bar) and ``name-3``. Raises
    ``UsageError`` for a selected program that is not there, and where there is none at all.
    """
    names = list(found)
    if not names or selected is not None:
        check_known("no such program", selected, names)
    numpy = per_second * next(iter(found.values())).baseline.median_s
    _time_axis(axes, [numpy, *(per_second * s for f in found.values() for s in f.timing.iqr_s)])
    axes.set_xlabel(tr("{of} (logarithmic); whiskers: the middle half of the readings", of=of))
    _rows(axes, names, selected)
    left = axes.get_xlim()[0]
    for place, (name, each) in enumerate(found.items()):
        ours = per_second * each.timing.median_s
        low, high = (per_second * quartile for quartile in each.timing.iqr_s)
        (bar,) = axes.barh(place, ours - left, left=left, height=0.66, color=OURS, zorder=2)
        bar.set_gid(f"rung-{place}")
        bar.set_hatch("//" if each.warning else "")
        if name == selected:
            bar.set(edgecolor=INK, linewidth=2.5)
        spread = [[ours - low], [high - ours]]
        axes.errorbar(ours, place, xerr=spread, color=INK, capsize=4, linewidth=1.6, zorder=4)
        axes.annotate(
            f"{text(ours / per_second)}, {times(each.ratio)} NumPy{each.mark}",
            (max(high, per_second * each.baseline.median_s), place),  # right of the line as well
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            zorder=5,
        )
    axes.axvline(numpy, color=NUMPY, linewidth=2.5, zorder=3)
    above(axes, numpy, f"NumPy {text(numpy / per_second)}", colour=NUMPY)


def race_words(found: Mapping[str, Comparison]) -> str:
    """Return what ``race_bars`` draws, in words."""
    ours = "; ".join(
        f"{name} {milliseconds(each.timing.median_s)}, {times(each.ratio)} NumPy's speed{each.mark}"
        for name, each in found.items()
    )
    return f"{ours}; NumPy {milliseconds(next(iter(found.values())).baseline.median_s)}"


def above(axes: Axes, x: float, words: str, *, colour: str = INK) -> None:
    """Write words in bold above the plot, over the place x of its axis."""
    axes.annotate(
        words,
        (x, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        color=colour,
        fontweight="bold",
    )


def _time_axis(axes: Axes, ends: list[float]) -> None:
    low, high = min(ends), max(ends)
    span = max(high / low, 1.5)
    axes.set_xscale("log")
    axes.set_xlim(low / span**0.12, high * span**0.8)  # room for the labels at the bars
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
