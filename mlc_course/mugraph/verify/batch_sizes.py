"""Batch sizes: the sizes of which one index stands for all, so that a test needs only that one.

A size N is a *batch size* of a graph if entry i of each output along it is computed from the
entries i of the inputs along it, by one formula in which neither i nor N occurs. Rows of X and
columns of W are batch sizes of X W; the size that the product sums over is not. If two graphs have
N as a batch size in the same place of their outputs, they are equal exactly if they are equal on
N = 1, because their entries at any i are the formulas of N = 1 with other names for the inputs.

That is proved by running the graph once in an arithmetic of *labels*. The label of a value says
along which of its axes index i lies; a value without a label does not depend on those inputs.
Whatever could mix two indices, or let a formula see i or N, is refused: a sum, a reshape, a slice
or a concatenation along that axis, a constant that names N, a second tensor that is indexed along
it. Inside a block graph a label also says which grid axes cut that axis. They may cut nothing else,
since another tile would be another formula, and have to put the tiles of the output in the same
order.

A size may also be cut by a grid into *parts* of which one stands for all, although its indices do
not: blocks that share the keys of a tile of queries lay their results between those of two tiles.
If each block of that grid axis reads and writes its own part of every tensor that is cut, what it
does inside does not matter. The size then becomes one part's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlc_course.errors import CourseError, GraphError
from mlc_course.mugraph.ir import (
    BlockGraph,
    Constant,
    Equation,
    KernelGraph,
    Number,
    Op,
    Shape,
    ThreadGraph,
    ops,
    resolved,
)

Name = tuple[int, str]  # of a size: in which of two graphs
BUILT_IN = frozenset(ops.OPERATORS)
OTHER = GraphError("not a batch size")


@dataclass(frozen=True)
class Label:
    """Index i lies along ``axis``; in a tile, which grid axes and loops cut that axis."""

    axis: int
    cuts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Labelled:
    """The shape of a value and its label, in place of its entries."""

    shape: Shape
    label: Label | None = None

    def _with(self, other: Any) -> Labelled:
        right = other if isinstance(other, Labelled) else Labelled(())
        return _aligned([self, right])

    __add__ = __sub__ = __mul__ = __truediv__ = _with
    __radd__ = __rmul__ = __rsub__ = __rtruediv__ = _with

    def __neg__(self) -> Labelled:
        return self

    def __matmul__(self, other: Labelled) -> Labelled:
        rank = len(self.shape)
        rows, columns = self.shape[-2], other.shape[-1]
        shape = (*_joint_shape([self.shape[:-2], other.shape[:-2]]), rows, columns)
        if self._along(rank - 1) or other._along(rank - 2):
            raise OTHER  # summed over
        if self._along(rank - 2) or other._along(rank - 1):
            if self.label and other.label:
                raise OTHER
            return Labelled(shape, self.label or other.label)
        before = (replace(each, shape=(*each.shape[:-2], 1, 1)) for each in (self, other))
        return Labelled(shape, _aligned(list(before)).label)

    def _along(self, axis: int) -> bool:
        return self.label is not None and self.label.axis == axis


def _joint_shape(shapes: Sequence[Shape]) -> Shape:
    whole = [shape for shape in shapes if shape]
    return tuple(map(max, zip(*whole, strict=True))) if whole else ()


def _aligned(values: Sequence[Labelled]) -> Labelled:
    """Return the value of an elementwise operator: whatever has a label has the same one."""
    shape = _joint_shape([each.shape for each in values])
    labels = {each.label for each in values if each.label}
    if not labels:
        return Labelled(shape)
    if len(labels) > 1:
        raise OTHER
    (label,) = labels
    for each in values:
        extent = each.shape[label.axis] if each.shape else 1
        if extent != (shape[label.axis] if each.label else 1):
            raise OTHER  # another tensor is indexed along this axis
    return Labelled(shape, label)


class Labels:
    """The arithmetic of labels."""

    def constant(self, number: Number) -> Labelled:
        return Labelled(())

    def exp(self, x: Labelled) -> Labelled:
        return x

    def function(self, name: str, x: Labelled) -> Labelled:
        return x

    def maximum(self, x: Labelled, y: Labelled) -> Labelled:
        return _aligned([x, y])

    def minimum(self, x: Labelled, y: Labelled) -> Labelled:
        return _aligned([x, y])

    def sum(self, x: Labelled, axis: int) -> Labelled:
        if x._along(axis):
            raise OTHER
        return replace(x, shape=(*x.shape[:axis], 1, *x.shape[axis + 1 :]))

    def max(self, x: Labelled, axis: int) -> Labelled:
        return self.sum(x, axis)

    def count(self, x: Labelled, axis: int) -> int:
        if x._along(axis):
            raise OTHER
        return x.shape[axis]

    def reshape(self, x: Labelled, shape: Shape) -> Labelled:
        if x.label is None:
            return Labelled(shape)
        axis = x.label.axis
        before, extent = math.prod(x.shape[:axis]), x.shape[axis]
        places = [
            place
            for place in range(len(shape))
            if shape[place] == extent and math.prod(shape[:place]) == before
        ]
        if len(places) != 1:
            raise OTHER
        return Labelled(shape, replace(x.label, axis=places[0]))

    def transpose(self, x: Labelled, axes: Sequence[int]) -> Labelled:
        label = x.label and replace(x.label, axis=list(axes).index(x.label.axis))
        return Labelled(tuple(x.shape[axis] for axis in axes), label)

    def concatenate(self, xs: Sequence[Labelled], axis: int) -> Labelled:
        label = xs[0].label
        if any(each.label != label for each in xs) or (label and label.axis == axis):
            raise OTHER
        shape = xs[0].shape
        extent = sum(each.shape[axis] for each in xs)
        return Labelled((*shape[:axis], extent, *shape[axis + 1 :]), label)

    def take(self, x: Labelled, place: tuple[slice, ...]) -> Labelled:
        spans = [range(n)[cut] for n, cut in zip(x.shape, place, strict=True)]
        if x.label and spans[x.label.axis] != range(x.shape[x.label.axis]):
            raise OTHER
        return Labelled(tuple(map(len, spans)), x.label)

    def stored(self, x: Labelled) -> Labelled:
        return x


LABELS = Labels()


class Element:
    """A number, and no tensor: it has no shape."""

    def _with(self, other: Any) -> Element:
        return self

    __add__ = __sub__ = __mul__ = __truediv__ = _with
    __radd__ = __rmul__ = __rsub__ = __rtruediv__ = _with

    def __neg__(self) -> Element:
        return self


class Elements:
    """The arithmetic of an elementwise operator."""

    def constant(self, number: Number) -> Element:
        return Element()

    def exp(self, x: Element) -> Element:
        return x

    def function(self, name: str, x: Element) -> Element:
        return x

    def maximum(self, x: Element, y: Element) -> Element:
        return Element()

    minimum = maximum


ELEMENTS = Elements()


@dataclass(frozen=True)
class Batch:
    """The labels of a graph's outputs, and the grid axes that cut the size, by place of block."""

    outputs: tuple[Label | None, ...]
    axes: Mapping[int, frozenset[str]]


def batch(graph: KernelGraph, names: frozenset[str], parts: int | None = None) -> Batch | None:
    """Return where a size, by any of its ``names`` in a graph, is a batch size; None if it is not.

    An input may have one dimension of that size. With ``parts``, one of so many parts of it has to
    stand for all.
    """
    try:
        walk = _WalkByParts(graph, names, parts) if parts else _Walk(graph, names)
        return walk.batch()
    except CourseError:
        return None


class _Walk:
    """One walk through a graph, for one size."""

    def __init__(self, graph: KernelGraph, names: frozenset[str]) -> None:
        self.graph, self.names = graph, names
        self.axes: dict[int, frozenset[str]] = {}

    def batch(self) -> Batch:
        values: list[Labelled] = []
        for each, shape in zip(self.graph.inputs, self.graph.shapes, strict=False):
            along = [axis for axis, dim in enumerate(each.dims) if dim in self.names]
            if len(along) > 1:
                raise OTHER
            values.append(Labelled(shape, Label(along[0]) if along else None))
        for place, equation in enumerate(self.graph.equations):
            operands = [values[number] for number in equation.operands]
            if isinstance(equation.op, BlockGraph):
                values += self._block(place, equation.op, operands)
            else:
                values.append(self._value(equation, operands))
        return Batch(tuple(values[n].label for n in self.graph.outputs), self.axes)

    def _value(self, equation: Equation, operands: Sequence[Labelled]) -> Labelled:
        op = equation.op
        if isinstance(op, ThreadGraph):
            values = list(operands)
            for inner in op.equations:
                values.append(self._value(inner, [values[n] for n in inner.operands]))
            return values[-1]
        assert isinstance(op, Op)
        if op not in BUILT_IN:
            return self._of_a_user(equation, op, operands)
        if op.carried:
            first = op.meaning(LABELS, None, *operands)
            value: Labelled = op.result(op.meaning(LABELS, first, *operands))
        else:
            value = op.meaning(LABELS, *operands, **resolved(equation, self.graph.size_of))
        self._check_sizes(equation, op, value.label)
        return value

    def _of_a_user(self, equation: Equation, op: Op, operands: Sequence[Labelled]) -> Labelled:
        """Return the label of an operator of one's own, whose formula has nothing but numbers."""
        try:
            attributes = resolved(equation, self.graph.size_of)
            made = op.meaning(ELEMENTS, *(Element() for _ in operands), **attributes)
        except Exception:  # it looks at a shape, or does more than an element can
            raise OTHER from None
        if op.carried or not isinstance(made, Element):
            raise OTHER
        value = _aligned(operands)
        self._check_sizes(equation, op, value.label)
        return value

    def _check_sizes(self, equation: Equation, op: Op, label: Label | None) -> None:
        """Refuse attributes that name the size, but for a shape that has it where the label is."""
        for name, value in equation.attributes:
            for place, each in enumerate(value if isinstance(value, tuple) else (value,)):
                if not isinstance(each, Constant) or not self._names(each, op.attributes[name]):
                    continue
                alone = each.coefficient == 1 and [power for _, power in each.powers] == [1]
                alone = alone or not each.powers  # the number that is its name
                here = label is not None and label.axis == place
                if op.attributes[name] != "sizes" or not (alone and here):
                    raise OTHER

    def _names(self, constant: Constant, kind: str) -> bool:
        """Tell whether a constant names the size; an unnamed size is named by its digits."""
        named = {name for name, _ in constant.powers}
        if kind != "constant" and not constant.powers:
            named = {str(constant.coefficient)} & self.graph.size_of.keys()
        return bool(named & self.names)

    def _block(self, place: int, block: BlockGraph, operands: Sequence[Labelled]) -> list[Labelled]:
        tiles = self.graph.tiles(place)
        values: list[Labelled] = []
        for load, whole, shape in zip(block.loads, operands, tiles.shapes, strict=False):
            label = whole.label
            if label:
                cut_by = (axis for axis, dim in (*load.imap, *load.fmap) if dim == label.axis)
                label = replace(label, cuts=tuple(cut_by))
            values.append(Labelled(shape, label))
        axes = frozenset(axis for each in values if each.label for axis in each.label.cuts)
        for load, tile in zip(block.loads, values, strict=True):
            for axis, dim in (*load.imap, *load.fmap):
                if axis in axes and not tile._along(dim):
                    raise OTHER  # this axis cuts another tensor too
        loops = axes & {name for name, _ in block.loops}
        for number, equation in enumerate(block.equations, len(block.loads)):
            label = self._value(equation, [values[n] for n in equation.operands]).label
            if equation.op.carried:
                label = _joined(equation, label, loops)
            values.append(Labelled(tiles.shapes[number], label))
        results = []
        for store, shape in zip(block.stores, tiles.results, strict=True):
            label = values[store.value].label
            for axis, dim in store.omap:
                if axis in axes and not (label and label.axis == dim):
                    raise OTHER
            if label:
                cuts = tuple(axis for axis, dim in store.omap if dim == label.axis)
                if cuts != label.cuts:
                    raise OTHER
                label = replace(label, cuts=())
            results.append(Labelled(shape, label))
        self.axes[place] = axes
        return results


def _joined(equation: Equation, label: Label | None, loops: frozenset[str]) -> Label | None:
    """Return the label of an accumulator whose fmap lays the tiles of ``loops`` side by side.

    Any other one adds up different indices, or something as often as there are tiles.
    """
    fmap = dict(equation.attributes).get("fmap", ()) if equation.op.carried == "accumulate" else ()
    if label is None:
        if loops:
            raise OTHER
        return None
    joined = [loop for loop, dim in fmap if dim == label.axis]
    if joined != [axis for axis in label.cuts if axis in loops] or set(joined) != loops:
        raise OTHER
    return replace(label, cuts=tuple(axis for axis in label.cuts if axis not in loops))


class _WalkByParts(_Walk):
    """One walk for a size of which each block of a grid axis has one of ``parts`` equal parts."""

    def __init__(self, graph: KernelGraph, names: frozenset[str], parts: int) -> None:
        super().__init__(graph, names)
        self.parts = parts

    def _block(self, place: int, block: BlockGraph, operands: Sequence[Labelled]) -> list[Labelled]:
        tiles, extents = self.graph.tiles(place), dict(block.grid)
        axes = set[str]()
        for load, whole in zip(block.loads, operands, strict=True):
            if whole.label:
                cuts = [axis for axis, dim in load.imap if dim == whole.label.axis]
                if not cuts or extents[cuts[0]] != self.parts:
                    raise OTHER  # it sees more than one part
                axes.add(cuts[0])
        if len(axes) > 1:
            raise OTHER
        for load, whole in zip(block.loads, operands, strict=True):
            if not whole.label and axes & {axis for axis, _ in load.imap}:
                raise OTHER  # this axis cuts another tensor too
        for equation in block.equations:
            self._check_inside(equation)
        results = []
        for store, shape in zip(block.stores, tiles.results, strict=True):
            along = [dim for axis, dim in store.omap if axis in axes]
            if along and next(axis for axis, dim in store.omap if dim == along[0]) not in axes:
                raise OTHER
            results.append(Labelled(shape, Label(along[0]) if along else None))
        self.axes[place] = frozenset(axes)
        return results

    def _check_inside(self, equation: Equation) -> None:
        """Refuse an attribute that names the size. (Tiles stay as they are.)"""
        if isinstance(equation.op, ThreadGraph):
            for inner in equation.op.equations:
                self._check_inside(inner)
        elif isinstance(equation.op, Op):
            self._check_sizes(equation, equation.op, None)


@dataclass(frozen=True)
class Core:
    """Two graphs with each of their ``batch`` sizes, by the left graph's names, made 1.

    Of each size in ``parts`` one of so many parts is left.
    """

    left: KernelGraph
    right: KernelGraph
    batch: tuple[str, ...] = ()
    parts: tuple[tuple[str, int], ...] = ()


def core(left: KernelGraph, right: KernelGraph, classes: Mapping[Name, Name]) -> Core:
    """Make the batch sizes of two graphs 1, one after the other; all others keep their extents.

    ``classes`` says which sizes of the two are one, as ``small_sizes.family`` finds them.
    """
    graphs, found, parts = [left, right], list[str](), list[tuple[str, int]]()
    for root in dict.fromkeys(classes.values()):
        names = [
            frozenset(name for (side, name), each in classes.items() if each == root and side == s)
            for s in (0, 1)
        ]
        size = graphs[root[0]].size_of[root[1]]
        if size == 1:
            continue
        shrunk = _shrunk(graphs, names, 1)
        if shrunk:
            graphs, found = shrunk, [*found, *sorted(names[0])]
            continue
        extents = {n for graph in graphs for _, block in graph.blocks for _, n in block.grid}
        for many in sorted((n for n in extents if n > 1 and size % n == 0), reverse=True):
            shrunk = _shrunk(graphs, names, size // many, many)
            if shrunk:
                graphs, parts = shrunk, [*parts, (min(names[0]), many)]
                break
    one, other = graphs
    return Core(one, other, tuple(found), tuple(parts))


def _shrunk(
    graphs: Sequence[KernelGraph],
    names: Sequence[frozenset[str]],
    size: int,
    parts: int | None = None,
) -> list[KernelGraph] | None:
    """Give both graphs this smaller size, one index or one part, if it stands for all."""
    found = [batch(graph, each, parts) for graph, each in zip(graphs, names, strict=True)]
    batches = [each for each in found if each]
    if len(batches) < len(graphs) or not _same_places(graphs, batches):
        return None
    try:
        return [
            _of_one(graph, each, there.axes, size)
            for graph, each, there in zip(graphs, names, batches, strict=True)
        ]
    except CourseError:  # a number in a shape, for example, that means this size
        return None


def _same_places(graphs: Sequence[KernelGraph], batches: Sequence[Batch]) -> bool:
    """Tell whether outputs that may be equal, being of one shape, have the size in one place."""
    labels: dict[Shape, set[Label | None]] = {}
    for graph, found in zip(graphs, batches, strict=True):
        for shape, label in zip(graph.output_shapes, found.outputs, strict=True):
            labels.setdefault(shape, set()).add(label)
    return all(len(each) == 1 for each in labels.values())


def _of_one(
    graph: KernelGraph, names: frozenset[str], axes: Mapping[int, frozenset[str]], size: int
) -> KernelGraph:
    equations = list(graph.equations)
    for place, block in graph.blocks:
        grid, loops = (
            tuple((axis, 1 if axis in axes[place] else extent) for axis, extent in each)
            for each in (block.grid, block.loops)
        )
        equations[place] = replace(equations[place], op=replace(block, grid=grid, loops=loops))
    sizes = tuple((name, size if name in names else n) for name, n in graph.sizes)
    return replace(graph, sizes=sizes, equations=tuple(equations))
