"""Labels: which dimensions of the tiles of a block are one, and what happens along each.

Two dimensions have one label if an operator makes them equally long. A grid axis that cuts a label
may cut it into any number of tiles, if every operator treats the places along it independently. A
loop may, if what it adds up over its tiles goes into an accumulator and nowhere else. So the same
graph has a tiling for every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlc_course.errors import CourseError
from mlc_course.mugraph.codegen.tile_graph import (
    CONSTANT,
    ELEMENT,
    LOAD,
    STATE,
    Node,
    TileGraph,
    live_nodes,
)
from mlc_course.mugraph.codegen.tilings import cut_extent
from mlc_course.mugraph.ir import LOOP, AxisMap, KernelGraph
from mlc_course.mugraph.kernels import VAR, var, variables

# What a value is to a loop: the same in every iteration, a tile of its own in each, a part of a sum
# or of a maximum, or what an accumulator holds so far.
SAME, TILE, SUM, MAX, RUNNING, OTHER = "same", "tile", "add", "max", "running", "other"


@dataclass(frozen=True)
class FreeAxes:
    """The axes of a block graph that may have any number of steps.

    ``assumed`` are loops among them for which the structure does not show it, because an
    accumulator scales what it has: those have to be verified.
    """

    grid: frozenset[str]
    loops: frozenset[str]
    assumed: frozenset[str]


def free_axes(graph: KernelGraph, place: int) -> FreeAxes:
    """Return the axes that may have any number of steps; none where the tiles do not tell."""
    labels = Labels.of(graph, place)
    nothing = frozenset[str]()
    if labels is None:
        return FreeAxes(nothing, nothing, nothing)
    block = dict(graph.blocks)[place]
    cut = {axis for axis, _ in (*block.grid, *block.loops) if cut_extent(graph, place, axis)}
    grid = {axis for axis, _ in block.grid if axis in cut and labels.is_free_grid_axis(axis)}
    loops, assumed = set(), set()
    for loop in [name for name, _ in block.loops if name in cut]:
        free, verified = labels.is_free_loop(loop)
        if free:
            loops.add(loop)
            if not verified:
                assumed.add(loop)
    return FreeAxes(frozenset(grid), frozenset(loops), frozenset(assumed))


def obstacle(graph: KernelGraph, place: int, axis: str) -> str:
    """Return the equation because of which an axis is not free, as far as one can be named."""
    labels = Labels.of(graph, place)
    if labels is None:
        return f"{graph.equations[place]}, whose operators do not run on whole tensors"
    cuts = [(*load.imap, *load.fmap) for load in labels.block.loads]
    roots = {labels.root(*each) for each in labels.cut(axis, cuts)}
    whole = [node for node, dim in labels.fixed if labels.root(node, dim) in roots]
    reduced = [node for node, what, _ in labels.reduced if labels.root(*what) in roots]
    named = [each.remark for each in (*reduced, *whole) if each.remark]
    return named[0] if named else str(graph.equations[place])


class Labels:
    """The labels of all dimensions of a block's tiles, at the tensors' whole extents."""

    def __init__(self, tiles: TileGraph, graph: KernelGraph, place: int) -> None:
        self.tiles, self.block = tiles, dict(graph.blocks)[place]
        self.parent: dict[tuple[Node, int], tuple[Node, int]] = {}
        self.fixed: list[tuple[Node, int]] = list(tiles.counted)
        self.reduced: list[tuple[Node, tuple[Node, int], str]] = []  # by which node, what, how
        self.live = live_nodes(tiles)
        self.later = {each for carry in tiles.carry_of.values() for each in carry.later}
        for node in tiles.nodes:
            if node in self.live:
                self._label(node)

    @classmethod
    def of(cls, graph: KernelGraph, place: int) -> Labels | None:
        """Return the labels of a block graph; None where it does not run on whole tensors."""
        block = dict(graph.blocks)[place]
        shapes = [graph.shapes[n] for n in graph.equations[place].operands]
        try:
            tiles = TileGraph(block, shapes, graph.tiles(place).stages, graph.size_of, {})
            return cls(tiles, graph, place)
        except (CourseError, ValueError, IndexError):
            return None  # an operator that knows how large its tiles are

    def root(self, node: Node, dim: int) -> tuple[Node, int]:
        """Return the dimension that stands for all of a label."""
        at = (node, dim)
        while self.parent.get(at, at) != at:
            at = self.parent[at]
        return at

    def _join(self, a: tuple[Node, int], b: tuple[Node, int]) -> None:
        self.parent[self.root(*a)] = self.root(*b)

    def _label(self, node: Node) -> None:
        rank = len(node.shape)
        match node.kind:
            case "element":
                for arg in node.args:
                    shift = rank - len(arg.shape)
                    for dim, extent in enumerate(arg.shape):
                        if extent == node.shape[dim + shift]:
                            self._join((arg, dim), (node, dim + shift))
            case "product":
                for a, b in zip(node.args[::2], node.args[1::2], strict=True):
                    for dim in range(rank - 2):
                        for each in (a, b):
                            if each.shape[dim] == node.shape[dim]:
                                self._join((each, dim), (node, dim))
                    self._join((a, rank - 2), (node, rank - 2))
                    self._join((b, rank - 1), (node, rank - 1))
                    self._join((a, rank - 1), (b, rank - 2))
                    self.reduced.append((node, (a, rank - 1), SUM))
            case "reduce":
                (x,), (combine, axis) = node.args, node.what
                for dim in range(rank):
                    if dim != axis:
                        self._join((x, dim), (node, dim))
                self.reduced.append((node, (x, axis), combine))
            case "view":
                self._view(node)
            case "concat":
                for each in node.args:
                    for dim in range(rank):
                        if dim != node.what:
                            self._join((each, dim), (node, dim))
                    self.fixed.append((each, node.what))
                self.fixed.append((node, node.what))
            case "state":
                carry = self.tiles.carry_of[node]
                number = carry.states.index(node)
                for other in (carry.first[number], carry.later[number]):
                    for dim in range(min(rank, len(other.shape))):
                        if other.shape[dim] == node.shape[dim]:
                            self._join((other, dim), (node, dim))

    def _view(self, node: Node) -> None:
        (x,) = node.args
        names = [f"i{dim}" for dim in range(len(node.shape))]
        matched = set()
        for dim, each in enumerate(node.what(tuple(map(var, names)))):
            if each.op == VAR and x.shape[dim] == node.shape[names.index(each.args[0])]:
                self._join((x, dim), (node, names.index(each.args[0])))
                matched.add(each.args[0])
            elif x.shape[dim] > 1 or variables(each):
                self.fixed.append((x, dim))
        self.fixed += [(node, dim) for dim, name in enumerate(names) if name not in matched]

    def cut(self, axis: str, cuts: Sequence[AxisMap]) -> list[tuple[Node, int]]:
        """Return the dimensions of loaded tiles that an axis cuts."""
        loads = self.tiles.nodes[: len(cuts)]
        return [
            (node, dim)
            for node, each in zip(loads, cuts, strict=True)
            for name, dim in each
            if name == axis and node in self.live
        ]

    def _label_of(self, cut: Sequence[tuple[Node, int]]) -> tuple[Node, int] | None:
        """Return the one label that is cut, and cut wherever a load has it; None otherwise.

        A tile that has it along two dimensions is a block of a diagonal: fewer and larger ones
        would be more than those.
        """
        roots = {self.root(*each) for each in cut}
        if len(roots) != 1:
            return None
        (root,) = roots
        if root in {self.root(*each) for each in self.fixed}:
            return None
        if any(self.dims_of(node, root) > 1 for node in self.live):
            return None
        loads = (node for node in self.tiles.nodes if node.kind == LOAD and node in self.live)
        every = [(n, d) for n in loads for d in range(len(n.shape)) if self.root(n, d) == root]
        return root if set(every) == set(cut) else None

    def dims_of(self, node: Node, root: tuple[Node, int]) -> int:
        """Return how many dimensions of a tile have a label."""
        return sum(self.root(node, dim) == root for dim in range(len(node.shape)))

    def _only(self, axis: str, cut: Sequence[tuple[Node, int]], cuts: Sequence[AxisMap]) -> bool:
        """Tell whether none of the other ``cuts`` is one of these dimensions."""
        of = dict(zip(self.tiles.nodes, cuts, strict=False))
        return not any(other != axis and on == dim for node, dim in cut for other, on in of[node])

    def is_free_grid_axis(self, axis: str) -> bool:
        """Tell whether blocks along an axis may have tiles of any extent."""
        cut = self.cut(axis, [load.imap for load in self.block.loads])
        root = self._label_of(cut)
        every = [(*load.imap, *load.fmap) for load in self.block.loads]
        if root is None or not self._only(axis, cut, every):
            return False
        reduced = [what for _, what, _ in self.reduced]
        if any(self.root(*what) == root for what in (*reduced, *self._stacked())):
            return False
        return all(
            (axis, dim) in store.omap
            and self.root(node, dim) == root
            and sum(on == dim for _, on in store.omap) == 1
            for store, node in self.tiles.outputs
            for dim in [dict(store.omap).get(axis, -1)]
        )

    def _stacked(self) -> list[tuple[Node, int]]:
        """Return the dimensions along which accumulators lay tiles side by side."""
        return [(n, dim) for n, c in self.tiles.carry_of.items() for _, dim in c.fmap]

    def is_free_loop(self, loop: str) -> tuple[bool, bool]:
        """Tell whether a loop may have tiles of any extent, and whether the structure shows it."""
        cut = self.cut(loop, [load.fmap for load in self.block.loads])
        root = self._label_of(cut)
        others = [
            load.fmap for load in self.block.loads
        ]  # a part of a grid axis may be looped over
        if root is None or not self._only(loop, cut, others):
            return False, False
        return _LoopView(self, loop, root).verdict()

    def cuttable(self, number: int) -> list[int]:
        """Return the dimensions of an output that a grid axis could cut: no operator reduces them.

        ``number`` is that of the store. The block graph must not cut anything yet.
        """
        (_, node) = self.tiles.outputs[number]
        fixed = {self.root(*each) for each in self.fixed}
        reduced = {self.root(*what) for _, what, _ in self.reduced}
        return [
            dim
            for dim, extent in enumerate(node.shape)
            if extent > 1 and self.root(node, dim) not in fixed | reduced
        ]

    def loads_with(self, number: int, dim: int) -> list[AxisMap]:
        """Return, for each load, the dimensions that have the label of an output's dimension."""
        root = self.root(self.tiles.outputs[number][1], dim)
        found: list[AxisMap] = []
        for node in self.tiles.nodes[: len(self.block.loads)]:
            found.append(
                tuple(("", d) for d in range(len(node.shape)) if self.root(node, d) == root)
            )
        return found


class _LoopView:
    """The part that every value of a block has in one loop, whose tiles lie along one label."""

    def __init__(self, labels: Labels, loop: str, root: tuple[Node, int]) -> None:
        self.labels, self.loop, self.root = labels, loop, root
        self.kinds: dict[Node, str] = {}
        self.is_scaled = False  # does an accumulator scale what it has?

    def verdict(self) -> tuple[bool, bool]:
        nodes = [n for n in self.labels.tiles.nodes if n in self.labels.live]
        for node in nodes:
            if node.kind == STATE:
                self.kinds[node] = RUNNING
        for node in nodes:
            if node.kind != STATE:
                self.kinds[node] = self._kind(node)
        carries = dict.fromkeys(self.labels.tiles.carry_of.values())
        good = all(
            self._adds_up(state, first, later, dict(carry.fmap))
            for carry in carries
            for state, first, later in zip(carry.states, carry.first, carry.later, strict=True)
            if state in self.labels.live
        )
        return good, not self.is_scaled

    def _has_label(self, node: Node) -> bool:
        return self.labels.dims_of(node, self.root) > 0

    def _kind(self, node: Node) -> str:
        if node.kind == LOAD:
            return TILE if self._has_label(node) else SAME
        if node.kind == CONSTANT:
            return SAME
        kinds = [self.kinds[each] for each in node.args]
        if OTHER in kinds:
            return OTHER
        if node.stage != LOOP:
            return SAME
        reduces = [c for by, what, c in self.labels.reduced if by is node and self._is(what)]
        if reduces:
            return reduces[0] if set(kinds) <= {TILE, SAME, RUNNING} else OTHER
        if self._has_label(node):
            return TILE if set(kinds) <= {TILE, SAME, RUNNING} else OTHER
        partial = [each for each in kinds if each in (SUM, MAX)]
        if not partial:
            return RUNNING if RUNNING in kinds else SAME
        return self._of_partial(node, kinds)

    def _is(self, what: tuple[Node, int]) -> bool:
        return self.labels.root(*what) == self.root

    def _of_partial(self, node: Node, kinds: Sequence[str]) -> str:
        """Return the kind of a value made of a part of a sum: the same, if it is linear in it."""
        match node.kind:
            case "element":
                both = set(kinds) == {SUM}
                if node.what in ("add", "sub") and both:
                    return SUM
                if node.what == "mul" and sorted(kinds) == [SUM, SAME]:
                    return SUM
                if node.what == "div" and kinds == [SUM, SAME]:
                    return SUM
                if node.what == "max" and set(kinds) == {MAX}:
                    return MAX
                return self._next_state(node, kinds)
            case "product" if kinds.count(SUM) == 1 and len(kinds) == 2 and SAME in kinds:
                return SUM
            case "reduce" if node.what[0] == kinds[0]:
                return kinds[0]
            case "view":
                return kinds[0]
        return OTHER

    def _next_state(self, node: Node, kinds: Sequence[str]) -> str:
        """An accumulator's formula, which reads its state besides; ``_adds_up`` looks at it."""
        return RUNNING if RUNNING in kinds and node in self.labels.later else OTHER

    def _adds_up(self, state: Node, first: Node, later: Node, fmap: Mapping[str, int]) -> bool:
        kind = self.kinds[first]
        if any(self.kinds[each] == RUNNING for each in (first, *_below(first))):
            self.is_scaled = True
        if self.loop in fmap:  # side by side again, along the dimension that was cut
            dim = fmap[self.loop]
            return kind == TILE and self._is((first, dim)) and [*fmap.values()].count(dim) == 1
        if later is first:
            return kind in (RUNNING, SAME)  # a state that keeps what it was scaled to
        if later.kind != ELEMENT or first not in later.args:
            return False
        others = [each for each in later.args if each is not first]
        if others != [state]:
            self.is_scaled = True
            return later.what == SUM and kind == SUM
        return (later.what, kind) in ((SUM, SUM), (MAX, MAX))


def _below(node: Node) -> set[Node]:
    found, stack = set[Node](), list(node.args)
    while stack:
        each = stack.pop()
        if each not in found:
            found.add(each)
            stack += each.args
    return found
