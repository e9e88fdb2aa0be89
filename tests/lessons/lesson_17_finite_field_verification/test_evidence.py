"""What tests at tiny primes let pass stays below the bound that is stated for them."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from mlc_course.errors import Undecided, UsageError
from mlc_course.lessons.lesson_17_finite_field_verification.evidence import (
    LOWEST,
    Evidence,
    above,
    accepted,
    beyond_luck,
    draw_tiny,
    is_prime,
    needed,
    recorded,
    tiny_levels,
    trial,
    zeros,
)
from mlc_course.mugraph.ir import KernelGraph, parse
from mlc_course.mugraph.mutants import EQUALS, NEAR_MISSES, Pair, pair

pytestmark = pytest.mark.slow

CHANCE = 1e-6  # that a true bound fails this test, for one pair at one prime
TESTS = 10_000


def graph(body: str, inputs: str = "X[n=1], Y[n]") -> KernelGraph:
    return parse(f"f({inputs}):\n  " + body.replace("; ", "\n  ") + "\n  return F")


@pytest.mark.parametrize("prime", LOWEST)
@pytest.mark.parametrize("each", NEAR_MISSES, ids=lambda each: each.name)
def test_no_near_miss_passes_more_often_than_stated(each: Pair, prime: int) -> None:
    found = accepted(each.left, each.right, prime, TESTS, seed=prime)
    assert found.accepted < found.tests
    assert found.luck > CHANCE, f"{found.rate:.4f}, stated {found.bound:.4f}"


@pytest.mark.parametrize("each", EQUALS, ids=lambda each: each.name)
def test_equal_graphs_pass_every_test(each: Pair) -> None:
    found = accepted(each.left, each.right, 31, 1000, seed=1)
    assert found.accepted == found.tests == 1000


def test_a_bound_that_is_too_small_is_found_out() -> None:
    """The same count, held against half of the bound of a pair that reaches it."""
    cube = pair("cube")
    found = accepted(cube.left, cube.right, 31, TESTS, seed=1)
    assert found.bound == pytest.approx(3 / 31)
    assert Evidence(found.tests, found.accepted, found.bound / 2).luck < CHANCE


def test_luck_is_the_tail_of_the_binomial_distribution() -> None:
    n, b = 20, 0.3
    for k in range(7, 21):
        tail = sum(math.comb(n, i) * b**i * (1 - b) ** (n - i) for i in range(k, n + 1))
        assert Evidence(n, k, b).luck == pytest.approx(tail)


def test_the_interval_holds_the_rate_and_shrinks() -> None:
    few, many = Evidence(100, 10, 1), Evidence(10_000, 1000, 1)
    for each in (few, many):
        assert each.interval[0] < each.rate < each.interval[1]
    assert many.interval[1] - many.interval[0] < few.interval[1] - few.interval[0]
    assert Evidence(100, 0, 1).interval[0] == 0


def test_the_bound_is_the_theorems_for_the_primes_that_are_drawn() -> None:
    """exp(x + y) and exp(x + 2y): two exponents of degree 1, coefficients that add up to 2."""
    off = pair("exponent off by y")
    test = trial(off.left, off.right, 31)
    listed, least = test.primes.listed[0], test.primes.least[0]
    assert test.bound == pytest.approx(1 / 31 + math.log(2) / (listed * math.log(least)))


def test_a_seed_makes_the_count_repeatable() -> None:
    off = pair("exponent off by y")
    counts = {accepted(off.left, off.right, 7, 500, seed=s).accepted for s in (1, 1, 1)}
    assert len(counts) == 1
    assert len({accepted(off.left, off.right, 7, 500, seed=s).accepted for s in range(9)}) > 1


def test_a_test_that_divides_by_zero_is_drawn_again() -> None:
    same = graph("F = div(X, Y)"), graph("a = add(X, X); b = add(Y, Y); F = div(a, b)")
    found = accepted(*same, 5, 1000, seed=1)
    assert found.tests == found.accepted == 1000


def test_a_division_by_zero_in_every_test_is_told() -> None:
    never = graph("z = sub(X, X); F = div(Y, z)")
    with pytest.raises(Undecided, match="in every test modulo 7"):
        accepted(never, never, 7, 3, seed=1)


def test_what_cannot_be_tested_is_refused() -> None:
    one = graph("F = add(X, Y)")
    with pytest.raises(UsageError, match="no tiny prime"):
        accepted(one, one, 37, 10)
    with pytest.raises(UsageError, match="tests"):
        accepted(one, one, 31, 0)
    with pytest.raises(UsageError, match="graphs to be tested"):
        accepted(one, graph("F = add(X, Y)", "X[n=2], Y[n]"), 31, 10)
    with pytest.raises(UsageError, match="graphs to be tested: inputs"):
        accepted(one, graph("F = add(Z, Y)", "Z[n=1], Y[n]"), 31, 10)
    with pytest.raises(UsageError, match="exp in exp"):
        trial(*2 * [graph("a = exp(X); b = exp(a); F = exp(b)")], 31)


def test_how_many_tests_are_needed() -> None:
    assert needed(0.04, 1e-40) == 29
    assert needed(0.1, 0.001) == 3
    assert needed(0.04, 0.5) == 1
    assert needed(1.0, 0.5) is None
    with pytest.raises(UsageError, match="error"):
        needed(0.5, 0.0)


def test_the_zeros_of_a_line_and_of_three_lines() -> None:
    for name, count in (("degree 1", 31), ("degree 3", 3 * 31 - 2)):
        each = pair(name)
        assert zeros(each.left, each.right, 31).sum() == count


def test_zeros_are_where_the_formulas_agree() -> None:
    found = zeros(graph("F = mul(X, X)"), graph("F = add(Y, Y)"), 7)
    x, y = np.mgrid[:7, :7]
    assert np.array_equal(found, (x * x - 2 * y) % 7 == 0)
    divided = zeros(graph("F = div(X, Y)"), graph("F = scale(X, by=1)"), 7)
    assert not divided[:, 0].any()
    with pytest.raises(UsageError, match="graphs on a grid"):
        zeros(graph("F = exp(X)", "X[n=1]"), graph("F = exp(X)", "X[n=1]"), 7)


def test_what_is_recorded_is_what_is_counted_here() -> None:
    record = recorded()
    assert record["tests"] == 100_000
    assert [each["name"] for each in record["pairs"]] == [each.name for each in NEAR_MISSES]
    for each in record["pairs"]:
        assert [point["prime"] for point in each["points"]] == list(LOWEST)
        for point in each["points"]:
            known = pair(each["name"])
            stated = trial(known.left, known.right, point["prime"]).bound
            assert stated == pytest.approx(point["bound"])
            assert Evidence(record["tests"], point["accepted"], point["bound"]).luck > CHANCE


def test_a_count_above_its_bound_is_named() -> None:
    record = recorded()
    assert not beyond_luck(record)
    pairs = [dict(each) for each in record["pairs"]]
    pairs[0]["points"] = [{"prime": 31, "accepted": 11_000, "bound": 3 / 31}]
    assert beyond_luck({"tests": 100_000, "pairs": pairs}) == ["cube modulo 31"]


def test_the_pairs_that_the_lesson_says_reach_their_bound_do() -> None:
    record, share = recorded(), {}
    for each in record["pairs"]:
        last = each["points"][-1]
        share[each["name"]] = last["accepted"] / record["tests"] / last["bound"]
    assert min(share["cube"], share["exponent off by y"]) > 0.95
    assert share["exp of exp"] > 0.8
    assert share["matrices swapped"] < 0.1


def test_primes_are_prime_and_roots_have_their_order() -> None:
    assert [n for n in range(30) if is_prime(n)] == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    for q in (5, 31):
        listed = above(q)
        assert listed.primes[0] == next(p for p in range(q + 1, 999, q) if is_prime(p))
        for p, w in zip(listed.primes, listed.roots, strict=True):
            assert is_prime(p)
            assert p % q == 1
            assert w != 1
            assert pow(w, q, p) == 1


def test_a_drawn_tower_is_one_of_those_that_the_levels_describe() -> None:
    levels = tiny_levels(5, 2)
    for seed in range(200):
        tower = draw_tiny(5, 2, random.Random(seed))
        for level in (1, 2):
            p, below = tower.primes[level], tower.primes[level - 1]
            assert p >= levels.least[level - 1]
            assert len(above(below).primes) >= levels.listed[level - 1]
            assert pow(tower.roots[level], below, p) == 1 != tower.roots[level]
