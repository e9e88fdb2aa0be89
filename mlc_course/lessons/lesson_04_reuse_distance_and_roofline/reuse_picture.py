"""The picture of reuse: how far apart the uses of a line are, and which of them a cache catches."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlc_course.drawing import INK, OURS, PAPER, STYLE, WIDTH_IN, svg_text
from mlc_course.lessons.kit import above
from mlc_course.tensor_program.memory import Reuse

# Okabe and Ito's, without those that mean something else in this course; hatches tell them apart.
COLOURS = (OURS, "#56b4e9", "#e69f00", "#cc79a7", "#f0e442")
HATCHES = ("", "//", "..", "xx", "\\\\")
MOST_LABELS = 13


def reuse_figure(
    found: Reuse, caches: Mapping[str, int] | None = None, heading: str = ""
) -> Figure:
    """Uses by distance (columns 0, 1, 2 to 3, 4 to 7, ...), and misses by size of the cache below.

    ``caches`` are sizes in bytes by name, drawn as lines: a fully associative cache of that size
    hits what stands to its left.
    """
    columns = max(found.lines - 1, 1).bit_length() + 1
    marks = {name: size // found.line for name, size in (caches or {}).items()}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 6.2))
        uses, misses = figure.subplots(2, 1)
        _histogram(uses, found, columns)
        _misses(misses, found, columns)
        for axes in (uses, misses):
            _marks(axes, marks, columns, named=axes is uses)
        uses.set_title(heading, loc="left", fontsize=14, fontweight="bold", pad=24)
        figure.subplots_adjust(0.12, 0.09, 0.985, 0.88, hspace=0.42)
    return figure


def reuse_svg(found: Reuse, caches: Mapping[str, int] | None = None, heading: str = "") -> str:
    """``reuse_figure`` as SVG text."""
    return svg_text(reuse_figure(found, caches, heading))


def _histogram(axes: Axes, found: Reuse, columns: int) -> None:
    bottom = np.zeros(columns + 1)
    for place, (name, again) in enumerate(found.again.items()):
        bins = np.zeros(columns + 1)
        distances = np.flatnonzero(again)
        np.add.at(bins, np.ceil(np.log2(distances + 1)).astype(int), again[distances])
        bins[columns] = found.first[name]
        axes.bar(
            range(columns + 1),
            bins,
            0.8,
            bottom,
            label=name,
            color=COLOURS[place % len(COLOURS)],
            hatch=HATCHES[place % len(HATCHES)],
            edgecolor=PAPER,
        )
        bottom += bins
    axes.legend(frameon=False, ncols=len(found.again), loc="upper left")
    axes.set_ylim(0, bottom.max() * 1.22)
    axes.set_ylabel("uses")
    axes.set_xlabel("reuse distance: other lines used since")
    axes.set_xlim(-0.6, columns + 0.6)
    every = 1 if columns <= MOST_LABELS else 2
    shown = [*range(0, columns - every + 1, every), columns]
    axes.set_xticks(shown, [*map(_column, shown[:-1]), "first\nuse"])
    axes.yaxis.set_major_formatter(lambda value, _: _amount(value))


def _column(place: int) -> str:
    """The smallest distance of a column."""
    if place < 2:
        return str(place)
    return _short(1 << (place - 1)) + "+"


def _short(number: int) -> str:
    return f"{number >> 10} Ki" if number >= 1 << 10 else str(number)


def _amount(number: float) -> str:
    """``4 M``, ``250,000``."""
    return f"{number / 1e6:,.3g} M" if number >= 1e6 else f"{number:,.0f}"


def _misses(axes: Axes, found: Reuse, columns: int) -> None:
    sizes = [1 << power for power in range(columns)]
    values = [found.misses(size) for size in sizes]
    places = [each + 0.5 for each in range(columns)]  # a cache of 8 lines ends before distance 8
    axes.step(places, values, where="post", color=OURS, linewidth=2.5)
    axes.plot(places, values, "o", color=OURS)
    axes.axhline(found.lines, color=INK, linewidth=1)
    axes.annotate(
        f"first uses: {found.lines:,}",
        (1, found.lines),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 9),  # above the dots of the curve
        textcoords="offset points",
        ha="right",
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1},
    )
    axes.set_ylabel("misses")
    axes.set_ylim(0, max(values) * 1.25)
    axes.set_xlim(-0.6, columns + 0.6)
    axes.set_xlabel("lines that the cache holds (any line anywhere)")
    every = 1 if columns <= MOST_LABELS else 2
    axes.set_xticks(places[::every], [_short(size) for size in sizes[::every]])
    axes.yaxis.set_major_formatter(lambda value, _: _amount(value))


def _marks(axes: Axes, lines: Mapping[str, int], columns: int, *, named: bool) -> None:
    for name, size in lines.items():
        place = np.log2(size) + 0.5
        if place > columns + 0.5:
            continue
        axes.axvline(place, color=INK, linestyle=":", linewidth=1.6)
        if named:
            above(axes, place, name)
