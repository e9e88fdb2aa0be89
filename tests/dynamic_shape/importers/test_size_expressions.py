"""Expressions of sizes are whole numbers at every size, and so are the dimensions made of them."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlc_course.dynamic_shape.importers.size_expressions import (
    Expression,
    Sizes,
    may_be_equal,
    named,
    whole,
)
from mlc_course.dynamic_shape.ir import forced_size, holds
from mlc_course.errors import ShapeError

NAMES = ("a", "b", "c")
FACTORS = st.lists(st.sampled_from(NAMES), max_size=3)
TERMS = st.lists(st.tuples(st.integers(-4, 6), FACTORS), max_size=4)
AT = st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(1, 6)))


def expression(terms: list[tuple[int, list[str]]]) -> Expression:
    total = whole(0)
    for by, factors in terms:
        total += prod(map(named, factors), start=whole(by))
    return total


def value(terms: list[tuple[int, list[str]]], at: dict[str, int]) -> int:
    return sum(by * prod(at[name] for name in factors) for by, factors in terms)


def value_of(found: Expression, at: dict[str, int]) -> int:
    return sum(by * prod(at[name] for name in product) for product, by in found.terms)


@given(TERMS, TERMS, AT)
def test_sums_and_products_are_those_of_numbers(one, other, at) -> None:
    a, b = expression(one), expression(other)
    x, y = value(one, at), value(other, at)
    results = (a + b, a - b, a * b, -a)
    assert [value_of(each, at) for each in results] == [x + y, x - y, x * y, -x]
    assert a.least is None or a.least <= x
    assert a.constant is None or a.constant == x
    assert may_be_equal(a, b) or x != y
    assert eval(str(a), dict(at)) == x


@given(TERMS, TERMS)
def test_equal_expressions_have_equal_terms(one, other) -> None:
    a, b = expression(one), expression(other)
    assert a + b == b + a and a * b == b * a and a - a == whole(0)
    assert hash(a + b - b) == hash(a)


@given(TERMS, TERMS, AT)
def test_a_quotient_times_its_divisor_is_the_dividend(one, other, at) -> None:
    a, b = expression(one), expression(other)
    quotient = a.divided(b)
    assert quotient is None or quotient * b == a
    if len(b.terms) == 1:
        assert (a * b).divided(b) == a


@settings(max_examples=200)
@given(TERMS, AT)
def test_a_dimension_is_tied_to_what_it_is_made_of(terms, at) -> None:
    sizes = Sizes(NAMES)
    for name in NAMES:
        sizes.declare(name)
    found = expression(terms)
    try:
        dim = sizes.dim(found)
    except ShapeError:
        assert value(terms, at) < 1
        return
    assert sizes.dim(found) == dim and sizes.of(dim) == found
    if isinstance(dim, int):
        assert dim == value(terms, at)
        return
    known = dict(at)
    for _ in sizes.constraints:
        for fact in sizes.constraints:
            for name in sizes.expressions.keys() - known.keys():
                try:
                    forced = forced_size(fact, name, known)
                except KeyError:
                    continue
                if forced is not None:
                    known[name] = forced
    assert known[dim] == value(terms, at)
    assert all(holds(fact, known) for fact in sizes.constraints)


@given(TERMS, AT)
def test_what_must_not_be_negative_is_stated(terms, at) -> None:
    sizes = Sizes(NAMES)
    for name in NAMES:
        sizes.declare(name)
    try:
        sizes.need_not_negative(expression(terms), "a start")
    except ShapeError:
        assert value(terms, at) < 0
        return
    known = {name: value_of(sizes.expressions[name], at) for name in sizes.expressions}
    assert all(holds(fact, known) for fact in sizes.constraints) == (value(terms, at) >= 0)


def test_a_size_below_1_is_refused() -> None:
    with pytest.raises(ShapeError, match="a size"):
        Sizes(()).dim(whole(0))
