"""The cases that BladeDISC tests its fusion with, as programs of our own, and the kernels of each.

The functions are those of ``gpu-only-lhlo-fusion-shape-constraint.mlir``; the numbers of kernels
are those that ``tests/regression`` there expects with ``DISC_EXPECTED_KERNELS_IN_UT``, but for the
two cases in which operators become part of a matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from shape_programs import program_of

from mlc_course.dynamic_shape.fusion import plan


@dataclass(frozen=True)
class Case:
    """A program, and the forms of its kernels: without stitching, and with it."""

    inputs: str
    lines: str
    results: str
    base: str
    stitch: str
    stated: str = ""


FUNCTIONS = {
    "simple_kloop_fusion": Case(
        "x [N, M]",
        """
        %0 = abs(%x) : [N, M]
        %1 = add(%x, %0) : [N, M]
        """,
        "%1",
        "loop",
        "loop",
    ),
    "simple_multi_output_kloop_fusion": Case(
        "x [N, M]",
        """
        %0 = abs(%x) : [N, M]
        %1 = add(%x, %0) : [N, M]
        """,
        "%0, %1",
        "loop",
        "loop",
    ),
    "simple_multi_output_kloop_fusion_with_reorder": Case(
        "x [N, M]; scalar []",
        """
        %0 = abs(%x) : [N, M]
        %1 = broadcast(%scalar) {dims = []} : [K, L]
        %2 = add(%x, %0) : [N, M]
        """,
        "%0, %1, %2",
        "loop loop",
        "loop loop",
    ),
    "same_num_elements_multi_output_kloop_fusion": Case(
        "x [A, B]",
        """
        %0 = abs(%x) : [A, B]
        %1 = add(%x, %0) : [A, B]
        %2 = reshape(%1) : [C, D, E]
        %3 = add(%2, %2) : [C, D, E]
        """,
        "%1, %3",
        "loop",
        "loop",
    ),
    "check_not_kloop_fusion": Case(
        "x [A, B]; y [C, D]",
        """
        %0 = add(%x, %x) : [A, B]
        %1 = sub(%y, %y) : [C, D]
        """,
        "%0, %1",
        "loop loop",
        "loop loop",
    ),
    "const_should_not_be_output": Case(
        "x [N]",
        """
        %0 = constant() {value = 1.0} : [N]
        %1 = add(%x, %0) : [N]
        """,
        "%1",
        "loop",
        "loop",
    ),
    "simple_kloop_fusion_static_shape": Case(
        "x [10, 20]",
        """
        %0 = abs(%x) : [10, 20]
        %1 = add(%x, %0) : [10, 20]
        """,
        "%1",
        "loop",
        "loop",
    ),
    "kloop_fusion_with_dealloc": Case(
        "x [N, M]",
        """
        %0 = abs(%x) : [N, M]
        %1 = sub(%x, %0) : [N, M]
        %2 = mul(%0, %1) : [N, M]
        %3 = add(%2, %0) : [N, M]
        """,
        "%3",
        "loop",
        "loop",
    ),
    "simple_kinput": Case(
        "x [N, M]",
        """
        %0 = abs(%x) : [N, M]
        %1 = reduce_sum(%0) {axes = [0]} : [M]
        """,
        "%1",
        "input",
        "input",
    ),
    "multi_outputs_kinput": Case(
        "x [N, M]",
        """
        %0 = abs(%x) : [N, M]
        %1 = reduce_sum(%0) {axes = [0]} : [M]
        """,
        "%0, %1",
        "input",
        "input",
    ),
    "row_red_and_row_red_kinput": Case(
        "x [N, M]",
        """
        %0 = abs(%x) : [N, M]
        %1 = neg(%0) : [N, M]
        %2 = reduce_sum(%0) {axes = [1]} : [N]
        %3 = reduce_max(%1) {axes = [1]} : [N]
        """,
        "%2, %3",
        "input",
        "input",
    ),
    # The lines that are checked there also match two fusions, and its planner refuses the pair.
    "row_red_and_col_red_kinput": Case(
        "x [N, M]",
        """
        %0 = abs(%x) : [N, M]
        %1 = reduce_sum(%0) {axes = [1]} : [N]
        %2 = reduce_sum(%0) {axes = [0]} : [M]
        """,
        "%1, %2",
        "input input",
        "input input",
    ),
    "reduce_should_not_have_consumer_in_the_fusion": Case(
        "x [N, M]",
        """
        %0 = abs(%x) : [N, M]
        %1 = sub(%0, %x) : [N, M]
        %2 = reduce_sum(%1) {axes = [0]} : [M]
        %3 = add(%2, %2) : [M]
        """,
        "%1, %3",
        "input loop",
        "input loop",
    ),
    "kstitch_fusion_mean": Case(
        "x [A, B, C]",
        """
        %0 = abs(%x) : [A, B, C]
        %1 = reshape(%0) : [R, C]
        %2 = reduce_sum(%1) {axes = [1]} : [R]
        %3 = reshape(%2) : [A, B]
        %4 = constant() {value = 0.5} : []
        %5 = mul(%3, %4) : [A, B]
        """,
        "%0, %5",
        "input loop",
        "stitch",
        "tie_predicate_mul_eq(R, A, B)",
    ),
}

SOFTMAX = """
    %0 = reduce_max(%x) {{axes = [{axis}]}} : [{rows}]
    %1 = broadcast(%0) {{dims = [{dims}]}} : [{rows}, C]
    %2 = sub(%x, %1) : [{rows}, C]
    %3 = exp(%2) : [{rows}, C]
    %4 = reduce_sum(%3) {{axes = [{axis}]}} : [{rows}]
    %5 = broadcast(%4) {{dims = [{dims}]}} : [{rows}, C]
    %6 = div(%3, %5) : [{rows}, C]
"""
LAYER_NORM = """
    %0 = reduce_mean(%x) {{axes = [{axis}]}} : [{rows}]
    %1 = broadcast(%0) {{dims = [{dims}]}} : [{rows}, C]
    %2 = sub(%x, %1) : [{rows}, C]
    %3 = square(%2) : [{rows}, C]
    %4 = reduce_mean(%3) {{axes = [{axis}]}} : [{rows}]
    %5 = rsqrt(%4) : [{rows}]
    %6 = broadcast(%5) {{dims = [{dims}]}} : [{rows}, C]
    %7 = mul(%2, %6) : [{rows}, C]
"""
COUNTS = {  # inputs, lines, results; kernels
    "SoftmaxGPUStitchOnly3DF32": (
        "x [A, B, C]",
        SOFTMAX.format(axis=2, rows="A, B", dims="0, 1"),
        "%6",
        1,
    ),
    "LayerNormGPUStitchOnly3DF32": (
        "x [A, B, C]",
        LAYER_NORM.format(axis=2, rows="A, B", dims="0, 1"),
        "%7",
        1,
    ),
    "KStitchSimple, small and large columns": (
        "x [R, C]",
        """
        %0 = abs(%x) : [R, C]
        %1 = reduce_sum(%0) {axes = [1]} : [R]
        %2 = broadcast(%1) {dims = [0]} : [R, C]
        %3 = div(%0, %2) : [R, C]
        """,
        "%3",
        1,
    ),
    "KStitchAdjacentSkeletonWithSmallOutputF16": (
        "x [R, C]",
        """
        %0 = reduce_max(%x) {axes = [1]} : [R]
        %1 = exp(%0) : [R]
        %2 = broadcast(%1) {dims = [0]} : [R, C]
        %3 = sub(%x, %2) : [R, C]
        %4 = reduce_sum(%3) {axes = [1]} : [R]
        """,
        "%1, %3, %4",
        1,
    ),
    "KStitchNonCoverOutputF32: a slice of the rows is an output": (
        "x [R, C]",
        """
        %0 = reduce_sum(%x) {axes = [1]} : [R]
        %1 = broadcast(%0) {dims = [0]} : [R, C]
        %2 = sub(%x, %1) : [R, C]
        %3 = slice(%2) {axis = 1, start = 1, drop = 2} : [R, D]
        """,
        "%2, %3",
        1,
    ),
    "KStitchIrregularXrootF32: rows and columns are summed": (
        "x [R, C]",
        """
        %0 = exp(%x) : [R, C]
        %1 = reduce_sum(%0) {axes = [1]} : [R]
        %2 = broadcast(%1) {dims = [0]} : [R, C]
        %3 = div(%0, %2) : [R, C]
        %4 = reduce_sum(%3) {axes = [0]} : [C]
        """,
        "%3, %4",
        2,
    ),
    "KStitch3DF64": (
        "x [A, B, C]",
        LAYER_NORM.format(axis=2, rows="A, B", dims="0, 1"),
        "%2, %7",
        1,
    ),
    "KStitchWithTranspose: within a row": (
        "x [R, C, D]",
        """
        %0 = transpose(%x) {perm = [0, 2, 1]} : [R, D, C]
        %1 = reduce_sum(%0) {axes = [1, 2]} : [R]
        %2 = broadcast(%1) {dims = [0]} : [R, D, C]
        %3 = sub(%0, %2) : [R, D, C]
        %4 = transpose(%3) {perm = [0, 2, 1]} : [R, C, D]
        """,
        "%4",
        1,
    ),
    "KStitchWithSplatConst": (
        "x [R, C]",
        """
        %0 = constant() {value = 2.0} : []
        %1 = mul(%x, %0) : [R, C]
        %2 = reduce_sum(%1) {axes = [1]} : [R]
        %3 = broadcast(%2) {dims = [0]} : [R, C]
        %4 = div(%1, %3) : [R, C]
        """,
        "%4",
        1,
    ),
    "KStitchElemwiseShmCache, large and small": (
        "x [R, C]",
        """
        %0 = exp(%x) : [R, C]
        %1 = reduce_sum(%0) {axes = [1]} : [R]
        %2 = broadcast(%1) {dims = [0]} : [R, C]
        %3 = div(%0, %2) : [R, C]
        %4 = mul(%3, %0) : [R, C]
        %5 = reduce_max(%4) {axes = [1]} : [R]
        %6 = broadcast(%5) {dims = [0]} : [R, C]
        %7 = sub(%4, %6) : [R, C]
        """,
        "%7",
        1,
    ),
    "KStitchFusionCPUTest.MultiOutputs": (
        "x [A, B, C]",
        SOFTMAX.format(axis=2, rows="A, B", dims="0, 1"),
        "%0, %3, %6",
        1,
    ),
    "ReshapeFusionCPUTest kLoop": (
        "x [R, C]",
        """
        %0 = abs(%x) : [R, C]
        %1 = neg(%0) : [R, C]
        %2 = reshape(%1) : [R, 1, C]
        %3 = exp(%2) : [R, 1, C]
        %4 = transpose(%3) {perm = [2, 1, 0]} : [C, 1, R]
        """,
        "%4",
        1,
    ),
    "ReshapeFusionCPUTest kInput": (
        "x [R, C]",
        """
        %0 = abs(%x) : [R, C]
        %1 = exp(%0) : [R, C]
        %2 = reshape(%1) : [R, 1, C]
        %3 = reduce_sum(%2) {axes = [2]} : [R, 1]
        """,
        "%3",
        1,
    ),
    "ReshapeFusionCPUTest kStitch": (
        "x [R, C]",
        """
        %0 = abs(%x) : [R, C]
        %1 = exp(%0) : [R, C]
        %2 = reshape(%1) : [R, 1, C]
        %3 = reduce_mean(%2) {axes = [2]} : [R, 1]
        """,
        "%1, %3",
        1,
    ),
    "ReshapeFusionCPUTest kStitchTest2": (
        "x [R, C]",
        LAYER_NORM.format(axis=1, rows="R", dims="0") + "%8 = reshape(%7) : [R, 1, C]",
        "%8",
        1,
    ),
    "HorizontalTensor.BasicTest: two slices": (
        "x [R, C]",
        """
        %0 = slice(%x) {axis = 1, start = 4, drop = 0} : [R, D]
        %1 = slice(%x) {axis = 1, start = 0, drop = 4} : [R, E]
        """,
        "%0, %1",
        1,
    ),
    "WhereFusionDynamicShape": (
        "x [A, B, C]; y [A, B, C]",
        """
        %0 = less(%x, %y) : [A, B, C]i1
        %1 = select(%0, %x, %y) : [A, B, C]
        """,
        "%1",
        1,
    ),
    "EpilogueMultiConsumers: around a matrix product": (
        "x [N, K]; w [K, M]",
        """
        %0 = exp(%x) : [N, K]
        %1 = matmul(%0, %w) : [N, M]
        %2 = neg(%1) : [N, M]
        %3 = abs(%1) : [N, M]
        """,
        "%2, %3",
        2,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_functions_have_kernels_of_these_forms(name: str) -> None:
    case = FUNCTIONS[name]
    module = program_of(case.inputs, case.lines, case.results, case.stated)
    for stitch, expected in ((False, case.base), (True, case.stitch)):
        found = plan(module, stitch=stitch)
        assert [kernel.form for kernel in found.kernels] == expected.split()


@pytest.mark.parametrize("name", COUNTS)
def test_the_programs_have_as_many_kernels(name: str) -> None:
    inputs, lines, results, expected = COUNTS[name]
    assert len(plan(program_of(inputs, lines, results)).kernels) == expected


def test_stitching_with_two_outputs_needs_the_constraints() -> None:
    """``KStitchNonSkeletonOutputF32``: one kernel with the shape-constraint IR, two without."""
    module = program_of(
        "x [T, H]; residual [B, S, H]",
        """
        %0 = reshape(%x) : [B, S, H]
        %1 = add(%0, %residual) : [B, S, H]
        %2 = reshape(%1) : [T, H]
        %3 = reduce_mean(%2) {axes = [1]} : [T]
        %4 = broadcast(%3) {dims = [0]} : [T, H]
        %5 = sub(%2, %4) : [T, H]
        """,
        "%1, %5",
    )
    assert [len(plan(module, facts).kernels) for facts in ("eq", "all")] == [2, 1]
