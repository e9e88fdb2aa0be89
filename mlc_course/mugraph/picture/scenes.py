"""A kernel graph as scenes from top to bottom: a run of predefined operators, or a block graph.

Kernels run one after the other, so a scene shows what one reads and makes. What the scene above
made last is joined to its readers by arrows; any other tensor of device memory is drawn again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from mlc_course.mugraph.ir import AFTER, BlockGraph, Equation, KernelGraph
from mlc_course.mugraph.picture.boxes import (
    Node,
    inner_node,
    load_node,
    operator_node,
    store_node,
    tensor_node,
)

Numbered = tuple[int, Equation, int]  # the place of an equation, it, the number of its first value


@dataclass
class Scene:
    """Nodes, the row of each, arrows between them by number.

    ``enter`` says which node the arrow from a tensor of the scene above leads to, ``last`` which
    node stands at the bottom with a tensor. ``place`` is that of a block graph's equation, and
    ``boundary`` the row of its accumulators, on which its loop ends; 0 if there is none.
    """

    place: int | None = None
    boundary: int = 0
    nodes: list[Node] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    enter: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)

    def add(self, node: Node, row: int) -> int:
        """Add a node; return its number."""
        self.nodes.append(node)
        self.rows.append(row)
        return len(self.nodes) - 1

    def join(self, sources: Sequence[int], target: int) -> None:
        """An arrow from each of the sources, one if it is there twice."""
        self.edges += ((source, target) for source in dict.fromkeys(sources))


def scenes(graph: KernelGraph) -> list[Scene]:
    """Return the scenes of a graph, at least one; they hold every input and every equation."""
    artist = _Artist(graph)
    parts = _parts(graph)
    for number, part in enumerate(parts):
        rest = parts[number + 1 :]
        later = {n for each in rest for _, equation, _ in each for n in equation.operands}
        if isinstance(part[0][1].op, BlockGraph):
            artist.block(*part[0])
        else:
            artist.run([(equation, value) for _, equation, value in part], later)
    made = artist.made or [Scene()]
    idle = set(range(len(graph.inputs))) - {n for e in graph.equations for n in e.operands}
    for value in sorted(idle):
        made[0].add(tensor_node(graph, value), 0)
    return made


def _parts(graph: KernelGraph) -> list[list[Numbered]]:
    """Split a graph into its block graphs and the runs of other operators between them."""
    numbered = [(n, equation, graph.results(n)[0]) for n, equation in enumerate(graph.equations)]
    groups = groupby(numbered, lambda each: isinstance(each[1].op, BlockGraph) and each[:1])
    return [list(group) for _, group in groups]


class _Artist:
    """The maker of scenes, each below the one before."""

    def __init__(self, graph: KernelGraph) -> None:
        self.graph = graph
        self.made: list[Scene] = []
        self.shown: set[int] = set()  # values with a card

    def _begin(self, place: int | None = None) -> tuple[Scene, Mapping[int, int]]:
        """A new scene, and the tensors at the end of the one above it."""
        above = self.made[-1].last if self.made else {}
        self.made.append(Scene(place))
        return self.made[-1], above

    def run(self, part: Sequence[tuple[Equation, int]], later: set[int]) -> None:
        """Predefined operators with the numbers of their values, some of them read ``later``."""
        scene, above = self._begin()
        rows = _run_rows(part, later)
        at: dict[int, int] = {}
        for equation, value in part:
            for number in equation.operands:
                if number not in rows and number not in at:
                    readers = [rows[v] for each, v in part if number in each.operands]
                    row = 0 if number in above else min(readers) - 1
                    at[number] = self._from_device(scene, number, row, above)
            at[value] = scene.add(operator_node(self.graph, equation, value), rows[value])
            self.shown.add(value)
            scene.join([at[n] for n in equation.operands], at[value])
        bottom = max(rows.values())
        scene.last = {value: at[value] for value, row in rows.items() if row == bottom}

    def block(self, place: int, equation: Equation, first: int) -> None:
        """A graph-defined operator whose results are the values from ``first`` on."""
        scene, above = self._begin(place)
        block, tiles = equation.op, self.graph.tiles(place)
        assert isinstance(block, BlockGraph)
        outside: dict[int, int] = {}
        inside: list[int] = []
        for number, load, shape in zip(equation.operands, block.loads, tiles.shapes, strict=False):
            if number not in outside:
                outside[number] = self._from_device(scene, number, 0, above)
            inside.append(scene.add(load_node(load, self.graph.names[number], shape, block), 1))
            scene.join([outside[number]], inside[-1])
        rows, boundary = _block_rows(block, tiles.stages)
        scene.boundary = boundary if block.loops else 0
        for each, row in zip(block.equations, rows[len(inside) :], strict=True):
            node = inner_node(each, block, len(inside), tiles.shapes[len(inside)])
            inside.append(scene.add(node, row))
            scene.join([inside[n] for n in each.operands], inside[-1])
        for value, store in enumerate(block.stores, first):
            node = store_node(self.graph, value, block.names[store.value], store.omap)
            scene.last[value] = scene.add(node, max(*rows, boundary) + 1)
            scene.join([inside[store.value]], scene.last[value])
        self.shown |= scene.last.keys()

    def _from_device(self, scene: Scene, number: int, row: int, above: Mapping[int, int]) -> int:
        """A tensor that a scene reads: a card, or where the arrow from above comes in."""
        if number in above:
            scene.enter[number] = scene.add(Node("passing"), row)
            return scene.enter[number]
        again = number in self.shown
        self.shown.add(number)
        return scene.add(tensor_node(self.graph, number, again=again), row)


def _run_rows(part: Sequence[tuple[Equation, int]], later: set[int]) -> dict[int, int]:
    """The row of each operator of a run, by its value; what is only read later stands last."""
    rows: dict[int, int] = {}
    for equation, value in part:
        rows[value] = 1 + max(rows.get(n, 0) for n in equation.operands)
    within = {n for equation, _ in part for n in equation.operands}
    bottom = max(rows.values())
    return {v: bottom if v in later - within else row for v, row in rows.items()}


def _block_rows(block: BlockGraph, stages: Sequence[str]) -> tuple[list[int], int]:
    """The row of every value inside, and that of the accumulators, below all that the loop has."""
    rows = [1] * len(block.loads)
    looped = [1]
    for equation, stage in zip(block.equations, stages[len(rows) :], strict=True):
        rows.append(1 + max(rows[n] for n in equation.operands))
        looped += [rows[-1]] if stage != AFTER else []
    boundary = max(looped) + (1 if AFTER in stages else 0)
    for number, equation in enumerate(block.equations, len(block.loads)):
        if equation.op.carried == "accumulate":
            rows[number] = boundary
        elif stages[number] == AFTER:
            rows[number] = 1 + max(rows[n] for n in equation.operands)
    return rows, boundary if AFTER in stages else 0
