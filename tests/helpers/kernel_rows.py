"""Kernels tried at given sizes: does each row need only itself, and is each element stored once?"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from mlc_course.dynamic_shape.fusion import Flow, Kernel, Plan
from mlc_course.dynamic_shape.ir import Dim, Equation, Function

Array = np.ndarray[Any, Any]
NO_ROW, MANY_ROWS = -1, -2


def both(one: Array, other: Array) -> Array:
    """The row that two elements need together."""
    either = np.where(one == NO_ROW, other, one)
    return np.where((one == other) | (one == NO_ROW) | (other == NO_ROW), either, MANY_ROWS)


def rows_needed(
    equation: Equation, operands: list[Array], shape: tuple[int, ...], *, is_here: bool
) -> Array:
    """Return the row of the kernel's reductions that each element of a value needs."""
    given = dict(equation.attributes)
    kind = equation.op.kind
    if kind == "source" or not is_here:
        return np.full(shape, NO_ROW)
    if kind == "elementwise":
        total = np.full(shape, NO_ROW)
        for each in operands:
            total = both(total, np.broadcast_to(each, shape))
        return total
    if kind == "reduction":
        axes: Any = given["axes"]
        needed = np.full(shape, NO_ROW)
        moved = np.moveaxis(operands[0], axes, range(len(axes)))
        for each in moved.reshape(-1, *shape):
            needed = both(needed, each)
        own = np.arange(needed.size).reshape(shape)
        return both(needed, own)
    if equation.op.name == "gather":
        table, indices = operands
        any_row = table[0]  # an index may be any
        for each in table[1:]:
            any_row = both(any_row, each)
        own = indices.reshape(*indices.shape, *[1] * any_row.ndim)
        return both(np.broadcast_to(any_row, shape), np.broadcast_to(own, shape))
    if equation.op.name == "pad":
        given["value"] = NO_ROW
    return np.asarray(equation.op.run(*operands, shape=shape, **given))


def check_kernel(function: Function, kernel: Kernel, sizes: Mapping[str, int]) -> None:
    """Raise ``AssertionError`` where a kernel is wrong at these sizes."""

    def shape(dims: tuple[Dim, ...]) -> tuple[int, ...]:
        return tuple(dim if isinstance(dim, int) else sizes[dim] for dim in dims)

    shapes = [shape(each.dims) for each in function.types]
    first = len(function.inputs)
    inside = set(kernel.values)
    reductions = [
        value for value in inside if function.equations[value - first].op.kind == "reduction"
    ]
    counts = {value: prod(shapes[value]) for value in kernel.outputs}
    if not reductions:
        assert kernel.form == "loop" and len(set(counts.values())) == 1, counts
        return
    needed: list[Array] = [np.full(shapes[value], NO_ROW) for value in range(first)]
    for value, equation in enumerate(function.equations, first):
        is_free = equation.op.kind in ("reshape", "source")
        operands = [needed[each] for each in equation.operands]
        if is_free and operands:
            needed.append(operands[0].reshape(shapes[value]))
        else:
            needed.append(rows_needed(equation, operands, shapes[value], is_here=value in inside))
    sums = [prod(shapes[value]) for value in reductions]
    if kernel.form == "input":
        assert not any(
            who in reductions for value in inside for who, _ in Flow(function).reads[value]
        )
        whole = {prod(shapes[function.equations[v - first].operands[0]]) for v in reductions}
        assert len(whole) == 1 == len(set(sums))
        assert {counts[v] for v in kernel.outputs if v not in reductions} <= whole | set(sums)
    else:
        assert len(set(sums)) == 1
        for value in inside:
            found = needed[value].reshape(-1)
            if not (found == NO_ROW).all() or value in kernel.outputs:
                assert found.size % sums[0] == 0, "a part of a row"
                row = np.arange(found.size) // (found.size // sums[0])
                assert ((found == NO_ROW) | (found == row)).all(), function.name_of(value)


def check_plan(plan: Plan, sizes: Mapping[str, int]) -> None:
    """Raise ``AssertionError`` where a plan leaves out, repeats, or misorders something."""
    function = plan.module.function
    flow = Flow(function)
    planned = [value for kernel in plan.kernels for value in kernel.values]
    expected = [value for value in flow.equations if not flow.is_call(value)]
    assert sorted(planned) == expected
    at = {value: number for number, kernel in enumerate(plan.kernels) for value in kernel.values}
    for value in planned:
        for who, _ in flow.reads[value]:
            if who in at:
                assert at[who] <= at[value], "a kernel reads what a later one stores"
                stored = plan.kernels[at[who]].outputs
                assert at[who] == at[value] or who in stored, "read, but not stored"
    for value in flow.returned & set(planned):
        assert value in plan.kernels[at[value]].outputs, "returned, but not stored"
    waits_for_itself(flow, at)
    for kernel in plan.kernels:
        check_kernel(function, kernel, sizes)


def waits_for_itself(flow: Flow, at: Mapping[int, int]) -> None:
    """Calls of a library between two kernels run between them; so no call may need both sides."""
    latest: dict[int, int] = {}
    for value in flow.equations:
        before = [latest[who] for who, _ in flow.reads[value]]
        latest[value] = max([at.get(value, -1), *before])
        if value in at:
            assert latest[value] == at[value], "a kernel waits for a call that waits for it"
