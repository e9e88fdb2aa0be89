"""A kernel program in the box: every thread goes through the statements by itself.

Each thread is a coroutine that stops at barriers. Shared memory is what it is on a GPU: one piece
of memory, in which buffers lie where the plan puts them, with their layouts. So a race, a barrier
too few, or a plan that puts two tiles in one place gives wrong numbers here, and a fault is said.

An asynchronous copy is done at once, or as late as it may: when its thread awaits it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from tqdm.auto import tqdm

from mlc_course.errors import GraphError, UsageError, check_known
from mlc_course.mugraph.box.access_log import AccessLog, Memory, Place, Table
from mlc_course.mugraph.box.faults import Fault, out_of_bounds, races, under_way, unwritten
from mlc_course.mugraph.box.python_kernels import EXTENTS, Run, Triple
from mlc_course.mugraph.box.schedule import Clock, Order, Turns, first_of_each, run_block
from mlc_course.mugraph.box.warp_requests import Requests, counts
from mlc_course.mugraph.ir import FLOAT32, Array
from mlc_course.mugraph.kernels import (
    CONST,
    VAR,
    Allocate,
    Apply,
    AwaitCopies,
    Axis,
    Barrier,
    Body,
    Buffer,
    CommitCopies,
    Compute,
    Constant,
    Copy,
    Count,
    Expr,
    Fetch,
    Guard,
    Kernel,
    Lookup,
    Loop,
    Read,
    Remark,
    Role,
    Select,
    Statement,
    Threads,
    Value,
    body_lines,
    interval,
    var,
    variables,
)
from mlc_course.mugraph.thread_kernels import WIDEST

Landing = Literal["at once", "late"]
LANDINGS = ("at once", "late")
SUMS = "float32"
Numbers: TypeAlias = dict[str, Any]
Ranges: TypeAlias = Mapping[str, tuple[int, int]]
TURNS_A_SECOND = 30_000  # statements of threads, roughly; says when to warn
PATIENCE_S = 30.0


@dataclass(frozen=True)
class KernelRun:
    """The outputs of a kernel program, and what happened."""

    outputs: tuple[Array, ...]
    run: Run


def run_kernel(
    kernel: Kernel,
    inputs: Sequence[Array],
    *,
    storage: str = "float32",
    order: Order | None = None,
    copies: Landing = "late",
    keep: bool = True,
    progress: bool | None = None,
) -> KernelRun:
    """Run a kernel thread by thread, and return its outputs with what happened.

    ``storage`` is the type of tensors in memory, the one that the kernel was lowered for; sums are
    float32. ``keep`` says whether all accesses are kept, or only counted. ``progress`` shows a bar;
    if it is None, where the kernel will take long.

    Raises ``GraphError`` for inputs that the kernel does not have.
    """
    check_known("no time for copies to land", copies, LANDINGS)
    expected = [each.shape for each in kernel.inputs]
    if [np.shape(each) for each in inputs] != expected:
        raise GraphError(
            f"{kernel.name}: inputs",
            expected=", ".join(f"{each.name} {each.shape}" for each in kernel.inputs),
            got=", ".join(str(np.shape(each)) for each in inputs),
        )
    arrays = {
        each.name: np.ascontiguousarray(given, storage).reshape(-1).copy()
        for each, given in zip(kernel.inputs, inputs, strict=True)
    }
    for each in kernel.outputs:
        arrays[each.name] = np.full(each.size, np.nan, storage)
    box = _Box(kernel, arrays, storage, order or Order(), copies, keep)
    run = box.run(progress)
    outputs = tuple(arrays[each.name].reshape(each.shape) for each in kernel.outputs)
    return KernelRun(outputs, run)


def thread_turns(kernel: Kernel) -> int:
    """Return how many statements all threads of a kernel go through, at most."""

    def of(body: Body) -> int:
        total = 0
        for each in body:
            match each:
                case Loop():
                    total += each.extent * of(each.body)
                case Threads():
                    total += of(each.body)
                case Guard():
                    total += 1 + max(of(each.body), of(each.otherwise))
                case Remark() | Fetch():
                    pass
                case _:
                    total += 1
        return total

    return kernel.blocks * kernel.threads * of(kernel.body)


def seconds_text(kernel: Kernel) -> str:
    """Return a sentence that says how long a kernel takes in the box, roughly, and a way out."""
    seconds = thread_turns(kernel) / TURNS_A_SECOND
    said = f"{seconds / 60:,.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
    return (
        f"{kernel.name} takes the box roughly {said}: it runs {kernel.blocks:,} blocks of "
        f"{kernel.threads} threads one after the other. Interrupt it at any time; "
        "kernel_checks.smaller has the same tiles on a few blocks."
    )


# ---- index expressions as functions


def compiled(expressions: Sequence[Expr]) -> Callable[[Numbers], tuple[Any, ...]]:
    """Return a function from numbers for variables to the values of some expressions."""
    source = f"lambda v: ({''.join(f'{_source(each)}, ' for each in expressions)})"
    made: Callable[[Numbers], tuple[Any, ...]] = eval(source, {})  # of the operators below
    return made


def _source(e: Expr) -> str:
    if e.op == CONST:
        return f"({int(e.args[0])})"
    if e.op == VAR:
        return f"v[{e.args[0]!r}]"
    return f"({_source(e.args[0])} {e.op} {_source(e.args[1])})"


class _Spot:
    """The elements of a buffer that a statement reads or writes, ready to be run."""

    def __init__(
        self, box: _Box, buffer: Buffer, index: Sequence[Expr], axes: Sequence[Axis],
        text: str, inside: Ranges,
    ) -> None:  # fmt: skip
        self.buffer = buffer
        self.place = compiled([buffer.flat(index)])
        self.index = compiled(list(index))
        within = {**inside, **{axis.name: (0, axis.extent - 1) for axis in axes}}
        self.is_inside = all(
            low >= 0 and high < extent
            for (low, high), extent in zip(
                (interval(e, within) for e in index), buffer.shape, strict=True
            )
        )
        used = frozenset[str]().union(*map(variables, index))
        self.wide, self.lanes = -1, 1
        for n, axis in enumerate(axes):
            if axis.lanes > 1 and axis.name in used:
                self.wide, self.lanes = n, axis.lanes
                break
        self.text = text
        self.size = box.bytes_of(buffer.role)
        self.is_private = buffer.scope not in ("global", "shared")
        self.spot = -1 if self.is_private else box.log.place(Place(0, text))
        self.memory = -1 if self.is_private else box.memory_of(buffer)


@dataclass
class _Lane:
    """One thread: the numbers of its loops, its registers, its copies under way."""

    numbers: Numbers
    registers: dict[str, Array] = field(default_factory=dict)
    visits: dict[tuple[int, bool], int] = field(default_factory=dict)
    open: list[tuple[Any, ...]] = field(default_factory=list)
    groups: list[list[tuple[Any, ...]]] = field(default_factory=list)


Evaluated = Callable[[_Lane, Numbers, Any], Any]
Doing = Callable[[_Lane], Iterator[Place] | None]
APPLIED: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "max": np.maximum,
    "min": np.minimum,
    "exp": np.exp,
}
REDUCED: Mapping[str, Any] = {"add": np.add, "max": np.maximum, "min": np.minimum}


class _Box:
    def __init__(
        self, kernel: Kernel, arrays: dict[str, Array], storage: str, order: Order,
        copies: Landing, keep: bool,
    ) -> None:  # fmt: skip
        self.kernel, self.arrays, self.order, self.copies = kernel, arrays, order, copies
        self.types = {"storage": np.dtype(storage), "sum": np.dtype(SUMS)}
        self.keep = keep
        self.log, self.clock = AccessLog(), Clock()
        self.faults: list[Fault] = []
        offsets = self._offsets()
        self.unit = min((self.bytes_of(b.role) for b in kernel.shared), default=4)
        ends = [offsets[b.name] + b.size * self.bytes_of(b.role) for b in kernel.shared]
        self.shared_bytes = -(-max([kernel.shared_bytes, *ends]) // WIDEST) * WIDEST
        if kernel.offsets and max(ends, default=0) > kernel.shared_bytes:
            raise UsageError(
                f"{kernel.name}: shared memory of a block, in bytes",
                expected=f"{kernel.shared_bytes:,}, as it was planned",
                got=f"{max(ends):,} with {storage}",
                hint="lower it for elements of this size",
            )
        self.starts = offsets
        self.memories: dict[str, int] = {}
        self._new_block()
        self.barriers = 0  # in the text: two threads that wait at different ones do not meet
        inside = {name: (0, extent - 1) for name, extent in kernel.grid}
        self.steps = self._body(kernel.body, inside)
        self.writer = {each.name: np.full(each.size, -1, np.int64) for each in kernel.outputs}

    def bytes_of(self, role: Role) -> int:
        return self.types[role].itemsize

    def _offsets(self) -> dict[str, int]:
        """Return where shared buffers lie: as planned, or one behind the other."""
        if self.kernel.offsets:
            return dict(self.kernel.offsets)
        found, end = dict[str, int](), 0
        for each in self.kernel.shared:
            found[each.name] = end
            end = -(-(end + each.size * self.bytes_of(each.role)) // WIDEST) * WIDEST
        return found

    def memory_of(self, buffer: Buffer) -> int:
        """Return the number of a buffer in the log."""
        if buffer.name not in self.memories:
            shared = buffer.scope == "shared"
            size = self.bytes_of(buffer.role)
            memory = Memory(
                buffer.name,
                buffer.shape,
                size,
                "shared" if shared else "global",
                self.starts[buffer.name] if shared else 0,
                _Inverse(buffer, size),
            )
            self.memories[buffer.name] = self.log.memory(memory)
        return self.memories[buffer.name]

    def _new_block(self) -> None:
        """Give the block shared memory that nobody has written."""
        room = np.full(self.shared_bytes, 0xFF, np.uint8)  # nan in any type
        self.shared = {}
        for each in self.kernel.shared:
            kind, start = self.types[each.role], self.starts[each.name]
            end = start + each.size * kind.itemsize
            self.shared[each.name] = room[start:end].view(kind)
        units = self.shared_bytes // self.unit
        self.holds = np.full(units, -1, np.int64)  # whose element was written there last
        self.coming = np.full(units, -1, np.int64)  # the thread of a copy that is under way

    # ---- running

    def run(self, progress: bool | None) -> Run:
        kernel = self.kernel
        axes = [range(extent) for _, extent in kernel.grid]
        numbers = [
            dict(zip((name for name, _ in kernel.grid), block, strict=True))
            for block in itertools.product(*axes)
        ]
        is_long = thread_turns(kernel) > PATIENCE_S * TURNS_A_SECOND
        shown = is_long if progress is None else progress
        if is_long:
            tqdm.write(seconds_text(kernel))
        kept: list[Array] = []
        counted: dict[tuple[str, Place, bool], Requests] = {}
        barriers = 0
        for block in tqdm(
            self.order.blocks(len(numbers)), desc=kernel.name, unit="block", disable=not shown
        ):
            self._new_block()
            fault = run_block(
                block, kernel.threads, self._started(numbers[block]), self.order, self.clock
            )
            barriers = max(barriers, self.clock.epoch)
            table = self.log.table()
            self.log.forget()
            self.faults += ([fault] if fault else []) + races(table)
            self._across_blocks(table)
            for each in counts(table):
                key = each.memory.name, each.place, each.writes
                had = counted.get(key)
                traffic = each.traffic + had.traffic if had else each.traffic
                counted[key] = Requests(each.memory, each.place, each.writes, traffic)
            if self.keep:
                kept.append(table.rows)
        rows = np.concatenate([np.zeros((0, 10), np.int64), *kept])
        extents = [extent for _, extent in kernel.grid][:3]
        run = Run(
            kernel.name,
            Triple(*extents, *EXTENTS[len(extents) :]),
            Triple(kernel.threads, 1, 1),
            self.order,
            Table(rows, tuple(self.log.memories), tuple(self.log.places)),
            tuple(first_of_each(self.faults)),
            barriers,
        )
        run.__dict__["counts"] = list(counted.values())
        return run

    def _across_blocks(self, table: Table) -> None:
        """Note what a block has written to outputs, and what another one had."""
        for name, writer in self.writer.items():
            if name not in self.memories:
                continue
            mine = table.where((table["memory"] == self.memories[name]) & (table["writes"] == 1))
            size = table.memories[self.memories[name]].itemsize
            for width in np.unique(mine["size"]):
                part = mine.where(mine["size"] == width)
                places = (part["address"][:, None] // size + np.arange(width // size)).reshape(-1)
                others = places[(writer[places] >= 0) & (writer[places] != self.clock.block)]
                if len(others):
                    memory = table.memories[self.memories[name]]
                    at = int(others[0]) * size
                    threads = ((int(writer[others[0]]), 0), (self.clock.block, 0))
                    says = (
                        f"blocks {threads[0][0]} and {threads[1][0]} both write "
                        f"{memory.element(at)}, and nothing orders blocks"
                    )
                    place = table.places[int(part["place"][0])]
                    self.faults.append(
                        Fault("race", says, threads, name, memory.index(at), (place,), len(others))
                    )
                writer[places] = self.clock.block

    def _started(self, numbers: Mapping[str, int]) -> Callable[[int], Turns]:
        def start(thread: int) -> Turns:
            with np.errstate(all="ignore"):
                lane = _Lane({**numbers, THREAD: thread})
                for step in self.steps:
                    waits = step(lane)
                    if waits is not None:
                        yield from waits

        return start

    # ---- statements, each made ready once

    def _body(self, body: Body, inside: Ranges) -> list[Doing]:
        return [
            self._statement(each, inside) for each in body if not isinstance(each, Remark | Fetch)
        ]

    def _statement(self, statement: Statement, inside: Ranges) -> Doing:
        match statement:
            case Loop(name, extent, body):
                return _loop(name, extent, self._body(body, {**inside, name: (0, extent - 1)}))
            case Threads(name, count, body):
                steps = self._body(body, {**inside, name: (0, count - 1)})
                return _threads(name, count, steps)
            case Guard(when, body, otherwise):
                return _guard(
                    compiled([when]), self._body(body, inside), self._body(otherwise, inside)
                )
            case Barrier():
                self.barriers += 1
                return _barrier(Place(0, f"barrier {self.barriers} of the text"))
            case Allocate(buffer):
                return self._allocate(buffer)
            case Compute():
                return self._compute(statement, inside)
            case Copy():
                return self._copy(statement, inside)
            case CommitCopies():
                return _commit
            case AwaitCopies(pending):
                return self._await(pending)
        raise UsageError("statement", expected="one of a kernel program", got=statement)

    def _allocate(self, buffer: Buffer) -> Doing:
        def do(lane: _Lane) -> None:
            lane.registers[buffer.name] = np.full(buffer.size, np.nan, self.types[buffer.role])

        return do

    def _compute(self, s: Compute, inside: Ranges) -> Doing:
        (text,) = list(body_lines((s,)))
        text = text.strip()
        rank = len(s.axes)
        along = {
            axis.name: np.arange(axis.extent).reshape(
                (1,) * n + (axis.extent,) + (1,) * (rank - n - 1)
            )
            for n, axis in enumerate(s.axes)
        }
        named = frozenset[str]().union(*map(variables, s.index))
        gone = tuple(n for n, axis in enumerate(s.axes) if axis.name not in named)
        shape = tuple(axis.extent for axis in s.axes)
        kept = tuple(1 if n in gone else extent for n, extent in enumerate(shape))
        value = self._value(s.value, s.axes, text, inside)
        target = _Spot(self, s.target, s.index, s.axes, text, inside)
        kind = self.types[s.target.role]

        def do(lane: _Lane) -> None:
            numbers = {**lane.numbers, **along}
            found = value(lane, numbers, None)
            if s.combine:
                if gone:
                    whole = np.broadcast_to(found, shape)
                    found = REDUCED[s.combine].reduce(whole, axis=gone, keepdims=True)
                had = self._read(target, lane, numbers, None)
                found = REDUCED[s.combine](had, found)
            elif gone:
                # without a way to combine them the last of the points remains
                last = tuple(slice(-1, None) if n in gone else slice(None) for n in range(rank))
                found = np.broadcast_to(found, shape)[last]
            self._write(target, lane, numbers, np.broadcast_to(np.asarray(found, kind), kept))

        return do

    def _value(self, value: Value, axes: Sequence[Axis], text: str, inside: Ranges) -> Evaluated:
        match value:
            case Constant(number):
                constant = np.float32(float(number))
                return lambda lane, numbers, mask: constant
            case Read(buffer, index):
                spot = _Spot(self, buffer, index, axes, text, inside)
                return lambda lane, numbers, mask: self._read(spot, lane, numbers, mask)
            case Select(when, then, otherwise):
                holds = compiled([when])
                # what a condition keeps inside is not known: every index is looked at
                yes, no = (self._value(v, axes, text, inside) for v in (then, otherwise))

                def select(lane: _Lane, numbers: Numbers, mask: Any) -> Any:
                    (kept,) = holds(numbers)
                    kept = np.asarray(kept, bool)
                    if kept.all() or not kept.any():
                        return (yes if kept.all() else no)(lane, numbers, mask)
                    a = yes(lane, numbers, kept if mask is None else mask & kept)
                    b = no(lane, numbers, ~kept if mask is None else mask & ~kept)
                    return np.where(kept, a, b)

                return select
            case Apply(name, args):
                parts = [self._value(each, axes, text, inside) for each in args]
                if name in APPLIED:
                    apply = APPLIED[name]
                    return lambda lane, numbers, mask: apply(
                        *[part(lane, numbers, mask) for part in parts]
                    )
                (part,) = parts
                return lambda lane, numbers, mask: FLOAT32.function(name, part(lane, numbers, mask))
            case Count() | Lookup():
                raise GraphError("the box has no number of an index, or of data", got=text)

    # ---- copies

    def _copy(self, s: Copy, inside: Ranges) -> Doing:
        (text,) = list(body_lines((s,)))
        text = text.strip()
        axis = Axis("neighbour", s.width, s.width)
        along = np.arange(s.width)

        def spot(buffer: Buffer, index: tuple[Expr, ...]) -> _Spot:
            moved = (*index[:-1], index[-1] + var(axis.name))
            return _Spot(self, buffer, moved, (axis,), text, inside)

        source, target = spot(s.source, s.source_index), spot(s.target, s.index)

        def do(lane: _Lane) -> None:
            numbers = {**lane.numbers, axis.name: along}
            value = self._read(source, lane, numbers, None)
            self._write(target, lane, numbers, value, is_copy=True)
            lane.open.append((source, target, numbers))

        return do

    def _await(self, pending: int) -> Doing:
        def do(lane: _Lane) -> None:
            while len(lane.groups) > pending:
                for source, target, numbers in lane.groups.pop(0):
                    (place,) = source.place(numbers)
                    array = self.arrays[source.buffer.name]
                    kept = (place >= 0) & (place < array.size)  # others are a fault already
                    value = array[np.where(kept, place, 0)]
                    self._write(target, lane, numbers, value, lands=True)

        return do

    # ---- memory

    def _data(self, spot: _Spot, lane: _Lane) -> Array:
        if spot.is_private:
            return lane.registers[spot.buffer.name]
        if spot.buffer.scope == "shared":
            return self.shared[spot.buffer.name]
        return self.arrays[spot.buffer.name]

    def _read(self, spot: _Spot, lane: _Lane, numbers: Numbers, mask: Any) -> Any:
        (place,) = spot.place(numbers)
        inside = self._inside(spot, numbers, mask, writes=False)
        if inside is not None:
            place = np.where(inside, place, 0)
        found = self._data(spot, lane)[place]
        if not spot.is_private:
            self._note(spot, lane, place, _both(mask, inside), writes=False)
        return found if found.dtype == np.float32 else found.astype(np.float32)

    def _write(
        self, spot: _Spot, lane: _Lane, numbers: Numbers, value: Any,
        *, is_copy: bool = False, lands: bool = False,
    ) -> None:  # fmt: skip
        (place,) = spot.place(numbers)
        inside = self._inside(spot, numbers, None, writes=True)
        data = self._data(spot, lane)
        if not (is_copy and self.copies == "late"):
            if inside is None:
                data[place] = np.reshape(value, np.shape(place))
            else:
                kept = np.broadcast_to(inside, np.shape(place))
                data[np.asarray(place)[kept]] = np.reshape(value, np.shape(place))[kept]
        if not spot.is_private:
            self._note(spot, lane, place, inside, writes=True, is_copy=is_copy, lands=lands)

    def _inside(self, spot: _Spot, numbers: Numbers, mask: Any, *, writes: bool) -> Any:
        """Return which of the elements exist, None if all do; others are a fault."""
        if spot.is_inside:
            return None
        index = spot.index(numbers)
        shape = spot.buffer.shape
        is_in: Any = True
        for each, extent in zip(index, shape, strict=True):
            is_in = is_in & (np.asarray(each) >= 0) & (np.asarray(each) < extent)
        wrong = ~is_in if mask is None else ~is_in & mask
        if wrong.any():
            at = [np.broadcast_to(each, wrong.shape)[wrong][0] for each in index]
            memory = (
                Memory(spot.buffer.name, shape, spot.size, "shared")
                if spot.is_private
                else self.log.memories[spot.memory]
            )
            first = tuple(map(int, at))
            place = Place(0, spot.text)
            self.faults.append(out_of_bounds(memory, first, writes, self.clock.who, place))
        return None if is_in.all() else is_in

    def _note(
        self, spot: _Spot, lane: _Lane, place: Any, mask: Any, *, writes: bool,
        is_copy: bool = False, lands: bool = False,
    ) -> None:  # fmt: skip
        """Put accesses in the log, and look after shared memory."""
        places = np.asarray(place)
        kept = None if mask is None else _fitted(mask, places.shape)
        memory = self.log.memories[spot.memory]
        rows = self._rows(spot, lane, places, kept, memory.start, writes=writes, lands=lands)
        self.log.extend(rows)
        if memory.scope == "shared":
            flat = places.reshape(-1) if kept is None else places[kept]
            self._watch(spot, memory, flat, writes=writes, is_copy=is_copy, lands=lands)

    def _rows(
        self, spot: _Spot, lane: _Lane, places: Array, kept: Array | None, start: int,
        *, writes: bool, lands: bool,
    ) -> Array:  # fmt: skip
        lanes, size = spot.lanes, spot.size
        if lanes > 1 and places.ndim > spot.wide and places.shape[spot.wide] % lanes == 0:
            moved = np.moveaxis(places, spot.wide, -1).reshape(-1, lanes)
            is_wide = (moved == moved[:, :1] + np.arange(lanes)).all()
            is_wide = is_wide and not (moved[:, 0] % lanes).any()
            if is_wide and (kept is None or kept.all()):
                places, size = moved[:, 0] * size, lanes * size
                pieces = range(0, size, WIDEST)
                addresses = (places[:, None] + np.array(pieces)).reshape(-1)
                return self._made(
                    spot, lane, start + addresses, None, min(size, WIDEST), writes, lands
                )
        mask = None if kept is None else kept.reshape(-1)
        return self._made(spot, lane, start + places.reshape(-1) * size, mask, size, writes, lands)

    def _made(
        self, spot: _Spot, lane: _Lane, addresses: Array, mask: Array | None, size: int,
        writes: bool, lands: bool,
    ) -> Array:  # fmt: skip
        key = spot.spot, writes
        first = lane.visits.get(key, 0)
        lane.visits[key] = first + len(addresses)
        rows = np.empty((len(addresses), 10), np.int64)
        rows[:] = (
            self.clock.block, self.clock.thread, spot.memory, 0, size, writes, spot.spot, 0,
            self.clock.epoch, lands,
        )  # fmt: skip
        rows[:, 3] = addresses
        rows[:, 7] = np.arange(first, first + len(addresses))
        return rows if mask is None else rows[mask]

    def _watch(
        self, spot: _Spot, memory: Memory, places: Array, *, writes: bool, is_copy: bool,
        lands: bool,
    ) -> None:  # fmt: skip
        """Find reads of what nobody wrote, and accesses to what a copy has not delivered."""
        per = spot.size // self.unit
        first = memory.start // self.unit
        units = first + places * per
        if per > 1:
            units = (units[:, None] + np.arange(per)).reshape(-1)
        coming = self.coming[units]
        if not lands and (coming >= 0).any():
            n = int(np.argmax(coming >= 0))
            index = memory.index(int(units[n]) * self.unit)
            owner, place = int(coming[n]), Place(0, spot.text)
            self.faults.append(under_way(memory, index, self.clock.who, owner, place))
        if writes:
            self.coming[units] = self.clock.thread if is_copy else -1
            self.holds[units] = spot.memory
            return
        holds = self.holds[units]
        if (holds != spot.memory).any():
            n = int(np.argmax(holds != spot.memory))
            index = memory.index(int(units[n]) * self.unit)
            other = "" if holds[n] < 0 else f"{self.log.memories[int(holds[n])].name} now"
            place = Place(0, spot.text)
            self.faults.append(unwritten(memory, index, self.clock.who, place, other))


THREAD = "thread of the block"  # no loop has this name


class _Inverse:
    """Which element of a buffer is at an offset: the layout backwards, worked out when asked."""

    def __init__(self, buffer: Buffer, size: int) -> None:
        self.buffer, self.size = buffer, size

    def __call__(self, offset: int) -> tuple[int, ...]:
        shape = self.buffer.shape
        axes = [Axis(f"i{n}", extent) for n, extent in enumerate(shape)]
        (place,) = compiled([self.buffer.flat([var(axis.name) for axis in axes])])({
            axis.name: np.arange(axis.extent).reshape(
                (1,) * n + (axis.extent,) + (1,) * (len(axes) - n - 1)
            )
            for n, axis in enumerate(axes)
        })  # fmt: skip
        where = np.flatnonzero(np.broadcast_to(place, shape).reshape(-1) == offset // self.size)
        number = int(where[0]) if len(where) else 0
        return tuple(int(each) for each in np.unravel_index(number, shape))


def _fitted(mask: Any, shape: tuple[int, ...]) -> Array:
    """Return a mask for elements of fewer points: one counts if any of its points does."""
    mask = np.asarray(mask)
    extra = mask.ndim - len(shape)
    if extra > 0:
        mask = mask.any(axis=tuple(range(extra)))
    shorter = tuple(
        n for n, (own, extent) in enumerate(zip(mask.shape, shape[-mask.ndim :], strict=True))
        if extent == 1 and own > 1
    ) if mask.ndim else ()  # fmt: skip
    return np.broadcast_to(mask.any(axis=shorter, keepdims=True) if shorter else mask, shape)


def _both(mask: Any, inside: Any) -> Any:
    if mask is None or inside is None:
        return inside if mask is None else mask
    return mask & inside


def _steps(steps: Sequence[Doing], lane: _Lane) -> Iterator[Place]:
    for step in steps:
        waits = step(lane)
        if waits is not None:
            yield from waits


def _loop(name: str, extent: int, steps: Sequence[Doing]) -> Doing:
    def do(lane: _Lane) -> Generator[Place, None, None]:
        before = lane.numbers.get(name)
        for number in range(extent):
            lane.numbers[name] = number
            yield from _steps(steps, lane)
        if before is not None:
            lane.numbers[name] = before

    return do


def _threads(name: str, count: int, steps: Sequence[Doing]) -> Doing:
    def do(lane: _Lane) -> Generator[Place, None, None]:
        thread = lane.numbers[THREAD]
        if thread < count:
            lane.numbers[name] = thread
            yield from _steps(steps, lane)

    return do


def _guard(
    when: Callable[[Numbers], tuple[Any, ...]], yes: Sequence[Doing], no: Sequence[Doing]
) -> Doing:
    def do(lane: _Lane) -> Iterator[Place]:
        return _steps(yes if when(lane.numbers)[0] else no, lane)

    return do


def _barrier(place: Place) -> Doing:
    def do(lane: _Lane) -> Generator[Place, None, None]:
        yield place

    return do


def _commit(lane: _Lane) -> None:
    lane.groups.append(lane.open)
    lane.open = []
