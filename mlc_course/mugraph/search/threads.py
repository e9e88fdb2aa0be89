"""Thread graphs: chains of elementwise operators whose values stay in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mlc_course.mugraph.ir import Equation, ThreadGraph
from mlc_course.mugraph.ops import Op
from mlc_course.mugraph.search.structure import Stage


def threaded(stage: Stage, when: Sequence[tuple[int, bool]]) -> Stage:
    """A stage whose chains of elementwise operators are thread graphs.

    An operator goes with the one that alone reads it, if both are elementwise and done at the same
    time: ``when`` says of each tile in which loop it changes and whether that is over.
    """
    first = len(stage.loads)
    readers: dict[int, set[int]] = {}
    for number, equation in enumerate(stage.equations, first):
        for operand in equation.operands:
            readers.setdefault(operand, set()).add(number)
    stored = {number for _, number in stage.stores}
    into: dict[int, int] = {}
    for number in range(len(stage.dims) - 1, first - 1, -1):
        alone = readers.get(number, set())
        if _elementwise(stage, number) and len(alone) == 1 and number not in stored:
            (reader,) = alone
            if _elementwise(stage, reader) and when[number] == when[reader]:
                into[number] = into.get(reader, reader)
    groups: dict[int, list[int]] = {}
    for number in range(first, len(stage.dims)):
        groups.setdefault(into.get(number, number), []).append(number)
    return _written(stage, groups)


def _elementwise(stage: Stage, number: int) -> bool:
    equation = stage.equations[number - len(stage.loads)] if number >= len(stage.loads) else None
    return equation is not None and isinstance(equation.op, Op) and equation.op.elementwise


def _written(stage: Stage, groups: dict[int, list[int]]) -> Stage:
    """The stage with one equation for each group, at the place of its last."""
    first = len(stage.loads)
    kept = [*range(first), *sorted(groups)]
    place = {number: n for n, number in enumerate(kept)}
    equations = []
    for last in sorted(groups):
        members = [stage.equations[number - first] for number in groups[last]]
        if len(members) == 1:
            operands = tuple(place[n] for n in members[0].operands)
            equations.append(replace(members[0], operands=operands))
            continue
        inside = dict.fromkeys(groups[last])
        read = list(dict.fromkeys(n for e in members for n in e.operands if n not in inside))
        local = {number: n for n, number in enumerate([*read, *groups[last]])}
        inner = tuple(replace(e, operands=tuple(local[n] for n in e.operands)) for e in members)
        thread = ThreadGraph(tuple(stage.names[n] for n in read), inner)
        operands = tuple(place[n] for n in read)
        equations.append(Equation(thread, operands, (), members[-1].names))
    return replace(
        stage,
        names=tuple(stage.names[n] for n in kept),
        equations=tuple(equations),
        stores=tuple((name, place[n]) for name, n in stage.stores),
        dims=tuple(stage.dims[n] for n in kept),
    )
