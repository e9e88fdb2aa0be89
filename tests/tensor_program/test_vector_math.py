from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from schedules import Program, chain, refused

from mlc_course.errors import BlockError
from mlc_course.tensor_program import names, steps
from mlc_course.tensor_program.problems.workload import Array, aligned
from mlc_course.tensor_program.tvm_names import Schedule, compile_program, shared_tensor, te
from mlc_course.tensor_program.vector_math import polynomial_exp

LIMIT = 87.3


def exp_program(count: int, dtype: str = "float32") -> Schedule:
    x = te.placeholder((count,), dtype=dtype, name="X")
    return Schedule(
        te.create_prim_func([x, te.compute((count,), lambda i: te.exp(x[i]), name="Y")])
    )


def polynomial(values: Array, lanes: int = 1, cpu: str | None = None) -> Array:
    """The step's exp of these values, in vectors of so many lanes."""
    sch = exp_program(values.size)
    polynomial_exp(sch, "Y")
    if lanes > 1:
        steps.split(sch, "Y", "i", lanes)
        steps.vectorize(sch, "Y", "i_1")
    x, y = aligned(values), aligned(np.zeros(values.size))
    compile_program(sch, cpu=cpu)(shared_tensor(x), shared_tensor(y))
    return y


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_polynomial_exp_is_right_to_two_units_in_the_last_place(lanes: int) -> None:
    x = np.linspace(-LIMIT, LIMIT, 1 << 18).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    error = np.abs(polynomial(x, lanes) / exact - 1).max()
    assert error < 2e-7  # 8.5e-8 where the processor fuses multiply and add; eps is 1.2e-7


def test_polynomial_exp_is_right_near_zero_and_where_it_changes_its_power_of_two() -> None:
    steps_of_two = (np.arange(-125, 126) + 0.5) * np.log(2.0)
    near = np.concatenate([steps_of_two + d for d in (-1e-5, 0.0, 1e-5)])
    x = np.concatenate([near, [0.0, -0.0, 1e-30, -1e-30, 1e-7]]).astype(np.float32)
    np.testing.assert_allclose(polynomial(x), np.exp(x.astype(np.float64)), rtol=2e-7)
    assert (polynomial(np.zeros(4)) == 1.0).all()


@pytest.mark.parametrize("lanes", [1, 8])
def test_arguments_beyond_the_limit_stay_finite_and_positive(lanes: int) -> None:
    x = np.array([88.0, 1e9, np.inf, 300.0, -88.0, -1e9, -np.inf, -300.0])
    y = polynomial(x, lanes)
    assert np.isfinite(y).all()
    assert (y[:4] > 7e37).all()
    assert (y[4:] > 0).all()
    assert (y[4:] < 2e-38).all()


@pytest.mark.parametrize("lanes", [1, 8])
def test_nan_stays_nan(lanes: int) -> None:
    assert np.isnan(polynomial(np.full(8, np.nan), lanes)).all()


def test_the_block_keeps_its_name_and_its_loops() -> None:
    program = chain()
    before = names.loops(program.sch, "D")
    polynomial_exp(program.sch, "D")
    assert names.blocks(program.sch) == ["C", "D", "F"]
    assert names.loops(program.sch, "D") == before
    assert "T.exp(" not in program.sch.mod.script()
    program.check()


def test_polynomial_exp_can_be_fused_and_vectorized_afterwards() -> None:
    program = chain()
    polynomial_exp(program.sch, "D")
    steps.fuse_consumer(program.sch, "D", into="C", at="m")
    *_, last = names.loops(program.sch, "D")
    steps.split(program.sch, "D", last, 8)
    steps.vectorize(program.sch, "D", f"{last}_1")
    program.check()


def test_polynomial_exp_after_padding_and_inlining_is_right() -> None:
    program = Program("softmax", 5, 19)
    polynomial_exp(program.sch, "Exp")
    program.check()


@pytest.mark.parametrize("block", ["C", "F"])
def test_a_block_that_is_no_exp_is_refused(block: str) -> None:
    program = chain()
    with refused(program, BlockError) as caught:
        polynomial_exp(program.sch, block)
    assert "D[...] = exp(...)" in str(caught.value)


def test_an_exp_that_is_a_polynomial_already_is_refused() -> None:
    program = chain()
    polynomial_exp(program.sch, "D")
    with refused(program, BlockError):
        polynomial_exp(program.sch, "D")


def test_an_exp_of_more_than_itself_is_refused() -> None:
    x = te.placeholder((8,), name="X")
    program: Any = chain()
    program.sch = Schedule(
        te.create_prim_func([x, te.compute((8,), lambda i: te.exp(x[i]) * x[i], name="Y")])
    )
    with refused(program, BlockError):
        polynomial_exp(program.sch, "Y")


def test_an_exp_of_float64_is_refused() -> None:
    program: Any = chain()
    program.sch = exp_program(8, "float64")
    with refused(program, BlockError) as caught:
        polynomial_exp(program.sch, "Y")
    assert "float32" in str(caught.value)
