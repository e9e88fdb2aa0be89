from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mlc_course.errors import SizeError
from mlc_course.instruction_selection.integers import (
    S8,
    S16,
    S32,
    U8,
    U16,
    Formula,
    absolute,
    concat,
    evaluate,
    maximum,
    minimum,
    piece,
    reread,
    saturate,
    substituted,
    var,
    variable,
    variables,
    walk,
    where,
    wrap,
)
from mlc_course.instruction_selection.integers import greater as above
from mlc_course.instruction_selection.prove.exact import exact_value
from mlc_course.instruction_selection.prove.normal_form import NormalForm
from mlc_course.instruction_selection.prove.polynomials import Terms, built
from mlc_course.instruction_selection.prove.sums import summed
from mlc_course.instruction_selection.prove.tables import tabulated
from tests.helpers.formula_pairs import CHANGES
from tests.helpers.integer_formulas import formulas, value_by_python

A, B = variable("a", U8), variable("b", U8)
C, D = variable("c", S16), variable("d", S16)
WIDE = variable("w", S32)


def rows_of(inputs: list[Formula], count: int) -> list[dict[Formula, int]]:
    drawn = random.Random(5)
    return [
        {x: drawn.choice([x.lo, x.hi, drawn.randint(x.lo, x.hi)]) for x in inputs}
        for _ in range(count)
    ]


def value_of(terms: Terms, row: dict[Formula, int]) -> int:
    return value_by_python(built(terms), row)


def same(x: Formula, y: Formula) -> bool:
    form = NormalForm()
    first, second = form.values([x, y])
    return first.terms == second.terms


@given(formulas(most=10))
def test_a_formula_and_its_normal_form_agree_and_intervals_hold(made: Formula) -> None:
    (value,) = NormalForm().values([made])
    normal = built(value.terms)
    for row in rows_of(variables(made), 12):
        wanted = value_by_python(made, row)
        assert value.lo <= wanted <= value.hi
        assert value_by_python(normal, row) == wanted
        assert all(x.lo <= value_by_python(x, row) <= x.hi for x in walk(normal))


@given(formulas(names="ab"), st.sampled_from(CHANGES))
def test_a_formula_of_two_bytes_and_its_normal_form_agree_on_all_inputs(
    made: Formula, change: object
) -> None:
    signed = (U8, S8)
    small = {x: variable(str(x), signed[x.lo < 0]) for x in variables(made)}
    (root,) = substituted([made], small)
    root = change(root)  # type: ignore[operator]
    (value,) = NormalForm().values([root])
    inputs = variables(root)
    grid = np.meshgrid(*(np.arange(x.lo, x.hi + 1) for x in inputs), indexing="ij")
    values = dict(zip(inputs, grid, strict=True))
    try:
        wanted, found = evaluate(root, values), evaluate(built(value.terms), values)
    except SizeError:
        assume(False)
    assert np.all(wanted == found)


@given(formulas(most=10))
def test_sums_as_variables_have_the_value_of_the_formula(made: Formula) -> None:
    (root,), sums = summed([made])
    for row in rows_of(variables(made), 8):
        full = row | {x: value_of(of.terms, row) for x, of in sums.items()}
        assert all(x.lo <= full[x] <= x.hi for x in sums)
        assert value_by_python(root, full) == value_by_python(made, row)


@given(formulas(most=10))
def test_with_every_sum_cut_the_value_is_that_of_the_formula(made: Formula) -> None:
    form = NormalForm(cut=True, taken=frozenset({"sum 0"}))
    (value,) = form.values([made])
    root = built(form.with_sums(value.terms))
    for row in rows_of(variables(made), 8):
        full = dict(row)
        for x, of in form.sums.items():  # later sums read earlier ones
            full[x] = value_of(of.terms, full)
            assert x.lo <= full[x] <= x.hi
        assert value_by_python(root, full) == value_by_python(made, row)


@given(formulas(names="ab", most=10))
def test_tables_change_no_value(made: Formula) -> None:
    (root,), _ = tabulated([made])
    for row in rows_of(variables(made), 8):
        assert value_by_python(root, row) == value_by_python(made, row)
        assert all(x.lo <= value_by_python(x, row) <= x.hi for x in walk(root))


@given(formulas(most=12))
def test_exact_values_are_those_of_a_second_reading(made: Formula) -> None:
    for row in rows_of(variables(made), 4):
        assert exact_value(made, row) == value_by_python(made, row)


EQUAL = {
    "a sum in another order": (A + B + 1, 1 + (B + A)),
    "a product multiplied out": ((A + B) * (A - B), A * A - B * B),
    "a factor out of a shift": ((512 * C + 16384) >> 15, (C + 32) >> 6),
    "multiples out of a shift": ((256 * C + A) >> 8, C),
    "a shift in a shift": (((A + B) >> 1) + C >> 3, (A + B + 2 * C) >> 4),
    "a wrap in a shift": (wrap(U16, C * D) >> 8, wrap(U8, (C * D) >> 8)),
    "a clamp in a shift": (saturate(S16, WIDE) >> 4, minimum(maximum(WIDE >> 4, -2048), 2047)),
    "a clamp with an offset in a shift": (
        minimum(C + 32, 32767) >> 6,
        minimum((C + 32) >> 6, 511),
    ),
    "a wrap that another takes back": (wrap(S16, wrap(S16, A * B) - A * B + C), C),
    "a wrap of a multiple": (wrap(U16, wrap(S8, C) * 256), wrap(U16, C * 256)),
    "the greater, however it is written, fits": (wrap(U8, maximum(A - B, 0) + B), maximum(A, B)),
    "a signed and an unsigned wrap": (wrap(S8, A), wrap(U8, A + 128) - 128),
    "the sum of two sides is a distance": (
        maximum(A - B, 0) + maximum(B - A, 0),
        maximum(A - B, B - A),
    ),
    "the greater less the smaller": (maximum(C, D) - minimum(C, D), absolute(C - D)),
    "a clamp of a clamp": (saturate(U8, saturate(S16, WIDE)), saturate(U8, WIDE)),
    "clamps the other way round": (
        maximum(minimum(WIDE, 255), 0),
        minimum(maximum(WIDE, 0), 255),
    ),
    "a saturating sum of a saturating difference": (
        minimum(maximum(A - B, 0) + B, 255),
        maximum(A, B),
    ),
    "a distance of a distance": (absolute(absolute(C - D)), absolute(D - C)),
    "lanes side by side are a sum": (concat([A, B], U16), A + 256 * B),
    "a mask is a piece": (concat([A, B], U16) & 255, A),
    "a mask of the upper byte": (concat([A, B], U16) & 0xFF00, 256 * B),
    "a shift is a piece": (reread([A, wrap(U8, C)], U8, S16)[0] >> 8, wrap(S8, C)),
    "a shift up and down is a piece": (
        wrap(S16, reread([wrap(U8, C), B], U8, S16)[0] * 256) >> 8,
        wrap(S8, C),
    ),
    "a piece of a sum of bytes": (piece(A + 256 * B, 1, U8), B),
    "a negative mask": (C & -256, C - wrap(U8, C)),
    "or of what has no bit in common": ((A * 256) | B, A * 256 + B),
    "exclusive or with all ones": (A ^ 255, 255 - A),
    "a mask from a comparison": (
        wrap(U8, where(above(A, B), -1, 0)) & A,
        where(above(A, B), A, 0),
    ),
    "the greater by a comparison": (where(above(C, D), C, D), maximum(C, D)),
    "a comparison the other way round": (above(B, A), 1 - above(A + 1, B)),
}


@pytest.mark.parametrize("name", EQUAL)
def test_a_rule_makes_two_formulas_one(name: str) -> None:
    x, y = EQUAL[name]
    assert x is not y
    assert same(x, y)


UNEQUAL = {
    "shifts that round differently": ((A >> 1) + (B >> 1), (A + B) >> 1),
    "a wrap that is narrower than the one around": (wrap(S16, wrap(U8, C)), wrap(S16, C)),
    "a factor that does not divide the constant": ((512 * C + 16383) >> 15, (C + 32) >> 6),
    "a clamp the wrong way round": (
        maximum(minimum(WIDE, -5), 5),
        minimum(maximum(WIDE, 5), -5),
    ),
    "a wrap of the other sign": (wrap(S8, A), A),
    "a square and the value": (C * C, C),
    "and of a mask with a hole": (C & 0xF0F, wrap(U16, C)),
    "a comparison that is not strict": (above(A, B), above(A + 1, B)),
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_formulas_that_differ_stay_apart(name: str) -> None:
    assert not same(*UNEQUAL[name])


def test_the_square_of_a_bit_is_the_bit() -> None:
    bit = var("bit", 0, 1)
    assert same(bit * bit * A, bit * A)
    assert not same(A * A, A)


def test_a_product_of_long_sums_is_not_multiplied_out() -> None:
    many = [variable(f"x{i}", U8) for i in range(20)]
    (value,) = NormalForm().values([sum(many[:10], A) * sum(many[10:], B)])
    assert len(value.terms) == 1


def test_intervals_hold_where_a_positive_part_is_inside_another_and_multiplied_by_it() -> None:
    a, b = var("a", -4, 4), var("b", -3, 3)
    inner = maximum(a, 0)
    outer = maximum(inner + b, 0)
    for made in (inner * outer + inner + outer, inner * inner - outer * b, outer * outer - inner):
        (value,) = NormalForm().values([made])
        for x in range(-4, 5):
            for y in range(-3, 4):
                found = value_by_python(made, {a: x, b: y})
                assert value.lo <= found <= value.hi
                assert value_of(dict(value.terms), {a: x, b: y}) == found
