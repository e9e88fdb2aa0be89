from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlc_course.errors import Undecided
from mlc_course.lessons.lesson_17_finite_field_verification import accepted, draw_tiny, tiny_levels
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.mutants import NEAR_MISSES, Pair
from mlc_course.mugraph.verify import false_accept_bound
from mlc_course.mugraph.verify.equivalence import formulas
from mlc_course.mugraph.verify.false_accept_bound import Plan, levels, order_chance, plan, vanishing
from mlc_course.mugraph.verify.formula_bounds import ONE, Bound, Bounds, Size

families = st.integers(2, 5).flatmap(
    lambda t: st.lists(
        st.frozensets(st.integers(0, t - 1), min_size=2), min_size=1, max_size=4, unique=True
    )
)

P = 2**127 - 1  # of fingerprints


def entry(sets: list[frozenset[int]], *, ordered: bool = False) -> Bound:
    compared = frozenset[int]().union(*sets)
    return Bound(1, P, compared=compared, selections=frozenset(sets), ordered=ordered)


def worst_share(sets: list[frozenset[int]]) -> Fraction:
    """Of all orders of the values, the share of those that select in every set what one does."""
    values = sorted(frozenset[int]().union(*sets))
    orders = list(itertools.permutations(values))
    selected = [tuple(max(s, key=order.index) for s in sets) for order in orders]
    return min(Fraction(selected.count(each), len(orders)) for each in set(selected))


@settings(max_examples=80, deadline=None)
@given(families, families)
def test_no_order_is_likelier_to_tell_than_is_claimed(
    left: list[frozenset[int]], right: list[frozenset[int]]
) -> None:
    claimed = Fraction(order_chance(entry(left), entry(right)))
    assert claimed <= worst_share([*left, *right]) + Fraction(1, 10**12)


@settings(max_examples=80, deadline=None)
@given(families)
def test_nor_is_it_by_the_formula_for_many_values(sets: list[frozenset[int]]) -> None:
    false_accept_bound._chance.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(false_accept_bound, "TRIED_OUT", 0)
        claimed = Fraction(order_chance(entry(sets), entry(sets)))
    false_accept_bound._chance.cache_clear()
    assert 0 < claimed <= worst_share(sets) + Fraction(1, 10**12)


def test_the_formula_says_what_it_can_for_online_softmax() -> None:
    """Of twelve values, the largest of a tile and of all: at worst one order in 12 * 11."""
    sets = [frozenset(range(6)), frozenset(range(12))]
    assert order_chance(entry(sets), entry(sets)) == 1 / (12 * 11)
    assert order_chance(entry([sets[1]]), entry([sets[1]])) == 1 / 12
    one = entry([frozenset({0, 1, 2})], ordered=True)
    assert order_chance(one, entry([frozenset({2, 3})])) == 1 / 24
    assert order_chance(Bound(1, P), Bound(2, P)) == 1


def test_a_polynomial_of_degree_d_vanishes_with_d_in_p() -> None:
    primes = levels(31, 0)
    assert vanishing(Size(1, 5, 100), 0, primes) == 5 / (2**31 - 1)
    assert vanishing(Size(1, 5, 2**31), 0, primes) == math.inf  # all coefficients may vanish


def test_pairs_of_exponents_and_large_coefficients_are_counted() -> None:
    primes = levels(17, 1)
    q, p, n = primes.lowest, primes.least[0], primes.listed[0]
    g = Bound(1, P, Size(1, 2, 3))
    found = vanishing(Size(4, 7, 50, g), 1, primes)
    assert found == pytest.approx(6 * 2 / q + math.log(50) / (n * math.log(p)) + 7 / p)
    assert vanishing(Size(q, 7, 50, g), 1, primes) == math.inf


def test_more_exponentials_degree_or_coefficients_are_never_less_likely_to_vanish() -> None:
    primes = levels(17, 2)
    inner = Bound(1, Size(2, 3, 4, Bound(1, P, ONE)))
    sizes = [Size(k, d, w, inner) for k, d, w in itertools.product((1, 2, 9), repeat=3)]
    for small, large in itertools.product(sizes, sizes):
        if all(
            getattr(small, name) <= getattr(large, name)
            for name in ("exponentials", "degree", "coefficients")
        ):
            assert vanishing(small, 2, primes) <= vanishing(large, 2, primes)


SUM = "f(X[n=2], Y[n]):\n  Z = add(X, Y)\n  return Z"
MAX = "f(X[n={}]):\n  Z = max(X, axis=0)\n  return Z"


def planned(left: str, right: str, wanted: float) -> Plan:
    bounds = Bounds(1)
    return plan(formulas(parse(left), parse(right), bounds), bounds, wanted)


def test_as_many_tests_are_planned_as_it_takes() -> None:
    one = planned(SUM, SUM, 1e-9)
    assert (one.tests, one.miss) == (1, 1 / (2**31 - 1))
    more = planned(SUM, SUM, 1e-40)
    assert more.tests == 5 and more.error_bound <= 1e-40 < more.miss ** (more.tests - 1)
    assert more.primes == one.primes


def test_no_plan_claims_more_than_its_chances_say() -> None:
    """Rounding of 1 - c * (1 - E) would, where E is small: to less than E, or to 0."""
    for text in (SUM, SUM.replace("add(X, Y)", "scale(X, by=3000000000)")):
        made = planned(text, text, 1e-9)
        assert made.miss >= made.meet > 0
    made = planned(MAX.format(3), MAX.format(3), 1e-9)
    assert made.order_chance == pytest.approx(1 / 3)
    assert Fraction(made.miss) >= Fraction(2, 3) - Fraction(1, 10**15)


def test_too_many_values_under_one_maximum_are_refused() -> None:
    with pytest.raises(Undecided, match="too many values are compared"):
        planned(MAX.format(600), MAX.format(600), 1e-9)


SOME = [
    each
    for each in NEAR_MISSES
    if each.name
    in ("exponent off by y", "other summands", "gates swapped", "last one forgotten", "cube")
]


@pytest.mark.parametrize("prime", [5, 31])
@pytest.mark.parametrize("pair", SOME, ids=lambda pair: pair.name)
def test_at_a_tiny_prime_wrong_graphs_pass_no_more_often_than_the_bound(
    pair: Pair, prime: int
) -> None:
    found = accepted(pair.left, pair.right, prime, 10_000, seed=prime)
    assert found.luck > 1e-6, f"{found.rate} of the tests pass, at most {found.bound} should"


def test_some_bound_is_nearly_reached_and_so_the_comparison_means_something() -> None:
    pair = next(each for each in SOME if each.name == "exponent off by y")
    found = accepted(pair.left, pair.right, 31, 10_000, seed=1)
    assert found.rate > 0.5 * found.bound
    assert found.luck > 1e-6


# The theorem itself, without graphs: sums of c * exp(g), whose coefficients and exponents are
# such that a prime, or a point, often makes them 0.


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([-6, -5, -2, -1, 1, 2, 5, 6]), st.integers(-3, 3)),
        min_size=2,
        max_size=4,
        unique_by=lambda term: term[1],
    ),
    st.sampled_from([5, 7, 11]),
)
def test_sums_of_exponentials_vanish_no_more_often_than_the_theorem_says(
    terms: list[tuple[int, int]], q: int
) -> None:
    """P = sum of c * exp(g * x) at a random tower above q, counted over every x."""
    primes, rng = tiny_levels(q, 1), random.Random(q)
    weight = sum(abs(c) for c, _ in terms)
    slopes = max(abs(g) for _, g in terms)
    size = Size(len(terms), 0, weight, Bound(1, P, Size(1, 1, slopes)))
    limit = vanishing(size, 1, primes)
    if limit >= 1:
        return
    trials = zeros = 0
    for _ in range(400):
        tower = draw_tiny(q, 1, rng)
        p, w = tower.primes[1], tower.roots[1]
        powers = np.array([pow(w, i, p) for i in range(q)])
        x = np.arange(q)
        values = sum(c * powers[g * x % q] for c, g in terms) % p
        zeros += int((values == 0).sum())
        trials += q
    assert zeros / trials <= limit + 5 * math.sqrt(limit / trials) + 1e-3
