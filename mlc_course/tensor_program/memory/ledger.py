"""The program that counts traffic: as ``cache.counter`` writes one, with an account per buffer.

``traffic`` is what to call; this is how it is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlc_course.tensor_program.memory.cache import Cache, Counter
from mlc_course.tensor_program.reading import addresses
from mlc_course.tensor_program.reading.walk import Expr, Guard, Repeat, Step, Touch, Var
from mlc_course.tensor_program.tvm_names import tirx


class Ledger(Counter):
    """Writes the counting program; a tag is twice the line's number, and odd once it is changed.

    The accesses of a statement wait in a queue of addresses, so that one piece of code serves all.
    """

    def __init__(self, base: dict[Var, int], levels: Sequence[Cache]) -> None:
        super().__init__(base, levels)
        self.row = 2 + 2 * len(levels)  # of each buffer: loads, stores, then fetched and returned
        self.owner = {buffer: place for place, buffer in enumerate(base)}
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
        """Statements that let the waiting accesses pass, one after another."""
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
                tirx.BufferStore(what, _long(rows[i]), [i]),
            )
        ]
        turn = tirx.Var(f"turn_{next(self.names)}", "int32")
        body = tirx.SeqStmt(self.passing(byte[turn], what[turn]))
        loop = tirx.For(turn, 0, len(touches), tirx.ForKind.SERIAL, body)
        return [tirx.AllocBuffer(byte), tirx.AllocBuffer(what), *fill, loop]

    def passing(self, byte: Expr, what: Expr) -> list[Any]:
        """One access; ``what`` is twice the row of its buffer in the counts, plus one to write."""
        address, what = self.bound(byte), self.bound(what)
        writes = self.bound(tirx.bitwise_and(what.var, _long(1)))
        row = self.bound(tirx.shift_right(what.var, _long(1)))
        line = self.bound(tirx.shift_right(address.var, _long(_bits(self.levels[0]))))
        first = self.bound(self.first_place(0, line.var))
        changed = tirx.bitwise_or(self.tags[0][first.var], writes.var)
        return [
            *(address, what, writes, row),
            self.add(row.var + writes.var, 1),
            *self.visit(0, address.var, row.var),
            *(line, first, tirx.BufferStore(self.tags[0], changed, [first.var])),
        ]

    def visit(self, level: int, address: Expr, row: Expr) -> list[Any]:
        """Put a line first in its set, as ``Counter.look_up`` does, and keep what is changed."""
        cache, tags = self.levels[level], self.tags[level]
        way, held = self.way[level], self.held[level]
        line = self.bound(tirx.shift_right(address, _long(_bits(cache))))
        first = self.bound(self.first_place(level, line.var))
        place = first.var + way[0]
        old = self.bound(tags[place])
        found = _line(old.var).equal(line.var)
        move = [
            old,
            tirx.BufferStore(tags, held[0], [place]),
            tirx.BufferStore(held, old.var, [0]),
            tirx.BufferStore(way, tirx.Select(found, _long(cache.ways + 1), way[0] + 1), [0]),
        ]
        victim = self.bound(held[0])
        below = level + 1 < len(self.levels)
        missed = [
            victim,
            self.add(row + 2 + 2 * level, 1),
            tirx.IfThenElse(
                tirx.And(victim.var > 0, tirx.bitwise_and(victim.var, _long(1)).equal(_long(1))),
                tirx.SeqStmt(self.give_back(level, _line(victim.var) * cache.line)),
                None,
            ),
            *(self.visit(level + 1, line.var * cache.line, row) if below else []),
        ]
        search = [
            tirx.BufferStore(held, line.var * 2, [0]),
            tirx.BufferStore(way, _long(0), [0]),
            tirx.While(way[0] < cache.ways, tirx.SeqStmt(move)),
            tirx.IfThenElse(
                way[0].equal(_long(cache.ways)),
                tirx.SeqStmt(missed),
                tirx.BufferStore(tags, held[0], [first.var]),
            ),
        ]
        elsewhere = _line(tags[first.var]) != line.var
        return [line, first, tirx.IfThenElse(elsewhere, tirx.SeqStmt(search), None)]

    def give_back(self, level: int, address: Expr) -> list[Any]:
        """A changed line leaves a cache: the next one notes the change, or passes it on."""
        start = self.bound(address)
        buffers = [tirx.Cast("int64", start.var >= each) for each in self.base.values()]
        owner = sum(buffers[1:], _long(0)) * self.row
        paid = [start, self.add(owner + 3 + 2 * level, 1)]
        if level + 1 == len(self.levels):
            return paid
        cache, tags, way = self.levels[level + 1], self.tags[level + 1], self.way[level + 1]
        line = self.bound(tirx.shift_right(start.var, _long(_bits(cache))))
        first = self.bound(self.first_place(level + 1, line.var))
        old = self.bound(tags[first.var + way[0]])
        note = [
            tirx.BufferStore(tags, tirx.bitwise_or(old.var, _long(1)), [first.var + way[0]]),
            tirx.BufferStore(way, _long(cache.ways + 1), [0]),
        ]
        step = tirx.BufferStore(way, way[0] + 1, [0])
        look = [old, tirx.IfThenElse(_line(old.var).equal(line.var), tirx.SeqStmt(note), step)]
        passed = tirx.SeqStmt(self.give_back(level + 1, line.var * cache.line))
        return [
            *paid,
            line,
            first,
            tirx.BufferStore(way, _long(0), [0]),
            tirx.While(way[0] < cache.ways, tirx.SeqStmt(look)),
            tirx.IfThenElse(way[0].equal(_long(cache.ways)), passed, None),
        ]

    def first_place(self, level: int, line: Expr) -> Expr:
        cache = self.levels[level]
        return tirx.bitwise_and(line, _long(cache.sets - 1)) * cache.ways

    def bound(self, value: Expr) -> Any:
        """A statement that names a value."""
        return tirx.Bind(tirx.Var(f"n_{next(self.names)}", "int64"), value)


def _line(tag: Expr) -> Expr:
    return tirx.shift_right(tag, _long(1))


def _bits(cache: Cache) -> int:
    return cache.line.bit_length() - 1


def _long(value: int) -> Expr:
    return tirx.const(value, "int64")
