"""What one operator does to what a search knows of its operands, or why the result is no use.

*Maxima.* The maximum over a part of an axis is written as the maximum that it becomes, and so is
what an operator makes of it. That is no lie only as long as such a value is not added up with
those of other parts before it is rescaled, so a value that was made with a partial maximum is
*relative* to it: it is added up by ``accumulate_rescaled``, with that maximum running, or not at
all. One value is relative to one maximum at most. What is lost: sums of terms that are relative to
several maxima; a maximum over tiles element by element, before the one along the axis.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from mlc_course.mugraph import ops
from mlc_course.mugraph.arithmetic import Shape
from mlc_course.mugraph.ops import Op
from mlc_course.mugraph.search.abstract import Abstract, AbstractArithmetic
from mlc_course.mugraph.search.expr import Cancelled, Poly
from mlc_course.mugraph.search.labels import Dims, result_dims

NO_PART = "its expression is no part of the goal"
CANCELS = "something cancels"
EQUAL = "equal to a value that is known"
TWO_MAXIMA = "relative to two maxima"
NOT_RESCALED = "relative to a maximum, and not rescaled"
NO_CHANGE = "the same in every iteration"
TOO_LARGE = "more operators than the limit"
NO_VALUE = "the test field has no value for it"

Reference = int | Literal["own"] | None


class Refused(Exception):
    """A value that is no use; ``reason`` is one of the above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Facts:
    """What is known of a value without computing it.

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
    """Is there a place where both are? What is the same in every iteration is there in each."""
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
    """An operator without a memory. ``cut`` are the dimensions that open loops cut.

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
    """The maximum that the result is relative to; raises ``Refused`` for two of them."""
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
    """Shape and expression of the result; raises ``Refused`` where something cancels."""
    tensors = [Abstract(m.among, each.shape, each.poly) for each in operands]
    try:
        made: Abstract = op.meaning(m, *tensors, **attributes)
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
    """All that is known of the result."""
    dims = result_dims(op, [each.dims for each in operands], attributes)
    varies = frozenset[int]().union(*(each.varies for each in operands))
    level = max(each.level for each in operands)
    closed = any(each.closed for each in operands)
    return Facts(level, made.shape, dims, made.poly, varies, closed, reference)


def carried(
    op: Op, x: Facts, r: Facts | None, *, rescales: bool, turns: int, m: AbstractArithmetic
) -> Facts:
    """An accumulator over the innermost open loop, which turns so often, or a running value.

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
    """Of partial maxima; it is relative to itself as long as a loop is open that it changes in."""
    if x.reference != "own":
        raise Refused(NOT_RESCALED)
    poly = m.among.largest(x.poly)
    if op is ops.running_max:
        return replace(x, poly=poly)
    varies = x.varies - {x.level - 1}
    return Facts(x.level - 1, x.shape, x.dims, poly, varies, True, "own" if varies else None)
