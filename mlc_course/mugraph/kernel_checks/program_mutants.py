"""Mutants of kernels: wrong kernels made from right ones by one small change each.

The changes are mistakes that people and lowerings make, and a check of kernels is judged by what it
refuses. Not every mutant is wrong: a guard may repeat what another one says. To try the checks on
one more kind of mistake, add a function and a line in the table.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from mlc_course.mugraph.kernels import (
    CONST,
    VAR,
    Apply,
    AwaitCopies,
    Barrier,
    Body,
    Buffer,
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
    const,
    expr,
    substituted,
    var,
    variables,
)


@dataclass(frozen=True)
class Mutant:
    """A kernel with one change: its kind, and the text of what was changed."""

    kind: str
    where: str
    kernel: Kernel


def kernel_mutants(kernel: Kernel) -> Iterator[Mutant]:
    """Yield every mutant of a kernel that differs from it, kind by kind."""
    for kind, change in OF_STATEMENTS.items():
        for body, where in _changed(kernel.body, change):
            if body != kernel.body:
                yield Mutant(kind, where, replace(kernel, body=body))
    for where, other in _in_one_place(kernel):
        yield Mutant("place", where, other)


def _changed(
    body: Body, change: Callable[[Statement], Iterator[Body]]
) -> Iterator[tuple[Body, str]]:
    """Yield bodies in which one statement, at any depth, is changed."""
    for place, each in enumerate(body):
        before, after = body[:place], body[place + 1 :]
        for made in change(each):
            said = next(iter(body_lines((each,))), "")
            new = " / ".join(line.strip() for line in body_lines(made)) or "nothing"
            yield (*before, *made, *after), f"{said.strip()}  ->  {new}"
        match each:
            case Loop() | Threads():
                for inside, where in _changed(each.body, change):
                    yield (*before, replace(each, body=inside), *after), where
            case Guard():
                for inside, where in _changed(each.body, change):
                    yield (*before, replace(each, body=inside), *after), where
                for inside, where in _changed(each.otherwise, change):
                    yield (*before, replace(each, otherwise=inside), *after), where


# ---- changes of one access

Rebuilt = Callable[[Read], Statement]


def _accesses(statement: Statement) -> Iterator[tuple[Read, Rebuilt]]:
    """Yield each access of a statement, and how to put another one in its place."""
    match statement:
        case Compute(target, index, value):

            def written(to: Read) -> Statement:
                return replace(statement, target=to.buffer, index=to.index)

            yield Read(target, index), written
            for read, rebuilt in _reads(value):

                def valued(to: Read, rebuilt: Callable[[Read], Value] = rebuilt) -> Statement:
                    return replace(statement, value=rebuilt(to))

                yield read, valued
        case Copy(target, index, source, source_index):

            def copied_to(to: Read) -> Statement:
                return replace(statement, target=to.buffer, index=to.index)

            def copied_from(to: Read) -> Statement:
                return replace(statement, source=to.buffer, source_index=to.index)

            yield Read(target, index), copied_to
            yield Read(source, source_index), copied_from


def _reads(value: Value) -> Iterator[tuple[Read, Callable[[Read], Value]]]:
    match value:
        case Read():
            yield value, lambda to: to
        case Apply(name, args):
            for place, arg in enumerate(args):
                for read, rebuilt in _reads(arg):

                    def applied(
                        to: Read,
                        place: int = place,
                        rebuilt: Callable[[Read], Value] = rebuilt,
                        args: tuple[Value, ...] = args,
                        name: str = name,
                    ) -> Value:
                        return Apply(name, (*args[:place], rebuilt(to), *args[place + 1 :]))

                    yield read, applied
        case Select(_, then, otherwise):
            for read, rebuilt in _reads(then):
                yield read, partial(_then, value, rebuilt)
            for read, rebuilt in _reads(otherwise):
                yield read, partial(_otherwise, value, rebuilt)


def _then(value: Select, rebuilt: Callable[[Read], Value], to: Read) -> Value:
    return replace(value, then=rebuilt(to))


def _otherwise(value: Select, rebuilt: Callable[[Read], Value], to: Read) -> Value:
    return replace(value, otherwise=rebuilt(to))


def _with_axis(read: Read, axis: int, e: Expr) -> Read:
    return replace(read, index=(*read.index[:axis], e, *read.index[axis + 1 :]))


def _index_off_by_one(statement: Statement) -> Iterator[Body]:
    for read, rebuilt in _accesses(statement):
        for axis, by in itertools.product(range(len(read.index)), (-1, 1)):
            yield (rebuilt(_with_axis(read, axis, read.index[axis] + by)),)


def _other_step(statement: Statement) -> Iterator[Body]:
    """A number that multiplies, divides or is a modulus is one less, or twice as large."""
    for read, rebuilt in _accesses(statement):
        for axis, e in enumerate(read.index):
            for other in _other_numbers(e):
                yield (rebuilt(_with_axis(read, axis, other)),)


def _other_numbers(e: Expr) -> Iterator[Expr]:
    if e.op in (CONST, VAR):
        return
    left, right = e.args
    if e.op in ("*", "//", "%") and right.op == CONST:
        for number in (right.args[0] - 1, 2 * right.args[0]):
            if number > 0:
                yield Expr(e.op, (left, const(number)))
    for each in _other_numbers(left):
        yield Expr(e.op, (each, right))
    for each in _other_numbers(right):
        yield Expr(e.op, (left, each))


def _other_stage(statement: Statement) -> Iterator[Body]:
    """The stage of a ring is the one before, or the one after."""
    for read, rebuilt in _accesses(statement):
        for axis, e in enumerate(read.index):
            if e.op == "%" and e.args[1].op == CONST and read.buffer.scope == "shared":
                stages = e.args[1].args[0]
                for by in {1, stages - 1}:
                    yield (rebuilt(_with_axis(read, axis, (e.args[0] + by) % stages)),)


def _exchanged_indices(statement: Statement) -> Iterator[Body]:
    """Two reads have each other's index, or an access has two axes exchanged."""
    accesses = list(_accesses(statement))
    for read, rebuilt in accesses:
        for i, j in itertools.combinations(range(len(read.index)), 2):
            index = list(read.index)
            index[i], index[j] = index[j], index[i]
            yield (rebuilt(replace(read, index=tuple(index))),)
    for (one, first), (other, _) in itertools.combinations(accesses[1:], 2):
        if len(one.index) == len(other.index) and one.buffer != other.buffer:
            half = first(replace(one, index=other.index))
            for read, rebuilt in list(_accesses(half))[1:]:
                if read == other:
                    yield (rebuilt(replace(other, index=one.index)),)


def _other_iteration(statement: Statement) -> Iterator[Body]:
    """One access is at the iteration, block or thread before or after, or at the first one."""
    own = {axis.name for axis in statement.axes} if isinstance(statement, Compute) else set()
    for read, rebuilt in _accesses(statement):
        for name in sorted(frozenset().union(*map(variables, read.index)) - own):
            for other in (var(name) + 1, var(name) + -1, expr(0)):
                moved = tuple(substituted(e, {name: other}) for e in read.index)
                yield (rebuilt(replace(read, index=moved)),)


def _other_layout(statement: Statement) -> Iterator[Body]:
    """One access has another pitch, or another swizzle, than the rest."""
    for read, rebuilt in _accesses(statement):
        for buffer in _other_layouts(read.buffer):
            yield (rebuilt(replace(read, buffer=buffer)),)


def _other_layouts(buffer: Buffer) -> Iterator[Buffer]:
    if buffer.scope != "shared" or sum(extent > 1 for extent in buffer.shape) < 2:
        return
    axis = max(n for n, extent in enumerate(buffer.shape[:-1]) if extent > 1)
    for by in (-1, 1):
        steps = list(buffer.steps)
        steps[axis] += by
        yield replace(buffer, strides=tuple(steps))
    if buffer.swizzle:
        yield replace(buffer, swizzle=None)
        yield replace(buffer, swizzle=(2 * buffer.swizzle[0], max(1, buffer.swizzle[1] // 2)))


# ---- changes of one statement


def _dropped_store(statement: Statement) -> Iterator[Body]:
    if isinstance(statement, Compute | Copy):
        yield ()


def _other_combine(statement: Statement) -> Iterator[Body]:
    if isinstance(statement, Compute):
        for combine in ("", "add", "max", "min"):
            if combine != statement.combine:
                yield (replace(statement, combine=combine),)


def _other_guard(statement: Statement) -> Iterator[Body]:
    """A guard is left out, holds always or never, or its number is one more or less."""
    if not isinstance(statement, Guard):
        return
    yield statement.body
    yield statement.otherwise
    yield (replace(statement, body=statement.otherwise, otherwise=statement.body),)
    match statement.when:
        case Expr("<" | "==" as op, (a, Expr("const", (number,)))):
            for by in (-1, 1):
                yield (replace(statement, when=Expr(op, (a, const(number + by)))),)


def _fewer_iterations(statement: Statement) -> Iterator[Body]:
    if isinstance(statement, Loop) and statement.extent > 1:
        yield (replace(statement, extent=statement.extent - 1),)


def _no_barrier(statement: Statement) -> Iterator[Body]:
    if isinstance(statement, Barrier):
        yield ()


def _shorter_wait(statement: Statement) -> Iterator[Body]:
    """Copies are not waited for, or one group more may be under way."""
    if isinstance(statement, AwaitCopies):
        yield ()
        yield (AwaitCopies(statement.pending + 1),)


def _narrower_copy(statement: Statement) -> Iterator[Body]:
    if isinstance(statement, Copy) and statement.width > 1:
        yield (replace(statement, width=statement.width // 2),)


OF_STATEMENTS: Mapping[str, Callable[[Statement], Iterator[Body]]] = {
    "index": _index_off_by_one,
    "step": _other_step,
    "exchange": _exchanged_indices,
    "iteration": _other_iteration,
    "loop": _fewer_iterations,
    "guard": _other_guard,
    "store": _dropped_store,
    "combine": _other_combine,
    "layout": _other_layout,
    "stage": _other_stage,
    "barrier": _no_barrier,
    "await": _shorter_wait,
    "width": _narrower_copy,
}


# ---- changes of the plan


def _in_one_place(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Two buffers lie in one place; without a plan, each of the others has one of its own."""
    offsets, end = dict(kernel.offsets), kernel.shared_bytes
    sizes = {each.name: each.size * kernel.bytes_of(each.role) for each in kernel.shared}
    for name, size in sizes.items():
        if name not in offsets:
            offsets[name], end = end, end + size
    for one, other in itertools.combinations(sizes, 2):
        if offsets[one] != offsets[other]:
            moved = {**offsets, other: offsets[one]}
            bytes_now = max(end, moved[other] + sizes[other])
            planned = replace(kernel, offsets=tuple(moved.items()), shared_bytes=bytes_now)
            yield f"{other} where {one} is", planned
