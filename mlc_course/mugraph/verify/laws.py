"""Uninterpreted functions, but for laws of exp, log and sqrt that hold for every real number.

A *term* is a tensor of residues that also knows how it was made: of which parts it is the sum, of
which factors it is the product. With that

    exp(a + b) = exp(a) exp(b)          exp(log(a)) = a          log(exp(a)) = a
    log(a b) = log(a) + log(b)          sqrt(a b) = sqrt(a) sqrt(b)          sqrt(a) sqrt(a) = a

can be applied from left to right, the ones about products where a and b are known not to be
negative. What is left of exp, log and sqrt then is uninterpreted. Factors that are the same along
an axis are taken out of sums along it, so that the logarithm of a sum of exp(x - m) is seen to have
-m in it: that is all it takes for a stable softmax, for its logarithm, and for FlashAttention.

Every step replaces a formula by one that is equal to it wherever both have a value. So two graphs
whose terms are equal for all functions are equal, with the bound of ``uninterpreted``, and the
degrees of that bound are counted on the same steps (``Growth``). Which factors are the same is told
by their residues; that two different ones have the same is a case of that bound, too.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from mlc_course.deadline import check_time
from mlc_course.mugraph.ir import Number, Shape, root
from mlc_course.mugraph.verify.field import Residues
from mlc_course.mugraph.verify.uninterpreted import Growth, Growths, Uninterpreted

MANY = 8  # parts or factors, of which a term forgets how it was made
HIGH = 16  # power, above which it forgets too
HALF = Fraction(1, 2)
Factors = Mapping[bytes, tuple["Term", Fraction]]  # a term and its power, by the term's key


@dataclass(eq=False)
class Term:
    """Residues and the bounds on their formulas; how it was made, as far as that is of use.

    ``parts`` have a sign each, ``factors`` a power, by their keys. A ``number`` is a constant.
    ``log`` is the term that this one is exp of, ``exp`` the one that it is the logarithm of,
    ``relu`` the one that it is the positive part of, and a ``largest`` one is free. ``cases`` are
    those of ``more_laws``.
    """

    laws: Laws
    value: Residues
    growth: Growth
    nonnegative: bool = False
    number: Fraction | None = None
    log: Term | None = None
    exp: Term | None = None
    relu: Term | None = None
    largest: bool = False
    cases: tuple[Term, Term, Term] | None = None
    parts: Sequence[tuple[int, Term]] = ()
    made_of: Factors = field(default_factory=dict)
    key_cache: bytes = b""

    @property
    def shape(self) -> Shape:
        return self.value.shape

    @property
    def key(self) -> bytes:
        """A digest of the shape and the residues, which tells this term from others."""
        if not self.key_cache:
            top = np.ascontiguousarray(self.value.top)
            self.key_cache = hashlib.blake2b(top.tobytes(), key=repr(top.shape).encode()).digest()
            self.laws.growths.told_apart(self.growth)
        return self.key_cache

    @property
    def factors(self) -> Factors:
        return self.made_of or {self.key: (self, Fraction(1))}

    @property
    def summands(self) -> Sequence[tuple[int, Term]]:
        return self.parts or ((1, self),)

    def _of(self, other: Any) -> Term:
        return other if isinstance(other, Term) else self.laws.whole(other)

    def __add__(self, other: Any) -> Term:
        return self.laws.add(self, self._of(other))

    def __sub__(self, other: Any) -> Term:
        return self.laws.add(self, -self._of(other))

    def __rsub__(self, other: Any) -> Term:
        return self.laws.add(self._of(other), -self)

    def __mul__(self, other: Any) -> Term:
        return self.laws.mul(self, self._of(other), 1)

    def __truediv__(self, other: Any) -> Term:
        return self.laws.mul(self, self._of(other), -1)

    def __rtruediv__(self, other: Any) -> Term:
        return self.laws.mul(self._of(other), self, -1)

    def __matmul__(self, other: Term) -> Term:
        return self.laws.matmul(self, other)

    def __neg__(self) -> Term:
        return self.laws.neg(self)

    __radd__, __rmul__ = __add__, __mul__


class Laws:
    """The arithmetic of terms, over one round of ``field`` and the bounds of ``growths``."""

    arrays = 4  # that are held for each number of a graph

    def __init__(self, base: Uninterpreted, growths: Growths) -> None:
        self.base, self.growths = base, growths
        self._exps: dict[bytes, Term] = {}
        self._roots: dict[bytes, Term] = {}
        self._moved: dict[tuple[int, Any], tuple[Term, Term]] = {}
        self.long_exponents = False  # an exponent was a sum of terms of one shape

    # Terms that are not taken apart.

    def random(self, shape: Shape) -> Term:
        return Term(self, self.base.random(shape), self.growths.random(shape))

    def constant(self, number: Number) -> Term:
        value, growth = self.base.constant(number), self.growths.constant(number)
        rational = None if number.roots else number.coefficient
        return Term(self, value, growth, number.coefficient >= 0, rational)

    def whole(self, n: int) -> Term:
        return self.constant(Number(Fraction(n)))

    def spread(self, number: Fraction, like: Term) -> Term:
        """Return a number in every entry of a term that has this value."""
        made = self.constant(Number(number))
        if like.shape:
            made.value, made.growth = like.value, like.growth
        return made

    @property
    def trials(self) -> int:
        return self.base.trials

    def residues(self, x: Term) -> Residues:
        """Return what is compared of a result."""
        return x.value

    def each(self, act: Callable[..., Any], *operands: Term, **what: Any) -> Term:
        """Do the same in the field and in the bounds; ``what`` is known of the result."""
        check_time()
        value = act(self.base, *(x.value for x in operands))
        return Term(self, value, act(self.growths, *(x.growth for x in operands)), **what)

    def count(self, x: Term, axis: int) -> int:
        return x.shape[axis]

    def stored(self, x: Term) -> Term:
        return x

    # Sums.

    def add(self, x: Term, y: Term) -> Term:
        """Add, with common factors taken out, and exp over a common denominator."""
        for zero, other in ((x, y), (y, x)):
            if zero.number == 0 and other.shape == joint([x, y]):
                return other
        parts = _cancelled((*x.summands, *y.summands))
        made = Term(self, x.value + y.value, x.growth + y.growth, x.nonnegative and y.nonnegative)
        if len(parts) == 1 and parts[0][0] == 1 and parts[0][1].shape == made.shape:
            return parts[0][1]
        made.parts = parts if len(parts) <= MANY else ()
        if x.number is not None and y.number is not None:
            return self.spread(x.number + y.number, made)
        common = _common(x, y)
        if common:
            rest = [self.product(self.multiplied(each.factors, common, -1)) for each in (x, y)]
            inner = self.add(*rest)
            made.made_of = multiplied(inner.factors, common, 1)
        return self._rebuilt(sound(made))

    def summed(self, parts: Sequence[tuple[int, Term]]) -> Term:
        made = self.whole(0)
        for sign, part in parts:
            made = made + (part if sign > 0 else -part)
        return made

    def neg(self, x: Term) -> Term:
        return self.mul(x, self.whole(-1), 1)

    def sum(self, x: Term, axis: int) -> Term:
        """Add up along an axis, with factors that are the same along it taken out."""
        made = self.each(lambda m, v: m.sum(v, axis), x, nonnegative=x.nonnegative)
        out = {k: f for k, f in x.made_of.items() if extent(f[0], axis) == 1}
        if out and len(out) < len(x.made_of):
            inner = self.sum(self.without(x, out), axis)
            made.made_of = multiplied({inner.key: (inner, Fraction(1))}, out, 1)
        return self._rebuilt(sound(made))

    def matmul(self, x: Term, y: Term) -> Term:
        """Multiply matrices, with factors that are the same along the inner axis taken out."""
        outs = [
            {k: f for k, f in each.made_of.items() if extent(f[0], axis) == 1}
            for each, axis in ((x, len(x.shape) - 1), (y, len(y.shape) - 2))
        ]
        outs = [
            out if len(out) < len(each.made_of) else {}
            for out, each in zip(outs, (x, y), strict=True)
        ]
        made = Term(self, x.value @ y.value, x.growth @ y.growth, x.nonnegative and y.nonnegative)
        if outs[0] or outs[1]:
            a, b = (self.without(each, out) for each, out in zip((x, y), outs, strict=True))
            inner = Term(self, a.value @ b.value, a.growth @ b.growth)
            inner.nonnegative = a.nonnegative and b.nonnegative
            made.made_of = multiplied({inner.key: (inner, Fraction(1))}, outs[0], 1)
            made.made_of = multiplied(made.made_of, outs[1], 1)
        return self._rebuilt(sound(made))

    # Products.

    def mul(self, x: Term, y: Term, power: int) -> Term:
        """Return x y, or x / y for a power of -1."""
        if power == 1 and x.number is not None and y.number is None:
            x, y = y, x
        if y.number == 1 and x.shape == joint([x, y]):
            return x
        factors = self.multiplied(x.factors, y.factors, power)
        if has_roots(x.made_of) and has_roots(y.made_of):
            made = self.product(factors)
            if made.shape == joint([x, y]):
                return made
        nonnegative = all(f.nonnegative or p % 2 == 0 for f, p in factors.values())
        if power == 1:
            made = Term(self, x.value * y.value, x.growth * y.growth, nonnegative)
        else:
            made = Term(self, x.value / y.value, x.growth / y.growth, nonnegative)
        if x.number is not None and y.number is not None and (power == 1 or y.number):
            made.number = x.number * y.number if power == 1 else x.number / y.number
        if x.number == 0 or (y.number == 0 and power == 1):
            return self.spread(Fraction(0), made)
        if y.number is not None and (x.parts or y.number == -1):
            made.parts = self._times(x.summands, y, power)
        if len(factors) <= MANY and all(abs(times) <= HIGH for _, times in factors.values()):
            made.made_of = factors
        return self._rebuilt(sound(made))

    def _times(
        self, parts: Sequence[tuple[int, Term]], y: Term, power: int
    ) -> Sequence[tuple[int, Term]]:
        """Multiply each part of a sum by a number, or divide it; a sign stays outside."""
        assert y.number is not None
        sign = 1 if y.number >= 0 else -1
        if abs(y.number) == 1 and not y.shape:
            return [(sign * each, part) for each, part in parts]
        size = y if sign > 0 else self.mul(y, self.whole(-1), 1)
        return [(sign * each, self.mul(part, size, power)) for each, part in parts]

    def multiplied(self, x: Factors, y: Factors, power: int) -> Factors:
        """Return the factors of x y, or of x / y for a power of -1."""
        return multiplied(x, y, power)

    def without(self, x: Term, factors: Factors) -> Term:
        """Return the product of the other factors."""
        if not factors:
            return x
        rest = {k: f for k, f in x.made_of.items() if k not in factors}
        return self.product(rest)

    def _rebuilt(self, x: Term) -> Term:
        """Compute a product anew if roots are among its factors, of which two may be one factor."""
        if not has_roots(x.made_of):
            return x
        made = self.product(x.made_of)
        x.value, x.growth, x.nonnegative = made.value, made.growth, made.nonnegative
        return x

    def product(self, factors: Factors) -> Term:
        if len(factors) == 1:
            ((term, power),) = factors.values()
            if power == 1:
                return term
        made = self.whole(1)
        if not factors:
            return made
        value, growth, nonnegative = made.value, made.growth, True
        for term, power in factors.values():
            whole = power.numerator // power.denominator
            steps = [(term, whole)] + [(self._root(term), 1)] * (power.denominator != 1)
            for each, times in steps:
                for _ in range(abs(times)):
                    up = times > 0
                    value = value * each.value if up else value / each.value
                    growth = growth * each.growth if up else growth / each.growth
            nonnegative &= term.nonnegative or power % 2 == 0
        number: Fraction | None = Fraction(1)
        for term, power in factors.values():
            known = number is not None and term.number and power.denominator == 1
            number = number * term.number ** int(power) if known else None  # type: ignore[operator]
        return Term(self, value, growth, nonnegative, number, made_of=factors)

    def _root(self, x: Term) -> Term:
        """Return the square root of a factor."""
        if x.log:
            return self.exp(x.log * self.constant(Number(HALF)))
        if x.key not in self._roots:
            if x.number is not None and x.number > 0 and not x.shape:
                above, below = root(x.number.numerator), root(x.number.denominator)
                made = self.constant(above) / self.constant(below)
            else:
                made = self.each(lambda m, v: m.function("sqrt", v), x, nonnegative=True)
            self._roots[x.key] = made
        return self._roots[x.key]

    # Maxima, free (``free_maxima``).

    def maximum(self, x: Term, y: Term) -> Term:
        known = x.nonnegative or y.nonnegative
        return self.each(lambda m, v, w: m.maximum(v, w), x, y, nonnegative=known, largest=True)

    def minimum(self, x: Term, y: Term) -> Term:
        known = x.nonnegative and y.nonnegative
        return self.each(lambda m, v, w: m.minimum(v, w), x, y, nonnegative=known)

    def max(self, x: Term, axis: int) -> Term:
        if x.shape[axis] == 1:
            return x
        known = x.nonnegative
        return self.each(lambda m, v: m.max(v, axis), x, nonnegative=known, largest=True)

    # Functions.

    def exp(self, x: Term) -> Term:
        made: Term | None = None
        for sign, part in self.exponents(x):
            if part.number != 0 or part.shape:
                one = self._exp(part)
                if made is None and sign > 0:
                    made = one
                else:
                    made = self.mul(made or self.whole(1), one, sign)
        return made or self.whole(1)

    def exponents(self, x: Term) -> Sequence[tuple[int, Term]]:
        """Return the terms of a sum, of each of which exp is a factor of exp(x)."""
        self.long_exponents |= any(len(parts) > 1 for parts in _alike(x))
        return x.summands

    def _exp(self, x: Term) -> Term:
        if x.exp:
            return x.exp
        times = [
            term.number
            for term, power in x.made_of.values()
            if term.number and power == 1 and not term.shape
        ]
        others = [term for term, power in x.made_of.values() if not term.number and power == 1]
        if len(others) == 1 and others[0].exp and len(times) + 1 == len(x.made_of):
            whole = Fraction(math.prod(times))
            if whole.denominator == 1 and abs(whole) <= HIGH:  # exp(n log(a)) = a ** n
                power = {others[0].exp.key: (others[0].exp, Fraction(whole))}
                return self.product(power)
        if x.key not in self._exps:
            self._exps[x.key] = self.each(lambda m, v: m.exp(v), x, nonnegative=True, log=x)
        return self._exps[x.key]

    def function(self, name: str, x: Term) -> Term:
        """Apply sqrt or log to each factor if none is negative, else to the whole."""
        if name not in ("sqrt", "log"):
            return self.each(lambda m, v: m.function(name, v), x)
        factors = x.factors
        signed = not all(term.nonnegative for term, _ in factors.values())
        if signed or (name == "sqrt" and has_roots(factors)):
            factors = {x.key: (x, Fraction(1))}
        if name == "sqrt":
            return self.product({k: (term, power * HALF) for k, (term, power) in factors.items()})
        made: Term | None = None
        for term, power in factors.values():
            if term.number == 1 and not term.shape:
                continue
            one = self._log(name, term)
            if abs(power) != 1:
                one = one * self.constant(Number(abs(power)))
            one = one if power > 0 else -one
            made = one if made is None else made + one
        return made or self.whole(0)

    def _log(self, name: str, x: Term) -> Term:
        if x.log:
            return x.log
        return self.each(lambda m, v: m.function(name, v), x, exp=x)

    # The same entries elsewhere.

    def reshape(self, x: Term, shape: Shape) -> Term:
        return self._elsewhere(
            x, ("reshape", shape), _of_one_shape, lambda m, v: m.reshape(v, shape)
        )

    def transpose(self, x: Term, axes: Sequence[int]) -> Term:
        return self._elsewhere(
            x, ("transpose", tuple(axes)), _always, lambda m, v: m.transpose(v, axes)
        )

    def take(self, x: Term, place: tuple[slice, ...]) -> Term:
        def cut(m: Any, v: Any) -> Any:
            here = tuple(
                slice(None) if extent == 1 != whole else span
                for extent, whole, span in zip(v.shape, x.shape, place, strict=True)
            )
            return m.take(v, here)

        spans = tuple((span.start, span.stop) for span in place)
        return self._elsewhere(x, ("take", spans), _always, cut)

    def concatenate(self, xs: Sequence[Term], axis: int) -> Term:
        if len(xs) == 1:
            return xs[0]
        known, free = all(x.nonnegative for x in xs), all(x.largest for x in xs)
        return self.each(
            lambda m, *vs: m.concatenate(vs, axis), *xs, nonnegative=known, largest=free
        )

    def _elsewhere(
        self,
        x: Term,
        what: Any,
        structured: Callable[[Term], bool],
        move: Callable[[Any, Any], Any],
    ) -> Term:
        """Move the entries of a term, and of what it is made of; the same term to the same one."""
        known = self._moved.get((id(x), what))
        if known:
            return known[1]
        if x.shape == ():
            return x
        made = self.each(move, x, nonnegative=x.nonnegative, largest=x.largest)
        self._moved[id(x), what] = x, made
        if structured(x):

            def again(y: Term) -> Term:
                return self._elsewhere(y, what, structured, move)

            made.parts = [(sign, again(part)) for sign, part in x.parts]
            moved = [(again(term), power) for term, power in x.made_of.values()]
            for term, power in moved:  # two that differ elsewhere may be one here
                made.made_of = multiplied(made.made_of, {term.key: (term, power)}, 1)
            made.log, made.exp = x.log and again(x.log), x.exp and again(x.exp)
            if x.cases:
                one, above, below = map(again, x.cases)
                made.cases = one, above, below
        return sound(made)


class LongExponents(Laws):
    """The same, but exp(a + b) stays what it is where nothing tells a from b.

    A sum that a loop adds up then is the exponent that it is where it is computed at once.
    """

    def exponents(self, x: Term) -> Sequence[tuple[int, Term]]:
        alone = [parts[0] if len(parts) == 1 else (1, self.summed(parts)) for parts in _alike(x)]
        return [*alone, *((sign, part) for sign, part in x.summands if _stands_out(part))]


def _alike(x: Term) -> Sequence[Sequence[tuple[int, Term]]]:
    """Return the summands that do not stand out, those of one shape together."""
    found: dict[Shape, list[tuple[int, Term]]] = {}
    for sign, part in x.summands:
        if not _stands_out(part):
            found.setdefault(part.shape, []).append((sign, part))
    return list(found.values())


def _stands_out(x: Term) -> bool:
    """Tell whether a term is a number, a logarithm or a maximum."""
    known = x.exp or x.number is not None
    return bool(known) or any(term.largest for term, _ in x.factors.values())


def _cancelled(parts: Sequence[tuple[int, Term]]) -> Sequence[tuple[int, Term]]:
    """Leave out parts that are there once more with the other sign."""
    if len({sign for sign, _ in parts}) < 2:
        return parts
    left: list[tuple[int, Term]] = []
    for sign, part in parts:
        other = next((each for each in left if each[0] != sign and each[1].key == part.key), None)
        if other:
            left.remove(other)
        else:
            left.append((sign, part))
    return left or parts


def _common(x: Term, y: Term) -> dict[bytes, tuple[Term, Fraction]]:
    """Return the factors that two summands share, and the lesser power of each exp in them."""
    if not x.made_of and not y.made_of:
        return {}
    found = {}
    ours, theirs = x.factors, y.factors
    for key, (term, power) in {**theirs, **ours}.items():
        both = [each[key][1] if key in each else Fraction(0) for each in (ours, theirs)]
        if both[0] == both[1]:
            found[key] = term, power
        elif term.log and min(both):
            found[key] = term, min(both)
    return {} if found.keys() == ours.keys() == theirs.keys() and not x.number else found


def _always(x: Term) -> bool:
    return True


def _of_one_shape(x: Term) -> bool:
    """Tell whether a term is made of terms of its own shape."""
    near = (*(part for _, part in x.parts), *(term for term, _ in x.made_of.values()))
    near += x.cases or ()
    return all(each.shape in ((), x.shape) for each in (*near, x.log or x, x.exp or x))


def joint(terms: Iterable[Term]) -> Shape:
    """Return the shape of terms that are added or multiplied."""
    return np.broadcast_shapes(*(term.shape for term in terms))


def sound(x: Term) -> Term:
    """Forget how a term was made where that has lost an axis: (a + b) - a has the shape of a."""
    if x.parts and joint(part for _, part in x.parts) != x.shape:
        x.parts = ()
    if x.made_of and joint(term for term, _ in x.made_of.values()) != x.shape:
        x.made_of = {}
    return x


def has_roots(factors: Factors) -> bool:
    """Tell whether there are square roots among factors."""
    return any(power.denominator != 1 for _, power in factors.values())


def extent(x: Term, axis: int) -> int:
    """Return the extent of an axis; a scalar has 1 along each."""
    return x.shape[axis] if x.shape else 1


def multiplied(x: Factors, y: Factors, power: int) -> dict[bytes, tuple[Term, Fraction]]:
    """Add up the powers of two products; x / y for a power of -1."""
    made = dict(x)
    for key, (term, times) in y.items():
        _, before = made.pop(key, (term, Fraction(0)))
        if before + power * times:
            made[key] = term, before + power * times
    return made
