"""Sums, differences and products of 32 and 64 bits that wrap as unsigned numbers.

TVM writes them as ``sub nuw``: LLVM made 0 - x of it 0, and dropped the sign of 256 - x.
"""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.instruction_selection.insert import compiled, processor_has
from mlc_course.instruction_selection.isa import Equation, Input, Instruction, level_of, program_of
from mlc_course.instruction_selection.prove import Proved, prove_cell
from mlc_course.instruction_selection.search import select_program
from mlc_course.instruction_selection.spec import specification

LINES = [
    "u16 A -> s32 O: -A",
    "s32 A in -36123..281332 -> s32 O: max((256 - A) >> 1, 127)",
    "s16 A, s16 B -> s32 O: max(A - B, -100)",
    "s32 A in -9999..9999, s32 B in -9999..9999 -> s32 O: max(A * B, 3)",
    "s32 A in -9..9 -> s32 O: min(A * -5, 7)",
    "s64 A in -9999..9999, s64 B in -9999..9999 -> s64 O: A + B",
    "s32 C, s16*2 A, s16*2 B -> s32 C: C - A * B",
    "s32 C, s8*4 A, s8*4 B -> s32 C: C + A * B",
]


@pytest.mark.parametrize("level", ["avx2", "avx512"])
@pytest.mark.parametrize("line", LINES)
def test_arithmetic_of_registers_wraps(line: str, level: str) -> None:
    if not processor_has(level):
        pytest.skip(f"this processor has no {level}")
    spec = specification(line)
    program = select_program(spec.cell, level_of(level), seconds=10).program
    assert program is not None
    for outputs in (64, 100):
        arrays = spec.sample(outputs, outputs, extremes=0.5)
        made = compiled(spec, outputs, "tensorize", level=level, program=program)
        assert np.array_equal(made(arrays), spec.evaluate(arrays))


@pytest.mark.parametrize(("name", "sign"), [("paddd", "+"), ("psubd", "-"), ("pmulld", "*")])
def test_each_row_of_32_bits_wraps(name: str, sign: str) -> None:
    spec = specification(f"s32 A in -30000..30000, s32 B in -30000..30000 -> s32 O: A {sign} B")
    row = next(x for x in level_of("avx2").rows if x.name == name)
    assert isinstance(row, Instruction)
    inputs = [Equation(Input(x.name), (), x.type, 1) for x in spec.cell.operands]
    program = program_of([*inputs, Equation(row, (0, 1), row.result, 1)])
    assert isinstance(prove_cell(spec.cell, program), Proved)
    if not processor_has("avx2"):
        pytest.skip("this processor has no AVX2")
    made = compiled(spec, 100, "tensorize", level="avx2", program=program)
    arrays = spec.sample(100, 3)
    assert np.array_equal(made(arrays), spec.evaluate(arrays))
    assert "nuw" not in "\n".join(
        each for each in str(made.kernel.mod.inspect_source("ll")).splitlines() if " x i32>" in each
    )
