"""Which threads of a block read and write which elements of its shared memory, and in what order?

Indices do not depend on data, and every block does the same in its shared memory. So one block is
gone through, without values, and everything about it is known: where barriers are needed
(``barriers``), how long each buffer is alive (``memory_plan``), how a layout does
(``shared_layouts``).

The steps of that walk are the ``Threads`` statements: no barrier can be inside one. An asynchronous
copy writes twice, when it sets out and when it is awaited, for in between its elements may change
at any time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from mlc_course.mugraph.ir import Array, Shape
from mlc_course.mugraph.kernels import (
    CONST,
    ROW,
    WARP,
    Apply,
    AwaitCopies,
    Barrier,
    Body,
    Buffer,
    CommitCopies,
    Compute,
    Copy,
    Expr,
    Guard,
    Loop,
    Read,
    Select,
    Statement,
    Threads,
    Value,
    evaluate,
    matrix_product,
    substituted,
    turns,
    var,
    variables,
)

Condition: TypeAlias = tuple[Expr, bool]  # what holds, or does not
Range: TypeAlias = tuple[str, int]
Path: TypeAlias = tuple[int, ...]  # statement, branch, statement, ... from the outermost body in
WIDE = "neighbour"  # the number of an element within a copy


@dataclass(frozen=True)
class Accesses:
    """The elements of a buffer that a statement reads or writes, as a formula.

    The first of ``ranges`` are the threads, the others the loops and axes around the access.
    ``wide`` is the axis along which neighbours are accessed at once, and how many of them.
    Elements ``given`` to a thread of a matrix unit have been loaded by others of its warp. What is
    ``copied`` comes so many at once, whatever it costs: it has to begin at a multiple of them.
    """

    buffer: Buffer
    index: tuple[Expr, ...]
    writes: bool
    ranges: tuple[Range, ...]
    conditions: tuple[Condition, ...] = ()
    wide: Range = ("", 1)
    given: bool = False
    copied: bool = False

    def at(self, numbers: Mapping[str, int]) -> Accesses | None:
        """Return the accesses with numbers for the loops around all threads; None: there are none.

        Two iterations that use the same slot of a ring give the same result.
        """
        kept = list[Condition]()
        for condition, holds in self.conditions:
            now = substituted(condition, numbers)
            if now.op != CONST:
                kept.append((now, holds))
            elif bool(now.args[0]) != holds:
                return None
        index = tuple(substituted(each, numbers) for each in self.index)
        return replace(self, index=index, conditions=tuple(kept))

    def in_some_iteration(self) -> Accesses:
        """Return the accesses in an iteration like any other of the loops around all threads.

        Conditions on the number of the iteration are taken to hold.
        """
        own = {name for name, _ in self.ranges}

        def numbered(e: Expr) -> Expr:
            return substituted(e, {name: 1 for name in variables(e) - own})

        kept = tuple(each for each in self.conditions if variables(each[0]) <= own)
        return replace(self, index=tuple(map(numbered, self.index)), conditions=kept)

    def points(self, expressions: Sequence[Expr]) -> tuple[list[Array], Array]:
        """Return the values of expressions at all points, threads along the first axis, and a mask.

        Axes that no expression and no condition uses are left out.
        """
        conditions = [condition for condition, _ in self.conditions]
        used = frozenset[str]().union(*map(variables, (*expressions, *conditions)))
        (thread, count), *others = self.ranges
        ranges = [(thread, count), *(each for each in others if each[0] in used)]
        shape = tuple(extent for _, extent in ranges)
        values: dict[str, Any] = {}
        for place, (name, extent) in enumerate(ranges):
            along = (1,) * place + (extent,) + (1,) * (len(ranges) - place - 1)
            values[name] = np.arange(extent).reshape(along)
        mask = np.ones(shape, bool)
        for condition, holds in self.conditions:
            mask &= np.asarray(evaluate(condition, values), bool) == holds
        return [np.broadcast_to(evaluate(each, values), shape) for each in expressions], mask


@lru_cache(maxsize=1 << 14)
def touched(accesses: Accesses) -> tuple[Array, Array]:
    """Return the least and the greatest thread that accesses each element of the buffer.

    Where none does, the least is greater than the greatest.
    """
    elements, mask = accesses.points([element_number(accesses.buffer.shape, accesses.index)])
    threads = accesses.ranges[0][1]
    size = math.prod(accesses.buffer.shape)
    least, greatest = np.full(size, threads), np.full(size, -1)
    chosen = elements[0][mask]
    assert not chosen.size or (chosen.min() >= 0 and chosen.max() < size), accesses
    who = np.nonzero(mask)[0]
    np.minimum.at(least, chosen, who)
    np.maximum.at(greatest, chosen, who)
    return least, greatest


def element_number(shape: Shape, index: Sequence[Expr]) -> Expr:
    """Return the number of an element in its tile, row by row, whatever its layout."""
    return Buffer("", shape).flat(index)


@lru_cache(maxsize=1 << 16)
def cross(one: Accesses, other: Accesses) -> bool:
    """Tell whether two threads access one element, and at least one of them writes it."""
    if one.buffer.name != other.buffer.name or not (one.writes or other.writes):
        return False
    (a, b), (c, d) = touched(one), touched(other)
    return bool(np.any((a <= b) & (c <= d) & (np.minimum(a, c) < np.maximum(b, d))))


@lru_cache(maxsize=1 << 16)
def meet(one: Accesses, other: Accesses) -> bool:
    """Tell whether both access one element, whoever does, and at least one writes it."""
    if one.buffer.name != other.buffer.name or not (one.writes or other.writes):
        return False
    (a, b), (c, d) = touched(one), touched(other)
    return bool(np.any((a <= b) & (c <= d)))


# ---- the accesses of one statement


def accesses_of(statement: Threads) -> list[Accesses | CommitCopies | AwaitCopies]:
    """Return the accesses to shared memory by all threads, in order, among ends of copy groups."""
    return list(_inside(statement.body, ((statement.name, statement.count),), ()))


def _inside(
    body: Body, ranges: tuple[Range, ...], conditions: tuple[Condition, ...]
) -> Iterator[Accesses | CommitCopies | AwaitCopies]:
    for each in body:
        match each:
            case Loop(name, extent, inner):
                yield from _inside(inner, (*ranges, (name, extent)), conditions)
            case Guard(when, inner, otherwise):
                yield from _inside(inner, ranges, (*conditions, (when, True)))
                yield from _inside(otherwise, ranges, (*conditions, (when, False)))
            case Compute():
                yield from _computed(each, ranges, conditions)
            case Copy():
                index = (*each.index[:-1], each.index[-1] + var(WIDE))
                wide = (WIDE, each.width)
                within = (*ranges, wide)
                yield Accesses(each.target, index, True, within, conditions, wide, copied=True)
            case CommitCopies() | AwaitCopies():
                yield each


def _computed(
    s: Compute, ranges: tuple[Range, ...], conditions: tuple[Condition, ...]
) -> Iterator[Accesses]:
    within = (*ranges, *((axis.name, axis.extent) for axis in s.axes))
    wide = next(((axis.name, axis.lanes) for axis in s.axes if axis.lanes > 1), ("", 1))
    for read, when in _reads(s.value, conditions):
        if read.buffer.scope == "shared":
            given = s.fragments is not None
            yield Accesses(read.buffer, read.index, False, within, when, wide, given)
    if s.fragments:
        yield from _loaded_matrices(s, s.fragments.thread, ranges, conditions)
    if s.target.scope == "shared":
        if s.combine:
            yield Accesses(s.target, s.index, False, within, conditions, wide)
        yield Accesses(s.target, s.index, True, within, conditions, wide)


def _loaded_matrices(
    s: Compute, thread: str, ranges: tuple[Range, ...], conditions: tuple[Condition, ...]
) -> Iterator[Accesses]:
    """The rows whose addresses the threads give, 8 neighbours each."""
    m, n, k = "m turn", "n turn", "depth"
    product = matrix_product(s, var(m), var(n), var(k), var(WIDE))
    sixteen, eight, deep = turns(s)
    within = (*ranges, (m, sixteen), (n, eight), (k, deep), (WIDE, ROW))
    for load in (product.sixteen, product.eight):
        of_first = var(thread) % WARP < ROW * load.matrices
        yield Accesses(
            load.read.buffer,
            load.read.index,
            False,
            within,
            (*conditions, (of_first, True)),
            (WIDE, ROW),
        )


def _reads(
    value: Value, conditions: tuple[Condition, ...]
) -> Iterator[tuple[Read, tuple[Condition, ...]]]:
    match value:
        case Read():
            yield value, conditions
        case Apply():
            for each in value.args:
                yield from _reads(each, conditions)
        case Select(when, then, otherwise):
            yield from _reads(then, (*conditions, (when, True)))
            yield from _reads(otherwise, (*conditions, (when, False)))


def registers_of(statement: Threads) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of register buffers that a statement reads and writes."""
    read, written = set[str](), set[str]()

    def go(body: Body) -> None:
        for each in body:
            match each:
                case Loop() | Threads():
                    go(each.body)
                case Guard():
                    go(each.body)
                    go(each.otherwise)
                case Compute():
                    for one, _ in _reads(each.value, ()):
                        if one.buffer.scope == "registers":
                            read.add(one.buffer.name)
                    if each.target.scope == "registers":
                        written.add(each.target.name)
                        if each.combine:
                            read.add(each.target.name)

    go(statement.body)
    return frozenset(read), frozenset(written)


# ---- the walk


@dataclass(frozen=True)
class Step:
    """All threads run one ``Threads`` statement, at this place of the text, with these accesses.

    ``landed`` are those of them that are copies of before, which are awaited now.
    """

    path: Path
    accesses: tuple[Accesses, ...]
    landed: tuple[Accesses, ...] = ()


@dataclass(frozen=True)
class Gap:
    """The walk passes a place where a barrier may be put, or where there is one."""

    path: Path
    is_barrier: bool = False


Event: TypeAlias = Step | Gap


def walked(body: Body) -> list[Event]:
    """Return the steps of a block in the order in which they happen, with the gaps between them.

    A gap is before a statement, or at the end of a loop's body.
    """
    under_way: list[list[Accesses]] = []
    open_group: list[Accesses] = []
    known: dict[Path, list[Accesses | CommitCopies | AwaitCopies]] = {}

    def one(statement: Threads, path: Path, numbers: Mapping[str, int]) -> Step:
        found, landed = dict[Accesses, None](), dict[Accesses, None]()
        if path not in known:
            known[path] = accesses_of(statement)
        for each in known[path]:
            match each:
                case CommitCopies():
                    under_way.append(list(open_group))
                    open_group.clear()
                case AwaitCopies(pending):
                    while len(under_way) > pending:
                        landed.update(dict.fromkeys(under_way.pop(0)))
                case _:
                    now = each.at(numbers)
                    if now is not None:
                        found[now] = None
                        if now.writes and now.wide[0] == WIDE:
                            open_group.append(now)
        return Step(path, (*found, *landed), tuple(landed))

    def go(body: Body, path: Path, numbers: Mapping[str, int]) -> Iterator[Event]:
        for place, statement in enumerate(body):
            here = (*path, place)
            match statement:
                case Barrier():
                    yield Gap(here, is_barrier=True)
                case Threads():
                    yield Gap(here)
                    yield one(statement, here, numbers)
                case Loop(name, extent, inner):
                    yield Gap(here)
                    for number in range(extent):
                        yield from go(inner, (*here, 0), {**numbers, name: number})
                        yield Gap((*here, 0, len(inner)))
                case Guard(when, inner, otherwise):
                    yield Gap(here)
                    holds = bool(evaluate(when, numbers))
                    chosen = inner if holds else otherwise
                    yield from go(chosen, (*here, 0 if holds else 1), numbers)

    return list(go(body, (), {}))


def self_crossings(steps: Iterable[Event]) -> Iterator[tuple[Step, Accesses]]:
    """Yield accesses that cross threads within a step, where no barrier can be."""
    for step in dict.fromkeys(each for each in steps if isinstance(each, Step)):
        for number, one in enumerate(step.accesses):
            if any(cross(one, other) for other in step.accesses[number:]):
                yield step, one


def with_buffers(x: Any, new: Mapping[str, Buffer]) -> Any:
    """Return a statement, a value or a tuple of them with other buffers of the same names."""
    if isinstance(x, Buffer):
        return new.get(x.name, x)
    if isinstance(x, tuple):
        return tuple(with_buffers(each, new) for each in x)
    if isinstance(x, Read | Apply | Select | Statement):
        changed = {name: with_buffers(value, new) for name, value in vars(x).items()}
        return type(x)(**changed)
    return x
