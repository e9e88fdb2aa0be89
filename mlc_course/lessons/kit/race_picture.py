"""Horizontal bars as SVG: of counts, and of a race in which NumPy is a line."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlc_course.extras import brought_by

with brought_by("lab"):
    from IPython.display import HTML

from mlc_course.drawing import NUMPY, PAGE_INK, PAGE_OURS, document, text, width
from mlc_course.drawing import line as coloured_line
from mlc_course.errors import UsageError
from mlc_course.measure import Comparison
from mlc_course.units import milliseconds
from mlc_course.words import tr

ROW, TOP, BOTTOM, PLOT, LABEL = 30, 58, 30, 360, 300
TICKS = (1, 2, 5)


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its value, what is written beside it, and its interval if it has one."""

    name: str
    value: float
    label: str
    interval: tuple[float, float] | None = None


def bars_svg(
    title: str, bars: Sequence[Bar], *, axis: str, mark: tuple[float, str, str] | None = None
) -> str:
    """Draw bars from 0, one below the other; ``mark`` is a line at a value, with name and colour.

    Raises ``UsageError`` where there is no bar.
    """
    if not bars:
        raise UsageError("bars_svg: nothing to draw", expected="one bar or more", got="none")
    left = 14 + max(width(bar.name, 14) for bar in bars)
    ends = [bar.interval[1] if bar.interval else bar.value for bar in bars]
    longest = max([*ends, mark[0] if mark else 0, 1e-9])
    step = _step(longest)
    most = step * math.ceil(longest / step - 1e-9)

    def at(value: float) -> float:
        return left + PLOT * value / most

    below = TOP + ROW * len(bars)
    parts = [text(8, 20, title, size=15, bold=True, anchor="start")]
    for tick in range(round(most / step) + 1):
        parts.append(_line((at(tick * step), below), (at(tick * step), below + 5)))
        parts.append(text(at(tick * step), below + 19, f"{tick * step:g}", size=12))
    parts.append(_line((left, below), (left + PLOT, below)))
    parts.append(text(left + PLOT + 14, below + 19, axis, size=12, anchor="start"))
    for place, bar in enumerate(bars):
        y = TOP + ROW * place
        parts.append(text(left - 8, y + 18, bar.name, size=14, anchor="end"))
        parts.append(
            f'<rect x="{left:.1f}" y="{y + 4}" width="{max(at(bar.value) - left, 1):.1f}" '
            f'height="{ROW - 8}" fill="{PAGE_OURS}"/>'
        )
        if bar.interval:
            low, high = map(at, bar.interval)
            parts.append(
                f'<path d="M{low:.1f} {y + 15}H{high:.1f}M{low:.1f} {y + 9}v12M{high:.1f} '
                f'{y + 9}v12" stroke="{PAGE_INK}" stroke-width="2" fill="none"/>'
            )
        beside = max(at(ends[place]), at(mark[0]) if mark else 0)
        parts.append(text(beside + 10, y + 18, bar.label, size=13, anchor="start"))
    if mark:
        value, name, colour = mark
        parts.append(
            coloured_line((at(value), TOP - 4), (at(value), below), colour=colour, wide=2.5)
        )
        parts.append(text(at(value), TOP - 10, name, size=13, bold=True, colour=colour))
    said = "; ".join(f"{bar.name}: {bar.label or f'{bar.value:g}'}" for bar in bars)
    return document(left + PLOT + LABEL, below + BOTTOM, f"{title}. {said}", parts)


def race_svg(title: str, found: Mapping[str, Comparison]) -> str:
    """Draw each contestant's speed in units of NumPy's, with its 95 % interval; NumPy is at 1."""
    bars = [
        Bar(
            name,
            each.ratio,
            f"{each.ratio:.2f} x NumPy, {milliseconds(each.timing.median_s)}{each.mark}",
            each.interval,
        )
        for name, each in found.items()
    ]
    axis = tr("speed, NumPy's is 1; whiskers: 95 % interval")
    return bars_svg(title, bars, axis=axis, mark=(1.0, "NumPy", NUMPY))


def shown(*pictures: str) -> HTML:
    """Pictures side by side where there is room, for the end of a cell."""
    inside = "".join(
        f'<div style="flex: 0 1 {_own_width(each)}px">{each}</div>' for each in pictures
    )
    style = "display: flex; flex-wrap: wrap; gap: 20px"
    return HTML(f'<div class="mlc" style="{style}">{inside}</div>')  # type: ignore[no-untyped-call]


def _line(start: tuple[float, float], end: tuple[float, float]) -> str:
    return coloured_line(start, end, colour=PAGE_INK, wide=1.2)


def _own_width(svg: str) -> str:
    found = re.search(r'viewBox="0 0 (\d+)', svg)
    return found[1] if found else "600"


def _step(most: float) -> float:
    """A round distance between ticks, so that there are three to seven."""
    power = 10.0 ** math.floor(math.log10(most))
    fine = (power / 10 * tick for tick in (*TICKS, 10, 20, 50))
    return next(step for step in fine if most / step <= 7)
