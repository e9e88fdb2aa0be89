"""Cache misses of a program, counted exactly on simulated caches.

The addresses do not depend on the data, so the loops of a program, with each access replaced by a
look-up in a table of tags, are a program that counts its misses. TVM compiles that one too.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import SizeError, UsageError
from mlc_course.machine import Machine
from mlc_course.tensor_program.tir import (
    ALIGNMENT,
    Bound,
    Expr,
    Guard,
    PrimFunc,
    Repeat,
    Step,
    TensorLoad,
    TensorProgram,
    Touch,
    Var,
    addresses,
    compile_program,
    operands,
    shared_tensor,
    tirx,
)

EMPTY = -1  # the tag of a place that holds no line


@dataclass(frozen=True)
class Cache:
    """A cache of ``bytes``, in lines of ``line`` bytes and sets of ``ways`` lines.

    The address of a line decides its set, which may hold it in any of its ways. Raises
    ``SizeError`` unless the sets and the bytes of a line are powers of two.
    """

    bytes: int = 32 * 1024
    ways: int = 8
    line: int = 64

    def __post_init__(self) -> None:
        sets, rest = divmod(self.bytes, max(self.ways, 1) * max(self.line, 1))
        powers = all(size > 0 and size & (size - 1) == 0 for size in (sets, self.line))
        if self.ways < 1 or rest or not powers:
            raise SizeError(
                "not a cache: the numbers of sets and of bytes in a line must be powers of two",
                expected="bytes = sets * ways * line",
                got=f"{self.bytes} bytes, {self.ways} ways, {self.line} bytes a line",
            )

    @property
    def sets(self) -> int:
        return self.bytes // (self.ways * self.line)


def levels(machine: Machine) -> tuple[Cache, ...]:
    """The data caches of a machine, first to last, as one thread has them to itself.

    Their sizes are the machine's. Where its number of sets is no power of two, there are fewer sets
    here, and more ways. The set of a line is always told by the last bits of its number; the last
    cache of most machines mixes all bits, by a rule that its maker keeps secret. A cache whose ways
    the system does not tell has eight. If it tells of no cache, the result is the default cache.
    """
    line = machine.line_bytes
    known = (
        (machine.l1d_bytes, machine.l1d_ways),
        (machine.l2_bytes, machine.l2_ways),
        (machine.l3_bytes, machine.l3_ways),
    )
    return tuple(_cache(size, ways or 8, line) for size, ways in known if size) or (Cache(),)


def _cache(size: int, ways: int, line: int) -> Cache:
    lines = max(size // line, 1)
    most = 1 << max(lines // ways, 1).bit_length() - 1  # sets, a power of two
    return Cache(lines * line, lines // gcd(most, lines), line)


@dataclass(frozen=True)
class Counts:
    """Accesses and misses of one cache; each miss fills a line of ``line`` bytes."""

    accesses: int
    misses: int
    line: int

    @property
    def bytes_moved(self) -> int:
        """Bytes filled from the next level, without those written back to it."""
        return self.misses * self.line


def count(
    program: TensorProgram,
    *levels: Cache,
    registers: Sequence[str] = ("local",),
    start: int = 0,
) -> tuple[Counts, ...]:
    """Accesses and misses of each level; the second level sees the misses of the first.

    Exact for least-recently-used caches, empty at the start, that fill on writes too; for one
    thread; without prefetching. Loops run in program order, whatever their kind: a vector is its
    elements, one by one. The parameters follow one another from address ``start``, then the buffers
    that TVM allocates, each from a new page on; local ones are shrunk to what is in use, and one
    whose values are not needed any more lends its memory to the next (``tir.addresses.placed``).
    Buffers in the storage scopes named by ``registers`` are not counted, because compilers keep
    small local arrays in registers; ``processor.assembly`` tells of spills. With ``()`` each of
    their accesses is counted. The default is one cache of 32 KiB.

    Cachegrind, on the machine code of every rung of ``matmul_exp_matmul`` and of six chains of
    stages, finds the same misses within 3 %. It sees fewer accesses: one for a vector. Some twenty
    lines more are in use on a machine: of the stack, of sums that are written to memory once a
    tile, of the table of ``exp``. Where the buffers fill a cache, or some of its sets, to the last
    line, these push out others, and a machine misses more often than is counted here.

    Raises ``UsageError`` when an index or a condition depends on data, and for a local buffer
    larger than all vector registers of this machine; ``SizeError`` when a level has shorter lines
    than the one before.
    """
    levels = levels or (Cache(),)
    tags = [int64_array(level.sets * level.ways, EMPTY) for level in levels]
    counts = int64_array(2 * len(levels), 0)
    run = compile_program(counter(program, *levels, registers=registers, start=start))
    run(*map(shared_tensor, tags), shared_tensor(counts))
    return tuple(
        Counts(int(counts[2 * i]), int(counts[2 * i + 1]), level.line)
        for i, level in enumerate(levels)
    )


def counter(
    program: TensorProgram,
    *levels: Cache,
    registers: Sequence[str] = (),
    start: int = 0,
) -> PrimFunc:
    """The program that counts misses.

    Its parameters are the tags (one int64 array for each level) and the counts (accesses and misses
    of each level).
    """
    steps, base = addresses.placed(program, registers, start)
    return Counter(base, levels).function(steps)


def int64_array(size: int, value: int) -> NDArray[np.int64]:
    """An int64 array full of one value, aligned so that TVM can share it."""
    room = np.empty(size + ALIGNMENT // 8, np.int64)
    skip = (-room.ctypes.data // 8) % (ALIGNMENT // 8)
    room[:] = value
    return room[skip : skip + size]


def int64(value: int) -> Expr:
    """A constant of the counting program."""
    return tirx.const(value, "int64")


def sequence(statements: Sequence[Any]) -> Any:
    """One statement for any number of them."""
    if len(statements) > 1:
        return tirx.SeqStmt(list(statements))
    return statements[0] if statements else tirx.Evaluate(0)


class Counter:
    """Writes the counting program; ``unknown`` are the variables whose values are data."""

    def __init__(self, base: dict[Var, int], levels: Sequence[Cache]) -> None:
        lines = [level.line for level in levels]
        if lines != sorted(lines):
            raise SizeError(
                "a level has shorter lines than the one before",
                expected="lines at least as long as those of the level before",
                got=lines,
            )
        self.base, self.levels = base, levels
        self.names = itertools.count()
        self.unknown: set[Var] = set()
        self.tags = [
            tirx.decl_buffer((level.sets * level.ways,), "int64", name=f"tags_{i}")
            for i, level in enumerate(levels)
        ]
        self.counts = tirx.decl_buffer((2 * len(levels),), "int64", name="counts")
        self.way, self.held = (
            [
                tirx.decl_buffer((1,), "int64", name=f"{name}_{i}", scope="local")
                for i in range(len(levels))
            ]
            for name in ("way", "held")
        )

    def function(self, steps: Sequence[Step]) -> PrimFunc:
        body = [tirx.AllocBuffer(each) for each in (*self.way, *self.held)]
        function = PrimFunc([*self.tags, self.counts], sequence([*body, *self.statements(steps)]))
        return function.with_attr({"global_symbol": "main", "tirx.noalias": True})

    def statements(self, steps: Sequence[Step]) -> list[Any]:
        touches = [s for s in steps if isinstance(s, Touch) and s.buffer in self.base]
        total = [self.add(0, len(touches))] if touches else []
        return [*total, *(stmt for step in steps for stmt in self.statement(step))]

    def statement(self, step: Step) -> list[Any]:
        match step:
            case Touch() if step.buffer in self.base:
                return self.touch(step)
            case Bound() if self.is_data(step.value) or "int" not in str(step.var.ty.dtype):
                self.unknown.add(step.var)
            case Bound():
                return [tirx.Bind(step.var, step.value)]
            case Guard():
                sides = [self.statements(side) for side in (step.then, step.otherwise)]
                if any(sides):
                    self.check_known(step.condition)
                    then, otherwise = map(sequence, sides)
                    return [tirx.IfThenElse(step.condition, then, otherwise)]
            case Repeat():
                if body := self.statements(step.body):
                    kind = tirx.ForKind.SERIAL
                    return [tirx.For(step.var, step.start, step.extent, kind, sequence(body))]
        return []

    def touch(self, step: Touch) -> list[Any]:
        for index in step.indices:
            self.check_known(index)
        return self.look_up(0, addresses.address(step, self.base))

    def look_up(self, level: int, address: Expr) -> list[Any]:
        """Statements that put the line of an address first in its set; a miss asks the next level.

        Each set is a list, most recently used first: lines move back one by one until the place is
        reached from which this one was taken, or the last falls out.
        """
        cache, tags = self.levels[level], self.tags[level]
        way, held = self.way[level], self.held[level]
        line = self.bound(self.line_of(level, address))
        first = self.bound(self.first_place(level, line.var))
        place = first.var + way[0]
        old = self.bound(tags[place])
        missed = [self.add(2 * level + 1, 1)]
        if level + 1 < len(self.levels):
            missed += [self.add(2 * level + 2, 1), *self.look_up(level + 1, line.var * cache.line)]
        found = tirx.Select(old.var.equal(line.var), int64(cache.ways + 1), way[0] + 1)
        move = tirx.SeqStmt(
            [
                old,
                tirx.BufferStore(tags, held[0], [place]),
                tirx.BufferStore(held, old.var, [0]),
                tirx.BufferStore(way, found, [0]),
            ]
        )
        search = [
            tirx.BufferStore(held, line.var, [0]),
            tirx.BufferStore(way, int64(0), [0]),
            tirx.While(way[0] < cache.ways, move),
            tirx.IfThenElse(way[0].equal(int64(cache.ways)), sequence(missed), None),
        ]
        return [
            line,
            first,
            tirx.IfThenElse(tags[first.var] != line.var, sequence(search), None),
        ]

    def line_of(self, level: int, address: Expr) -> Expr:
        """The number of the line that holds a byte."""
        return tirx.shift_right(address, int64(self.levels[level].line.bit_length() - 1))

    def first_place(self, level: int, line: Expr) -> Expr:
        """The place in the table of tags where the set of a line begins."""
        cache = self.levels[level]
        return tirx.bitwise_and(line, int64(cache.sets - 1)) * cache.ways

    def bound(self, value: Expr) -> Any:
        """A statement that gives a value a name, its ``var``."""
        return tirx.Bind(tirx.Var(f"n_{next(self.names)}", "int64"), value)

    def add(self, place: int, amount: int) -> Any:
        return tirx.BufferStore(self.counts, self.counts[place] + amount, [place])

    def is_data(self, expr: Expr) -> bool:
        if isinstance(expr, TensorLoad) or (isinstance(expr, tirx.Var) and expr in self.unknown):
            return True
        return any(self.is_data(each) for each in operands(expr))

    def check_known(self, expr: Expr) -> None:
        if self.is_data(expr):
            raise UsageError(
                "the addresses of this program depend on its data",
                expected="indices and conditions made of loop variables and constants",
                got=expr,
            )
