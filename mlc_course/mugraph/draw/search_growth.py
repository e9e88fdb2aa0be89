"""How a search grows: nodes against depth, a curve for each set of prunings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlc_course.mugraph.draw import svg
from mlc_course.mugraph.draw.axes import line, path
from mlc_course.mugraph.draw.search_tree import star
from mlc_course.mugraph.draw.svg import AMBER, GREEN, INK, OURS, PAPER, SMALL, Point
from mlc_course.mugraph.search.levels import Level

WIDE, HIGH = 1000.0, 430.0
LEFT, RIGHT, TOP, FOOT = 92.0, 690.0, 46.0, 370.0
LABEL, APART = RIGHT + 30, 21.0  # labels: where, and how far apart at least
PINK, VIOLET = "#cc79a7", "#8a6fd1"
# Of a curve: its colour, its marks, its kind of line.
KINDS = (
    (OURS, "disc", ""),
    (AMBER, "square", "9 4"),
    (PINK, "triangle", "2 4"),
    (GREEN, "diamond", "12 3 2 3"),
    (INK, "ring", "5 5"),
    (VIOLET, "cross", "1 5"),
)


@dataclass(frozen=True)
class _Axes:
    """Depths to the right, numbers upwards, by powers of ten."""

    depths: int
    decades: int

    def at(self, depth: int, number: float) -> Point:
        x = LEFT + (RIGHT - LEFT) * depth / self.depths
        return x, FOOT - (FOOT - TOP) * math.log10(number) / self.decades

    def drawn(self, what: str) -> Iterator[str]:
        for exponent in range(self.decades + 1):
            y = self.at(0, 10.0**exponent)[1]
            yield line((LEFT, y), (RIGHT, y), colour=INK, wide=0.5, more='stroke-opacity="0.35"')
            yield svg.text(LEFT - 8, y + 5, f"{10**exponent:,}", size=SMALL, anchor="end")
        for depth in range(self.depths + 1):
            yield svg.text(self.at(depth, 1)[0], FOOT + 22, str(depth), size=SMALL)
        yield svg.text((LEFT + RIGHT) / 2, FOOT + 45, "operators", size=SMALL)
        yield svg.text(8, 22, what, bold=True, anchor="start")


def growth_svg(curves: Mapping[str, Sequence[Level]], what: str = "nodes of the tree") -> str:
    """Curves by their names: what is alive at each depth, on an axis of powers of ten.

    An arrow says that a limit ended a curve, so that there are more; a star stands where the first
    solution is.
    """
    shown = {name: _points(levels) for name, levels in curves.items()}
    every = [level for levels in shown.values() for level in levels]
    most = max((level.alive for level in every), default=1)
    deepest = max((level.depth for level in every), default=1)
    axes = _Axes(max(1, deepest), max(1, math.ceil(math.log10(most * 1.5))))
    parts, ends = list(axes.drawn(what)), dict[str, tuple[Point, int]]()
    for number, (name, levels) in enumerate(shown.items()):
        if levels:
            parts += _curve(axes, levels, number % len(KINDS))
            ends[name] = axes.at(levels[-1].depth, levels[-1].alive), number % len(KINDS)
    parts += _labels(ends, {name: levels[-1] for name, levels in shown.items() if levels})
    parts += _legend(every)
    said = f"{what} by the number of operators, for {', '.join(curves)}"
    return svg.document(WIDE, HIGH, said, parts)


def _points(levels: Sequence[Level]) -> list[Level]:
    """A logarithm has no place for nothing."""
    return [level for level in levels if level.alive]


def _curve(axes: _Axes, levels: Sequence[Level], kind: int) -> Iterator[str]:
    colour, mark, dashes = KINDS[kind]
    points = [axes.at(level.depth, level.alive) for level in levels]
    more = f'stroke-dasharray="{dashes}"' if dashes else ""
    whole = [point for point, level in zip(points, levels, strict=True) if level.complete]
    yield path(whole or points, colour=colour, wide=2.6, more=more)
    if len(whole) < len(points):
        yield path(points[-2:], colour=colour, wide=1)
    for (x, y), level in zip(points, levels, strict=True):
        yield marked(mark, x, y, colour)
        if not level.complete:
            yield (
                f'<path d="M{x:.1f} {y - 8:.1f}v-16m-6 7l6 -9l6 9" stroke="{colour}" '
                f'stroke-width="2.6" fill="none"/>'
            )
    first = next((n for n, level in enumerate(levels) if level.found), None)
    if first is not None:
        yield star(points[first][0], points[first][1] - 1)


def marked(mark: str, x: float, y: float, colour: str) -> str:
    """A mark that is told apart by its shape alone."""
    lines = {
        "square": "M-5 -5h10v10h-10z",
        "triangle": "M0 -7l6.5 11.5h-13z",
        "diamond": "M0 -7l7 7l-7 7l-7 -7z",
        "cross": "M-5 -5l10 10m0 -10l-10 10",
    }
    if mark in lines:
        fill = "none" if mark == "cross" else colour
        return (
            f'<path d="{lines[mark]}" transform="translate({x:.1f} {y:.1f})" fill="{fill}" '
            f'stroke="{colour}" stroke-width="2"/>'
        )
    fill = PAPER if mark == "ring" else colour
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{fill}" stroke="{colour}" '
        f'stroke-width="2"/>'
    )


def _labels(ends: Mapping[str, tuple[Point, int]], last: Mapping[str, Level]) -> Iterator[str]:
    """Beside the ends of the curves, from the top down, so far apart that they can be read."""
    below = -math.inf
    room = FOOT - APART * (len(ends) - 1)
    for place, (name, (end, kind)) in enumerate(sorted(ends.items(), key=lambda e: e[1][0][1])):
        y = min(max(end[1], below + APART), room + APART * place)
        below = y
        colour, mark, _ = KINDS[kind]
        faint = 'stroke-opacity="0.6"'
        yield line((end[0] + 9, end[1]), (LABEL - 8, y), colour=colour, wide=1, more=faint)
        yield marked(mark, LABEL, y, colour)
        least = "" if last[name].complete else "at least "
        words = f"{name}: {least}{last[name].alive:,}"
        yield svg.text(LABEL + 13, y + 5, words, size=SMALL, anchor="start")


def _legend(every: Sequence[Level]) -> Iterator[str]:
    x = LEFT
    if any(level.found for level in every):
        yield star(x, FOOT + 40)
        yield svg.text(x + 14, FOOT + 45, "first solution", size=SMALL, anchor="start")
    if not all(level.complete for level in every):
        yield svg.text(RIGHT, FOOT + 45, "arrow: there are more", size=SMALL, anchor="end")
