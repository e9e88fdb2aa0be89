"""Programs that do something too early, twice or not at all are refused, and really wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from interpreter import Interpreter, OutOfBounds
from odd_programs import KINDS
from private_buffers import carried, temporary

from mlc_course.errors import StepError
from mlc_course.tensor_program.legality import races, run_as, sound
from mlc_course.tensor_program.legality.verdicts import Illegal, Legal, Unknown
from mlc_course.tensor_program.problems import make_workload
from mlc_course.tensor_program.schedule import data_steps, steps, unchecked
from mlc_course.tensor_program.tir import Schedule, T, main_function

Apply = Callable[[Schedule], Any]


def strided(sch: Schedule) -> None:
    """Each iteration of i_1 holds every fourth row."""
    steps.split(sch, "C", "i", 4)
    steps.reorder(sch, "C", "i_1", "i_0")


def recomputing(sch: Schedule) -> None:
    steps.compute_per_iteration(sch, "S", of="Y", at="j")


# The kind of program, its sizes, what comes before, the step, and what is said of it.
WRONG: dict[str, tuple[str, tuple[int, int, int], Apply, Apply, str]] = {
    "rows are padded under a fused consumer": (
        "chain",
        (6, 5, 7),
        lambda s: steps.fuse_consumer(s, "D", into="C", at="i"),
        lambda s: steps.pad(s, "C", i=4, j=4),
        "D at i=6, ax0=0, ax1=0 writes D[6, 0], which is outside of D",
    ),
    "rows are padded under a local sum": (
        "matmul",
        (6, 5, 7),
        lambda s: data_steps.accumulate_locally(s, "C", at="i"),
        lambda s: steps.pad(s, "C", i=4, j=4),
        "outside of C",
    ),
    "a tile of every fourth row is summed locally": (
        "matmul",
        (8, 4, 6),
        strided,
        lambda s: data_steps.accumulate_locally(s, "C", at="i_1"),
        "reads C_local[1, 0], which may not be written yet (each iteration of i_1 has its own "
        "C_local)",
    ),
    "a tile of every fourth row is read": (
        "chain",
        (8, 4, 6),
        strided,
        lambda s: steps.fuse_consumer(s, "D", into="C", at="i_1"),
        "reads C[1, 0], which may not be written yet",
    ),
    "a consumer that is larger than what it reads": (
        "grown",
        (8, 4, 6),
        lambda s: None,
        lambda s: steps.fuse_consumer(s, "Y", into="D", at="i"),
        "Y[8, 0] is not written any more",
    ),
    "a consumer that needs two rounds": (
        "down",
        (8, 4, 6),
        lambda s: None,
        lambda s: steps.fuse_consumer(s, "Y", into="D", at="j"),
        "Y at i=0, j=1, ax0=0, ax1=0 reads D[0, 0], which may not be written yet",
    ),
    "a sum along a vectorized loop": (
        "softmax",
        (8, 6, 6),
        lambda s: steps.vectorize(s, "E", "j"),
        lambda s: steps.fuse_consumer(s, "S", into="E", at="j"),
        "the iterations of the vectorized loop j have no order among themselves",
    ),
    "a sum over an unfinished maximum": (
        "softmax",
        (8, 6, 6),
        lambda s: steps.inline(s, "E"),
        lambda s: steps.merge(s, "M", "S", at="k"),
        "reads M[0], which M at i_m=0, k_m=1 updates later",
    ),
    "one init for many sums": (
        "windows",
        (8, 8, 6),
        recomputing,
        lambda s: steps.hoist_init(s, "S", "j"),
        "a sum of block S_update is begun once and summed several times",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_step_that_would_leave_a_wrong_program_is_refused(name: str) -> None:
    kind, sizes, prepare, step, said = WRONG[name]
    sch = Schedule(KINDS[kind].program(*sizes))
    prepare(sch)
    before = sch.mod
    with pytest.raises(StepError) as caught:
        step(sch)
    assert said in str(caught.value.got)
    assert sch.mod.same_as(before)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused_is_really_wrong(name: str) -> None:
    kind, sizes, prepare, step, _ = WRONG[name]
    sch = Schedule(KINDS[kind].program(*sizes))
    prepare(sch)
    with unchecked():
        step(sch)
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, shape) for shape in KINDS[kind].shapes(*sizes)]
    right = KINDS[kind].numpy(*inputs)
    out = np.full(right.shape, np.nan)
    try:
        Interpreter(main_function(sch), [*inputs, out], random.Random(0))
    except OutOfBounds:
        return
    assert not np.abs(out - right).max() < 0.01


def test_a_marked_program_is_marked_once_and_for_all() -> None:
    sch = Schedule(KINDS["matmul"].program(4, 4, 4))
    with unchecked():
        steps.reorder(sch, "C", "j", "i")
    steps.split(sch, "C", "i", 2)
    assert "mlc_course.unchecked" in sch.mod.script()
    assert any(str(each.kind.name) == "Annotate" for each in sch.trace.insts)


def test_a_step_after_unchecked_ones_is_checked() -> None:
    sch = Schedule(KINDS["softmax"].program(4, 4, 4))
    with unchecked():
        steps.inline(sch, "E")
        steps.merge(sch, "M", "S", at="k")
    with pytest.raises(StepError, match=r"is before the step(.|\n)*which M .* updates later"):
        steps.unroll(sch, "Y", "j")


# --- programs as they are ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_programs_as_te_writes_them_are_sound(kind: str) -> None:
    assert isinstance(sound(KINDS[kind].program(4, 6, 8)), Legal)


def test_the_sizes_do_not_matter() -> None:
    sch = Schedule(make_workload("matmul", (2**13, 2**14, 3 * 2**12)).program())
    steps.tile(sch, "C", m=64, n=32, k=128)
    steps.hoist_init(sch, "C", "k_0")
    found = sound(sch)
    assert isinstance(found, Legal)
    assert found.instances == 2**13 * 2**14 * 3 * 2**12 + 2**13 * 3 * 2**12


def refused(program: Any, text: str) -> None:
    found = sound(program)
    assert isinstance(found, Unknown)
    assert text in str(found)


def test_bare_loops_cannot_be_told() -> None:
    @T.prim_func(s_tir=True)
    def copied(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for i in range(4):
            Y[i] = X[i]

    refused(copied, "Y is written by bare loops")


def test_an_index_that_depends_on_data_cannot_be_told() -> None:
    @T.prim_func(s_tir=True)
    def gathered(
        X: T.Buffer((4,), "float32"), at: T.Buffer((4,), "int32"), Y: T.Buffer((4,), "float32")
    ):
        for i in range(4):
            with T.sblock("Y"):
                v = T.axis.spatial(4, i)
                Y[v] = X[at[v]]

    refused(gathered, "depends on data")


def test_a_buffer_that_is_computed_from_itself_cannot_be_told() -> None:
    @T.prim_func(s_tir=True)
    def carried(Y: T.Buffer((5,), "float32")):
        for i in range(4):
            with T.sblock("Y"):
                v = T.axis.spatial(4, i)
                Y[v + 1] = Y[v] + T.float32(1)

    refused(carried, "Y is computed from itself")


def test_an_element_with_two_definitions_cannot_be_told() -> None:
    @T.prim_func(s_tir=True)
    def twice(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("Y"):
                v = T.axis.spatial(4, i)
                Y[v // 2] = X[v]

    refused(twice, "block Y computes an element of Y more than once")


def test_a_block_that_uses_a_loop_beside_its_axes_cannot_be_told() -> None:
    @T.prim_func(s_tir=True, check_well_formed=False)
    def opaque(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("Y"):
                v = T.axis.spatial(8, i)
                Y[v] = T.if_then_else(i > 3, X[v], T.float32(0))

    refused(opaque, "block Y uses the loop i beside its axes")


def test_a_temporary_of_a_vectorized_loop_is_refused() -> None:
    refused(run_as(temporary, "i", "vectorized"), "where TVM makes one buffer for all lanes")


def test_a_value_carried_by_a_private_buffer_is_refused() -> None:
    found = sound(carried)
    assert isinstance(found, Illegal)
    assert "Z at i=1 reads Y[1], which may not be written yet (each iteration of i" in str(found)


def test_a_loop_in_parallel_inside_another_is_refused() -> None:
    sch = Schedule(make_workload("matmul", (8, 8, 8)).program())
    steps.parallel(sch, "C", "m")
    with pytest.raises(StepError, match="parallel loop n is inside the parallel loop m"):
        steps.parallel(sch, "C", "n")


# --- what the proof would not see -----------------------------------------------------------------


def test_a_program_that_is_not_sound_before_a_step_is_not_transformed() -> None:
    @T.prim_func(s_tir=True)
    def in_place(
        A: T.Buffer((8,), "float32"),
        X: T.Buffer((8,), "float32"),
        P: T.Buffer((8,), "float32"),
        R: T.Buffer((8,), "float32"),
    ):
        for i in range(8):
            with T.sblock("P"):
                v = T.axis.spatial(8, i)
                P[v] = X[v] + T.float32(1)
        for i in range(8):
            with T.sblock("W"):
                v = T.axis.spatial(8, i)
                X[v] = A[v] * T.float32(3)
        for i in range(8):
            with T.sblock("R"):
                v = T.axis.spatial(8, i)
                R[v] = P[v] * T.float32(2)

    with unchecked():
        moved = Schedule(in_place)
        steps.merge(moved, "P", "R", at="i")
    assert isinstance(sound(moved, like=in_place), Legal)  # but it reads another X
    with pytest.raises(StepError, match=r"before the step(.|\n)*P at i=0 reads X\[0\]"):
        steps.merge(Schedule(in_place), "P", "R", at="i")


def test_a_load_that_a_let_keeps_for_a_condition_or_a_loop_is_not_followed() -> None:
    @T.prim_func(s_tir=True)
    def condition(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("B"):
                v = T.axis.spatial(8, i)
                x: T.let[T.float32] = A[v + 4096]
                if v < 9:
                    B[v] = x

    @T.prim_func(s_tir=True)
    def loop(A: T.Buffer((8,), "float32"), C: T.Buffer((8, 4), "float32")):
        for i in range(8):
            with T.sblock("C"):
                v = T.axis.spatial(8, i)
                x: T.let[T.float32] = A[7 - v]
                for j in range(4):
                    C[v, j] = x

    for program in (condition, loop):
        refused(program, "A is loaded before a condition or a loop that may use it: a let of A")


def test_a_cast_that_wraps_is_not_taken_for_the_number() -> None:
    @T.prim_func(s_tir=True)
    def wrapped(A: T.Buffer((768,), "float32"), B: T.Buffer((768,), "float32")):
        for i in range(768):
            with T.sblock("B"):
                v = T.axis.spatial(768, i)
                B[T.Cast("int32", T.Cast("uint8", v))] = A[v]

    @T.prim_func(s_tir=True)
    def fits(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        for i in range(128):
            with T.sblock("B"):
                v = T.axis.spatial(128, i)
                B[T.Cast("int32", T.Cast("int8", v))] = A[v]

    refused(wrapped, "casts an integer to a type that it may not fit")
    assert isinstance(sound(fits), Legal)


def test_an_index_that_chooses_is_followed() -> None:
    @T.prim_func(s_tir=True)
    def choice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("B"):
                v = T.axis.spatial(8, i)
                B[v] = A[T.Select(v < 4, v, 7 - v)] + A[T.if_then_else(v > 0, v - 1, 0)]

    @T.prim_func(s_tir=True)
    def outside(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("B"):
                v = T.axis.spatial(8, i)
                B[v] = A[T.Select(v < 4, v, v + 1)]

    assert isinstance(sound(choice), Legal)
    assert "reads A[8], which is outside of A" in str(sound(outside))


def test_a_block_inside_a_block_is_said_to_be_one() -> None:
    @T.prim_func(s_tir=True)
    def nested(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
        for i in range(8):
            with T.sblock("outer"):
                vi = T.axis.spatial(8, i)
                for j in range(4):
                    with T.sblock("inner"):
                        vj = T.axis.spatial(4, j)
                        C[vi, vj] = A[vi, vj] * T.float32(2)

    refused(nested, "block inner uses the axis vi of block outer")


def test_a_vectorized_loop_without_iterations_is_refused() -> None:
    @T.prim_func(s_tir=True)
    def empty(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(0):
            with T.sblock("C"):
                v = T.axis.spatial(8, i)
                C[v] = A[v]

    with pytest.raises(StepError, match="vectorized loop i has no iteration"):
        steps.vectorize(Schedule(empty), "C", "i")


def test_a_parameter_whose_elements_share_a_place_is_not_followed() -> None:
    @T.prim_func(s_tir=True)
    def strided(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32", strides=(0,))):
        for i in T.parallel(8):
            with T.sblock("B"):
                v = T.axis.spatial(8, i)
                B[v] = A[v]

    refused(strided, "buffer B: its addresses are not followed: strides")
    assert isinstance(races(strided), Unknown)
