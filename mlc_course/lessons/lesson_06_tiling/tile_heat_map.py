"""The tile-size heat map: choose a tile, see what it touches, fetches and costs; measure here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import traitlets

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import (
    INTERRUPT,
    KS,
    NS,
    SIZES,
    Choice,
    HeatMap,
    Place,
    Tile,
    Widget,
    best_for,
    charts,
    grid,
    heat_map_svg,
    in_range,
    one_of,
)
from mlc_course.lessons.lesson_06_tiling.tile_card import kib, tile_card_svg
from mlc_course.lessons.lesson_06_tiling.tile_map import (
    Facts,
    Measured,
    cells,
    figures,
    levels_of,
    map_record,
    measure,
    other_kind,
    recorded_map,
)
from mlc_course.machine import describe
from mlc_course.measure import mark
from mlc_course.tensor_program.ladders import Record, made_on
from mlc_course.tensor_program.memory import levels
from mlc_course.tensor_program.tir import host_cpu

VIEWS = ("measured", "working set", "L1 misses", "L2 misses", "loads + stores")
FACTS = ("lines", "b_times", "multiply_adds", "loads", "stores", "lanes")
TITLES = {
    "measured": "Speed in units of NumPy's, one thread; higher is faster",
    "working set": "Touched between two uses of an element of B",
    "L1 misses": "Millions of lines fetched into the first cache, counted",
    "L2 misses": "Millions of lines fetched into the second cache, counted",
    "loads + stores": "Loads and stores for each multiply-add of the hot loop",
}


class TileMap(Widget):
    """Every tile of B, k x n, of the product of (240, 960) and (960, 960).

    ``row`` and ``column`` choose a tile (``tile``), ``view`` is one of ``VIEWS``, ``source`` is
    "recorded" or "here". Setting them changes ``svg`` and ``card``. ``record`` is what is shown.
    Raises ``UsageError`` for values that it cannot show.
    """

    row = traitlets.Int(0).tag(sync=True)
    column = traitlets.Int(0).tag(sync=True)
    view = Choice("measured", VIEWS)
    source = traitlets.Unicode("recorded").tag(sync=True)

    views = traitlets.List(list(VIEWS)).tag(sync=True)
    shape = traitlets.List([len(KS), len(NS)]).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    card = traitlets.Unicode("").tag(sync=True)
    measured = traitlets.Int(0).tag(sync=True)  # cells that are measured here

    def __init__(
        self,
        *,
        recording: Record | None = None,
        measure: Callable[..., Iterator[Measured]] = measure,
    ) -> None:
        self._recorded = recording or recorded_map()
        self._done: dict[Tile, Measured] = {}
        self._measure = measure
        self._levels = levels(describe())[:2]
        self.record = self._recorded
        super().__init__()
        start = best_for(self._levels[0].bytes)
        self.row, self.column = KS.index(start.k), NS.index(start.n)
        self._say_where_from()
        self._draw()

    @property
    def tile(self) -> Tile:
        """The tile that is chosen."""
        return Tile(KS[self.row], NS[self.column])

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("row", "column")
    def _check_place(self, proposal: Any) -> int:
        count = len(KS) if proposal.trait.name == "row" else len(NS)
        return in_range(proposal.trait.name, 0, count - 1, proposal.value)

    @traitlets.validate("source")
    def _check_source(self, proposal: Any) -> str:
        if proposal.value == "here" and not self.measured:
            raise UsageError("nothing is measured here yet", hint="press Measure here: measure()")
        return one_of("source", ("recorded", "here"), proposal.value)

    # --- what is shown --------------------------------------------------------------------------

    @traitlets.observe("row", "column", "view", "source", "measured")
    def _change(self, change: Any) -> None:
        if change.name in ("source", "measured"):
            self.record = self._recorded if self.source == "recorded" else self._here()
        if change.name == "source" and not self.busy:
            self._say_where_from()
        self._draw()

    def _here(self) -> Record:
        return map_record(self._done.values(), self._levels)

    def _say_where_from(self) -> None:
        if self.source == "recorded":
            self.status = f"Recorded on {made_on(self.record)}{other_kind(self.record)}."
        else:
            self.status = f"{self.measured} of {len(grid())} tiles measured here."

    def _draw(self) -> None:
        self.svg = self.picture(self.view, (self.row, self.column))
        cell = cells(self.record).get(self.tile)
        self.card = tile_card_svg(cell, self.record)
        self.label = self._label(cell)

    def _label(self, cell: Record | None) -> str:
        """The chosen tile in words, for those who do not see the picture."""
        if cell is None:
            return f"tile {self.tile}: not measured yet"
        return (
            f"tile {self.tile}: working set {kib(cell['working_set'])}, B fetched "
            f"{cell['b_times'][0]:.3g} times into L1, {cell['ratio']:.2f} times NumPy's speed"
            f"{mark(cell.get('warning'))}"
        )

    def picture(self, view: str, selected: Place | None = None) -> str:
        """The heat map of one view as SVG text. Raises ``UsageError`` for an unknown view."""
        one_of("view", VIEWS, view)
        found = figures(self.record).get(view, {})
        caches = [each.bytes for each in levels_of(self.record)[:2]]
        marks = {self._place(best_for(size)): f"L{i + 1}" for i, size in enumerate(caches)}
        sizes = " and ".join(f"L{i + 1} ({kib(size)})" for i, size in enumerate(caches))
        unsure = [each for each in self.record["cells"] if each.get("warning")]
        warned = f"Of {len(unsure)} tiles the speed has a warning; their cards name it."
        return heat_map_svg(
            HeatMap(
                title=TITLES[view],
                values=[[found.get(Tile(k, n)) for n in NS] for k in KS],
                rows=KS,
                columns=NS,
                axes=("rows, k", "columns of the tile, n"),
                better="high" if view == "measured" else "low",
                text=FORMATS[view],
                selected=selected,
                marks=marks,
                notes=(
                    f"Round badges: the best tile by size alone for {sizes}.",
                    f"C = A B with {SIZES[0]} rows of A; B is {SIZES[1]} x {SIZES[2]}. "
                    f"{made_on(self.record)}",
                    *([warned] if unsure and view == "measured" else []),
                ),
            )
        )

    @staticmethod
    def _place(tile: Tile) -> Place:
        return KS.index(tile.k), NS.index(tile.n)

    def static_html(self) -> str:
        """Counted misses above measured speed, for a page on which nothing can be clicked."""
        maps = "".join(self.picture(view) for view in ("L1 misses", "measured"))
        return f"{charts(maps)}<p>{self.label}</p>"

    # --- measuring ------------------------------------------------------------------------------

    def measure(self) -> None:
        """Measure the tiles that are left; an interrupt keeps what is done.

        When all are measured, it starts anew.
        """
        if len(self._done) == len(grid()):
            self._done = {}
        left = [tile for tile in grid() if tile not in self._done]
        self.busy = True
        try:
            self._fill(left)
            self._say_where_from()
        except KeyboardInterrupt:
            self.status = f"Stopped: {self.measured} of {len(grid())} tiles are measured."
        finally:
            self._pace.stop()
            self.busy = False

    def _fill(self, left: Sequence[Tile]) -> None:
        self._say_progress()
        steps = self._measure(self._levels, tiles=left, known=self._known())
        for done in self.paced(steps, unit="tile"):
            self._done[done.tile] = done
            self.measured = len(self._done)
            self.source = "here"
            self._say_progress()

    def _known(self) -> Callable[[Tile], Facts | None]:
        """Counts of the recording hold here too, if caches and processor are the same."""
        same = levels_of(self._recorded)[:2] == self._levels
        if not same or self._recorded["versions"].get("llvm_cpu") != host_cpu():
            return lambda tile: None
        kept = cells(self._recorded)
        return lambda tile: {f: kept[tile][f] for f in FACTS} if tile in kept else None

    def _say_progress(self) -> None:
        self.status = (
            f"Measuring: {len(self._done)} of {len(grid())} tiles. "
            f"{INTERRUPT} and keeps what is done."
        )


def _lines(count: float) -> str:
    return f"{count / 1e6:.2f}" if count < 9.995e6 else f"{count / 1e6:.1f}"


FORMATS: dict[str, Callable[[float], str]] = {
    "measured": "{:.2f}".format,
    "working set": lambda size: kib(size).replace("iB", ""),
    "L1 misses": _lines,
    "L2 misses": _lines,
    "loads + stores": "{:.2f}".format,
}
