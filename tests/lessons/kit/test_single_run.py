"""One run of a program: what it writes, what it leaves out, and what TVM makes of its indices."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from mlc_course.errors import SizeError, UsageError
from mlc_course.lessons.kit import run_once
from mlc_course.lessons.lesson_02_tensor_program_abstraction import SMALL
from mlc_course.tensor_program.tir import T


def test_a_program_runs_once_and_what_it_leaves_out_stays() -> None:
    x = np.arange(10.0)
    assert np.isnan(run_once(SMALL["hole"].program, x)[8:]).all()
    assert run_once(SMALL["hole"].program, x, fill=7.0).tolist()[7:] == [14.0, 7.0, 7.0]


def test_the_product_is_numpys() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(3, 5)), rng.normal(size=(5, 4))
    for checked in (True, False):
        found = run_once(SMALL["matmul"].program, x, w, checked=checked)
        np.testing.assert_allclose(found, x @ w, atol=1e-5)


@pytest.mark.parametrize("inputs", [(), (np.zeros((2, 5)),), (np.zeros(10), np.zeros(10))])
def test_other_inputs_than_the_programs_are_refused(inputs) -> None:
    with pytest.raises(SizeError, match="other inputs"):
        run_once(SMALL["hole"].program, *inputs)


@T.prim_func(s_tir=True)
def striped(X: T.Buffer((3,)), Y: T.Buffer((16,))):
    for i in range(16):
        with T.sblock("Y"):
            v = T.axis.spatial(16, i)
            Y[v] = X[(v % 8 + 2) // 4]


def test_what_tvm_compiles_wrongly_runs_only_when_it_is_asked_for() -> None:
    x = np.arange(1.0, 4.0)
    with pytest.raises(UsageError, match="wrongly"):
        run_once(striped, x)
    assert not np.array_equal(run_once(striped, x, checked=False), x[(np.arange(16) % 8 + 2) // 4])
