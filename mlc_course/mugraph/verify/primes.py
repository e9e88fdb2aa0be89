"""Towers of primes, each dividing the one above it less one, with roots of unity between them.

``exp`` takes a residue x modulo q to w**x modulo p, where w has order q modulo p; that needs
q | p - 1. A formula with exp inside exp needs a third prime above p, and so on.

The lowest prime is a Mersenne prime (known since 1588, 1772, 1883, 1876, 1952). Each prime above it
is drawn from an explicit list, all of whose members are proved prime by H. C. Pocklington's theorem
(1914): with p = c*q + 1, q prime and c < q, an a with a**(p-1) = 1 and gcd(a**c - 1, p) = 1
(mod p) makes p prime. That a**c is at the same time the root of unity.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache

SMALL = 31  # residues below 2**31 multiply within 64 bits
MERSENNE = (17, 31, 61, 127, 521)  # 2**n - 1 is prime
WITNESSES = (2, 7, 61)  # enough below 4,759,123,141 (G. Jaeschke, 1993)
TRIED = 10_000  # candidates for a prime
LISTED = 64  # primes above a large one that are drawn from
_SIEVE = math.prod(n for n in range(3, 200) if all(n % d for d in range(2, n)))


@dataclass(frozen=True)
class Successors:
    """Proved primes p = 1 (mod q), and for each a w of order q modulo p."""

    primes: tuple[int, ...]
    roots: tuple[int, ...]


@lru_cache(maxsize=4096)
def successors(q: int) -> Successors:
    """Primes above the prime q: all below 2**31 if q is small, else some of the first."""
    if q.bit_length() <= MERSENNE[0]:
        return _search(q, (1 << SMALL) // q)
    return _search(q, q, LISTED)


def _search(q: int, most: int, count: int | None = None) -> Successors:
    primes, roots = [], []
    for c in range(2, min(most, q), 2):
        p = c * q + 1
        if p.bit_length() > 10 and math.gcd(p, _SIEVE) != 1:
            continue
        root = proof(c, q)
        if root:
            primes.append(p)
            roots.append(root)
            if len(primes) == count:
                break
    return Successors(tuple(primes), tuple(roots))


def proof(c: int, q: int) -> int | None:
    """A w of order q modulo p = c*q + 1, which proves p prime when q is and c < q; or None."""
    p = c * q + 1
    for a in (2, 3, 5, 7):
        w = pow(a, c, p)
        if w != 1:
            return w if pow(w, q, p) == 1 and math.gcd(w - 1, p) == 1 else None
    return None


@dataclass(frozen=True)
class Tower:
    """One draw: ``primes`` from the lowest up; ``roots[i]`` has order primes[i - 1]."""

    primes: tuple[int, ...]
    roots: tuple[int, ...]


def draw(
    lowest: int,
    height: int,
    rng: random.Random,
    above_of: Callable[[int], Successors] = successors,
) -> Tower:
    """``height`` primes above ``lowest``, each drawn uniformly, and so is each root of unity."""
    primes, roots = [lowest], [1]
    for _ in range(height):
        above = above_of(primes[-1])
        place = rng.randrange(len(above.primes))
        p = above.primes[place]
        roots.append(pow(above.roots[place], rng.randrange(1, primes[-1]), p))
        primes.append(p)
    return Tower(tuple(primes), tuple(roots))


def draw_anywhere(height: int, rng: random.Random, rooted: Collection[int] = ()) -> Tower:
    """``height`` primes above one that is drawn too: whoever writes a graph cannot know it.

    With one prime above it, all are below 2**31; without, the one is drawn from large ones. Modulo
    each of them the numbers in ``rooted`` have square roots.
    """
    low, high = (16, 17) if height else (30, SMALL)
    q = rng.randrange((1 << low) + 1, 1 << high, 2)
    while not (is_prime(q) and has_square_roots(rooted, q)):
        q = rng.randrange((1 << low) + 1, 1 << high, 2)
    primes, roots = [q], [1]
    for level in range(height):
        q, most = primes[-1], (1 << SMALL) // primes[-1] if level == 0 else primes[-1]
        for _ in range(TRIED):
            c = 2 * rng.randrange(1, most // 2)
            root = proof(c, q) if has_square_roots(rooted, c * q + 1) else None
            if root:
                break
        else:
            return draw_anywhere(height, rng, rooted)  # above these there may be none
        primes.append(c * q + 1)
        roots.append(pow(root, rng.randrange(1, q), primes[-1]))
    return Tower(tuple(primes), tuple(roots))


def draw_above(q: int, most: int, rng: random.Random) -> int:
    """Return a random prime p = 1 (mod q), up to about ``most`` times as large as the prime q."""
    while True:
        c = 2 * rng.randrange(1, most // 2)
        p = c * q + 1
        if math.gcd(p, _SIEVE) == 1 and proof(c, q):
            return p


def has_square_roots(numbers: Collection[int], p: int) -> bool:
    """Tell whether each number is a square modulo the odd prime p (Euler's criterion)."""
    return all(pow(n, (p - 1) // 2, p) <= 1 for n in numbers)


def square_root(n: int, p: int, rng: random.Random) -> int | None:
    """Return one of the square roots of n modulo the odd prime p, or None (M. Cipolla, 1903)."""
    if n % p == 0 or not has_square_roots([n], p):
        return None if n % p else 0
    a = rng.randrange(p)
    while has_square_roots([a * a - n], p):
        a = rng.randrange(p)
    square, (x, y), (u, v), power = (a * a - n) % p, (1, 0), (a, 1), (p + 1) // 2
    while power:  # x + y w is (u + v w) ** power in the end, where w * w = square
        if power & 1:
            x, y = (x * u + y * v * square) % p, (x * v + y * u) % p
        u, v, power = (u * u + v * v * square) % p, 2 * u * v % p, power >> 1
    return x


def is_prime(n: int) -> bool:
    """Tell whether an odd number below 2**32 is prime (Miller's test with known witnesses)."""
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return n in WITNESSES or not any(_is_witness(each, odd, twos, n) for each in WITNESSES)


def _is_witness(a: int, odd: int, twos: int, n: int) -> bool:
    power = pow(a, odd, n)
    if power in (1, n - 1):
        return False
    for _ in range(twos - 1):
        power = power * power % n
        if power == n - 1:
            return False
    return True
