"""The time of a kernel program on a CPU, estimated from its statements: for an order of tilings.

Vector instructions are counted as they will be issued, and bytes as they will come from each cache:
a tile that is read again comes from the nearest cache that holds what was touched meanwhile. Rows
that are a multiple of a power of two apart share few sets of a cache, and need as much room as if
they filled the others too. Rates are those that were measured on this machine
(``tensor_program.memory``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mlc_course.machine import Machine
from mlc_course.mugraph.kernels import (
    LINE,
    ZERO,
    Apply,
    Axis,
    Body,
    Buffer,
    Compute,
    Expr,
    Fetch,
    Guard,
    Kernel,
    Loop,
    Read,
    Select,
    Value,
    evaluate,
    reads,
    variables,
)
from mlc_course.tensor_program.memory import Roofs

# Instructions of each function of an element, in units of a multiply-add's time.
INSTRUCTIONS: Mapping[str, float] = {"exp": 22, "div": 8, "sqrt": 10, "log": 300}
HIDDEN = 0.75  # of the shorter of computing and waiting for memory, the part behind the longer
FORK = 6e-6  # seconds to begin a parallel loop and to wait for its end
STATEMENT = 4e-9  # seconds to begin a loop nest
FLOAT = 4  # bytes
CLASH = 4  # a line into a set of the first cache that others want too: its time, in other lines'
UNFETCHED = 8  # a line that is waited for: its time, in other lines'
MOST_STREAMS, WIDE_BYTES = 8, 256  # rows side by side, and bytes of each, that need no fetching


@dataclass(frozen=True)
class Cache:
    """A cache of so many bytes, and bytes a second from it; lines ``period`` apart share a set."""

    bytes: int
    rate: float
    period: int


@dataclass(frozen=True)
class Rates:
    """The rates of one core while ``threads`` work: multiply-adds of vectors, and bytes, a second.

    ``caches`` begin with the nearest, whose bandwidth is hidden behind the instructions.
    """

    threads: int
    lanes: int
    instructions: float
    caches: tuple[Cache, ...]
    memory: float


def rates_of(machine: Machine, roofs: Roofs) -> Rates:
    """Return the rates of a core of a machine whose roofs have been measured on some threads."""
    near = [math.inf, *(1e9 * each / roofs.threads for each in roofs.caches)]
    caches = [
        (machine.l1d_bytes, machine.l1d_ways),
        (machine.l2_bytes, machine.l2_ways),
        (machine.l3_bytes, 0),  # it mixes the bits of addresses: no lines clash
    ]
    there = [(size, ways) for size, ways in caches if size]
    return Rates(
        threads=roofs.threads,
        lanes=machine.lanes,
        instructions=1e9 * roofs.gflops / (2 * machine.lanes) / roofs.threads,
        caches=tuple(
            Cache(size, rate, size // ways if ways else LINE)
            for (size, ways), rate in zip(there, near, strict=False)
        ),
        memory=1e9 * roofs.gbytes_per_s / roofs.threads,
    )


@dataclass(frozen=True)
class Estimate:
    """Seconds of a kernel: its parts on the busiest core, and their sum as far as it is not hidden.

    ``multiply_adds`` and ``elements`` are instructions, ``near`` is from caches, ``memory`` from
    memory, ``overhead`` starts loops and threads.
    """

    multiply_adds: float
    elements: float
    near: float
    memory: float
    overhead: float

    @property
    def total(self) -> float:
        computing = self.multiply_adds + self.elements
        waiting = self.near + self.memory
        longer, shorter = max(computing, waiting), min(computing, waiting)
        return longer + (1 - HIDDEN) * shorter + self.overhead

    @property
    def limited_by(self) -> str:
        """The largest part, in words."""
        parts = {
            "multiply-adds": self.multiply_adds,
            "element functions": self.elements,
            "caches": self.near,
            "memory": self.memory,
            "starting loops and threads": self.overhead,
        }
        return max(parts, key=lambda name: parts[name])


def estimate(kernel: Kernel, rates: Rates) -> Estimate:
    """Return the estimated time of a kernel."""
    count = _Count(kernel, rates)
    blocks = kernel.blocks
    turns = math.ceil(blocks / rates.threads) / blocks  # the busiest core's share
    return Estimate(
        multiply_adds=count.multiply_adds * turns / rates.instructions,
        elements=count.elements * turns / rates.instructions,
        near=sum(
            bytes_ * turns / cache.rate
            for bytes_, cache in zip(count.near, rates.caches, strict=True)
        ),
        memory=count.memory * max(turns, 1 / rates.threads) / rates.memory,
        overhead=count.statements * turns * STATEMENT + FORK * (rates.threads > 1 < blocks),
    )


Room = Sequence[float]  # bytes in each cache


@dataclass(frozen=True)
class _Nest:
    """A loop, or an axis of a statement, around an access."""

    name: str
    extent: float
    footprint: Room = field(compare=False)  # what one turn of it touches


@dataclass(frozen=True)
class _Strip:
    """Some columns of rows that are read side by side.

    It has ``width`` elements of ``height`` rows, each of ``row`` bytes, and needs ``room`` in each
    cache.
    """

    height: float
    width: float
    row: int
    room: Room

    @property
    def is_scattered(self) -> bool:
        """True where the machine cannot tell by itself which lines follow."""
        return self.height > MOST_STREAMS and FLOAT * self.width <= WIDE_BYTES < self.row


class _Count:
    """Totals of all blocks."""

    def __init__(self, kernel: Kernel, rates: Rates) -> None:
        self.rates = rates
        self.multiply_adds = self.elements = self.memory = self.statements = 0.0
        self.near = [0.0] * len(rates.caches)
        self.seen: dict[Buffer, float] = {}  # bytes that have come from home
        self.fetched = _fetched(kernel.body)
        self.extents, self.grid = dict(kernel.grid), dict(kernel.grid)
        everything = float(sum(FLOAT * b.size for b in (*kernel.inputs, *kernel.outputs)))
        self.home = self._level([everything] * len(rates.caches))
        footprint = self._footprint(kernel.body)
        outside = [_Nest(name, extent, footprint) for name, extent in kernel.grid]
        # a block's private buffers are used again by the next block
        self._body(kernel.body, outside, 1.0)

    def _level(self, room: Room) -> int:
        """The nearest cache that has so much room; the number of caches for memory."""
        caches = self.rates.caches
        there = zip(room, caches, strict=True)
        return next((n for n, (needed, c) in enumerate(there) if needed <= c.bytes), len(caches))

    def _moved(self, level: int, bytes_: float) -> None:
        if level == len(self.near):
            self.memory += bytes_
        else:
            self.near[level] += bytes_

    def _body(self, body: Body, around: Sequence[_Nest], share: float) -> None:
        for each in body:
            match each:
                case Loop(name, extent, inside):
                    nest = _Nest(name, extent, self._footprint(inside))
                    self.extents[name] = extent
                    self._body(inside, (*around, nest), share)
                case Guard(when, inside, otherwise):
                    part = _fraction(when, self.extents)
                    self._body(inside, around, share * part)
                    self._body(otherwise, around, share * (1 - part))
                case Compute():
                    self._compute(each, around, share)
                case Fetch(ahead):
                    for read in ahead:
                        self._fetch(read, around, share)

    def _compute(self, compute: Compute, around: Sequence[_Nest], share: float) -> None:
        trips = share * math.prod(nest.extent for nest in around)
        self.statements += trips * any(not axis.unrolled for axis in compute.axes)
        vectors = trips * _vectors(compute.axes, self.rates.lanes)
        is_product = isinstance(compute.value, Apply) and compute.value.name == "mul"
        if compute.combine == "add" and is_product and compute.target.scope == "registers":
            self.multiply_adds += vectors
        else:
            moves = sum(each.buffer.scope != "registers" for each in reads(compute.value))
            self.elements += vectors * (0.5 * moves + 0.5 + _work(compute.value))
            self.elements += vectors * bool(compute.combine)
        nothing = [0.0] * len(self.near)
        nests = (*around, *(_Nest(axis.name, axis.extent, nothing) for axis in compute.axes))
        for read in reads(compute.value):
            self._access(read, nests, share)
        self._access(Read(compute.target, compute.index), nests, share)

    def _access(self, access: Read, around: Sequence[_Nest], share: float) -> None:
        buffer = access.buffer
        if buffer.scope == "registers":
            return
        used = frozenset(name for each in access.index for name in variables(each))
        distinct, inside = float(FLOAT), dict[str, float]()
        strip = self._strip(access, around)
        first = self.rates.caches[0].bytes if self.rates.caches else math.inf
        clash = CLASH if strip.room[0] > first else 1
        own = 0 if buffer.scope == "global" else self._level(around[0].footprint if around else [])
        for nest in reversed(around):
            if nest.name in used:
                distinct *= nest.extent
                inside[nest.name] = nest.extent
            elif nest.extent > 1:
                room = _room(access, inside, self.rates.caches)
                level = self._level([a + b for a, b in zip(nest.footprint, room, strict=True)])
                slower = clash if level == 1 else 1
                self._moved(level, slower * share * distinct * (nest.extent - 1))
        distinct = share * min(distinct, FLOAT * buffer.size * self._copies(buffer, around))
        if buffer.scope != "global":
            self._moved(own, distinct)
            return
        fresh = max(0.0, distinct - self.seen.get(buffer, 0.0))
        self.seen[buffer] = self.seen.get(buffer, 0.0) + fresh
        self._moved(self.home, fresh)
        self._moved(min(self.home, 1), distinct - fresh)
        if self.home > 1:
            self._moved(1, (clash - 1) * distinct)
            if strip.is_scattered and buffer not in self.fetched:
                self._moved(self.home, (UNFETCHED - 1) * fresh)

    def _fetch(self, access: Read, around: Sequence[_Nest], share: float) -> None:
        """Count lines that are waited for all the same.

        Those are the first strips of a row, and lines that the second cache has lost again before
        they are used.
        """
        strip = self._strip(access, around)
        lines = share * math.prod(nest.extent for nest in around)
        if (level := self._level([math.inf, *strip.room[1:]])) > 1:
            self._moved(level, UNFETCHED * LINE * lines)
        column = access.index[-1]
        moving = {n: self.extents[n] for n in variables(column) if n not in self.grid}
        nowhere = dict.fromkeys(self.extents, 0)
        start, end = (evaluate(column, {**nowhere, **at}) for at in ({}, moving))
        if strip.is_scattered:
            late = min(1.0, start / max(1, end - start))
            self._moved(self.home, (UNFETCHED - 1) * LINE * lines * late)

    def _strip(self, access: Read, around: Sequence[_Nest]) -> _Strip:
        *rows, last = [variables(each) for each in access.index or (ZERO,)]
        inside: dict[str, float] = {}
        height = width = 1.0
        for nest in reversed(around):
            if height > 1 and nest.name in last:
                break  # it goes from strip to strip
            height *= nest.extent if any(nest.name in each for each in rows) else 1
            width *= nest.extent if nest.name in last else 1
            inside[nest.name] = nest.extent
        row = FLOAT * access.buffer.shape[-1] if access.buffer.shape else 0
        return _Strip(height, width, row, _room(access, inside, self.rates.caches))

    def _copies(self, buffer: Buffer, around: Sequence[_Nest]) -> float:
        return 1.0 if buffer.scope == "global" else math.prod(nest.extent for nest in around)

    def _footprint(self, body: Body) -> Room:
        """Return the room that a body needs in each cache, everything counted once."""
        most: dict[str, Room] = {}
        for access, extents in _accesses(body, {}):
            if access.buffer.scope != "registers":
                before = most.get(access.buffer.name, [0.0] * len(self.near))
                room = _room(access, extents, self.rates.caches)
                most[access.buffer.name] = [max(pair) for pair in zip(before, room, strict=True)]
        return [sum(each) for each in zip(*most.values(), strict=True)] or [0.0] * len(self.near)


def _room(access: Read, extents: Mapping[str, float], caches: Sequence[Cache]) -> Room:
    """Return the bytes that an access needs in each cache, over some loops.

    Strips of rows that are a multiple of a cache's period apart share the sets of one strip.
    """
    buffer, (*rows, last) = access.buffer, access.index or (ZERO,)
    used = {name for each in access.index for name in variables(each)}
    elements = math.prod(extents.get(name, 1.0) for name in used)
    bytes_ = FLOAT * min(elements, buffer.size)
    if all(extents.get(name, 1.0) == 1.0 for each in rows for name in variables(each)):
        return [bytes_] * len(caches)
    row = FLOAT * buffer.shape[-1]
    strip = FLOAT * math.prod(extents.get(name, 1.0) for name in variables(last))
    lines = bytes_ * max(1.0, LINE / strip)
    strip = min(max(strip, LINE), row)
    return [lines * max(1.0, math.gcd(row, cache.period) / strip) for cache in caches]


def _fetched(body: Body) -> frozenset[Buffer]:
    """The buffers of which lines are fetched ahead."""
    found: set[Buffer] = set()
    for each in body:
        match each:
            case Loop(_, _, inside):
                found |= _fetched(inside)
            case Guard(_, inside, otherwise):
                found |= _fetched(inside) | _fetched(otherwise)
            case Fetch(ahead):
                found |= {read.buffer for read in ahead}
    return frozenset(found)


def _accesses(body: Body, inner: Mapping[str, float]) -> Iterator[tuple[Read, dict[str, float]]]:
    for each in body:
        match each:
            case Loop(name, extent, inside):
                yield from _accesses(inside, {**inner, name: extent})
            case Guard(_, inside, otherwise):
                yield from _accesses(inside, inner)
                yield from _accesses(otherwise, inner)
            case Compute(target, index, value, axes):
                extents = {**inner, **{axis.name: float(axis.extent) for axis in axes}}
                for access in (Read(target, index), *reads(value)):
                    yield access, extents


def _vectors(axes: Sequence[Axis], lanes: int) -> float:
    """Count vector instructions for one operation at every point."""
    total = 1.0
    for axis in axes:
        whole, rest = divmod(axis.extent, axis.lanes)
        total *= whole + rest if axis.lanes > 1 else axis.extent
    return total


def _work(value: Value) -> float:
    match value:
        case Apply(name, args):
            return INSTRUCTIONS.get(name, 1.0) + sum(map(_work, args))
        case Select(_, then, otherwise):
            return 1 + _work(then) + _work(otherwise)
    return 0.0


def _fraction(when: Expr, extents: Mapping[str, float]) -> float:
    """The part of a grid or of a loop in which a condition holds."""
    a, b = when.args if len(when.args) == 2 else (when, when)
    match when.op:
        case "&":
            return _fraction(a, extents) * _fraction(b, extents)
        case "==" if a.op == "var":
            return 1 / extents[a.args[0]]
        case "<" if a.op == "var" and b.op == "const":
            return min(1.0, float(b.args[0]) / extents[a.args[0]])
    return 0.5
