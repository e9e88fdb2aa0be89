"""Bytes that each buffer of a program moves between the caches, and those written back.

``cache.count`` says how often a cache misses. Here each miss is charged to the buffer that was
asked for, and each line that a program has changed is charged again when it leaves the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.tensor_program.memory.cache import EMPTY, Cache, Counter, int64, int64_array
from mlc_course.tensor_program.tir import (
    Expr,
    Guard,
    Repeat,
    Step,
    TensorProgram,
    Touch,
    Var,
    addresses,
    compile_program,
    shared_tensor,
    tirx,
)


@dataclass(frozen=True)
class Moved:
    """Elements and bytes that a program moves for one buffer.

    ``loads`` and ``stores`` are elements. ``fetched[i]`` are bytes that cache i filled from the
    next level (or from memory, the last one); ``returned[i]`` are bytes that it wrote back there.
    """

    buffer: str
    loads: int
    stores: int
    fetched: tuple[int, ...]
    returned: tuple[int, ...]

    def bytes(self, level: int = -1) -> int:
        """Both ways between a cache, by default the last one, and the next level."""
        return self.fetched[level] + self.returned[level]


@dataclass(frozen=True)
class Traffic:
    """Bytes that a program moves, buffer by buffer, its parameters first."""

    levels: tuple[Cache, ...]
    buffers: tuple[Moved, ...]

    def bytes(self, level: int = -1) -> int:
        """Bytes of all buffers, both ways, between a cache and the next level."""
        return sum(each.bytes(level) for each in self.buffers)

    def of(self, buffer: str) -> Moved:
        """One buffer's entry; raises ``UsageError`` if the program does not touch it in memory."""
        for each in self.buffers:
            if each.buffer == buffer:
                return each
        known = ", ".join(each.buffer for each in self.buffers)
        raise UsageError("no such buffer in memory", expected=f"one of {known}", got=buffer)

    def __str__(self) -> str:
        """A table with a line for each buffer: what each cache fetches and what it writes back."""
        head = "".join(f"{name:>24}" for name in map(_size, self.levels))
        under = f"{'fetched':>13}{'returned':>11}" * len(self.levels)
        rows = [(e.buffer, e.fetched, e.returned) for e in self.buffers]
        both = [[sum(each) for each in zip(*(r[i] for r in rows), strict=True)] for i in (1, 2)]
        lines = [
            f"{name:<8}" + "".join(f"{f:>13,}{r:>11,}" for f, r in zip(fetch, back, strict=True))
            for name, fetch, back in (*rows, ("all", *both))
        ]
        return "\n".join((f"bytes   {head}", f"        {under}", *lines))


def _size(cache: Cache) -> str:
    return f"cache of {cache.bytes // 1024:,} KiB"


def traffic(program: TensorProgram, *levels: Cache) -> Traffic:
    """Bytes moved at each level for each buffer, from empty caches until all is written back.

    The caches and the order of accesses are those of ``cache.count``, and so are the misses: bytes
    fetched at a level, summed over the buffers, are its ``bytes_moved``. A line that was written
    goes back to the next level when another takes its place, or at the end; going back changes
    neither what that level holds nor which of its lines is the oldest. Buffers with the scope
    "local" are registers. Without levels, one cache of 32 KiB.

    Raises what ``cache.count`` raises.
    """
    levels = levels or (Cache(),)
    steps, base = addresses.placed(program, ("local",))
    counter = Ledger(base, levels)
    tags = [int64_array(level.sets * level.ways, EMPTY) for level in levels]
    counts = int64_array(counter.row * len(base), 0)
    run = compile_program(counter.function(steps))
    run(*map(shared_tensor, tags), shared_tensor(counts))
    table = counts.reshape(len(base), counter.row)
    _write_the_rest_back(table, tags, levels, counter.shift)
    return Traffic(levels, tuple(map(_moved, base, table, [levels] * len(base))))


def _moved(buffer: Var, row: NDArray[np.int64], levels: Sequence[Cache]) -> Moved:
    loads, stores, *lines = map(int, row)
    bytes_ = [n * level.line for n, level in zip(lines[::2], levels, strict=True)]
    back = [n * level.line for n, level in zip(lines[1::2], levels, strict=True)]
    return Moved(str(buffer.name), loads, stores, tuple(bytes_), tuple(back))


def _write_the_rest_back(
    table: NDArray[np.int64],
    tags: Sequence[NDArray[np.int64]],
    levels: Sequence[Cache],
    shift: int,
) -> None:
    """Charge the changed lines that are still held, as when they fall out, level by level."""
    first, owners = np.empty(0, np.int64), np.empty(0, np.int64)  # bytes where lines begin
    for level, (cache, held) in enumerate(zip(levels, tags, strict=True)):
        lines, marks = held >> shift, held & (1 << shift) - 1
        known = held != EMPTY
        place = {int(line): n for n, line in enumerate(lines) if known[n]}
        passed = []
        for byte, owner in zip(first.tolist(), owners.tolist(), strict=True):
            n = place.get(byte // cache.line)
            if n is None:
                passed.append((byte // cache.line * cache.line, owner))
            else:
                marks[n] = owner + 1
        changed = known & (marks > 0)
        rest = np.array(passed, np.int64).reshape(-1, 2)
        first = np.concatenate((lines[changed] * cache.line, rest[:, 0]))
        owners = np.concatenate((marks[changed] - 1, rest[:, 1]))
        np.add.at(table[:, 3 + 2 * level], owners, 1)


class Ledger(Counter):
    """Writes the counting program; a tag is the line's number, and who has changed the line.

    The mark, in the last ``shift`` bits, is 0 for nobody and else one more than the buffer's place.
    The accesses of a statement wait in a queue of addresses, so that one piece of code serves all.
    """

    def __init__(self, base: dict[Var, int], levels: Sequence[Cache]) -> None:
        super().__init__(base, levels)
        self.row = 2 + 2 * len(levels)  # of each buffer: loads, stores, then fetched and returned
        self.owner = {buffer: place for place, buffer in enumerate(base)}
        self.shift = len(base).bit_length()
        size = (max(self.row * len(base), 1),)
        self.counts = tirx.decl_buffer(size, "int64", name="counts")
        self.waiting: list[Touch] = []

    def statements(self, steps: Sequence[Step]) -> list[Any]:
        found = []
        for step in steps:
            if isinstance(step, Guard | Repeat):
                found += self.queue()
            found += self.statement(step)
        return [*found, *self.queue()]

    def touch(self, step: Touch) -> list[Any]:
        for index in step.indices:
            self.check_known(index)
        self.waiting.append(step)
        return []

    def queue(self) -> list[Any]:
        """Statements that run the waiting accesses, one after another."""
        touches, self.waiting = self.waiting, []
        if not touches:
            return []
        size = (len(touches),)
        byte, what = (
            tirx.decl_buffer(size, "int64", name=f"{name}_{next(self.names)}", scope="local")
            for name in ("byte", "what")
        )
        rows = [2 * self.row * self.owner[each.buffer] + int(each.writes) for each in touches]
        fill = [
            statement
            for i, each in enumerate(touches)
            for statement in (
                tirx.BufferStore(byte, addresses.address(each, self.base), [i]),
                tirx.BufferStore(what, int64(rows[i]), [i]),
            )
        ]
        turn = tirx.Var(f"turn_{next(self.names)}", "int32")
        body = tirx.SeqStmt(self.passing(byte[turn], what[turn]))
        loop = tirx.For(turn, 0, len(touches), tirx.ForKind.SERIAL, body)
        return [tirx.AllocBuffer(byte), tirx.AllocBuffer(what), *fill, loop]

    def passing(self, byte: Expr, what: Expr) -> list[Any]:
        """Statements for one access; ``what`` is twice its buffer's row, plus 1 for a write."""
        address, what = self.bound(byte), self.bound(what)
        writes = self.bound(tirx.bitwise_and(what.var, int64(1)))
        row = self.bound(tirx.shift_right(what.var, int64(1)))
        line = self.bound(self.line_of(0, address.var))
        first = self.bound(self.first_place(0, line.var))
        mark = tirx.FloorDiv(row.var, int64(self.row)) + 1
        change = tirx.BufferStore(self.tags[0], self.tag(line.var) + mark, [first.var])
        return [
            *(address, what, writes, row),
            self.add(row.var + writes.var, 1),
            *self.visit(0, address.var, row.var),
            *(line, first, tirx.IfThenElse(writes.var > 0, change, None)),
        ]

    def tag(self, line: Expr) -> Expr:
        """The tag of a line that nobody has changed."""
        return tirx.shift_left(line, int64(self.shift))

    def line(self, tag: Expr) -> Expr:
        """The line of a tag."""
        return tirx.shift_right(tag, int64(self.shift))

    def mark(self, tag: Expr) -> Expr:
        """Who has changed the line of a tag, plus 1; or 0."""
        return tirx.bitwise_and(tag, int64((1 << self.shift) - 1))

    def visit(self, level: int, address: Expr, row: Expr) -> list[Any]:
        """Statements that put a line first in its set, as ``Counter.look_up`` does.

        A changed line keeps its mark, and is written back when it falls out.
        """
        cache, tags = self.levels[level], self.tags[level]
        way, held = self.way[level], self.held[level]
        line = self.bound(self.line_of(level, address))
        first = self.bound(self.first_place(level, line.var))
        place = first.var + way[0]
        old = self.bound(tags[place])
        found = self.line(old.var).equal(line.var)
        move = [
            old,
            tirx.BufferStore(tags, held[0], [place]),
            tirx.BufferStore(held, old.var, [0]),
            tirx.BufferStore(way, tirx.Select(found, int64(cache.ways + 1), way[0] + 1), [0]),
        ]
        victim = self.bound(held[0])
        below = level + 1 < len(self.levels)
        missed = [
            victim,
            self.add(row + 2 + 2 * level, 1),
            tirx.IfThenElse(
                tirx.And(victim.var != EMPTY, self.mark(victim.var) > 0),
                tirx.SeqStmt(
                    self.give_back(level, self.line(victim.var) * cache.line, self.mark(victim.var))
                ),
                None,
            ),
            *(self.visit(level + 1, line.var * cache.line, row) if below else []),
        ]
        search = [
            tirx.BufferStore(held, self.tag(line.var), [0]),
            tirx.BufferStore(way, int64(0), [0]),
            tirx.While(way[0] < cache.ways, tirx.SeqStmt(move)),
            tirx.IfThenElse(
                way[0].equal(int64(cache.ways)),
                tirx.SeqStmt(missed),
                tirx.BufferStore(tags, held[0], [first.var]),
            ),
        ]
        elsewhere = self.line(tags[first.var]) != line.var
        return [line, first, tirx.IfThenElse(elsewhere, tirx.SeqStmt(search), None)]

    def give_back(self, level: int, address: Expr, mark: Expr) -> list[Any]:
        """Statements for a changed line that leaves a cache: the next marks it or passes it on."""
        start, by = self.bound(address), self.bound(mark)
        owner = (by.var - 1) * self.row
        paid = [start, by, self.add(owner + 3 + 2 * level, 1)]
        if level + 1 == len(self.levels):
            return paid
        cache, tags, way = self.levels[level + 1], self.tags[level + 1], self.way[level + 1]
        line = self.bound(self.line_of(level + 1, start.var))
        first = self.bound(self.first_place(level + 1, line.var))
        old = self.bound(tags[first.var + way[0]])
        note = [
            tirx.BufferStore(tags, self.tag(line.var) + by.var, [first.var + way[0]]),
            tirx.BufferStore(way, int64(cache.ways + 1), [0]),
        ]
        step = tirx.BufferStore(way, way[0] + 1, [0])
        look = [old, tirx.IfThenElse(self.line(old.var).equal(line.var), tirx.SeqStmt(note), step)]
        passed = tirx.SeqStmt(self.give_back(level + 1, line.var * cache.line, by.var))
        return [
            *paid,
            line,
            first,
            tirx.BufferStore(way, int64(0), [0]),
            tirx.While(way[0] < cache.ways, tirx.SeqStmt(look)),
            tirx.IfThenElse(way[0].equal(int64(cache.ways)), passed, None),
        ]
