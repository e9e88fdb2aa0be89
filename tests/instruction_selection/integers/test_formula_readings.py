from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlc_course.errors import SizeError
from mlc_course.instruction_selection.integers import (
    S8,
    S16,
    S32,
    U8,
    U16,
    U32,
    U64,
    Formula,
    IntType,
    absolute,
    const,
    equals,
    evaluate,
    greater,
    lift,
    maximum,
    minimum,
    reread,
    saturate,
    shift_right,
    substituted,
    variable,
    variables,
    walk,
    where,
    wrap,
)
from tests.helpers.integer_formulas import TYPES, formulas, value_by_python


@given(formulas(), st.randoms(use_true_random=False))
def test_numpy_gives_what_exact_integers_give(made: Formula, random: object) -> None:
    inputs = variables(made)
    rows = [
        {x: random.choice([x.lo, x.hi, random.randint(x.lo, x.hi)]) for x in inputs}  # type: ignore[attr-defined]
        for _ in range(8)
    ]
    try:
        found = evaluate(made, {x: np.array([row[x] for row in rows]) for x in inputs})
    except SizeError:
        assert max(max(abs(x.lo), x.hi) for x in walk(made)) >= 1 << 31
        return
    for row, value in zip(rows, np.broadcast_to(found, len(rows)), strict=True):
        assert int(value) == value_by_python(made, row)


@given(formulas(), st.randoms(use_true_random=False))
def test_every_value_lies_in_the_interval_of_its_node(made: Formula, random: object) -> None:
    inputs = variables(made)
    for _ in range(8):
        row = {x: random.choice([x.lo, x.hi, random.randint(x.lo, x.hi)]) for x in inputs}  # type: ignore[attr-defined]
        for each in walk(made):
            assert each.lo <= value_by_python(each, row) <= each.hi


def test_equal_formulas_are_one_object() -> None:
    a, b = variable("a", U8), variable("b", U8)
    assert saturate(U8, a + b) is saturate(U8, a + b)
    assert a + b is not b + a


def test_an_interval_removes_the_wrap_and_the_clamp_that_do_nothing() -> None:
    a, b = variable("a", U8), variable("b", U8)
    assert wrap(U16, a + b) is a + b
    assert saturate(S16, a + b) is a + b
    assert wrap(U8, wrap(U16, a * b + 1)) is wrap(U8, a * b + 1)


def test_the_absolute_value_is_not_negative_however_it_is_written() -> None:
    a, b = variable("a", U8), variable("b", U8)
    assert (absolute(a - b).lo, absolute(a - b).hi) == (0, 255)
    assert maximum(b - a, a - b).lo == 0


@pytest.mark.parametrize(
    ("new", "lanes"), [(U8, [0x34, 0x12, 0xCD, 0xAB]), (S8, [0x34, 0x12, -0x33, -0x55])]
)
def test_a_register_is_read_with_the_lowest_lane_first(new: IntType, lanes: list[int]) -> None:
    assert [x.value for x in reread([const(0x1234), const(0xABCD)], U16, new)] == lanes


@pytest.mark.parametrize("old", TYPES, ids=str)
@pytest.mark.parametrize("new", TYPES, ids=str)
def test_reading_lanes_as_another_type_and_back_changes_nothing(old: IntType, new: IntType) -> None:
    count = max(1, new.bits // old.bits)
    lanes = [variable(f"a{i}", old) for i in range(count)]
    assert reread(reread(lanes, old, new), new, old) == lanes


def test_a_product_that_fits_nowhere_is_refused_and_its_low_bits_are_not() -> None:
    a, b = variable("a", U64), variable("b", U64)
    values = {a: np.array([2**63 + 5], np.uint64), b: np.array([3], np.uint64)}
    with pytest.raises(SizeError, match="fits in no NumPy integer"):
        evaluate(shift_right(a * b, 64), values)
    assert int(evaluate(wrap(U64, a * b), values)[0]) == (2**63 + 5) * 3 % 2**64


def test_a_formula_of_constants_is_a_constant() -> None:
    made = where(greater(3, 2), lift(5) ^ 1, minimum(7, 9)) + equals(1, 1)
    assert made.value == 5
    assert int(evaluate(made, {})) == 5


def test_substitution_finds_the_interval_anew() -> None:
    a, b = variable("a", S32), variable("b", U32)
    (found,) = substituted([saturate(U8, a)], {a: wrap(U8, b)})
    assert found is wrap(U8, b)
