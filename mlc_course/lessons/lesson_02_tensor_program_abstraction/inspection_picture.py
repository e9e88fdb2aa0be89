"""The picture of an inspected block: its buffers as grids, with the elements that are touched.

A ring is a read, a frame is a write, a zero is init. A cross is a collision, a question mark an
element that is never written. A number says how often, where it is more than once.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlc_course.lessons.kit import program_lines
from mlc_course.lessons.lesson_02_tensor_program_abstraction.remarks import ONE
from mlc_course.tensor_program.legality import ALL, Access, Element, Inspection, Moment, touched
from mlc_course.tensor_program.tir import main_function

WIDTH, TOP, GAP, EDGE = 560, 84, 26, 22
LARGEST, SMALLEST = 36, 30  # the side of an element
BETWEEN = 16  # from one row of buffers to the next
LETTER = 8.4  # the width of a letter of the headings
STYLE = """
.mlc-block text { font: 14px var(--jp-ui-font-family, sans-serif);
  fill: var(--mlc-ink, #222221); }
.mlc-block .page { fill: var(--mlc-paper, #fffffe); }
.mlc-block .name { font: bold 14px var(--jp-code-font-family, monospace); }
.mlc-block .index { font-size: 14px; fill-opacity: 0.75; }
.mlc-block .cell { fill: var(--mlc-paper, #fffffe); stroke: var(--mlc-ink, #222221);
  stroke-opacity: 0.3; }
.mlc-block .read { fill: none; stroke: var(--mlc-ours, #0072b2); stroke-width: 3; }
.mlc-block .now.read { fill: var(--mlc-ours, #0072b2); fill-opacity: 0.45; }
.mlc-block .write { fill: none; stroke: #e69f00; stroke-width: 4; }
.mlc-block .now.write { fill: #e69f00; fill-opacity: 0.4; }
.mlc-block .cross { stroke: #d55e00; stroke-width: 3; fill: none; }
.mlc-block .missed { fill: none; stroke: #d55e00; stroke-width: 2.5; stroke-dasharray: 5 3; }
.mlc-block .zero { fill-opacity: 1; }
.mlc-block .count { font-weight: bold; font-size: 14px; }
.mlc-block .count, .mlc-block .zero { paint-order: stroke;
  stroke: var(--mlc-paper, #fffffe); stroke-width: 2px; }
"""


@dataclass(frozen=True)
class Grid:
    """The place of a buffer: elements are squares of ``side``; the rows of more than two
    dimensions are slabs, one below the other."""

    access: Access
    left: float
    top: float
    side: float

    @property
    def matrix(self) -> tuple[int, int]:
        """Rows and columns of a slab."""
        shape = (1, 1, *self.access.shape)
        return shape[-2], shape[-1]

    @property
    def slabs(self) -> int:
        return int(np.prod(self.access.shape[:-2], dtype=int))

    @property
    def height(self) -> float:
        return (self.matrix[0] * self.slabs) * self.side + 8 * (self.slabs - 1)

    def corner(self, index: tuple[int, ...]) -> tuple[float, float]:
        """The upper left corner of an element."""
        rows, _ = self.matrix
        row, column = (0, 0, *index)[-2:]
        slab = 0
        for place, extent in zip(index[:-2], self.access.shape[:-2], strict=True):
            slab = slab * extent + place
        y = self.top + (slab * rows + row) * self.side + 8 * slab
        return self.left + EDGE + column * self.side, y


def inspector_svg(inspection: Inspection, moved: str, at: Mapping[str, int]) -> str:
    """The buffers at one iteration (``ONE``), along a loop, or of every iteration (``ALL``).

    An element of buffer P has the class of each of its marks: ``read``, ``write``, ``cross``,
    ``missed``; those of iteration ``at`` have ``now``, too. Raises ``AxisError`` for a loop or an
    iteration that there is none of.
    """
    now = inspection.moment(at)
    moments = (now,) if moved == ONE else inspection.along(moved, at)
    grids = _grids(inspection)
    parts = [f"<style>{STYLE}</style>"]
    for grid in grids:
        parts += _buffer(grid)
    standing = {grid.access.buffer: grid for grid in grids}
    parts += _marks(standing, moments, now)
    if moved == ALL:
        parts += _faults(inspection, grids[-1])
    parts += _counts(standing, moments)
    below = max(grid.top + grid.height for grid in grids)
    parts += _legend(below + 34, moved == ALL)
    height = below + 56
    label = f"Block {inspection.block}, buffers " + ", ".join(g.access.text for g in grids)
    return (
        f'<svg class="mlc-block" viewBox="0 0 {WIDTH} {height:.0f}" width="700" '
        f'role="img" aria-label="{html.escape(label)}" xmlns="http://www.w3.org/2000/svg">'
        f'<rect class="page" width="{WIDTH}" height="{height:.0f}"/>{"".join(parts)}</svg>'
    )


def _grids(inspection: Inspection) -> list[Grid]:
    """The buffers side by side; where that makes elements too small, what is written below."""
    *read, written = inspection.accesses
    side = _side([*read, written])
    if side >= SMALLEST or not read:
        return _row([*read, written], side, TOP)
    above = _row(read, min(_side(read), _side([written])), TOP)
    below = max(grid.top + grid.height for grid in above) + BETWEEN + TOP
    return above + _row([written], above[0].side, below)


def _side(accesses: Sequence[Access]) -> float:
    """The largest side of an element with which a row of buffers fits."""
    room = WIDTH - GAP * (len(accesses) - 1) - EDGE * len(accesses)
    side = float(LARGEST)
    while side > 1 and sum(_wide(each, side) for each in accesses) > room:
        side -= 0.5
    return side


def _row(accesses: Sequence[Access], side: float, top: float) -> list[Grid]:
    grids, left = [], 0.0
    for each in accesses:
        grids.append(Grid(each, left, top, side))
        left += EDGE + _wide(each, side) + GAP
    return grids


def _wide(access: Access, side: float) -> float:
    return max((1, *access.shape)[-1] * side, LETTER * len(access.text))


def _buffer(grid: Grid) -> Iterator[str]:
    access, x = grid.access, grid.left + EDGE
    verb = "writes" if access.writes else "reads"
    text = html.escape(access.text)
    yield f'<text x="{x}" y="{grid.top - 60}">{verb}</text>'
    yield f'<text class="name" x="{x}" y="{grid.top - 38}">{text}</text>'
    for column in range(grid.matrix[1]):
        middle = x + (column + 0.5) * grid.side
        where = f'x="{middle:.1f}" y="{grid.top - 8}" text-anchor="middle"'
        yield f'<text class="index" {where}>{column}</text>'
    for index in np.ndindex(*access.shape):
        left, top = grid.corner(index)
        size = f'width="{grid.side}" height="{grid.side}"'
        yield f'<rect class="cell" x="{left:.1f}" y="{top:.1f}" {size}/>'
        if len(index) > 1 and index[-1] == 0:
            row = ",".join(map(str, index[:-1]))
            yield (
                f'<text class="index" x="{left - 5:.1f}" y="{top + grid.side / 2 + 4:.1f}" '
                f'text-anchor="end">{row}</text>'
            )


def _marks(grids: Mapping[str, Grid], moments: Sequence[Moment], now: Moment) -> Iterator[str]:
    """Frames and rings. A sum reads the element that it adds to; there the frame is enough."""
    reads, writes = touched(moments)
    for element in writes:
        here = " now" if element == now.writes else ""
        yield _frame(grids[element[0]], element, f"write{here}")
    for element in [element for element in reads if element not in writes]:
        here = " now" if element in now.reads else ""
        yield _ring(grids[element[0]], element, f"read{here}")


def _counts(grids: Mapping[str, Grid], moments: Sequence[Moment]) -> Iterator[str]:
    """Draw how often each element is touched, in its middle; inits in its corner."""
    reads, writes = touched(moments)
    begun = Counter(moment.writes for moment in moments if moment.init)
    for element, often in {**reads, **writes}.items():
        low = 6 if begun[element] == 1 else 0
        yield _count(grids[element[0]], element, f"{often}x" if often > 1 else "", low)
    for element, often in begun.items():
        grid = grids[element[0]]
        x, y = grid.corner(element[1])
        if often > 1:  # an init that runs again: below, where there is room
            where = f'x="{x + grid.side / 2:.1f}" y="{y + grid.side + 15:.1f}" text-anchor="middle"'
            yield f'<text class="zero index" {where}>0 {often}x</text>'
        else:
            yield f'<text class="zero index" x="{x + 6:.1f}" y="{y + 15:.1f}">0</text>'


def _frame(grid: Grid, element: Element, marks: str) -> str:
    x, y = grid.corner(element[1])
    size = f'width="{grid.side - 5}" height="{grid.side - 5}"'
    return f'<rect class="{marks}" x="{x + 2.5:.1f}" y="{y + 2.5:.1f}" {size}/>'


def _ring(grid: Grid, element: Element, marks: str) -> str:
    x, y = grid.corner(element[1])
    half = grid.side / 2
    return f'<circle class="{marks}" cx="{x + half:.1f}" cy="{y + half:.1f}" r="{half - 4:.1f}"/>'


def _count(grid: Grid, element: Element, text: str, low: float = 0) -> str:
    if not text:
        return ""
    x, y = grid.corner(element[1])
    half = grid.side / 2
    where = f'x="{x + half:.1f}" y="{y + half + 5 + low:.1f}" text-anchor="middle"'
    return f'<text class="count" {where}>{text}</text>'


def _faults(inspection: Inspection, target: Grid) -> Iterator[str]:
    for element in sorted(inspection.collisions):
        x, y = target.corner(element[1])
        end = target.side - 3
        yield (
            f'<path class="cross" d="M{x + 3:.1f} {y + 3:.1f} L{x + end:.1f} {y + end:.1f} '
            f'M{x + end:.1f} {y + 3:.1f} L{x + 3:.1f} {y + end:.1f}"/>'
        )
    for element in inspection.missed:
        yield _frame(target, element, "missed")
        yield _count(target, element, "?")


def _legend(y: float, faults: bool) -> Iterator[str]:
    yield f'<circle class="read" cx="30" cy="{y}" r="8"/><text x="46" y="{y + 5}">read</text>'
    yield (
        f'<rect class="write" x="98" y="{y - 8}" width="16" height="16"/>'
        f'<text x="122" y="{y + 5}">written</text>'
        f'<text class="index" x="194" y="{y + 5}">0</text>'
        f'<text x="208" y="{y + 5}">init</text>'
        f'<text x="252" y="{y + 5}"><tspan class="count">3x</tspan> three times</text>'
    )
    if faults:
        yield (
            f'<path class="cross" d="M374 {y - 7} l14 14 m0 -14 l-14 14"/>'
            f'<text x="396" y="{y + 5}">collision</text>'
            f'<rect class="missed" x="470" y="{y - 8}" width="16" height="16"/>'
            f'<text x="492" y="{y + 5}">never</text>'
        )
    else:
        yield f'<text x="374" y="{y + 5}">filled: the chosen iteration</text>'


def listing_html(inspection: Inspection, moved: str, at: Mapping[str, int]) -> str:
    """The program in TVMScript, with the lines marked that say what the picture shows."""
    now = inspection.moment(at)
    lines = program_lines(main_function(inspection.program).script())
    start = next(i for i, line in enumerate(lines) if f'sblock("{inspection.block}")' in line)
    depth = _depth(lines[start])
    end = next(
        (i for i, line in enumerate(lines) if i > start and _depth(line) <= depth), len(lines)
    )
    marked = set(_lines_of(lines, start, end, inspection, moved, now))
    return "".join(
        f'<div class="{"mlc-marked" if i in marked else ""}" '
        f'style="padding-left: {_depth(line) // 2 + 5}ch">'
        f"<span>{'&gt;&gt;' if i in marked else ''}</span>{html.escape(line.strip())}</div>"
        for i, line in enumerate(lines)
        if line.strip() and 'sblock("root")' not in line
    )


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _lines_of(
    lines: list[str], start: int, end: int, inspection: Inspection, moved: str, now: Moment
) -> Iterator[int]:
    """The lines that belong to what is shown."""
    for i in range(start, end):
        line = lines[i].strip()
        in_init = i > 0 and "T.init()" in lines[i - 1]
        if moved == ONE:
            stores = " = " in line and "T.axis" not in line
            if (stores and not in_init) or (now.init and ("T.init()" in line or in_init)):
                yield i
        elif "T.axis" in line or line.startswith("T.writes"):
            yield i
    if moved not in (ONE, ALL):
        for i in range(start - 1, -1, -1):
            if re.search(rf"for .*\b{re.escape(moved)}\b.* in ", lines[i]):
                yield i
                return
