"""Bars of counted misses, and bars of measured times beside NumPy's line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from mlc_course.drawing import (
    AMBER,
    PAGE_INK,
    STYLE,
    WIDTH_IN,
    document,
    line,
    rect,
    svg_text,
    text,
)
from mlc_course.lessons.kit import race_bars, race_words
from mlc_course.measure import Comparison
from mlc_course.units import milliseconds

WIDE, LEFT, ROW, HEAD = 920, 150, 30, 46
GAP = 28


def misses_svg(misses: Mapping[str, Sequence[int]], accesses: int) -> str:
    """A row for each program, a column of bars for each cache; a full bar is every access."""
    caches = max(map(len, misses.values()))
    panel = (WIDE - LEFT - GAP * (caches - 1)) / caches
    high = HEAD + ROW * len(misses) + 34
    parts, said = [], []
    for cache in range(caches):
        left = LEFT + cache * (panel + GAP)
        title = f"misses of L{cache + 1}"
        parts.append(text(left, HEAD - 18, title, bold=True, anchor="start"))
        parts.append(line((left, HEAD - 6), (left, high - 28), colour=PAGE_INK, wide=1))
        for row, counts in enumerate(misses.values()):
            share = counts[cache] / accesses
            y = HEAD + row * ROW
            parts.append(rect(left, y, max(panel * share, 1), ROW - 12, fill=AMBER, line=1))
            inside = share > 0.6
            x = left + 6 if inside else left + panel * share + 6
            ink = "#222221" if inside else ""
            parts.append(text(x, y + 14, f"{counts[cache]:,}", anchor="start", colour=ink))
        parts.append(text(left + panel, high - 8, f"{accesses:,} loads", size=14, anchor="end"))
    for row, (name, counts) in enumerate(misses.items()):
        parts.append(text(LEFT - 12, HEAD + row * ROW + 14, name, anchor="end"))
        numbers = ", ".join(f"L{n} {each:,}" for n, each in enumerate(counts, start=1))
        said.append(f"{name}: {numbers}")
    return document(WIDE, high, "Misses counted. " + "; ".join(said), parts)


def race_svg(found: Mapping[str, Comparison], title: str, selected: str | None = None) -> str:
    """Times of the programs, with NumPy's as a line, on a logarithmic axis."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 1.5 + 0.42 * len(found)))
        axes = figure.add_subplot()
        race_bars(axes, found, selected, per_second=1e3, text=milliseconds, of="ms for a call")
        axes.set_title(title, loc="left", fontsize=14, fontweight="bold", pad=24)
        high = figure.get_figheight()
        figure.subplots_adjust(0.16, 0.72 / high, 0.985, 1 - 0.62 / high)
    return svg_text(figure, f"{title}: {race_words(found)}")
