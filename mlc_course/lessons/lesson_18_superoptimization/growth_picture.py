"""The growth of a search: nodes against depth, with a curve for each set of prunings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mlc_course.drawing import INK, OURS, ROOF, STYLE, WIDTH_IN, svg_text
from mlc_course.mugraph.enumeration import Level

# A curve's colour, mark and line; none is told apart by its colour alone.
KINDS = (
    (OURS, "o", "-"),
    ("#e69f00", "s", "--"),
    ("#cc79a7", "^", ":"),
    (ROOF, "D", "-."),
    (INK, "v", (0, (5, 5))),
    ("#8a6fd1", "x", (0, (1, 5))),
)
MORE, FOUND = "goes on, not counted", "first solution"
APART = 0.07  # of the height of the axes, between two labels


def growth_svg(curves: Mapping[str, Sequence[Level]], what: str = "nodes of the tree") -> str:
    """Curves by their names: what is alive at each depth, on a logarithmic axis, as SVG text.

    Only complete levels are drawn, for a count that a limit ended is lower than the truth. An arrow
    without a number says that a curve goes on; a star marks the first solution.
    """
    shown = {
        name: [level for level in levels if level.alive and level.complete]
        for name, levels in curves.items()
    }
    shown = {name: levels for name, levels in shown.items() if levels}
    every = [level for levels in shown.values() for level in levels]
    decades = math.ceil(math.log10(1.5 * max((level.alive for level in every), default=10)))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 4.0))
        axes = figure.add_axes((0.12, 0.14, 0.50, 0.75))
        axes.set(yscale="log", ylim=(0.8, 10.0**decades), xlabel="operators")
        axes.set_title(what, loc="left", fontsize=14, fontweight="bold")
        axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y", linewidth=0.5, alpha=0.5)
        heights = {name: math.log10(levels[-1].alive) / decades for name, levels in shown.items()}
        places = _apart(heights)
        for (name, levels), (colour, mark, line) in zip(shown.items(), cycle(KINDS), strict=False):
            style: Any = {"color": colour, "marker": mark, "linestyle": line, "linewidth": 2.4}
            axes.plot([x.depth for x in levels], [x.alive for x in levels], **style)
            last = levels[-1]
            axes.annotate(
                f"{name}: {last.alive:,}",
                (last.depth, last.alive),
                xytext=(1.06, places[name]),
                textcoords="axes fraction",
                va="center",
                arrowprops={"arrowstyle": "-", "color": colour, "alpha": 0.6},
            )
            goes_on = not all(level.complete for level in curves[name])
            above = [(last.depth, 1.7 * last.alive)] if goes_on else []
            first = [(x.depth, x.alive) for x in levels if x.found][:1]
            for points, sign, said in ((above, r"$\uparrow$", MORE), (first, "*", FOUND)):
                if points:
                    look: Any = {"color": INK, "marker": sign, "markersize": 12, "zorder": 5}
                    axes.plot(*zip(*points, strict=True), linestyle="", label=said, **look)
        labelled = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        if labelled:
            axes.legend(labelled.values(), labelled, frameon=False, loc="upper left")
    counts = (f"{name}: {levels[-1].alive:,}" for name, levels in shown.items())
    return svg_text(figure, f"{what}, by the number of operators; {'; '.join(counts)}")


def _apart(heights: Mapping[str, float]) -> dict[str, float]:
    """Move labels up, from the lowest on, until none touches the next one."""
    found: dict[str, float] = {}
    for name, height in sorted(heights.items(), key=lambda item: item[1]):
        found[name] = max(height, max(found.values(), default=-1) + APART)
    return found
