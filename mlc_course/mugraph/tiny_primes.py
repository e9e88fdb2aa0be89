"""Towers of deliberately tiny primes, on which tests go wrong often enough to be counted.

``primes.py`` proves its primes by a theorem that needs large ones; here they are divided by
everything. Nothing but the primes is different.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import lru_cache
from math import isqrt

from mlc_course.errors import UsageError
from mlc_course.mugraph.error import Levels
from mlc_course.mugraph.primes import Successors, Tower, draw

LOWEST = (5, 7, 11, 13, 17, 19, 23, 29, 31)
FACTORS = 1000  # a prime above q is c * q + 1 with c up to this
HIGHEST = 2  # levels above the lowest prime: above that, the lists are long


def is_prime(n: int) -> bool:
    """By trial division."""
    return n > 1 and all(n % d for d in range(2, isqrt(n) + 1))


@lru_cache(maxsize=1 << 12)
def above(q: int) -> Successors:
    """Every prime c*q + 1 with c up to ``FACTORS``, and for each a number of order q modulo it."""
    primes = tuple(p for p in range(2 * q + 1, FACTORS * q + 2, 2 * q) if is_prime(p))
    return Successors(primes, tuple(_root(q, p) for p in primes))


def _root(q: int, p: int) -> int:
    """The order of a**((p - 1) / q) divides the prime q; if it is not 1, it is q."""
    return next(w for a in range(2, p) if (w := pow(a, (p - 1) // q, p)) != 1)


@lru_cache
def tiny_levels(q: int, height: int) -> Levels:
    """What towers of ``height`` primes above q are drawn from.

    Raises ``UsageError`` for another q than those in ``LOWEST``, and for more than two levels.
    """
    if q not in LOWEST:
        raise UsageError("a tiny prime", expected=" | ".join(map(str, LOWEST)), got=q)
    if not 0 <= height <= HIGHEST:
        raise UsageError("exp in exp at tiny primes", expected=f"at most {HIGHEST}", got=height)
    least, listed, below = list[int](), list[int](), {q}
    for _ in range(height):
        lists = [above(p) for p in sorted(below)]
        least.append(min(each.primes[0] for each in lists))
        listed.append(min(len(each.primes) for each in lists))
        below = _all(lists)
    return Levels(q, tuple(least), tuple(listed))


def _all(lists: Iterable[Successors]) -> set[int]:
    return {p for each in lists for p in each.primes}


def draw_tiny(q: int, height: int, rng: random.Random) -> Tower:
    """A tower of tiny primes (``primes.draw``)."""
    return draw(q, height, rng, above)
