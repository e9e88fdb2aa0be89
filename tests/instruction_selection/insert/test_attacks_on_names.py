"""Operands with the names that the text of an implementation uses itself."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.instruction_selection.insert import compiled
from mlc_course.instruction_selection.isa import level_of
from mlc_course.instruction_selection.search import select_program
from mlc_course.instruction_selection.spec import specification


@pytest.mark.parametrize(
    "line",
    [
        "u8 v0, u8 v1 -> u8 O: min(v0 + v1, 255)",
        "u8 v1, u8 v0 -> u8 v2: max(v1, v0) - min(v1, v0)",
        "u8 A, u8 B -> u8 v0: min(A + B, 255)",
        "u8 T, u8 T_ -> u8 v1: min(T + T_, 255)",
        "u8 A! in 0..9, u8 v0_ -> u8 v0: min(A + v0_, 255)",
        "s32 v0, u8*4 v1 in 0..127, s8*4 T -> s32 v0: v0 + v1 * T",
        "u8 main, u8 range -> u8 print: min(main + range, 255)",
    ],
)
def test_an_operand_may_have_any_name(line: str) -> None:
    spec = specification(line)
    program = select_program(spec.cell, level_of("avx2")).program
    assert program is not None
    arrays = spec.sample(100, 3)
    made = compiled(spec, 100, "tensorize", level="avx2", program=program)
    assert np.array_equal(made(arrays), spec.evaluate(arrays))
