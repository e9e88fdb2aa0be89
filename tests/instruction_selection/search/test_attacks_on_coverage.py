"""What a search says it tried, against programs that it did not keep."""

from __future__ import annotations

import pytest

from mlc_course.instruction_selection.isa import level_of
from mlc_course.instruction_selection.prove import prove_cell
from mlc_course.instruction_selection.search import Found, Limits
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
