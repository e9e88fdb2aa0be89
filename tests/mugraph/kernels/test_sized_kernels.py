"""Kernels of all sizes: sizes are filled in, some or all, and nothing else changes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mlc_course.errors import GraphError
from mlc_course.mugraph.ir import Floats, Number
from mlc_course.mugraph.kernel_checks import first_fault, values
from mlc_course.mugraph.kernels import (
    Apply,
    Compute,
    Constant,
    Count,
    Guard,
    Lookup,
    Loop,
    Read,
    Repeat,
    SizedBuffer,
    SizedKernel,
    const,
    evaluate,
    linear_form,
    var,
)

N, AT = var("N"), var("i")
X, Y = (SizedBuffer.of(name, N, scope="global") for name in ("x", "y"))
TWICE = Apply("add", (Read(X, (AT,)), Read(X, (AT,))))


def doubling() -> SizedKernel:
    body = (Repeat("i", N, (Compute(Y, (AT,), TWICE),)), Repeat("i", N % 1, ()))
    return SizedKernel("k", (("b", 1),), 1, (X,), (Y,), (), body, sizes=("N",), count=N // N)


def test_all_sizes_filled_in_make_an_ordinary_kernel() -> None:
    kernel = doubling().at({"N": 3})
    assert kernel.grid == (("b", 1),)
    assert kernel.inputs[0].shape == (3,)
    (turns,) = kernel.body
    assert isinstance(turns, Loop)
    assert turns.extent == 3
    assert first_fault(kernel) is None
    (found,) = values(kernel, [np.arange(3.0)], Floats())
    np.testing.assert_array_equal(found, [0, 2, 4])


def test_some_sizes_filled_in_leave_the_others() -> None:
    kernel = doubling().where({"N": var("n") * 4}, ("n",))
    assert kernel.sizes == ("n",)
    assert str(kernel.inputs[0]) == "x[4*n]"
    assert len(kernel.body) == 1  # the loop without turns has gone
    assert "for i < 4*n" in str(kernel)
    assert "blocks b < 4*n // (4*n)" in str(kernel)


def test_a_kernel_without_its_sizes_is_not_run() -> None:
    with pytest.raises(GraphError, match="of all sizes"):
        first_fault(doubling())


def test_a_guard_that_is_known_is_decided() -> None:
    store = Compute(Y, (AT,), TWICE)
    body = (Guard(const(0) < N, (store,), ()), Guard(N < 0, (store,), ()))
    kernel = SizedKernel("k", (("i", 1),), 1, (X,), (Y,), (), body, sizes=("N",), count=N)
    made = kernel.at({"N": 2})
    assert len(made.body) == 1
    assert isinstance(made.body[0], Compute)


def test_numbers_of_indices_and_rows_that_data_names() -> None:
    table = SizedBuffer.of("table", 3 * N, scope="global")
    rows = SizedBuffer.of("rows", const(2), scope="global", role="int64")
    out = SizedBuffer.of("out", 2 * N, scope="global")
    found = Lookup(table, Read(rows, (var("r"),)), N, AT)
    value = Apply("add", (found, Count(AT)))
    store = Compute(out, (var("r") * N + AT,), value)
    kernel = SizedKernel(
        "k", (("r", 1),), 1, (table, rows), (out,), (), (Repeat("i", N, (store,)),),
        sizes=("N",), count=const(2),
    )  # fmt: skip
    assert "table[rows[r] * (N) + i] + number(i)" in str(kernel)
    made = kernel.at({"N": 4})
    assert first_fault(made) is None
    rows_of = np.arange(12.0)
    (given,) = values(made, [rows_of, np.array([2, 0])], Floats())
    expected = rows_of.reshape(3, 4)[[2, 0]] + np.arange(4)
    np.testing.assert_array_equal(given.reshape(2, 4), expected)


def test_products_of_variables_are_simplified_and_divided() -> None:
    h, r = var("h"), var("r")
    assert str(r * (h * 4) + 8) == "4*(r*h) + 8"
    assert linear_form(r * (h * 4)) == {r * h: 4}
    assert str((h * 16) // 16) == "h"
    assert str((h * 16 + r) % 16) == "r % 16"
    assert str((h * r) // 4) == "h*r // 4"
    for e in ((h * r + 3) // 4, (h * 4) * r % 8, r * (h * 4) // 8):
        for a in range(6):
            for b in range(6):
                given = {"h": a, "r": b}
                assert evaluate(e, given) == evaluate_slowly(str(e), given)


def evaluate_slowly(text: str, given: dict[str, int]) -> int:
    return int(eval(text, {"__builtins__": {}}, dict(given)))


def test_numbers_beyond_float32_are_infinite_in_text_and_value() -> None:
    huge = Number(Fraction(10**400))
    assert float(huge) == float("inf")
    assert float(Number(Fraction(-(10**400)))) == float("-inf")
    body = (Compute(Y, (AT,), Constant(Number(Fraction(-(10**400))))),)
    kernel = SizedKernel("k", (("i", 1),), 1, (), (Y,), (), body, sizes=("N",), count=N)
    assert "y[i] = -inf" in str(kernel)
