"""Two pictures of bars: the bytes of each way to run a problem, and what saved bytes are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from mlc_course.drawing import INK, OURS, PAPER, STYLE, WIDTH_IN, svg_text
from mlc_course.lessons.lesson_08_fusion.staged_problems import Counted

# Okabe and Ito's, without those that mean something else in this course, and greys.
COLOURS = ("#56b4e9", "#e69f00", "#d68fb6", "#f0e442", "#aaaaaa", "#dddddd")
KIB = 1024


@dataclass(frozen=True)
class Worth:
    """What fusion saves of one problem, as shares of its time with the stages apart.

    ``bytes_share`` is the time that the saved bytes would take at the machine's bandwidth,
    ``saved`` what was measured, with its 95 % interval.
    """

    problem: str
    bytes_share: float
    saved: float
    interval: tuple[float, float]


def buffers_svg(tally: Mapping[str, Counted]) -> str:
    """Draw the KiB between memory and the caches of each way, cut up by buffer."""
    buffers = list(
        dict.fromkeys(b.buffer for counted in tally.values() for b in counted.traffic.buffers)
    )
    with mpl.rc_context(STYLE):
        height = 1.45 + 0.5 * len(tally)
        figure = Figure(figsize=(WIDTH_IN, height))
        axes = figure.subplots()
        for place, counted in enumerate(tally.values()):
            left = 0.0
            for buffer, colour in zip(buffers, COLOURS, strict=False):
                kib = sum(b.bytes() for b in counted.traffic.buffers if b.buffer == buffer) / KIB
                bar = axes.barh(place, kib, 0.7, left, color=colour, edgecolor=INK, linewidth=0.8)
                if kib > 10:
                    # black in every theme, as the bars have the same colours in all of them
                    axes.bar_label(bar, [buffer], label_type="center", fontsize=11, color="#000000")
                left += kib
            total = counted.traffic.bytes() / KIB
            axes.annotate(
                f"{total:,.0f}",
                (left, place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontweight="bold",
            )
        axes.set_yticks(range(len(tally)), labels=list(tally))
        axes.set_ylim(len(tally) - 0.4, -0.6)
        axes.set_xlabel("KiB to and from memory, on the model machine")
        figure.legend(
            handles=[
                Patch(facecolor=colour, edgecolor=INK, label=buffer)
                for buffer, colour in zip(buffers, COLOURS, strict=False)
            ],
            loc="upper left",
            ncols=len(buffers),
            frameon=False,
        )
        figure.subplots_adjust(0.14, 0.62 / height, 0.97, 1 - 0.45 / height)
    return svg_text(figure)


def worth_svg(found: Sequence[Worth]) -> str:
    """Draw what the saved bytes are worth (outlined) above what fusion saved (blue)."""
    with mpl.rc_context(STYLE):
        height = 1.5 + 0.8 * len(found)
        figure = Figure(figsize=(WIDTH_IN, height))
        axes = figure.subplots()
        for place, each in enumerate(found):
            saved = 100 * each.saved
            low, high = (100 * end for end in each.interval)
            axes.barh(
                place - 0.19,
                100 * each.bytes_share,
                0.34,
                facecolor=PAPER,
                edgecolor=INK,
                linewidth=1.2,
            )
            axes.barh(place + 0.19, saved, 0.34, color=OURS)
            spread = [[max(saved - low, 0)], [max(high - saved, 0)]]
            axes.errorbar(saved, place + 0.19, xerr=spread, color=INK, capsize=4)
        axes.set_yticks(range(len(found)), labels=[each.problem for each in found])
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_xlabel("% of the time that the stages take apart; whiskers: the 95 % interval")
        figure.legend(
            handles=[
                Patch(facecolor=PAPER, edgecolor=INK, label="saved bytes, at this bandwidth"),
                Patch(facecolor=OURS, label="time that fusion saved, measured"),
            ],
            loc="upper left",
            ncols=2,
            frameon=False,
        )
        figure.subplots_adjust(0.2, 0.62 / height, 0.97, 1 - 0.45 / height)
    return svg_text(figure)
