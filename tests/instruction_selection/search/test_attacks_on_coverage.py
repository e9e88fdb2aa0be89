"""A search's sentence on what it tried, against programs that it did not keep."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.instruction_selection.insert import compiled, processor_has
from mlc_course.instruction_selection.isa import level_of
from mlc_course.instruction_selection.prove import prove_cell
from mlc_course.instruction_selection.search import Found, Limits, select_program
from mlc_course.instruction_selection.search.direct import DirectSearch
from mlc_course.instruction_selection.spec import specification

AVX2 = level_of("avx2")


@pytest.mark.parametrize("order", [("pmulld", "paddd"), ("paddd", "pmulld")])
@pytest.mark.parametrize(
    ("body", "more"),
    [("max(A * 2, B)", "pmaxsd"), ("min(B, A * 2)", "pminsd"), ("(A * 2) ^ B", "pxor")],
)
def test_of_programs_with_one_value_the_lightest_is_kept(
    order: tuple[str, str], body: str, more: str
) -> None:
    cell = specification(f"s32 A in 0..1000, s32 B in 0..1000 -> s32 O: {body}").cell
    rows = [row for name in (*order, more) for row in AVX2.rows if row.name == name]
    search = DirectSearch(cell, rows, prove_cell, Limits(instructions=3))
    search.__dict__["table"] = rows
    found = [each for each in search.run() if isinstance(each, Found)]
    assert [each.weight for each in found] == [2]  # with paddd(A, A); pmulld weighs 2
    assert "pmulld" not in str(found[0].program)


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("u8 A -> u8 O: A", "A"),
        ("s8 A -> u8 O: A", "A"),
        ("u16 A -> u16 O: min(A, 65535)", "A"),
        ("u8 A, u8 B -> u8 O: select(A != B, A, B)", "A"),
        ("u8 A, u8 B! -> u8 O: B + (A & 0)", "B"),
        ("u8 A -> u8 O: A * 0 + 7", "{7}"),
    ],
)
def test_a_program_of_no_instruction_is_tried_too(line: str, program: str) -> None:
    spec = specification(line)
    found = select_program(spec.cell, AVX2)
    assert (str(found.program), found.weight) == (program, 0)
    if processor_has("avx2"):
        made = compiled(spec, 100, "tensorize", level="avx2", program=found.program)
        arrays = spec.sample(100, 1)
        assert np.array_equal(made(arrays), spec.evaluate(arrays))


@pytest.mark.parametrize(
    ("line", "weight"),
    [
        ("s8 A, s8 B -> u8 O: select(A > B, 255, 0)", 1),
        ("u8 A, u8 B -> u8 O: select(A == B, 255, 0)", 1),
        ("u8 A, u8 B -> u8 O: A < B", 2),
        ("u8 A -> u8 O: A < 5", 2),
        ("s16 A, s16 B -> s16 O: select(A > 0, B, select(A == 0, 0, -B))", 1),  # psignw
        ("s16 A -> s16 O: select(A < 0, -A, A)", 1),
        ("s32 C, u8*4 A -> s32 C: C - A", 3),
    ],
)
def test_rows_that_do_what_the_goal_does_are_tried(line: str, weight: int) -> None:
    found = select_program(specification(line).cell, AVX2)
    assert found.program is not None and found.weight <= weight


def test_no_program_of_more_instructions_is_promised_as_lighter() -> None:
    found = select_program(specification("median3_u16").cell, AVX2)
    assert found.weight == 4
    assert found.coverage.startswith("every lighter program was tried over ")
    assert "next come" not in found.coverage  # those of 4 instructions weigh 4 or more
    early = select_program(specification("gauss_121_u8").cell, AVX2, seconds=0.001)
    assert "next come" in early.coverage


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("s32 C, s32 A in -9..9 -> s32 C: C + A", "paddd(C, A)"),
        ("u8 C, u8 A -> u8 C: C + A", "paddb(C, A)"),
        ("u8 C -> u8 C: C + 1", "paddb(C, {1})"),
    ],
)
def test_an_operand_that_is_added_to_an_accumulator_is_a_program_of_one_instruction(
    line: str, program: str
) -> None:
    found = select_program(specification(line).cell, AVX2)
    assert (str(found.program), found.weight) == (program, 1)
