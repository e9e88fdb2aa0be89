"""A tensor as a sheet on the page: how long its sides are, where its parts stand, its words.

Sides grow with a power of the extents below one, so that 1 and 4096 can both be seen; the same
extent is as long in every tensor. A part that would be too thin to see is drawn wider.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from mlc_course.mugraph.draw import svg
from mlc_course.mugraph.draw.labels import dimensions, same_for_all
from mlc_course.mugraph.draw.svg import SMALL
from mlc_course.mugraph.ir import BlockGraph
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.tiles import Tile, said
from mlc_course.mugraph.write import axis_map

WIDTH, MARGIN, GAP = 1000, 20, 36  # pixels: the page, its margin, between panels
POWER, LONGEST, SHORTEST, LEAST = 0.38, 700.0, 190.0, 14.0  # of sides; LEAST holds for any of them
TALLEST = 300.0  # a sheet
THIN_PART, THIN_TILE = 14.0, 6.0  # what is narrower is drawn so wide
STACK, STEP, SHEETS = 40.0, 10.0, 8  # how far the sheets of a stack lie apart; how many are drawn
TOP, HEAD, LINE = 42, 78, 19  # room for the title; above a sheet; for a line below it

Box = tuple[float, float, float, float]  # x, y, width, height
Span = tuple[float, float]  # start, length


@dataclass(frozen=True)
class Panel:
    """One tensor; ``x``, ``y`` is the upper left corner of its foremost sheet.

    ``tile`` is what the first block has of it. ``heading`` stands over the first of the loads and
    the first of the stores.
    """

    tile: Tile
    heading: str
    shape: str
    captions: tuple[str, ...]
    wide: float
    high: float
    x: float = 0
    y: float = 0

    @property
    def sheets(self) -> int:
        """Matrices that lie on each other."""
        return math.prod(self.tile.shape[:-2])

    @property
    def stack(self) -> float:
        """How far the hindmost sheet lies from the foremost."""
        return min(STACK, STEP * (self.sheets - 1))

    @property
    def top(self) -> float:
        """The upper edge of the words."""
        return self.y - self.stack - HEAD

    @property
    def width(self) -> float:
        """Of the panel with its words."""
        last = said(tuple(slice(n, n) for n in self.tile.shape))  # the longest there can be
        name = svg.width(self.tile.name, SMALL, bold=True) + svg.width(f" {self.shape}", SMALL)
        words = [svg.width(each, SMALL) for each in self.captions]
        bold = [svg.width(each, SMALL, bold=True) for each in (last, self.heading)]
        return max(self.wide + self.stack, name, *words, *bold)

    @property
    def height(self) -> float:
        """Of the panel with its words."""
        return HEAD + self.stack + self.high + LINE * len(self.captions)

    def corner(self, sheet: int) -> tuple[float, float]:
        """Of one of the sheets."""
        apart = self.stack * sheet / max(1, self.sheets - 1)
        return self.x + apart, self.y - apart

    def chosen(self, tile: Tile) -> list[int]:
        """The sheets on which a tile lies, from back to front; a few of them, if many."""
        found = [0]
        for size, part in zip(tile.shape[:-2], tile.here[:-2], strict=True):
            found = [n * size + i for n in found for i in range(part.start, part.stop)]
        return found[:: math.ceil(len(found) / SHEETS)][::-1]

    def boxes(self, tile: Tile) -> tuple[Box, Box]:
        """Where a block's part and its tile stand on a sheet."""
        columns = _spans(tile, -1, self.wide)
        rows = _spans(tile, -2, self.high) if len(tile.shape) > 1 else ((0.0, self.high),) * 2
        part, now = ((x, y, wide, high) for (x, wide), (y, high) in zip(columns, rows, strict=True))
        return part, now


def panels(graph: KernelGraph, block: BlockGraph, tiles: Sequence[Tile]) -> list[Panel]:
    """A panel for each tile, in as many rows as they need, with the longest sides that fit."""
    sides = [LONGEST - 10 * n for n in range(int((LONGEST - SHORTEST) / 10) + 1)]
    choices = [[_panel(graph, block, tile, tiles, side) for tile in tiles] for side in sides]
    low = [each for each in choices if max(panel.high for panel in each) <= TALLEST]
    in_one_row = (each for each in low if _across(each) <= WIDTH - 2 * MARGIN)
    in_two = (each for each in low if max(map(_across, _groups(each))) <= WIDTH - 2 * MARGIN)
    return _arranged(next(chain(in_one_row, in_two), choices[-1]))


def _groups(found: Sequence[Panel]) -> list[list[Panel]]:
    """Loads, stores."""
    return [[each for each in found if each.tile.kind == kind] for kind in ("load", "store")]


def _across(found: Sequence[Panel]) -> float:
    """The width of panels side by side."""
    return sum(panel.width + GAP for panel in found) - GAP


def _panel(
    graph: KernelGraph, block: BlockGraph, tile: Tile, tiles: Sequence[Tile], longest: float
) -> Panel:
    largest = max(n for each in tiles for n in each.shape[-2:])
    high, wide = (max(LEAST, longest * (n / largest) ** POWER) for n in (1, *tile.shape)[-2:])
    dims = dimensions(graph, tile.number)
    first = next(each for each in tiles if each.kind == tile.kind) is tile
    verb = "loads" if tile.kind == "load" else "stores, after the loop" if block.loops else "stores"
    shape = f"[{', '.join(dims)}]"
    return Panel(tile, verb if first else "", shape, _captions(tile, block, dims), wide, high)


def _captions(tile: Tile, block: BlockGraph, dims: Sequence[str]) -> tuple[str, ...]:
    """Each map, and into how many parts it cuts which dimension."""
    extents = dict((*block.grid, *block.loops))
    maps = (("imap" if tile.kind == "load" else "omap", tile.grid), ("fmap", tile.loops))
    lines = []
    for kind, cuts in maps:
        for axis, dim in cuts:
            named = dims[dim].partition("=")[0]
            what = "" if named.isdigit() else f"{named} in "
            lines.append(f"{kind} {axis_map(((axis, dim),))}: {what}{extents[axis]:,} parts")
    same = same_for_all(block, (*tile.grid, *tile.loops)) if tile.kind == "load" else ""
    return tuple(filter(None, (*lines, same))) or ("the whole tensor",)


def _arranged(found: Sequence[Panel]) -> list[Panel]:
    """Panels from left to right in rows; stores begin a row if not all of them fit."""
    rows: list[list[Panel]] = [[]]
    free = WIDTH - 2 * MARGIN
    for panel in found:
        stores = _groups(found)[1]
        together = stores if panel is stores[0] else [panel]
        if rows[-1] and _across([*rows[-1], *together]) > free:
            rows.append([])
        rows[-1].append(panel)
    placed, y = [], float(TOP)
    for row in rows:
        x = float(MARGIN)
        for panel in row:
            placed.append(replace(panel, x=x, y=y + HEAD + panel.stack))
            x += panel.width + GAP
        y += max(panel.height for panel in row) + 16
    return placed


def _spans(tile: Tile, dim: int, side: float) -> tuple[Span, Span]:
    """Along one dimension: a block's part on a side so long, and the tile."""
    whole = slice(0, tile.shape[dim])
    start, long = _span(tile.part[dim], whole, side, THIN_PART)
    inner, short = _span(tile.here[dim], tile.part[dim], long, THIN_TILE)
    return (start, long), (start + inner, short)


def _span(inner: slice, outer: slice, side: float, least: float) -> Span:
    whole, part = outer.stop - outer.start, inner.stop - inner.start
    long = min(side, max(side * part / whole, least))
    return ((side - long) * (inner.start - outer.start) / max(1, whole - part)), long
