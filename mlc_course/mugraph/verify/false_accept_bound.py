"""The bound on false accepts: how likely random tests miss a difference, and how many it takes.

Let two graphs differ. Some entry of an output then has two formulas whose difference, over one
denominator, has the numerator

    P  =  sum over j = 1 .. k of  f_j(x) * exp(g_j(x)),

not all f_j zero, the exponents g_j pairwise different; whole coefficients, their absolute values at
most w together; degree of each f_j at most d. One test evaluates P at level i of a random tower of
primes (``primes``): q at level i - 1, p at level i, a root of unity u of order q modulo p.

**Theorem.** With p drawn from a list of N primes, none below r, Pr[P = 0 although it is not] is at
most

    E_i(P)  =  C(k, 2) * E_(i-1)(difference of two exponents)  +  ln(w) / (N ln r)  +  d / r.

At level 0 there is one fixed prime q and no exponential; E_0 = d / q, provided that w < q.

*Proof.* (1) Exponents are evaluated at level i - 1, and two different ones meet with probability at
most E_(i-1) of their difference; there are C(k, 2) pairs. (2) Let them be different modulo q, and
k < q. Some monomial of x has a coefficient a_j in some f_j that is not 0. The number
alpha = sum a_j z**g_j, z a primitive q-th root of unity in the complex numbers, is not 0, because
the only relation among the powers 1, z, .. z**(q-1) with whole coefficients is that all q together
are 0. So its norm, the product of its q - 1 conjugates, is a whole number, not 0, of absolute value
at most w**(q-1). Each pair (p, u) with sum a_j u**g_j = 0 (mod p) gives one prime ideal of degree 1
above p that divides alpha, so contributes one factor p to the norm: no more than
(q - 1) ln(w) / ln(r) of all N (q - 1) pairs can. (3) For any other pair what remains is a
polynomial in x modulo p, not 0, of degree d; it vanishes with probability at most d / r
(J. Schwartz 1980, R. Zippel 1979). At level 0, w < q keeps some coefficient from vanishing. []

*sqrt and log* are random functions: for arguments that are different modulo the prime, their values
are independent and uniform, that is, new variables of degree 1. Arguments that meet are counted.
*max* is by a random order. On real inputs where the two graphs differ, the values compared have
some order. Let t values be compared, and g of them be the largest of some set: if those g stand
above all others, in the order that they have there, each maximum selects what it selects there. A
random order does that with probability c = (t - g)! / t! at least, and P is then the difference of
the two formulas. (Up to eight values, all orders are tried out, and c is the share of those that
select alike, in the worst case. With min in it, or where something built on a maximum is compared,
such as x + max(y, z), which may be one of the other values, all t have to stand in order.) A test
thus misses
with probability at most 1 - c * (1 - E).
*Division*: an entry that is divided by zero in a test tells nothing, and is drawn again. The sum of
E over all denominators counts as if each of these tests had missed. What else is divided by zero in
that test does not matter: where relu(x) is 0 an x / relu(x) beside it hides nothing.
Tests are independent, so their probabilities multiply.

What equal formulas promise: the graphs are the same function wherever both are defined. What is
refused although equal: functions that are only equal by a law that the meaning above does not have,
such as sqrt(a*a) = a for positive a, log(exp(a)) = a, max(a + c, b + c) = max(a, b) + c.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mlc_course.errors import Undecided
from mlc_course.mugraph.verify.formula_bounds import Bound, Bounds, Size
from mlc_course.mugraph.verify.primes import LISTED, MERSENNE, successors

MOST_TESTS = 10_000
MOST_PAIRS = 1_000_000
TRIED_OUT = 8  # values compared, of which all orders are looked at
MOST_SEARCHED = 4  # lists of primes of 521 bits, each of which takes seconds
GOOD_ENOUGH = 0.25  # one test may miss with this probability, orders aside


@dataclass(frozen=True)
class Levels:
    """The primes that towers are drawn from: at level 0 one, above it ``listed`` from ``least``."""

    lowest: int
    least: tuple[int, ...]
    listed: tuple[int, ...]

    @property
    def height(self) -> int:
        return len(self.least)


def levels(bits: int, height: int) -> Levels:
    """Return ``height`` levels above 2**bits - 1."""
    lowest = 2**bits - 1
    least, listed = list[int](), list[int]()
    for level in range(height):
        above = successors(lowest) if level == 0 else None
        # Whatever was drawn below, a list above it begins above its double.
        least.append(above.primes[0] if above else 2 * least[-1] + 1)
        listed.append(len(above.primes) if above else LISTED)
    return Levels(lowest, tuple(least), tuple(listed))


def vanishing(size: Size, level: int, primes: Levels) -> float:
    """Return E of the theorem: how likely a polynomial that is not 0 is 0 at ``level``."""
    if level == 0:
        known = max(size.degree, size.coefficients) < primes.lowest
        return size.degree / primes.lowest if known else math.inf
    least, listed = primes.least[level - 1], primes.listed[level - 1]
    if size.degree >= least:
        return math.inf
    total = size.degree / least + math.log(size.coefficients) / (listed * math.log(least))
    if size.exponent is None:
        return total
    k = size.exponentials
    if k >= (primes.least[level - 2] if level > 1 else primes.lowest):
        return math.inf
    apart = size.exponent.top + size.exponent.top
    return total + float(k) * (k - 1) / 2 * vanishing(apart, level - 1, primes)


@dataclass(frozen=True)
class Plan:
    """A test plan: ``tests`` tests on these primes leave at most ``error_bound``.

    One misses with probability at most ``miss``: ``meet`` because residues are equal by chance,
    and otherwise unless the random order is one that tells, which it is with ``order_chance``.
    """

    primes: Levels
    tests: int
    miss: float
    meet: float
    order_chance: float
    independence: int

    @property
    def error_bound(self) -> float:
        return self.miss**self.tests


def plan(pairs: Sequence[tuple[Bound, Bound]], bounds: Bounds, error: float) -> Plan:
    """Plan how to test that the entries of each pair are equal, with ``error`` in all.

    Raises ``Undecided`` where more tests would be needed than can be made.
    """
    height = bounds.height
    _check_countable(pairs)
    seen = {_signature(a, b): (a, b) for a, b in pairs}.values()
    chance = min(order_chance(a, b) for a, b in seen)
    _check_affordable(1 - chance, chance, error)
    meet = math.inf
    for bits in MERSENNE[0 if height else 1 :]:
        primes = levels(bits, height)
        meet = meeting(seen, bounds, primes)
        if meet < GOOD_ENOUGH:
            break
    else:
        raise Undecided(
            "the formulas are too large for this verifier",
            expected=f"a chance to meet below {GOOD_ENOUGH} modulo primes above 2**{MERSENNE[-1]}",
            got=f"a bound of {meet:.3g}",
        )
    miss = (1 - chance) + chance * meet  # in this order: 1 - (1 - meet) may be rounded to 0
    _check_affordable(miss, chance, error)
    tests = needed_tests(miss, error)
    if primes.lowest > 2 ** MERSENNE[-2] and tests * (height - 1) > MOST_SEARCHED:
        raise Undecided(
            "exponentials of exponentials: the formulas are too large for this verifier",
            expected=f"at most {MOST_SEARCHED} searches for primes above 2**{MERSENNE[-1]}",
            got=f"{tests} tests with {height - 1} of them",
            hint="smaller sizes",
        )
    most = max(max(len(a.compared | b.compared), len(a.calls | b.calls)) for a, b in seen)
    return Plan(primes, tests, miss, meet, chance, most)


def needed_tests(miss: float, error: float) -> int:
    """Return how many tests leave at most ``error``, if one misses with a probability below 1."""
    return max(1, math.ceil(math.log(error) / math.log(miss))) if miss else 1


def _check_countable(pairs: Sequence[tuple[Bound, Bound]]) -> None:
    """Every two values that are compared, or arguments of one function, are looked at."""
    most = max(len(a.compared | b.compared) + len(a.calls | b.calls) for a, b in pairs)
    if len(pairs) * most**2 > MOST_PAIRS:
        raise Undecided(
            "too many values are compared, or given to functions, in one entry",
            expected=f"at most {MOST_PAIRS:,} pairs of them in all",
            got=f"{most} in an entry",
            hint="smaller sizes",
        )


def _check_affordable(miss: float, chance: float, error: float) -> None:
    if miss**MOST_TESTS > error:
        raise Undecided(
            "max: too many values are compared in one entry",
            expected=f"an error of {error:.1g} after at most {MOST_TESTS} tests",
            got=f"{miss**MOST_TESTS:.1g}: an order is one that tells with probability {chance:.3g}",
            hint="maxima over fewer values, or a larger error",
        )


def meeting(pairs: Iterable[tuple[Bound, Bound]], bounds: Bounds, primes: Levels) -> float:
    """Bound how likely a test on these primes misses by chance, the order of maxima aside."""
    meet = max(_meet(a, b, bounds, primes) for a, b in pairs)
    return meet + sum(_zero(each, primes) for each in bounds.divisors.values())


def _signature(a: Bound, b: Bound) -> tuple[object, ...]:
    """Return a key by which entries with the same error are looked at once."""
    return a.value, b.value


def order_chance(a: Bound, b: Bound) -> float:
    """Bound from below how likely a random order selects in both what a given order does."""
    compared = sorted(a.compared | b.compared)
    places = {value: place for place, value in enumerate(compared)}
    sets = sorted(tuple(sorted(places[v] for v in each)) for each in a.selections | b.selections)
    return _chance(len(compared), tuple(sets), a.ordered or b.ordered)


@lru_cache(maxsize=1 << 10)
def _chance(t: int, sets: tuple[tuple[int, ...], ...], ordered: bool) -> float:
    if t <= TRIED_OUT and not ordered:
        ranks = np.array(list(itertools.permutations(range(t))), np.int8)
        chosen = [np.array(each)[ranks[:, each].argmax(axis=1)] for each in sets]
        pattern = np.zeros(len(ranks), np.int64)
        for winner in chosen:
            pattern = np.unique(pattern * t + winner, return_inverse=True)[1]
        return int(np.bincount(pattern).min()) / len(ranks)
    families = [frozenset(each) for each in sets]
    g = t if ordered else min(t, sum(1 for each in families if _own(each, families)))
    return math.factorial(t - g) / math.factorial(t)


def _own(chosen: frozenset[int], sets: Iterable[frozenset[int]]) -> bool:
    """Tell whether its largest may be none of the largest of smaller sets."""
    parts = [each for each in sets if each < chosen]
    return frozenset[int]().union(*parts) != chosen


def _meet(a: Bound, b: Bound, bounds: Bounds, primes: Levels) -> float:
    """Add up E of the difference of two entries and of all arguments that must differ."""
    total = vanishing(_apart(a, b), primes.height, primes)
    compared = sorted(a.compared | b.compared)
    for one, other in itertools.combinations(compared, 2):
        total += vanishing(_of(one, other, bounds), primes.height, primes) + 1 / primes.lowest
    for (name, one), (same, other) in itertools.combinations(sorted(a.calls | b.calls), 2):
        if name == same:
            total += sum(_at_all_levels(one, other, bounds, primes))
    return total


def _of(one: int, other: int, bounds: Bounds) -> Size:
    return _apart(bounds.arguments[one], bounds.arguments[other])


def _at_all_levels(one: int, other: int, bounds: Bounds, primes: Levels) -> Iterator[float]:
    first = max(bounds.arguments[each].depth for each in (one, other))
    for level in range(first, primes.height + 1):
        yield vanishing(_of(one, other, bounds), level, primes)


def _apart(a: Bound, b: Bound) -> Size:
    """Return the size of the numerator of a - b."""
    ours, theirs, _, _ = a.over(b)
    return ours + theirs


def _zero(divisor: Bound, primes: Levels) -> float:
    """Bound how likely a denominator is 0 at one of its levels."""
    return sum(
        vanishing(divisor.top, level, primes) for level in range(divisor.depth, primes.height + 1)
    )
