"""The pictures of a loop order: three matrices being visited, misses, and the times of a race."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlc_course.drawing import PAGE_INK, PAGE_OURS, PAGE_TINT, document, rect, text
from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_05_loop_reorder.bars_picture import (
    Bar,
    Bars,
    Mark,
    race_bars,
    race_marks,
)
from mlc_course.lessons.lesson_05_loop_reorder.loop_orders import (
    BUFFERS,
    LAYOUTS,
    LINE,
    LINES,
    ORDERS,
    SIDE,
    Visits,
    visits,
)
from mlc_course.measure import Comparison
from mlc_course.tensor_program.memory import Roofs
from mlc_course.words import marked, tr

WIDTH, HEIGHT = 520, 372
CELL, TOP = 18, 56
ROOM = SIDE * CELL  # a bar of this width is a miss in each iteration
GRIDS = {"A": 10, "B": 188, "C": 366}  # the left edge of each
BAR = TOP + ROOM + 30
NEST = BAR + 46  # the line of the first loop
INDICES = (*LAYOUTS["as they are"], "mn")
NARROW = 380  # the pictures beside the matrices
# What is in the cache is tinted; the element that is used now has a frame: a hit thin and blue,
# a miss thick, orange and hatched.
STYLE = """
.mlc-visits text { font: 14px var(--jp-ui-font-family, sans-serif);
  fill: var(--mlc-ink, #222221); }
.mlc-visits .page { fill: var(--mlc-paper, #fffffe); }
.mlc-visits .big { font-size: 15px; font-weight: bold; }
.mlc-visits .code { font: 14px var(--jp-code-font-family, monospace); white-space: pre; }
.mlc-visits .element { fill: var(--mlc-paper, #fffffe); stroke: var(--mlc-ink, #222221);
  stroke-opacity: 0.25; }
.mlc-visits .held .element { fill: var(--mlc-ours, #0072b2); fill-opacity: 0.35; }
.mlc-visits .line { fill: none; stroke: var(--mlc-ink, #222221); stroke-width: 1.3; }
.mlc-visits .now { fill: none; visibility: hidden; }
.mlc-visits .hit { visibility: visible; stroke: var(--mlc-ours, #0072b2); stroke-width: 4; }
.mlc-visits .miss { visibility: visible; stroke: #e69f00; stroke-width: 5;
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
    bars ``bar-A`` ..., their texts ``count-A`` ..., the lines of code ``nest-0`` ..., and the
    loops' values ``values``. Raises ``UsageError`` for a step that there is none of.
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
    parts += _nest(frame["nest"], frame["values"][step])
    label = tr("Three {side} x {side} matrices; {said}", side=SIDE, said=visits.said(step))
    return (
        f'<svg class="mlc-visits" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{label}" style="width: 100%; max-width: {WIDTH}px; height: auto" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def frames(visits: Visits) -> dict[str, Any]:
    """The data with which a page shows any step; entry n of each list is after n iterations.

    ``held`` lines, of each matrix ``now`` (x, y, missed) and its ``misses``, ``values`` of the
    loops in words, and ``said``: a sentence. ``nest`` is the loops as lines of code.
    """
    squares = [
        [
            [*_corner(name, row, column), int(missed)]
            for name, (row, column), missed in zip(BUFFERS, elements, flags, strict=True)
        ]
        for elements, flags in zip(visits.elements.tolist(), visits.missed.tolist(), strict=True)
    ]
    loops = visits.order.split("-")
    values = [
        ", ".join(f"{loop} = {point['mnk'.index(loop)]}" for loop in loops)
        for point in visits.points.tolist()
    ]
    heads = [f"{'  ' * depth}for {loop} in range({SIDE}):" for depth, loop in enumerate(loops)]
    return {
        "held": [list(lines) for lines in visits.held],
        "now": [[None] * len(BUFFERS), *squares],
        "misses": [[0] * len(BUFFERS), *visits.missed.cumsum(axis=0).tolist()],
        "values": ["", *values],
        "said": [visits.said(step) for step in range(len(visits) + 1)],
        "nest": [*heads, "      C[m, n] += A[m, k] * B[k, n]"],
        "scale": ROOM / len(visits),
    }


def _corner(name: str, row: int, column: int) -> tuple[int, int]:
    return GRIDS[name] + CELL * column, TOP + CELL * row


def _matrix(name: str, place: int, held: set[int]) -> Iterator[str]:
    across = GRIDS[name] + ROOM // 2
    indices = ", ".join(INDICES[place])
    yield f'<text class="big" x="{across}" y="22" text-anchor="middle">{name}[{indices}]</text>'
    said = tr("{column} right, {row} down", column=INDICES[place][1], row=INDICES[place][0])
    yield f'<text x="{across}" y="42" text-anchor="middle">{said}</text>'
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
    yield f'<rect class="room" x="{left}" y="{BAR}" width="{ROOM}" height="12"/>'
    yield (
        f'<rect id="bar-{name}" class="count" x="{left}" y="{BAR}" '
        f'width="{scale * misses:.1f}" height="12"/>'
    )
    said = tr("{count} misses", count=misses)
    yield f'<text id="count-{name}" x="{left}" y="{BAR - 7}">{said}</text>'


def _nest(nest: list[str], values: str) -> Iterator[str]:
    for depth, code in enumerate(nest):
        y = NEST + 20 * depth
        yield f'<text id="nest-{depth}" class="code" x="{GRIDS["A"]}" y="{y}">{code}</text>'
    right = GRIDS["C"] - 60
    yield f'<text id="values" class="big" x="{right}" y="{NEST}">{values}</text>'
    legend = (
        tr("tinted: in the cache, {lines} lines", lines=LINES),
        tr("of {line} elements", line=LINE),
        tr("hatched: just fetched"),
    )
    for y, words in zip((NEST + 19, NEST + 36, NEST + 53), legend, strict=True):
        yield f'<text x="{right}" y="{y}">{words}</text>'


# --- all six orders -------------------------------------------------------------------------------


def orders_svg(
    found: Mapping[str, Comparison],
    title: str,
    selected: str | None = None,
    *,
    roofs: Roofs | None = None,
    flops: float = 0,
    narrow: bool = False,
) -> str:
    """A bar for each program, in the order given; NumPy is a line, the roof a dashed one.

    The roof is the least time for ``flops`` operations. Raises ``UsageError`` for a selected
    program that is not there, and where there is none at all.
    """
    long = marked("time of one call in ms, logarithmic; whiskers: the middle half")
    return Bars(
        title,
        tr(marked("time of one call in ms, logarithmic") if narrow else long),
        race_bars(found, short=narrow),
        race_marks(found, roofs, flops),
        selected,
        NARROW if narrow else 860,
    ).svg()


def counts_svg(counts: Mapping[str, int], title: str, accesses: int) -> str:
    """A bar for the misses of each program, and a line where each of ``accesses`` is a miss.

    Raises ``UsageError`` where there is no program, or one without a miss.
    """
    bars = [
        Bar(
            name,
            each,
            tr("{misses:,} ({rate:.3f} per multiply-add)", misses=each, rate=each / accesses),
        )
        for name, each in counts.items()
    ]
    once = Mark(accesses, tr("one miss per multiply-add"), PAGE_INK, dashed=True)
    return Bars(title, tr("misses, logarithmic"), bars, [once]).svg()


def small_misses_svg() -> str:
    """The misses of each matrix in each order on the small matrices, as bars in a grid."""
    left, pitch, wide, high = 88, 250, 170, 26
    parts = []
    for column, name in enumerate(BUFFERS):
        words = tr("misses of {name}", name=name)
        parts.append(text(left + pitch * column, 18, words, bold=True, anchor="start"))
    for row, order in enumerate(ORDERS):
        y = 30 + high * row
        parts.append(text(left - 14, y + 15, order, size=14, anchor="end"))
        for column, misses in enumerate(visits(order).misses.values()):
            x, long = left + pitch * column, wide * misses / SIDE**3
            parts.append(rect(x, y, wide, 18, stroke=PAGE_INK, line=0.5, round_by=0))
            parts.append(rect(x, y, long, 18, fill=PAGE_OURS, stroke="none", round_by=0))
            parts.append(text(x + wide + 8, y + 15, str(misses), size=14, anchor="start"))
    said = "; ".join(
        f"{order}: " + ", ".join(f"{name} {n}" for name, n in visits(order).misses.items())
        for order in ORDERS
    )
    return document(
        860, 40 + high * len(ORDERS), tr("Misses of each matrix. {said}", said=said), parts
    )


def total_misses_svg(selected: str) -> str:
    """The misses of all matrices together in each order, for beside the small matrices."""
    totals = {order: sum(visits(order).misses.values()) for order in ORDERS}
    left, wide, high = 66, 240, 18
    words = tr("misses on the small matrices")
    parts = [text(8, 16, words, size=14, bold=True, anchor="start")]
    for row, (order, misses) in enumerate(totals.items()):
        y, long = 24 + high * row, wide * misses / max(totals.values())
        state, fill = ("chosen", PAGE_TINT) if order == selected else ("", "transparent")
        parts.append(f'<g id="row-{row}" class="{state}">')
        size = f'width="{NARROW - 4}" height="{high}" fill="{fill}"'
        parts.append(f'<rect class="band" x="2" y="{y}" {size}/>')
        parts.append(text(left - 8, y + 14, order, size=14, anchor="end"))
        parts.append(rect(left, y + 3, long, 12, fill=PAGE_OURS, stroke="none", round_by=0))
        parts.append(text(left + long + 8, y + 14, str(misses), size=14, anchor="start") + "</g>")
    said = ", ".join(f"{order} {misses}" for order, misses in totals.items())
    return document(
        NARROW, 30 + high * len(ORDERS), tr("Misses of each order: {said}", said=said), parts
    )


def beside(*svgs: str) -> str:
    """HTML of pictures side by side, for one line of a page."""
    cells = "".join(f'<div style="flex: 1; min-width: 0">{svg}</div>' for svg in svgs)
    return f'<div style="display: flex; gap: 16px; max-width: 1040px">{cells}</div>'
