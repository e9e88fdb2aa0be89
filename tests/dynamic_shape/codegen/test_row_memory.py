"""Rows that passes keep lie in results, where nothing is lost; elsewhere they have own memory."""

from __future__ import annotations

import pytest
from kernels_at_sizes import KERNELS, check_at_sizes
from shape_programs import program_of

from mlc_course.dynamic_shape.fusion import plan
from mlc_course.dynamic_shape.ir import Module, bind
from mlc_course.dynamic_shape.programs import example_inputs

SOFTMAX = """
%0 = reduce_max(%x) {axes = [1]} : [R]
%1 = broadcast(%0) {dims = [0]} : [R, C]
%2 = sub(%x, %1) : [R, C]
%3 = exp(%2) : [R, C]
%4 = reduce_sum(%3) {axes = [1]} : [R]
%5 = broadcast(%4) {dims = [0]} : [R, C]
%6 = div(%3, %5) : [R, C]
"""
# exp(x - max) is needed after softmax is written, for a reduction of its own
AFTERWARDS = """
%7 = reduce_max(%6) {axes = [1]} : [R]
%8 = broadcast(%7) {dims = [0]} : [R, C]
%9 = sub(%3, %8) : [R, C]
%10 = reduce_sum(%9) {axes = [1]} : [R]
"""
IN_HALF = "%7 = convert(%6) : [R, C]f16"
# two rows are needed until the last result is written
TWO = """
%7 = exp(%6) : [R, C]
%8 = reduce_sum(%7) {axes = [1]} : [R]
%9 = broadcast(%8) {dims = [0]} : [R, C]
%10 = mul(%7, %9) : [R, C]
%11 = add(%10, %3) : [R, C]
"""


def rows_of(module: Module) -> int:
    """How many rows the only kernel has memory for; its values are right at some sizes."""
    planned = plan(module)
    for rows, columns in [(1, 1), (1, 7), (3, 8), (4, 13), (5, 16), (9, 31)]:
        names = {"R": rows, "C": columns}
        inputs = example_inputs(module, names)
        sizes = bind(module, {key: array.shape for key, array in inputs.items()})
        assert check_at_sizes(planned, "cpu", inputs, sizes)
    (made,) = KERNELS["cpu"](planned)
    return len(made.lowered.kernel.shared)


@pytest.mark.parametrize(
    ("more", "results", "rows"),
    [
        ("", "%6", 0),
        (AFTERWARDS, "%6, %10", 1),
        (IN_HALF, "%7", 1),
        (TWO, "%11", 1),
        (TWO, "%6, %11", 1),
        (TWO, "%10, %6, %11", 0),
    ],
    ids=["softmax", "needed later", "float16", "last", "first and last", "all"],
)
def test_rows_lie_in_results(more: str, results: str, rows: int) -> None:
    module = program_of("x [R, C]", SOFTMAX + more, results)
    assert rows_of(module) == rows
