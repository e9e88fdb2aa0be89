"""A second judge of races: one block, its threads one after the other, in several orders.

Slow and simple on purpose, it shares nothing with ``memory_faults``: no epochs, no owners. Shared
memory is a list of pieces of two bytes. Between two barriers each thread goes through all that it
has to do before the next one begins, or each statement is done by all threads. A copy lands when it
is issued, or as late as it may.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.mugraph.kernels.index_expressions import evaluate
from mlc_course.mugraph.kernels.kernel_program import (
    Allocate,
    Apply,
    AwaitCopies,
    Barrier,
    Body,
    Buffer,
    CommitCopies,
    Compute,
    Constant,
    Copy,
    Guard,
    Kernel,
    Loop,
    Read,
    Select,
    Threads,
    Value,
)

UNITS = {"storage": 1, "sum": 2}
FUNCTIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b if b else math.nan,
    "max": max,
    "min": min,
    "exp": math.exp,
    "sqrt": math.sqrt,
}


@dataclass(frozen=True)
class Order:
    """The order of threads, whether each runs to the barrier alone, and when copies land."""

    threads: tuple[int, ...]
    alone: bool
    late: bool


def orders(threads: int) -> list[Order]:
    forward = tuple(range(threads))
    shuffled = list(forward)
    random.Random(1).shuffle(shuffled)
    rows = (forward, forward[::-1], tuple(shuffled))
    return [Order(*each) for each in itertools.product(rows, (True, False), (False, True))]


def outputs(kernel: Kernel, inputs: Sequence[Any], order: Order) -> list[Any]:
    """The outputs of a kernel; nan where nobody wrote, or half of an element."""
    known = {b.name: np.asarray(a) for b, a in zip(kernel.inputs, inputs, strict=True)}
    known |= {b.name: np.full(b.shape, np.nan) for b in kernel.outputs}
    for block in itertools.product(*(range(extent) for _, extent in kernel.grid)):
        numbers = dict(zip((name for name, _ in kernel.grid), block, strict=True))
        _Block(kernel, known, order).run(numbers)
    return [known[b.name] for b in kernel.outputs]


class _Block:
    def __init__(self, kernel: Kernel, known: dict[str, Any], order: Order) -> None:
        self.kernel, self.known, self.order = kernel, known, order
        size = max([kernel.shared_bytes // 2, *self._ends()])
        self.shared: list[Any] = [None] * size
        self.registers: list[dict[str, Any]] = [{} for _ in range(kernel.threads)]
        self.open: list[list[Any]] = [[] for _ in range(kernel.threads)]
        self.groups: list[list[Any]] = [[] for _ in range(kernel.threads)]

    def _ends(self) -> Iterator[int]:
        for each in self.kernel.shared:
            first = dict(self.kernel.offsets)[each.name] // 2
            yield first + (each.size + 2 * max(each.steps)) * UNITS[each.role]

    def run(self, numbers: Mapping[str, int]) -> None:
        segment: list[tuple[Any, Mapping[str, int]]] = []
        for statement, at in _trace(self.kernel.body, numbers):
            if isinstance(statement, Barrier):
                self._segment(segment)
                segment = []
            else:
                segment.append((statement, at))
        self._segment(segment)

    def _segment(self, work: Sequence[tuple[Any, Mapping[str, int]]]) -> None:
        pairs = [(t, unit) for t in self.order.threads for unit in work]
        if not self.order.alone:
            pairs = [(t, unit) for unit in work for t in self.order.threads]
        for thread, (statement, at) in pairs:
            if isinstance(statement, Threads):
                if thread < statement.count:
                    self._body(statement.body, {**at, statement.name: thread}, thread)
            else:
                self._body((statement,), at, thread)

    def _body(self, body: Body, at: Mapping[str, int], thread: int) -> None:
        for each in body:
            match each:
                case Loop(name, extent, inside):
                    for n in range(extent):
                        self._body(inside, {**at, name: n}, thread)
                case Guard(when, inside, otherwise):
                    self._body(inside if evaluate(when, at) else otherwise, at, thread)
                case Allocate(buffer):
                    self.registers[thread][buffer.name] = {}
                case Compute():
                    self._compute(each, at, thread)
                case Copy(target, index, source, source_index, width):
                    moved = []
                    for n in range(width):
                        value = self._read(source, _moved(source_index, n, at), thread)
                        moved.append((target, _moved(index, n, at), value))
                    self.open[thread].append(moved)
                    if not self.order.late:
                        self._land(moved, thread)
                case CommitCopies():
                    self.groups[thread].append(self.open[thread])
                    self.open[thread] = []
                case AwaitCopies(pending):
                    while len(self.groups[thread]) > pending:
                        for moved in self.groups[thread].pop(0):
                            if self.order.late:
                                self._land(moved, thread)

    def _land(self, moved: Sequence[Any], thread: int) -> None:
        for target, index, value in moved:
            self._write(target, index, value, thread)

    def _compute(self, s: Compute, at: Mapping[str, int], thread: int) -> None:
        for numbers in itertools.product(*(range(axis.extent) for axis in s.axes)):
            here = {**at, **dict(zip((axis.name for axis in s.axes), numbers, strict=True))}
            value = self._value(s.value, here, thread)
            index = tuple(int(evaluate(e, here)) for e in s.index)
            if s.combine:
                value = FUNCTIONS[s.combine](self._read(s.target, index, thread), value)
            self._write(s.target, index, value, thread)

    def _value(self, value: Value, at: Mapping[str, int], thread: int) -> float:
        match value:
            case Constant(number):
                return float(number)
            case Read(buffer, index):
                return self._read(buffer, tuple(int(evaluate(e, at)) for e in index), thread)
            case Select(when, then, otherwise):
                return self._value(then if evaluate(when, at) else otherwise, at, thread)
            case Apply(name, args):
                return float(FUNCTIONS[name](*(self._value(a, at, thread) for a in args)))

    # ---- memory; a place that is outside reads nan and keeps nothing

    def _units(self, buffer: Buffer, index: tuple[int, ...]) -> range:
        first = dict(self.kernel.offsets)[buffer.name] // 2
        width = UNITS[buffer.role]
        flat = int(evaluate(buffer.flat(index), {}))
        return range(first + flat * width, first + (flat + 1) * width)

    def _read(self, buffer: Buffer, index: tuple[int, ...], thread: int) -> float:
        match buffer.scope:
            case "global":
                inside = all(0 <= i < n for i, n in zip(index, buffer.shape, strict=True))
                return float(self.known[buffer.name][index]) if inside else math.nan
            case "registers":
                return float(self.registers[thread][buffer.name].get(index, math.nan))
        pieces = [self.shared[u] if 0 <= u < len(self.shared) else None
                  for u in self._units(buffer, index)]  # fmt: skip
        if any(piece is None or piece[1:] != (n, len(pieces)) for n, piece in enumerate(pieces)):
            return math.nan
        return float(pieces[0][0])

    def _write(self, buffer: Buffer, index: tuple[int, ...], value: float, thread: int) -> None:
        match buffer.scope:
            case "global":
                if all(0 <= i < n for i, n in zip(index, buffer.shape, strict=True)):
                    self.known[buffer.name][index] = value
            case "registers":
                self.registers[thread][buffer.name][index] = value
            case "shared":
                units = self._units(buffer, index)
                for n, u in enumerate(units):
                    if 0 <= u < len(self.shared):
                        self.shared[u] = value, n, len(units)


def _moved(index: Sequence[Any], by: int, at: Mapping[str, int]) -> tuple[int, ...]:
    *before, last = (int(evaluate(e, at)) for e in index)
    return (*before, last + by)


def _trace(body: Body, at: Mapping[str, int]) -> Iterator[tuple[Any, Mapping[str, int]]]:
    """Every statement that threads run, and every barrier, in the order of the block's control."""
    for each in body:
        match each:
            case Loop(name, extent, inside):
                for n in range(extent):
                    yield from _trace(inside, {**at, name: n})
            case Guard(when, inside, otherwise):
                yield from _trace(inside if evaluate(when, at) else otherwise, at)
            case _:
                yield each, at
