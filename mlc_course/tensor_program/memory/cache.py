"""Cache misses, counted: every access of a program goes through a simulated cache.

The addresses do not depend on the data, so the loops of a program, with each access replaced by a
look-up in a table of tags, are a program that counts its misses. TVM compiles that one too.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import SizeError, UsageError
from mlc_course.machine import Machine
from mlc_course.tensor_program.reading import addresses
from mlc_course.tensor_program.reading.walk import (
    Bound,
    Expr,
    Guard,
    Repeat,
    Step,
    Touch,
    Var,
    main_function,
    operands,
    walk,
)
from mlc_course.tensor_program.tvm_names import (
    ALIGNMENT,
    IRModule,
    PrimFunc,
    Schedule,
    TensorLoad,
    compact_buffers,
    compile_program,
    shared_tensor,
    tirx,
)

EMPTY = -1  # the tag of a place that holds no line


@dataclass(frozen=True)
class Cache:
    """``bytes`` in lines of ``line`` bytes; a line may stand in any of the ``ways`` of one set."""

    bytes: int = 32 * 1024
    ways: int = 8
    line: int = 64

    def __post_init__(self) -> None:
        sets, rest = divmod(self.bytes, max(self.ways, 1) * max(self.line, 1))
        powers = all(size > 0 and size & (size - 1) == 0 for size in (sets, self.line))
        if self.ways < 1 or rest or not powers:
            raise SizeError(
                "not a cache: sets and lines come in powers of two",
                expected="bytes = sets * ways * line",
                got=f"{self.bytes} bytes, {self.ways} ways, {self.line} bytes a line",
            )

    @property
    def sets(self) -> int:
        return self.bytes // (self.ways * self.line)


def levels(machine: Machine) -> tuple[Cache, ...]:
    """The data caches of a machine, first to last, as one thread has them to itself.

    Their sizes are the machine's. Where their sets are no power of two, there are fewer sets here
    and more ways; eight ways where the system does not tell. The default cache, if it tells none.
    """
    line = machine.line_bytes
    known = (
        (machine.l1d_bytes, machine.l1d_ways),
        (machine.l2_bytes, machine.l2_ways),
        (machine.l3_bytes, machine.l3_ways),
    )
    return tuple(_cache(size, ways or 8, line) for size, ways in known if size) or (Cache(),)


def _cache(size: int, ways: int, line: int) -> Cache:
    sets = 1 << max(size // (ways * line), 1).bit_length() - 1
    ways = max(size // (sets * line), 1)
    return Cache(sets * ways * line, ways, line)


@dataclass(frozen=True)
class Counts:
    """What one cache saw; a line of ``line`` bytes is filled at each miss."""

    accesses: int
    misses: int
    line: int

    @property
    def bytes_moved(self) -> int:
        """Bytes filled from the next level; what is written back to it comes on top."""
        return self.misses * self.line

    @property
    def miss_rate(self) -> float:
        return self.misses / self.accesses if self.accesses else 0.0


def count(
    program: IRModule | PrimFunc | Schedule,
    *levels: Cache,
    registers: Sequence[str] = ("local",),
    start: int = 0,
) -> tuple[Counts, ...]:
    """Accesses and misses of each level; the second level sees the misses of the first.

    Exact for least-recently-used caches, empty at the start, that fill on writes too; for one
    thread; without prefetching. Loops run in program order, whatever their kind: a vector is its
    elements, one by one. Buffers stand one behind the other from address ``start``, parameters
    first, each from a new page on, as TVM allocates them (local ones shrunk to what is in use).
    Buffers in the storage scopes named by ``registers`` are no memory: compilers keep small local
    arrays in registers; ``()`` counts them too. Without levels, one cache of 32 KiB.

    Cachegrind, on the machine code of every rung of the matmul ladder at 192^3, finds the same
    misses within 3 % (0.5 % but for one rung). It sees fewer accesses: one for a vector.

    Raises ``UsageError`` when an index or a condition depends on data, and ``SizeError`` when a
    level has shorter lines than the one before.
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
    program: IRModule | PrimFunc | Schedule,
    *levels: Cache,
    registers: Sequence[str] = (),
    start: int = 0,
) -> PrimFunc:
    """A program of tags (one int64 array per level) and counts (accesses, misses per level)."""
    lines = [level.line for level in levels]
    if lines != sorted(lines):
        raise SizeError(
            "a level has shorter lines than the one before",
            expected="lines that fill those of the level before",
            got=lines,
        )
    function = main_function(program).with_attr("global_symbol", "main")
    compact = main_function(compact_buffers(IRModule({"main": function})))
    steps = walk(compact)
    base = addresses.placed([*compact.params, *addresses.buffers(steps)], registers, start)
    return Counter(base, levels).function(steps)


def int64_array(size: int, value: int) -> NDArray[np.int64]:
    """An aligned int64 array."""
    room = np.empty(size + ALIGNMENT // 8, np.int64)
    skip = (-room.ctypes.data // 8) % (ALIGNMENT // 8)
    room[:] = value
    return room[skip : skip + size]


def _long(value: int) -> Expr:
    return tirx.const(value, "int64")


def _sequence(statements: Sequence[Any]) -> Any:
    if len(statements) > 1:
        return tirx.SeqStmt(list(statements))
    return statements[0] if statements else tirx.Evaluate(0)


class Counter:
    """Writes the counting program; ``unknown`` are the variables whose values are data."""

    def __init__(self, base: dict[Var, int], levels: Sequence[Cache]) -> None:
        self.base, self.levels = base, levels
        self.names = itertools.count()
        self.unknown: set[Var] = set()
        self.tags = [
            tirx.decl_buffer((level.sets * level.ways,), "int64", name=f"tags_{i}")
            for i, level in enumerate(levels)
        ]
        self.counts = tirx.decl_buffer((2 * len(levels),), "int64", name="counts")
        self.way, self.held = (
            [tirx.decl_buffer((1,), "int64", name=f"{name}_{i}", scope="local") for i in self.ids]
            for name in ("way", "held")
        )

    @property
    def ids(self) -> range:
        return range(len(self.levels))

    def function(self, steps: Sequence[Step]) -> PrimFunc:
        body = [tirx.AllocBuffer(each) for each in (*self.way, *self.held)]
        function = PrimFunc([*self.tags, self.counts], _sequence([*body, *self.statements(steps)]))
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
                    then, otherwise = map(_sequence, sides)
                    return [tirx.IfThenElse(step.condition, then, otherwise)]
            case Repeat():
                if body := self.statements(step.body):
                    kind = tirx.ForKind.SERIAL
                    return [tirx.For(step.var, step.start, step.extent, kind, _sequence(body))]
        return []

    def touch(self, step: Touch) -> list[Any]:
        for index in step.indices:
            self.check_known(index)
        return self.look_up(0, addresses.address(step, self.base))

    def look_up(self, level: int, address: Expr) -> list[Any]:
        """Find the line of an address and put it first in its set; where it is not, the next level.

        Each set is a list, most recently used first: lines move back one by one until the place is
        reached from which this one was taken, or the last falls out.
        """
        cache, tags = self.levels[level], self.tags[level]
        way, held = self.way[level], self.held[level]
        line, first, old = (
            tirx.Var(f"{name}_{next(self.names)}", "int64") for name in ("line", "first", "old")
        )
        missed = [self.add(2 * level + 1, 1)]
        if level + 1 < len(self.levels):
            missed += [self.add(2 * level + 2, 1), *self.look_up(level + 1, line * cache.line)]
        place = first + way[0]
        found = tirx.Select(old.equal(line), _long(cache.ways + 1), way[0] + 1)
        move = tirx.SeqStmt(
            [
                tirx.Bind(old, tags[place]),
                tirx.BufferStore(tags, held[0], [place]),
                tirx.BufferStore(held, old, [0]),
                tirx.BufferStore(way, found, [0]),
            ]
        )
        search = [
            tirx.BufferStore(held, line, [0]),
            tirx.BufferStore(way, _long(0), [0]),
            tirx.While(way[0] < cache.ways, move),
            tirx.IfThenElse(way[0].equal(_long(cache.ways)), _sequence(missed), None),
        ]
        shift = cache.line.bit_length() - 1
        return [
            tirx.Bind(line, tirx.shift_right(address, _long(shift))),
            tirx.Bind(first, tirx.bitwise_and(line, _long(cache.sets - 1)) * cache.ways),
            tirx.IfThenElse(tags[first] != line, _sequence(search), None),
        ]

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
