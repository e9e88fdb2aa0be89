"""Vectors of fractions: multiples and sums keep no zeros."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from mlc_course.dynamic_shape.solve.echelon import add_to, multiple

NUMBERS = st.sampled_from([Fraction(n, d) for n in range(-3, 4) for d in (1, 2)])
VECTORS = st.dictionaries(st.sampled_from("abcd"), NUMBERS.filter(bool))


@given(VECTORS, VECTORS, NUMBERS)
def test_a_multiple_is_added(
    total: dict[str, Fraction], more: dict[str, Fraction], times: Fraction
) -> None:
    found = dict(total)
    add_to(found, more, times)
    both = {key: total.get(key, 0) + times * more.get(key, 0) for key in total | more}
    assert found == {key: value for key, value in both.items() if value}
    assert multiple(more, times) == {key: times * value for key, value in more.items() if times}
