"""The vectors of a row visit each column once, whatever its length."""

from __future__ import annotations

import pytest
from shape_programs import program_of

from mlc_course.dynamic_shape.codegen.places import Places
from mlc_course.dynamic_shape.codegen.vectors import Vectors, ladder
from mlc_course.dynamic_shape.fusion import Knowledge
from mlc_course.mugraph.kernels import Expr, evaluate, var

WIDTHS = (1, 2, 4, 8, 16)


def places(*facts: str) -> Places:
    return Places(Knowledge(program_of("x [R, C]", "%0 = exp(%x) : [R, C]", "%0", *facts)))


def columns(each: Vectors, size: int) -> list[int]:
    """The columns that are visited in a width, for so many."""
    known = {"C": size, "N": size}
    turns = evaluate(each.count, known)
    starts = [evaluate(each.start("step"), {**known, "step": turn}) for turn in range(turns)]
    return [start + lane for start in starts for lane in range(each.width)]


@pytest.mark.parametrize("widest", WIDTHS)
@pytest.mark.parametrize("extent", [None, var("N")])
def test_every_column_is_visited_once(widest: int, extent: Expr | None) -> None:
    found = ladder(places(), ("C",), widest, extent)
    assert [each.width for each in found] == [width for width in WIDTHS[::-1] if width <= widest]
    for size in range(70):
        visited = [column for each in found for column in columns(each, size)]
        assert visited == list(range(size))
        assert all(evaluate(each.count, {"C": size, "N": size}) <= 1 for each in found[1:])


def test_known_divisors_leave_narrow_vectors_out() -> None:
    known = places("tie_predicate_divisible(C, 4)")
    assert [each.width for each in ladder(known, ("C",), 16)] == [16, 8, 4]
    assert [each.width for each in ladder(known, (24,), 16)] == [16, 8]
    assert [each.width for each in ladder(known, (5,), 16)] == [4, 1]
