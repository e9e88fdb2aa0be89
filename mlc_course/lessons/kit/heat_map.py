"""A table of numbers as a heat map: every cell has its colour and its number.

The colours are cividis, which looks the same with and without colour vision. The best cell has a
thick frame, cells with a mark a round badge, the selected one four corners: none needs colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from mlc_course.extras import brought_by

with brought_by("lab"):
    import matplotlib as mpl

from mlc_course.drawing import PAGE_INK, PAGE_PAPER, document, text
from mlc_course.errors import UsageError

Place = tuple[int, int]  # row, column
_text = partial(text, size=14, anchor="start")
LEFT, TOP, BOTTOM, RIGHT = 84, 66, 44, 14


@dataclass(frozen=True)
class HeatMap:
    """``values[row][column]``, None where there is none yet; ``better`` is "low" or "high".

    ``marks`` are badges of at most two letters, ``notes`` the lines below. Raises ``UsageError``
    for rows of different lengths, or a place that is not in the table.
    """

    title: str
    values: Sequence[Sequence[float | None]]
    rows: Sequence[object]
    columns: Sequence[object]
    axes: tuple[str, str]  # what the rows and the columns are
    better: str = "low"
    text: Callable[[float], str] = "{:.3g}".format
    selected: Place | None = None
    marks: Mapping[Place, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    cell: tuple[int, int] = (70, 42)  # width and height
    scale: tuple[float, float] | None = None  # of the colours; from the least value to the greatest

    def __post_init__(self) -> None:
        shape = (len(self.rows), len(self.columns))
        if len(self.values) != shape[0] or any(len(row) != shape[1] for row in self.values):
            raise UsageError(
                "heat map: the table is not whole",
                expected=f"{shape[0]} rows of {shape[1]}",
                got=[len(row) for row in self.values],
            )
        if self.better not in ("low", "high"):
            raise UsageError("heat map: better", expected="low | high", got=self.better)
        for row, column in (*self.marks, *([self.selected] if self.selected else [])):
            if not (0 <= row < shape[0] and 0 <= column < shape[1]):
                raise UsageError("heat map: no such cell", expected=shape, got=(row, column))

    @property
    def known(self) -> dict[Place, float]:
        return {
            (i, j): value
            for i, row in enumerate(self.values)
            for j, value in enumerate(row)
            if value is not None
        }

    @property
    def best(self) -> Place | None:
        """The first of the best cells; None where no cell is better than another."""
        sign = 1 if self.better == "low" else -1
        known = self.known
        if len(set(known.values())) < 2:
            return None
        return min(known, key=lambda place: sign * known[place])

    def corner(self, place: Place) -> tuple[int, int]:
        """Return the corner of a cell in the picture."""
        return LEFT + self.cell[0] * place[1], TOP + self.cell[1] * place[0]

    def goodness(self, value: float) -> float:
        """0 for the worst value, 1 for the best, by ratio."""
        low, high = self.scale or (min(self.known.values()), max(self.known.values()))
        if high <= low:
            return 1.0
        value = min(max(value, low), high)
        if low > 0:
            low, high, value = math.log(low), math.log(high), math.log(value)
        share = (value - low) / (high - low)
        return 1 - share if self.better == "low" else share


def heat_map_svg(heat: HeatMap) -> str:
    """The picture, 12 px type or more at its own width; cell (2, 3) has the id ``cell-2-3``."""
    width = LEFT + heat.cell[0] * len(heat.columns) + RIGHT
    below = TOP + heat.cell[1] * len(heat.rows)
    height = below + BOTTOM + 18 * len(heat.notes)
    parts = [
        _text(8, 20, heat.title, size=16, bold=True),
        *_axes(heat, below),
        *(_cell(heat, i, j) for i in range(len(heat.rows)) for j in range(len(heat.columns))),
        *(_badge(heat, place, mark) for place, mark in heat.marks.items()),
        _frame(heat, heat.best) if heat.best else "",
        _corners(heat, heat.selected) if heat.selected else "",
        *(_text(8, below + 54 + 18 * i, note, size=14) for i, note in enumerate(heat.notes)),
    ]
    return document(width, height, _in_words(heat), parts)


def _in_words(heat: HeatMap) -> str:
    """The title, and where the best and the worst cell are."""
    if heat.best is None:
        return heat.title
    sign = 1 if heat.better == "low" else -1
    worst = max(heat.known, key=lambda place: sign * heat.known[place])
    ends = (
        f"{end}: {heat.text(heat.known[i, j])} at {heat.axes[0]} {heat.rows[i]}, "
        f"{heat.axes[1]} {heat.columns[j]}"
        for end, (i, j) in (("best", heat.best), ("worst", worst))
    )
    return f"{heat.title}. {'; '.join(ends)}"


def _axes(heat: HeatMap, below: int) -> list[str]:
    middle = LEFT + heat.cell[0] * len(heat.columns) / 2
    names = [_text(middle, 42, heat.axes[1], anchor="middle"), _text(8, 60, heat.axes[0])]
    across = [
        _text(LEFT + heat.cell[0] * (j + 0.5), 60, str(name), anchor="middle", bold=True)
        for j, name in enumerate(heat.columns)
    ]
    down = [
        _text(LEFT - 10, TOP + heat.cell[1] * (i + 0.5) + 5, str(name), anchor="end", bold=True)
        for i, name in enumerate(heat.rows)
    ]
    return [*names, *across, *down, *_legend(heat, below + 14)]


def _legend(heat: HeatMap, y: int) -> list[str]:
    """The scale of colours, from the worst to the best, with their values."""
    known = heat.known
    if heat.best is None:
        return []
    low, high = heat.text(min(known.values())), heat.text(max(known.values()))
    worst, best = (high, low) if heat.better == "low" else (low, high)
    steps = [
        f'<rect x="{LEFT + 9 * i}" y="{y}" width="9.5" height="14" fill="{_colour(i / 23)}"/>'
        for i in range(24)
    ]
    ends = [
        _text(LEFT - 8, y + 12, worst, anchor="end", size=14),
        _text(LEFT + 224, y + 12, f"{best}: best (thick frame)", size=14),
    ]
    return [*steps, *ends]


def _cell(heat: HeatMap, i: int, j: int) -> str:
    (x, y), (w, h) = heat.corner((i, j)), heat.cell
    value = heat.values[i][j]
    aside = 10 if (i, j) in heat.marks else 0
    centre = (x + w / 2 + aside, y + h / 2 + 5)
    at = f'id="cell-{i}-{j}" x="{x + 1}" y="{y + 1}" width="{w - 2}" height="{h - 2}"'
    if value is None:
        empty = f'<rect {at} fill="{PAGE_PAPER}" stroke="{PAGE_INK}" stroke-opacity="0.3"/>'
        return empty + _text(*centre, "?", anchor="middle")
    share = heat.goodness(value)
    ink = "#222221" if share > 0.5 else "#fffffe"  # on the cell's own colour, in every theme
    number = _text(*centre, heat.text(value), anchor="middle", colour=ink, size=15)
    return f'<rect {at} fill="{_colour(share)}"/>{number}'


def _colour(share: float) -> str:
    return mpl.colors.to_hex(mpl.colormaps["cividis"](share))


def _badge(heat: HeatMap, place: Place, mark: str) -> str:
    x, y = heat.corner(place)
    shape = (
        f'<circle cx="{x + 12}" cy="{y + 12}" r="11" fill="{PAGE_PAPER}" stroke="{PAGE_INK}" '
        'stroke-width="1.5"/>'
    )
    return shape + _text(x + 12, y + 16.5, mark, anchor="middle", size=14, bold=True)


def _frame(heat: HeatMap, place: Place) -> str:
    (x, y), (w, h) = heat.corner(place), heat.cell
    around = f'x="{x}" y="{y}" width="{w}" height="{h}" fill="none"'
    return (
        f'<rect {around} stroke="{PAGE_PAPER}" stroke-width="8"/>'
        f'<rect {around} stroke="{PAGE_INK}" stroke-width="4"/>'
    )


def _corners(heat: HeatMap, place: Place) -> str:
    """The four corners of the cell, orange as the page's focus, with a dark edge."""
    (x, y), (w, h) = heat.corner(place), heat.cell
    path = "".join(
        f"M{cx + sx * 16} {cy}H{cx}V{cy + sy * 14}"
        for cx, sx in ((x, 1), (x + w, -1))
        for cy, sy in ((y, 1), (y + h, -1))
    )
    return (
        f'<path d="{path}" fill="none" stroke="#222221" stroke-width="9"/>'
        f'<path d="{path}" fill="none" stroke="#e69f00" stroke-width="5"/>'
    )
