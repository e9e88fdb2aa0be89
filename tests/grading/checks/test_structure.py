# mypy: ignore-errors
"""Each check of structure: the honest variants that it passes, and the dodges that it refuses."""

from __future__ import annotations

import pytest
from dodges import DODGES, dodged

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks import axis_kinds, inner_stride
from mlc_course.grading.process import Program, problem
from mlc_course.lessons.kit import check_work, column_sums
from mlc_course.lessons.lesson_08_fusion.checks import each_once, exp_once
from mlc_course.lessons.lesson_09_vectorization.checks import MEANS, in_vectors
from mlc_course.lessons.lesson_10_parallelism.checks import x_is_shared_out
from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel.checks import (
    reads_panels,
    same_tile,
)
from mlc_course.machine import describe
from mlc_course.tensor_program.problems import linear_relu, matmul, matmul_exp_matmul
from mlc_course.tensor_program.schedule import data_steps, lookup, reorder, steps, tile
from mlc_course.tensor_program.tir import IRModule, Schedule, T

PRODUCT = problem(
    "product",
    inputs={"A": (16, 16), "B": (16, 16)},
    result=("C", (16, 16)),
    exact=lambda A, B: A @ B,
)


@T.prim_func(s_tir=True)
def by_block(
    A: T.Buffer((16, 16), "float32"),
    B: T.Buffer((16, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
):
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("C"):
            v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[v_i, v_j] = T.float32(0)
            C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]


@T.prim_func(s_tir=True)
def in_rows(X: T.Buffer((100, 64), "float32"), Y: T.Buffer((64,), "float32")):
    total = T.sblock_alloc_buffer((64,))
    for j in T.vectorized(64):
        total[j] = T.float32(0)
    for k in range(100):
        for j in T.vectorized(64):
            total[j] = total[j] + X[k, j]
    for j in range(64):
        Y[j] = total[j] / T.float32(100)


@T.prim_func(s_tir=True)
def one_by_one(X: T.Buffer((100, 64), "float32"), Y: T.Buffer((64,), "float32")):
    total = T.sblock_alloc_buffer((64,))
    for j in range(64):
        total[j] = T.float32(0)
        for k in range(100):
            total[j] = total[j] + X[k, j]
        Y[j] = total[j] / T.float32(100)


def made(work, *changes) -> IRModule:
    sch = Schedule(work.program())
    for change in changes:
        change(sch)
    return sch.mod


SMALL = matmul(16, 32, 32)
FUSED = matmul_exp_matmul(16, 8, 8, 8)
LAYER = linear_relu(16, 8, 8)
SUMS = column_sums(64, 16)
PANELS = matmul(32, 24, 16)


def pack(sch) -> None:
    data_steps.pack(sch, "C", "A", along="m", panel=16)


def products(sch) -> None:
    steps.reorder(sch, "C", "m", "k", "l")
    steps.reorder(sch, "F", "m", "l", "n")


def in_chunks(workers):
    def change(sch) -> None:
        k_0, _ = sch.split(lookup.loop(sch, "S", "k"), [workers, None])
        sch.rfactor(k_0, factor_axis=0)
        steps.reorder(sch, "S_rf", "k_0", "k_1", "j")
        steps.parallel(sch, "S_rf", "k_0")

    return change


def sums_of_rows(sch) -> None:
    tile(sch, "C", n=3 * describe().lanes, m=4)
    reorder(sch, "C", "k", "m_1", "n_1")


TILED = matmul(8, 16, 3 * describe().lanes * 2)
UNIT = [
    "a serial loop of one turn inside",
    "a vectorized loop of one turn inside",
    "a loop of one turn in the grid",
]
IDLE = ["hot vectors", "vectors beside", "a dead load"]
ROUNDABOUT = ["a condition in two turns", "a condition on two loops", "sums in halves", "decoys"]
COPIES = ["copies of the inputs", "parallel copies in vectors", "local copies"]

# What judges, its problem, honest programs, a wrong one, and the dodges that are made out of it.
TABLE = {
    "inner_stride": (
        inner_stride("C").inspect,
        SMALL,
        [
            made(SMALL, lambda s: reorder(s, "C", "m", "k", "n")),
            made(SMALL, lambda s: reorder(s, "C", "k", "m", "n")),
            made(SMALL, lambda s: tile(s, "C", m=8, k=8, n=8)),
            made(
                SMALL,
                lambda s: tile(s, "C", m=8, k=8, n=8),
                lambda s: steps.vectorize(s, "C", "n_1"),
            ),
            made(
                SMALL,
                lambda s: s.add_unit_loop(s.get_sblock("C")),
                lambda s: s.reorder(*[s.get_loops(s.get_sblock("C"))[n] for n in (0, 2, 1)]),
            ),
        ],
        made(SMALL),
        [*UNIT, *IDLE, *ROUNDABOUT, *COPIES],
    ),
    "axis_kinds": (
        axis_kinds("C", "SSR").inspect,
        PRODUCT,
        [IRModule({"main": by_block.with_attr("global_symbol", "main")})],
        IRModule({"main": by_block.with_attr("global_symbol", "main")}),
        ["axes SSS", "axes SRR", "decoys", "copies of the inputs"],
    ),
    "exp_once": (
        exp_once,
        FUSED,
        [
            made(FUSED),
            made(FUSED, products),
            made(
                FUSED,
                products,
                lambda s: steps.fuse_consumer(s, "D", into="C", at="m"),
                lambda s: steps.merge(s, "C", "F", at="m"),
            ),
        ],
        made(FUSED, products, lambda s: steps.inline(s, "D")),
        [
            "exp2",
            "exp10",
            "pow",
            "sigmoid",
            "tanh",
            "sinh and cosh",
            "a square of exp",
            "a series",
            "a series and as many exps",
            *UNIT,
        ],
    ),
    "each_once": (
        each_once,
        LAYER,
        [
            made(LAYER),
            made(
                LAYER,
                lambda s: steps.reorder(s, "R_matmul", "m", "k", "n"),
                lambda s: steps.fuse_consumer(s, "R", into="R_matmul", at="m"),
            ),
        ],
        made(
            LAYER,
            lambda s: steps.reorder(s, "R_matmul", "m", "k", "n"),
            lambda s: s.reverse_compute_at(
                s.get_sblock("R"), s.get_loops(s.get_sblock("R_matmul"))[1]
            ),
        ),
        [*UNIT, *IDLE, "decoys", "axes SSS", *COPIES],
    ),
    "in_vectors": (
        in_vectors,
        MEANS,
        [IRModule({"main": in_rows.with_attr("global_symbol", "main")})],
        IRModule({"main": one_by_one.with_attr("global_symbol", "main")}),
        [*UNIT, *IDLE, *ROUNDABOUT[:3], *COPIES],
    ),
    "x_is_shared_out": (
        x_is_shared_out,
        SUMS,
        [made(SUMS, in_chunks(4)), made(SUMS, in_chunks(8)), made(SUMS, in_chunks(16))],
        made(SUMS),
        [*UNIT, *IDLE, *ROUNDABOUT, *COPIES, "a parallel loop beside"],
    ),
    "reads_panels": (
        reads_panels,
        PANELS,
        [
            made(PANELS, pack),
            made(PANELS, pack, lambda s: data_steps.stage(s, "C", "B")),
            made(
                PANELS,
                lambda s: tile(s, "C", n=8, m=16),
                lambda s: reorder(s, "C", "k", "m_1", "n_1"),
                pack,
            ),
        ],
        made(PANELS),
        [
            *UNIT,
            *IDLE,
            *ROUNDABOUT,
            *COPIES,
            *(name for name in DODGES if name.startswith("panels")),
        ],
    ),
    "same_tile": (
        same_tile,
        TILED,
        [
            made(TILED, sums_of_rows),
            made(TILED, sums_of_rows, lambda s: steps.split(s, "C", "n_1", describe().lanes)),
        ],
        made(TILED),
        [*UNIT, *IDLE, *ROUNDABOUT, *COPIES],
    ),
    "check_work": (
        lambda program: check_work(program) or "no more work",
        SMALL,
        [made(SMALL), made(SMALL, lambda s: steps.hoist_init(s, "C", "k"))],
        dodged(made(SMALL), DODGES["sums in halves"]),
        [*UNIT, *IDLE, "decoys", *COPIES],
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_honest_variants_pass(name: str) -> None:
    judge, work, honest, _, _ = TABLE[name]
    for module in honest:
        assert judge(Program(module, work))


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_dodges_are_refused(name: str) -> None:
    judge, work, _, wrong, dodges = TABLE[name]
    if name != "axis_kinds":
        with pytest.raises(UnmetCheck):
            judge(Program(wrong, work))
    tried = 0
    for dodge in dodges:
        module = dodged(wrong, DODGES[dodge])
        if module is not None:
            tried += 1
            with pytest.raises(UnmetCheck):
                judge(Program(module, work))
    assert tried == len(dodges) >= (4 if name == "axis_kinds" else 7)
