"""The partition of a program into kernels: where to cut it, its parts, and the whole again.

What a block cannot hold (a reshape, a concatenation) stays a predefined operator, and what stands
between two of those is fused by itself. A program without any is cut in two besides, where the
fewest elements go from one kernel to the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlc_course.errors import CourseError
from mlc_course.mugraph.ir import Equation, Input, KernelGraph, Op
from mlc_course.mugraph.search.dimensions import Classes, single
from mlc_course.mugraph.search.value_names import fresh

INSIDE = ("axis", "constant")  # kinds of attributes of operators that a block may have
MOST_CUTS = 3


@dataclass(frozen=True)
class Segment:
    """Equations ``start`` to ``stop`` of a program, as a program."""

    start: int
    stop: int
    program: KernelGraph
    fused: bool = True  # or left as the predefined operator that it is

    @property
    def name(self) -> str:
        made = [equation.names[0] for equation in self.program.equations]
        return made[0] if len(made) == 1 else f"{made[0]} to {made[-1]}"


Plan = tuple[Segment, ...]


def inside(op: object) -> bool:
    """Tell whether a block graph may contain this operator."""
    if not isinstance(op, Op) or op.operands is None:
        return False
    return all(kind in INSIDE for kind in op.attributes.values())


def plans(program: KernelGraph, classes: Classes) -> list[Plan]:
    """Return the ways to cut a program; none for a program of one operator."""
    end = len(program.equations)
    outside = [n for n, equation in enumerate(program.equations) if not inside(equation.op)]
    if outside:
        bounds = [(n, n + 1, False) for n in outside]
        edges = [0, *(edge for n in outside for edge in (n, n + 1)), end]
        pairs = zip(edges[::2], edges[1::2], strict=True)
        bounds += [(start, stop, True) for start, stop in pairs if start < stop]
        whole = [segment(program, classes, *each) for each in sorted(bounds)]
        return [tuple(each for each in whole if each)] if all(whole) else []
    cuts = sorted(range(1, end), key=lambda cut: (_crossing(program, cut), cut))
    found = []
    for cut in cuts:
        halves = [segment(program, classes, 0, cut), segment(program, classes, cut, end)]
        if all(halves):
            found.append(tuple(each for each in halves if each))
        if len(found) == MOST_CUTS:
            break
    return found


def _crossing(program: KernelGraph, cut: int) -> int:
    """Count the elements that are made before a cut and read after it."""
    first = len(program.inputs)
    return sum(math.prod(program.shapes[first + n]) for n in _live(program, 0, cut))


def _live(program: KernelGraph, start: int, stop: int) -> list[int]:
    """Equations from start to stop whose values something else reads, or the program returns."""
    first = len(program.inputs)
    behind = {n for equation in program.equations[stop:] for n in equation.operands}
    behind |= set(program.outputs)
    return [n for n in range(start, stop) if first + n in behind]


def segment(
    program: KernelGraph, classes: Classes, start: int, stop: int, fused: bool = True
) -> Segment | None:
    """Return a part of a program; None where a constant needs a size that no input has."""
    first = len(program.inputs)
    own = program.equations[start:stop]
    read = dict.fromkeys(
        n for equation in own for n in equation.operands if not first + start <= n < first + stop
    )
    inputs, sizes = [], dict[str, int]()
    for number in sorted(read):
        dims = _dims(program, classes, number)
        inputs.append(Input(program.names[number], dims))
        sizes |= dict(zip(dims, program.shapes[number], strict=True))
    place = {number: n for n, number in enumerate(sorted(read))}
    place |= {first + n: len(read) + n - start for n in range(start, stop)}
    equations = tuple(replace(e, operands=tuple(place[n] for n in e.operands)) for e in own)
    outputs = tuple(place[first + n] for n in _live(program, start, stop))
    name = f"{program.name}_{start}_{stop}"
    try:
        part = KernelGraph(name, tuple(inputs), equations, outputs, tuple(sizes.items()))
    except CourseError:
        return None
    return Segment(start, stop, part, fused)


def _dims(program: KernelGraph, classes: Classes, number: int) -> tuple[str, ...]:
    """Names for the dimensions of a value: an input's own, else those of its axes."""
    if number < len(program.inputs):
        return program.inputs[number].dims
    labels, shape = classes.of_value[number], program.shapes[number]
    return tuple(
        label if single(label) else str(extent) for label, extent in zip(labels, shape, strict=True)
    )


def joined(program: KernelGraph, graphs: Sequence[KernelGraph], name: str) -> KernelGraph:
    """Join the graphs of a plan's segments, one after the other, into one."""
    numbers = {each.name: n for n, each in enumerate(program.inputs)}
    taken = {*program.names}
    equations: list[Equation] = []
    for graph in graphs:
        local = [numbers[each.name] for each in graph.inputs]
        goes_out = {graph.names[n] for n in graph.outputs}
        for equation in graph.equations:
            names = tuple(
                each if each in goes_out else fresh(each, taken) for each in equation.names
            )
            operands = tuple(local[n] for n in equation.operands)
            local += range(len(numbers), len(numbers) + len(names))
            numbers |= {each: len(numbers) + n for n, each in enumerate(names)}
            equations.append(replace(equation, operands=operands, names=names))
    outputs = tuple(numbers[program.names[n]] for n in program.outputs)
    return KernelGraph(name, program.inputs, tuple(equations), outputs, program.sizes)
