"""Abstract expressions as plain data and as words: for who reads a search, or prunes one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from mlc_course.mugraph.search.expr import INVERSE, SUM, Expressions, Poly

Terms = dict[tuple[str, ...], int | Fraction]
"""Coefficients by factors: ``{("A", "B", "X"): 21, ("W", "X"): 3}``.

Factors are sorted, a power is a factor repeated, and a function is one factor, its text:
``"exp(...)"``, ``"1/(...)"``.
"""
_CALLED = {INVERSE: "1/", SUM: ""}


def terms(among: Expressions, poly: Poly) -> Terms:
    """An expression as plain data, sorted by factors."""
    found: Terms = {}
    for monomial, coefficient in poly:
        factors = (_factor(among, atom) for atom, power in monomial for _ in range(power))
        found[tuple(sorted(factors))] = coefficient
    return dict(sorted(found.items()))


def _factor(among: Expressions, atom: int) -> str:
    known = among.atoms[atom]
    if not known.of:
        return f"({known.name})" if "/" in known.name else known.name
    inner = ", ".join(said(terms(among, each)) for each in known.of)
    return f"{_CALLED.get(known.name, known.name)}({inner})"


def said(expression: Terms) -> str:
    """``21 A B X + 3 W X``, ``7 X^2``, ``G X/(sqrt(X^2))``."""
    return " + ".join(_term(factors, c) for factors, c in expression.items())


def _term(factors: tuple[str, ...], c: int | Fraction) -> str:
    last = sorted(factors, key=lambda each: each.startswith("1/"))
    parts = [*([] if c == 1 and factors else [str(c)]), *powers(last)]
    return " ".join(parts).replace(" 1/", "/")


def powers(factors: Iterable[str]) -> list[str]:
    """``["W", "X^2"]`` for W, X, X."""
    counted = Counter(factors)
    return [f"{name}^{n}" if n > 1 else name for name, n in counted.items()]
