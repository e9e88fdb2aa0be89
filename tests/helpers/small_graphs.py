"""Graphs of the catalogue on sizes that run in milliseconds."""

from __future__ import annotations

from dataclasses import replace

from mlc_course.mugraph.ir import BlockGraph, KernelGraph

SMALL = {"d": 64, "n": 64, "m": 32, "b": 8, "v": 16, "h": 2, "r": 8, "e": 16, "f": 32}


def small(graph: KernelGraph) -> KernelGraph:
    """The graph on small sizes, with as many blocks and iterations as fit."""
    sizes = {name: min(size, SMALL.get(name, size)) for name, size in graph.sizes}
    equations = tuple(
        replace(
            each,
            op=replace(
                each.op,
                grid=tuple((axis, min(steps, 2)) for axis, steps in each.op.grid),
                loops=tuple((loop, min(steps, 2)) for loop, steps in each.op.loops),
            ),
        )
        if isinstance(each.op, BlockGraph)
        else each
        for each in graph.equations
    )
    return replace(graph, sizes=tuple(sizes.items()), equations=equations)
