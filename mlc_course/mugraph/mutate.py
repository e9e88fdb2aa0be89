"""Wrong graphs from right ones: one small change each, of the kinds that people and searches make.

A verifier is judged by what it refuses, so it is tried on mutants. A mutant passes all checks of a
graph, since a change that does not is no graph. Not every mutant is wrong: ``add`` commutes, and
other tiles compute the same.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mlc_course.errors import CourseError
from mlc_course.mugraph.ir import BlockGraph, Equation, ThreadGraph
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.mutations import OF_BLOCKS, OF_EQUATIONS
from mlc_course.mugraph.ops import Op


@dataclass(frozen=True)
class Mutant:
    """A graph with one change: of which kind, and in which equation."""

    kind: str
    graph: KernelGraph
    where: str

    def __str__(self) -> str:
        return f"{self.kind}, {self.where}"


def mutants(graph: KernelGraph, rng: random.Random) -> Iterator[Mutant]:
    """Mutants of a graph, in an order that ``rng`` draws; no two are equal, nor one to it."""
    known = {graph}
    changes = list(_changes(graph))
    rng.shuffle(changes)
    for kind, where, change in changes:
        try:
            made = change()
        except CourseError:
            continue
        if made not in known:
            known.add(made)
            yield Mutant(kind, made, where)


Change = tuple[str, str, Callable[[], KernelGraph]]
Path = tuple[int, ...]  # of an equation: its place in the kernel graph, in its block, in its thread


def _changes(graph: KernelGraph) -> Iterator[Change]:
    for kind, wholes in OF_GRAPHS.items():
        for whole in wholes(graph):
            yield kind, graph.name, partial(replace, graph, **whole)
    for path, equation, earlier in _sites(graph):
        for kind, others in OF_EQUATIONS.items():
            for other in others(equation, earlier):
                yield kind, str(equation), partial(_with, graph, path, other)
    for place, block in graph.blocks:
        for kind, blocks in OF_BLOCKS.items():
            for made in blocks(block):
                changed = replace(graph.equations[place], op=made)
                where = str(graph.equations[place])
                yield kind, where, partial(_with, graph, (place,), changed)


def _sites(graph: KernelGraph) -> Iterator[tuple[Path, Equation, int]]:
    """Every equation at every level, and how many values there are before it."""
    yield from _inside((), graph.equations, len(graph.inputs))


def _inside(
    above: Path, equations: Sequence[Equation], first: int
) -> Iterator[tuple[Path, Equation, int]]:
    for place, equation in enumerate(equations):
        path = (*above, place)
        yield path, equation, first
        first += len(equation.names)
        if isinstance(equation.op, BlockGraph):
            yield from _inside(path, equation.op.equations, len(equation.op.loads))
        if isinstance(equation.op, ThreadGraph):
            yield from _inside(path, equation.op.equations, len(equation.op.operands))


def _with(graph: KernelGraph, path: Path, equation: Equation) -> KernelGraph:
    return replace(graph, equations=_replaced(graph.equations, path, equation))


def _replaced(
    equations: Sequence[Equation], path: Path, equation: Equation
) -> tuple[Equation, ...]:
    place, *rest = path
    if rest:
        outer = equations[place]
        assert not isinstance(outer.op, Op)
        inner = _replaced(outer.op.equations, tuple(rest), equation)
        equation = replace(outer, op=replace(outer.op, equations=inner))
        if isinstance(outer.op, ThreadGraph):
            equation = _reading(equation)
    return (*equations[:place], equation, *equations[place + 1 :])


def _reading(equation: Equation) -> Equation:
    """With only those operands that the thread graph still reads, in the order of reading."""
    thread = equation.op
    assert isinstance(thread, ThreadGraph)
    count = len(thread.operands)
    numbers = (n for each in thread.equations for n in each.operands)
    read = list(dict.fromkeys(n for n in numbers if n < count))
    made = range(count, count + len(thread.equations))
    number = {old: new for new, old in enumerate([*read, *made])}
    inner = tuple(
        replace(each, operands=tuple(number[n] for n in each.operands)) for each in thread.equations
    )
    named = tuple(thread.operands[n] for n in read)
    operands = tuple(equation.operands[n] for n in read)
    return replace(equation, op=ThreadGraph(named, inner), operands=operands)


# Changes of a kernel graph: the fields that are others.


def _neighbours_exchanged(graph: KernelGraph) -> Iterator[dict[str, Any]]:
    """Of two operators with one operand, one after the other, the second comes first."""
    sites = list(_sites(graph))
    for (path, one, number), (below, other, _) in zip(sites, sites[1:], strict=False):
        follows = (*path[:-1], path[-1] + 1) == below and other.operands == (number,)
        if follows and len(one.operands) == 1:
            before = replace(one, op=other.op, attributes=other.attributes)
            after = replace(other, op=one.op, attributes=one.attributes)
            changed = _replaced(graph.equations, path, before)
            yield {"equations": _replaced(changed, below, after)}


def _other_outputs(graph: KernelGraph) -> Iterator[dict[str, Any]]:
    for order in itertools.islice(itertools.permutations(graph.outputs), 1, 24):
        yield {"outputs": order}


def _other_output(graph: KernelGraph) -> Iterator[dict[str, Any]]:
    for place, value in itertools.product(range(len(graph.outputs)), range(len(graph.shapes))):
        if graph.shapes[value] == graph.output_shapes[place]:
            yield {"outputs": (*graph.outputs[:place], value, *graph.outputs[place + 1 :])}


def _inputs_exchanged(graph: KernelGraph) -> Iterator[dict[str, Any]]:
    for i, j in itertools.combinations(range(len(graph.inputs)), 2):
        if graph.shapes[i] == graph.shapes[j]:
            inputs = list(graph.inputs)
            inputs[i], inputs[j] = inputs[j], inputs[i]
            yield {"inputs": tuple(inputs)}


OF_GRAPHS: Mapping[str, Callable[[KernelGraph], Iterator[dict[str, Any]]]] = {
    "neighbours exchanged": _neighbours_exchanged,
    "outputs permuted": _other_outputs,
    "another output": _other_output,
    "inputs exchanged": _inputs_exchanged,
}
KINDS = (*OF_EQUATIONS, *OF_BLOCKS, *OF_GRAPHS)
