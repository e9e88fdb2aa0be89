"""The sets of a cache, and how many lines of a panel compete for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from mlc_course.drawing import AMBER, PAGE_OURS, PAGE_PAPER, SMALL, document, rect, text
from mlc_course.tensor_program.memory import Cache

ACROSS = 64  # sets in a row of the picture: the lines of a page of 4096 bytes
CELL, HIGH, GAP = 4.2, 130.0, 34.0


@dataclass(frozen=True)
class Layout:
    """A panel of ``rows`` rows of ``row_bytes``, each ``stride`` bytes after the one before."""

    rows: int
    row_bytes: int
    stride: int

    def demand(self, cache: Cache) -> NDArray[np.int64]:
        """Return the number of the panel's lines that belong to each set."""
        starts = np.arange(self.rows, dtype=np.int64)[:, None] * self.stride
        addresses = starts + np.arange(0, self.row_bytes, 4)[None, :]
        lines = np.unique(addresses // cache.line)
        return np.bincount(lines % cache.sets, minlength=cache.sets)


def sentence(name: str, layout: Layout, cache: Cache) -> str:
    """Return how many sets a panel's lines belong to, and whether they have room there."""
    demand = layout.demand(cache)
    used, most = np.count_nonzero(demand), int(demand.max())
    room = "they fit" if most <= cache.ways else "they do not fit"
    return (
        f"{name}: {used:,} of {cache.sets:,} sets, at most {most:,} lines in a set of "
        f"{cache.ways}: {room}"
    )


def sets_svg(layouts: Mapping[str, Layout], cache: Cache) -> str:
    """Draw the sets of a cache once for each layout, by how many lines compete for a set.

    White sets get no line of the panel, blue ones as many as they hold, amber ones more.
    """
    wide = ACROSS * CELL
    parts, said = [], []
    for number, (name, layout) in enumerate(layouts.items()):
        left = 6 + number * (wide + GAP)
        demand = layout.demand(cache)
        said.append(sentence(name, layout, cache))
        parts.append(text(left, 18, name, bold=True, anchor="start"))
        parts.append(rect(left, 28, wide, HIGH, round_by=0))
        parts += _cells(demand, cache, left)
        used = np.count_nonzero(demand)
        below = (
            f"{used:,} of {cache.sets:,} sets",
            f"{int(demand.max()):,} lines for {cache.ways} places",
        )
        for place, words in enumerate(below):
            parts.append(text(left, 48 + HIGH + 20 * place, words, size=SMALL, anchor="start"))
    key = (
        f"each row: {ACROSS} neighbouring sets; white: no line of the panel, blue: they fit, "
        "amber: more lines than places"
    )
    parts.append(text(6, HIGH + 98, key, size=SMALL, anchor="start"))
    total = 12 + len(layouts) * (wide + GAP) - GAP
    return document(total, HIGH + 110, ". ".join(said), parts)


def _cells(demand: NDArray[np.int64], cache: Cache, left: float) -> Iterator[str]:
    """Neighbouring sets of one colour are one box."""
    across = min(ACROSS, cache.sets)
    rows = demand.reshape(-1, across)
    high, wide = HIGH / len(rows), ACROSS * CELL / across
    for y, row in enumerate(rows):
        x = 0
        for colour, run in groupby(row, lambda lines: _colour(int(lines), cache)):
            length = len(list(run))
            if colour != PAGE_PAPER:
                box = left + x * wide, 28 + y * high, length * wide, high
                yield rect(*box, fill=colour, stroke=colour, line=0, round_by=0)
            x += length


def _colour(lines: int, cache: Cache) -> str:
    if not lines:
        return PAGE_PAPER
    return PAGE_OURS if lines <= cache.ways else AMBER
