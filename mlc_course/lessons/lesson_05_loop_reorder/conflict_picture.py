"""The picture of a conflict: two loops as a grid of points, and the order in which they are run.

Left as the program was, right as it is to become. The two iterations of a witness have a circle
and a square; the arrow goes from the one that runs first to the other.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator

from mlc_course.errors import UsageError
from mlc_course.tensor_program.legality import Illegal, Run, Verdict
from mlc_course.tensor_program.tir import IRModule, PrimFunc, Schedule
from mlc_course.words import marked, tr

WIDTH, PANEL, TOP, GRID = 1000, 500, 66, 330
MOST = 12  # iterations of a loop
STYLE = """
.mlc-points text { font: 14px var(--jp-ui-font-family, sans-serif);
  fill: var(--mlc-ink, #222221); }
.mlc-points .page { fill: var(--mlc-paper, #fffffe); }
.mlc-points .big { font-size: 16px; font-weight: bold; }
.mlc-points .path { fill: none; stroke: var(--mlc-ink, #222221); stroke-opacity: 0.3;
  stroke-width: 1.5; }
.mlc-points .point { fill: var(--mlc-ink, #222221); fill-opacity: 0.55; }
.mlc-points .first { fill: var(--mlc-paper, #fffffe); stroke: var(--mlc-ours, #0072b2);
  stroke-width: 4; }
.mlc-points .second { fill: var(--mlc-paper, #fffffe); stroke: #e69f00; stroke-width: 4; }
.mlc-points .arrow { stroke: var(--mlc-ink, #222221); stroke-width: 3.5; fill: none; }
.mlc-points .head { fill: var(--mlc-ink, #222221); }
"""
HEAD = (
    '<marker id="mlc-head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="5" markerHeight="5" '
    'orient="auto-start-reverse"><path class="head" d="M0 0 L10 5 L0 10 Z"/></marker>'
)

Point = tuple[int, int]


def iterations_svg(
    before: IRModule | PrimFunc | Schedule,
    after: IRModule | PrimFunc | Schedule,
    verdict: Verdict,
    titles: tuple[str, str] = (marked("before"), marked("after")),
) -> str:
    """Both orders of a nest of two loops, and the witness if ``verdict`` has one.

    Raises ``UsageError`` for programs that are not one statement in two loops of at most 12
    iterations, with the same names before and after.
    """
    old, new = _points(before), _points(after)
    names = tuple(old)
    if sorted(new) != sorted(names):
        raise UsageError("not the same two loops", expected=", ".join(names), got=", ".join(new))
    orders = [list(zip(run[names[0]], run[names[1]], strict=True)) for run in (old, new)]
    witness = _witness(verdict, names)
    parts = [f"<style>{STYLE}</style><defs>{HEAD}</defs>"]
    for side, (order, title) in enumerate(zip(orders, titles, strict=True)):
        parts += _panel(PANEL * side, order, tr(title), names, witness)
    lines = textwrap.wrap(str(verdict), 128)
    height = TOP + GRID + 16 + 22 * len(lines)
    parts += [
        f'<text x="12" y="{TOP + GRID + 24 + 22 * i}">{html.escape(line)}</text>'
        for i, line in enumerate(lines)
    ]
    return (
        f'<svg class="mlc-points" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{html.escape(str(verdict))}" xmlns="http://www.w3.org/2000/svg">'
        f'<rect class="page" width="{WIDTH}" height="{height}"/>{"".join(parts)}</svg>'
    )


def _points(program: IRModule | PrimFunc | Schedule) -> dict[str, list[int]]:
    """The values of the two loops, in the order in which the iterations run."""
    run = Run(program)
    if len(run.parts) != 1 or len(run.parts[0].statement.loops) != 2:
        raise UsageError(
            "not one statement in a nest of two loops", got=f"{len(run.parts)} of them"
        )
    (part,) = run.parts
    loops = part.statement.loops
    if max(loop.extent for loop in loops) > MOST:
        raise UsageError("too many iterations to draw", expected=f"at most {MOST} in each loop")
    columns = part.points[part.times.argsort()].T.tolist()
    return {str(loop.var.name): values for loop, values in zip(loops, columns, strict=True)}


def _witness(verdict: Verdict, names: tuple[str, ...]) -> list[Point]:
    if not isinstance(verdict, Illegal) or len(verdict.iterations) != 2:
        return []
    found = [each.at for each in verdict.iterations]
    if any(set(at) != set(names) for at in found):
        raise UsageError("the witness has other loops", expected=", ".join(names), got=found[0])
    return [(at[names[0]], at[names[1]]) for at in found]


def _panel(
    left: int, order: list[Point], title: str, names: tuple[str, ...], witness: list[Point]
) -> Iterator[str]:
    rows, columns = (sorted({point[axis] for point in order}) for axis in (0, 1))
    step = GRID / max(len(rows), len(columns))

    def at(point: Point) -> tuple[float, float]:
        x = left + 70 + step * (columns.index(point[1]) + 0.5)
        return x, TOP + step * (rows.index(point[0]) + 0.5)

    yield f'<text class="big" x="{left + 12}" y="22">{html.escape(title)}</text>'
    for column in columns:
        x, _ = at((rows[0], column))
        yield _label(x, TOP - 8, f"{names[1]}={column}" if column == columns[0] else str(column))
    for row in rows:
        _, y = at((row, columns[0]))
        yield _label(left + 44, y + 5, f"{names[0]}={row}" if row == rows[0] else str(row))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(at, order))
    yield f'<polyline class="path" points="{path}"/>'
    for x, y in map(at, order):
        yield f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
    if witness:
        first, second = witness
        yield from _pair(at(first), at(second), order.index(first), order.index(second))


def _pair(
    first: tuple[float, float], second: tuple[float, float], rank: int, other: int
) -> Iterator[str]:
    """Circle and square with the numbers of their turns, and the arrow from the earlier one."""
    (x, y), (u, v) = first, second
    size = 15.0
    yield f'<circle class="first" cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>'
    yield (
        f'<rect class="second" x="{u - size:.1f}" y="{v - size:.1f}" width="{2 * size}" '
        f'height="{2 * size}"/>'
    )
    yield _label(x, y + 5, str(rank + 1)) + _label(u, v + 5, str(other + 1))
    (a, b), (c, d) = (first, second) if rank < other else (second, first)
    length = max(((c - a) ** 2 + (d - b) ** 2) ** 0.5, 1.0)
    dx, dy = (c - a) / length, (d - b) / length
    gap = size * 1.45
    yield (
        f'<line class="arrow" x1="{a + gap * dx:.1f}" y1="{b + gap * dy:.1f}" '
        f'x2="{c - gap * dx:.1f}" y2="{d - gap * dy:.1f}" marker-end="url(#mlc-head)"/>'
    )


def _label(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{html.escape(text)}</text>'
