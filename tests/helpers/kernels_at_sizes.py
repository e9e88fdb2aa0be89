"""Kernels of all sizes, at some: as ordinary kernels they are checked, and run beside NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mlc_course.dynamic_shape.codegen import PlannedKernel, planned_kernels
from mlc_course.dynamic_shape.fusion import Flow, Knowledge, Plan
from mlc_course.dynamic_shape.ir import DTYPES, Module
from mlc_course.mugraph.ir import Array, Floats
from mlc_course.mugraph.kernel_checks import first_fault, values

EXACT = Floats(np.float64, np.float64)
KERNELS: Mapping[str, Callable[[Plan], tuple[PlannedKernel, ...]]] = {
    "cpu": lambda plan: planned_kernels(plan, width=8),
    "narrow": lambda plan: planned_kernels(plan, width=2),
    "folded": lambda plan: planned_kernels(plan, width=4),
    "unfolded": lambda plan: planned_kernels(plan, width=4, folds=False),
    "gpu": lambda plan: planned_kernels(plan, "cuda"),
}


def all_values(
    module: Module, inputs: Mapping[str, Array], sizes: Mapping[str, int]
) -> list[Array]:
    """Every value of a program, computed in float64."""
    found = []
    for each in module.function.inputs:
        kind = np.float64 if each.type.dtype[0] == "f" else DTYPES[each.type.dtype]
        found.append(np.asarray(inputs[each.name]).astype(kind))
    for equation in module.function.equations:
        shape = tuple(dim if isinstance(dim, int) else sizes[dim] for dim in equation.type.dims)
        operands = [found[at] for at in equation.operands]
        with np.errstate(all="ignore"):
            value = equation.op.run(*operands, shape=shape, **dict(equation.attributes))
        kind = np.float64 if equation.type.dtype[0] == "f" else DTYPES[equation.type.dtype]
        found.append(np.asarray(value).astype(kind))
    return found


def close(found: Array, expected: Array) -> bool:
    """Tell whether numbers agree to 9 digits of the largest finite one, and in NaN and infinity."""
    found, expected = found.astype(float), expected.astype(float)
    finite = np.isfinite(expected)
    largest = np.abs(expected[finite]).max(initial=0)
    same = np.array_equal(found[~finite], expected[~finite], equal_nan=True)
    return same and bool(np.all(np.abs(found[finite] - expected[finite]) <= 1e-9 * largest + 1e-30))


def named_sizes(module: Module, knowledge: Knowledge, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes by the names that the knowledge has for them, too."""
    found = dict(sizes)
    for type_, dims in zip(module.function.types, knowledge.sizes, strict=True):
        for dim, name in zip(type_.dims, dims, strict=True):
            if isinstance(name, str):
                found[name] = dim if isinstance(dim, int) else sizes[dim]
    return found


def check_at_sizes(
    plan: Plan, target: str, inputs: Mapping[str, Array], sizes: Mapping[str, int]
) -> int:
    """Check all variants that admit some sizes against NumPy; return how many there are."""
    module = plan.module
    knowledge, flow = Knowledge(module, plan.level), Flow(module.function)
    known, count = all_values(module, inputs, sizes), 0
    sizes = named_sizes(module, knowledge, sizes)
    for made in KERNELS[target](plan):
        lowered = made.lowered
        for variant in made.variants:
            if not variant.admits(sizes):
                continue
            numbers = dict(zip(variant.kernel.sizes, variant.arguments(sizes), strict=True))
            kernel = variant.kernel.at(numbers)
            fault = first_fault(kernel)
            assert fault is None, (str(variant), fault, str(variant.kernel))
            given = [known[value].reshape(-1) for value in lowered.inputs]
            for value, found in zip(lowered.outputs, values(kernel, given, EXACT), strict=True):
                expected = known[value].reshape(-1)
                assert close(found, expected), (flow.function.name_of(value), str(variant.kernel))
            count += 1
    return count
