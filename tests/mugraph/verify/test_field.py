from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from mlc_course.mugraph.ir import Number
from mlc_course.mugraph.verify.field import Field, Residues
from mlc_course.mugraph.verify.primes import Tower, draw, draw_anywhere

BITS_AND_HEIGHTS = [(17, 0), (17, 1), (31, 0), (17, 2), (61, 1)]
SEEDS = st.integers(0, 2**32)


def a_field(bits: int = 17, height: int = 1, seed: int = 0, trials: int = 3) -> Field:
    rng = random.Random(seed)
    return Field([draw(2**bits - 1, height, rng) for _ in range(trials)], rng, independence=4)


def equal(a: Residues, b: Residues) -> bool:
    """At every level that both have; one of them has to be the top."""
    pairs = [
        (x, y) for x, y in zip(a.levels, b.levels, strict=True) if x is not None and y is not None
    ]
    assert pairs and a.top is not None and b.top is not None
    return all(np.array_equal(x, y) for x, y in pairs)


any_field = st.builds(
    lambda shape, seed: a_field(*shape, seed=seed), st.sampled_from(BITS_AND_HEIGHTS), SEEDS
)
with_exp = st.builds(
    lambda shape, seed: a_field(*shape, seed=seed),
    st.sampled_from([(17, 1), (17, 2), (61, 1)]),
    SEEDS,
)


@settings(max_examples=30, deadline=None)
@given(any_field)
def test_the_laws_of_a_field_hold(m: Field) -> None:
    x, y, z = (m.random((2, 2)) for _ in range(3))
    assert equal(x + y, y + x) and equal(x * y, y * x)
    assert equal((x + y) + z, x + (y + z)) and equal((x * y) * z, x * (y * z))
    assert equal(x * (y + z), x * y + x * z)
    assert equal(x - x + y, y) and equal(-x + x + y, y) and equal(0 - x, -x)
    quotient, inverse = x / y, 1 / y
    assume(not m.bad.any())  # no y is 0
    assert equal(quotient * y, x) and equal(inverse * y, m.integer(1) + (y - y))
    assert not equal(x, y) and not equal(x * y, x + y)


@settings(max_examples=30, deadline=None)
@given(any_field, st.fractions(max_denominator=1000))
def test_a_constant_is_a_quotient(m: Field, fraction: Fraction) -> None:
    made = m.constant(Number(fraction)) * fraction.denominator
    assert equal(made, m.integer(fraction.numerator))


@settings(max_examples=30, deadline=None)
@given(with_exp)
def test_exp_turns_sums_into_products(m: Field) -> None:
    x, y = m.random((2, 3)), m.random((2, 3))
    assert equal(m.exp(x) * m.exp(y), m.exp(x + y))
    assert equal(1 / m.exp(x), m.exp(-x))
    assert equal(m.exp(x - x), 0 * m.exp(x) + 1)
    assert not equal(m.exp(x) + m.exp(y), m.exp(x + y))
    assert not equal(m.exp(x) * m.exp(y), m.exp(x * y))


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_exp_in_exp_takes_one_more_level(seed: int) -> None:
    m = a_field(17, 2, seed=seed)
    x, y = m.random((2,)), m.random((2,))
    twice = m.exp(m.exp(x))
    assert [level is None for level in twice.levels] == [True, True, False]
    assert equal(twice * m.exp(m.exp(y)), m.exp(m.exp(x) + m.exp(y)))
    assert not equal(m.exp(m.exp(x)), m.exp(m.exp(x + x)))


def test_whatever_is_made_of_a_hole_is_one() -> None:
    m = a_field(17, 1)
    x = m.random((2, 2))
    e = m.exp(x)
    made = [e + x, x * e, e @ x, x / e, -e, m.function("sqrt", e), m.maximum(x, e), m.sum(e, 0)]
    made += [m.concatenate([x, e], 0), m.reshape(e, (4,)), m.take(e, (slice(0, 1), slice(0, 2)))]
    for each in made:
        assert each.levels[0] is None and each.top.min() >= 0


@pytest.mark.parametrize("prime", [2**31 - 1, 2**17 - 1])
@pytest.mark.parametrize("inner", [1, 3, 4096])
def test_matrix_products_are_exact(prime: int, inner: int) -> None:
    m = Field([Tower((prime,), (1,))] * 2, random.Random(1), 1)
    a, b = m.random((2, inner)), m.random((inner, 3))
    a.top[...] -= (a.top % 7 == 0) * (a.top - prime + 1)  # many entries as large as can be
    b.top[...] = np.where(b.top % 3 == 0, prime - 1, b.top)
    exact = a.top.astype(object) @ b.top.astype(object) % prime
    assert np.array_equal((a @ b).top, exact)


def test_sums_and_products_at_the_largest_residues_do_not_overflow() -> None:
    p = 2**31 - 1
    m = Field([Tower((p,), (1,))], random.Random(1), 2)
    x = Residues(m, [np.full((1, 5000), p - 1)])
    assert (x * x).top.tolist() == [[1] * 5000]
    assert m.sum(x, 0).top.tolist() == [[-5000 % p]]
    assert (x - 1 - x).top.tolist() == [[p - 1] * 5000]
    slope, offset = m._functions.setdefault(("f", 0), [np.array([p - 1]), np.array([p - 2])])
    assert m.function("f", x).top[0, 0] == (int(slope[0]) * (p - 1) + int(offset[0])) % p


def test_a_quotient_by_zero_is_void_and_so_is_what_is_made_of_it() -> None:
    m = Field([Tower((7,), (1,))] * 2, random.Random(0), 1)
    x = Residues(m, [np.array([[[1, 2], [3, 4]], [[1, 1], [1, 1]]])])
    zero = Residues(m, [np.array([[[1, 0], [1, 1]], [[1, 1], [1, 1]]])])
    y = x / zero
    assert y.void is not None and y.void[0].tolist() == [[False, True], [False, False]]
    assert not y.void[1].any() and m.bad.tolist() == [True, False]

    def void(made: Residues) -> list[list[bool]]:
        assert made.void is not None and made.void.shape == made.top.shape
        assert not made.void[1].any()
        return made.void[0].tolist()

    assert void(y + x) == void(1 - y) == void(m.maximum(x, y)) == [[False, True], [False, False]]
    assert void(m.function("sqrt", y)) == void(-y) == [[False, True], [False, False]]
    assert void(y @ x) == [[True, True], [False, False]]
    assert void(x @ y) == [[False, True], [False, True]]
    assert void(m.sum(y, 1)) == void(m.max(y, 1)) == [[True], [False]]
    assert void(m.transpose(y, (1, 0))) == [[False, False], [True, False]]
    assert void(m.concatenate([x, y], 0))[:2] == [[False, False]] * 2
    assert void(m.sum(y, 1) + x) == [[True, True], [False, False]]
    assert not void(m.take(y, (slice(1, 2), slice(0, 2))))[0][0]
    assert (x + x).void is None and (x / x).void is None


orders = st.builds(lambda height, seed: a_field(17, height, seed=seed), st.integers(0, 2), SEEDS)


@settings(max_examples=30, deadline=None)
@given(orders)
@example(a_field(17, 0, seed=79363))  # two residues have the same value in the random function
def test_max_is_that_of_an_order(m: Field) -> None:
    x, y, z = (m.random((2, 2)) for _ in range(3))
    larger = m.maximum(x, y)
    assert equal(larger, m.maximum(y, x)) and equal(m.maximum(x, x), x)
    assert equal(m.maximum(larger, z), m.maximum(x, m.maximum(y, z)))
    assert equal(m.maximum(larger, m.minimum(x, y)), larger)
    assert equal(larger + m.minimum(x, y), x + y)
    assert np.isin(larger.top, np.stack([x.top, y.top])).all()


@settings(max_examples=30, deadline=None)
@given(orders)
def test_max_selects_the_same_entry_at_every_level(m: Field) -> None:
    """Two residues may agree at a small prime, so which one was taken is asked of all levels."""
    x, y = m.random((3,)), m.random((3,))
    larger = m.maximum(x, y)
    is_x, is_y = (
        np.all([a == c for a, c in zip(each.levels, larger.levels, strict=True)], axis=0)
        for each in (x, y)
    )
    assert np.all(is_x | is_y)
    assert equal(m.max(m.concatenate([x, y], 0), 0), m.maximum(m.max(x, 0), m.max(y, 0)))


@pytest.mark.parametrize("height", [0, 1])
def test_no_two_values_are_tied(height: int) -> None:
    """At a tiny prime most random functions take two residues to one value."""
    rng = random.Random(4)
    primes, roots = ((7,), (1,)) if height == 0 else ((3, 7), (1, 2))
    m = Field([Tower(primes, roots)] * 200, rng, independence=2)
    values = m.random((20,))
    x, y = m.reshape(values, (20, 1)), m.reshape(values, (1, 20))
    assert equal(m.maximum(x, y), m.maximum(y, x)) and equal(m.minimum(x, y), m.minimum(y, x))
    backwards = Residues(m, [None if v is None else v[:, ::-1] for v in values.levels])
    assert equal(m.max(values, 0), m.max(backwards, 0))


def test_max_is_one_order_in_a_trial_and_another_in_the_next() -> None:
    rng = random.Random(0)
    m = Field([Tower((2**31 - 1,), (1,))] * 2000, rng, 2)
    x, y = m.integer(5), m.integer(8)
    first = m.maximum(x, y).top == 5
    assert 900 < first.sum() < 1100
    assert np.array_equal(first, m.maximum(x, y).top == 5)


def test_every_order_of_four_values_is_as_likely() -> None:
    """As random polynomials with four coefficients make them."""
    m = Field([Tower((2**31 - 1,), (1,))] * 24_000, random.Random(1), 4)
    ranks = np.stack([m._rank(np.full(24_000, n)) for n in (1, 2, 3, 4)])
    orders, counts = np.unique(ranks.argsort(axis=0), axis=1, return_counts=True)
    assert orders.shape == (4, 24) and counts.min() > 870 and counts.max() < 1130


def test_random_functions_are_functions_and_independent_where_arguments_differ() -> None:
    p = 5
    m = Field([Tower((p,), (1,))] * 50_000, random.Random(2), 3)
    values = [m.function("sqrt", m.integer(n)).top for n in (1, 2, 4)]
    again = m.function("sqrt", m.integer(3) + 1).top
    assert np.array_equal(values[2], again)
    _, counts = np.unique(np.stack(values), axis=1, return_counts=True)
    assert len(counts) == p**3 and counts.min() > 310 and counts.max() < 490
    assert not np.array_equal(values[0], m.function("log", m.integer(1)).top)


def test_the_square_root_of_a_number_is_one_where_it_has_any() -> None:
    rng = random.Random(3)
    m = Field([draw_anywhere(1, rng, (2, 3)) for _ in range(20)], rng, 1)
    two, three, six = (m.constant(Number(Fraction(1), roots)) for roots in ((2,), (3,), (2, 3)))
    assert equal(two * two, m.integer(2)) and equal(two * three, six)
    assert not equal(two, three) and not equal(two * two, m.integer(3))


def test_a_number_without_a_square_root_modulo_the_primes_has_a_random_one() -> None:
    m = a_field(31, 0)  # 3 is no square modulo a Mersenne prime
    one, same = (m.constant(Number(Fraction(1), (3,))) for _ in range(2))
    assert equal(one, same) and not equal(one * one, m.integer(3))
