"""Equal and unequal tasks."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.errors import SizeError, UsageError
from mlc_course.lessons.kit.loads import LOADS, WINDOW, column_sums, columns_of, scores
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.tir import compile_program, shared_tensor


@pytest.mark.parametrize(
    "problem",
    [
        column_sums(40, 24),
        *(scores(load, 16, 8) for load in LOADS),
        *(scores(load, 16, 8, before=40) for load in LOADS),
    ],
    ids=lambda problem: problem.name,
)
def test_program_numpy_and_reference_agree(problem: Workload) -> None:
    inputs, ours, numpy = problem.inputs(), problem.output(), problem.output()
    reference = problem.reference(inputs)
    tensors = [shared_tensor(array) for array in (*inputs, ours)]
    compile_program(problem.program())(*tensors)
    problem.numpy(*inputs, numpy)
    assert problem.check(ours, reference) < 1e-5
    assert problem.check(numpy, reference) < 1e-5


def test_the_serial_part_goes_round_the_words() -> None:
    q, k = np.arange(32.0).reshape(8, 4), np.ones((8, 4))
    plain, more = (scores("uniform", 8, 4, before=n).exact(q, k) for n in (0, 10))
    products = (q * k).sum(axis=1)
    assert np.allclose(more - plain, products.sum() + products[:2].sum())


def test_loads_differ_in_what_each_word_looks_at() -> None:
    assert columns_of("uniform", 16) == [8] * 16
    assert columns_of("triangular", 16) == list(range(1, 17))
    heavy = columns_of("one heavy", 16)
    assert (heavy[8], sorted(heavy)[14]) == (16, WINDOW)
    assert scores("triangular", 16, 8).flops == 2 * 8 * sum(range(1, 17))


def test_unknown_loads_and_too_few_rows_are_refused() -> None:
    with pytest.raises(UsageError, match="no such load"):
        scores("square")
    with pytest.raises(SizeError):
        scores("uniform", 4)
