"""A layered layout of boxes in rows, in which arrows are short and seldom cross.

The engine is igraph's: K. Sugiyama et al. (1981), with the columns of U. Brandes and B. Koepf
(2001). It places points; here its columns are spread until no two boxes touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from mlc_course.extras import on_demand

if TYPE_CHECKING:
    import igraph
else:
    igraph = on_demand("igraph", "bench")

GAP, PASSING = 17.0, 8.0  # between boxes; the width that an arrow takes where it passes a row


@dataclass(frozen=True)
class Layout:
    """The ``x`` of each box's middle; ``routes[e]`` has edge e's x in each row that it passes.

    ``width`` reaches from the left edge of the leftmost box to the right edge of the rightmost.
    """

    x: tuple[float, ...]
    routes: tuple[tuple[float, ...], ...]
    width: float


def place(widths: Sequence[float], rows: Sequence[int], edges: Sequence[tuple[int, int]]) -> Layout:
    """Place boxes of these widths in these rows; each edge goes down by one row or more."""
    wide, row = list(widths), list(rows)
    short: list[tuple[int, int]] = []
    passing: list[list[int]] = []
    for source, target in edges:
        assert rows[source] < rows[target], (source, target)
        stops = list(range(len(wide), len(wide) + rows[target] - rows[source] - 1))
        wide += [PASSING] * len(stops)
        row += range(rows[source] + 1, rows[target])
        short += pairwise((source, *stops, target))
        passing.append(stops)
    x = _in_order(_spread(_columns(row, short), wide, row), rows)
    left = min(at - half / 2 for at, half in zip(x, wide, strict=True))
    right = max(at + half / 2 for at, half in zip(x, wide, strict=True))
    x = [at - left for at in x]
    routes = tuple(tuple(x[stop] for stop in stops) for stops in passing)
    return Layout(tuple(x[: len(widths)]), routes, right - left)


def _columns(rows: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[float]:
    graph = igraph.Graph(len(rows), list(edges), directed=True)
    return [x for x, _ in graph.layout_sugiyama(layers=list(rows), hgap=1).coords]


def _in_order(x: Sequence[float], rows: Sequence[int]) -> list[float]:
    """The picture or its mirror image, in whichever the first row keeps more of its order."""
    first = [x[box] for box, row in enumerate(rows) if row == min(rows)]
    kept = sum((a < b) - (a > b) for a, b in combinations(first, 2))
    return [-each for each in x] if kept < 0 else list(x)


def _spread(x: Sequence[float], widths: Sequence[float], rows: Sequence[int]) -> list[float]:
    """The engine's columns, each as far from the next as the boxes in them need.

    The mean of two such answers, packed to the left and packed to the right, is one too; in it, a
    column with room on both sides is in the middle.
    """
    rounded = [round(at, 3) for at in x]
    at_one = list(zip(rows, rounded, strict=True))  # rarely, two of a row: they get two columns
    shares = [at_one[:box].count(each) for box, each in enumerate(at_one)]
    places = list(zip(rounded, shares, strict=True))
    columns = sorted(set(places))
    number = [columns.index(each) for each in places]
    apart: list[tuple[int, int, float]] = []
    for row in set(rows):
        here = sorted((number[box], box) for box in range(len(x)) if rows[box] == row)
        for (left, a), (right, b) in pairwise(here):
            apart.append((left, right, (widths[a] + widths[b]) / 2 + GAP))
    count = len(columns)
    packed = _packed(count, apart)
    mirrored = _packed(count, [(count - 1 - b, count - 1 - a, need) for a, b, need in apart])
    middle = [(left - right) / 2 for left, right in zip(packed, mirrored[::-1], strict=True)]
    return [middle[each] for each in number]


def _packed(count: int, apart: Sequence[tuple[int, int, float]]) -> list[float]:
    """The columns in their order, each as far to the left as it can be."""
    x = [0.0] * count
    for column in range(count):
        x[column] = max(
            x[max(column - 1, 0)],
            *(x[left] + need for left, right, need in apart if right == column),
            0.0,
        )
    return x
