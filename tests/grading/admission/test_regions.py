# mypy: ignore-errors
"""Programs whose blocks declare other accesses than they make, and those that TVM makes itself."""

from __future__ import annotations

import pytest
from tvm.script import from_source

from mlc_course.errors import UnsafeProgram
from mlc_course.grading.admission.admitted_programs import admit
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import data_steps, steps
from mlc_course.tensor_program.tir import IRModule, PrimFunc, Schedule

SMALL = matmul(16, 32, 64)


def product(reads: str, writes: str) -> PrimFunc:
    """A product whose block declares these accesses, in the words of TVMScript."""
    return from_source(f"""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16, 32)), B: T.Buffer((32, 64)), C: T.Buffer((16, 64))):
    P = T.sblock_alloc_buffer((1, 32, 16))
    for m, k, n in T.grid(16, 32, 64):
        with T.sblock("C"):
            v_m, v_k, v_n = T.axis.remap("SRS", [m, k, n])
            {reads}
            {writes}
            with T.init():
                C[v_m, v_n] = T.float32(0)
            C[v_m, v_n] = C[v_m, v_n] + A[v_m, v_k] * B[v_k, v_n]
""").with_attr("global_symbol", "main")


A_AND_B = "T.reads(A[v_m, v_k], B[v_k, v_n])"
C_ALONE = "T.writes(C[v_m, v_n])"


@pytest.mark.parametrize(
    ("reads", "writes"),
    [
        ("", ""),
        (A_AND_B, C_ALONE),
        ("T.reads(C[v_m, v_n], A[v_m, v_k], B[v_k, v_n])", C_ALONE),
        ("T.reads(A[0:16, 0:32], B[v_k, 0:64])", "T.writes(C[v_m, 0:64])"),
    ],
)
def test_what_a_block_does_may_be_declared(reads: str, writes: str) -> None:
    admit(IRModule({"main": product(reads, writes)}), SMALL.program())


@pytest.mark.parametrize(
    ("reads", "writes", "told"),
    [
        ("T.reads(P[0, v_k, v_m], B[v_k, v_n])", C_ALONE, "got       B, P"),
        ("T.reads()", C_ALONE, "got       nothing"),
        ("T.reads(A[v_m, v_k])", C_ALONE, "expected  A, B\n"),
        ("T.reads(A[v_m, v_k], B[v_k, v_n], P[0, 0, 0])", C_ALONE, "T.reads says something else"),
        (A_AND_B, "T.writes()", "T.writes says something else"),
        (A_AND_B, "T.writes(P[0, v_k, v_m])", "T.writes says something else"),
        (A_AND_B, "T.writes(C[v_m, v_n], P[0, v_k, v_m])", "got       C, P"),
    ],
)
def test_what_a_block_does_not_do_is_refused(reads: str, writes: str, told: str) -> None:
    with pytest.raises(UnsafeProgram) as caught:
        admit(IRModule({"main": product(reads, writes)}), SMALL.program())
    assert told in str(caught.value)
    assert "TVM fills it in" in str(caught.value)


def scheduled(*changes: object) -> IRModule:
    sch = Schedule(SMALL.program())
    for change in changes:
        change(sch)
    return sch.mod


@pytest.mark.parametrize(
    "module",
    [
        scheduled(lambda sch: steps.hoist_init(sch, "C", "k")),
        scheduled(lambda sch: data_steps.pack(sch, "C", "B", along="n", panel=16)),
        scheduled(lambda sch: sch.cache_read(sch.get_sblock("C"), 0, "local")),
        scheduled(lambda sch: sch.cache_write(sch.get_sblock("C"), 0, "global")),
        scheduled(lambda sch: sch.blockize(sch.get_loops(sch.get_sblock("C"))[1])),
        scheduled(
            lambda sch: sch.rfactor(
                sch.split(sch.get_loops(sch.get_sblock("C"))[2], [4, None])[0], factor_axis=0
            )
        ),
        scheduled(
            lambda sch: steps.pad(sch, "C", n=24),
            lambda sch: steps.split(sch, "C", "n", 24),
        ),
    ],
    ids=["hoisted", "packed", "cached", "written back", "in blocks", "in parts", "padded"],
)
def test_what_schedules_make_is_admitted(module: IRModule) -> None:
    admit(module, SMALL.program())
