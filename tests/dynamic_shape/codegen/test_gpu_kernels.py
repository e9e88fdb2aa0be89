"""Kernels of all sizes as CUDA C++: their PTX is run on a CPU, and all become machine code."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_at_sizes import KERNELS, all_values

from mlc_course.dynamic_shape.fusion import plan
from mlc_course.dynamic_shape.ir import DTYPES, bind
from mlc_course.dynamic_shape.programs import NAMES, example_inputs, example_sizes, program
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
    for made in KERNELS["gpu"](plan(module)):
        lowered = made.lowered
        for variant in made.variants:
            source = source_of([variant.kernel], CUDA, "float32")
            ptx = load(compile_ptx(source.text, "sm_80"))
            for numbers in SWEEP:
                inputs = example_inputs(module, example_sizes(name, *numbers))
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
    kernels = [
        each.kernel for made in KERNELS["gpu"](plan(program(name))) for each in made.variants
    ]
    source = source_of(kernels, CUDA, "float32")
    for arch in ("sm_80", "sm_90"):
        assert compile_cubin(source.text, arch)


def test_a_row_that_is_a_multiple_of_four_is_read_four_at_a_time() -> None:
    choices = KERNELS["gpu"](plan(program("bias_gelu")))[0].variants
    wide, general = (
        source_of([each.kernel], CUDA, "float32").text for each in (choices[-2], choices[-1])
    )
    assert str(choices[-2]) == "F % 4 == 0"
    assert "load(" in wide
    assert "load(" not in general
    assert "F_by_4" in wide


def test_the_text_is_also_opencl() -> None:
    (made,) = KERNELS["gpu"](plan(program("masked_softmax")))
    text = source_of([made.lowered.kernel], OPENCL, "float32").text
    assert "const long K" in text
