"""Programs under the roofs of this machine, each with its name beside its dot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from mlc_course.drawing import (
    DASHED,
    PAGE_INK,
    PAGE_OURS,
    ROOF,
    document,
    line,
    round_numbers,
    text,
    width,
)
from mlc_course.tensor_program.ladders import Point
from mlc_course.tensor_program.memory import Roofs

WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 920, 470, 76, 30, 60, 400
APART = 19  # from one name to the next


def roofs_svg(points: Sequence[Point], roofs: Roofs, heading: str) -> str:
    """Speed over operations for each byte from memory, both axes logarithmic."""
    ridge = roofs.gflops / roofs.gbytes_per_s
    across = [*(each.intensity for each in points), ridge / 4, ridge * 4]
    up = [*(each.gflops for each in points), roofs.gflops]
    axes = _Axes(min(across) / 2, max(across) * 6, min(up) / 2, max(up) * 1.6)
    parts = [text(12, 24, heading, size=17, bold=True, anchor="start")]
    parts += axes.drawn()
    parts += _roofs(axes, roofs, ridge)
    parts += _named(axes, points, (ridge, roofs.gflops))
    said = "; ".join(
        f"{e.name} {e.gflops:.3g} GFLOP/s at {e.intensity:.3g} operations a byte, "
        f"{e.gflops / e.attainable(roofs):.0%} of its roof"
        for e in points
    )
    return document(WIDE, HIGH, f"{heading}. {said}", parts)


class _Axes:
    """Places of a logarithmic plot."""

    def __init__(self, left: float, right: float, low: float, high: float) -> None:
        self.left, self.right, self.low, self.high = left, right, low, high

    def x(self, value: float) -> float:
        share = math.log(value / self.left) / math.log(self.right / self.left)
        return LEFT + (WIDE - LEFT - RIGHT) * share

    def y(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return BOTTOM - (BOTTOM - TOP) * share

    def drawn(self) -> Iterator[str]:
        yield line((LEFT, TOP - 8), (LEFT, BOTTOM), colour=PAGE_INK, wide=1)
        yield line((LEFT, BOTTOM), (WIDE - RIGHT, BOTTOM), colour=PAGE_INK, wide=1)
        for tick in round_numbers(self.left, self.right):
            yield text(self.x(tick), BOTTOM + 18, f"{tick:,.6g}", size=13)
        for tick in round_numbers(self.low, self.high):
            yield text(LEFT - 8, self.y(tick) + 5, f"{tick:,.6g}", size=13, anchor="end")
        yield text(LEFT - 8, TOP - 16, "GFLOP/s", size=14, bold=True)
        words = "operations for each byte to or from memory (both axes are logarithmic)"
        yield text((LEFT + WIDE - RIGHT) / 2, BOTTOM + 42, words)


def _roofs(axes: _Axes, roofs: Roofs, ridge: float) -> Iterator[str]:
    start = max(axes.left, axes.low / roofs.gbytes_per_s)
    corner = (axes.x(ridge), axes.y(roofs.gflops))
    foot = (axes.x(start), axes.y(start * roofs.gbytes_per_s))
    end = (axes.x(axes.right), corner[1])
    yield line(foot, corner, colour=ROOF, wide=2.5, more=DASHED)
    yield line(corner, end, colour=ROOF, wide=2.5, more=DASHED)
    peak = f"peak {roofs.gflops:.3g} GFLOP/s"
    yield text(end[0], corner[1] - 8, peak, size=14, bold=True, anchor="end", colour=ROOF)
    lean = math.degrees(math.atan2(corner[1] - foot[1], corner[0] - foot[0]))
    middle = ((foot[0] + corner[0]) / 2, (foot[1] + corner[1]) / 2)
    words = text(0, -9, f"memory {roofs.gbytes_per_s:.3g} GB/s", size=14, bold=True, colour=ROOF)
    yield (
        f'<g transform="translate({middle[0]:.1f} {middle[1]:.1f}) rotate({lean:.1f})">{words}</g>'
    )


def _named(axes: _Axes, points: Sequence[Point], corner: tuple[float, float]) -> Iterator[str]:
    """Dots, from the highest down; a name keeps clear of those near it, and of the flat roof."""
    roof = axes.x(corner[0]), float(WIDE), axes.y(corner[1]) + 4
    taken = [roof]  # left, right and line of each name
    for point in sorted(points, key=lambda each: -each.gflops):
        x, y = axes.x(point.intensity), axes.y(point.gflops)
        words = f"{point.name} {point.gflops:.3g}"
        wide = width(words, 14)
        left = x + 10 if x + 10 + wide < WIDE else x - 10 - wide
        at = y + 5
        while any(left < b and a < left + wide and abs(at - t) < APART for a, b, t in taken):
            at += 3
        taken.append((left, left + wide, at))
        if abs(at - y - 5) > 8:
            near = left - 2 if left > x else left + wide + 2
            yield line((x, y), (near, at - 5), colour=PAGE_INK, wide=0.8)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{PAGE_OURS}"/>'
        yield text(left, at, words, size=14, anchor="start")
