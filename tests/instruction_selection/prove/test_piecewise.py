from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mlc_course.instruction_selection.prove.piecewise import (
    Piecewise,
    clamp_of,
    positive_part,
    through,
)


@st.composite
def functions(draw: st.DrawFn) -> Piecewise:
    lo = draw(st.integers(-40, 40))
    hi = lo + draw(st.integers(0, 60))
    numbers = st.integers(-3, 3)
    bends = draw(st.dictionaries(st.integers(lo - 3, hi + 3), numbers, max_size=4))
    return Piecewise(lo, hi, draw(st.integers(-50, 50)), draw(numbers), bends)


@given(functions())
def test_a_function_is_the_one_through_its_knots(f: Piecewise) -> None:
    made = through(f.knots, f)
    assert all(made(x) == f(x) for x in range(f.lo, f.hi + 1))
    assert all(f.lo < t < f.hi and bend for t, bend in made.bends.items())


@given(functions(), functions())
def test_equal_functions_are_written_with_the_same_numbers(f: Piecewise, g: Piecewise) -> None:
    a, b = through(f.knots, f), through([*f.knots, *(x for x in g.knots if f.lo < x < f.hi)], f)
    assert a == b


@given(functions())
def test_the_positive_part_is_right_on_every_integer(f: Piecewise) -> None:
    made = positive_part(f)
    assert all(made(x) == max(f(x), 0) for x in range(f.lo, f.hi + 1))


@given(functions())
def test_values_lie_in_the_range_of_a_function(f: Piecewise) -> None:
    values = [f(x) for x in range(f.lo, f.hi + 1)]
    assert f.range == (min(values), max(values))


@given(st.integers(-20, 20), st.integers(-9, 9), st.integers(-30, 30), st.integers(0, 30))
def test_a_clamp_is_recognised(lo: int, offset: int, least: int, more: int) -> None:
    hi, most = lo + 40, least + more
    f = through(range(lo, hi + 1), lambda x: min(max(x + offset, least), most))
    found = clamp_of(f)
    if found is None:  # it is constant on the range
        assert f.range[0] == f.range[1]
        return
    s, low, high = found
    assert all(f(x) == min(max(x + s, low), high) for x in range(lo, hi + 1))


def test_a_function_that_rises_twice_is_no_clamp() -> None:
    assert clamp_of(through([0, 5, 9, 12], lambda x: min(x, 5) + max(x - 9, 0))) is None
    assert clamp_of(Piecewise(0, 9, 0, 2, {})) is None
