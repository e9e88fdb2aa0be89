"""The picture of one block at work: each tensor is a sheet, with its cuts and the filled tiles.

Sides grow with a power of the extents below one, so that 1 and 4096 can both be seen; the same
extent is as long in every tensor. A part that would be too thin to see is drawn wider.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import chain

from mlc_course.drawing import AMBER, PAGE_INK, PAGE_OURS, SMALL, svg
from mlc_course.mugraph.cost import Tile, block_graph, moment, said, sentence, tiles
from mlc_course.mugraph.ir import AxisMap, BlockGraph, Index, KernelGraph, map_text
from mlc_course.mugraph.picture.boxes import dimensions, same_for_all
from mlc_course.words import tr

WIDTH, MARGIN, GAP = 1000, 20, 36  # pixels: the page, its margin, between panels
POWER, LONGEST, SHORTEST, LEAST = 0.38, 700.0, 190.0, 14.0  # of sides; LEAST holds for any of them
TALLEST = 300.0  # a sheet
THIN_PART, THIN_TILE = 14.0, 6.0  # what is narrower is drawn so wide
STACK, STEP, SHEETS = 40.0, 10.0, 8  # how far the sheets of a stack lie apart; how many are drawn
TOP, HEAD, LINE = 42, 78, 19  # room for the title; above a sheet; for a line below it
FINEST, CLOSE, TICK = 5.0, 8.0, 5.0  # pixels: lines of a cut are no closer; if close, ticks so long
NOW, PART = 0.85, 0.22  # how strong the fill is of a tile, and of a block's part
GRID_LINE = f'stroke="{PAGE_INK}" stroke-width="0.9"'
LOOP_LINE = f'stroke="{AMBER}" stroke-width="1.2" stroke-dasharray="3 2"'

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
        """The distance of the last sheet from the first."""
        return min(STACK, STEP * (self.sheets - 1))

    @property
    def top(self) -> float:
        """The upper edge of the words."""
        return self.y - self.stack - HEAD

    @property
    def width(self) -> float:
        """The extent of the panel with its words."""
        last = said(tuple(slice(n, n) for n in self.tile.shape))  # the longest there can be
        name = svg.width(self.tile.name, SMALL, bold=True) + svg.width(f" {self.shape}", SMALL)
        words = [svg.width(each, SMALL) for each in self.captions]
        bold = [svg.width(each, SMALL, bold=True) for each in (last, self.heading)]
        return max(self.wide + self.stack, name, *words, *bold)

    @property
    def height(self) -> float:
        """The extent of the panel with its words."""
        return HEAD + self.stack + self.high + LINE * len(self.captions)

    def corner(self, sheet: int) -> tuple[float, float]:
        """Return the upper left corner of a sheet."""
        apart = self.stack * sheet / max(1, self.sheets - 1)
        return self.x + apart, self.y - apart

    def chosen(self, tile: Tile) -> list[int]:
        """The sheets on which a tile lies, from back to front; a few of them, if many."""
        found = [0]
        for size, part in zip(tile.shape[:-2], tile.here[:-2], strict=True):
            found = [n * size + i for n in found for i in range(part.start, part.stop)]
        return found[:: math.ceil(len(found) / SHEETS)][::-1]

    def boxes(self, tile: Tile) -> tuple[Box, Box]:
        """Return the boxes of a block's part and of its tile on a sheet."""
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
    stores = tr("stores, after the loop") if block.loops else tr("stores")
    verb = tr("loads") if tile.kind == "load" else stores
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
            values = {"map": f"{kind} {map_text(((axis, dim),))}", "count": extents[axis]}
            if named.isdigit():
                lines.append(tr("{map}: {count:,} parts", **values))
            else:
                lines.append(tr("{map}: {dim} in {count:,} parts", dim=named, **values))
    same = same_for_all(block, (*tile.grid, *tile.loops)) if tile.kind == "load" else ""
    return tuple(filter(None, (*lines, same))) or (tr("the whole tensor"),)


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


def tiles_svg(graph: KernelGraph, place: int, block: Index, iteration: Index = ()) -> str:
    """The tensors of the block graph at ``place``, with what a block has of them in an iteration.

    As in ``cost.tiles``, () of a graph with loops is the time after them, when the block stores.
    Raises ``UsageError`` for a place, a block or an iteration that is not there.
    """
    found = tiles(graph, place, block, iteration)
    stage = Stage(graph, place)
    lit = f'<g id="lit">{stage.lit(found, moment(stage.block, block, iteration))}</g>'
    words = sentence(graph, place, block, iteration)
    return svg.document(WIDTH, stage.height, words, [stage.drawn, lit])


class Stage:
    """The tensors of the block graph at ``place``; ``drawn`` is the same for all its blocks."""

    def __init__(self, graph: KernelGraph, place: int) -> None:
        self.block = block_graph(graph, place)
        self.extents = dict((*self.block.grid, *self.block.loops))
        first = tuple(0 for _ in self.block.grid)
        self.panels = panels(graph, self.block, tiles(graph, place, first))

    @property
    def height(self) -> float:
        """The height of the picture with its legend."""
        return max(each.top + each.height for each in self.panels) + 52

    @cached_property
    def drawn(self) -> str:
        """All sheets with their names and the grid's cuts."""
        parts = [part for panel in self.panels for part in self._sheets(panel)]
        return "".join([*parts, *self._key()])

    def _sheets(self, panel: Panel) -> Iterator[str]:
        x, y, name = panel.x, panel.top, escape(panel.tile.name)
        yield svg.text(x, y + 14, panel.heading, size=SMALL, bold=True, anchor="start")
        yield (
            f'<text id="tensor-{name}" x="{x:.1f}" y="{y + 40:.1f}" font-size="{SMALL}">'
            f'<tspan font-weight="bold">{name}</tspan> {escape(panel.shape)}</text>'
        )
        drawn = range(0, panel.sheets, math.ceil(panel.sheets / SHEETS))
        for sheet in reversed(drawn):
            yield self._sheet(panel, sheet)
        for row, words in enumerate(panel.captions, start=1):
            low = panel.y + panel.high + LINE * row
            yield svg.text(x, low, words, size=SMALL, anchor="start")

    def _sheet(self, panel: Panel, sheet: int, stroke: str = PAGE_INK) -> str:
        """Draw one matrix with the cuts of the grid."""
        x, y = panel.corner(sheet)
        sides = panel.wide, panel.high
        paper = svg.rect(x, y, *sides, stroke=stroke, line=1.6, round_by=0)
        cut = _lines((x, y, *sides), self._parts(panel.tile, panel.tile.grid), THIN_PART)
        return f'{paper}<path d="{cut}" {GRID_LINE}/>' if cut else paper

    def _parts(self, tile: Tile, cuts: AxisMap) -> tuple[int, int]:
        """Into how many columns, and how many rows, a map cuts a matrix."""
        last = len(tile.shape) - 1
        columns, rows = (
            math.prod(self.extents[axis] for axis, dim in cuts if dim == each)
            for each in (last, last - 1)
        )
        return columns, rows

    def _key(self) -> Iterator[str]:
        """Draw the legend of fills and lines."""
        x, y = float(MARGIN), self.height - 12
        signs = {
            tr("loaded or stored now"): _filled((x, y - 12, 18, 14), NOW),
            tr("this block's, in all iterations"): _filled((x, y - 12, 18, 14), PART),
            tr("cut by the grid"): f'<path d="M{x + 9} {y - 13}v16" {GRID_LINE}/>',
            tr("cut by the loop"): f'<path d="M{x + 9} {y - 13}v16" {LOOP_LINE}/>',
        }
        if not self.block.loops:
            now, _, grid, _ = signs.values()
            signs = {tr("loaded or stored"): now, tr("cut by the grid"): grid}
        apart = 0.0
        for words, sign in signs.items():
            label = svg.text(x + 26, y, words, size=SMALL, anchor="start")
            yield f'<g transform="translate({apart:.1f} 0)">{sign}{label}</g>'
            apart += 52 + svg.width(words, SMALL)

    def lit(self, found: Sequence[Tile], title: str) -> str:
        """Highlight a block's part and tile of every tensor, over what is ``drawn``."""
        words = svg.text(MARGIN, 22, title, size=16, bold=True, anchor="start", colour=PAGE_OURS)
        pairs = zip(self.panels, found, strict=True)
        return words + "".join(part for panel, tile in pairs for part in self._lit(panel, tile))

    def _lit(self, panel: Panel, tile: Tile) -> Iterator[str]:
        now, words = tile.now is not None, said(tile.here)
        yield svg.text(
            panel.x,
            panel.top + 62,
            words,
            size=SMALL,
            bold=now,
            anchor="start",
            colour=PAGE_OURS if now else PAGE_INK,
        )
        part, box = panel.boxes(tile)
        for sheet in panel.chosen(tile):
            x, y = panel.corner(sheet)
            if panel.sheets > 1:
                yield self._sheet(panel, sheet, PAGE_OURS)
            yield _filled((x + part[0], y + part[1], *part[2:]), PART)
            cut = _lines(
                (x + part[0], y + part[1], *part[2:]), self._parts(tile, tile.loops), CLOSE
            )
            if cut:
                yield f'<path d="{cut}" {LOOP_LINE}/>'
            if now:
                yield _filled((x + box[0], y + box[1], *box[2:]), NOW)


def _filled(box: tuple[float, float, float, float], opacity: float) -> str:
    more = f'fill-opacity="{opacity}"'
    return svg.rect(*box, fill=PAGE_OURS, stroke=PAGE_OURS, line=1.2, round_by=0, more=more)


def _lines(box: tuple[float, float, float, float], parts: tuple[int, int], least: float) -> str:
    """Lines that cut a box into so many columns and rows; ticks where parts are below ``least``."""
    x, y, wide, high = box
    columns, rows = parts
    across = [x + at for at in _cuts(wide, columns)]
    down = [y + at for at in _cuts(high, rows)]
    tall = high if wide / columns >= max(least, FINEST) else TICK
    long = wide if high / rows >= max(least, FINEST) else TICK
    return "".join(
        [
            *(f"M{at:.1f} {y:.1f}v{tall:.1f}" for at in across),
            *(f"M{x:.1f} {at:.1f}h{long:.1f}" for at in down),
        ]
    )


def _cuts(side: float, parts: int) -> list[float]:
    """Return where a side is cut, as often as can be told apart."""
    shown = max(1, min(parts, int(side / FINEST)))
    return [side * n / shown for n in range(1, shown)]
