"""Strings of bits in parts, each the low bits of a formula: what registers hold.

A register of 32 lanes is 32 parts. To cut out a lane, or to put one there, takes no arithmetic, so
that lanes which are only moved stay the formulas that they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mlc_course.errors import TextError
from mlc_course.instruction_selection.integers import (
    Formula,
    IntType,
    concat,
    shift_right,
    where,
    wrap,
)


@dataclass(frozen=True)
class Part:
    """Bits ``low`` to ``low + bits - 1`` of a string: the low bits of ``formula``."""

    low: int
    bits: int
    formula: Formula

    @property
    def end(self) -> int:
        return self.low + self.bits

    @property
    def number(self) -> Formula:
        """The formula where so many bits hold its values, signed or not; otherwise, unsigned."""
        formula = self.formula
        if any(
            IntType(signed, self.bits).holds(formula.lo, formula.hi) for signed in (False, True)
        ):
            return formula
        return wrap(IntType(False, self.bits), formula)

    def within(self, low: int, end: int) -> Part:
        """Return the bits of this part that are in a range, at their place in the string."""
        first, last = max(self.low, low), min(self.end, end)
        if (first, last) == (self.low, self.end):
            return self
        skipped, formula = first - self.low, self.formula
        if formula.op == "wrap" and _wrapped_bits(formula) >= self.bits:
            formula = formula.operands[0]
        kept = IntType(False, last - first)
        return Part(first, last - first, wrap(kept, shift_right(formula, skipped)))


@dataclass(frozen=True)
class Bits:
    """A string of bits; ``parts`` are in order and do not overlap, but may leave out bits."""

    parts: tuple[Part, ...] = ()

    @property
    def bits(self) -> int:
        return self.parts[-1].end if self.parts else 0

    def cut(self, low: int, bits: int) -> Bits:
        """Return bits ``low`` to ``low + bits - 1``.

        Raises:
            TextError: nothing was written to some of them.
        """
        end = low + bits
        parts = [x.within(low, end) for x in self.parts if x.low < end and low < x.end]
        if sum(x.bits for x in parts) != bits:
            raise TextError(
                "bits are read that nothing was written to",
                expected="bits of an operand, or some that were assigned before",
                got=f"bits {end - 1} to {low}",
            )
        return Bits(tuple(Part(x.low - low, x.bits, x.formula) for x in parts))

    def put(self, low: int, bits: int, value: Formula | Bits) -> Bits:
        """Return the string with bits ``low`` to ``low + bits - 1`` replaced by a value's."""
        if isinstance(value, Bits) and value.bits >= bits:
            new = value.cut(0, bits).parts
        else:
            new = (Part(0, bits, number(value)),)
        end = low + bits
        before = [x.within(0, low) for x in self.parts if x.low < low]
        after = [x.within(end, x.end) for x in self.parts if x.end > end]
        return Bits((*before, *(Part(x.low + low, x.bits, x.formula) for x in new), *after))

    @property
    def number(self) -> Formula:
        """The number of all bits; of more than one part, it is unsigned."""
        if len(self.parts) == 1:
            return self.parts[0].number
        return self.read(signed=False)

    def read(self, *, signed: bool) -> Formula:
        """Return the number of all bits as one with a sign, or without."""
        parts = self.cut(0, self.bits).parts
        to = IntType(signed, self.bits)
        if len(parts) == 1:
            return wrap(to, parts[0].formula)
        unsigned = [wrap(IntType(False, x.bits), x.formula) for x in parts]
        if len({x.bits for x in parts}) == 1:
            return concat(unsigned, to)
        shifted = [each << x.low for each, x in zip(unsigned, parts, strict=True)]
        return wrap(to, sum(shifted[1:], shifted[0]))


Value: TypeAlias = "Formula | Bits"


def number(value: Value) -> Formula:
    """Return a formula unchanged, and the number of a string of bits."""
    return value.number if isinstance(value, Bits) else value


def of_lanes(lanes: Sequence[Formula], of: IntType) -> Bits:
    """Return lanes of a type side by side, the first lowest."""
    return Bits(tuple(Part(i * of.bits, of.bits, x) for i, x in enumerate(lanes)))


def part_by_part(
    left: Bits, right: Bits, joined: Callable[[Formula, Formula], Formula], *, unsigned: bool
) -> Bits:
    """Return what a function makes of the bits that both strings have, over their common parts."""
    found = []
    for low, bits, x, y in _common(left, right):
        if unsigned:
            x, y = (wrap(IntType(False, bits), each) for each in (x, y))
        found.append(Part(low, bits, joined(x, y)))
    return Bits(tuple(found))


def either(condition: Formula, yes: Value, no: Value) -> Value:
    """Return one value where the condition is not 0, otherwise the other.

    Of two strings, bits that only one of them has are left out.
    """
    if yes is no:
        return yes
    if isinstance(yes, Bits) and isinstance(no, Bits):
        return part_by_part(yes, no, lambda x, y: where(condition, x, y), unsigned=False)
    return where(condition, number(yes), number(no))


def _common(left: Bits, right: Bits) -> Iterator[tuple[int, int, Formula, Formula]]:
    """Yield each range in which both strings have one part: its place, its bits, two numbers."""
    i = j = 0
    while i < len(left.parts) and j < len(right.parts):
        x, y = left.parts[i], right.parts[j]
        low, end = max(x.low, y.low), min(x.end, y.end)
        if low < end:
            yield low, end - low, x.within(low, end).number, y.within(low, end).number
        i, j = i + (x.end == end or x.end <= y.low), j + (y.end == end or y.end <= x.low)


def _wrapped_bits(formula: Formula) -> int:
    to = formula.params[0]
    assert isinstance(to, IntType)
    return to.bits
