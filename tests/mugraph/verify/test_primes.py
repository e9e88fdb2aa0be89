from __future__ import annotations

import random

import pytest

from mlc_course.mugraph.verify import primes
from mlc_course.mugraph.verify.primes import (
    MERSENNE,
    Successors,
    draw,
    draw_anywhere,
    has_square_roots,
    proof,
    square_root,
    successors,
)

WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def is_prime(n: int) -> bool:
    """G. Miller and M. Rabin's test; with these witnesses it is a proof below 3.3e24."""
    if n < 2 or any(n % w == 0 for w in WITNESSES):
        return n in WITNESSES
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(pow(w, odd, n), twos, n) for w in WITNESSES)


def _passes(x: int, twos: int, n: int) -> bool:
    return x == 1 or any(pow(x, 2**i, n) == n - 1 for i in range(twos))


def test_the_independent_test_agrees_with_trial_division() -> None:
    assert [n for n in range(2000) if is_prime(n)] == [
        n for n in range(2, 2000) if all(n % d for d in range(2, int(n**0.5) + 1))
    ]


@pytest.mark.parametrize("bits", MERSENNE)
def test_each_lowest_prime_is_prime(bits: int) -> None:
    """By F. Lucas and D. Lehmer's test for 2**p - 1."""
    n, s = 2**bits - 1, 4
    for _ in range(bits - 2):
        s = (s * s - 2) % n
    assert s == 0


@pytest.mark.parametrize("bits", MERSENNE[:4])
def test_every_listed_prime_is_prime_and_its_root_has_the_exact_order(bits: int) -> None:
    q = 2**bits - 1
    listed = successors(q)
    assert len(listed.primes) == len(set(listed.primes)) == len(listed.roots) >= 64
    for p, w in zip(listed.primes, listed.roots, strict=True):
        assert is_prime(p) and p % q == 1
        assert w != 1 and pow(w, q, p) == 1  # q is prime: an order that divides q, and is not 1


def test_above_the_smallest_prime_no_prime_below_two_to_the_31_is_left_out() -> None:
    q = 2 ** MERSENNE[0] - 1
    assert list(successors(q).primes) == [
        p for p in range(2 * q + 1, 1 << 31, 2 * q) if is_prime(p)
    ]


def test_no_composite_number_has_a_proof() -> None:
    q = 2**17 - 1
    composites = [c for c in range(2, 16_000, 2) if not is_prime(c * q + 1)]
    assert len(composites) > 6000
    assert not any(proof(c, q) for c in composites)


def test_pseudoprimes_have_no_proof() -> None:
    """2**(n-1) = 1 modulo these composites (Poulet's numbers), each 1 more than a multiple of q."""
    for n, q in ((341, 17), (561, 7), (1387, 11), (1729, 3), (2047, 31), (4369, 13)):
        assert (n - 1) % q == 0 and pow(2, n - 1, n) == 1
        assert proof((n - 1) // q, q) is None


def test_a_draw_is_a_tower_and_a_seed_repeats_it() -> None:
    tower = draw(2**17 - 1, 3, random.Random(4))
    assert tower == draw(2**17 - 1, 3, random.Random(4)) != draw(2**17 - 1, 3, random.Random(5))
    for below, p, w in zip(tower.primes, tower.primes[1:], tower.roots[1:], strict=False):
        assert is_prime(p) and p % below == 1
        assert w != 1 and pow(w, below, p) == 1


def test_draws_reach_every_listed_prime() -> None:
    few = Successors((7, 13, 19), (2, 3, 7))  # of order 3
    rng = random.Random(0)
    drawn = [draw(3, 1, rng, lambda q: few) for _ in range(600)]
    counts = [sum(tower.primes[1] == p for tower in drawn) for p in few.primes]
    assert all(150 < count < 250 for count in counts)
    assert len({(tower.primes, tower.roots) for tower in drawn}) == 6  # two roots of each


def test_the_fast_test_of_primes_agrees_with_the_independent_one() -> None:
    rng = random.Random(1)
    drawn = [rng.randrange(2**16 + 1, 2**31, 2) for _ in range(3000)]
    pseudoprimes = [2047, 1_373_653, 25_326_001, 3_215_031_751]  # for 2; 2, 3; 2, 3, 5; .., 7
    for n in (*range(3, 2000, 2), *drawn, *pseudoprimes):
        assert primes.is_prime(n) == is_prime(n), n


@pytest.mark.parametrize("height", [0, 1, 2])
@pytest.mark.parametrize("rooted", [(), (2,), (2, 3, 5)])
def test_a_tower_drawn_anywhere_is_one(height: int, rooted: tuple[int, ...]) -> None:
    rng = random.Random(height)
    towers = [draw_anywhere(height, rng, rooted) for _ in range(20)]
    assert len({tower.primes for tower in towers}) == 20
    for tower in towers:
        assert all(map(is_prime, tower.primes)) and len(tower.primes) == height + 1
        assert all(has_square_roots(rooted, p) for p in tower.primes)
        assert height != 1 or max(tower.primes) < 2**31
        for q, p, w in zip(tower.primes, tower.primes[1:], tower.roots[1:], strict=False):
            assert pow(w, q, p) == 1 != w


@pytest.mark.parametrize("p", [3, 7, 17, 101, 2**17 - 1, 2**31 - 1])
def test_square_roots_are_those_that_squares_have(p: int) -> None:
    rng, squares = random.Random(p), {x * x % p for x in range(min(p, 2000))}
    for n in range(min(p, 100)):
        root = square_root(n, p, rng)
        assert root is None if p < 2000 and n not in squares else True
        assert root is None or root * root % p == n
    assert square_root(p, p, rng) == 0
