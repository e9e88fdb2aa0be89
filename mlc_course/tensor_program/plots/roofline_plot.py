"""The roofline of a machine with programs under it, both axes logarithmic.

Ours are blue dots, NumPy a line (its bytes cannot be counted), the roofs green and dashed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlc_course.drawing import (
    INK,
    NUMPY,
    OURS,
    PAPER,
    ROOF,
    STYLE,
    UNDATED,
    WIDTH_IN,
    round_ticks,
    svg_text,
)
from mlc_course.errors import UsageError, check_known
from mlc_course.extras import on_demand
from mlc_course.measure import mark
from mlc_course.tensor_program.ladders import Point, Record, headline, made_on, points, roofs_of
from mlc_course.tensor_program.memory import Roofs

if TYPE_CHECKING:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    mpl = on_demand("matplotlib", "bench")

LABEL_IN = 0.27  # from one name to the next
NAMES_FROM = 1.03  # of the width of the axes


def roofline_figure(
    programs: Sequence[Point],
    roofs: Roofs,
    *,
    source: str = "memory",
    numpy_gflops: float | None = None,
    selected: int | None = None,
    heading: str = "",
    foot: str = "",
) -> Figure:
    """The points under the peak and the bandwidth of the level named by ``source``.

    The bytes of the points are those from ``source``; the bandwidths of the other levels are drawn
    thin. ``selected`` is the place of a point to mark. Raises ``UsageError`` when there is no such
    point or level.
    """
    if selected is not None and not 0 <= selected < len(programs):
        raise UsageError(
            "no such point under the roof", expected=f"0 to {len(programs) - 1}", got=selected
        )
    bandwidths = roofs.sources
    check_known("no such level of memory", source, bandwidths)
    with mpl.rc_context(STYLE):
        height = max(5.2, 1.6 + LABEL_IN * len(programs))
        figure = mpl.figure.Figure(figsize=(WIDTH_IN, height))
        axes = figure.add_subplot()
        figure.subplots_adjust(0.09, (1.0 if foot else 0.72) / height, 0.78, 1 - 0.5 / height)
        _axes(axes, programs, roofs, bandwidths, source)
        _roofs(axes, roofs, bandwidths, source)
        if numpy_gflops:
            axes.axhline(numpy_gflops, color=NUMPY, linewidth=2.5, zorder=1)
            _say(axes, f"NumPy {numpy_gflops:.3g} GFLOP/s", axes.get_xlim()[0], numpy_gflops, NUMPY)
        _points(axes, programs, selected)
        axes.set_title(heading, loc="left", fontsize=14, fontweight="bold", pad=14)
        figure.text(0.012, 0.12 / height, foot, fontsize=10)
    return figure


def roofline_svg(programs: Sequence[Point], roofs: Roofs, **options: Any) -> str:
    """``roofline_figure`` as SVG text; point 3 has the ids ``rung-3`` and ``name-3``."""
    return svg_text(roofline_figure(programs, roofs, **options), _in_words(programs, roofs))


def _in_words(programs: Sequence[Point], roofs: Roofs) -> str:
    dots = (
        f"{each.name} {each.gflops:.3g} GFLOP/s at {each.intensity:.3g} operations a byte"
        for each in programs
    )
    return "; ".join([f"Roofline with a peak of {roofs.gflops:.3g} GFLOP/s", *dots])


def record_figure(record: Record, source: str = "memory", selected: int | None = None) -> Figure:
    """The rungs of a ladder's record under the roofs that were measured with it."""
    numpy_s, work = record["baseline"]["median_s"], record["workload"]
    return roofline_figure(
        points(record, source),
        roofs_of(record),
        source=source,
        numpy_gflops=work["flops"] / numpy_s / 1e9 if numpy_s else None,
        selected=selected,
        heading=headline(record),
        foot=f"{made_on(record)}. Bytes are counted: simulated caches of this machine's sizes.",
    )


def record_svg(record: Record, source: str = "memory", selected: int | None = None) -> str:
    """``record_figure`` as SVG text; rung 3 has the ids ``rung-3`` and ``name-3``."""
    said = f"{headline(record)}. {_in_words(points(record, source), roofs_of(record))}"
    return svg_text(record_figure(record, source, selected), said)


def save_roofline(record: Record, path: Path) -> None:
    """Write the picture of a counted record, bytes from memory: PNG, SVG or PDF, by its ending."""
    with mpl.rc_context(STYLE):
        record_figure(record).savefig(path, dpi=150, metadata=UNDATED.get(path.suffix))


def _axes(
    axes: Axes,
    programs: Sequence[Point],
    roofs: Roofs,
    bandwidths: Mapping[str, float],
    source: str,
) -> None:
    ridges = [roofs.gflops / bandwidth for bandwidth in bandwidths.values()]
    across = [*(point.intensity for point in programs), *ridges, min(ridges) / 5]
    up = [*(point.gflops for point in programs), roofs.gflops]
    axes.set(xscale="log", yscale="log")
    axes.set_xlim(min(across) / 3, max(across) * 3)
    axes.set_ylim(min(min(up) / 2, roofs.gflops / 30), max(up) * 1.8)
    axes.set_xlabel(f"operations for each byte from {source} (logarithmic)")
    axes.set_ylabel("GFLOP/s (logarithmic)")
    round_ticks(axes.xaxis, *axes.get_xlim())
    round_ticks(axes.yaxis, *axes.get_ylim())


def _roofs(axes: Axes, roofs: Roofs, bandwidths: Mapping[str, float], source: str) -> None:
    left, right = axes.get_xlim()
    bottom = axes.get_ylim()[0]
    style: Any = {"color": ROOF, "linestyle": "--", "zorder": 2}
    for place, (name, bandwidth) in enumerate(bandwidths.items()):
        ridge = roofs.gflops / bandwidth
        width = 2.5 if name == source else 1.2
        axes.plot([left, ridge], [left * bandwidth, roofs.gflops], linewidth=width, **style)
        start = max(left, bottom / bandwidth)
        # Lines may be close, so every second name is below its line.
        at = start * (ridge / start) ** (0.22 * place)
        text = f"{name} {bandwidth:.3g} GB/s"
        _say(axes, text, at, at * bandwidth, ROOF, slanted="below" if place % 2 else "above")
    first = min(roofs.gflops / bandwidth for bandwidth in bandwidths.values())
    axes.plot([first, right], [roofs.gflops] * 2, linewidth=2.5, **style)
    _say(
        axes,
        f"peak {roofs.gflops:.3g} GFLOP/s{mark(roofs.warning)}",
        right,
        roofs.gflops,
        ROOF,
        align="right",
    )


def _say(
    axes: Axes,
    text: str,
    x: float,
    y: float,
    colour: str,
    *,
    align: str = "left",
    slanted: str = "",
) -> None:
    """Words above a level line; or above or below a bandwidth, leaning as it does."""
    lean: Any = {}
    shift: tuple[float, float] = (6 if align == "left" else -6, 5)
    if slanted:
        (left, low), (right, high) = axes.transData.transform([(x, y), (10 * x, 10 * y)])
        angle = math.atan2(high - low, right - left)
        along, across = 6, -14 if slanted == "below" else 5
        shift = (
            along * math.cos(angle) - across * math.sin(angle),
            along * math.sin(angle) + across * math.cos(angle),
        )
        lean = {"rotation": math.degrees(angle), "rotation_mode": "anchor"}
    axes.annotate(
        text,
        (x, y),
        xytext=shift,
        textcoords="offset points",
        ha=align,
        color=colour,
        fontweight="bold",
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0},
        zorder=3.5,  # no line to a name runs through it
        **lean,
    )


def _points(axes: Axes, programs: Sequence[Point], selected: int | None) -> None:
    """A dot for each program, with its name on the right, the fastest on top."""
    order = sorted(range(len(programs)), key=lambda place: -programs[place].gflops)
    for row, place in enumerate(order):
        point, chosen = programs[place], place == selected
        (dot,) = axes.plot(
            point.intensity,
            point.gflops,
            "o",
            color=OURS,
            markersize=13 if chosen else 9,
            markeredgecolor=INK,
            markeredgewidth=2.5 if chosen else 0.8,
            zorder=5 if chosen else 4,
        )
        dot.set_gid(f"rung-{place}")
        label = axes.annotate(
            f"{point.name}  {point.gflops:.3g}",
            (point.intensity, point.gflops),
            xytext=(NAMES_FROM, 1 - (row + 0.5) / max(len(programs), 12)),
            textcoords="axes fraction",
            va="center",
            fontweight="bold" if chosen else "normal",
            arrowprops={
                "arrowstyle": "-",
                "relpos": (0, 0.5),
                "color": INK,
                "alpha": 0.9 if chosen else 0.3,
                "linewidth": 1.6 if chosen else 0.8,
                "shrinkB": 5,
            },
            zorder=3,
        )
        label.set_gid(f"name-{place}")
