"""Exact constants: ``2``, ``1/3``, ``1/d`` and ``1/sqrt(d)``, where d is the name of a size."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from mlc_course.errors import GraphError

HALF = Fraction(1, 2)
FACTORS = 1 << 14  # factors of a number under a root that are looked for
LONGEST = 305  # digits; float64 holds numbers from 1e-307 to 1.7e308
_FACTOR = re.compile(r"\s*(?:sqrt\((\w+)\)|([A-Za-z_]\w*)|([\d.]+(?:e[-+]?\d+)?))\s*")


@dataclass(frozen=True)
class Number:
    """A constant whose sizes are known: ``coefficient`` times the root of each of some primes.

    So numbers that are equal are written alike: 1/sqrt(64) is 1/8, and sqrt(48) is 4 sqrt(3). Only
    a product of primes above ``FACTORS`` may stand in the place of a prime.
    """

    coefficient: Fraction
    roots: tuple[int, ...] = ()

    def __float__(self) -> float:
        try:
            return float(self.coefficient) * math.sqrt(math.prod(self.roots))
        except OverflowError:
            return math.inf if self.coefficient > 0 else -math.inf


@lru_cache(maxsize=1 << 12)
def root(n: int) -> Number:
    """Return the square root of a whole number from 1 up.

    What is left of it without factors below ``FACTORS`` stays whole, unless it is a square.
    """
    outside, primes, factor = 1, list[int](), 2
    while factor * factor <= n and factor < FACTORS:
        while n % (factor * factor) == 0:
            outside, n = outside * factor, n // (factor * factor)
        if n % factor == 0:
            primes, n = [*primes, factor], n // factor
        factor += 1
    if math.isqrt(n) ** 2 == n:
        outside, n = outside * math.isqrt(n), 1
    return Number(Fraction(outside), tuple([*primes, n] if n > 1 else primes))


@dataclass(frozen=True)
class Constant:
    """``coefficient`` times powers of named sizes; each power is a multiple of one half."""

    coefficient: Fraction
    powers: tuple[tuple[str, Fraction], ...] = ()

    def __str__(self) -> str:
        above, below = [], []
        if self.coefficient.numerator != 1:
            above.append(str(self.coefficient.numerator))
        if self.coefficient.denominator != 1:
            below.append(str(self.coefficient.denominator))
        for name, power in self.powers:
            side = above if power > 0 else below
            side += [name] * int(abs(power)) + [f"sqrt({name})"] * (abs(power) % 1 != 0)
        return "/".join(["*".join(above) or "1", *below])

    def number(self, sizes: Mapping[str, int]) -> Number:
        """The value of a constant; raises ``GraphError`` for a size that nothing has."""
        coefficient, below = self.coefficient, 1
        for name, power in self.powers:
            if name not in sizes:
                raise GraphError(
                    f"constant {self}: no size {name!r}", expected=" | ".join(sizes), got=name
                )
            whole = math.floor(power)
            coefficient *= Fraction(sizes[name]) ** whole
            if power != whole:
                below *= sizes[name]
        rest = root(below)
        return Number(coefficient * rest.coefficient, rest.roots)

    def size(self, sizes: Mapping[str, int]) -> int:
        """The value of a constant as an extent; a number equal to an unnamed size is that size."""
        if not self.powers and str(self.coefficient) in sizes:
            return sizes[str(self.coefficient)]
        number = self.number(sizes)
        rooted = any(power.denominator != 1 for _, power in self.powers)
        if rooted or number.coefficient.denominator != 1 or number.coefficient < 1:
            raise GraphError(
                "a size is a whole number, 1 or more", expected="such as 4*d", got=str(self)
            )
        return number.coefficient.numerator


def constant(value: Constant | str | float | Fraction) -> Constant:
    """A constant from a number (a float by its decimal digits) or from text such as ``1/sqrt(d)``.

    Raises ``GraphError`` for a text that is none.
    """
    if isinstance(value, Constant):
        return value
    if not isinstance(value, str):
        return Constant(value if isinstance(value, Fraction) else _power(str(value), 1, str(value)))
    text = value.strip()
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
    coefficient, powers, side = Fraction(sign), dict[str, Fraction](), 1
    while True:
        found = _FACTOR.match(text)
        if found is None:
            raise GraphError(
                "not a constant", expected="such as 2, 0.5, 1/d, 3*d or 1/sqrt(d)", got=value
            )
        root, name, digits = found.groups()
        if digits:
            coefficient *= _power(digits, side, value)
        else:
            key = root or name
            powers[key] = powers.get(key, Fraction()) + side * (HALF if root else 1)
        text = text[found.end() :]
        if not text:
            break
        side, text = {"*": 1, "/": -1}.get(text[0], 0), text[1:]
        if not side:
            raise GraphError("not a constant", expected="factors joined by * and /", got=value)
    return Constant(coefficient, tuple(sorted((k, v) for k, v in powers.items() if v)))


def _power(digits: str, side: int, value: str) -> Fraction:
    exponent = digits.partition("e")[2] or "0"
    if len(digits) > LONGEST or abs(int(exponent)) > LONGEST:
        raise GraphError(
            "a number that float64 cannot hold",
            expected=f"at most {LONGEST} digits, an exponent of at most {LONGEST}",
            got=value if len(value) < 40 else f"{value[:30]}...",
        )
    try:
        return Fraction(digits) ** side
    except (ValueError, ZeroDivisionError):
        raise GraphError(
            "not a constant", expected="numbers, none below / zero", got=value
        ) from None
