"""Who writes which line: counted, and compared with a walk of the loops in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import column_sums, scores
from mlc_course.tensor_program.problems import matmul, matmul_exp_matmul
from mlc_course.tensor_program.processor.false_sharing import (
    NOBODY,
    SEVERAL,
    Writes,
    writes_by_worker,
)
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import Schedule, T


def sums(split: int, order: tuple[str, ...], loop: str) -> Schedule:
    sch = Schedule(column_sums(64, 64).program())
    steps.split(sch, "S", "j", split)
    steps.reorder(sch, "S", *order)
    steps.parallel(sch, "S", loop)
    return sch


def only(sch: Schedule, workers: int) -> Writes:
    (found,) = writes_by_worker(sch, workers)
    return found


def test_halves_share_no_line_and_turns_share_all() -> None:
    halves = only(sums(32, ("j_0", "k", "j_1"), "j_0"), 2)
    assert (halves.lines, halves.shared_lines, halves.raced_elements) == (4, 0, 0)
    assert halves.owners.tolist() == [0] * 32 + [1] * 32
    turns = only(sums(2, ("j_1", "k", "j_0"), "j_1"), 2)
    assert (turns.lines, turns.shared_lines, turns.raced_elements) == (4, 4, 0)
    assert turns.owners.tolist() == [0, 1] * 32


def test_cuts_inside_a_line_share_just_that_line() -> None:
    found = only(sums(8, ("j_0", "k", "j_1"), "j_0"), 3)  # 24 columns, 24 and 16
    assert (found.lines, found.shared_lines) == (4, 1)
    assert only(sums(8, ("j_0", "k", "j_1"), "j_0"), 4).shared_lines == 0


def test_one_worker_shares_with_nobody() -> None:
    assert only(sums(2, ("j_1", "k", "j_0"), "j_1"), 1).shared_lines == 0


def test_rows_shorter_than_a_line_are_shared() -> None:
    sch = Schedule(matmul(16, 8, 4).program())
    steps.parallel(sch, "C", "m")
    assert only(sch, 16).shared_lines == 4
    assert only(sch, 4).shared_lines == 0
    assert writes_by_worker(sch, 4, line=128)[0].shared_lines == 2


def test_hoisted_zeros_and_vectors_are_counted_too() -> None:
    sch = sums(32, ("j_0", "k", "j_1"), "j_0")
    steps.vectorize(sch, "S", "j_1")
    steps.hoist_init(sch, "S", "k")
    assert only(sch, 2).owners.tolist() == [0] * 32 + [1] * 32


def test_a_race_is_an_element_of_several() -> None:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def racing(X: T.Buffer((64, 16), "float32"), S: T.Buffer((20,), "float32")):  # type: ignore
        for k in T.parallel(64):
            for j in range(16):
                S[j] = S[j] + X[k, j]

    (found,) = writes_by_worker(racing, 4)
    assert found.raced_elements == 16
    assert found.owners.tolist() == [SEVERAL] * 16 + [NOBODY] * 4


@pytest.mark.parametrize(("axis", "shared"), [(0, 0), (1, 8)])
def test_sums_of_workers_stand_apart_or_side_by_side(axis: int, shared: int) -> None:
    sch = Schedule(column_sums(64, 64).program())
    k_0, _ = sch.split(lookup.loop(sch, "S", "k"), [2, None])
    sch.rfactor(k_0, factor_axis=axis)
    steps.reorder(sch, "S_rf", "k_0", "k_1", "j")
    steps.parallel(sch, "S_rf", "k_0")
    found = only(sch, 2)
    assert (found.lines, found.shared_lines) == (8, shared)


def test_what_each_task_has_for_itself_is_not_counted() -> None:
    sch = Schedule(matmul_exp_matmul(32, 8, 32, 8).program())
    steps.inline(sch, "D")
    steps.merge(sch, "C", "F", at="m")
    steps.parallel(sch, "F", "m_m")
    assert {each.buffer for each in writes_by_worker(sch, 2)} == {"F"}


def test_each_parallel_loop_is_told_apart() -> None:
    sch = Schedule(matmul_exp_matmul(32, 8, 32, 8).program())
    steps.parallel(sch, "C", "m")
    steps.parallel(sch, "F", "n")
    first, second = writes_by_worker(sch, 2)
    assert (first.loop, first.buffer, first.shared_lines) == ("m", "C", 0)
    assert (second.loop, second.buffer) == ("n", "F")
    assert second.shared_lines == 16, "two rows of 8 stand in one line"


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("load", ["uniform", "triangular", "one heavy"])
def test_conditions_keep_iterations_out(load: str, workers: int) -> None:
    sch = Schedule(scores(load, 32, 4).program())
    steps.parallel(sch, "R", "i")
    step = -(-32 // workers)
    assert only(sch, workers).owners.tolist() == [i // step for i in range(32)]


def test_a_condition_on_the_loops_is_exact() -> None:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def upper(X: T.Buffer((16, 16), "float32"), Y: T.Buffer((16, 16), "float32")):  # type: ignore
        for i in T.parallel(16):
            for j in range(16):
                if j > i:
                    Y[j, i] = X[i, j]
                else:
                    Y[i, j] = X[i, j]

    (found,) = writes_by_worker(upper, 4)
    by = np.zeros((4, 16, 16), bool)
    for i in range(16):
        for j in range(16):
            place = (j, i) if j > i else (i, j)
            by[i // 4][place] = True
    assert (found.by == by.reshape(4, -1)).all()
    assert found.raced_elements == int((by.sum(axis=0) > 1).sum()) > 0


def test_serial_programs_and_indices_of_data_are_refused() -> None:
    with pytest.raises(UsageError, match="no parallel loop"):
        writes_by_worker(matmul(8, 8, 8).program(), 2)

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def scatter(I: T.Buffer((16,), "int32"), Y: T.Buffer((16,), "float32")):  # type: ignore  # noqa: E741
        for i in T.parallel(16):
            Y[I[i]] = T.float32(1)

    with pytest.raises(UsageError, match="where its data says"):
        writes_by_worker(scatter, 2)
    with pytest.raises(UsageError, match="nobody"):
        writes_by_worker(sums(32, ("j_0", "k", "j_1"), "j_0"), 0)
