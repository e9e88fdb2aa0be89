"""Programs in a few lines."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_08_fusion import scale_shift_clip
from mlc_course.tensor_program.problems import matmul, matmul_exp_matmul
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir.printer import outline
from mlc_course.tensor_program.tir.tvm import Schedule, T

APART = """\
for m in 8, l in 6, k in 4:
    C[m, l] += A[m, k] * B[k, l]
for m in 8, l in 6:
    D[m, l] = exp(C[m, l])
for m in 8, n in 2, l in 6:
    F[m, n] += D[m, l] * E[l, n]"""
MERGED = """\
for m_m in 8:
    for l in 6:
        for k in 4:
            C[m, l] += A[m, k] * B[k, l]
        D[m, l] = exp(C[m, l])
    for n in 2, l in 6:
        F[m, n] += D[m, l] * E[l, n]"""


def test_a_nest_is_a_line_and_a_block_its_statement() -> None:
    assert outline(matmul_exp_matmul(8, 4, 6, 2).program()) == APART


def test_loops_that_share_some_are_indented_and_single_turns_left_out() -> None:
    sch = Schedule(matmul_exp_matmul(8, 4, 6, 2).program())
    steps.fuse_consumer(sch, "D", into="C", at="l")
    steps.merge(sch, "C", "F", at="m")
    assert outline(sch) == MERGED


def test_kinds_of_loops_are_told() -> None:
    sch = Schedule(matmul(8, 4, 16).program())
    steps.reorder(sch, "C", "m", "k", "n")
    steps.parallel(sch, "C", "m")
    steps.vectorize(sch, "C", "n")
    assert outline(sch).splitlines()[0] == "for m in 8 parallel, k in 4, n in 16 vectorized:"


def test_numbers_are_numbers() -> None:
    assert "W[m, n] = max(Z[m, n], 0.0)" in outline(scale_shift_clip(2, 3).program())


def test_bare_loops_are_read_too() -> None:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def bare(X: T.Buffer((4,), "float32")):  # type: ignore[no-untyped-def, valid-type]
        for i in range(4):
            X[i] = T.float32(1)

    assert outline(bare) == "for i in 4:\n    X[i] = 1.0"


def test_other_statements_are_refused() -> None:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def choice(X: T.Buffer((4,), "float32")):  # type: ignore[no-untyped-def, valid-type]
        for i in range(4):
            if i > 1:
                X[i] = T.float32(1)

    with pytest.raises(UsageError, match="does not print"):
        outline(choice)
