"""Kernels with barriers and local memory run on a device, within its limits."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import thread_kernels
from numpy.typing import NDArray

from mlc_course.errors import SizeError
from mlc_course.mugraph.ir import FLOAT64
from mlc_course.mugraph.kernel_checks.execution import execute
from mlc_course.mugraph.kernels import Barrier, Kernel, rewritten
from mlc_course.mugraph.opencl import Launches, compile_kernels, find_device
from mlc_course.mugraph.opencl.launches import check_limits

KERNELS = thread_kernels.kernels()
BY_HAND = list(KERNELS)


def in_halves(
    kernel: Kernel, seed: int = 0
) -> tuple[list[NDArray[np.float16]], list[NDArray[np.float16]]]:
    rng = np.random.default_rng(seed)
    inputs = [rng.standard_normal(each.shape).astype(np.float16) for each in kernel.inputs]
    return inputs, [np.full(each.shape, np.nan, np.float16) for each in kernel.outputs]


def error(made: Launches, right: Kernel | None = None, seed: int = 0) -> float:
    """The largest error of what a kernel writes."""
    (kernel,) = made.kernels
    inputs, outputs = in_halves(kernel, seed)
    names = [each.name for each in (*kernel.inputs, *kernel.outputs)]
    made.bind(dict(zip(names, inputs + outputs, strict=True)))()
    exact = [each.astype(np.float64) for each in inputs]
    pairs = zip(outputs, execute(right or kernel, exact, FLOAT64).outputs, strict=True)
    return max(float(np.abs(got - wanted).max()) for got, wanted in pairs)


@pytest.mark.parametrize("name", BY_HAND)
def test_kernels_written_by_hand_are_right(name: str) -> None:
    made = compile_kernels([KERNELS[name]], "float16", find_device())
    assert error(made) < 2e-2


def test_another_device_s_arrays_are_copied_there_and_back() -> None:
    other = replace(find_device(), is_cpu=False)
    assert error(compile_kernels([thread_kernels.transposition()], "float16", other)) == 0


def test_values_show_that_a_barrier_is_missing() -> None:
    kernel = thread_kernels.transposition(threads=64)
    body = rewritten(kernel.body, lambda each: () if isinstance(each, Barrier) else (each,))
    on = find_device(1)  # so that a block finds another's elements where its own are missing
    assert error(compile_kernels([kernel], "float16", on)) == 0
    wrong = compile_kernels([replace(kernel, body=body)], "float16", on)
    # other inputs: a tile that the right kernel has left behind is wrong now
    assert error(wrong, right=kernel, seed=1) != 0


@pytest.mark.parametrize("limit", ["most_threads", "shared_bytes", "most_bytes"])
def test_what_a_device_cannot_hold_is_refused_before_it_is_compiled(limit: str) -> None:
    kernel = thread_kernels.transposition(threads=64)
    small = replace(find_device(), **{limit: 16})
    with pytest.raises(SizeError, match="transposition"):
        check_limits(kernel, "float16", small)
    with pytest.raises(SizeError, match=re.escape(f"at most 16, those of {small.name}")):
        compile_kernels([kernel], "float16", small)
    check_limits(kernel, "float16", find_device())


def test_no_kernels_are_nothing_to_do() -> None:
    compile_kernels([], "float32", find_device()).bind({})()
