from __future__ import annotations

import pytest
from hypothesis import assume, given

from mlc_course.errors import SizeError
from mlc_course.instruction_selection.integers import (
    S16,
    S32,
    U8,
    U64,
    Formula,
    absolute,
    const,
    equals,
    maximum,
    minimum,
    saturate,
    var,
    variable,
    variables,
    where,
    wrap,
)
from mlc_course.instruction_selection.integers import greater as above
from mlc_course.instruction_selection.prove import Proved, Refuted, Unknown, prove_equal
from mlc_course.instruction_selection.prove.cases import AllCases, by_cases
from mlc_course.instruction_selection.prove.differences import Rows, Zero, decide, difference
from mlc_course.instruction_selection.prove.exact import exact_value
from mlc_course.instruction_selection.prove.inputs import (
    Row,
    count_inputs,
    first_difference,
    sampled_difference,
)
from mlc_course.instruction_selection.prove.normal_form import NormalForm
from mlc_course.instruction_selection.prove.shared import without_shared
from mlc_course.instruction_selection.prove.sums import summed
from mlc_course.instruction_selection.prove.tables import tabulated
from tests.helpers.formula_pairs import pairs, really_equal

A, B = variable("a", U8), variable("b", U8)
C, D = variable("c", S16), variable("d", S16)
WIDE = variable("w", S32)
MOST = 1 << 17


def truth(x: Formula, y: Formula) -> bool:
    try:
        return really_equal(x, y)
    except SizeError:
        assume(False)
        raise AssertionError from None


def refutes(x: Formula, y: Formula, row: Row) -> bool:
    full = {each: each.lo for each in variables(x, y)} | row
    return exact_value(x, full) != exact_value(y, full)


@given(pairs())
def test_the_normal_form_alone_is_never_wrong(pair: tuple[Formula, Formula]) -> None:
    form = NormalForm()
    if difference(form, *form.values(pair)).nothing:
        assert truth(*pair)


@given(pairs())
def test_the_parts_of_the_difference_decide_rightly(pair: tuple[Formula, Formula]) -> None:
    form = NormalForm()
    match decide(form, difference(form, *form.values(pair)), MOST):
        case Zero():
            assert truth(*pair)
        case Rows(rows):
            assert any(refutes(*pair, row) for row in rows)


@given(pairs())
def test_sums_as_variables_alone_prove_nothing_wrong(pair: tuple[Formula, Formula]) -> None:
    same, _ = summed(pair)
    form = NormalForm(cut=True, taken=frozenset(map(str, variables(*same))))
    for each in (NormalForm(), form):
        if isinstance(decide(each, difference(each, *each.values(same)), MOST), Zero):
            assert truth(*pair)


@given(pairs())
def test_tables_alone_are_never_wrong(pair: tuple[Formula, Formula]) -> None:
    (x, y), _ = tabulated(pair)
    if x is y:
        assert truth(*pair)


@given(pairs())
def test_shared_parts_as_variables_prove_nothing_wrong(pair: tuple[Formula, Formula]) -> None:
    for x, y in without_shared(*pair):
        inputs = variables(x, y)
        if count_inputs(inputs) <= MOST and first_difference(x, y, inputs) is None:
            assert truth(*pair)


@given(pairs())
def test_cases_alone_decide_rightly(pair: tuple[Formula, Formula]) -> None:
    match by_cases(*pair):
        case AllCases():
            assert truth(*pair)
        case None:
            pass
        case row:
            assert refutes(*pair, row)


@given(pairs())
def test_all_inputs_are_all_inputs(pair: tuple[Formula, Formula]) -> None:
    row = first_difference(*pair, variables(*pair))
    assert (row is None) == truth(*pair)
    assert row is None or refutes(*pair, row)


@given(pairs())
def test_samples_refute_only_what_differs(pair: tuple[Formula, Formula]) -> None:
    row = sampled_difference(*pair, variables(*pair), 64, seed=1)
    assert row is None or refutes(*pair, row)


@given(pairs())
def test_all_methods_together_decide_every_small_pair(pair: tuple[Formula, Formula]) -> None:
    verdict = prove_equal(*([each] for each in pair))
    assert isinstance(verdict, Proved if truth(*pair) else Refuted)


def test_all_inputs_of_three_bytes_are_counted_once_and_the_last_is_reached() -> None:
    three = [var(name, 0, 255) for name in "xyz"]
    last = minimum(minimum(three[0], three[1]), three[2])
    row = first_difference(above(last, 254), const(0), three)
    assert row == dict.fromkeys(three, 255)


def test_ranges_that_are_no_powers_of_two_are_covered() -> None:
    x, y = var("x", -150, 150), var("y", 3, 70000)
    sides = (x * y, x * y + where(above(x, 149) * above(y, 69999), 1, 0))
    assert first_difference(*sides, [x, y]) == {x: 150, y: 70000}
    assert first_difference(sides[0], y * x, [x, y]) is None


def test_unsigned_values_of_64_bits_are_computed() -> None:
    x = var("x", (1 << 64) - 300, (1 << 64) - 1)
    assert first_difference(x & 255, wrap(U8, x), [x]) is None
    assert first_difference(x, minimum(x, (1 << 64) - 2), [x]) == {x: (1 << 64) - 1}


@pytest.mark.parametrize("at", [0, 1, -1, 255, 256, -32768, 32767, 1 << 20, -(1 << 31)])
def test_a_difference_at_a_constant_of_a_formula_is_found_among_2_to_the_32(at: int) -> None:
    off = where(above(WIDE, at - 1) * above(at + 1, WIDE), 1, 0)
    verdict = prove_equal([WIDE >> 3], [(WIDE >> 3) + off])
    assert verdict == Refuted({"w": at}, 0, at >> 3, (at >> 3) + 1)


def test_extremes_of_two_inputs_together_are_tried() -> None:
    for x in (C.lo, C.hi):
        for y in (D.lo, D.hi):
            both = maximum((C - x) * (C - x) + (D - y) * (D - y), 0)
            assert sampled_difference(minimum(both, 1), const(1), [C, D], 2048, 1) == {C: x, D: y}


def test_what_numpy_cannot_hold_is_refuted_by_exact_integers_and_never_proved_by_them() -> None:
    x, y = variable("x", U64), variable("y", U64)
    high = (x * y) >> 64
    verdict = prove_equal([high], [minimum(high, (1 << 64) - 3)])
    assert isinstance(verdict, Refuted)
    assert verdict.wanted == (verdict.model["x"] * verdict.model["y"]) >> 64
    rare = where(above(x, 5) * above(7, x) * above(y, 123456789) * above(123456791, y), 1, 0)
    verdict = prove_equal([high], [high + rare])
    assert not isinstance(verdict, Proved)


def test_tables_find_the_product_of_a_value_and_a_sign() -> None:
    b = var("b", -127, 127)
    a = var("a", -128, 127)
    signed = where(above(a, 0), b, where(above(0, a), 0 - b, 0))
    verdict = prove_equal(
        [saturate(S16, a * b + WIDE) >> 7], [saturate(S16, absolute(a) * signed + WIDE) >> 7]
    )
    assert isinstance(verdict, Proved) and verdict.certificate.method == "tables"


def test_cases_settle_clamps_of_a_wide_value() -> None:
    clamped = saturate(S16, WIDE)
    verdict = prove_equal([above(WIDE, 99)], [above(clamped, 99) * above(clamped, 0)])
    assert isinstance(verdict, Proved) and verdict.certificate.method == "case by case"


def test_a_question_that_no_method_decides_is_unknown() -> None:
    x, y = variable("x", S32), variable("y", S32)
    mixed = wrap(S32, x * y + 12345 * x)
    rare = where(equals(mixed, 987654321) * equals(wrap(U8, y * y * x), 77), 1, 0)
    verdict = prove_equal([mixed], [minimum(mixed + rare, 1 << 40)])
    assert isinstance(verdict, Unknown)
    assert str(verdict) == (
        "Not known: no method decides a question of 18,446,744,073,709,551,616 inputs,"
        " and those tried show no difference."
    )


def test_parts_that_share_no_variable_refute_together() -> None:
    many = [variable(f"x{i}", U8) for i in range(8)]
    right = wrap(S32, sum((x * x for x in many), WIDE))
    wrong = wrap(S32, sum((x * maximum(x, 1) for x in many), WIDE) + above(1, many[5]) * 0)
    assert isinstance(prove_equal([right], [wrong]), Proved)
    wrong = wrap(S32, sum((x * x for x in many), WIDE) + above(many[5], 254))
    verdict = prove_equal([right], [wrong])
    assert isinstance(verdict, Refuted) and verdict.model["x5"] == 255


def test_a_sum_that_overlaps_another_is_not_refuted_by_values_that_it_cannot_have() -> None:
    # a + b and a - b are even or odd together
    x, y = A + B, A - B
    verdict = prove_equal([(x & 1) ^ (wrap(U8, y) & 1)], [const(0)])
    assert isinstance(verdict, Proved)
