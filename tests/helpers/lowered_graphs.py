"""Graphs whose block graphs are lowered for many threads, run and compared with the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from small_graphs import normal_inputs

from mlc_course.mugraph.codegen.tilings import Tiling, published_tiling, retiled
from mlc_course.mugraph.ir import FLOAT64, BlockGraph, KernelGraph, evaluate
from mlc_course.mugraph.kernel_checks.execution import execute
from mlc_course.mugraph.kernel_checks.small_tilings import Smaller, smaller
from mlc_course.mugraph.kernels.kernel_program import Kernel
from mlc_course.mugraph.programs import published
from mlc_course.mugraph.thread_kernels.thread_lowering import Gpu, lower_for_threads

TOLERANCE = 1e-9  # as a part of the largest value


def published_tilings(graph: KernelGraph) -> dict[int, Tiling]:
    return {place: published_tiling(block) for place, block in graph.blocks}


def few_steps(name: str, iterations: int) -> Smaller:
    """A published graph with its tiles, on two blocks an axis and a few iterations."""
    graph = published(name)
    return smaller(graph, published_tilings(graph), iterations)


def cut(name: str, sizes: Mapping[str, int], tiles: Mapping[str, int]) -> Smaller:
    """A published graph of one block graph on other sizes, with so many elements a step."""
    graph = published(name)
    (equation,) = graph.equations
    block = equation.op
    assert isinstance(block, BlockGraph)
    one_step = replace(
        block,
        grid=tuple((axis, 1) for axis, _ in block.grid),
        loops=tuple((loop, 1) for loop, _ in block.loops),
    )
    graph = replace(
        graph,
        sizes=tuple((size, sizes.get(size, extent)) for size, extent in graph.sizes),
        equations=(replace(equation, op=one_step),),
    )
    return Smaller(graph, {0: retiled(graph, 0, tiles)})


def kernels(small: Smaller, gpu: Gpu) -> list[Kernel]:
    return [
        lower_for_threads(small.graph, place, tiling, gpu)
        for place, tiling in small.tilings.items()
    ]


def wrong(graph: KernelGraph, tilings: Mapping[int, Tiling], gpu: Gpu) -> str:
    """What is wrong with the kernels of a graph: a fault, or a value; nothing if all are right."""
    arrays = list(normal_inputs(graph).values())
    every = replace(graph, outputs=tuple(range(len(graph.shapes))))
    with np.errstate(all="ignore"):
        values = evaluate(every, arrays, FLOAT64)
    for place, block in graph.blocks:
        kernel = lower_for_threads(graph, place, tilings.get(place, published_tiling(block)), gpu)
        operands = dict.fromkeys(graph.equations[place].operands)
        done = execute(kernel, [values[n] for n in operands], FLOAT64)
        if done.fault:
            return str(done.fault)
        for number, got in zip(graph.results(place), done.outputs, strict=True):
            expected = values[number]
            largest = np.abs(expected[np.isfinite(expected)]).max(initial=1)
            if not np.allclose(got, expected, rtol=0, atol=TOLERANCE * largest, equal_nan=True):
                return f"{kernel.name}: output {number} has other values"
    return ""
