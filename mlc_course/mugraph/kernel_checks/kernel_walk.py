"""One walk through a kernel program, for all who run it: checks, values, bounds.

Only serial loops are gone through step by step. Blocks, threads and the iterations of a loop in any
order are array axes, the *lead* axes of a statement; the axes of the statement itself come after
them. So an index expression is evaluated once for all points of a statement in all blocks, and is
an array that NumPy broadcasts.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from mlc_course.deadline import check_time
from mlc_course.errors import GraphError
from mlc_course.mugraph.ir import Array, Shape
from mlc_course.mugraph.kernels import (
    Allocate,
    Apply,
    AwaitCopies,
    Axis,
    Barrier,
    Body,
    Buffer,
    CommitCopies,
    Compute,
    Copy,
    Expr,
    Fetch,
    Guard,
    Kernel,
    Lookup,
    Loop,
    Read,
    Remark,
    Repeat,
    Select,
    SizedKernel,
    Statement,
    Threads,
    Value,
    evaluate,
    reads,
    var,
    variables,
)

EACH = "each thread"  # the axis of a statement that all threads run, outside ``Threads``
Step = Compute | Copy | CommitCopies | AwaitCopies | Allocate | Barrier


@dataclass(frozen=True)
class Lead:
    """A lead axis. ``instance`` tells one run of a loop from the next."""

    name: str
    extent: int
    kind: Literal["block", "thread", "any"]
    instance: int = 0


@dataclass(frozen=True, eq=False)
class Points:
    """The points at which a statement runs: all of the lead axes, or those that a ``mask`` keeps.

    ``numbers`` are the iterations of the serial loops around it. Of equal names the innermost
    counts.
    """

    lead: tuple[Lead, ...]
    numbers: Mapping[str, int]
    mask: Array | None = None

    def along(self, axis: Lead) -> Points:
        """Return these points, each once for every number of one more lead axis."""
        mask = None if self.mask is None else self.mask[..., None]
        others = {name: number for name, number in self.numbers.items() if name != axis.name}
        return Points((*self.lead, axis), others, mask)

    def numbered(self, name: str, number: int) -> Points:
        """Return these points at one iteration of a serial loop."""
        return replace(self, numbers={**self.numbers, name: number})

    def where(self, condition: Expr, *, holds: bool = True) -> Points | None:
        """Return those of the points where a condition holds, or does not; None if there are none.

        A mask is None where a condition says the same of all points.
        """
        kept = np.asarray(self.at(condition), bool) == holds
        if kept.all():
            return self
        mask = kept if self.mask is None else kept & self.mask
        return replace(self, mask=mask) if mask.any() else None

    @property
    def shape(self) -> Shape:
        return tuple(axis.extent for axis in self.lead)

    def at(self, e: Expr, axes: Sequence[Axis] = ()) -> Array:
        """Return the values of an expression, an array of as many axes as lead and ``axes``."""
        return self.among(e, self.variables(axes), len(self.lead) + len(axes))

    def variables(self, axes: Sequence[Axis] = ()) -> dict[str, Any]:
        """Return all variables that an index of a statement with these axes may use."""
        rank = len(self.lead) + len(axes)
        found: dict[str, Any] = {}
        for place, lead in enumerate(self.lead):
            found[lead.name] = numbered_axis(place, lead.extent, rank)
        found.update(self.numbers)
        for place, axis in enumerate(axes, len(self.lead)):
            found[axis.name] = numbered_axis(place, axis.extent, rank)
        return found

    @staticmethod
    def among(e: Expr, values: Mapping[str, Any], rank: int) -> Array:
        """Return the values of an expression, given its variables, as an array of this rank."""
        made = np.asarray(evaluate(e, values))
        return made.reshape((1,) * (rank - made.ndim) + made.shape)

    def number_along(self, place: int, rank: int) -> Array:
        """Return each point's number along a lead axis."""
        return numbered_axis(place, self.lead[place].extent, rank)

    def flat(self, kinds: Sequence[str], rank: int) -> Array:
        """Return each point's number among all of the lead axes of some kinds."""
        total: Any = np.zeros((1,) * rank, np.int64)
        for place, axis in enumerate(self.lead):
            if axis.kind in kinds:
                total = total * axis.extent + self.number_along(place, rank)
        return np.asarray(total)

    @property
    def in_threads(self) -> bool:
        return any(axis.kind == "thread" for axis in self.lead)


@lru_cache(maxsize=1 << 12)
def numbered_axis(place: int, extent: int, rank: int) -> Array:
    """Return 0, 1, ... along one axis of an array of this rank."""
    return np.arange(extent).reshape((1,) * place + (extent,) + (1,) * (rank - place - 1))


class Walk(ABC):
    """Runs a kernel: every statement in turn, at all its points at once.

    ``stopped`` ends it before its time. Raises ``GraphError`` for a kernel whose sizes are not
    filled in.
    """

    def __init__(self, kernel: Kernel) -> None:
        if isinstance(kernel, SizedKernel):
            raise GraphError(
                f"{kernel.name}: a kernel of all sizes is not walked",
                got=", ".join(kernel.sizes),
                hint="fill in sizes (SizedKernel.at)",
            )
        self.kernel = kernel
        self.stopped = False
        self._instances = itertools.count(1)

    def run(self) -> None:
        """Run the whole kernel."""
        lead = tuple(Lead(name, extent, "block") for name, extent in self.kernel.grid)
        self._body(self.kernel.body, Points(lead, {}))

    def _body(self, body: Body, points: Points) -> None:
        for each in body:
            if self.stopped:
                return
            self._statement(each, points)

    def _statement(self, statement: Statement, points: Points) -> None:
        check_time()
        match statement:
            case Loop(name, extent, body, "any"):
                axis = Lead(name, extent, "any", next(self._instances))
                self._body(body, points.along(axis))
            case Loop(name, extent, body):
                # buffers that share memory may depend on each other, whatever their statements say
                apart = () if self.kernel.offsets else distributed(statement)
                if apart:
                    self._body(apart, points)
                    return
                for number in range(extent):
                    self._body(body, points.numbered(name, number))
            case Repeat():
                raise AssertionError("a loop of an unknown number of turns")
            case Threads(name, count, body):
                self._body(body, points.along(Lead(name, count, "thread")))
            case Guard(when, body, otherwise):
                for inside, holds in ((body, True), (otherwise, False)):
                    part = points.where(when, holds=holds) if inside else None
                    if part:
                        self._body(inside, part)
            case Remark() | Fetch():  # no meaning
                pass
            case Allocate() | Barrier():
                self.step(statement, points)
            case _:
                if self.kernel.threads > 1 and not points.in_threads:
                    points = points.along(Lead(EACH, self.kernel.threads, "thread"))
                self.step(statement, points)

    @abstractmethod
    def step(self, statement: Step, points: Points) -> None:
        """Run a statement that has no others inside."""


def distributed(loop: Loop) -> tuple[Compute, ...]:
    """Return the statements of a loop, each over all iterations at once; none where they depend.

    before  for l: panel[l, c] = W[l, c]; sum[c] += x[l] * panel[l, c]
    after   panel[l, c] = W[l, c] over l, c; sum[c] += x[l] * panel[l, c] over l, c
    needs   a statement writes what no earlier one reads or writes, and reads of what an earlier one
            writes the same iteration's part alone; one that writes no part of its own adds products
    why     a walk takes time for every statement that it runs
    """
    found: list[Compute] = []
    for each in loop.body:
        match each:
            case Remark() | Fetch():
                continue
            case Compute() if _is_apart(each, found, loop.name):
                axes = (Axis(loop.name, loop.extent), *each.axes)
                found.append(replace(each, axes=axes))
            case _:
                return ()
    return tuple(found)


def _is_apart(s: Compute, earlier: Sequence[Compute], loop: str) -> bool:
    number, read = var(loop), list(reads(s.value))
    own = s.target.name
    if loop in {axis.name for axis in s.axes} or own in {r.buffer.name for r in read}:
        return False
    match s.value:
        case Apply("mul", (Read(), Read())) if s.combine == "add":
            pass
        case _ if number not in s.index:
            return False
    for before in earlier:
        touched = {before.target.name, *(r.buffer.name for r in reads(before.value))}
        parts = [place for place, each in enumerate(before.index) if each == number]
        of_it = [r for r in read if r.buffer.name == before.target.name]
        if own in touched:
            return False
        if of_it and not any(all(r.index[p] == number for r in of_it) for p in parts):
            return False
    return True


@dataclass(frozen=True)
class Access:
    """A read of a statement, where its conditions hold (None: everywhere)."""

    read: Read
    mask: Array | None


def accesses(value: Value, points: Points, axes: Sequence[Axis]) -> Iterator[Access]:
    """Yield every read of a value with the points at which it is read.

    In a ``Lookup`` only the row's number is one; the table has that row, its meaning says.
    """

    def inside(value: Value, mask: Array | None) -> Iterator[Access]:
        match value:
            case Read():
                yield Access(value, mask)
            case Apply():
                for each in value.args:
                    yield from inside(each, mask)
            case Lookup():
                yield from inside(value.row, mask)
            case Select(when, then, otherwise):
                holds = np.asarray(points.at(when, axes), bool)
                for part, kept in ((then, holds), (otherwise, ~holds)):
                    kept = kept if mask is None else kept & mask
                    if kept.any():
                        yield from inside(part, None if kept.all() else kept)

    yield from inside(value, None)


def kept_axes(s: Compute) -> tuple[Axis, ...]:
    """Return the axes of a statement that its target's index has; the others are reduced."""
    named = frozenset[str]().union(*map(variables, s.index))
    return tuple(axis for axis in s.axes if axis.name in named)


def copied(s: Copy) -> Compute:
    """Return a copy as a statement over its neighbouring elements."""
    axis = Axis("neighbour", s.width)

    def moved(index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (*index[:-1], index[-1] + var(axis.name))

    return Compute(s.target, moved(s.index), Read(s.source, moved(s.source_index)), (axis,))


def element_number(shape: Shape, index: Sequence[Array]) -> Array:
    """Return the number of an element in its tensor, row by row, whatever its layout."""
    total: Any = 0
    for each, extent in zip(index, shape, strict=True):
        total = total * extent + each
    return np.asarray(total)


@dataclass(frozen=True)
class Whose:
    """How often a memory exists: once for each point of the first lead axes, or for each thread.

    ``prefix`` are the extents of these axes. ``threads`` is the number of threads where each has
    one of its own although the memory was made outside ``Threads``.
    """

    prefix: Shape
    threads: int = 1

    @property
    def copies(self) -> int:
        return math.prod(self.prefix) * self.threads

    def number(self, points: Points, rank: int) -> Array:
        """Return which one of them each point has."""
        total: Any = np.zeros((1,) * rank, np.int64)
        for place, extent in enumerate(self.prefix):
            total = total * extent + points.number_along(place, rank)
        if self.threads > 1:
            total = total * self.threads + points.flat(("thread",), rank)
        return np.asarray(total)


def whose(buffer: Buffer, kernel: Kernel, points: Points) -> Whose:
    """Return how often a buffer exists that is made, or first seen, at these points."""
    match buffer.scope:
        case "global":
            return Whose(())
        case "shared":
            return Whose(tuple(extent for _, extent in kernel.grid))
        case "registers" | "private":
            return Whose(points.shape, 1 if points.in_threads else kernel.threads)
