"""A small map of a grid: one cell for each block, or for several where there are too many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mlc_course.drawing import PAGE_OURS, PAGE_TINT, SMALL, svg
from mlc_course.mugraph.ir import Axes, Index
from mlc_course.words import marked, tr

WIDTH, MARGIN, LETTERS = 1000, 20, 24
CELL, APART = 26.0, 16  # pixels: the side of a cell, at most; between panels
ACROSS, DOWN, PANELS = 64, 20, 12  # how many cells there may be


@dataclass(frozen=True)
class GridMap:
    """The first axis goes across (in several rows if it is alone), the second down, the third in
    panels side by side."""

    grid: Axes

    @cached_property
    def extents(self) -> tuple[int, int, int]:
        """The extents of the three axes; 1 for an axis that the grid lacks."""
        across, down, panels = (*(extent for _, extent in self.grid), 1, 1, 1)[:3]
        return across, down, panels

    @property
    def columns(self) -> int:
        """Blocks in one row of a panel."""
        return min(self.extents[0], ACROSS) if self._wraps else self.extents[0]

    @property
    def _wraps(self) -> bool:
        return self.extents[1:] == (1, 1)

    @cached_property
    def _sizes(self) -> tuple[int, int, int]:
        """Blocks across and down in a panel, and panels."""
        rows = -(-self.extents[0] // self.columns)
        return (self.columns, rows, 1) if self._wraps else self.extents

    @cached_property
    def bins(self) -> tuple[int, int, int]:
        """The number of blocks that share a cell along each direction: across, down, panels."""
        across, down, panels = self._sizes
        together = min(panels, PANELS)
        return -(-across // (ACROSS // together)), -(-down // DOWN), -(-panels // PANELS)

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Cells across and down in a panel, and panels."""
        (across, down, panels), (a, d, p) = self._sizes, self.bins
        return -(-across // a), -(-down // d), -(-panels // p)

    @cached_property
    def side(self) -> float:
        """The side of a cell, in pixels."""
        across, _, panels = self.shape
        free = WIDTH - 2 * MARGIN - APART * (panels - 1)
        return min(CELL, free / (across * panels))

    @property
    def height(self) -> float:
        return LETTERS + self.side * self.shape[1] + 6

    def cell(self, block: Index) -> tuple[float, float, float]:
        """The corner and the side of a block's cell."""
        x, y, z = (*block, 0, 0, 0)[:3]
        if self._wraps:
            x, y = x % self.columns, x // self.columns
        column, row, panel = (n // bin_ for n, bin_ in zip((x, y, z), self.bins, strict=True))
        left = MARGIN + panel * (self.side * self.shape[0] + APART) + column * self.side
        return left, LETTERS + row * self.side, self.side

    @property
    def moves(self) -> dict[str, tuple[int, int]]:
        """Key: the axis along which it goes, and how far. Keys that lead nowhere are left out."""
        keys = {
            "ArrowLeft": (0, -1),
            "ArrowRight": (0, 1),
            "ArrowUp": (0, -self.columns) if self._wraps else (1, -1),
            "ArrowDown": (0, self.columns) if self._wraps else (1, 1),
            "PageUp": (2, -1),
            "PageDown": (2, 1),
        }
        return {key: move for key, move in keys.items() if move[0] < len(self.grid)}

    @property
    def svg(self) -> str:
        """The map as SVG text; a cell's id is ``block-3-0``, after the first block in it."""
        return svg.document(WIDTH, self.height, self.said, list(self._parts()))

    @property
    def said(self) -> str:
        """The map in words."""
        axes = " x ".join(f"{name}={extent}" for name, extent in self.grid)
        share = self.bins[0] * self.bins[1] * self.bins[2]
        grid = tr("grid {axes}", axes=axes) if axes else tr("grid of one block")
        return grid + (tr(", {count} blocks in a cell", count=share) if share > 1 else "")

    def _parts(self) -> Iterator[str]:
        yield svg.text(MARGIN, 16, self._heading(), size=SMALL, anchor="start")
        for block in self._firsts():
            x, y, side = self.cell(block)
            name = "-".join(map(str, ("block", *block)))
            yield (
                f'<rect id="{name}" x="{x:.1f}" y="{y:.1f}" width="{side - 1.5:.1f}" '
                f'height="{side - 1.5:.1f}" '
                f'fill="{PAGE_TINT}" stroke="{PAGE_OURS}" stroke-width="0.8"/>'
            )
        yield (  # not in the pointer's way
            f'<rect id="here" fill="{PAGE_OURS}" stroke="{svg.PAGE_INK}" stroke-width="2" '
            'pointer-events="none"/>'
        )

    def _heading(self) -> str:
        names = [name for name, _ in self.grid]
        ways = (
            marked("{axis} across"),
            marked("{axis} down"),
            marked("{axis} from map to map"),
        )
        where = [tr(way, axis=name) for name, way in zip(names, ways, strict=False)]
        return f"{self.said}: {', '.join(where)}" if len(names) > 1 else self.said

    def _firsts(self) -> Iterator[Index]:
        """The first block of every cell."""
        across, down, panels = self.bins
        for z in range(0, self.extents[2], panels):
            rows = (0,) if self._wraps else range(0, self.extents[1], down)
            for y in rows:
                for x in range(0, self.extents[0], across):
                    if self._wraps and x // self.columns % down:
                        continue
                    yield (x, y, z)[: len(self.grid)]
