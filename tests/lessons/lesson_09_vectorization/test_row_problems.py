from __future__ import annotations

from collections.abc import Callable

import pytest

from mlc_course.errors import SizeError
from mlc_course.lessons.lesson_09_vectorization.row_problems import (
    add_one,
    exponentials,
    overlapping_sums,
    row_dots,
    row_sums,
)
from mlc_course.tensor_program.ladders import Rung, contest
from mlc_course.tensor_program.problems import Workload

PROBLEMS = (row_sums, row_dots, add_one, overlapping_sums, exponentials)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_naive_program_and_numpy_compute_what_the_reference_does(
    problem: Callable[[int, int], Workload],
) -> None:
    for sizes in ((5, 7), (1, 1), (16, 64)):
        work = problem(*sizes)
        found = contest(work, rung=Rung("naive", "", lambda sch: None))  # checks ours
        inputs, out = work.inputs(), work.output()
        work.numpy(*inputs, out)
        work.check(out, work.reference(inputs))
        assert work.name in found.title


@pytest.mark.parametrize("problem", PROBLEMS)
def test_sizes_below_one_are_refused(problem: Callable[[int, int], Workload]) -> None:
    with pytest.raises(SizeError):
        problem(0, 4)


def test_overlapping_rows_fit_into_a_first_cache_and_begin_where_a_line_does() -> None:
    work = overlapping_sums()
    assert work.bytes < 32 * 1024
    assert work.operands[0].shape == (63 * 16 + 4096,)
    assert work.flops == row_sums(64, 4096).flops


def test_a_sum_and_an_element_wise_pass_do_the_same_additions() -> None:
    assert row_sums(64, 256).flops == add_one(64, 256).flops == 64 * 256
    assert row_dots(64, 256).flops == 2 * 64 * 256
