"""A printed figure stands for all values that are printed like it, and for no others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from printed import Printed

from mlc_course.units import milliseconds, size_text

POSITIVE = st.floats(min_value=1e-3, max_value=1e5)


def holds(printed: Printed, value: float) -> bool:
    return printed.may_be(value)


@given(POSITIVE, st.integers(min_value=0, max_value=4))
def test_a_value_is_among_those_of_its_figure(value: float, digits: int) -> None:
    assert holds(Printed.of(f"{value:,.{digits}f}"), value)


@given(st.floats(min_value=1e-7, max_value=1e4))
def test_a_time_is_among_those_of_its_figure(seconds: float) -> None:
    figure = milliseconds(seconds).removesuffix(" ms")
    assert holds(Printed.of(figure, significant=3), 1e3 * seconds)


@given(st.integers(min_value=1000, max_value=10**12))
def test_a_size_is_among_those_of_its_figure(size: int) -> None:
    figure, unit = size_text(size).split()
    assert holds(Printed.of(figure, 3) * {"kB": 1e3, "MB": 1e6, "GB": 1e9}[unit], size)


@given(POSITIVE, POSITIVE)
def test_a_ratio_and_a_product_are_among_those_of_their_figures(one: float, two: float) -> None:
    first, second = Printed.of(f"{one:.2f}"), Printed.of(f"{two:.2f}")
    assert holds(first / second, one / two)
    assert holds(first * second, one * two)


@pytest.mark.parametrize(
    ("figure", "significant", "outside"),
    [("13.2", None, 13.26), ("13.2", 3, 13.14), ("7.9", 3, 7.91), ("22,400", 3, 22_460)],
)
def test_another_value_is_not_among_them(
    figure: str, significant: int | None, outside: float
) -> None:
    printed = Printed.of(figure, significant)
    assert not holds(printed, outside)
    assert printed.may_exceed(outside) == (outside < printed.least)


def test_equal_figures_may_be_in_either_order() -> None:
    one, same, less = Printed.of("13.2"), Printed.of("13.2"), Printed.of("13.0")
    assert one.may_exceed(same) and same.may_exceed(one)
    assert one.may_exceed(less) and not less.may_exceed(one)


def test_figures_in_a_text_are_read_with_their_commas() -> None:
    first, second = Printed.each_of("1,024 lines, and 0.5 of them.")
    assert holds(first, 1024) and not holds(first, 1023)
    assert holds(second, 0.5) and not holds(second, 0.6)
