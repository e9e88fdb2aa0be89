"""A picture of the modelled cost of every grid and extent of one graph, by its number of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from mlc_course.drawing import INK, OURS, PAPER, ROOF, STYLE, WIDTH_IN, round_ticks, svg_text
from mlc_course.errors import UsageError

Choice = tuple[int, float]  # blocks, seconds
MARKS = "Ds^v"
ABOVE = 4  # so much room over the highest dot, for the words


def choices_svg(
    choices: Sequence[Choice], named: Mapping[str, Choice], multiprocessors: int
) -> str:
    """A dot for each choice, blocks to the right and the model's time upwards, as SVG text.

    ``named`` are marked; a legend has their names. Left of the dashed line each block has a
    multiprocessor for itself. Raises ``UsageError`` for no choice, or for more names than marks.
    """
    if not choices or len(named) > len(MARKS):
        raise UsageError(
            "choices_svg: nothing to draw, or too much to mark",
            expected=f"a choice or more, at most {len(MARKS)} names",
            got=f"{len(choices)} choices, {len(named)} names",
        )
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 4.6))
        axes = figure.add_subplot()
        figure.subplots_adjust(0.1, 0.15, 0.98, 0.97)
        blocks, micro = zip(*((n, 1e6 * seconds) for n, seconds in choices), strict=True)
        axes.set(xscale="log", yscale="log")
        axes.set_xlim(min(blocks) / 1.3, max(blocks) * 1.3)
        axes.set_ylim(min(micro) / 1.4, max(micro) * ABOVE)
        axes.axvline(multiprocessors + 0.5, color=ROOF, linestyle="--", linewidth=2)
        words = f"{multiprocessors} multiprocessors"
        axes.text(multiprocessors / 1.06, max(micro) * ABOVE / 1.6, words, color=ROOF, ha="right")
        axes.plot(blocks, micro, "o", color=OURS, markersize=6, alpha=0.45, markeredgecolor=PAPER)
        for (name, (n, seconds)), mark in zip(named.items(), MARKS, strict=False):
            at = n, 1e6 * seconds
            axes.plot(*at, mark, color=INK, markersize=10, markeredgecolor=PAPER, label=name)
        if named:
            axes.legend(loc="upper right", frameon=False, borderaxespad=0)
        axes.set_xlabel("blocks (logarithmic)")
        axes.set_ylabel("microseconds in the model (logarithmic)")
        round_ticks(axes.xaxis, *axes.get_xlim())
        round_ticks(axes.yaxis, *axes.get_ylim())
    return svg_text(figure)
