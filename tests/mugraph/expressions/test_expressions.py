"""The normal form of abstract expressions, and which of them are parts of which."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mlc_course.mugraph.expressions.normal_form import INVERSE, ONE, Cancelled, Expressions, Poly
from mlc_course.mugraph.expressions.subexpression import Goal
from mlc_course.mugraph.ir import Op, ops

AMONG = Expressions(like_terms=True)
X, Y, Z = (AMONG.atom(name) for name in "XYZ")


def grown(children: st.SearchStrategy[Poly]) -> st.SearchStrategy[Poly]:
    pairs = st.tuples(children, children)
    return st.one_of(
        pairs.map(lambda p: AMONG.add(*p)),
        pairs.map(lambda p: AMONG.mul(*p)),
        children.map(AMONG.inverse),
        children.map(lambda x: AMONG.atom("exp", x)),
        children.map(lambda x: AMONG.times(x, Fraction(3))),
    )


polys = st.recursive(st.sampled_from([X, Y, Z]), grown, max_leaves=5)


@given(polys, polys, polys)
def test_sums_and_products_commute_associate_and_distribute(x: Poly, y: Poly, z: Poly) -> None:
    add, mul = AMONG.add, AMONG.mul
    assert add(x, y) == add(y, x)
    assert add(add(x, y), z) == add(x, add(y, z))
    assert mul(x, y) == mul(y, x)
    assert mul(mul(x, y), z) == mul(x, mul(y, z))
    assert mul(x, add(y, z)) == add(mul(x, y), mul(x, z))


@given(polys, polys, polys)
def test_quotients_associate_and_exponentials_merge(x: Poly, y: Poly, z: Poly) -> None:
    mul, inverse = AMONG.mul, AMONG.inverse
    assert mul(mul(x, inverse(y)), inverse(z)) == mul(x, inverse(mul(y, z)))
    exp = AMONG.atom("exp", x), AMONG.atom("exp", y)
    assert mul(*exp) == AMONG.atom("exp", AMONG.add(x, y))


def test_sums_over_axes_multiply_and_move_out_of_products() -> None:
    three = AMONG.times(X, Fraction(3))
    assert AMONG.times(three, Fraction(5)) == AMONG.times(X, Fraction(15))
    assert AMONG.mul(three, Y) == AMONG.times(AMONG.mul(X, Y), Fraction(3))


def test_nothing_cancels() -> None:
    with pytest.raises(Cancelled):
        AMONG.add(X, AMONG.times(X, Fraction(-1)))
    assert AMONG.mul(X, AMONG.inverse(X)) != ONE


def test_like_terms_meet_only_where_the_program_has_them() -> None:
    strict = Expressions()
    x = strict.atom("X")
    with pytest.raises(Cancelled):
        strict.add(x, x)
    assert strict.mul(strict.atom("exp", x), strict.atom("exp", x)) == strict.atom(
        "exp", strict.times(x, Fraction(2))
    )


def test_whole_sums_are_atoms_that_more_can_be_added_to() -> None:
    among = Expressions(whole_sums=True)
    x, y, z = (among.atom(name) for name in "XYZ")
    both = among.add(x, y)
    assert len(both) == 1
    assert among.add(both, z) == among.add(x, among.add(y, z))
    assert among.mul(both, z) != among.add(among.mul(x, z), among.mul(y, z))
    twice = among.times(both, Fraction(2))
    assert twice == among.add(among.times(x, Fraction(2)), among.times(y, Fraction(2)))


SOFTMAX = AMONG.mul(
    AMONG.mul(AMONG.atom("exp", AMONG.mul(X, Y)), Z),
    AMONG.inverse(AMONG.times(AMONG.atom("exp", AMONG.mul(X, Y)), Fraction(6))),
)
RATIO = AMONG.add(AMONG.times(AMONG.mul(X, Y), Fraction(6)), AMONG.mul(X, Z))


@pytest.mark.parametrize(
    ("goal", "part", "is_part"),
    [
        (SOFTMAX, X, True),
        (SOFTMAX, AMONG.mul(X, Y), True),
        (SOFTMAX, AMONG.times(AMONG.atom("exp", AMONG.mul(X, Y)), Fraction(2)), True),
        (SOFTMAX, AMONG.times(AMONG.atom("exp", AMONG.mul(X, Y)), Fraction(4)), False),
        (SOFTMAX, AMONG.mul(X, X), False),
        (SOFTMAX, AMONG.inverse(AMONG.atom("exp", AMONG.mul(X, Y))), False),
        (SOFTMAX, AMONG.atom("exp", X), False),
        (RATIO, AMONG.add(AMONG.times(Y, Fraction(6)), Z), True),
        (RATIO, AMONG.add(AMONG.times(Y, Fraction(2)), Z), False),
        (RATIO, AMONG.times(Y, Fraction(3)), True),
        (RATIO, AMONG.times(AMONG.mul(X, Z), Fraction(-1)), True),
        (AMONG.mul(X, Z), AMONG.times(AMONG.mul(X, Z), Fraction(-1)), False),
    ],
)
def test_what_is_a_part(goal: Poly, part: Poly, is_part: bool) -> None:
    assert Goal(AMONG, [goal]).has(part) == is_part


def test_an_exponent_is_a_part_where_the_rest_of_it_can_be_made() -> None:
    """exp(x) exp(-y) is exp(x - y), but nothing makes -y where nothing negates."""
    goal = AMONG.atom("exp", AMONG.add(X, AMONG.times(Y, Fraction(-1))))
    assert not Goal(AMONG, [goal]).has(AMONG.atom("exp", X))
    assert Goal(AMONG, [goal], negates=True).has(AMONG.atom("exp", X))
    plus = AMONG.atom("exp", AMONG.add(X, Y))
    assert Goal(AMONG, [plus]).has(AMONG.atom("exp", X))


def over_reciprocals(x: Poly) -> bool:
    """A fraction in a fraction's denominator: ``subexpression`` says that it may be missed."""
    atoms = [AMONG.atoms[atom] for monomial, _ in x for atom, _ in monomial]
    below = [inner for each in atoms if each.name == INVERSE for inner in each.of]
    return any(AMONG.atoms[a].name == INVERSE for p in below for m, _ in p for a, _ in m)


OVER_EXPONENTIALS = AMONG.inverse(AMONG.add(AMONG.atom("exp", X), AMONG.atom("exp", Z)))


@given(polys, polys)
@example(OVER_EXPONENTIALS, OVER_EXPONENTIALS)  # exp(x) exp(z) is one atom, and not the largest
def test_a_factor_and_a_term_are_parts(x: Poly, y: Poly) -> None:
    product = AMONG.mul(x, y)
    if len(product) == len(x) * len(y) and not over_reciprocals(product):
        assert Goal(AMONG, [product]).has(x)
    assert Goal(AMONG, [AMONG.inverse(x)]).has(x)
    assert Goal(AMONG, [AMONG.atom("sqrt", x)]).has(x)
    if not {m for m, _ in x} & {m for m, _ in y}:
        assert Goal(AMONG, [AMONG.add(x, y)]).has(x)


@given(polys, polys, polys)
def test_what_is_a_part_is_not_refused_by_the_roles_of_its_operands(
    x: Poly, y: Poly, z: Poly
) -> None:
    """Whatever the goal."""
    both, ratio = AMONG.add(x, y), AMONG.mul(x, AMONG.inverse(y))
    for goal in (both, ratio, AMONG.mul(both, z), AMONG.mul(ratio, z), AMONG.add(ratio, z), z):
        asked = Goal(AMONG, [AMONG.atom("exp", goal)])
        assert asked.role(x).goes(ops.add, asked.role(y)) or not asked.has(both)
        assert asked.role(x).goes(ops.div, asked.role(y)) or not asked.has(ratio)


@pytest.mark.parametrize(
    ("op", "x", "y", "goes"),
    [
        (ops.add, Y, Z, True),  # 6 X Y + X Z
        (ops.sub, AMONG.mul(X, Y), AMONG.mul(X, Z), True),
        (ops.add, X, Z, False),  # nothing that multiplies X is multiplied by Z
        (ops.add, Y, AMONG.mul(X, Z), False),
        (ops.div, X, Y, False),  # there is no denominator
        (ops.mul, X, X, True),  # not asked
    ],
)
def test_roles_refuse_what_can_be_no_part(op: Op, x: Poly, y: Poly, goes: bool) -> None:
    goal = Goal(AMONG, [RATIO])
    assert goal.role(x).goes(op, goal.role(y)) == goes


def test_a_divisor_is_a_factor_of_a_denominator() -> None:
    over = AMONG.mul(X, AMONG.inverse(AMONG.mul(Y, Z)))
    goal = Goal(AMONG, [over])
    divides = [each for each in (X, Y, Z) if goal.role(X).goes(ops.div, goal.role(each))]
    assert divides == [Y, Z]
