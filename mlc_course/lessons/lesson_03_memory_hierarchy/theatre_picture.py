"""The picture of a cache at work: matrices, the lines that the cache holds, and misses so far."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

import numpy as np

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_03_memory_hierarchy.plays import Performance
from mlc_course.tensor_program.memory import Placed

WIDTH = 1000
TOP = 56  # of the matrices and the cache, below their headings
STAGE = 384  # height of both
LEFT, MIDDLE, RIGHT = 10, 520, 990  # matrices to the left of the middle, the cache to its right
NAMES = 62  # width of the names of sets, or of ways
NARROW = 80  # what a label needs
CURVE = (496, 624)  # top and bottom of the miss curve
# A hit is blue and plain, a miss orange and hatched; both are also said in words.
STYLE = """
.mlc-play text { font: 14px var(--jp-ui-font-family, sans-serif);
  fill: var(--mlc-ink, #222221); }
.mlc-play .hidden { display: none; }
.mlc-play .big { font-size: 16px; font-weight: bold; }
.mlc-play .element { fill: var(--mlc-paper, #fffffe); stroke: var(--mlc-ink, #222221);
  stroke-opacity: 0.25; }
.mlc-play .held .element { fill: var(--mlc-ours, #0072b2); fill-opacity: 0.35; }
.mlc-play .line { fill: none; stroke: var(--mlc-ink, #222221); stroke-width: 1.4; }
.mlc-play .now { fill: none; stroke: var(--mlc-ink, #222221); stroke-width: 4;
  visibility: hidden; }
.mlc-play .place { fill: var(--mlc-paper, #fffffe); stroke: var(--mlc-ink, #222221);
  stroke-opacity: 0.6; }
.mlc-play .full .place { fill: var(--mlc-ours, #0072b2); fill-opacity: 0.2; }
.mlc-play .mark { fill: none; visibility: hidden; }
.mlc-play .hit .mark { visibility: visible; stroke: var(--mlc-ours, #0072b2); stroke-width: 4; }
.mlc-play .miss .mark { visibility: visible; stroke: #e69f00; stroke-width: 4;
  fill: url(#mlc-hatch); }
.mlc-play .axis { stroke: var(--mlc-ink, #222221); stroke-width: 1; }
.mlc-play .all { stroke: var(--mlc-ink, #222221); stroke-dasharray: 3 4; stroke-opacity: 0.6; }
.mlc-play .curve { fill: none; stroke: var(--mlc-ours, #0072b2); stroke-width: 3; }
.mlc-play .later { stroke-opacity: 0.25; }
""".replace("\n", " ")
HATCH = (
    '<pattern id="mlc-hatch" width="8" height="8" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="3" height="8" fill="#e69f00" '
    'fill-opacity="0.55"/></pattern>'
)


def theatre_svg(show: Performance, step: int, heading: str = "") -> str:
    """SVG text of the cache after ``step`` accesses, and of the misses so far below it.

    ``line-7`` is line 7 in its matrix and ``place-3`` the cache's place 3 (counted set by set),
    with the class ``held`` or ``full``, and ``hit`` or ``miss`` where the last access was; ``now``
    frames its element; ``done`` is as wide as the part of the curve that has been played. Raises
    ``UsageError`` for a step that does not exist.
    """
    if not 0 <= step <= len(show.visits):
        raise UsageError("no such step", expected=f"0 to {len(show.visits)}", got=step)
    parts = [
        f"<style>{STYLE}</style><defs>{HATCH}</defs>",
        _text(LEFT, 22, heading, "big"),
        *_matrices(show, step),
        *_cache(show, step),
    ]
    missed = sum(not visit.hit for visit in show.visits[:step])
    counted = f"{missed} misses in {step} of {len(show.visits)} accesses"
    said = f"{heading}: the matrices, and the cache that holds some of their lines; {counted}"
    return _svg("cache", said, 0, TOP + STAGE + 12, parts) + _svg(
        "misses", f"Misses so far: {counted}", CURVE[0] - 44, CURVE[1] + 40, _curve(show, step)
    )


def _svg(name: str, said: str, top: float, bottom: float, parts: Iterable[str]) -> str:
    return (
        f'<svg role="img" aria-label="{html.escape(said)}" class="mlc-play" '
        f'data-testid="{name}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 {top} {WIDTH} {bottom - top}">{"".join(parts)}</svg>'
    )


def boxes(show: Performance) -> dict[str, tuple[float, float, float]]:
    """Left, top and size of the square of each element, by ``X-0-4``."""
    side = _side(show)
    found = {}
    left = float(LEFT)
    for buffer in show.buffers:
        rows, columns = _extents(buffer)
        for element in np.ndindex(buffer.shape):
            row, column = (0, *element)[-2:]
            name = "-".join(map(str, (buffer.name, *element)))
            found[name] = (left + column * side, TOP + row * side, side)
        left += columns * side + 22
    return found


def across(show: Performance) -> list[float]:
    """Return the place of each step on the curve's axis, the empty cache first."""
    count = max(len(show.visits), 1)
    return [LEFT + 50 + (RIGHT - LEFT - 60) * n / count for n in range(count + 1)]


def _side(show: Performance) -> float:
    """Size of an element, so that all matrices fit side by side."""
    extents = [_extents(buffer) for buffer in show.buffers]
    room = MIDDLE - LEFT - 20 - 22 * (len(extents) - 1)
    wide, high = sum(columns for _, columns in extents), max(rows for rows, _ in extents)
    return min(room / wide, STAGE / high, 24.0)


def _extents(buffer: Placed) -> tuple[int, int]:
    """Rows and columns as they are drawn."""
    *_, rows, columns = (1, 1, *buffer.shape)
    return rows, columns


def _matrices(show: Performance, step: int) -> Iterator[str]:
    squares, held = boxes(show), set(show.held[step])
    for buffer in show.buffers:
        left, top, _ = squares["-".join(map(str, (buffer.name, *(0 for _ in buffer.shape))))]
        size = " x ".join(map(str, buffer.shape))
        yield _text(
            left, top - 8, f"{buffer.name}, {size}" if buffer.shape[-1] > 1 else buffer.name
        )
        lines: dict[int, list[tuple[float, float, float]]] = {}
        for place, element in enumerate(np.ndindex(buffer.shape)):
            line = (buffer.start + place * buffer.element_bytes) // show.cache.line
            box = squares["-".join(map(str, (buffer.name, *element)))]
            lines.setdefault(line, []).append(box)
        for line, members in lines.items():
            state = ' class="held"' if line in held else ""
            inside = "".join(_rect("element", x, y, side, side) for x, y, side in members)
            yield f'<g id="line-{line}"{state}>{inside}{_outline(members)}</g>'
    yield _now(show, step, squares)


def _outline(members: list[tuple[float, float, float]]) -> str:
    """A frame around the elements of a line, one for each row that it is in."""
    rows: dict[float, list[float]] = {}
    for x, y, _ in members:
        rows.setdefault(y, []).append(x)
    side = members[0][2]
    return "".join(
        _rect("line", min(xs), y, max(xs) - min(xs) + side, side) for y, xs in rows.items()
    )


def _now(show: Performance, step: int, squares: dict[str, tuple[float, float, float]]) -> str:
    if step == 0:
        return '<rect id="now" class="now"/>'
    visit = show.visits[step - 1]
    x, y, side = squares["-".join(map(str, (visit.buffer, *visit.element)))]
    return (
        f'<rect id="now" class="now" style="visibility: visible" '
        f'x="{x:.1f}" y="{y:.1f}" width="{side:.1f}" height="{side:.1f}"/>'
    )


def _cache(show: Performance, step: int) -> Iterator[str]:
    """Sets as rows and ways as columns; the other way round where there are more ways than sets."""
    cache, held = show.cache, show.held[step]
    last = show.visits[step - 1] if step else None
    turned = cache.ways > cache.sets
    rows, columns = sorted((cache.sets, cache.ways), reverse=True)
    down, over = ("way", "set") if turned else ("set", "way")
    width, height = (RIGHT - MIDDLE - NAMES) / columns, min(STAGE / rows, 44.0)
    for column in range(columns):
        name = f"{over} {column}" if width >= NARROW else f"{column}"
        yield _text(MIDDLE + NAMES + (column + 0.5) * width, TOP - 8, name, anchor="middle")
    for row in range(rows):
        y = TOP + (row + 0.5) * height + 5
        yield _text(MIDDLE + NAMES - 10, y, f"{down} {row}", anchor="end")
    for place, line in enumerate(held):
        number, way = divmod(place, cache.ways)
        row, column = (way, number) if turned else (number, way)
        x, y = MIDDLE + NAMES + column * width, TOP + row * height
        state = "full" if line is not None else ""
        if last and (last.set, last.way) == (number, way):
            state += " hit" if last.hit else " miss"
        label = show.labels[line] if line is not None else ""
        yield (
            f'<g id="place-{place}" class="{state.strip()}">'
            f"{_rect('place', x, y, width, height)}"
            f"{_rect('mark', x + 2, y + 2, width - 4, height - 4)}"
            f"{_text(x + width / 2, y + height / 2 + 5, label, _kind(width), 'middle')}</g>"
        )


def _kind(width: float) -> str:
    """Return the class of a label: hidden where it has no room."""
    return "" if width >= NARROW else "hidden"


def _curve(show: Performance, step: int) -> Iterator[str]:
    top, bottom = CURVE
    xs, count = across(show), max(len(show.visits), 1)
    misses = np.cumsum([0, *(not visit.hit for visit in show.visits)])
    points = " ".join(
        f"{x:.1f},{bottom - (bottom - top) * n / count:.1f}"
        for x, n in zip(xs, misses, strict=False)
    )
    yield _text(LEFT, top - 18, "misses so far", "big")
    yield f'<path class="axis" fill="none" d="M{xs[0]},{top} V{bottom} H{xs[-1]}"/>'
    yield f'<line class="all" x1="{xs[0]}" y1="{bottom}" x2="{xs[-1]}" y2="{top}"/>'
    yield _text(xs[-1] * 0.62, bottom - (bottom - top) * 0.68, "every access a miss", anchor="end")
    yield f'<polyline class="curve later" points="{points}"/>'
    yield (  # an svg inside an svg shows what is inside its own width
        f'<svg id="done" x="{xs[0]}" y="{top - 4}" width="{xs[step] - xs[0]:.1f}" '
        f'height="{bottom - top + 8}"><polyline class="curve" points="{points}" '
        f'transform="translate({-xs[0]} {4 - top})"/></svg>'
    )
    yield _text(xs[0] - 8, bottom + 4, "0", anchor="end")
    yield _text(xs[0] - 8, top + 8, f"{count}", anchor="end")
    yield _text(xs[0], bottom + 20, "0", anchor="middle")
    yield _text(xs[-1], bottom + 20, f"{count} accesses", anchor="end")


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
    )


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{html.escape(text)}</text>"
    )
