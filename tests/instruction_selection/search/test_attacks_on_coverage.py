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
