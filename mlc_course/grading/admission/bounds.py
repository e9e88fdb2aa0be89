"""A proof that a program stays inside its buffers, or the iteration in which it does not.

Two ways, both exact in what they say: the range of each index over all iterations, which is
enough for most; else every iteration of the loops that the index depends on, with the conditions
that hold there, evaluated in NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UnsafeProgram
from mlc_course.grading.admission.scalar_types import shown
from mlc_course.tensor_program.tir import (
    LIMITS,
    MEANINGS,
    Bound,
    Expr,
    Guard,
    Repeat,
    Step,
    TensorLoad,
    Touch,
    Var,
    kind_of,
    operands,
    tirx,
)

OPERATIONS = 400_000_000  # on the indices and conditions of one program, one for each iteration
AT_ONCE = 1 << 16

ONE_ELEMENT = "the buffer has one element along this axis: which index is always 0?"
GUARD = "is it the right loop, with the right sign? If so, T.if_then_else guards the access"


@dataclass(frozen=True, eq=False)
class Known:
    """An integer: its smallest and largest value, and the loops that it depends on.

    ``size`` bounds the absolute value of each part of it when sums are multiplied out, because TVM
    makes ``i * 8 - 8000`` of ``(i - 1000) * 8``.
    """

    low: int
    high: int
    size: int
    loops: frozenset[Repeat] = frozenset()


@dataclass(frozen=True, eq=False)
class Fact:
    """A condition that holds (or, with ``holds`` False, does not) in the place under view."""

    condition: Expr
    holds: bool
    loops: frozenset[Repeat]


Points = dict[Repeat, NDArray[np.int64]]


def check_bounds(steps: Sequence[Step]) -> None:
    """Every index of every access is in its buffer, every block iterator in its domain.

    Arithmetic is that of integers without overflow; an index that may overflow is refused, also
    when TVM regroups it. What holds inside a ``Select`` is not used: both of its sides are
    evaluated. Raises ``UnsafeProgram``, also for an index that depends on data and for one that
    takes more than ``OPERATIONS`` to check.
    """
    _Prover().steps(steps, ())


class _Prover:
    def __init__(self) -> None:
        self.known: dict[Var, Known | None] = {}  # None: depends on data, or may overflow
        self.values: dict[Var, Expr] = {}
        self.operations_left = OPERATIONS

    def steps(self, steps: Sequence[Step], facts: tuple[Fact, ...]) -> None:
        for step in steps:
            match step:
                case Touch():
                    verb = "writes" if step.writes else "reads"
                    for axis, (index, extent) in enumerate(
                        zip(step.indices, step.buffer.shape, strict=True)
                    ):
                        where = f"block {step.block} {verb} {step.buffer.name}, axis {axis}"
                        self.inside(where, index, int(extent), facts)
                case Bound():
                    if step.extent is not None:
                        where = f"block iterator {step.var.name}"
                        self.inside(where, step.value, step.extent, facts)
                    self.define(step.var, step.value)
                case Guard():
                    self.steps(step.then, (*facts, *self.facts(step.condition, True)))
                    self.steps(step.otherwise, (*facts, *self.facts(step.condition, False)))
                case Repeat():
                    end = step.start + step.extent
                    size = max(abs(step.start), abs(end))
                    known = Known(step.start, end - 1, size, frozenset([step]))
                    if step.var in self.known:
                        self.refuse_second_meaning(step.var, known)
                    self.known[step.var] = known
                    self.steps(step.body, facts)

    def facts(self, condition: Expr, holds: bool) -> Iterator[Fact]:
        """The parts of a condition that can be relied upon: all but those that depend on data."""
        if type(condition) is (tirx.And if holds else tirx.Or):
            yield from self.facts(condition.a, holds)
            yield from self.facts(condition.b, holds)
        elif isinstance(condition, tirx.Not):
            yield from self.facts(condition.a, not holds)
        elif (known := self.range_of(condition)) is not None:
            yield Fact(condition, holds, known.loops)

    def range_of(self, expr: Expr) -> Known | None:
        """The range of an integer; None when it depends on data or may overflow its type."""
        match expr:
            case tirx.IntImm():
                return Known(int(expr.value), int(expr.value), abs(int(expr.value)))
            case tirx.Var():
                return self.known.get(expr)
            case tirx.Let():
                self.define(expr.var, expr.value)
                return self.range_of(expr.body)
            case TensorLoad():
                return None
        parts = [self.range_of(each) for each in operands(expr)]
        known = [part for part in parts if part is not None]
        meaning, limits = MEANINGS.get(kind_of(expr)), LIMITS.get(str(expr.ty.dtype))
        if len(known) < len(parts) or meaning is None or limits is None:
            return None
        low, high = meaning.ends(*((part.low, part.high) for part in known))
        size = _size(expr, [part.size for part in known])
        if low < limits[0] or high > limits[1] or size > limits[1]:
            return None
        return Known(low, high, size, frozenset().union(*(part.loops for part in known)))

    def define(self, var: Var, value: Expr) -> None:
        """One variable has one meaning in the whole program, or none that is used here."""
        known = self.range_of(value)
        if var in self.known and not value.same_as(self.values.get(var)):
            self.refuse_second_meaning(var, known)
        self.known[var], self.values[var] = known, value

    def refuse_second_meaning(self, var: Var, known: Known | None) -> None:
        if known is not None or self.known[var] is not None:
            raise UnsafeProgram(
                f"variable {var.name} is defined twice",
                expected="a variable of its own for each loop, block iterator and let",
                got=var.name,
            )

    def inside(self, where: str, index: Expr, extent: int, facts: tuple[Fact, ...]) -> None:
        """Raises ``UnsafeProgram`` unless 0 <= index < extent wherever the facts hold."""
        known = self.range_of(index)
        if known is None:
            raise UnsafeProgram(
                f"{where}: the index depends on data, or may overflow",
                expected="an index made of loop variables and constants",
                got=shown(index),
            )
        if known.low >= 0 and known.high < extent:
            return
        loops = known.loops
        used = [fact for fact in facts if fact.loops <= loops]
        witness = self.outside(where, index, extent, loops, used)
        while witness and (more := [fact for fact in facts if fact not in used]):
            more = [fact for fact in more if fact.loops & loops] or more
            used += more
            loops = loops.union(*(fact.loops for fact in more))
            witness = self.outside(where, index, extent, loops, used)
        if witness:
            raise UnsafeProgram(
                f"{where}: the index leaves the buffer",
                expected=f"0 <= {shown(index)} < {extent}",
                got=witness,
                hint=ONE_ELEMENT if extent == 1 else GUARD,
            )

    def outside(
        self,
        where: str,
        index: Expr,
        extent: int,
        loops: frozenset[Repeat],
        facts: Sequence[Fact],
    ) -> str:
        """An iteration of the loops in which the facts hold and the index is outside, or ""."""
        order = sorted(loops, key=lambda loop: str(loop.var.name))
        shape = [loop.extent for loop in order]

        def spend(points: int) -> None:
            self.operations_left -= points
            if self.operations_left < 0:
                raise UnsafeProgram(
                    f"{where}: too many iterations to check",
                    expected=f"at most {OPERATIONS:,} operations on all indices",
                    got=" x ".join(f"{loop.var.name} ({loop.extent})" for loop in order),
                    hint="a simpler index, or a condition on the same loops as the index",
                )

        spend(prod(shape))
        for first in range(0, prod(shape), AT_ONCE):
            flat = np.arange(first, min(first + AT_ONCE, prod(shape)))
            at = np.unravel_index(flat, shape) if shape else ()
            points = {
                loop: i.astype(np.int64) + loop.start for loop, i in zip(order, at, strict=True)
            }
            evaluate = _Evaluator(points, self.values, functools.partial(spend, len(flat)))
            value = evaluate(index)
            bad = (value < 0) | (value >= extent)
            for fact in facts:
                bad = bad & (evaluate(fact.condition).astype(bool) == fact.holds)
            bad = np.broadcast_to(bad, flat.shape)
            if bad.any():
                i = int(bad.argmax())
                values = ", ".join(f"{loop.var.name} = {points[loop][i]}" for loop in order)
                got = np.broadcast_to(value, flat.shape)[i]
                return f"{got}" + (f" at {values}" if values else "")
        return ""


def _size(expr: Expr, sizes: list[int]) -> int:
    """A bound on every part of an expression when sums are multiplied out, from its operands'."""
    match expr:
        case tirx.Add() | tirx.Sub():
            return sum(sizes)
        case tirx.Mul():
            return prod(sizes)
    return 1 if str(expr.ty.dtype) == "bool" else max(sizes)


class _Evaluator:
    """Integer expressions over many iterations at once; their ranges are known to fit.

    ``spend`` is called before each operation.
    """

    def __init__(self, points: Points, values: dict[Var, Expr], spend: Callable[[], None]) -> None:
        self.values, self.spend = values, spend
        self.seen: dict[Var, Any] = {loop.var: points[loop] for loop in points}

    def __call__(self, expr: Expr) -> Any:
        self.spend()
        match expr:
            case tirx.IntImm():
                return np.int64(int(expr.value))
            case tirx.Var():
                if expr not in self.seen:
                    self.seen[expr] = self(self.values[expr])
                return self.seen[expr]
            case tirx.Let():
                return self(expr.body)
        return MEANINGS[kind_of(expr)].values(*(self(each) for each in operands(expr)))
