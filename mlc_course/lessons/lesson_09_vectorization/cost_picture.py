"""The pictures of lesson 9: what a row costs, and how tiles compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlc_course.drawing import INK, NUMPY, OURS, STYLE, WIDTH_IN, round_ticks, svg_text
from mlc_course.lessons.lesson_09_vectorization.loop_and_end import LONG, ROWS, RowCosts
from mlc_course.measure import Comparison

FINAL = "#e69f00"  # Okabe and Ito's orange


@dataclass(frozen=True)
class Tile:
    """A register tile: how its hot loop looks, and how fast it is."""

    name: str
    chains: int
    loads: int
    multiply_adds: int
    spills: int
    found: Comparison


def costs_svg(found: RowCosts, lanes: int) -> str:
    """Draw the time of a row in so many sums: all of it, and cut into loop and final sum."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 3.9))
        whole, parts = figure.subplots(1, 2)
        _whole(whole, found)
        _parts(parts, found, lanes)
        figure.subplots_adjust(0.08, 0.15, 0.99, 0.86, wspace=0.24)
    return svg_text(figure)


def _whole(axes: Axes, found: RowCosts) -> None:
    places = range(len(found.costs))
    times = [each.total_ns for each in found.costs]
    axes.bar(places, times, 0.66, color=OURS)
    for place, each in zip(places, found.costs, strict=True):
        low, high = (1e9 * quartile / ROWS for quartile in each.against_numpy.timing.iqr_s)
        spread = [[max(each.total_ns - low, 0)], [max(high - each.total_ns, 0)]]
        axes.errorbar(place, each.total_ns, yerr=spread, color=INK, capsize=4, linewidth=1.6)
    axes.axhline(found.numpy_ns, color=NUMPY, linewidth=2.5)
    axes.annotate(
        "NumPy",
        (1, found.numpy_ns),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 4),
        textcoords="offset points",
        ha="right",
        color=NUMPY,
        fontweight="bold",
    )
    axes.set_yscale("log")
    low, high = min(*times, found.numpy_ns) / 1.6, max(*times, found.numpy_ns) * 1.4
    axes.set_ylim(low, high)
    round_ticks(axes.yaxis, low, high)
    axes.set_xticks(places, labels=[str(each.sums) for each in found.costs])
    axes.set_xlabel("sums; whiskers: the middle half")
    axes.set_ylabel("ns (logarithmic)")
    axes.set_title(f"a row of {LONG:,} terms", loc="left", fontsize=13, fontweight="bold")


def _parts(axes: Axes, found: RowCosts, lanes: int) -> None:
    wide = [each for each in found.costs if each.sums >= lanes]
    places = range(len(wide))
    loops = [each.loop_ns for each in wide]
    axes.bar(places, loops, 0.66, color=OURS, label="the loop")
    axes.bar(
        places,
        [each.final_ns for each in wide],
        0.66,
        bottom=loops,
        color=FINAL,
        hatch="//",
        label="adding up the sums",
    )
    axes.set_xticks(places, labels=[f"{e.sums}\n{e.sums // lanes} reg." for e in wide])
    axes.set_ylabel("ns")
    axes.legend(frameon=False)
    axes.set_title("from one register of sums on", loc="left", fontsize=13, fontweight="bold")


def tiles_svg(tiles: Sequence[Tile]) -> str:
    """Draw each tile's speed beside NumPy's, with its chains, loads and spills as words."""
    with mpl.rc_context(STYLE):
        height = 1.2 + 0.42 * len(tiles)
        figure = Figure(figsize=(WIDTH_IN, height))
        axes = figure.subplots()
        for place, each in enumerate(tiles):
            low, high = each.found.interval
            ratio = each.found.ratio
            axes.barh(place, ratio, 0.66, color=OURS)
            spread = [[max(ratio - low, 0)], [max(high - ratio, 0)]]
            axes.errorbar(ratio, place, xerr=spread, color=INK, capsize=4)
            words = (
                f"{ratio:.2f}{each.found.mark}: {each.chains} chains, "
                f"{each.loads / max(each.multiply_adds, 1):.2f} loads a multiply-add"
            )
            words += f", {each.spills} spills" if each.spills else ""
            axes.annotate(
                words, (max(high, 1), place), xytext=(8, 0), textcoords="offset points", va="center"
            )
        most = max([1.0, *(each.found.interval[1] for each in tiles)])
        axes.set_xlim(0, 2.2 * most)
        axes.axvline(1, color=NUMPY, linewidth=2.5)
        axes.set_yticks(range(len(tiles)), labels=[each.name for each in tiles])
        axes.set_ylim(len(tiles) - 0.4, -0.6)
        axes.set_xlabel("NumPy's time / ours; the line is NumPy, whiskers the 95 % interval")
        figure.subplots_adjust(0.1, 0.62 / height, 0.99, 1 - 0.12 / height)
    return svg_text(figure)


def tiles_of(
    found: Mapping[str, Comparison], counts: Mapping[str, tuple[int, int, int, int]]
) -> list[Tile]:
    """Join the race of some tiles with (chains, loads, multiply-adds, spills) of each."""
    return [Tile(name, *counts[name], each) for name, each in found.items()]
