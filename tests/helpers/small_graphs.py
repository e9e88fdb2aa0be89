"""Graphs for tests: all there are, small ones, random ones, and inputs for them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from mlc_course.errors import CourseError
from mlc_course.mugraph.ir import (
    FLOAT64,
    Access,
    BlockBuilder,
    BlockGraph,
    Builder,
    KernelGraph,
    Op,
    Value,
    evaluate,
    ops,
    parse,
    read_mirage,
)
from mlc_course.mugraph.programs import NAMES, PROGRAM_OF, published, workload

SAVED = Path(__file__).parents[1] / "mugraph" / "ir" / "mirage_saved"
FILES = sorted(path.stem for path in SAVED.glob("*.json"))
SIZES = {"b": 2, "h": 2, "m": 4, "d": 4, "n": 8, "v": 2, "r": 3}
# For kernels, whose loops should have some iterations, vectors, and elements that are left over.
MEDIUM = {"d": 64, "n": 64, "m": 32, "b": 8, "v": 16, "h": 2, "r": 8, "e": 16, "f": 32}
SOFT_CAP = Op(
    "soft_cap",
    ops.elementwise,
    lambda m, x, by: m.constant(by) * (1 - 2 / (m.exp(2 * x / m.constant(by)) + 1)),
    1,
    {"by": "constant"},
)


def saved_program(file: str) -> KernelGraph:
    """What the graphs of a file of Mirage's compute."""
    return parse((SAVED / f"{file.removeprefix('single_')}.txt").read_text(encoding="utf-8"))


def saved_graphs(file: str) -> list[KernelGraph]:
    """All graphs of a file, read."""
    inputs = saved_program(file).inputs
    whole = json.loads((SAVED / f"{file}.json").read_text(encoding="utf-8"))
    return [read_mirage(each, inputs, file) for each in whole]


def every_graph() -> list[KernelGraph]:
    """Every workload, every published graph, and every different one that Mirage saved."""
    saved = (each for file in FILES for each in saved_graphs(file))
    return [*map(workload, NAMES), *map(published, PROGRAM_OF), *dict.fromkeys(saved)]


def small(graph: KernelGraph, most: Mapping[str, int] = SIZES) -> KernelGraph:
    """The same graph on a few elements, with at most two blocks and iterations along each axis."""
    sizes = tuple((name, min(size, most.get(name, size))) for name, size in graph.sizes)
    equations = tuple(
        replace(
            each,
            op=replace(
                each.op,
                grid=tuple((axis, min(extent, 2)) for axis, extent in each.op.grid),
                loops=tuple((loop, min(extent, 2)) for loop, extent in each.op.loops),
            ),
        )
        if isinstance(each.op, BlockGraph)
        else each
        for each in graph.equations
    )
    return replace(graph, sizes=sizes, equations=equations)


def normal_inputs(graph: KernelGraph, seed: int = 0) -> dict[str, NDArray[np.float64]]:
    """An array for each input, normally distributed."""
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape) for name, shape in graph.input_shapes.items()}


def copied_elements(graph: KernelGraph) -> tuple[Counter[int], Counter[int]]:
    """Elements that blocks load and store, by kernel; a tile that is still held is not loaded."""
    loaded, stored = Counter[int](), Counter[int]()
    held: dict[tuple[int, int, tuple[int, ...]], tuple[slice, ...]] = {}

    def watch(access: Access) -> None:
        size = math.prod(each.stop - each.start for each in access.slices)
        if access.kind == "store":
            stored[access.place] += size
            return
        key = access.place, access.number, access.block
        if held.get(key) != access.slices:
            held[key] = access.slices
            loaded[access.place] += size

    arrays = list(normal_inputs(graph).values())
    with np.errstate(all="ignore"):
        evaluate(graph, arrays, FLOAT64, watch)
    return loaded, stored


def relative_error(got: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    """The largest difference, as a part of the largest value expected."""
    assert got.shape == expected.shape
    return float(np.max(np.abs(got - expected)) / np.max(np.abs(expected)))


@st.composite
def graphs(draw: st.DrawFn) -> KernelGraph:
    """A graph of a few operators on 4 x 4 matrices, some of them in a block graph."""
    builder = Builder("drawn")
    values = [builder.input("X", "a=4", "b=4"), builder.input("Y", "b", "c=4")]
    for _ in range(draw(st.integers(1, 3))):
        values.append(_grown(draw, values))
    if draw(st.booleans()):
        values += _block(draw, builder, values)
        values.append(_grown(draw, values))
    return builder.returns(*draw(st.lists(st.sampled_from(values), min_size=1, max_size=2)))


def _grown(draw: st.DrawFn, values: list[Value]) -> Value:
    """One more value that fits, of operands that are there."""
    x, y = draw(st.sampled_from(values)), draw(st.sampled_from(values))
    axis = draw(st.integers(0, 1))
    by = draw(st.sampled_from(["2", "-1/3", "1/a", "3*b/c", "1/sqrt(c)"]))
    makers = [
        lambda: ops.add(x, y),
        lambda: ops.matmul(x, y),
        lambda: ops.maximum(x, y),
        lambda: ops.silu(x),
        lambda: ops.scale(x, by=by),
        lambda: ops.clamp(x, low=-1, high=by),
        lambda: ops.reduce_sum(x, axis=axis),
        lambda: ops.rms_norm(x, axis=axis, eps="1/1000"),
        lambda: ops.concat(x, y, axis=axis),
        lambda: ops.transpose(x, axes=(1, 0)),
        lambda: ops.reshape(x, shape=("a", "c")),
        lambda: ops.repeat(x, axis=axis, times="a"),
        lambda: ops.split(x, axis=axis, parts=2, part=1),
    ]
    try:
        return draw(st.sampled_from(makers))()
    except CourseError:
        return ops.exp(x)


def _block(draw: st.DrawFn, builder: Builder, values: list[Value]) -> list[Value]:
    """Two tiles, whatever the maps; some operators on each; then what the loops gave is stored."""
    dims = st.dictionaries(st.sampled_from(["j", "k"]), st.integers(0, 1))
    square = [each for each in values if builder.shapes[each.number] == (4, 4)]
    loop = draw(st.sampled_from([{}, {"k": 2}, {"j": 2, "k": 2}]))
    with builder.block(grid={"x": 2, "y": 1}, loop=loop) as block:
        tiles = [_load(draw, block, draw(st.sampled_from(square)), dims) for _ in range(2)]
        tile = draw(st.sampled_from([*tiles, _grown(draw, tiles)]))
        if draw(st.booleans()):
            tile = block.thread(lambda x, t: ops.exp(x) * t, tile, tile)
        kept = [ops.accumulate(tile), ops.accumulate_max(tiles[0])]
        if "k" in loop:
            kept.append(ops.accumulate(tile, fmap={"k": 1}))
        return [block.store(each, omap={"x": 0}) for each in kept]


def _load(
    draw: st.DrawFn, block: BlockBuilder, value: Value, maps: st.SearchStrategy[dict[str, int]]
) -> Value:
    cut = draw(maps)
    fmap = {loop: cut[loop] for loop in block.loop if loop in cut}
    imap = {"x": 1} if draw(st.booleans()) and list(fmap.values()).count(1) < 2 else {}
    return block.load(value, imap=imap, fmap=fmap)
