"""One block at work: every tensor as a sheet, cut by the grid and the loop, its tiles filled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape

from mlc_course.mugraph.draw import svg
from mlc_course.mugraph.draw.panels import LINE, MARGIN, SHEETS, THIN_PART, WIDTH, Panel, panels
from mlc_course.mugraph.draw.svg import AMBER, INK, OURS, SMALL
from mlc_course.mugraph.ir import AxisMap
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.tiles import Index, Tile, block_graph, moment, said, sentence, tiles

FINEST, CLOSE, TICK = 5.0, 8.0, 5.0  # pixels: lines of a cut are no closer; if close, ticks so long
NOW, PART = 0.85, 0.22  # how strong the fill is of a tile, and of a block's part
GRID_LINE = f'stroke="{INK}" stroke-width="0.9"'
LOOP_LINE = f'stroke="{AMBER}" stroke-width="1.2" stroke-dasharray="3 2"'


def tiles_svg(graph: KernelGraph, place: int, block: Index, iteration: Index = ()) -> str:
    """The tensors of the block graph at ``place``, with what a block has of them in an iteration.

    As in ``tiles.tiles``, () of a graph with loops is the time after them, when the block stores.
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
        """Of the picture, with the line that says what colours mean."""
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

    def _sheet(self, panel: Panel, sheet: int, stroke: str = INK) -> str:
        """One matrix, and how the grid cuts it."""
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
        """What the fills and the lines mean."""
        x, y = float(MARGIN), self.height - 12
        signs = {
            "loaded or stored now": _filled((x, y - 12, 18, 14), NOW),
            "this block's, in all iterations": _filled((x, y - 12, 18, 14), PART),
            "cut by the grid": f'<path d="M{x + 9} {y - 13}v16" {GRID_LINE}/>',
            "cut by the loop": f'<path d="M{x + 9} {y - 13}v16" {LOOP_LINE}/>',
        }
        if not self.block.loops:
            now, _, grid, _ = signs.values()
            signs = {"loaded or stored": now, "cut by the grid": grid}
        apart = 0.0
        for words, sign in signs.items():
            label = svg.text(x + 26, y, words, size=SMALL, anchor="start")
            yield f'<g transform="translate({apart:.1f} 0)">{sign}{label}</g>'
            apart += 52 + svg.width(words, SMALL)

    def lit(self, found: Sequence[Tile], title: str) -> str:
        """What a block has of every tensor, and has now, over what is ``drawn``."""
        words = svg.text(MARGIN, 22, title, size=16, bold=True, anchor="start", colour=OURS)
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
            colour=OURS if now else INK,
        )
        part, box = panel.boxes(tile)
        for sheet in panel.chosen(tile):
            x, y = panel.corner(sheet)
            if panel.sheets > 1:
                yield self._sheet(panel, sheet, OURS)
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
    return svg.rect(*box, fill=OURS, stroke=OURS, line=1.2, round_by=0, more=more)


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
    """Where a side is cut, as often as can be told apart."""
    shown = max(1, min(parts, int(side / FINEST)))
    return [side * n / shown for n in range(1, shown)]
