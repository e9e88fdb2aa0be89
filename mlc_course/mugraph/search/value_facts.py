"""Facts of a value: what a search knows of it without computing it, and why it is refused.

*Maxima.* The maximum over a part of an axis is written as the maximum that it becomes, and so is
what an operator makes of it. That is right only as long as such a value is not added up with
those of other parts before it is rescaled, so a value that was made with a partial maximum is
*relative* to it: it is added up by ``accumulate_rescaled``, with that maximum running, or not at
all. One value is relative to one maximum at most. What is lost: sums of terms that are relative to
several maxima; a maximum over tiles element by element, before the one along the axis.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mlc_course.mugraph.expressions import (
    Abstract,
    AbstractArithmetic,
    Cancelled,
    Poly,
    Role,
    TooLong,
)
from mlc_course.mugraph.ir import Op, Shape, ops
from mlc_course.mugraph.search.dimensions import Dims, result_dims
from mlc_course.mugraph.verify import Residues

NO_PART = "its expression is no part of the goal"
CANCELS = "something cancels"
TOO_LONG = "its expression is too long"
EQUAL = "equal to a value that is known"
TWO_MAXIMA = "relative to two maxima"
NOT_RESCALED = "relative to a maximum, and not rescaled"
NO_CHANGE = "the same in every iteration"
TOO_LARGE = "more operators than the limit"
NO_VALUE = "the test field has no value for it"

Reference = int | Literal["own"] | None


class Refused(Exception):
    """An error: a value is refused; ``reason`` is one of the above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Facts:
    """The facts of a value that are known without computing it.

    ``level``: how many loops have to be open where it lives. ``varies``: with which of them it
    changes, by number, 0 the outermost. ``closed``: an accumulator over a loop that stood inside
    these is behind it, so that it is not there in that loop. ``reference``: the number of the
    maximum that it is relative to, or "own" for such a maximum.
    """

    level: int
    shape: Shape
    dims: Dims
    poly: Poly
    varies: frozenset[int] = frozenset()
    closed: bool = False
    reference: Reference = None


def meet(a: Facts, b: Facts) -> bool:
    """Tell whether two values meet: one that is the same in every iteration is in each of them."""
    if a.level == b.level:
        return True
    return not (a if a.level < b.level else b).closed


def applied(
    op: Op,
    operands: Sequence[Facts],
    references: Collection[int],
    attributes: Mapping[str, Any],
    cut: Collection[str],
    m: AbstractArithmetic,
) -> Facts:
    """Apply an operator that is no accumulator. ``cut`` are the dimensions that open loops cut.

    ``references`` are what the operands are relative to. Raises ``Refused``.
    """
    reference = relative_to(op, operands, references, attributes, cut)
    return facts_of(op, operands, attributes, meant(op, operands, attributes, m), reference)


def relative_to(
    op: Op,
    operands: Sequence[Facts],
    references: Collection[int],
    attributes: Mapping[str, Any],
    cut: Collection[str],
) -> Reference:
    """Return the maximum that the result is relative to; raise ``Refused`` for two of them."""
    if len(references) > 1:
        raise Refused(TWO_MAXIMA)
    reference: Reference = next(iter(references), None)
    if op is ops.reduce_max and operands[0].dims[attributes["axis"]] in cut:
        if reference is not None:
            raise Refused(TWO_MAXIMA)
        return "own"
    return reference


def meant(
    op: Op, operands: Sequence[Facts], attributes: Mapping[str, Any], m: AbstractArithmetic
) -> Abstract:
    """Return shape and expression; raise ``Refused`` where something cancels, or is too long."""
    tensors = [Abstract(m.among, each.shape, each.poly) for each in operands]
    try:
        made: Abstract = op.meaning(m, *tensors, **attributes)
    except TooLong:
        raise Refused(TOO_LONG) from None
    except Cancelled:
        raise Refused(CANCELS) from None
    return made


def facts_of(
    op: Op,
    operands: Sequence[Facts],
    attributes: Mapping[str, Any],
    made: Abstract,
    reference: Reference,
) -> Facts:
    """Return the facts of the result."""
    dims = result_dims(op, [each.dims for each in operands], attributes)
    varies = frozenset[int]().union(*(each.varies for each in operands))
    level = max(each.level for each in operands)
    closed = any(each.closed for each in operands)
    return Facts(level, made.shape, dims, made.poly, varies, closed, reference)


def carried(
    op: Op, x: Facts, r: Facts | None, *, rescales: bool, turns: int, m: AbstractArithmetic
) -> Facts:
    """Apply an accumulator, or a running value, over an innermost loop of ``turns`` iterations.

    ``rescales``: x is relative to r. The reference of what comes out of it is the caller's to say.
    Raises ``Refused``.
    """
    level = x.level - 1
    if level not in x.varies:
        raise Refused(NO_CHANGE)
    if op in (ops.running_max, ops.accumulate_max):
        return _maximum(op, x, m)
    if op is ops.accumulate_rescaled:
        if r is None or not rescales:
            raise Refused(NOT_RESCALED)
    elif x.reference is not None:
        raise Refused(NOT_RESCALED)
    poly = m.among.times(x.poly, turns)
    return Facts(level, x.shape, x.dims, poly, x.varies - {level}, closed=True)


def _maximum(op: Op, x: Facts, m: AbstractArithmetic) -> Facts:
    """Combine partial maxima; the result is relative to itself in loops with which it changes."""
    if x.reference != "own":
        raise Refused(NOT_RESCALED)
    poly = m.among.largest(x.poly)
    if op is ops.running_max:
        return replace(x, poly=poly)
    varies = x.varies - {x.level - 1}
    return Facts(x.level - 1, x.shape, x.dims, poly, varies, True, "own" if varies else None)


@dataclass(frozen=True)
class Made:
    """One way to make a value: an operator, its attributes, and the numbers of its operands."""

    op: Op | str  # the name of an input
    operands: tuple[int, ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        if isinstance(self.op, str):
            return self.op
        given = (*(f"%{n}" for n in self.operands), *(f"{k}={v}" for k, v in self.attributes))
        return f"{self.op.name}({', '.join(given)})"


@dataclass(frozen=True)
class Use:
    """An operator with its attributes: as a graph keeps them, and with sizes put in.

    ``resolved`` has the sizes of expressions, ``tested`` those of residues.
    """

    op: Op
    attributes: tuple[tuple[str, Any], ...] = ()
    resolved: Mapping[str, Any] = field(default_factory=dict)
    tested: Mapping[str, Any] = field(default_factory=dict)

    def along(self, axis: int) -> Use:
        """The same with an axis."""
        order = list(self.op.attributes)
        given = sorted((*self.attributes, ("axis", axis)), key=lambda each: order.index(each[0]))
        both = ({**each, "axis": axis} for each in (self.resolved, self.tested))
        return Use(self.op, tuple(given), *both)


@dataclass(eq=False)
class Kept:
    """A value in the bank; ``operators`` are those of its first way, by the values they make."""

    number: int
    facts: Facts
    residues: Residues
    ways: list[Made]
    depth: int
    operators: frozenset[int]
    role: Role | None = None  # None where nothing is asked of its expression

    @property
    def reference(self) -> int | None:
        """The number of the maximum that it is relative to."""
        known = self.facts.reference
        return self.number if known == "own" else known

    @property
    def running_of(self) -> int | None:
        """The number of the maximum whose running value it is."""
        first = self.ways[0]
        return first.operands[0] if first.op is ops.running_max else None
