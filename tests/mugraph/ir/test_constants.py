from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlc_course.errors import GraphError
from mlc_course.mugraph.ir.constants import Constant, Number, constant, root

SIZES = {"d": 64, "b": 2, "16": 8}


@pytest.mark.parametrize(
    ("given", "text", "number"),
    [
        (2, "2", Number(Fraction(2))),
        (0.1, "1/10", Number(Fraction(1, 10))),
        (Fraction(-2, 3), "-2/3", Number(Fraction(-2, 3))),
        ("1e-5", "1/100000", Number(Fraction(1, 100000))),
        ("1/d", "1/d", Number(Fraction(1, 64))),
        ("3*d/4/b", "3*d/4/b", Number(Fraction(24))),
        ("d*d", "d*d", Number(Fraction(4096))),
        ("d/d", "1", Number(Fraction(1))),
        ("1/sqrt(d)", "1/sqrt(d)", Number(Fraction(1, 8))),
        ("sqrt(d)*sqrt(d)", "d", Number(Fraction(64))),
        ("sqrt(b)/d", "sqrt(b)/d", Number(Fraction(1, 64), (2,))),
        (" - 1 / d ", "-1/d", Number(Fraction(-1, 64))),
    ],
)
def test_constants_are_exact(given: str, text: str, number: Number) -> None:
    assert str(constant(given)) == text
    assert constant(text) == constant(given)
    assert constant(given).number(SIZES) == number


def test_a_root_has_its_value_in_floats_alone() -> None:
    assert float(constant("3/sqrt(d)").number(SIZES)) == pytest.approx(3 / 8)
    assert float(constant("b*sqrt(b)").number(SIZES)) == pytest.approx(2 * math.sqrt(2))


@given(
    st.fractions(),
    st.dictionaries(st.sampled_from("bdn"), st.integers(-3, 3).filter(bool)),
)
def test_a_constant_is_read_back_from_its_text(part: Fraction, halves: dict[str, int]) -> None:
    powers = tuple((name, Fraction(half, 2)) for name, half in sorted(halves.items()))
    assert constant(str(Constant(part, powers))) == Constant(part, powers)


@pytest.mark.parametrize(
    "text", ["", "1+d", "1/", "/d", "d d", "sqrt(1/d)", "1/0", "1.2.3", "nan", "1/d)", "*", "--2"]
)
def test_what_is_no_constant_is_refused(text: str) -> None:
    if text == "nan":  # a name: refused when its size is asked for
        with pytest.raises(GraphError, match="no size 'nan'"):
            constant(text).number(SIZES)
    else:
        with pytest.raises(GraphError, match="not a constant"):
            constant(text)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_float_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(GraphError, match="not a constant"):
        constant(value)


def test_a_size_is_a_whole_number() -> None:
    assert constant("d*b").size(SIZES) == 128
    assert constant("d/4").size(SIZES) == 16
    for text in ("1/d", "sqrt(d)", "0", "-1", "d/3"):
        with pytest.raises(GraphError, match="a size is a whole number"):
            constant(text).size(SIZES)


def test_a_number_that_names_an_unnamed_dimension_follows_its_size() -> None:
    assert constant(16).size(SIZES) == 8
    assert constant(17).size(SIZES) == 17


@given(st.integers(1, 10**40), st.integers(1, 10**20))
def test_a_root_of_a_large_number_is_exact_and_takes_no_search(n: int, square: int) -> None:
    """Trial division up to the root of 10**40 would never end."""
    found = root(n)
    assert found.coefficient**2 * math.prod(found.roots) == n
    assert root(square**2) == Number(Fraction(square))
