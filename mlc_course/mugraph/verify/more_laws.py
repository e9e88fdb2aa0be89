"""More laws, which take longer: of numbers in sums, of maxima, and of both cases of a sign.

*Numbers.* What the terms of a sum have in common as numbers is taken out: x/6 + 1/2 is (x + 3)/6,
and d x - sum(x) is d times x - mean(x). A value whose residues are all 0, or all 1, is that number.

*Maxima.* max(x, y) is y + relu(x - y). Of relu(x) = max(x, 0) it is known that relu(-x) = relu(x) -
x, that relu(a x) = a relu(x) for an a that is not negative, and that relu(relu(x) - c) =
relu(x - c) for a number c from 0 up. The largest of a row has what is the same along the row taken
out, and is free besides.

*Cases.* Where u is not negative, relu(u) is u, and elsewhere it is 0. So a formula of relu(u),
entry by entry, is one of two: that for relu(u) = u, and that for relu(u) = 0. Both are computed for
all entries, by all laws. If they are equal, that is what the formula is, whatever the sign: so
relu(x) + log(1 + exp(-|x|)) is log(1 + exp(x)), for x + log(1 + 1/exp(x)) is. If not, the value is

    f0 + (relu(u) / u) (f1 - f0),

in which relu(u) / u, which is 1 or 0, is as good as uninterpreted. Graphs that are equal whatever
it is are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Number
from mlc_course.mugraph.verify.laws import (
    HALF,
    Factors,
    Laws,
    Term,
    extent,
    has_roots,
    joint,
    multiplied,
)
from mlc_course.mugraph.verify.uninterpreted import Growths, Uninterpreted

ONE = Fraction(1)
SIGNS = 2  # of so many arguments, all cases are looked at


class MoreLaws(Laws):
    """The laws of numbers and of maxima."""

    def __init__(self, base: Uninterpreted, growths: Growths) -> None:
        super().__init__(base, growths)
        self._relus: dict[bytes, Term] = {}

    def maximum(self, x: Term, y: Term) -> Term:
        if x.log and y.log:
            return self.exp(self.maximum(x.log, y.log))
        made = y + self.relu(x - y)
        made.nonnegative |= x.nonnegative or y.nonnegative
        return made

    def minimum(self, x: Term, y: Term) -> Term:
        made = x - self.relu(x - y)
        made.nonnegative |= x.nonnegative and y.nonnegative
        return made

    def relu(self, x: Term) -> Term:
        """Return the larger of x and 0."""
        if x.number is not None:
            return x if x.number >= 0 else self.spread(Fraction(0), x - x)
        made = self._relu(x)
        return made if made.shape == x.shape else self._of_either_sign(x, 1)

    def _relu(self, x: Term) -> Term:
        for sign in (1, -1):  # max(max(w, 0), c) = max(w, c) for c >= 0
            inner, offset = _of_relu(x, sign)
            if inner is not None and offset <= 0:
                least = self.relu(inner + self.constant(Number(offset)))
                return least if sign > 0 else least + x
        out: Factors = {}
        rest: Factors = {}
        sign = 1
        for key, (term, power) in x.factors.items():
            if term.number is not None and term.number < 0 and power.denominator == 1:
                sign *= -1 if power % 2 else 1
                size = self.constant(Number(-term.number))
                out = multiplied(out, {size.key: (size, power)}, 1)
            elif term.nonnegative or power % 2 == 0:
                out = multiplied(out, {key: (term, power)}, 1)
            else:
                rest = {**rest, key: (term, power)}
        outside = self.product(out)
        if rest and not out:
            return self._of_either_sign(self.product(rest) if x.made_of else x, sign)
        if not rest:
            nothing = Term(self, x.value - x.value, x.growth - x.growth, True)
            return outside if sign > 0 else nothing
        inside = self.product(rest) if x.made_of else x
        return outside * self._of_either_sign(inside, sign)

    def _of_either_sign(self, x: Term, sign: int) -> Term:
        """Return relu(x), or relu(-x), by the function of one of the two."""
        given = x if sign > 0 else -x
        if given.key in self._relus:
            return self._relus[given.key]
        other = -given
        if other.key < given.key:
            made = given + self._of_either_sign(other, 1)
        else:
            made = self.each(lambda m, v: m.function("max", v), given)
        value, growth = made.value, made.growth
        self._relus[given.key] = Term(self, value, growth, True, relu=given)
        return self._relus[given.key]

    def max(self, x: Term, axis: int) -> Term:
        """Return the largest along an axis, with what is the same along it taken out."""
        if x.shape[axis] == 1:
            return x
        if x.log:
            return self.exp(self.max(x.log, axis))
        beside = [(sign, part) for sign, part in x.parts if extent(part, axis) == 1]
        if beside and len(beside) < len(x.parts):
            inside = [(sign, part) for sign, part in x.parts if extent(part, axis) > 1]
            made = self.summed([(1, self.max(self.summed(inside), axis)), *beside])
            if made.shape == (*x.shape[:axis], 1, *x.shape[axis + 1 :]):
                return made
        out = {
            k: f
            for k, f in x.made_of.items()
            if extent(f[0], axis) == 1 and (f[0].nonnegative or f[1] % 2 == 0)
        }
        if out and len(out) < len(x.made_of):
            made = self.max(self.without(x, out), axis) * self.product(out)
            if made.shape == (*x.shape[:axis], 1, *x.shape[axis + 1 :]):
                return made
        return super().max(x, axis)

    def function(self, name: str, x: Term) -> Term:
        """Apply sqrt, or log, as ever; but of the square of what has no known sign, by abs."""
        if name in ("sqrt", "log") and self.known(x).number == 1:
            return x if name == "sqrt" else self.spread(Fraction(0), x - 1)
        known = all(f.nonnegative or p % 2 == 0 for f, p in x.factors.values())
        if name != "sqrt" or not known or has_roots(x.factors):
            return super().function(name, x)
        made = self.whole(1)
        for term, power in x.factors.values():
            size = term if term.nonnegative else 2 * self.relu(term) - term
            made = made * self.product({size.key: (size, power * HALF)})
        return made

    # Numbers.

    def multiplied(self, x: Factors, y: Factors, power: int) -> Factors:
        """Return the factors of a product or a quotient, its numbers as one."""
        factors = multiplied(x, y, power)
        whole = {
            key: (term.number or ONE) ** times.numerator
            for key, (term, times) in factors.items()
            if _is_number(term, times)
        }
        if len(whole) < 2 and all(factors[key][1] == 1 != one for key, one in whole.items()):
            return factors
        rest = {key: factor for key, factor in factors.items() if key not in whole}
        number = math.prod(whole.values(), start=ONE)
        if number != 1:
            one = self.constant(Number(number))
            rest[one.key] = one, ONE
        return rest

    def add(self, x: Term, y: Term) -> Term:
        made = super().add(x, y)
        if made.parts:
            made.parts = self._like_terms(made.parts)
        if not made.parts or joint(part for _, part in made.parts) != made.shape:
            made.parts = ()
        elif len(made.parts) == 1:
            ((sign, only),) = made.parts
            return only if sign > 0 else -only
        content = _content(made) if made.parts and not made.made_of else ONE
        if content == 1:
            return made
        size = self.constant(Number(content))
        inner = Term(self, made.value / size.value, made.growth / size.growth, made.nonnegative)
        inner.parts = [(sign, self.mul(part, size, -1)) for sign, part in made.parts]
        made.made_of = {inner.key: (inner, ONE), size.key: (size, ONE)}
        return made

    def _like_terms(self, parts: Sequence[tuple[int, Term]]) -> Sequence[tuple[int, Term]]:
        """Add up the parts of a sum that differ in their numbers only."""
        groups: dict[Any, list[tuple[int, Term]]] = {}
        for sign, part in parts:
            rest = frozenset((k, p) for k, (f, p) in part.factors.items() if not _is_number(f, p))
            groups.setdefault(rest, []).append((sign, part))
        found = list[tuple[int, Term]]()
        for rest, alike in groups.items():
            number = sum((sign * _coefficient(part) for sign, part in alike), Fraction(0))
            if len(alike) == 1:
                found += alike
            elif number:
                factors = alike[0][1].factors
                base = self.product({k: f for k, f in factors.items() if (k, f[1]) in rest})
                one = self.mul(base, self.constant(Number(abs(number))), 1)
                found.append((1 if number > 0 else -1, one if abs(number) != 1 else base))
        return found

    def known(self, x: Term) -> Term:
        """Return a term, or 0 or 1 if that is what all its residues are."""
        for number in (0, 1) if x.number is None else ():
            if np.all(x.value.top == number):
                self.growths.told_apart(x.growth)
                return self.spread(Fraction(number), x)
        return x

    def exp(self, x: Term) -> Term:
        known = self.known(x)
        return self.spread(ONE, known + 1) if known.number == 0 else super().exp(x)


class Cases(MoreLaws):
    """The same, and both cases of a sign, entry by entry.

    ``cases`` of a term are u, and the term where u is not negative and where it is.
    """

    arrays = 8

    def __init__(self, base: Uninterpreted, growths: Growths) -> None:
        super().__init__(base, growths)
        self._steps: dict[bytes, Term] = {}

    def add(self, x: Term, y: Term) -> Term:
        return self._by_cases(super().add, x, y)

    def mul(self, x: Term, y: Term, power: int) -> Term:
        act = super().mul
        return self._by_cases(lambda a, b: act(a, b, power), x, y)

    def exp(self, x: Term) -> Term:
        return self._by_cases(super().exp, x)

    def function(self, name: str, x: Term) -> Term:
        act = super().function
        return self._by_cases(lambda a: act(name, a), x)

    def relu(self, x: Term) -> Term:
        return self._by_cases(super().relu, x)

    def _of_either_sign(self, x: Term, sign: int) -> Term:
        made = super()._of_either_sign(x, sign)
        if made.relu is not None and not made.cases:
            given = replace(made.relu, cases=None)
            other = replace(-given, cases=None)
            nothing = self.spread(Fraction(0), given - given)
            swapped = other.key < given.key
            made.cases = (other, nothing, given) if swapped else (given, given, nothing)
        return made

    def _by_cases(self, act: Callable[..., Term], *terms: Term) -> Term:
        """Do the same in both cases of a sign; forget the cases if there are too many."""
        signs = {term.cases[0].key: term.cases[0] for term in terms if term.cases}
        if not signs or len(frozenset().union(*map(_signs, terms))) > SIGNS:
            return act(*terms)
        key = min(signs)
        above, below = (
            self._by_cases(act, *(_in_case(term, key, place) for term in terms)) for place in (1, 2)
        )
        if above.shape != below.shape:
            return act(*terms)
        if above.key == below.key:
            return above
        step = self._step(signs[key])
        value = below.value + step.value * (above.value - below.value)
        growth = below.growth + step.growth * (above.growth - below.growth)
        if value.shape != above.shape:
            return act(*terms)
        made = Term(self, value, growth, above.nonnegative and below.nonnegative)
        made.cases = signs[key], above, below
        return made

    def _step(self, u: Term) -> Term:
        """Return relu(u) / u."""
        if u.key not in self._steps:
            above = MoreLaws._of_either_sign(self, u, 1)
            self._steps[u.key] = Term(self, above.value / u.value, above.growth / u.growth, True)
        return self._steps[u.key]


def _signs(x: Term) -> frozenset[bytes]:
    """Return the keys of the terms on whose signs a term depends."""
    if not x.cases:
        return frozenset()
    u, above, below = x.cases
    return _signs(above) | _signs(below) | {u.key}


def _in_case(x: Term, key: bytes, place: int) -> Term:
    return x.cases[place] if x.cases and x.cases[0].key == key else x


def _content(x: Term) -> Fraction:
    """Return the number that the terms of a sum have in common: coefficients without it are whole.

    And no number divides them all.
    """
    found = [abs(_coefficient(part)) for _, part in x.parts]
    above = math.gcd(*(each.numerator for each in found))
    return Fraction(above or 1, math.lcm(*(each.denominator for each in found)))


def _coefficient(x: Term) -> Fraction:
    if x.number is not None and not x.shape:
        return x.number
    powers = (
        (term.number or ONE) ** power.numerator
        for term, power in x.made_of.values()
        if _is_number(term, power)
    )
    return math.prod(powers, start=ONE)


def _is_number(x: Term, power: Fraction) -> bool:
    """Tell whether a factor is a number that is a scalar, and not 0."""
    return bool(x.number) and power.denominator == 1 and not x.shape


def _of_relu(x: Term, times: int) -> tuple[Term | None, Fraction]:
    """Return w and c if ``times`` a term is relu(w) + c."""
    offset, inner = Fraction(0), None
    for sign, part in x.parts:
        if part.number is not None:
            offset += times * sign * part.number
        elif inner is None and times * sign > 0 and part.relu:
            inner = part.relu
        else:
            return None, Fraction(0)
    return inner, offset
