"""The picture of a fusion: bytes moved for each buffer, work of each stage, measured speed.

Apart is always an outline, fused always blue. Bytes that are returned to the next level are
hatched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from mlc_course.drawing import INK, NUMPY, OURS, PAPER, STYLE, TINT, WIDTH_IN, svg_text
from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_08_fusion.staged_problems import Counted
from mlc_course.measure import Comparison
from mlc_course.tensor_program.memory import Cache
from mlc_course.units import times

ROW_IN, HEAD_IN, GAP_IN = 0.29, 1.05, 0.95
HALF = 0.38  # of a row, for each of the two bars
KIB = 1024


def traffic_svg(
    before: Counted,
    after: Counted,
    *,
    names: tuple[str, str],
    heading: str = "",
    measured: Mapping[str, Comparison | None] | None = None,
) -> str:
    """Draw two programs for one problem; ``names`` says what each is called.

    ``measured`` are the ways to run it, in order, with their comparison to NumPy or None where
    there is none yet. Raises ``UsageError`` for counts in different caches, or more than two.
    """
    levels = before.traffic.levels
    if levels != after.traffic.levels or len(levels) > 2:
        raise UsageError("a picture of one or two caches, the same for both programs", got=levels)
    measured = measured or {}
    buffers = len(_buffers(before, after)) + 1
    below = max(len(_stages(before, after)), len(measured), 1)
    height = HEAD_IN + GAP_IN + ROW_IN * (buffers + below) + 0.62
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, height))
        parts = figure.subplots(2, 2, height_ratios=(buffers, below))
        for level, axes in zip(reversed(range(len(levels))), parts[0], strict=False):
            _moved(axes, before, after, level)
        if len(levels) == 1:
            parts[0][1].set_visible(False)
        _work(parts[1][0], before, after)
        _speed(parts[1][1], measured, chosen=names[1])
        _legend(figure, names)
        figure.suptitle(
            heading,
            x=0.012,
            ha="left",
            y=1 - 0.12 / height,
            va="top",
            fontsize=14,
            fontweight="bold",
        )
        figure.subplots_adjust(
            0.075,
            0.62 / height,
            0.985,
            1 - HEAD_IN / height,
            wspace=0.38,
            hspace=2 * GAP_IN / (height - HEAD_IN - GAP_IN - 0.62),
        )
    return svg_text(figure, _in_words(before, after, names, heading, measured))


def _in_words(
    before: Counted,
    after: Counted,
    names: tuple[str, str],
    heading: str,
    measured: Mapping[str, Comparison | None],
) -> str:
    levels = before.traffic.levels
    moved = [
        f"{_below(levels, level)} to {_named(levels[level])}: "
        + " against ".join(
            f"{_kib(sum(_pair(each, 'all', level)))} KiB" for each in (before, after)
        )
        for level in reversed(range(len(levels)))
    ]
    speeds = [
        f"{name} {times(found.ratio)} NumPy's speed" for name, found in measured.items() if found
    ]
    work = f"work {_change(before.flops, after.flops)}"
    return "; ".join([f"{heading}. {names[0]} against {names[1]}", *moved, work, *speeds]).lstrip(
        ". "
    )


def _buffers(*programs: Counted) -> list[str]:
    """Return the buffers of all programs, in the order in which they are first named."""
    return list(dict.fromkeys(b.buffer for each in programs for b in each.traffic.buffers))


def _stages(*programs: Counted) -> list[str]:
    return list(dict.fromkeys(stage.block for each in programs for stage in each.stages))


def _pair(counted: Counted, buffer: str, level: int) -> tuple[int, int]:
    """Return the bytes that a buffer, or ``all`` of them, fetches and returns at a level."""
    found = [b for b in counted.traffic.buffers if buffer in ("all", b.buffer)]
    return sum(b.fetched[level] for b in found), sum(b.returned[level] for b in found)


def _moved(axes: Axes, before: Counted, after: Counted, level: int) -> None:
    rows = [*_buffers(before, after), "all"]
    for place, buffer in enumerate(rows):
        old, new = (_pair(each, buffer, level) for each in (before, after))
        _bars(axes, place, old, new, unit=KIB)
        gone = not sum(new) and buffer not in _buffers(after)
        text = f"{_kib(sum(old))} → {'gone' if gone else _kib(sum(new))}"
        _label(axes, place, max(sum(old), sum(new)) / KIB, text, bold=buffer == "all")
    _rows(axes, rows)
    axes.set_xlabel("KiB, both ways")
    _title(axes, f"{_below(before.traffic.levels, level)} ↔ {_named(before.traffic.levels[level])}")


def _named(cache: Cache) -> str:
    return f"cache of {cache.bytes // KIB:,} KiB"


def _below(levels: Sequence[Cache], level: int) -> str:
    return "memory" if level + 1 == len(levels) else _named(levels[level + 1])


def _work(axes: Axes, before: Counted, after: Counted) -> None:
    rows = _stages(before, after)
    for place, block in enumerate(rows):
        old, new = (
            next((stage for stage in each.stages if stage.block == block), None)
            for each in (before, after)
        )
        done = (old.flops if old else 0, new.flops if new else 0)
        _bars(axes, place, (done[0], 0), (done[1], 0), unit=1e6)
        text = _times(new.times) if new else "inside its readers"
        if new and new.exps:
            text += f", {new.exps:,} exps"
        _label(axes, place, max(done) / 1e6, text, bold=bool(new and (new.times > 1 or new.exps)))
    _rows(axes, rows, room=2.15)
    axes.set_xlabel("million operations")
    _title(axes, f"work of each stage: {_change(before.flops, after.flops)}")


def _speed(axes: Axes, measured: Mapping[str, Comparison | None], *, chosen: str) -> None:
    known = {name: each for name, each in measured.items() if each is not None}
    for place, (name, found) in enumerate(measured.items()):
        if name == chosen:
            axes.axhspan(place - 0.5, place + 0.5, facecolor=TINT, edgecolor="none", zorder=0)
        if found is None:
            continue
        low, high = found.interval
        (bar,) = axes.barh(place, found.ratio, height=0.62, color=OURS, zorder=2)
        bar.set_hatch("//" if found.warning else "")
        spread = [[max(found.ratio - low, 0)], [max(high - found.ratio, 0)]]
        axes.errorbar(found.ratio, place, xerr=spread, color=INK, capsize=4, zorder=4)
        said = times(found.ratio) + found.mark
        _label(axes, place, max(high, found.ratio, 1), said, bold=name == chosen)
    _rows(axes, list(measured))
    axes.set_ylim(max(len(measured), 1) + 0.2, -0.6)  # below the bars there is room for a word
    most = max([1.0, *(max(each.interval[1], each.ratio) for each in known.values())])
    axes.set_xlim(0, 1.45 * most)
    axes.axvline(1, color=NUMPY, linewidth=2.5, zorder=3)
    axes.annotate(
        "NumPy",
        (1, 0),
        xycoords=("data", "axes fraction"),
        xytext=(5, 5),
        textcoords="offset points",
        color=NUMPY,
        fontweight="bold",
        zorder=5,
    )
    axes.set_xlabel("NumPy's time / ours; whiskers: the 95 % interval")
    _title(axes, "measured speed, longer is faster" if known else "speed: press Measure here")


def _bars(
    axes: Axes, place: int, old: tuple[float, float], new: tuple[float, float], *, unit: float
) -> None:
    """Draw what was above what is, the first part of each plain and the second one hatched."""
    styles: tuple[tuple[tuple[float, float], float, dict[str, Any]], ...] = (
        (old, -HALF / 2, {"facecolor": PAPER, "edgecolor": INK}),
        (new, HALF / 2, {"facecolor": OURS, "edgecolor": OURS}),
    )
    for (first, second), offset, style in styles:
        where, size = place + offset, HALF * 0.92
        # The hatch is drawn in ink on paper, and in paper on blue.
        with mpl.rc_context({"hatch.color": INK if style["facecolor"] == PAPER else PAPER}):
            axes.barh(where, first / unit, height=size, linewidth=1.2, **style)
            back: dict[str, Any] = {
                "left": first / unit,
                "height": size,
                "hatch": "/////",
                "linewidth": 1.2,
            }
            axes.barh(where, second / unit, **back, **style)


def _label(axes: Axes, place: int, end: float, text: str, *, bold: bool) -> None:
    axes.annotate(
        text,
        (end, place),
        xytext=(7, 0),
        textcoords="offset points",
        va="center",
        fontweight="bold" if bold else "normal",
        zorder=5,
    )


def _rows(axes: Axes, rows: Sequence[str], *, room: float = 1.55) -> None:
    axes.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), labels=list(rows))
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, max(axes.get_xlim()[1], 1e-9) * room)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")


def _title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=12, fontweight="bold", pad=6)


def _legend(figure: Figure, names: tuple[str, str]) -> None:
    with mpl.rc_context({"hatch.color": INK}):
        marks = [
            Patch(facecolor=PAPER, edgecolor=INK, label=names[0]),
            Patch(facecolor=OURS, edgecolor=OURS, label=names[1]),
            Patch(facecolor=PAPER, edgecolor=INK, hatch="////", label="hatched: written back"),
        ]
        height = figure.get_figheight()
        figure.legend(
            handles=marks[2:] if names[0] == names[1] else marks,
            loc="upper left",
            bbox_to_anchor=(0.0, 1 - 0.36 / height),
            ncols=3,
            frameon=False,
            fontsize=12,
        )


def _kib(count: int) -> str:
    return "0" if not count else f"{count / KIB:,.0f}" if count >= KIB else "< 1"


def _times(count: float) -> str:
    return "once" if count == 1 else f"{count:,.3g} times"


def _change(old: int, new: int) -> str:
    share = new / old - 1 if old else 0.0
    return "as before" if abs(share) < 0.0005 else f"{share:+.0%}"
