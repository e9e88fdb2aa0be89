"""Pruners of your own: expressions as plain data and in words, and why one is no part of a goal."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np

from mlc_course.errors import UsageError
from mlc_course.mugraph.expressions.normal_form import INVERSE, SUM, Expressions, Poly

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


Pruner = Callable[[Terms, Terms], bool]


def asked(pruner: Pruner, value: Terms, goal: Terms) -> bool:
    """The answer of a pruner; raises ``UsageError`` for one that fails, or does not answer."""
    expected = "True or False: may the first expression be a part of the second?"
    given = f"pruner({value}, {goal})"
    try:
        answer = pruner(value, goal)
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        raise UsageError(f"{given} raised an error", expected=expected, got=got) from error
    if not isinstance(answer, bool | np.bool_):
        raise UsageError(given, expected=expected, got=repr(answer))
    return bool(answer)


def why_not(value: Terms, parts: Sequence[Terms]) -> str:
    """The reason why an expression is not a part, where it is not: ``X^2 occurs nowhere``.

    ``parts`` are the goal, and the arguments of its functions.
    """
    there = [(factors, c) for part in parts for factors, c in part.items()]
    for factors, c in value.items():
        missing = _missing(factors, [each for each, _ in there])
        if missing:
            return missing
        holding = {d: said({each: d}) for each, d in there if _within(factors, each)}
        if all(d % c for d in holding):
            whole = " or ".join(holding.values())
            return f"{said({factors: c})} adds up along another axis than {whole}"
    if len(value) > 1:
        return "no product brings its terms together to terms of the goal"
    return "no term of the goal can be made of it"


def _missing(factors: tuple[str, ...], there: Sequence[tuple[str, ...]]) -> str:
    """The fewest factors that no term holds together."""
    for few in range(1, len(factors) + 1):
        for some in itertools.combinations(factors, few):
            if not any(_within(some, each) for each in there):
                words = powers(some)
                if len(words) == 1:
                    return f"{words[0]} occurs nowhere"
                return f"{' and '.join(words)} are never multiplied"
    return ""


def _within(some: Sequence[str], whole: Sequence[str]) -> bool:
    return not Counter(some) - Counter(whole)
