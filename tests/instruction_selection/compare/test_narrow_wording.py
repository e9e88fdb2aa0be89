"""The loop in the narrowest types computes the same, in fewer bits."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.compare import inputs, narrow_expression, narrowed
from mlc_course.instruction_selection.integers import (
    S8,
    S16,
    S32,
    U8,
    U16,
    Formula,
    concat,
    saturate,
    variable,
    where,
    wrap,
)
from mlc_course.instruction_selection.spec import CATALOGUE
from mlc_course.tensor_program.tir import Expr, compile_program, shared_tensor, tirx

OUTPUTS = 64
A = variable("A", S16)
B = variable("B", U8)


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_narrow_loop_computes_what_the_specification_says(name: str) -> None:
    spec = CATALOGUE[name].specification
    narrow = narrowed(spec)
    arrays = inputs(spec, OUTPUTS)
    wanted = spec.evaluate(arrays)
    assert (narrow.cell.operands, narrow.cell.result) == (spec.cell.operands, spec.cell.result)
    room = np.zeros(OUTPUTS * wanted.itemsize + 64, np.uint8)
    skip = -room.ctypes.data % 64
    output = room[skip : skip + OUTPUTS * wanted.itemsize].view(wanted.dtype)
    given = [arrays.get(each.name, output) for each in spec.tile.buffers]
    compile_program(narrow.prim_func(OUTPUTS))(*map(shared_tensor, given))
    assert np.array_equal(arrays.get(spec.result.buffer, output), wanted)


def text(formula: Formula) -> str:
    def load(each: Formula) -> Expr:
        return tirx.Var(str(each), {"A": "int16", "B": "uint8"}[str(each)])

    return str(narrow_expression(formula, load))


def test_a_sum_of_bytes_is_computed_in_16_bits() -> None:
    assert text((B + 3) >> 2) == (
        'T.Cast("uint8", T.Cast("uint16", B) + T.uint16(3) >> T.uint16(2))'
    )


def test_a_clamp_keeps_the_sign_of_what_it_clamps() -> None:
    assert text(saturate(U8, A)) == ('T.Cast("uint8", T.min(T.max(A, T.int16(0)), T.int16(255)))')


def test_a_value_is_not_narrowed_and_widened_again() -> None:
    assert text((B + B >> 1) + B).count("T.Cast") == 3  # each B, and nothing else


def test_only_the_low_bits_of_a_wrapped_sum_are_computed() -> None:
    assert text(wrap(S8, B + 100)) == 'T.Cast("int8", B + T.uint8(100))'


def test_an_accumulator_is_added_to_in_a_signed_type() -> None:
    total = variable("C", S32)
    expression = narrow_expression(
        wrap(S32, total + B * B), lambda x: tirx.Var("x", "int32" if x is total else "uint8")
    )
    assert str(expression.ty.dtype) == str(expression.a.ty.dtype) == "int32"


def test_a_choice_is_a_select() -> None:
    assert "T.Select" in text(where(B, A, 3))


def test_what_no_loop_does_is_refused() -> None:
    with pytest.raises(UsageError, match="no expression of a loop"):
        text(concat([B, B], U16))
