"""Is every index of a kernel within its extent? Decided at full size, without running it.

Each variable has a least and a greatest value, which conditions around a statement narrow. The
bounds of an index follow (``index_expressions.interval``), exactly where no variable occurs twice.
Where that does not suffice, they are found for each thread of a block by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from mlc_course.mugraph.kernel_checks.kernel_walk import copied
from mlc_course.mugraph.kernels import (
    CONST,
    VAR,
    Apply,
    Body,
    Compute,
    Copy,
    Expr,
    Guard,
    Kernel,
    Loop,
    Read,
    Select,
    Statement,
    Threads,
    Value,
    body_lines,
    expr,
    interval,
    linear_form,
    substituted,
    var,
    variables,
)

Range = tuple[int, int]


@dataclass(frozen=True)
class Outside:
    """An index that is not shown to be within the extent of its axis."""

    statement: str
    read: Read
    axis: int
    found: Range

    def __str__(self) -> str:
        low, high = self.found
        return (
            f"{self.read.buffer.name}, axis {self.axis}: {self.read.index[self.axis]} may be "
            f"{low} to {high}, of 0 to {self.read.buffer.shape[self.axis] - 1} "
            f"(at: {self.statement})"
        )


def outside(kernel: Kernel) -> Outside | None:
    """Return the first index of a kernel that is not shown to be within bounds, or None."""
    ranges = {name: (0, extent - 1) for name, extent in kernel.grid}
    known = _Known(ranges, wholes=ranges)
    return next(_outside(kernel.body, known), None)


@dataclass(frozen=True)
class _Known:
    """Least and greatest values of variables, and of sums that conditions speak of.

    ``wholes`` are the ranges of variables without any condition, ``conditions`` those that hold, or
    do not; ``thread`` is the variable that numbers threads.
    """

    ranges: Mapping[str, Range]
    sums: Mapping[Expr, Range] = field(default_factory=dict)
    wholes: Mapping[str, Range] = field(default_factory=dict)
    conditions: tuple[tuple[Expr, bool], ...] = ()
    thread: str = ""

    def of(self, e: Expr) -> Range:
        base, number = _without_number(e)
        low, high = self._of_parts(base)
        form = linear_form(base)
        for known, (least, most) in self.sums.items():
            rest = dict(form)
            for term, factor in linear_form(known).items():
                rest[term] = rest.get(term, 0) - factor
            if len(rest) > len(form) or sum(map(bool, rest.values())) >= len(form):
                continue  # the sum is not a part of this one
            ends = [self._times(term, factor) for term, factor in rest.items() if factor]
            low = max(low, least + sum(a for a, _ in ends))
            high = min(high, most + sum(b for _, b in ends))
        return low + number, high + number

    def _times(self, term: Expr, factor: int) -> Range:
        a, b = (factor * each for each in self._of_parts(term))
        return min(a, b), max(a, b)

    def _of_parts(self, e: Expr) -> Range:
        """Return the bounds of an expression from those of its parts, as conditions have them."""
        if e.op in (CONST, VAR):
            return interval(e, self.ranges)
        left, right = (self.of(each) for each in e.args)
        return interval(Expr(e.op, (var("left"), var("right"))), {"left": left, "right": right})

    def along(self, name: str, extent: int) -> _Known:
        """Return what is known of a new variable, and of others than an outer one of this name."""
        sums = {e: found for e, found in self.sums.items() if name not in variables(e)}
        kept = tuple(each for each in self.conditions if name not in variables(each[0]))
        new = {name: (0, extent - 1)}
        thread = "" if self.thread == name else self.thread
        return _Known({**self.ranges, **new}, sums, {**self.wholes, **new}, kept, thread)

    def by_thread(self, e: Expr) -> Range:
        """Return the bounds of an index over all threads that are here, one after the other."""
        least, most = self.wholes[self.thread]
        found: list[Range] = []
        for number in range(least, most + 1):
            own = {self.thread: number}
            here: _Known | None = _Known(self.wholes)
            for condition, holds in self.conditions:
                here = here and here.where(substituted(condition, own), holds=holds)
            if here:
                found.append(here.of(substituted(e, own)))
        return (min(low for low, _ in found), max(high for _, high in found)) if found else (0, -1)

    def where(self, condition: Expr, *, holds: bool) -> _Known | None:
        """Return what is known where a condition holds, or does not; None where it cannot be so."""
        found = self._where(condition, holds=holds)
        return found and replace(found, conditions=(*self.conditions, (condition, holds)))

    def _where(self, condition: Expr, *, holds: bool) -> _Known | None:
        match condition:
            case Expr("&", (a, b)) if holds:
                first = self.where(a, holds=True)
                return first and first.where(b, holds=True)
            case Expr("<", (a, Expr("const", (limit,)))):
                low, high = self.of(a)
                new = (low, min(high, limit - 1)) if holds else (max(low, limit), high)
                return self._narrowed(a, new)
            case Expr("==", (a, Expr("const", (number,)))):
                low, high = self.of(a)
                if holds:
                    return self._narrowed(a, (max(low, number), min(high, number)))
                return self._narrowed(a, (low + (low == number), high - (high == number)))
            case Expr("const", (value,)):
                return self if bool(value) == holds else None
        return self

    def _narrowed(self, e: Expr, to: Range) -> _Known | None:
        if to[0] > to[1]:
            return None
        base, number = _without_number(e)
        now = to[0] - number, to[1] - number
        if base.op == VAR:
            return replace(self, ranges={**self.ranges, base.args[0]: now})
        return replace(self, sums={**self.sums, base: now})


def _without_number(e: Expr) -> tuple[Expr, int]:
    """Return an expression as a sum of another one and a number."""
    if e.op == "+" and e.args[1].op == CONST:
        return e.args[0], e.args[1].args[0]
    return (expr(0), e.args[0]) if e.op == CONST else (e, 0)


def _outside(body: Body, known: _Known) -> Iterator[Outside]:
    for each in body:
        match each:
            case Loop(name, extent, inside) | Threads(name, extent, inside):
                inner = known.along(name, extent)
                if isinstance(each, Threads):
                    inner = replace(inner, thread=name)
                if extent:
                    yield from _outside(inside, inner)
            case Guard(when, inside, otherwise):
                for part, holds in ((inside, True), (otherwise, False)):
                    narrowed = known.where(when, holds=holds)
                    if narrowed:
                        yield from _outside(part, narrowed)
            case Compute():
                yield from _of_statement(each, each, known)
            case Copy():
                yield from _of_statement(copied(each), each, known)


def _of_statement(s: Compute, said: Statement, known: _Known) -> Iterator[Outside]:
    for axis in s.axes:
        known = known.along(axis.name, axis.extent)
    for read, here in ((Read(s.target, s.index), known), *_reads(s.value, known)):
        for axis_number, (e, extent) in enumerate(zip(read.index, read.buffer.shape, strict=True)):
            low, high = here.of(e)
            if (low < 0 or high >= extent) and here.thread in variables(e):
                low, high = here.by_thread(e)
            if low < 0 or high >= extent:
                yield Outside(next(iter(body_lines((said,)))), read, axis_number, (low, high))


def _reads(value: Value, known: _Known) -> Iterator[tuple[Read, _Known]]:
    match value:
        case Read():
            yield value, known
        case Apply(_, args):
            for each in args:
                yield from _reads(each, known)
        case Select(when, then, otherwise):
            for part, holds in ((then, True), (otherwise, False)):
                narrowed = known.where(when, holds=holds)
                if narrowed:
                    yield from _reads(part, narrowed)
