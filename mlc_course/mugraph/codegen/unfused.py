"""Operators of a kernel graph as block graphs of their own: all kernels are made one way."""

from __future__ import annotations

from dataclasses import replace

from mlc_course.mugraph.codegen.block_lowering import value_name
from mlc_course.mugraph.codegen.dimension_labels import Labels
from mlc_course.mugraph.ir import (
    GRID_AXES,
    BlockGraph,
    Equation,
    KernelGraph,
    Load,
    Store,
    ThreadGraph,
    ops,
)

LOOP = "k"


def in_blocks(graph: KernelGraph) -> KernelGraph:
    """Return a graph in which every operator is a block graph, one kernel each.

    A block graph for an operator has one step along each axis; a tiling chooses others. A product
    of matrices gets a loop over what it sums.
    """
    for place, equation in enumerate(graph.equations):
        if not isinstance(equation.op, BlockGraph):
            graph = _with_block(graph, place, _plain(graph, equation))
            graph = _with_block(graph, place, _with_grid(graph, place))
    return graph


def _with_block(graph: KernelGraph, place: int, block: BlockGraph) -> KernelGraph:
    old = graph.equations[place]
    operands = tuple(dict.fromkeys(old.operands))
    made = Equation(block, operands, (), old.names)
    return replace(graph, equations=(*graph.equations[:place], made, *graph.equations[place + 1 :]))


def _plain(graph: KernelGraph, equation: Equation) -> BlockGraph:
    """One block on whole tensors."""
    operands = tuple(dict.fromkeys(equation.operands))
    numbers = tuple(operands.index(n) for n in equation.operands)
    names = tuple(f"{value_name(graph, n)}_tile" for n in operands)
    inside = replace(equation, operands=numbers, names=("result",))
    if isinstance(equation.op, ThreadGraph):
        inside = replace(inside, op=replace(equation.op, operands=names))
    if equation.op is not ops.matmul or len(operands) < 2:
        loads = tuple(Load((), (), name) for name in names)
        return BlockGraph((("x", 1),), (), loads, (inside,), (Store(len(operands)),))
    rank = len(graph.shapes[operands[0]])
    looped = (((LOOP, rank - 1),), ((LOOP, rank - 2),))
    loads = tuple(Load((), fmap, name) for fmap, name in zip(looped, names, strict=True))
    total = Equation(ops.accumulate, (2,), (), ("result",))
    part = replace(inside, names=("part",))
    return BlockGraph((("x", 1),), ((LOOP, 1),), loads, (part, total), (Store(3),))


def _with_grid(graph: KernelGraph, place: int) -> BlockGraph:
    """The block graph of ``_plain`` with a grid axis for each dimension that can be cut."""
    block = graph.equations[place].op
    assert isinstance(block, BlockGraph)
    labels = Labels.of(graph, place)
    dims = labels.cuttable(0) if labels else []
    if labels is None or not dims:
        return block
    if len(dims) > len(GRID_AXES):
        dims = [dims[0], *dims[-2:]]
    axes = dict(zip(GRID_AXES, dims, strict=False))
    imaps: list[list[tuple[str, int]]] = [[] for _ in block.loads]
    for axis, dim in axes.items():
        for imap, found in zip(imaps, labels.loads_with(0, dim), strict=True):
            imap += ((axis, d) for _, d in found)
    loads = (replace(load, imap=tuple(imap)) for load, imap in zip(block.loads, imaps, strict=True))
    (store,) = block.stores
    return replace(
        block,
        grid=tuple((axis, 1) for axis in axes),
        loads=tuple(loads),
        stores=(replace(store, omap=tuple(axes.items())),),
    )
