"""The CUDA text of kernels is compiled to PTX and run: values, faults, every barrier and wait."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import numpy as np
import pytest
from generated_kernels import DTYPES, generated

from mlc_course.mugraph.programs import PROGRAM_OF

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="NVIDIA has no compiler for macOS")
TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5}  # parts of the largest value
CASES = [
    pytest.param(
        name, storage, marks=[pytest.mark.slow] if "split" in name and storage == "float32" else []
    )
    for name in PROGRAM_OF
    for storage in DTYPES
]


@pytest.mark.parametrize(("name", "storage"), CASES)
def test_the_text_of_a_published_graph_is_right_and_has_no_fault(name: str, storage: str) -> None:
    kernels = generated(name, storage)
    outputs, reports = kernels.run(copies="late")
    assert [str(fault) for report in reports for fault in report.faults] == []
    for got, expected in zip(outputs, kernels.expected, strict=True):
        largest = np.abs(expected).max()
        assert np.abs(got.astype("f8") - expected).max() <= TOLERANCES[storage] * largest


@pytest.mark.parametrize("name", ["rms_norm_matmul_fused", "attention_fused"])
def test_values_do_not_depend_on_the_order_of_warps_or_on_when_copies_land(name: str) -> None:
    kernels = generated(name, "float16", iterations=3)
    found = {
        outputs.tobytes()
        for order, copies in (("together", "early"), ("descending", "late"), (3, "early"))
        for outputs in kernels.run(order=order, copies=copies)[0]
    }
    assert len(found) == 1


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
        count = len(re.findall(pattern, kernels.source.text))
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
    assert right in kernels.source.text
    (got,), _ = kernels.run(lambda text: text.replace(right, wrong))
    (expected,) = kernels.expected
    assert np.abs(got.astype("f8") - expected).max() > 0.1 * np.abs(expected).max()
