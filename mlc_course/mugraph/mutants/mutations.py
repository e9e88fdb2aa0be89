"""Mutants: wrong graphs made from right ones by one small change each.

The changes are those that people and searches make. A verifier is judged by what it refuses, so it
is tried on mutants. A mutant passes all checks of a graph: a change that does not is dropped. Not
every mutant is wrong: ``add`` commutes, and other tiles compute the same.

Each change of an equation or of a block graph yields candidates. To try a verifier on one more kind
of mistake, add a function and a line in the table.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from mlc_course.errors import CourseError
from mlc_course.mugraph.ir import (
    BY_NAME,
    AxisMap,
    BlockGraph,
    Constant,
    Equation,
    KernelGraph,
    Load,
    Op,
    Store,
    ThreadGraph,
    ops,
    thread_graph,
)

ONCE = ("by", Constant(Fraction(1)))
SIBLINGS: Sequence[frozenset[str]] = tuple(
    map(
        frozenset,
        (
            {"add", "sub", "mul", "div", "maximum"},
            {"exp", "square", "sqrt", "log", "neg"},
            {"silu", "sigmoid", "gelu", "relu", "tanh"},
            {"sum", "mean", "max"},
            {"softmax", "stable_softmax", "rms_norm"},
            {"accumulate", "accumulate_max"},
            {"scale", "shift"},
        ),
    )
)

# Changes of one equation at any level; ``earlier`` values come before it.


def _exchanged(equation: Equation, earlier: int) -> Iterator[Equation]:
    for i, j in itertools.combinations(range(len(equation.operands)), 2):
        operands = list(equation.operands)
        operands[i], operands[j] = operands[j], operands[i]
        yield replace(equation, operands=tuple(operands))


def _other_operand(equation: Equation, earlier: int) -> Iterator[Equation]:
    for place, other in itertools.product(range(len(equation.operands)), range(earlier)):
        operands = list(equation.operands)
        operands[place] = other
        yield replace(equation, operands=tuple(operands))


def _dropped(equation: Equation, earlier: int) -> Iterator[Equation]:
    """One of the operands replaces the result."""
    if isinstance(equation.op, Op) and equation.op.carried != "accumulate":
        for operand in equation.operands:
            yield replace(equation, op=ops.scale, operands=(operand,), attributes=(ONCE,))


def _sibling(equation: Equation, earlier: int) -> Iterator[Equation]:
    if isinstance(equation.op, Op):
        for family in SIBLINGS:
            if equation.op.name in family:
                for name in family:
                    yield replace(equation, op=BY_NAME[name])


def _not_rescaled(equation: Equation, earlier: int) -> Iterator[Equation]:
    if equation.op is ops.accumulate_rescaled:
        for op in (ops.accumulate, ops.accumulate_max):
            yield replace(equation, op=op, operands=equation.operands[:1])


def _other_attribute(kind: str, others: Callable[[Any], Iterator[Any]]) -> Any:
    """The change of each attribute of a kind to each of ``others`` than it."""

    def change(equation: Equation, earlier: int) -> Iterator[Equation]:
        if isinstance(equation.op, Op):
            given = {**equation.op.defaults, **dict(equation.attributes)}
            for name, value in given.items():
                if equation.op.attributes[name] == kind:
                    for other in others(value):
                        changed = given | {name: other}
                        kept = {
                            k: v for k, v in changed.items() if v != equation.op.defaults.get(k)
                        }
                        yield replace(equation, attributes=tuple(kept.items()))

    return change


def _other_constants(constant: Constant) -> Iterator[Constant]:
    """Twice, half, one more, one more below the line, negative; a size less, or its root."""
    n, d = constant.coefficient.numerator, constant.coefficient.denominator
    for coefficient in (
        Fraction(2 * n, d),
        Fraction(n, 2 * d),
        Fraction(n + 1, d),
        Fraction(n, d + 1),
        Fraction(-n, d),
        Fraction(n, d) + Fraction(1, 10**5),
    ):
        yield replace(constant, coefficient=coefficient)
    for name, power in constant.powers:
        rest = tuple(each for each in constant.powers if each[0] != name)
        yield replace(constant, powers=rest)
        yield replace(constant, powers=(*rest, (name, power * 2)))
        yield replace(constant, powers=(*rest, (name, power / 2)))


# Changes of a block graph.


def _other_imaps(block: BlockGraph) -> Iterator[BlockGraph]:
    for place, load in enumerate(block.loads):
        for other in _other_cuts(load.imap, [name for name, _ in block.grid]):
            yield _loading(block, place, replace(load, imap=other))


def _other_fmaps(block: BlockGraph) -> Iterator[BlockGraph]:
    for place, load in enumerate(block.loads):
        for other in _other_cuts(load.fmap, [name for name, _ in block.loops]):
            yield _loading(block, place, replace(load, fmap=other))


def _no_fmaps(block: BlockGraph) -> Iterator[BlockGraph]:
    """Drop one of the loops, or all, from every fmap: iterations load the same."""
    for names in [*((name,) for name, _ in block.loops), tuple(name for name, _ in block.loops)]:
        loads = tuple(
            replace(load, fmap=tuple(each for each in load.fmap if each[0] not in names))
            for load in block.loads
        )
        yield replace(block, loads=loads)


def _other_omaps(block: BlockGraph) -> Iterator[BlockGraph]:
    for place, store in enumerate(block.stores):
        for other in _other_cuts(store.omap, [name for name, _ in block.grid]):
            yield _storing(block, place, replace(store, omap=other))


def _other_cuts(cuts: AxisMap, axes: Sequence[str]) -> Iterator[AxisMap]:
    """Each axis cuts another dimension, or none; two axes change places."""
    known = dict(cuts)
    for axis in axes:
        rest = {name: dim for name, dim in cuts if name != axis}
        for changed in (rest, *({**rest, axis: dim} for dim in range(3))):
            yield tuple((name, changed[name]) for name in axes if name in changed)
    for one, other in itertools.combinations(known, 2):
        swapped = {**known, one: known[other], other: known[one]}
        yield tuple(swapped.items())


def _between(block: BlockGraph) -> Iterator[BlockGraph]:
    """Let a loop cut what a grid axis cuts, or the other way round."""
    for place, load in enumerate(block.loads):
        for (axis, dim), (loop, _) in itertools.product(load.imap, block.loops):
            imap = tuple(each for each in load.imap if each[0] != axis)
            yield _loading(block, place, replace(load, imap=imap, fmap=((loop, dim),)))
        for (loop, dim), (axis, _) in itertools.product(load.fmap, block.grid):
            fmap = tuple(each for each in load.fmap if each[0] != loop)
            yield _loading(block, place, replace(load, imap=((axis, dim),), fmap=fmap))


def _other_values_stored(block: BlockGraph) -> Iterator[BlockGraph]:
    for place, store in enumerate(block.stores):
        for value in range(len(block.names)):
            yield _storing(block, place, replace(store, value=value))


def _loading(block: BlockGraph, place: int, load: Load) -> BlockGraph:
    return replace(block, loads=(*block.loads[:place], load, *block.loads[place + 1 :]))


def _storing(block: BlockGraph, place: int, store: Store) -> BlockGraph:
    stores = (*block.stores[:place], store, *block.stores[place + 1 :])
    return replace(block, stores=stores)


def _other_tiles(block: BlockGraph) -> Iterator[BlockGraph]:
    """Twice or half as many blocks or iterations; two loops, or two axes, change places."""
    for field in ("grid", "loops"):
        axes = getattr(block, field)
        for place, (name, extent) in enumerate(axes):
            for other in (2 * extent, extent // 2):
                changed = (*axes[:place], (name, other), *axes[place + 1 :])
                yield replace(block, **{field: changed})


OF_EQUATIONS: Mapping[str, Callable[[Equation, int], Iterator[Equation]]] = {
    "operands exchanged": _exchanged,
    "another operand": _other_operand,
    "operator dropped": _dropped,
    "another operator": _sibling,
    "accumulator not rescaled": _not_rescaled,
    "another constant": _other_attribute("constant", _other_constants),
    "another axis": _other_attribute("axis", lambda axis: iter(range(4))),
    "axes in another order": _other_attribute("axes", lambda a: iter(itertools.permutations(a))),
    "another part": _other_attribute("count", lambda n: iter((n + 1, n - 1))),
    "another accumulator fmap": _other_attribute(
        "map", lambda cuts: iter([(), *(((loop, dim),) for loop in "k" for dim in range(3))])
    ),
}
OF_BLOCKS: Mapping[str, Callable[[BlockGraph], Iterator[BlockGraph]]] = {
    "another imap": _other_imaps,
    "another fmap": _other_fmaps,
    "loop without fmap": _no_fmaps,
    "another omap": _other_omaps,
    "a map on another axis": _between,
    "another value stored": _other_values_stored,
    "other tiles": _other_tiles,
}


@dataclass(frozen=True)
class Mutant:
    """A graph with one change: of which kind, and in which equation."""

    kind: str
    graph: KernelGraph
    where: str

    def __str__(self) -> str:
        return f"{self.kind}, {self.where}"


def mutants(graph: KernelGraph, rng: random.Random) -> Iterator[Mutant]:
    """Yield distinct mutants of a graph, none equal to it, in an order that ``rng`` draws."""
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
    """Yield every equation at every level, and how many values come before it."""
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
    """Drop operands that the thread graph no longer reads, and order the rest as it reads them."""
    thread = equation.op
    assert isinstance(thread, ThreadGraph)
    count = len(thread.operands)
    made = range(count, count + len(thread.equations))
    op, read = thread_graph(thread.equations, made, thread.operands)
    return replace(equation, op=op, operands=tuple(equation.operands[n] for n in read))


# Changes of a kernel graph: the fields that are others.


def _neighbours_exchanged(graph: KernelGraph) -> Iterator[dict[str, Any]]:
    """Exchange two successive operators of one operand."""
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


def _numbers_for_sizes(graph: KernelGraph) -> Iterator[dict[str, Any]]:
    """Write a constant that names a size as a number: its own, or that of other sizes."""
    steps = {n for _, block in graph.blocks for _, n in (*block.grid, *block.loops)}
    for path, equation, _ in _sites(graph):
        for name, constant in equation.attributes:
            if isinstance(constant, Constant) and constant.powers:
                own = constant.number(graph.size_of)
                others = {own.coefficient} | {
                    own.coefficient * Fraction(size, other)
                    for size, other in itertools.product(graph.size_of.values(), repeat=2)
                }
                others |= {own.coefficient * n for n in steps} | {
                    own.coefficient / n for n in steps
                }
                for number in sorted(others) if not own.roots else ():
                    changed = _attribute(equation, name, Constant(number))
                    yield {"equations": _replaced(graph.equations, path, changed)}


def _numbers_in_loops(graph: KernelGraph) -> Iterator[dict[str, Any]]:
    """Make a number of a block graph as many times as large as a loop or a grid has steps."""
    for place, block in graph.blocks:
        for path, equation, _ in _inside((place,), block.equations, len(block.loads)):
            for name, constant in equation.attributes:
                if isinstance(constant, Constant):
                    for _, n in (*block.grid, *block.loops):
                        for factor in (Fraction(n), Fraction(1, n), Fraction(2, n)):
                            other = replace(constant, coefficient=constant.coefficient * factor)
                            changed = _attribute(equation, name, other)
                            yield {"equations": _replaced(graph.equations, path, changed)}


def _attribute(equation: Equation, name: str, value: Any) -> Equation:
    changed = tuple((n, value if n == name else old) for n, old in equation.attributes)
    return replace(equation, attributes=changed)


OF_GRAPHS: Mapping[str, Callable[[KernelGraph], Iterator[dict[str, Any]]]] = {
    "neighbours exchanged": _neighbours_exchanged,
    "outputs permuted": _other_outputs,
    "another output": _other_output,
    "inputs exchanged": _inputs_exchanged,
    "a number for a size": _numbers_for_sizes,
    "a number times the steps": _numbers_in_loops,
}
KINDS = (*OF_EQUATIONS, *OF_BLOCKS, *OF_GRAPHS)
