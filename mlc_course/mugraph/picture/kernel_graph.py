"""The picture of a kernel graph: device memory outside, each block graph as a box inside it.

From top to bottom: tensors and operators; in a block graph what its loop repeats, the accumulators
on the loop's end, and what comes after. A load stands at the top of its box with the maps that cut
its tensor, a store on the lower edge, half outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from mlc_course.drawing import AMBER, PAGE_OURS, SMALL, Layout, Point, place, svg
from mlc_course.mugraph.ir import Axes, BlockGraph, KernelGraph
from mlc_course.mugraph.picture.boxes import CARD
from mlc_course.mugraph.picture.scenes import Scene, scenes
from mlc_course.words import marked, tr, trn

ROW, ABOVE_BOX, BETWEEN = 34, 32, 56  # pixels between rows, above a box's first row, between scenes
RAIL, PAD, SHEET, MARGIN = 186, 18, 6, 12  # RAIL: the words on the left of a box
LETTERS = 20  # from one line of the rail to the next


def graph_svg(graph: KernelGraph) -> str:
    """A kernel graph as SVG text; the ids of its parts are ``tensor-NAME`` and ``op-NAME``."""
    placed = [_Placed(graph, scene) for scene in scenes(graph)]
    left = max(each.left for each in placed)
    right = max(each.right for each in placed)
    parts: list[str] = []
    above: Mapping[int, Point] = {}
    y = float(MARGIN)
    for each in placed:
        each.corner = left + MARGIN, y
        parts += each.drawn(above)
        above = {value: each.foot(node) for value, node in each.scene.last.items()}
        y += each.height + BETWEEN
    wide = left + right + 2 * MARGIN
    return svg.document(wide, y - BETWEEN + MARGIN + 2 * SHEET, _said(graph), parts)


def _said(graph: KernelGraph) -> str:
    """The picture in words."""
    blocks, many = len(list(graph.blocks)), len(graph.equations)
    return tr(
        "{graph}: {count} operators on device memory, {blocks} of them block graphs",
        graph=graph.name,
        count=many,
        blocks=blocks,
    )


@dataclass
class _Placed:
    """A scene in pixels; ``corner`` is where the middle of its nodes meets its upper edge."""

    graph: KernelGraph
    scene: Scene
    corner: Point = (0, 0)

    @cached_property
    def layout(self) -> Layout:
        scene = self.scene
        return place([node.width for node in scene.nodes], scene.rows, scene.edges)

    @cached_property
    def heights(self) -> list[float]:
        """The height of each row."""
        heights = [0.0] * (max(self.scene.rows, default=0) + 1)
        for node, row in zip(self.scene.nodes, self.scene.rows, strict=True):
            heights[row] = max(heights[row], node.height)
        return heights

    @cached_property
    def bottoms(self) -> list[float]:
        """The lower edge of each row, from the scene's upper edge."""
        found = [self.heights[0]]
        for row, high in enumerate(self.heights[1:], start=1):
            gap = ROW + (ABOVE_BOX if row == 1 and self.block else 0)
            found.append(found[-1] + gap + high)
        return found

    @property
    def height(self) -> float:
        return self.bottoms[-1]

    @property
    def block(self) -> BlockGraph | None:
        if self.scene.place is None:
            return None
        block = self.graph.equations[self.scene.place].op
        assert isinstance(block, BlockGraph)
        return block

    @property
    def left(self) -> float:
        """The distance of the left edge from the middle of the nodes."""
        return self.layout.width / 2 + (RAIL + PAD if self.block else 0)

    @property
    def right(self) -> float:
        return self.layout.width / 2 + (PAD + 2 * SHEET if self.block else 0)

    def x(self, at: float) -> float:
        """The coordinates on the page, from those of the layout."""
        return self.corner[0] - self.layout.width / 2 + at

    def foot(self, node: int) -> Point:
        """Return the point at which arrows leave a node."""
        y = self.corner[1] + self.bottoms[self.scene.rows[node]]
        return self.x(self.layout.x[node]), y

    def head(self, node: int) -> Point:
        """Return the point at which arrows reach a node."""
        x, y = self.foot(node)
        return x, y - self.scene.nodes[node].height

    # --- the parts ------------------------------------------------------------------------------

    def drawn(self, above: Mapping[int, Point]) -> Iterator[str]:
        """Everything, from back to front; ``above`` are the feet of the tensors above."""
        if self.block:
            yield from self._box(self.block)
        for value, node in self.scene.enter.items():
            x, y = self.foot(node)
            stop = (x, y - self.heights[self.scene.rows[node]], y)
            yield svg.curve(above[value], (x, y), [stop])
        ends = self._ends()
        for edge, (source, _) in enumerate(self.scene.edges):
            yield svg.arrow(self.foot(source), ends[edge], list(self._stops(edge)))
        for number, each in enumerate(self.scene.nodes):
            if each.kind != "passing":
                yield each.drawn(*self.foot(number))

    def _stops(self, edge: int) -> Iterator[tuple[float, float, float]]:
        """x, top and bottom of each row that an arrow passes."""
        first = self.scene.rows[self.scene.edges[edge][0]] + 1
        for row, at in enumerate(self.layout.routes[edge], first):
            bottom = self.corner[1] + self.bottoms[row]
            yield self.x(at), bottom - self.heights[row], bottom

    def _ends(self) -> dict[int, Point]:
        """The points at which arrows arrive, side by side in the order in which they come."""
        ends = {}
        for node, box in enumerate(self.scene.nodes):
            arriving = [edge for edge, (_, target) in enumerate(self.scene.edges) if target == node]
            x, y = self.head(node)
            step = min(26.0, (box.width - 24) / max(1, len(arriving)))
            for number, edge in enumerate(sorted(arriving, key=self._comes_from)):
                ends[edge] = x + step * (number - (len(arriving) - 1) / 2), y
        return ends

    def _comes_from(self, edge: int) -> float:
        route = self.layout.routes[edge]
        return route[-1] if route else self.layout.x[self.scene.edges[edge][0]]

    # --- the box of a block graph ---------------------------------------------------------------

    def _box(self, block: BlockGraph) -> Iterator[str]:
        """The box, once for each of a few blocks, and its first words."""
        left, right = self.x(0) - PAD - RAIL, self.x(self.layout.width) + PAD
        top = self.corner[1] + self.bottoms[0] + ROW
        bottom = self.corner[1] + self.height - CARD
        blocks = _count(block.grid)
        for sheet in (2, 1, 0) if blocks > 1 else (0,):
            yield svg.rect(
                left + SHEET * sheet,
                top + SHEET * sheet,
                right - left,
                bottom - top,
                stroke=PAGE_OURS,
                line=1.4 if sheet else 2.4,
                round_by=8,
            )
        assert self.scene.place is not None
        shared = self.graph.tiles(self.scene.place).shared_bytes()
        yield from _words(
            left + 14,
            top + 24,
            tr("block graph"),
            tr("grid {axes}", axes=_axes(block.grid)),
            trn("{count:,} block", "{count:,} blocks", blocks),
            tr("shared memory:"),
            tr(
                marked("{size:,} bytes each") if blocks != 1 else marked("{size:,} bytes"),
                size=shared,
            ),
        )
        if self.heights[0]:
            yield from _words(left + 14, self.corner[1] + 19, tr("device memory"))
        if self.scene.boundary:
            end = self.corner[1] + self.bottoms[self.scene.boundary] - CARD
            yield from self._loop(block, (left, right), (top, end))

    def _loop(
        self, block: BlockGraph, sides: tuple[float, float], span: tuple[float, float]
    ) -> Iterator[str]:
        """Draw the body of the loop, and the way back to its beginning."""
        (left, right), (top, end) = sides, span
        x, start = left + RAIL, top + 12
        yield svg.rect(
            x,
            start,
            right - x - 10,
            end - start,
            fill=AMBER,
            stroke=AMBER,
            line=2,
            round_by=10,
            more='fill-opacity="0.1" stroke-dasharray="7 4"',
        )
        back = x - 16
        yield (
            f'<path d="M{x:.1f} {end - 16:.1f}H{back + 10:.1f}q-10 0 -10 -10V{start + 26:.1f}'
            f'q0 -10 10 -10H{x - 8:.1f}" fill="none" stroke="{AMBER}" stroke-width="3"/>'
            f'<path d="M{x:.1f} {start + 16:.1f}l-10 -6v12z" fill="{AMBER}"/>'
        )
        times = _count(block.loops)
        lines = (
            tr("loop {axes}", axes=_axes(block.loops)),
            trn("{count:,} iteration", "{count:,} iterations", times),
        )
        yield from _words(left + 14, max((top + 104 + end) / 2, end - 70) + 10, *lines)
        yield from _words(left + 14, end + 24, tr("after the loop"))


def _words(x: float, y: float, heading: str, *lines: str) -> Iterator[str]:
    yield svg.text(x, y, heading, size=SMALL, bold=True, anchor="start")
    for row, words in enumerate(lines, start=1):
        yield svg.text(x, y + LETTERS * row, words, size=SMALL, anchor="start")


def _axes(extents: Axes) -> str:
    return ", ".join(f"{name}={extent}" for name, extent in extents)


def _count(extents: Axes) -> int:
    return math.prod(extent for _, extent in extents)
