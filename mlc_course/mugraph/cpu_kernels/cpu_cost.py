"""The time of a kernel program on a CPU, estimated from its statements: for an order of tilings.

Vector instructions are counted as they will be issued, and bytes as they will come from each cache:
a tile that is read again comes from the nearest cache that holds what was touched meanwhile. Rates
are those that were measured on this machine (``tensor_program.memory``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mlc_course.machine import Machine
from mlc_course.mugraph.kernels import (
    Apply,
    Axis,
    Body,
    Buffer,
    Compute,
    Expr,
    Guard,
    Kernel,
    Loop,
    Read,
    Select,
    Value,
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


@dataclass(frozen=True)
class Rates:
    """The rates of one core while ``threads`` work: multiply-adds of vectors, and bytes, a second.

    ``caches`` are (bytes that it holds, bytes a second from it), the nearest first; the first
    cache's bandwidth is hidden behind the instructions.
    """

    threads: int
    lanes: int
    instructions: float
    caches: tuple[tuple[int, float], ...]
    memory: float


def rates_of(machine: Machine, roofs: Roofs) -> Rates:
    """Return the rates of a core of a machine whose roofs have been measured on some threads."""
    sizes = [size for size in (machine.l2_bytes, machine.l3_bytes) if size]
    near = [1e9 * each / roofs.threads for each in roofs.caches]
    return Rates(
        threads=roofs.threads,
        lanes=machine.lanes,
        instructions=1e9 * roofs.gflops / (2 * machine.lanes) / roofs.threads,
        caches=((machine.l1d_bytes, math.inf), *zip(sizes, near, strict=False)),
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
            bytes_ * turns / speed
            for bytes_, (_, speed) in zip(count.near, rates.caches, strict=True)
        ),
        memory=count.memory * max(turns, 1 / rates.threads) / rates.memory,
        overhead=count.statements * turns * STATEMENT + FORK * (rates.threads > 1 < blocks),
    )


@dataclass(frozen=True)
class _Nest:
    """A loop, or an axis of a statement, around an access."""

    name: str
    extent: float
    footprint: float = field(compare=False)  # bytes that one turn of it touches


class _Count:
    """Totals of all blocks."""

    def __init__(self, kernel: Kernel, rates: Rates) -> None:
        self.rates = rates
        self.multiply_adds = self.elements = self.memory = self.statements = 0.0
        self.near = [0.0] * len(rates.caches)
        self.extents = dict(kernel.grid)
        everything = sum(FLOAT * b.size for b in (*kernel.inputs, *kernel.outputs))
        self.home = self._level(everything)
        footprint = _footprint(kernel.body, {})
        outside = [_Nest(name, extent, footprint) for name, extent in kernel.grid]
        # a block's private buffers are used again by the next block
        self._body(kernel.body, outside, 1.0)

    def _level(self, bytes_: float) -> int:
        """The nearest cache that holds so much; the number of caches for memory."""
        sizes = [size for size, _ in self.rates.caches]
        return next((n for n, size in enumerate(sizes) if bytes_ <= size), len(sizes))

    def _body(self, body: Body, around: Sequence[_Nest], share: float) -> None:
        for each in body:
            match each:
                case Loop(name, extent, inside):
                    nest = _Nest(name, extent, _footprint(inside, {}))
                    self.extents[name] = extent
                    self._body(inside, (*around, nest), share)
                case Guard(when, inside, otherwise):
                    part = _fraction(when, self.extents)
                    self._body(inside, around, share * part)
                    self._body(otherwise, around, share * (1 - part))
                case Compute():
                    self._compute(each, around, share)

    def _compute(self, compute: Compute, around: Sequence[_Nest], share: float) -> None:
        trips = share * math.prod(nest.extent for nest in around)
        self.statements += trips
        vectors = trips * _vectors(compute.axes, self.rates.lanes)
        is_product = isinstance(compute.value, Apply) and compute.value.name == "mul"
        if compute.combine == "add" and is_product and compute.target.scope == "registers":
            self.multiply_adds += vectors
        else:
            moves = sum(each.buffer.scope != "registers" for each in reads(compute.value))
            self.elements += vectors * (0.5 * moves + 0.5 + _work(compute.value))
            self.elements += vectors * bool(compute.combine)
        inner = [_Nest(axis.name, axis.extent, 0.0) for axis in compute.axes]
        for read in reads(compute.value):
            self._access(read, (*around, *inner), share)
        target = Read(compute.target, compute.index)
        self._access(target, (*around, *inner), share)

    def _access(self, access: Read, around: Sequence[_Nest], share: float) -> None:
        buffer = access.buffer
        if buffer.scope == "registers":
            return
        used = frozenset(name for each in access.index for name in variables(each))
        distinct = float(FLOAT)
        own = 0 if buffer.scope == "global" else self._level(around[0].footprint if around else 0)
        for nest in reversed(around):
            if nest.name in used:
                distinct *= nest.extent
            elif nest.extent > 1:
                level = self._level(nest.footprint + distinct)
                again = share * distinct * (nest.extent - 1)
                if level == len(self.near):
                    self.memory += again
                else:
                    self.near[level] += again
        distinct = share * min(distinct, FLOAT * buffer.size * self._copies(buffer, around))
        level = self.home if buffer.scope == "global" else own
        if level == len(self.near):
            self.memory += distinct
        else:
            self.near[level] += distinct

    def _copies(self, buffer: Buffer, around: Sequence[_Nest]) -> float:
        return 1.0 if buffer.scope == "global" else math.prod(nest.extent for nest in around)


def _footprint(body: Body, inner: Mapping[str, float]) -> float:
    """Count the bytes that a body touches once."""
    most: dict[str, float] = {}
    for access, extents in _accesses(body, inner):
        if access.buffer.scope != "registers":
            used = {name for each in access.index for name in variables(each)}
            elements = math.prod(extents.get(name, 1.0) for name in used)
            bytes_ = FLOAT * min(elements, access.buffer.size)
            most[access.buffer.name] = max(most.get(access.buffer.name, 0.0), bytes_)
    return sum(most.values())


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
