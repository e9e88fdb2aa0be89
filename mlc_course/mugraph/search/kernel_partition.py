"""The partition of a program into kernels: its segments, and the plan that costs least.

A *segment* is a run of the program's equations, to be done by one fused kernel. What a block cannot
hold (a reshape, a concatenation) stays a kernel of its own, and no segment goes across it. A *plan*
is a row of segments that makes up the program.

There are many segments and each takes a search, so a segment that nobody has searched counts as
what one kernel has to do at least: load its inputs, store its outputs, and compute what the program
computes. The plan that is cheapest by such figures says which segments to search next; when all
segments of the cheapest plan have been searched, no other plan can be better by these figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mlc_course.deadline import check_time
from mlc_course.errors import CourseError
from mlc_course.mugraph.cost import Target, cost
from mlc_course.mugraph.ir import Constant, Equation, Input, KernelGraph, Op, ops
from mlc_course.mugraph.search.dimensions import Classes, single
from mlc_course.mugraph.search.value_names import fresh

INSIDE = ("axis", "constant")  # kinds of attributes of operators that a block may have
RULES = (ops.elementwise, ops.product, ops.reduced, ops.along)  # of shapes


@dataclass(frozen=True, eq=False)
class Segment:
    """Equations ``start`` to ``stop`` of a program, as a program.

    ``least`` is what one kernel for all of them costs at least, in seconds, and ``apart`` what they
    cost as they are, each a kernel.
    """

    start: int
    stop: int
    program: KernelGraph
    fused: bool  # or left as the predefined operator that it is
    least: float
    apart: float

    @cached_property
    def text(self) -> str:
        """The program as text."""
        return str(self.program)

    @property
    def name(self) -> str:
        made = [equation.names[0] for equation in self.program.equations]
        return made[0] if len(made) == 1 else f"{made[0]} to {made[-1]}"


Plan = tuple[Segment, ...]


def inside(op: object) -> bool:
    """Tell whether a block graph may contain this operator."""
    if not isinstance(op, Op) or op.operands is None:
        return False
    return op.shape in RULES and all(kind in INSIDE for kind in op.attributes.values())


class Partition:
    """All segments of a program of up to ``longest`` equations."""

    def __init__(
        self, program: KernelGraph, classes: Classes, target: Target, longest: int
    ) -> None:
        self.program, self.target = program, target
        end = len(program.equations)
        self.segments: dict[tuple[int, int], Segment] = {}
        for start in range(end):
            check_time()
            for stop in range(start + 1, min(end, start + longest) + 1):
                fused = inside(program.equations[stop - 1].op)
                if not fused and stop > start + 1:
                    break
                part = segment_program(program, classes, start, stop)
                if part is not None and _connected(part):
                    apart = cost(part, target)
                    least = _in_one_kernel(part, target) if fused else apart.total
                    made = Segment(start, stop, part, fused, float(least), float(apart.total))
                    self.segments[start, stop] = made
                if not fused:
                    break

    def cheapest(self, price: Callable[[Segment], float], longest: int) -> tuple[Plan, float]:
        """Return the cheapest plan of segments of up to ``longest`` equations, and its price.

        The plan is () where there is none. Of equal plans, the one with fewer kernels.
        """
        end = len(self.program.equations)
        best: list[tuple[float, int, Segment | None]] = [(0.0, 0, None)]
        for stop in range(1, end + 1):
            choices: list[tuple[float, int, Segment | None]] = [(math.inf, 0, None)]
            for start in range(max(0, stop - longest), stop):
                last = self.segments.get((start, stop))
                before, kernels, _ = best[start]
                if last is not None and before < math.inf:
                    choices.append((before + price(last), kernels + 1, last))
            best.append(min(choices, key=lambda each: each[:2]))
        total, _, last = best[end]
        if total == math.inf:
            return (), math.inf
        plan: list[Segment] = []
        while last is not None:
            plan.append(last)
            last = best[last.start][2]
        return tuple(reversed(plan)), total


def _connected(part: KernelGraph) -> bool:
    """Tell whether no equations could go apart from the others without reading anything twice."""
    group = list(range(len(part.shapes)))

    def root(number: int) -> int:
        while group[number] != number:
            number = group[number]
        return number

    for made, equation in enumerate(part.equations, len(part.inputs)):
        for operand in equation.operands:
            group[root(operand)] = root(made)
    return len({root(made) for made in range(len(part.inputs), len(group))}) == 1


def _in_one_kernel(part: KernelGraph, target: Target) -> float:
    """Return the least that one kernel costs which computes what these equations compute."""
    computes = cost(part, target)
    first = len(part.inputs)
    comes = sum(math.prod(shape) for shape in part.shapes[:first]) * target.itemsize
    goes = sum(math.prod(part.shapes[n]) for n in part.outputs) * target.itemsize
    memory = (comes + goes) / target.memory_bytes_per_s + comes / target.near_bytes_per_s
    work = computes.matrix + computes.elements + computes.special
    return float(memory + work + target.launch_s)


def segment_program(
    program: KernelGraph, classes: Classes, start: int, stop: int
) -> KernelGraph | None:
    """Return a part of a program.

    Constants that name a size which no input of the part has are written as numbers; None where
    such a number is irrational.
    """
    first = len(program.inputs)
    made = program.equations[start:stop]
    read = dict.fromkeys(
        n for equation in made for n in equation.operands if not first + start <= n < first + stop
    )
    inputs, sizes = [], dict[str, int]()
    for number in sorted(read):
        dims = _dims(program, classes, number)
        inputs.append(Input(program.names[number], dims))
        sizes |= dict(zip(dims, program.shapes[number], strict=True))
    place = {number: n for n, number in enumerate(sorted(read))}
    place |= {first + n: len(read) + n - start for n in range(start, stop)}
    rest = {dim: size for dim, size in program.sizes if dim not in sizes}
    equations = tuple(
        replace(
            each,
            operands=tuple(place[n] for n in each.operands),
            attributes=tuple((name, _numbered(value, rest)) for name, value in each.attributes),
        )
        for each in made
    )
    outputs = tuple(place[first + n] for n in _live(program, start, stop))
    name = f"{program.name}_{start}_{stop}"
    try:
        return KernelGraph(name, tuple(inputs), equations, outputs, tuple(sizes.items()))
    except CourseError:
        return None


def _numbered(value: Any, sizes: Mapping[str, int]) -> Any:
    """Return an attribute in which these sizes are numbers, as far as those are rational."""
    if isinstance(value, tuple):
        return tuple(_numbered(each, sizes) for each in value)
    if not isinstance(value, Constant) or not any(name in sizes for name, _ in value.powers):
        return value
    known = tuple(each for each in value.powers if each[0] in sizes)
    number = Constant(value.coefficient, known).number(sizes)
    others = tuple(each for each in value.powers if each[0] not in sizes)
    return value if number.roots else Constant(number.coefficient, others)


def _live(program: KernelGraph, start: int, stop: int) -> list[int]:
    """Equations from start to stop whose values something else reads, or the program returns."""
    first = len(program.inputs)
    behind = {n for equation in program.equations[stop:] for n in equation.operands}
    behind |= set(program.outputs)
    return [n for n in range(start, stop) if first + n in behind]


def _dims(program: KernelGraph, classes: Classes, number: int) -> tuple[str, ...]:
    """Names for the dimensions of a value: an input's own, else those of its axes."""
    if number < len(program.inputs):
        return program.inputs[number].dims
    labels, shape = classes.of_value[number], program.shapes[number]
    return tuple(
        label if single(label) else str(extent) for label, extent in zip(labels, shape, strict=True)
    )


def joined(
    program: KernelGraph,
    parts: Sequence[tuple[KernelGraph, KernelGraph, Sequence[int]]],
    name: str,
) -> KernelGraph:
    """Join the graphs of a plan's segments, one after the other, into one.

    A part is a segment's program, a graph for it, and which output of the graph each output of the
    program is.
    """
    numbers = {each.name: n for n, each in enumerate(program.inputs)}
    taken, made = {*program.names}, len(program.inputs)
    equations: list[Equation] = []
    for segment, graph, outputs in parts:
        local = [numbers[each.name] for each in graph.inputs]
        pairs = list(zip(segment.outputs, outputs, strict=True))
        called = {graph.outputs[n]: segment.names[number] for number, n in pairs}
        for equation in graph.equations:
            own = range(len(local), len(local) + len(equation.names))
            names = (
                called.get(number) or fresh(old, taken)
                for number, old in zip(own, equation.names, strict=True)
            )
            operands = tuple(local[n] for n in equation.operands)
            equations.append(replace(equation, operands=operands, names=tuple(names)))
            local += range(made, made + len(own))
            made += len(own)
        for number, n in pairs:
            numbers[segment.names[number]] = local[graph.outputs[n]]
    outputs = tuple(numbers[program.names[n]] for n in program.outputs)
    return KernelGraph(name, program.inputs, tuple(equations), outputs, program.sizes)
