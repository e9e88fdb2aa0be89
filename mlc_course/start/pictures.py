"""A small picture for each lesson: SVG in a square of 40, in the colours of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlc_course.drawing import AMBER, PAGE_INK, PAGE_OURS

SIZE = 40
NONE = "none"


def box(x: float, y: float, wide: float, high: float, fill: str = NONE, stroke: str = "") -> str:
    """A rectangle; filled ones have no edge unless they are given one."""
    edge = stroke or (PAGE_INK if fill == NONE else NONE)
    return f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" fill="{fill}" stroke="{edge}"/>'


def dot(x: float, y: float, radius: float = 3, fill: str = PAGE_INK) -> str:
    """A filled circle."""
    return f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}" stroke="{NONE}"/>'


def ring(x: float, y: float, radius: float, stroke: str = PAGE_INK) -> str:
    """A circle that is not filled."""
    return f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{NONE}" stroke="{stroke}"/>'


def path(d: str, stroke: str = PAGE_INK, line: float = 1.6, more: str = "") -> str:
    """A line; ``d`` is SVG's."""
    return f'<path d="{d}" fill="{NONE}" stroke="{stroke}" stroke-width="{line}" {more}/>'


def columns(heights: Sequence[float], wide: float, fill: Iterable[int] = ()) -> str:
    """Bars that stand on the floor, those in ``fill`` amber and the others ours."""
    step = 36 / len(heights)
    return "".join(
        box(2 + step * n, 37 - high, wide, high, AMBER if n in fill else PAGE_OURS)
        for n, high in enumerate(heights)
    )


def cells(count: int, lit: Iterable[tuple[int, int]], fill: str = PAGE_OURS) -> str:
    """A square of ``count`` times ``count`` cells, in which (column, row) are ``lit``."""
    side = 36 / count
    lines = "".join(f"M2 {2 + side * n}h36M{2 + side * n} 2v36" for n in range(count + 1))
    squares = "".join(box(2 + side * x, 2 + side * y, side, side, fill) for x, y in lit)
    return squares + path(lines, line=1)


def links(*ends: tuple[float, float, float, float]) -> str:
    """Straight lines, each from a point to another."""
    return path("".join(f"M{a} {b}L{c} {d}" for a, b, c, d in ends), line=1.4)


DASHED = 'stroke-dasharray="3 3"'

PICTURES: dict[int, str] = {
    # the spread of repeated measurements, with a stray one
    0: columns((6, 22, 33, 18, 8, 3, 0, 5), 3.6, fill=(7,)) + path("M1 38h38"),
    # a network becomes one piece of code
    1: links((6, 8, 18, 20), (6, 20, 18, 20), (6, 32, 18, 20), (18, 20, 25, 20))
    + "".join(dot(6, y) for y in (8, 20, 32))
    + dot(18, 20, 3, PAGE_OURS)
    + box(26, 10, 12, 20, PAGE_OURS),
    # loops inside loops, and a block
    2: path("M4 5h22M9 13h22M14 21h22") + box(19, 27, 19, 10, PAGE_OURS),
    # small and near, large and far
    3: box(15, 3, 10, 8, AMBER) + box(9, 15, 22, 9, PAGE_OURS) + box(2, 28, 36, 9),
    # two roofs and a program below them
    4: path("M3 37V3M3 37H38") + path("M4 34L20 12H38", PAGE_OURS, 2.4) + dot(14, 30, 3.4, AMBER),
    # along the rows, and down the columns
    5: path("M3 8H33l-5 -4m5 4l-5 4", PAGE_OURS, 2.2)
    + path("M3 18H33M3 28H33", PAGE_OURS, 2.2)
    + path("M37 3V36l-4 -5m4 5l3 -5", AMBER, 2.2),
    # one tile of a matrix
    6: cells(6, ((x, y) for x in (1, 2, 3) for y in (1, 2))),
    # a tile in a tile
    7: cells(6, ((x, y) for x in range(1, 5) for y in range(1, 5)))
    + box(14, 14, 12, 6, AMBER, PAGE_INK),
    # two loops become one
    8: box(3, 4, 13, 10, PAGE_OURS)
    + box(24, 4, 13, 10, AMBER)
    + path("M9 16v6H31v-6M20 22v4")
    + box(10, 28, 10, 9, PAGE_OURS)
    + box(20, 28, 10, 9, AMBER),
    # lanes that move together
    9: "".join(path(f"M3 {y}H34l-5 -3m5 3l-5 3", PAGE_OURS, 2) for y in (6, 15, 24, 33)),
    # tasks on threads
    10: box(2, 5, 20, 6, PAGE_OURS)
    + box(24, 5, 13, 6, PAGE_OURS)
    + box(2, 17, 32, 6, PAGE_OURS)
    + box(2, 29, 12, 6, AMBER)
    + path("M37 2V38", more=DASHED),
    # rows from here and there, side by side
    11: box(2, 3, 12, 4, AMBER)
    + box(8, 15, 12, 4, AMBER)
    + box(2, 27, 12, 4, AMBER)
    + path("M22 17h5l-3 -3m3 3l-3 3")
    + box(30, 8, 8, 18, AMBER, PAGE_INK),
    # many tries, one of them the best
    12: "".join(
        dot(x, y, 2) for x, y in ((5, 9), (11, 20), (15, 7), (19, 25), (25, 14), (35, 20), (8, 31))
    )
    + dot(29, 32, 3, AMBER)
    + ring(29, 32, 6.4, PAGE_OURS),
    # a graph, and what runs together
    13: links((20, 6, 9, 18), (20, 6, 31, 18), (9, 18, 20, 32), (31, 18, 20, 32))
    + dot(20, 6)
    + dot(9, 18)
    + dot(31, 18, 3, AMBER)
    + dot(20, 32, 3, AMBER)
    + path("M36 12L38 20L24 38L14 34L26 13Z", PAGE_OURS, more=DASHED),
    # candidates that are struck out, and the one that is left
    14: "".join(box(3 + 9 * x, y, 7, 6) for y in (4, 17) for x in range(4))
    + path("M1 7H39M1 20H39", AMBER, 2)
    + "".join(box(3 + 9 * x, 30, 7, 7, PAGE_OURS) for x in range(4)),
    # blocks of threads
    15: "".join(
        box(2 + 19 * a, 2 + 19 * b, 17, 17)
        + "".join(
            dot(6 + 19 * a + 4.5 * x, 6 + 19 * b + 4.5 * y, 1.4, PAGE_OURS)
            for x in range(3)
            for y in range(3)
        )
        for a in range(2)
        for b in range(2)
    ),
    # three levels
    16: box(2, 2, 36, 36) + box(8, 9, 24, 24, PAGE_OURS) + box(15, 16, 10, 10, AMBER),
    # numbers in a circle
    17: ring(20, 20, 15)
    + "".join(
        dot(x, y, 2.2) for x, y in ((20, 5), (33, 12.5), (33, 27.5), (20, 35), (7, 27.5), (7, 12.5))
    )
    + path("M14 17h12M14 23h12", PAGE_OURS, 2.6),
    # a tree with branches that are cut
    18: links((20, 5, 9, 17), (20, 5, 31, 17), (9, 17, 4, 32), (9, 17, 15, 32), (31, 17, 25, 32))
    + path("M31 17L37 32", more=DASHED)
    + path("M31 22l6 4m-6 0l6 -4", AMBER, 2)
    + dot(20, 5)
    + dot(9, 17)
    + dot(31, 17)
    + dot(4, 33, 2.4)
    + dot(25, 33, 2.4)
    + dot(15, 33, 3.6, PAGE_OURS),
    # from a graph to lines of code
    19: dot(6, 8)
    + dot(6, 30)
    + links((6, 8, 6, 30))
    + path("M11 19h6l-3 -3m3 3l-3 3")
    + path("M22 6H38M25 13H36M25 20H38M25 27H33M22 34H30", PAGE_OURS, 2.4),
    # sizes that are not known yet
    20: box(3, 12, 18, 18, PAGE_OURS)
    + path("M21 12H37V30H21M3 12V3H21V12", more=DASHED)
    + '<text x="29" y="26" font-size="14" font-weight="bold" text-anchor="middle">?</text>',
    # your own
    21: path("M20 3L25 15L38 16L28 24L31 37L20 30L9 37L12 24L2 16L15 15Z", AMBER, 2.4)
    + dot(20, 21, 4, PAGE_OURS),
}
