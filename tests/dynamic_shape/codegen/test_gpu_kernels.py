"""Kernels of all sizes as CUDA C++: their PTX is run on a CPU, and all become machine code."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_at_sizes import all_values, lowered_plan
from shape_programs import SIZES, inputs_of

from mlc_course.dynamic_shape.fusion import plan
from mlc_course.dynamic_shape.ir import DTYPES, bind
from mlc_course.dynamic_shape.programs import NAMES, program
from mlc_course.errors import MachineError
from mlc_course.mugraph.cuda import compile_cubin, compile_ptx
from mlc_course.mugraph.gpu_text import CUDA, OPENCL, source_of
from mlc_course.mugraph.kernels import evaluate, substituted
from mlc_course.mugraph.ptx import load

SWEEP = [(1, 1, 1, 1), (1, 2, 2, 37), (1, 2, 1, 64), (1, 1, 2, 131)]


@pytest.fixture(scope="module", autouse=True)
def _nvrtc() -> None:
    try:
        compile_ptx("", "sm_80")
    except MachineError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", NAMES)
def test_the_text_computes_the_program(name: str) -> None:
    """Every variant, on both sides of its guard, without a race, a bad place or a wrong value."""
    module = program(name)
    kernels = lowered_plan(plan(module), "gpu")
    for lowered, choices in kernels:
        for variant in choices:
            source = source_of([variant.kernel], CUDA, "float32")
            ptx = load(compile_ptx(source.text, "sm_80"))
            for numbers in SWEEP:
                inputs = inputs_of(module, SIZES[name](*numbers))
                sizes = bind(module, {key: array.shape for key, array in inputs.items()})
                if not variant.admits(sizes):
                    continue
                known = all_values(module, inputs, sizes)
                types = module.function.types
                given = [
                    known[value].reshape(-1).astype(DTYPES[types[value].dtype])
                    for value in lowered.inputs
                ]
                found = [
                    np.zeros(known[value].size, DTYPES[types[value].dtype])
                    for value in lowered.outputs
                ]
                arguments = list(variant.arguments(sizes))
                here = dict(zip(variant.kernel.sizes, arguments, strict=True))
                report = ptx.launch(
                    source.names[0],
                    evaluate(substituted(variant.kernel.count, here), {}),
                    variant.kernel.threads,
                    variant.kernel.shared_bytes,
                    [*given, *found, *arguments],
                )
                assert not report.faults
                for value, array in zip(lowered.outputs, found, strict=True):
                    expected = known[value].reshape(-1)
                    off = np.abs(array.astype(float) - expected).max(initial=0)
                    limit = 1 if array.dtype == np.int8 else 5e-6 * np.abs(expected).max()
                    assert off <= limit


@pytest.mark.parametrize("name", NAMES)
def test_all_become_machine_code(name: str) -> None:
    kernels = [v.kernel for _, choices in lowered_plan(plan(program(name)), "gpu") for v in choices]
    source = source_of(kernels, CUDA, "float32")
    for arch in ("sm_80", "sm_90"):
        assert compile_cubin(source.text, arch)


def test_a_row_that_is_a_multiple_of_four_is_read_four_at_a_time() -> None:
    ((_, choices),) = lowered_plan(plan(program("bias_gelu")), "gpu")
    wide, general = (
        source_of([each.kernel], CUDA, "float32").text for each in (choices[-2], choices[-1])
    )
    assert str(choices[-2]) == "F % 4 == 0"
    assert "load(" in wide
    assert "load(" not in general
    assert "F_by_4" in wide


def test_the_text_is_also_opencl() -> None:
    ((lowered, _),) = lowered_plan(plan(program("masked_softmax")), "gpu")
    text = source_of([lowered.kernel], OPENCL, "float32").text
    assert "const long K" in text
