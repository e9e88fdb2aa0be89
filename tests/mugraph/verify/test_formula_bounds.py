from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import exact
import numpy as np
from exact import Exact
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mlc_course.mugraph.ir import Number
from mlc_course.mugraph.verify.formula_bounds import Bound, Bounds, BoundTensor, Size

VARIABLES = ("x", "y")
FRACTIONS = st.fractions(min_value=-5, max_value=5, max_denominator=12)
Formula = tuple[Any, ...]  # an operator's name and its operands

formulas = st.recursive(
    st.one_of(st.tuples(st.sampled_from(VARIABLES)), st.tuples(st.just("constant"), FRACTIONS)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/", "max", "min"]), inner, inner),
        st.tuples(st.sampled_from(["exp", "square", "negative", "sqrt"]), inner),
        st.tuples(st.just("/ 3"), inner),
    ),
    max_leaves=7,
)


class TooLarge(Exception):
    """To be expanded."""


def expanded(formula: Formula) -> Exact:
    """Exactly; of a maximum, the formula that comes first by its text is taken."""
    made = _expanded(formula)
    if len(made.top) > 60 or len(made.below) > 4:
        raise TooLarge
    return made


def _expanded(formula: Formula) -> Exact:
    match formula:
        case ("constant", c):
            return exact.constant(c)
        case (name,):
            return exact.variable(name)
        case (one, inner):
            x = expanded(inner)
            return {
                "exp": lambda: exact.exp(x),
                "square": lambda: x * x,
                "negative": lambda: -x,
                "sqrt": lambda: exact.variable(("sqrt", x)),
                "/ 3": lambda: x / exact.constant(Fraction(3)),
            }[one]()
        case (two, left, right):
            a, b = expanded(left), expanded(right)
            if two == "/":
                assume(b.top)
                return a / b
            if two in ("max", "min"):
                first = str(sorted(map(str, a.top))) <= str(sorted(map(str, b.top)))
                return a if first == (two == "max") else b
            return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b}[two]()
    raise AssertionError(formula)


def bounded(formula: Formula, bounds: Bounds, known: dict[str, BoundTensor]) -> BoundTensor:
    match formula:
        case ("constant", c):
            return bounds.constant(Number(c))
        case (name,):
            return known[name]
        case (one, inner):
            x = bounded(inner, bounds, known)
            return {
                "exp": lambda: bounds.exp(x),
                "square": lambda: x * x,
                "negative": lambda: -x,
                "sqrt": lambda: bounds.function("sqrt", x),
                "/ 3": lambda: x / 3,
            }[one]()
        case (two, left, right):
            a, b = bounded(left, bounds, known), bounded(right, bounds, known)
            return {
                "+": lambda: a + b,
                "-": lambda: a - b,
                "*": lambda: a * b,
                "/": lambda: a / b,
                "max": lambda: bounds.maximum(a, b),
                "min": lambda: bounds.minimum(a, b),
            }[two]()
    raise AssertionError(formula)


def bound_of(formula: Formula, bounds: Bounds, known: dict[str, BoundTensor]) -> Bound:
    entry = bounded(formula, bounds, known).entries[()]
    assert isinstance(entry, Bound)
    return entry


def assert_covers(size: Size, top: exact.Sum) -> None:
    """At every level: the exponents' differences are covered, too."""
    assert exact.exponentials(top) <= size.exponentials
    assert exact.degree(top) <= size.degree
    assert exact.coefficients(top) <= size.coefficients
    exponents = exact.exponents(top)
    if size.exponent is None:
        assert exponents in ([], [exact.constant(Fraction())])
        return
    apart = size.exponent.top + size.exponent.top
    for g, h in combinations(exponents, 2):
        assert_covers(apart, (g - h).top)


@settings(max_examples=400, deadline=None)
@given(formulas, formulas)
def test_no_difference_of_two_formulas_is_larger_than_its_bound(
    left: Formula, right: Formula
) -> None:
    try:
        difference = expanded(left) - expanded(right)
    except TooLarge:
        assume(False)
    bounds = Bounds(7)
    known = {name: bounds.random(()) for name in VARIABLES}
    a, b = (bound_of(each, bounds, known) for each in (left, right))
    ours, theirs, _, _ = a.over(b)
    assert_covers(ours + theirs, difference.top)


@settings(max_examples=200, deadline=None)
@given(formulas, formulas)
def test_formulas_with_equal_fingerprints_are_equal(left: Formula, right: Formula) -> None:
    """The other way round it does not hold: exp(x) exp(y) has another one than exp(x + y)."""
    bounds = Bounds(3)
    known = {name: bounds.random(()) for name in VARIABLES}
    a, b = (bound_of(each, bounds, known) for each in (left, right))
    try:
        difference = expanded(left) - expanded(right)
    except TooLarge:
        assume(False)
    if a.value == b.value:
        assert not difference.top


def test_a_common_denominator_counts_once() -> None:
    bounds = Bounds(1)
    x = bounds.random((3,))
    total = bounds.sum(bounds.exp(x), 0)
    shares = bounds.exp(x) / total
    together: Bound = bounds.sum(shares, 0).entries[0]
    assert together.top.exponentials == 3 and len(together.below) == 1
    apart = bounds.sum(bounds.exp(x) / (bounds.exp(x) + 1), 0).entries[0]
    assert len(apart.below) == 3 and apart.top.exponentials > 8


def test_values_of_max_and_min_are_told_apart() -> None:
    """min(max(x, low), high) has other values than min(max(x, high), low)."""
    bounds = Bounds(1)
    x, low, high = bounds.random(()), *(bounds.constant(Number(Fraction(n))) for n in (1, 2))

    def clamped(a: BoundTensor, b: BoundTensor) -> int:
        return bounds.minimum(bounds.maximum(x, a), b).entries[()].value

    assert clamped(low, high) != clamped(high, low)
    assert bounds.maximum(bounds.maximum(x, low), high).entries[()].value == (
        bounds.maximum(x, bounds.maximum(high, low)).entries[()].value
    )


def test_one_over_exp_is_exp_and_needs_no_denominator() -> None:
    bounds = Bounds(1)
    x = bounds.random(())
    inverse: Bound = bounds.inverse(bounds.exp(x) * bounds.exp(x)).entries[()]
    assert inverse.below == {} and inverse.top.exponentials == 1
    assert np.shape(x.entries) == ()
