"""The CUDA text of kernels is compiled to PTX and run: values, faults, every barrier and wait."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from generated_kernels import DTYPES, generated, gpu_for, of_program, of_tilings
from hypothesis import assume, given, settings
from lowered_graphs import cut
from small_graphs import graphs, normal_inputs

from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.programs import PROGRAM_OF
from mlc_course.mugraph.ptx import run_plan
from mlc_course.mugraph.thread_kernels import thread_program

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="NVIDIA has no compiler for macOS")
TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5}  # parts of the largest value
CASES = [
    pytest.param(
        name, storage, marks=[pytest.mark.slow] if "split" in name and storage != "bfloat16" else []
    )
    for name in PROGRAM_OF
    for storage in DTYPES
]


@pytest.mark.parametrize(("name", "storage"), CASES)
def test_the_text_of_a_published_graph_is_right_and_has_no_fault(name: str, storage: str) -> None:
    assert not generated(name, storage).wrong(TOLERANCES[storage], copies="late")


@pytest.mark.parametrize("name", ["rms_norm_matmul_fused", "lora_fused"])
def test_values_do_not_depend_on_the_order_of_warps_or_on_when_copies_land(name: str) -> None:
    kernels = generated(name, "float16", iterations=3)
    found = {
        outputs.tobytes()
        for order, copies in (("together", "early"), ("descending", "late"), (3, "early"))
        for outputs in kernels.run(order=order, copies=copies)[0]
    }
    assert len(found) == 1


SHORT = [
    ("rms_norm_matmul_fused", {"b": 16, "d": 56, "n": 48}, {"x": 32, "k": 32}, "float16"),
    ("rms_norm_matmul_fused", {"b": 5, "d": 40, "n": 28}, {"x": 10, "k": 16}, "float32"),
    ("gated_mlp_fused", {"b": 8, "d": 96, "n": 40}, {"x": 16, "k": 64}, "bfloat16"),
    ("attention_fused", {"m": 20, "n": 100, "d": 16, "v": 24}, {"y": 16, "k": 64}, "float16"),
    ("qk_norm_attention_fused", {"m": 6, "n": 37, "d": 8, "v": 5}, {"y": 4, "k": 10}, "bfloat16"),
]


@pytest.mark.parametrize(("name", "sizes", "tiles", "storage"), SHORT)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_last_steps_may_be_short(
    name: str, sizes: dict[str, int], tiles: dict[str, int], storage: str, arch: str
) -> None:
    small = cut(name, sizes, tiles)
    gpu = gpu_for(storage, threads=64, stages=2)
    kernels = of_tilings(small, storage, gpu, normal_inputs(small.graph))
    assert not kernels.wrong(TOLERANCES[storage], copies="late", arch=arch)


@pytest.mark.fuzz
@settings(max_examples=10)
@given(graphs())
def test_random_block_graphs_are_right(graph: KernelGraph) -> None:
    results = [n for place, _ in graph.blocks for n in graph.results(place)]
    assume(results)
    graph = replace(graph, outputs=tuple(results))
    gpu = gpu_for("float32", threads=32, stages=2)
    program = thread_program(graph, gpu).program
    kernels = of_program(program, "float32", normal_inputs(graph))
    assert not kernels.wrong(1e-4, copies="late")


def test_an_array_that_a_plan_needs_has_to_be_given() -> None:
    kernels = generated("gated_mlp_fused", "float16")
    with pytest.raises(UsageError, match="arrays for a plan"):
        run_plan(kernels.plan, kernels.inputs)


def without(pattern: str, number: int) -> Callable[[str], str]:
    """Leave out what a pattern finds in a text for so many times."""
    count = 0

    def left_out(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return "" if count == number + 1 else found[0]

    return lambda text: re.sub(pattern, left_out, text)


@pytest.mark.parametrize("name", ["rms_norm_matmul_fused", "gated_mlp_fused", "attention_fused"])
def test_every_barrier_and_every_wait_is_needed(name: str) -> None:
    kernels = generated(name, "float16")
    for pattern, kinds in (
        (r"__syncthreads\(\);", {"race", "copy"}),
        (r" await_copies<\d>\(\);", {"copy"}),
    ):
        count = len(re.findall(pattern, kernels.plan.text))
        assert count
        for number in range(count):
            _, reports = kernels.run(without(pattern, number))
            found = {fault.kind for report in reports for fault in report.faults}
            assert found and found <= kinds, (pattern, number)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            '"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])',
            '"r"(a[0]), "r"(a[2]), "r"(a[1]), "r"(a[3])',
        ),
        ('"r"(b[0]), "r"(b[1])', '"r"(b[1]), "r"(b[0])'),
        (".x2.trans.", ".x2."),
    ],
)
def test_other_fragments_are_other_values(right: str, wrong: str) -> None:
    kernels = generated("rms_norm_matmul_fused", "float16")
    assert right in kernels.plan.text
    (got,), _ = kernels.run(lambda text: text.replace(right, wrong))
    (expected,) = kernels.expected
    assert np.abs(got.astype("f8") - expected).max() > 0.1 * np.abs(expected).max()
