"""A kernel that is run although its guard does not hold: nothing crashes, and the result is wrong.

The machine code gets the memory of real inputs, and finds in it the tensors that it assumes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mlc_course.dynamic_shape.codegen import Variant
from mlc_course.dynamic_shape.ir import Module, bind, run
from mlc_course.dynamic_shape.programs import example_inputs
from mlc_course.mugraph.cpu_kernels import prim_func
from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.runtime import empty
from mlc_course.tensor_program.tir import compile_kernel, shared_tensor

SHOWN = 4  # floats of a row


def rows_without_guard(
    variant: Variant, module: Module, sizes: Mapping[str, int]
) -> tuple[Array, Array]:
    """Return the last result of a program of one kernel, as it is and as a variant computes it.

    Both are rows. Whether its guard holds is not asked. What the variant does not write is nan.
    """
    inputs = example_inputs(module, sizes)
    known = bind(module, {name: array.shape for name, array in inputs.items()})
    results = run(module, inputs)
    numbers = dict(zip(variant.kernel.sizes, variant.arguments(known), strict=True))
    kernel = variant.kernel.at(numbers)
    memory = [_copied(inputs[each.name].reshape(-1)) for each in kernel.inputs]
    memory += [_copied(np.full(each.size, np.nan, np.float32)) for each in results]
    views = [
        shared_tensor(array[: each.shape[0]])
        for each, array in zip((*kernel.inputs, *kernel.outputs), memory, strict=True)
    ]
    compile_kernel(prim_func(variant.kernel), threads=1)(*views, *numbers.values())
    width = results[-1].shape[-1]
    return results[-1].reshape(-1, width), memory[-1].reshape(-1, width)


def without_guard(variant: Variant, module: Module, sizes: Mapping[str, int]) -> None:
    """Print how each row begins, as it is and as a variant computes it whose guard is not asked.

    Raises ``ShapeError`` for sizes that the program does not take.
    """
    right, found = rows_without_guard(variant, module, sizes)
    for at, rows in enumerate(zip(right, found, strict=True)):
        for name, row in zip(("right", "found"), rows, strict=True):
            begin = " ".join(f"{number:6.2f}" for number in row[:SHOWN])
            print(f"row {at}, {name}: {begin}  ...")
    is_wrong = ~np.isclose(right, found, rtol=1e-3)
    unwritten = np.isnan(found).sum()
    print(f"{is_wrong.sum()} of {right.size} floats are wrong; {unwritten} were never written")


def _copied(array: Array) -> Array:
    """Return a copy where kernels expect memory to begin."""
    made = empty(array.shape, array.dtype.name)
    made[...] = array
    return made
