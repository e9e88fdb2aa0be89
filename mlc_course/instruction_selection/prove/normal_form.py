"""A normal form: each value as a polynomial over shifts, positive parts, wraps and comparisons.

Values are mathematical integers, and overflow is written out, so the laws of the integers hold for
every node. Each formula becomes a polynomial over *atoms*, which read a polynomial themselves:

==========  ==================================  ====================================================
atom        value                               what else is written with it
==========  ==================================  ====================================================
shr         floor(x / 2**k)                     pieces of a register
positive    max(x - t, 0)                       min, max, clamps and distances
above       1 where x > t, otherwise 0          <, where
equal       1 where x = t, otherwise 0
wrap        x mod 2**k                          signed wraps, masks by a constant
and, mul    x & y, and products of long sums
==========  ==================================  ====================================================

Every rule below keeps two promises, for all values of the variables in their ranges: the value is
the same, and it lies in the interval. Equal polynomials then are equal values. Unequal polynomials
say nothing.

With a *cut*, a sum that an atom reads becomes a fresh variable with the interval of the sum. Then
the promises hold where the fresh variables have the values of their sums: equality for all values
of the fresh variables implies equality, and a difference proves nothing, because sums that share
variables do not take all pairs of values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mlc_course.deadline import check_time
from mlc_course.instruction_selection.integers import (
    Formula,
    IntType,
    equals,
    greater,
    lift,
    maximum,
    node,
    shift_right,
    var,
    variables,
    walk,
    wrap,
)
from mlc_course.instruction_selection.prove.exact import type_of
from mlc_course.instruction_selection.prove.piecewise import (
    Piecewise,
    clamp_of,
    positive_part,
    through,
)
from mlc_course.instruction_selection.prove.polynomials import (
    MOST_TERMS,
    Key,
    Monomial,
    Terms,
    built,
    centred,
    constant,
    in_order,
    is_bit,
    joined,
    key_of,
    plus,
    primitive,
    range_of,
    scaled,
    times,
    trailing_zeros,
    variable_part,
)
from mlc_course.instruction_selection.prove.sums import Sum

MOST_SPLIT = 3  # atoms of which both cases are bounded
AtomOp: TypeAlias = Literal["shr", "positive", "above", "equal", "wrap", "and", "mul"]


@dataclass(frozen=True)
class Value:
    """A polynomial and an interval that its values lie in."""

    terms: Mapping[Monomial, int]
    lo: int
    hi: int


@dataclass(frozen=True)
class Atom:
    """The operand of an atom: a polynomial, and a number of bits or t in x - t, x > t, x = t."""

    op: AtomOp
    terms: Mapping[Monomial, int]
    number: int


@dataclass(frozen=True)
class Undone:
    """A wrap that an addition took back: ``value`` does not fit in ``of``, value + added does."""

    of: IntType
    value: int
    added: int


@dataclass
class NormalForm:
    """Rewrites formulas to polynomials over atoms that they share.

    ``taken`` are names that fresh variables must not have, and ``sums`` says what each is.
    ``undone`` and ``factors`` note what the rewriting met, for a reader of the proof.
    """

    cut: bool = False
    taken: frozenset[str] = frozenset()
    inner: dict[Formula, Atom] = field(default_factory=dict)
    sums: dict[Formula, Sum] = field(default_factory=dict)
    undone: list[Undone] = field(default_factory=list)
    factors: set[int] = field(default_factory=set)  # that came out of shifts
    _atoms: dict[tuple[AtomOp, object, int], Formula] = field(default_factory=dict)
    _fresh: dict[Key, Formula] = field(default_factory=dict)
    _read: dict[Key, Formula] = field(default_factory=dict)
    _ranges: dict[Key, tuple[int, int]] = field(default_factory=dict)
    _support: dict[Formula, frozenset[Formula]] = field(default_factory=dict)

    def values(self, roots: Sequence[Formula]) -> list[Value]:
        """Return the normal forms of formulas."""
        found: dict[Formula, Value] = {}
        for each in walk(*roots):
            check_time()
            value = self._value(each, [found[x] for x in each.operands])
            found[each] = self.made(value.terms, max(value.lo, each.lo), min(value.hi, each.hi))
        return [found[root] for root in roots]

    def made(
        self, terms: Mapping[Monomial, int], lo: int | None = None, hi: int | None = None
    ) -> Value:
        """Return a value, with the interval that its terms give, and a given one, together."""
        low, high = self.bounds(terms)
        low = low if lo is None else max(low, lo)
        high = high if hi is None else min(high, hi)
        return Value(constant(low), low, high) if low == high else Value(terms, low, high)

    def number(self, value: int) -> Value:
        return Value(constant(value), value, value)

    def sum(self, a: Value, b: Value, factor: int = 1) -> Value:
        """Return a + factor * b; the interval is also the sum of the intervals."""
        ends = sorted((factor * b.lo, factor * b.hi))
        return self.made(plus(a.terms, b.terms, factor), a.lo + ends[0], a.hi + ends[1])

    def _value(self, each: Formula, a: list[Value]) -> Value:
        match each.op:
            case "var":
                return self.made({(each,): 1})
            case "const":
                return self.number(each.lo)
            case "add":
                return self.sum(a[0], a[1])
            case "sub":
                return self.sum(a[0], a[1], -1)
            case "mul":
                return self.product(a[0], a[1])
            case "shr":
                return self.shift(a[0], int(str(each.params[0])))
            case "wrap":
                return self.wrap(type_of(each), a[0])
            case "concat":  # lanes side by side are a sum of multiples
                bits = type_of(each).bits // len(a)
                joint = self.number(0)
                for i, lane in enumerate(a):
                    joint = self.sum(joint, lane, 1 << (bits * i))
                return self.wrap(type_of(each), joint)
            case "slice":
                index, bits = (int(str(x)) for x in each.params)
                return self.low(self.shift(a[0], index * bits), bits)
            case "and":
                return self.conjunction(a[0], a[1])
            case "or":  # a | b = a + b - (a & b)
                return self.sum(self.sum(a[0], a[1]), self.conjunction(a[0], a[1]), -1)
            case "xor":  # a ^ b = a + b - 2 * (a & b)
                return self.sum(self.sum(a[0], a[1]), self.conjunction(a[0], a[1]), -2)
            case "max":  # b + max(a - b, 0)
                return self.sum(a[1], self.positive(self.sum(a[0], a[1], -1)))
            case "min":  # a - max(a - b, 0)
                return self.sum(a[0], self.positive(self.sum(a[0], a[1], -1)), -1)
            case "gt":
                return self.above(self.sum(a[0], a[1], -1))
            case "eq":
                return self.zero(self.sum(a[0], a[1], -1))
            case "where":  # c + condition * (b - c), with a condition of 0 or 1
                condition = a[0]
                if condition.lo < 0 or condition.hi > 1:
                    condition = self.sum(self.number(1), self.zero(condition), -1)
                return self.sum(a[2], self.product(condition, self.sum(a[1], a[2], -1)))

    def bounds(self, terms: Mapping[Monomial, int]) -> tuple[int, int]:
        """Return bounds of a polynomial.

        Monomials are bounded one by one. Then positive parts of one sum x are bounded together with
        the multiple of x that occurs, as one piecewise linear function of x: 2 * max(x, 0) - x is
        not negative, though its second term may be. All bounds hold, so all are used.
        """
        lo, hi = self._bounds_by_cases(terms)
        rest = dict(terms)
        low = high = 0
        groups: dict[Key, list[tuple[Formula, int]]] = {}
        for monomial, c in terms.items():
            if len(monomial) == 1 and self._is(monomial[0], "positive"):
                key = key_of(self.inner[monomial[0]].terms)
                groups.setdefault(key, []).append((monomial[0], c))
        for key, members in groups.items():
            base = dict(key)
            leading, coefficient = in_order(base)[0]
            slope = rest.get(leading, 0) // coefficient
            rest = plus(rest, base, -slope)
            for x, c in members:
                rest = plus(rest, {(x,): 1}, -c)
            bends = {self.inner[x].number: c for x, c in members}
            ends = Piecewise(*self._range(base), 0, slope, bends).range
            low, high = low + ends[0], high + ends[1]
        if groups:
            others = range_of(rest)
            lo, hi = max(lo, low + others[0]), min(hi, high + others[1])
        return lo, hi

    def _bounds_by_cases(self, terms: Mapping[Monomial, int]) -> tuple[int, int]:
        """Return bounds of a polynomial, monomial by monomial, in a few cases.

        max(x - t, 0) is x - t or 0, and a comparison is 1 or 0: y + max(x - y, 0) is x or y.
        """
        split = {
            x
            for monomial in terms
            for x in monomial
            if (is_bit(x) if len(monomial) > 1 else self._is(x, "positive"))
        }
        if not split or len(split) > MOST_SPLIT:
            return range_of(terms)
        cases: list[Mapping[Monomial, int]] = [terms]
        for x in sorted(split, key=lambda each: each.serial):
            cases = [each for of in cases for each in self._cases(of, x)]
        ends = [range_of(each) for each in cases]
        return min(lo for lo, _ in ends), max(hi for _, hi in ends)

    def _cases(self, terms: Mapping[Monomial, int], x: Formula) -> tuple[Terms, Terms]:
        """Return a polynomial where x is 0, and where it is 1 or the sum that it is part of."""
        zero = {monomial: c for monomial, c in terms.items() if x not in monomial}
        value = constant(1)
        if not is_bit(x):
            value = plus(self.inner[x].terms, constant(-self.inner[x].number))
        other: Terms = zero
        for monomial, c in terms.items():
            if x in monomial:
                part: Terms = {tuple(y for y in monomial if y is not x): c}
                for _ in range(monomial.count(x)):
                    part = times(part, value)
                other = plus(other, part)
        return zero, other

    # Products.

    def product(self, a: Value, b: Value) -> Value:
        """Return a * b.

        With a comparison [x > t], a multiple of x becomes a multiple of its positive part:
        x * [x > t] = max(x - t, 0) + t * [x > t]. With [x = t] it is t: x * [x = t] = t * [x = t].
        """
        products = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        lo, hi = min(products), max(products)
        for p, q in ((a, b), (b, a)):
            if (merged := self._compared(p.terms, q.terms)) is not None:
                return self.made(merged, lo, hi)
        if len(a.terms) * len(b.terms) <= MOST_TERMS:
            return self.made(times(a.terms, b.terms), lo, hi)
        x, y = sorted((self.read(a), self.read(b)), key=lambda each: each.serial)
        return self._atom(("mul", (x, y), 0), lambda: x * y, {})

    def _compared(self, p: Mapping[Monomial, int], q: Mapping[Monomial, int]) -> Terms | None:
        """Return p * q where p is u * [x ...] + v and q is w * x + z, otherwise ``None``."""
        bits = [m for m in p if m]
        if len(bits) != 1 or len(bits[0]) != 1:
            return None
        (bit,) = bits[0]
        if not (self._is(bit, "above") or self._is(bit, "equal")):
            return None
        base, t = self.inner[bit].terms, self.inner[bit].number
        leading, coefficient = in_order(base)[0]
        w = q.get(leading, 0) // coefficient
        if not w or plus(variable_part(q), base, -w):
            return None
        z = q.get((), 0)
        over = self._over(base, t) if self._is(bit, "above") else {}
        of_bit = plus(scaled(over, w), {(bit,): w * t + z})
        return plus(scaled(of_bit, p[(bit,)]), q, p.get((), 0))

    # Shifts.

    def shift(self, value: Value, amount: int) -> Value:
        """Return floor(value / 2**amount).

        - Multiples of 2**k come out: floor((2**k * q + r) / 2**k) = q + floor(r / 2**k).
        - A common factor 2**z cancels: floor((2**z * x + r) / 2**k) with z < k is
          floor((x + floor(r / 2**z)) / 2**(k - z)), as dividing by 2**z first rounds down the same.
        """
        if amount == 0:
            return value
        if (chosen := self._of_bit(value, lambda x: x >> amount)) is not None:
            return chosen
        unit = 1 << amount
        c = value.terms.get((), 0)
        whole = {m: x >> amount for m, x in value.terms.items() if m and x % unit == 0}
        rest = {m: x for m, x in value.terms.items() if m and x % unit}
        outside = plus(whole, constant(c >> amount))
        if not rest:
            return self.made(outside)
        zeros = min(trailing_zeros(x) for x in rest.values())
        inside = plus({m: x >> zeros for m, x in rest.items()}, constant((c % unit) >> zeros))
        self.factors |= {1 << zeros} - {1}
        x = self.made(inside)
        if not whole:  # the interval of the value, without its constant, is one of x
            x = self.made(inside, *((end - c + c % unit) >> zeros for end in (value.lo, value.hi)))
        shifted = self._shifted(x, amount - zeros)
        result = plus(outside, shifted.terms)
        return self.made(result, value.lo >> amount, value.hi >> amount)

    def _shifted(self, x: Value, amount: int) -> Value:
        """Return floor(x / 2**amount) where nothing comes out of the shift any more.

        - A shift in a shift: floor((floor(y / 2**a) + z) / 2**k) = floor((y + 2**a * z) /
          2**(a + k)), where there is only one such y.
        - A wrap in a shift: floor((y mod 2**b) / 2**k) = floor(y / 2**k) mod 2**(b - k), k < b.
        - A clamp in a shift: the shift keeps order, so it may go first:
          clamp(y, l, h) >> k = clamp(y >> k, l >> k, h >> k).
        """
        lo, hi = x.lo >> amount, x.hi >> amount
        if lo == hi:
            return self.number(lo)
        nested = [m for m, c in x.terms.items() if c == 1 and len(m) == 1 and self._is(m[0], "shr")]
        if len(nested) == 1:
            atom = self.inner[nested[0][0]]
            a = atom.number
            others = plus(x.terms, {nested[0]: 1}, -1)
            joint = self.made(
                plus(atom.terms, others, 1 << a), x.lo << a, (x.hi << a) + (1 << a) - 1
            )
            return self.shift(joint, a + amount)
        ((monomial, c), *more) = x.terms.items()
        if not more and c == 1 and len(monomial) == 1 and self._is(monomial[0], "wrap"):
            atom = self.inner[monomial[0]]
            if amount < atom.number:
                return self.low(self.shift(self.made(atom.terms), amount), atom.number - amount)
        base, f = self._piecewise(x)
        if f.bends and (clamp := clamp_of(f)) is not None:
            offset, least, most = clamp
            low, high = self._range(base)
            y = self.made(plus(base, constant(offset)), low + offset, high + offset)
            return self.clamped(self.shift(y, amount), least >> amount, most >> amount)
        read = self.read(x)
        return self._atom(
            ("shr", key_of(x.terms), amount),
            lambda: _within(shift_right(read, amount), lo, hi),
            x.terms,
        )

    # Wraps.

    def wrap(self, of: IntType, value: Value) -> Value:
        """Return the value of a type that has the low bits of ``value``.

        A signed wrap is one of an unsigned type, half of the range higher:
        wrap(s8, x) = (x + 128) mod 256 - 128.
        """
        if of.holds(value.lo, value.hi):
            return value
        if not of.signed:
            return self.low(value, of.bits)
        half = 1 << (of.bits - 1)
        made = self.low(self.sum(value, self.number(half)), of.bits, half)
        return self.sum(made, self.number(half), -1)

    def low(self, value: Value, bits: int, half: int = 0) -> Value:
        """Return value mod 2**bits; ``half`` will be subtracted for a signed type.

        - Where some multiple of 2**bits brings the whole interval into range, it is added, and
          nothing wraps.
        - Coefficients count modulo 2**bits only, and a wrap inside that has the bits that matter
          does nothing (``low_terms``).
        - A factor 2**z comes out: (2**z * x + r) mod 2**b = 2**z * (x mod 2**(b - z)) + r for
          0 <= r < 2**z.
        """
        if bits == 0:
            return self.number(0)
        unit = 1 << bits
        if value.lo // unit == value.hi // unit:
            return self.sum(value, self.number(value.lo // unit * unit), -1)
        if (chosen := self._of_bit(value, lambda x: x % unit)) is not None:
            return chosen
        terms = self.low_terms(value.terms, bits)
        rest, c = variable_part(terms), terms.get((), 0) % unit
        if not rest:
            return self.number(c)
        zeros = min(trailing_zeros(x) for x in rest.values())
        remainder = c % (1 << zeros)
        x = self.made(plus({m: y >> zeros for m, y in rest.items()}, constant(c >> zeros)))
        unit >>= zeros
        if x.lo // unit == x.hi // unit:
            x = self.sum(x, self.number(x.lo // unit * unit), -1)
            made = self.made(plus(scaled(x.terms, 1 << zeros), constant(remainder)))
            self._note(value, made, IntType(half > 0, bits), half)
            return made
        if (chosen := self._of_bit(x, lambda y: y % unit)) is None:
            read = self.read(x)
            of = IntType(signed=False, bits=bits - zeros)
            chosen = self._atom(
                ("wrap", key_of(x.terms), bits - zeros), lambda: wrap(of, read), x.terms
            )
        return self.made(plus(scaled(chosen.terms, 1 << zeros), constant(remainder)))

    def low_terms(self, terms: Mapping[Monomial, int], bits: int) -> Terms:
        """Return a polynomial that is equal modulo 2**bits.

        - A coefficient may change by multiples of 2**bits.
        - c * (y mod 2**b) * z and c * y * z differ by a multiple of c * 2**b, so where that is a
          multiple of 2**bits, y may take the place of its wrap.
        - c * floor(y / 2**k): of y, only the low bits + k bits matter, less one for each factor 2
          of c.
        """
        made: Terms = {}
        waiting = list(terms.items())
        while waiting:
            check_time()
            monomial, c = waiting.pop()
            c = centred(c, bits)
            if not c:
                continue
            matter = bits - trailing_zeros(c)
            for i, x in enumerate(monomial):
                others = monomial[:i] + monomial[i + 1 :]
                if self._is(x, "wrap") and self.inner[x].number >= matter:
                    replaced = self.inner[x].terms
                elif self._is(x, "shr"):
                    amount = self.inner[x].number
                    inside = self.low_terms(self.inner[x].terms, matter + amount)
                    if inside == self.inner[x].terms:
                        continue
                    replaced = self.shift(self.made(inside), amount).terms
                else:
                    continue
                if len(waiting) + len(made) + len(replaced) > 4 * MOST_TERMS:
                    continue
                waiting += [(joined(others, m), c * d) for m, d in replaced.items()]
                break
            else:
                made[monomial] = made.get(monomial, 0) + c
        return {m: d for m, c in made.items() if (d := centred(c, bits))}

    def _note(self, before: Value, made: Value, of: IntType, half: int) -> None:
        """Keep an example of a wrap inside ``before`` that is gone in ``made``."""
        for monomial in before.terms:
            if len(monomial) != 1 or not self._is(monomial[0], "wrap"):
                continue
            atom = self.inner[monomial[0]]
            added = plus(made.terms, atom.terms, -1)
            if atom.number == of.bits and set(added) == {()}:
                k = min(added[()], added[()] - half, key=abs)  # whether or not that one was signed
                lo, hi = made.lo - half - k, made.hi - half - k
                if k and not of.holds(lo, hi):
                    self.undone.append(Undone(of, hi if hi > of.hi else lo, k))

    def conjunction(self, a: Value, b: Value) -> Value:
        """Return a & b in two's complement.

        - Bits j to k of x are (x mod 2**k) - (x mod 2**j), so a constant is the sum of its runs of
          ones; with a negative constant c, x & c = x - (x & ~c).
        - Where a < 2**j and 2**j divides b, no bit is set in both.
        - (m * [..]) & b is m & b or 0, so it is [..] * (m & b).
        """
        for x, y in ((a, b), (b, a)):
            if y.lo == y.hi:
                return self.masked(x, y.lo)
        if key_of(a.terms) == key_of(b.terms):
            return a
        for x, y in ((a, b), (b, a)):
            zeros = min(trailing_zeros(c) for c in y.terms.values())
            if x.lo >= 0 and x.hi < 1 << zeros:
                return self.number(0)
            ((monomial, c), *more) = x.terms.items()
            if not more and monomial and all(map(is_bit, monomial)):
                return self.product(self.made({monomial: 1}), self.masked(y, c))
        first, second = sorted((self.read(a), self.read(b)), key=lambda each: each.serial)
        return self._atom(("and", (first, second), 0), lambda: first & second, {})

    def masked(self, value: Value, mask: int) -> Value:
        """Return value & mask."""
        if (chosen := self._of_bit(value, lambda x: x & mask)) is not None:
            return chosen
        if mask < 0:
            return self.sum(value, self.masked(value, ~mask), -1)
        found = self.number(0)
        at = 0
        while mask >> at:
            start = at + trailing_zeros(mask >> at)
            at = start + trailing_zeros(~(mask >> start))
            found = self.sum(found, self.low(value, at))
            found = self.sum(found, self.low(value, start), -1)
        return found

    # Comparisons and positive parts.

    def above(self, value: Value) -> Value:
        """Return 1 where value > 0, otherwise 0.

        g * x + c > 0 is x > floor(-c / g) for g > 0, and not x > ceil(c / -g) - 1 for g < 0.
        """
        if value.lo > 0 or value.hi <= 0:
            return self.number(int(value.lo > 0))
        if (chosen := self._of_bit(value, lambda x: int(x > 0))) is not None:
            return chosen
        g, x, c = primitive(value.terms)
        if g > 0:
            return self._exceeds(x, -c // g)
        return self.sum(self.number(1), self._exceeds(x, -(c // g) - 1), -1)

    def _exceeds(self, base: Terms, t: int) -> Value:
        lo, hi = self._range(base)
        if lo > t or hi <= t:
            return self.number(int(lo > t))
        read = self.read(self.made(base, lo, hi))
        return self._atom(("above", key_of(base), t), lambda: greater(read, t), base)

    def zero(self, value: Value) -> Value:
        """Return 1 where value = 0, otherwise 0; g * x + c = 0 is x = -c / g."""
        if value.lo == value.hi or value.lo > 0 or value.hi < 0:
            return self.number(int(value.lo == value.hi == 0))
        if (chosen := self._of_bit(value, lambda x: int(x == 0))) is not None:
            return chosen
        g, base, c = primitive(value.terms)
        lo, hi = self._range(base)
        t = -c // g
        if c % g or t < lo or t > hi:
            return self.number(0)
        read = self.read(self.made(base, lo, hi))
        return self._atom(("equal", key_of(base), t), lambda: equals(read, t), base)

    def positive(self, value: Value) -> Value:
        """Return max(value, 0), by its value as a piecewise linear function of one sum."""
        if value.lo >= 0:
            return value
        if value.hi <= 0:
            return self.number(0)
        if (chosen := self._of_bit(value, lambda x: max(x, 0))) is not None:
            return chosen
        base, f = self._piecewise(value)
        return self._of_piecewise(base, positive_part(f))

    def clamped(self, value: Value, least: int, most: int) -> Value:
        """Return min(max(value, least), most), with least <= most.

        That is least + max(value - least, 0) - max(value - most, 0).
        """
        low = self.positive(self.sum(value, self.number(least), -1))
        high = self.positive(self.sum(value, self.number(most), -1))
        made = self.sum(self.sum(self.number(least), low), high, -1)
        return self.made(made.terms, least, most)

    def _piecewise(self, value: Value) -> tuple[Terms, Piecewise]:
        """Return a sum x and the piecewise linear function of x that a value is.

        Where the value has positive parts of one x, and besides them a multiple of x alone, it is
        a function of that x; otherwise x is the value itself without factor and constant.
        """
        bent = {
            m[0]: c for m, c in value.terms.items() if len(m) == 1 and self._is(m[0], "positive")
        }
        bases = {key_of(self.inner[x].terms) for x in bent}
        if len(bases) == 1:
            base: Terms = dict(next(iter(bases)))
            rest = variable_part(value.terms)
            for x, c in bent.items():
                rest = plus(rest, {(x,): 1}, -c)
            leading, coefficient = in_order(base)[0]
            slope = rest.get(leading, 0) // coefficient
            if not plus(rest, base, -slope):
                bends = {self.inner[x].number: c for x, c in bent.items()}
                f = Piecewise(*self._range(base), value.terms.get((), 0), slope, bends)
                return base, through(f.knots, f)
        g, base, c = primitive(value.terms)
        return base, Piecewise(*self._base_range(base, g, c, value), c, g, {})

    def _of_piecewise(self, base: Terms, f: Piecewise) -> Value:
        made = plus(scaled(base, f.slope), constant(f.start))
        for t, c in f.bends.items():
            made = plus(made, self._over(base, t), c)
        return self.made(made, *f.range)

    def _over(self, base: Mapping[Monomial, int], t: int) -> Terms:
        """Return max(x - t, 0) for a sum x without factor and constant."""
        lo, hi = self._range(base)
        if hi <= t:
            return {}
        if lo >= t:
            return plus(base, constant(-t))
        read = self.read(self.made(base, lo, hi))
        over = self._atom(
            ("positive", key_of(base), t),
            lambda: _within(maximum(read - t, 0), 0, hi - t),
            base,
        )
        return dict(over.terms)

    def _range(
        self, base: Mapping[Monomial, int], lo: int | None = None, hi: int | None = None
    ) -> tuple[int, int]:
        """Return the best interval known of a sum without factor and constant."""
        key = key_of(base)
        low, high = self._ranges.get(key) or self.bounds(base)
        low = low if lo is None else max(low, lo)
        high = high if hi is None else min(high, hi)
        self._ranges[key] = low, high
        return low, high

    # Atoms.

    def _of_bit(self, value: Value, of: Callable[[int], int]) -> Value | None:
        """Return of(value) where the value is c * [..] + d, which has only two values."""
        rest = variable_part(value.terms)
        if len(rest) != 1:
            return None
        ((monomial, c),) = rest.items()
        if not all(map(is_bit, monomial)):
            return None
        d = value.terms.get((), 0)
        return self.made(plus({monomial: of(c + d) - of(d)}, constant(of(d))))

    def _is(self, x: Formula, op: AtomOp) -> bool:
        atom = self.inner.get(x)
        return atom is not None and atom.op == op

    def _atom(
        self,
        key: tuple[AtomOp, object, int],
        build: Callable[[], Formula],
        terms: Mapping[Monomial, int],
    ) -> Value:
        """Return the atom of that key; the first one built serves for all."""
        if key not in self._atoms:
            self._atoms[key] = made = build()
            if made.op not in ("const", "var"):
                self.inner[made] = Atom(key[0], terms, key[2])
        x = self._atoms[key]
        return self.number(x.lo) if x.op == "const" else Value({(x,): 1}, x.lo, x.hi)

    def read(self, value: Value) -> Formula:
        """Return the formula that an atom reads: the polynomial, or with a cut a fresh variable."""
        terms = self.with_sums(value.terms)
        g, base, c = primitive(terms)
        if not base:
            return lift(c)
        if self._is_cut(base, value):
            key = key_of(base)
            if key not in self._fresh:
                name = f"sum {len(self._fresh)}"
                while name in self.taken:
                    name += "'"
                self._fresh[key] = fresh = var(name, *self._base_range(base, g, c, value))
                self.sums[fresh] = Sum(base)
            self.sums[self._fresh[key]].signs.add(1 if g > 0 else -1)
            return self._fresh[key] * g + c
        key = key_of(terms)
        if key not in self._read:
            self._read[key] = _within(built(terms), value.lo, value.hi)
        return self._read[key]

    def with_sums(self, terms: Mapping[Monomial, int]) -> Terms:
        """Return a polynomial with fresh variables for the multiples of their sums in it."""
        made = dict(terms)
        for key, x in self._fresh.items():
            base = dict(key)
            leading, coefficient = in_order(base)[0]
            factor = made.get(leading, 0) // coefficient
            if factor and all(made.get(m, 0) == factor * c for m, c in base.items()):
                made = plus(plus(made, base, -factor), {(x,): factor})
                self.sums[x].signs.add(1 if factor > 0 else -1)
        return made

    def _base_range(self, base: Terms, g: int, c: int, value: Value) -> tuple[int, int]:
        """Return the range of x where g * x + c is a value."""
        lo, hi = (value.lo - c, value.hi - c) if g > 0 else (c - value.hi, c - value.lo)
        return self._range(base, -(-lo // abs(g)), hi // abs(g))

    def _is_cut(self, base: Terms, value: Value) -> bool:
        """Return whether a sum becomes a variable: it must have fewer values than inputs."""
        atoms = {x for monomial in base for x in monomial}
        lone = len(base) == 1 and max(map(len, base)) == 1
        if not self.cut or (lone and all(x.op == "var" for x in atoms)):
            return False
        support = frozenset[Formula]().union(*map(self.variables, atoms))
        lo, hi = self._range(base)
        return hi - lo + 1 < math.prod(x.hi - x.lo + 1 for x in support)

    def variables(self, x: Formula) -> frozenset[Formula]:
        """Return the variables that a node reads."""
        if x not in self._support:
            self._support[x] = frozenset(variables(x))
        return self._support[x]


def _within(x: Formula, lo: int, hi: int) -> Formula:
    """Return the same node with a narrower interval, which its values are known to lie in."""
    if x.op in ("const", "var") or (x.lo >= lo and x.hi <= hi):
        return x
    return node(x.op, x.operands, x.params, max(x.lo, lo), min(x.hi, hi))
