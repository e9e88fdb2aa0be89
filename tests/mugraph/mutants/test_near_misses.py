"""The pairs of lesson 17 are what they are said to be, by the real verifier."""

from __future__ import annotations

import pytest

from mlc_course.errors import Undecided, UsageError
from mlc_course.lessons.lesson_17_finite_field_verification import P, Q, accepted, accepts
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.mutants.near_misses import (
    BEYOND,
    EQUALS,
    IF_NOTHING_IS_DRAWN,
    IN_FLOATS,
    LONGER_ROWS,
    NEAR_MISSES,
    ON_A_GRID,
    Pair,
    pair,
)
from mlc_course.mugraph.verify import verify

DECIDED = (*EQUALS, *NEAR_MISSES, *IN_FLOATS, *ON_A_GRID, *IF_NOTHING_IS_DRAWN[:-1], LONGER_ROWS)


@pytest.mark.parametrize("each", DECIDED, ids=lambda each: each.name)
def test_the_verifier_says_which_are_equal(each: Pair) -> None:
    verdict = verify(each.left, each.right, seed=1)
    assert verdict.equal == each.equal
    assert each.equal or verdict.counterexample is not None


@pytest.mark.parametrize("each", [*BEYOND, pair("by nothing")], ids=lambda each: each.name)
def test_what_the_verifier_cannot_decide_it_says_so(each: Pair) -> None:
    with pytest.raises(Undecided):
        verify(each.left, each.right, seed=1)


@pytest.mark.parametrize("each", IF_NOTHING_IS_DRAWN, ids=lambda each: each.name)
def test_a_tester_that_draws_nothing_accepts_wrong_pairs(each: Pair) -> None:
    assert accepts(each.left, each.right)


def test_random_inputs_mend_two_of_them_and_no_more() -> None:
    mended = [
        each.name for each in IF_NOTHING_IS_DRAWN if not accepts(each.left, each.right, seed=1)
    ]
    assert mended == ["quotient", "gates"]
    assert mended == [
        each.name for each in IF_NOTHING_IS_DRAWN if not accepts(each.left, each.right, apart=True)
    ]


def test_it_refuses_what_it_can_tell_and_accepts_what_is_equal() -> None:
    add, mul = (parse(f"f(X[n=8], Y[n]):\n  F = {op}(X, Y)\n  return F") for op in ("add", "mul"))
    assert not accepts(add, mul)
    assert accepts(add, add)
    with pytest.raises(UsageError, match="graphs to be tested"):
        accepts(add, parse("f(Z[n=8], Y[n]):\n  F = add(Z, Y)\n  return F"))
    for each in EQUALS:
        assert accepts(each.left, each.right)
    assert accepts(pair("roots").left, pair("roots").right, apart=True)


def test_its_root_has_the_order_that_exponents_need() -> None:
    assert pow(3, Q, P) == 1
    assert pow(3, 1, P) != 1


def test_the_power_sums_agree_on_rows_of_two_alone() -> None:
    found = {}
    for d in (2, 3):
        left, right = (side.resized({"d": d}) for side in (LONGER_ROWS.left, LONGER_ROWS.right))
        found[d] = accepted(left, right, 31, 200, seed=1).rate
    assert found[2] == 1
    assert found[3] < 0.3


def test_another_name_is_refused() -> None:
    with pytest.raises(UsageError, match="no pair 'square'"):
        pair("square")
