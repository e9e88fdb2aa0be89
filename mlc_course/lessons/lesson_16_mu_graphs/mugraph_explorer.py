"""The mu-graph explorer: point at a block, walk through its iterations, see the tiles light up."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from typing import Any

import traitlets

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import Widget, in_range, one_of, table
from mlc_course.lessons.lesson_16_mu_graphs.grid_picture import GridMap
from mlc_course.mugraph.cost import (
    block_graph,
    kilobytes,
    loaded_elements,
    moment,
    sentence,
    tiles,
)
from mlc_course.mugraph.ir import BlockGraph, Index, KernelGraph, indices
from mlc_course.mugraph.picture import Stage, graph_svg, tiles_svg
from mlc_course.words import marked, tr, trn

ITEMSIZE = 2  # bytes of a float16
MOST = 256  # iterations that are walked through; of more, so many are shown
HEAD = (
    marked("tensor"),
    marked("its size"),
    marked("a tile"),
    marked("loaded by all blocks"),
    marked("each element"),
)


class MugraphExplorer(Widget):
    """The block graphs of a kernel graph, block by block and iteration by iteration.

    ``kernel`` chooses among the block graphs, in their order, ``block`` is the number along each
    grid axis, ``step`` an iteration, or the time after all of them, when the block stores. Setting
    any of them changes ``svg`` and ``status``. Raises ``UsageError`` for others.
    """

    kernel = traitlets.Unicode("").tag(sync=True)
    block: Any = traitlets.List(traitlets.Int()).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    kernels: Any = traitlets.List(traitlets.Unicode()).tag(sync=True)
    map = traitlets.Unicode("").tag(sync=True)
    stage = traitlets.Unicode("").tag(sync=True)
    frames: Any = traitlets.Dict().tag(sync=True)
    moves: Any = traitlets.Dict().tag(sync=True)
    extents: Any = traitlets.List(traitlets.Int()).tag(sync=True)
    facts = traitlets.Unicode("").tag(sync=True)

    def __init__(self, graph: KernelGraph) -> None:
        self.graph = graph
        self._places = {_called(graph, place): place for place, _ in graph.blocks}
        if not self._places:
            raise UsageError(
                f"{graph.name}: no block graph to explore",
                expected="a kernel graph with a graph-defined operator",
                hint="draw it with mugraph.picture.graph_svg",
            )
        super().__init__(kernels=list(self._places))
        self.kernel = self.kernels[0]

    @property
    def place(self) -> int:
        """The place of the chosen block graph among the equations of the graph."""
        return self._places[self.kernel]

    @property
    def inside(self) -> BlockGraph:
        """The chosen block graph."""
        return block_graph(self.graph, self.place)

    @property
    def iteration(self) -> Index:
        """The number along each loop; () after the loop, and where there is none."""
        return self._steps()[self.step]

    @property
    def svg(self) -> str:
        """The tensors with the tiles of this block and this iteration."""
        return tiles_svg(self.graph, self.place, tuple(self.block), self.iteration)

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("kernel")
    def _check_kernel(self, proposal: Any) -> Any:
        return one_of("kernel", self.kernels, proposal.value)

    @traitlets.validate("block")
    def _check_block(self, proposal: Any) -> list[int]:
        if self.kernel:
            tiles(self.graph, self.place, tuple(proposal.value))
        return list(proposal.value)

    @traitlets.validate("step")
    def _check_step(self, proposal: Any) -> int:
        return in_range("step", 0, len(self._steps()) - 1, proposal.value)

    # --- what is shown --------------------------------------------------------------------------

    @traitlets.observe("kernel")
    def _change_kernel(self, change: Any) -> None:
        grid = GridMap(self.inside.grid)
        self._stage = Stage(self.graph, self.place)
        with self.hold_trait_notifications():
            self.step, self.block = 0, [0] * len(self.inside.grid)
        with self.hold_sync():
            self.extents = [extent for _, extent in self.inside.grid]
            self.moves = grid.moves
            self.map = grid.svg
            self.facts = self._facts()
            self.stage = self.svg
            self._show()

    @traitlets.observe("block")
    def _change_block(self, change: Any) -> None:
        self._show()

    @traitlets.observe("step")
    def _change_step(self, change: Any) -> None:
        self.status = self._said(self.iteration)

    def _show(self) -> None:
        """Show every step of the chosen block."""
        block, steps = tuple(self.block), self._steps()
        lit = [
            self._stage.lit(
                tiles(self.graph, self.place, block, each), moment(self.inside, block, each)
            )
            for each in steps
        ]
        x, y, side = GridMap(self.inside.grid).cell(block)
        here = {"x": x, "y": y, "width": side - 1.5, "height": side - 1.5}
        said = [self._said(each) for each in steps]
        self.frames = {"lit": lit, "said": said, "here": here}
        self.status = said[self.step]

    def _said(self, iteration: Index) -> str:
        words = sentence(self.graph, self.place, tuple(self.block), iteration)
        return words[0].upper() + words[1:]

    def _steps(self) -> list[Index]:
        """Return the iterations to walk through, and () at the end."""
        if not self.kernel:
            return [()]
        loops = self.inside.loops
        if not loops:
            return [()]
        every = indices(loops)
        stride = math.ceil(len(every) / MOST)
        return [*every[::stride], ()]

    # --- what it costs --------------------------------------------------------------------------

    def _facts(self) -> str:
        shared = self.graph.tiles(self.place).shared_bytes(ITEMSIZE)
        blocks = math.prod(extent for _, extent in self.inside.grid)
        note = trn(
            "{count:,} block, each with {shared} of shared memory; elements of {itemsize} bytes. "
            "A tile that is the same in the next iteration is not loaded again.",
            "{count:,} blocks, each with {shared} of shared memory; elements of {itemsize} bytes. "
            "A tile that is the same in the next iteration is not loaded again.",
            blocks,
            shared=kilobytes(shared),
            itemsize=ITEMSIZE,
        )
        head = [tr(name) for name in HEAD]
        return f"{table(head, self._rows(), kind='mlc-runs mlc-loads')}<p>{note}</p>"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        inside, shapes = self.inside, self.graph.tiles(self.place).shapes
        blocks = math.prod(extent for _, extent in inside.grid)
        operands = self.graph.equations[self.place].operands
        for number, load, tile in zip(operands, inside.loads, shapes, strict=False):
            size = math.prod(self.graph.shapes[number])
            loaded = blocks * loaded_elements(load, tile, inside)
            yield (
                self.graph.names[number],
                kilobytes(ITEMSIZE * size),
                kilobytes(ITEMSIZE * math.prod(tile)),
                kilobytes(ITEMSIZE * loaded),
                tr("once") if loaded == size else tr("{count:,g} times", count=loaded / size),
            )

    def static_html(self) -> str:
        """Return the graph, one block at work in an early iteration, and what all blocks load."""
        block = tuple(self.block) if any(self.block) else tuple(n // 2 for n in self.extents)
        iteration = self._steps()[min(1, len(self._steps()) - 1)]
        words = sentence(self.graph, self.place, block, iteration)
        return (
            f'<div class="mlc-chart">{graph_svg(self.graph)}'
            f"{tiles_svg(self.graph, self.place, block, iteration)}</div>"
            f"<p>{html.escape(words[0].upper() + words[1:])}</p>{self.facts}"
        )


def explore(graph: KernelGraph) -> MugraphExplorer:
    """Return the explorer of a graph; raise ``UsageError`` for one without a block graph."""
    return MugraphExplorer(graph)


def _called(graph: KernelGraph, place: int) -> str:
    """Return the name of a block graph: what it makes."""
    return ", ".join(graph.equations[place].names)
