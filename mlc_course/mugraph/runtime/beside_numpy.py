"""Graphs of one program beside NumPy: compiled, checked, and timed in turns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mlc_course.errors import Undecided
from mlc_course.machine import usable_cores
from mlc_course.measure import Comparison, compare, limited_threads
from mlc_course.mugraph.cpu_kernels import CpuProgram
from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.kernel_checks import CodeVerdict
from mlc_course.mugraph.programs import in_numpy
from mlc_course.mugraph.runtime.arrays import random_inputs
from mlc_course.mugraph.runtime.checking import Check, check, raise_unless
from mlc_course.mugraph.runtime.compiled import (
    Compiled,
    compile_graph,
    verified_code,
)
from mlc_course.mugraph.runtime.on_cpu import programs

NUMPY = "NumPy"
BLOCK_BY_BLOCK = "NumPy, block by block"  # as the interpreter runs a graph of blocks


@dataclass(frozen=True)
class Racer:
    """A compiled graph, its estimated seconds, its check, and its time beside NumPy's."""

    name: str
    compiled: Compiled
    estimated_s: float
    limited_by: str
    passed: Check
    comparison: Comparison
    lowered: CpuProgram
    verdict: CodeVerdict | Undecided | None = None  # of the kernels as code, if it was asked for


@dataclass(frozen=True)
class _Entry:
    name: str
    graph: KernelGraph
    lowered: CpuProgram


def race(
    program: KernelGraph,
    graphs: Mapping[str, KernelGraph],
    *,
    threads: int | None = None,
    most_graphs: int = 3,
    most_tilings: int = 3,
    always: Collection[str] = (),
    budget_s: float = 2.0,
    on_step: Callable[[str], object] | None = None,
) -> list[Racer]:
    """Compile graphs of a program, check them, and time them beside NumPy, the fastest first.

    Of each graph the tilings are ranked by the cost model; the graphs whose first is fastest by
    estimate are timed, and those named ``always``, each with its first tilings. Every kernel is
    checked against the interpreter before it is timed. A program with blocks of its own is run
    ``BLOCK_BY_BLOCK`` in NumPy.

    Raises ``WrongResult`` for a kernel that differs from the interpreter.
    """
    threads = usable_cores() if threads is None else threads
    said = on_step or (lambda step: None)
    entries = _entries(graphs, threads, most_tilings)
    firsts = sorted(
        {each.name: each for each in reversed(entries)}.values(),
        key=lambda each: each.lowered.seconds,
    )
    fastest = [each.name for each in firsts if each.name not in always]
    chosen = {*fastest[:most_graphs], *always}
    inputs = random_inputs(program)
    made: dict[str, tuple[_Entry, Compiled, Check]] = {}
    calls = {}
    for number, each in enumerate(one for one in entries if one.name in chosen):
        said(f"compile {each.name}")
        compiled = compile_graph(each.graph, threads=threads, lowered=each.lowered)
        bound = compiled.bind(inputs)
        with limited_threads(threads):
            passed = check(each.graph, inputs, bound())
        raise_unless(passed, each.name)
        made[str(number)] = each, compiled, passed
        calls[str(number)] = bound
    said("time")
    with np.errstate(all="ignore"):
        compared = compare(
            calls,
            (baseline_of(program), in_numpy(program, inputs)),
            threads=threads,
            budget_s=budget_s,
        )
    racers = [
        Racer(
            each.name,
            compiled,
            each.lowered.seconds,
            each.lowered.limited_by,
            passed,
            _named(compared[number], each.name),
            each.lowered,
        )
        for number, (each, compiled, passed) in made.items()
    ]
    return sorted(racers, key=lambda racer: -racer.comparison.ratio)


def timed(
    compiled: Compiled,
    program: KernelGraph,
    inputs: Mapping[str, Array],
    *,
    budget_s: float = 2.0,
) -> Comparison:
    """Time a compiled graph, on any target, in turns with the program that it computes in NumPy."""
    bound = compiled.bind(inputs)
    name, threads = compiled.graph.name, compiled.options.threads
    with np.errstate(all="ignore"):
        compared = compare(
            {name: bound},
            (baseline_of(program), in_numpy(program, inputs)),
            threads=threads,
            budget_s=budget_s,
            cpu_clock=None,  # another device's time is no CPU's
        )
    return compared[name]


def baseline_of(program: KernelGraph) -> str:
    """Return what a program in NumPy is called beside kernels."""
    return BLOCK_BY_BLOCK if any(program.blocks) else NUMPY


def _named(found: Comparison, name: str) -> Comparison:
    """Return a comparison whose warning names the graph."""
    return replace(found, timing=replace(found.timing, name=name))


def fastest_of_each(racers: Sequence[Racer]) -> list[Racer]:
    """Return the first of each name: the fastest tiling of each graph."""
    found: dict[str, Racer] = {}
    for each in racers:
        found.setdefault(each.name, each)
    return list(found.values())


def verified(
    racers: Sequence[Racer], on_step: Callable[[str], object] | None = None
) -> list[Racer]:
    """Return racers whose kernels have been compared with their graphs as code.

    A graph that is too large for that has the error as its verdict. Raises ``WrongResult`` for
    kernels that are refused.
    """
    found = []
    for each in racers:
        if on_step:
            on_step(f"verify {each.name}")
        try:
            verdict: CodeVerdict | Undecided = verified_code(each.name, each.lowered)
        except Undecided as error:
            verdict = error
        found.append(replace(each, verdict=verdict))
    return found


def _entries(graphs: Mapping[str, KernelGraph], threads: int, most: int) -> list[_Entry]:
    return [
        _Entry(name, graph, lowered)
        for name, graph in graphs.items()
        for lowered in programs(graph, threads, most)
    ]
