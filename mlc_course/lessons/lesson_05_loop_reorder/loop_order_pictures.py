"""The pictures of a loop order: three matrices being visited, and the times of a race of orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from mlc_course.drawing import STYLE as PLOT_STYLE
from mlc_course.drawing import WIDTH_IN, svg_text
from mlc_course.errors import UsageError
from mlc_course.lessons.kit import race_bars
from mlc_course.lessons.lesson_05_loop_reorder.loop_orders import (
    BUFFERS,
    LAYOUTS,
    LINE,
    LINES,
    SIDE,
    Visits,
)
from mlc_course.measure import Comparison
from mlc_course.units import milliseconds

WIDTH, HEIGHT = 1000, 352
CELL, TOP = 29, 58
GRIDS = {"A": 10, "B": 264, "C": 518}  # the left edge of each
NEST = 780  # the left edge of the text
BAR = TOP + SIDE * CELL + 34
ROOM = SIDE * CELL  # a bar of this width is a miss in each iteration
INDICES = (*LAYOUTS["as they are"], "mn")
# What is in the cache is tinted; the element that is used now has a frame: a hit thin and blue,
# a miss thick, orange and hatched.
STYLE = """
.mlc-visits text { font: 14px var(--jp-ui-font-family, sans-serif);
  fill: var(--mlc-ink, #222221); }
.mlc-visits .page { fill: var(--mlc-paper, #fffffe); }
.mlc-visits .big { font-size: 16px; font-weight: bold; }
.mlc-visits .code { font: 14px var(--jp-code-font-family, monospace); white-space: pre; }
.mlc-visits .element { fill: var(--mlc-paper, #fffffe); stroke: var(--mlc-ink, #222221);
  stroke-opacity: 0.25; }
.mlc-visits .held .element { fill: var(--mlc-ours, #0072b2); fill-opacity: 0.35; }
.mlc-visits .line { fill: none; stroke: var(--mlc-ink, #222221); stroke-width: 1.4; }
.mlc-visits .now { fill: none; visibility: hidden; }
.mlc-visits .hit { visibility: visible; stroke: var(--mlc-ours, #0072b2); stroke-width: 4; }
.mlc-visits .miss { visibility: visible; stroke: #e69f00; stroke-width: 6;
  fill: url(#mlc-missed); }
.mlc-visits .room { fill: none; stroke: var(--mlc-ink, #222221); stroke-opacity: 0.4; }
.mlc-visits .count { fill: #e69f00; }
"""
HATCH = (
    '<pattern id="mlc-missed" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<path d="M0 6 L6 0" stroke="#e69f00" stroke-width="2"/></pattern>'
)


def visits_svg(visits: Visits, step: int) -> str:
    """The picture after ``step`` iterations, as SVG text.

    The group of line 3 has the id ``line-3``, the frames ``now-A``, ``now-B`` and ``now-C``, the
    bars ``bar-A`` ..., their texts ``count-A`` ..., a loop's value ``value-m`` ... Raises
    ``UsageError`` for a step that there is none of.
    """
    if not 0 <= step <= len(visits):
        raise UsageError("no such step", expected=f"0 to {len(visits)}", got=step)
    frame = frames(visits)
    page = f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>'
    parts = [f"<style>{STYLE}</style><defs>{HATCH}</defs>{page}"]
    for place, name in enumerate(BUFFERS):
        parts += _matrix(name, place, set(frame["held"][step]))
        parts += _now(name, frame["now"][step][place])
        parts += _bar(name, frame["misses"][step][place])
    parts += _nest(visits, frame["values"][step])
    label = f"Three {SIDE} x {SIDE} matrices; {visits.said(step)}"
    return (
        f'<svg class="mlc-visits" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{label}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def frames(visits: Visits) -> dict[str, Any]:
    """The data with which a page shows any step; entry n of each list is after n iterations.

    ``held`` lines, of each matrix ``now`` (x, y, missed) and its ``misses``, ``values`` of the
    loops m, n and k, and ``said``: a sentence.
    """
    squares = [
        [
            [*_corner(name, row, column), bool(missed)]
            for name, (row, column), missed in zip(BUFFERS, elements, flags, strict=True)
        ]
        for elements, flags in zip(visits.elements.tolist(), visits.missed.tolist(), strict=True)
    ]
    misses = visits.missed.cumsum(axis=0).tolist()
    return {
        "held": [list(lines) for lines in visits.held],
        "now": [[None] * len(BUFFERS), *squares],
        "misses": [[0] * len(BUFFERS), *misses],
        "values": [["", "", ""], *visits.points.tolist()],
        "said": [visits.said(step) for step in range(len(visits) + 1)],
        "scale": ROOM / len(visits),
    }


def _corner(name: str, row: int, column: int) -> tuple[int, int]:
    return GRIDS[name] + CELL * column, TOP + CELL * row


def _matrix(name: str, place: int, held: set[int]) -> Iterator[str]:
    across = GRIDS[name] + ROOM // 2
    indices = ", ".join(INDICES[place])
    yield f'<text class="big" x="{across}" y="24" text-anchor="middle">{name}[{indices}]</text>'
    yield (
        f'<text x="{across}" y="46" text-anchor="middle">{INDICES[place][1]} to the right, '
        f"{INDICES[place][0]} down</text>"
    )
    first = place * SIDE * SIDE // LINE
    for line in range(SIDE * SIDE // LINE):
        row, column = divmod(line * LINE, SIDE)
        x, y = _corner(name, row, column)
        elements = "".join(
            f'<rect class="element" x="{x + CELL * i}" y="{y}" width="{CELL}" height="{CELL}"/>'
            for i in range(LINE)
        )
        edge = f'<rect class="line" x="{x}" y="{y}" width="{LINE * CELL}" height="{CELL}"/>'
        state = "held" if first + line in held else ""
        yield f'<g id="line-{first + line}" class="{state}">{elements}{edge}</g>'


def _now(name: str, square: list[Any] | None) -> Iterator[str]:
    x, y, missed = square or (0, 0, False)
    state = "" if square is None else (" miss" if missed else " hit")
    size = f'width="{CELL}" height="{CELL}"'
    yield f'<rect id="now-{name}" class="now{state}" x="{x}" y="{y}" {size}/>'


def _bar(name: str, misses: int) -> Iterator[str]:
    left = GRIDS[name]
    scale = ROOM / SIDE**3
    yield f'<rect class="room" x="{left}" y="{BAR}" width="{ROOM}" height="16"/>'
    yield (
        f'<rect id="bar-{name}" class="count" x="{left}" y="{BAR}" '
        f'width="{scale * misses:.1f}" height="16"/>'
    )
    yield f'<text id="count-{name}" x="{left}" y="{BAR - 8}">{misses} misses</text>'


def _nest(visits: Visits, values: list[Any]) -> Iterator[str]:
    yield f'<text class="big" x="{NEST}" y="24">{visits.order}</text>'
    for depth, (name, y) in enumerate(zip(visits.order.split("-"), (84, 108, 132), strict=True)):
        text = f"{'  ' * depth}for {name} in range({SIDE}):"
        value = values["mnk".index(name)]
        yield f'<text class="code" x="{NEST}" y="{y}">{text}</text>'
        shown = f"{name} = {value}" if value != "" else f"{name}"
        yield (f'<text id="value-{name}" class="big" x="{NEST}" y="{y + 108}">{shown}</text>')
    yield f'<text class="code" x="{NEST}" y="156">      C += A * B</text>'
    legend = (
        f"tinted: in the cache, {LINES}",
        f"lines of {LINE} elements",
        "hatched: just fetched",
    )
    for y, text in zip((292, 312, 332), legend, strict=True):
        yield f'<text x="{NEST}" y="{y}">{text}</text>'


def orders_svg(found: Mapping[str, Comparison], title: str, selected: str | None = None) -> str:
    """A bar for each program, in the order given; the selected one is marked.

    Raises ``UsageError`` for a selected one that is not there, and where there is none at all.
    """
    height = 1.65 + 0.36 * len(found)
    with mpl.rc_context(PLOT_STYLE):
        figure = Figure(figsize=(WIDTH_IN, height))
        axes = figure.add_subplot()
        of = "time of one call, ms"
        race_bars(axes, found, selected, per_second=1e3, text=milliseconds, of=of)
        axes.set_title(title, loc="left", pad=26, fontsize=14, fontweight="bold")
        figure.subplots_adjust(0.09, 0.62 / height, 0.985, 1 - 0.72 / height)
    return svg_text(figure)
