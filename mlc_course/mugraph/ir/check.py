"""Checks of a graph: they give each value its shape and its stage in the loop, or an error.

Every error names the tensor, the axis and the sizes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import CourseError, GraphError, ShapeError, check_known
from mlc_course.mugraph.ir.arithmetic import Shape
from mlc_course.mugraph.ir.nodes import (
    Axes,
    AxisMap,
    BlockGraph,
    Equation,
    Load,
    Store,
    ThreadGraph,
)
from mlc_course.mugraph.ir.ops import Op

ALWAYS, LOOP, AFTER = "every iteration alike", "in the loop", "after the loop"
GRID_AXES = ("x", "y", "z")
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Tiles:
    """The shapes of the values of a block graph, their stages, and the shapes that go out."""

    shapes: tuple[Shape, ...]
    stages: tuple[str, ...]
    results: tuple[Shape, ...]

    def shared_bytes(self, itemsize: int = 2) -> int:
        """Bytes of shared memory for one block, each tile in its own place (float16 by default).

        A plan that lets tiles follow each other in one place needs less.
        """
        return itemsize * sum(math.prod(shape) for shape in self.shapes)


def resolved(equation: Equation, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the attributes of an operator with named sizes replaced by their extents."""
    op = equation.op
    assert isinstance(op, Op)
    given = dict(op.defaults) | dict(equation.attributes)
    if given.keys() != op.attributes.keys():
        raise GraphError(
            f"{op.name}: attributes",
            expected=", ".join(op.attributes) or "none",
            got=", ".join(given) or "none",
        )
    return {name: _resolved(given[name], kind, sizes) for name, kind in op.attributes.items()}


def _resolved(value: Any, kind: str, sizes: Mapping[str, int]) -> Any:
    if kind == "constant":
        return value.number(sizes)
    if kind == "size":
        return value.size(sizes)
    if kind == "sizes":
        return tuple(each.size(sizes) for each in value)
    return value


def result_shape(equation: Equation, shapes: Sequence[Shape], sizes: Mapping[str, int]) -> Shape:
    """Return the shape of the result of an operator or a thread graph on these operand shapes."""
    op = equation.op
    if isinstance(op, ThreadGraph):
        read = dict.fromkeys(n for each in op.equations for n in each.operands if n < len(shapes))
        if not op.equations or not list(read) == list(range(len(shapes))) == list(
            range(len(op.operands))
        ):
            raise GraphError(
                "thread graph: operands",
                expected="each of them read, in this order",
                got=f"{len(op.equations)} equations read {list(read)} of {len(shapes)}",
            )
        values = list(shapes)
        for inner in op.equations:
            check_count(inner, 1)
            check_values(inner.operands, len(values))
            if not (isinstance(inner.op, Op) and inner.op.elementwise):
                raise GraphError(
                    f"thread graph: {inner}", expected="elementwise operators only", got=inner.op
                )
            values.append(result_shape(inner, [values[n] for n in inner.operands], sizes))
        return values[-1]
    assert isinstance(op, Op)
    if op.operands not in (None, len(shapes)) or not shapes:
        raise GraphError(f"{op.name}: operands", expected=op.operands, got=len(shapes))
    attributes = resolved(equation, sizes)
    attributes.pop("fmap", None)
    return tuple(op.shape(*shapes, **attributes))


def check_values(numbers: Sequence[int], values: int) -> None:
    """Check that these are numbers of the values that exist so far."""
    for number in numbers:
        if not 0 <= number < values:
            raise GraphError("no such value yet", expected=f"0 to {values - 1}", got=number)


def check_count(equation: Equation, results: int) -> None:
    """Check that an equation has one name, possibly empty, for each of its results."""
    if len(equation.names) != results:
        raise GraphError(f"{equation}: names", expected=results, got=equation.names)


def check_names(names: Sequence[str], what: str) -> None:
    """Check that names are words and differ from each other; a name may be empty."""
    given = [name for name in names if name]
    if len(set(given)) == len(given) and all(map(WORD.fullmatch, given)):
        return
    wrong = next(n for n in given if given.count(n) > 1 or not WORD.fullmatch(n))
    raise GraphError(what, expected="words, each once", got=repr(wrong))


def check_block(block: BlockGraph, operands: Sequence[Shape], sizes: Mapping[str, int]) -> Tiles:
    """Return shapes and stages inside a block graph on these operands, and the shapes it stores."""
    shapes, stages = check_inside(block, operands, sizes)
    if not block.stores:
        raise GraphError("block graph: stores nothing", expected="one value or more")
    results = tuple(_stored(store, block, shapes, stages) for store in block.stores)
    return Tiles(tuple(shapes), tuple(stages), results)


def check_inside(
    block: BlockGraph, operands: Sequence[Shape], sizes: Mapping[str, int]
) -> tuple[list[Shape], list[str]]:
    """Return the shape and the stage of every value of a block graph."""
    _check_axes(block)
    check_names(block.names, "block graph: names of values")
    grid, loops = dict(block.grid), dict(block.loops)
    shapes: list[Shape] = []
    stages: list[str] = []
    if len(operands) != len(block.loads):
        raise GraphError("block graph: loads", expected=len(operands), got=len(block.loads))
    for load, shape in zip(block.loads, operands, strict=True):
        shapes.append(_tile(load, shape, grid, loops))
        stages.append(LOOP if load.fmap else ALWAYS)
    for equation in block.equations:
        try:
            shape, stage = _inside(equation, block, shapes, stages, sizes)
        except CourseError as error:
            error.add_note(f"in {equation}")
            raise
        shapes.append(shape)
        stages.append(stage)
    return shapes, stages


def _check_axes(block: BlockGraph) -> None:
    names = [name for name, _ in (*block.grid, *block.loops)]
    for name, _ in block.grid:
        check_known("grid: no axis", name, GRID_AXES, GraphError)
    for name, extent in (*block.grid, *block.loops):
        if names.count(name) > 1:
            raise GraphError("an axis twice", expected="one of each name", got=name)
        if extent < 1:
            raise GraphError(f"axis {name}: its extent", expected="1 or more", got=extent)


def _tile(load: Load, shape: Shape, grid: Mapping[str, int], loops: Mapping[str, int]) -> Shape:
    tile = list(shape)
    for kind, cuts, extents in (("imap", load.imap, grid), ("fmap", load.fmap, loops)):
        for axis, dim in _in_order(cuts, extents, f"load {load.name}: {kind}"):
            if not 0 <= dim < len(shape):
                raise GraphError(
                    f"load {load.name}: {kind} {axis} -> {dim}",
                    expected=f"a dimension of {shape}, 0 to {len(shape) - 1}",
                    got=dim,
                )
            if tile[dim] % extents[axis]:
                raise GraphError(
                    f"load {load.name}: {kind} {axis} -> {dim}: not equal tiles",
                    expected=f"{axis} = {extents[axis]} divides {tile[dim]}",
                    got=f"{load.name} of shape {shape}",
                )
            tile[dim] //= extents[axis]
    return tuple(tile)


def _in_order(cuts: AxisMap, extents: Mapping[str, int], what: str) -> AxisMap:
    """Return the map after checking that its axes exist, in order, each once."""
    order = list(extents)
    for axis, _ in cuts:
        check_known(f"{what}: no axis", axis, order, GraphError)
    places = [order.index(axis) for axis, _ in cuts]
    if places != sorted(set(places)):
        raise GraphError(f"{what}: axes", expected="in order, each once", got=cuts)
    return cuts


def _inside(
    equation: Equation,
    block: BlockGraph,
    shapes: Sequence[Shape],
    stages: Sequence[str],
    sizes: Mapping[str, int],
) -> tuple[Shape, str]:
    check_values(equation.operands, len(shapes))
    check_count(equation, 1)
    if isinstance(equation.op, ThreadGraph):
        _check_thread(equation, equation.op, block)
    if isinstance(equation.op, BlockGraph):
        raise GraphError("a block graph inside a block graph", expected="a thread graph")
    shape = result_shape(equation, [shapes[n] for n in equation.operands], sizes)
    stage = _joint(equation, block, [stages[n] for n in equation.operands])
    carried = equation.op.carried
    if not carried:
        return shape, stage
    if stage == AFTER:
        raise GraphError(
            f"{equation}: a second accumulator on a path",
            expected="one between a looped input and an output",
            got=_named(equation, block),
        )
    if carried == "running":
        return shape, LOOP if block.loops else ALWAYS
    joined = dict(equation.attributes).get("fmap", ())
    return _collected(
        shape, _in_order(joined, dict(block.loops), f"{equation}: fmap"), block
    ), AFTER


def _check_thread(equation: Equation, thread: ThreadGraph, block: BlockGraph) -> None:
    """Check that it reads each operand once and names its values differently from them."""
    if len(set(equation.operands)) < len(equation.operands):
        raise GraphError("thread graph: an operand twice", got=_named(equation, block))
    inside = [name for each in thread.equations[:-1] for name in each.names]
    outside = [block.names[number] for number in equation.operands]
    check_names([*outside, *inside, *equation.names], "thread graph: values")


def _collected(shape: Shape, fmap: AxisMap, block: BlockGraph) -> Shape:
    """Shape of an accumulator: tiles of the loops in its fmap side by side, the rest added up."""
    extents, whole = dict(block.loops), list(shape)
    for loop, dim in fmap:
        if not 0 <= dim < len(shape):
            raise ShapeError(f"accumulate: fmap {loop} -> {dim}", expected=shape, got=dim)
        whole[dim] *= extents[loop]
    return tuple(whole)


def _joint(equation: Equation, block: BlockGraph, stages: Sequence[str]) -> str:
    if LOOP in stages and AFTER in stages:
        raise GraphError(
            f"{equation}: one operand is in the loop, another after it",
            expected="an accumulator between them",
            got=_named(equation, block),
        )
    return next((each for each in (LOOP, AFTER) if each in stages), ALWAYS)


def _named(equation: Equation, block: BlockGraph) -> str:
    return ", ".join(block.names[number] for number in equation.operands)


def _stored(
    store: Store, block: BlockGraph, shapes: Sequence[Shape], stages: Sequence[str]
) -> Shape:
    if not 0 <= store.value < len(shapes):
        raise GraphError("store: no such value", expected=f"below {len(shapes)}", got=store.value)
    name = block.names[store.value]
    if stages[store.value] == LOOP:
        raise GraphError(
            f"store({name}): it changes in every iteration",
            expected="an accumulator between a looped input and an output",
            got=f"{name}, {LOOP}",
        )
    whole = list(shapes[store.value])
    omap = dict(_in_order(store.omap, dict(block.grid), f"store({name}): omap"))
    for axis, extent in block.grid:
        if axis not in omap and extent > 1:
            raise GraphError(
                f"store({name}): all {extent} blocks along {axis} write the same place",
                expected=f"omap says along which dimension of {shapes[store.value]} they lie",
                got=omap or "no omap",
            )
        if not 0 <= omap.get(axis, 0) < len(whole):
            raise GraphError(
                f"store({name}): omap {axis} -> {omap[axis]}",
                expected=f"a dimension of {tuple(whole)}, 0 to {len(whole) - 1}",
                got=omap[axis],
            )
        if axis in omap:
            whole[omap[axis]] *= extent
    return tuple(whole)


def offsets(cuts: AxisMap, axes: Axes, index: Mapping[str, int], tile: Shape) -> tuple[slice, ...]:
    """Return the place of a tile in its tensor for a block, or for a block and an iteration.

    ``axes`` are those of ``cuts``, outermost first; ``index`` has the number along each.
    """
    extents, number = dict(axes), [0] * len(tile)
    for axis, dim in cuts:
        number[dim] = number[dim] * extents[axis] + index[axis]
    return tuple(slice(n * t, (n + 1) * t) for n, t in zip(number, tile, strict=True))
