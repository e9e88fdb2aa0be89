"""What can go wrong with memory in a kernel: found by running it without values.

Index expressions never depend on data. So one run over all blocks, which only notes who touched
which place of memory when, decides for all data and for every order of threads and iterations:

- an index beyond the extent of its axis;
- a read of what nobody wrote, an output of which an element is not written at the end;
- points of one statement that write the same element, or read what another one writes;
- iterations of a loop in any order, and blocks, that touch one element of which one writes;
- a buffer that is used outside of the body that it was made in, or not as it was declared;
- threads that do so without a barrier between them (a race);
- a read of another element than the one that was written there: in shared memory, buffers lie where
  the plan puts them, so two layouts of one buffer show, and so do two buffers in one place;
- a copy that has not been waited for, or that is not from an input to shared memory;
- a product on a matrix unit that hands out other elements than its formula says.

The first fault is the answer. It holds for the extents that the kernel has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from mlc_course.mugraph.ir import Array, Shape
from mlc_course.mugraph.kernel_checks.kernel_walk import (
    Lead,
    Points,
    Step,
    Walk,
    Whose,
    accesses,
    copied,
    element_number,
    kept_axes,
    whose,
)
from mlc_course.mugraph.kernel_checks.matrix_faults import matrix_fault
from mlc_course.mugraph.kernels import (
    Allocate,
    AwaitCopies,
    Axis,
    Barrier,
    Body,
    Buffer,
    CommitCopies,
    Compute,
    Copy,
    Expr,
    Kernel,
    Read,
    Statement,
    Threads,
    body_lines,
    evaluate,
    reads,
    var,
    variables,
    walk,
)

Kind = Literal[
    "bounds",
    "undefined",
    "overlap",
    "iterations",
    "blocks",
    "race",
    "layout",
    "copy",
    "barrier",
    "matrix",
]
UNIT = 2  # bytes of planned memory that are tracked together
MATRIX_ROW, MATRIX_BYTES = 16, 2  # bytes of a row, and of an element
NOBODY, MANY = -1, -2


@dataclass(frozen=True)
class Fault:
    """The first thing that a kernel does wrong, and where.

    ``statement`` is its text, ``index`` that of the element of ``buffer``; ``block`` has a number
    for each axis of the grid.
    """

    kind: Kind
    statement: str
    buffer: str
    index: tuple[int, ...]
    block: tuple[int, ...]
    thread: int | None
    says: str

    def __str__(self) -> str:
        index = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        where = [f"block {list(self.block)}"] if self.block else []
        where += [] if self.thread is None else [f"thread {self.thread}"]
        where += [f"at: {self.statement.strip()}"] if self.statement else []
        said = f"{self.buffer}{index} {self.says}".strip()
        return f"{said} ({', '.join(where)})" if where else said


def first_fault(kernel: Kernel) -> Fault | None:
    """Run a kernel without values; return the first thing that it does wrong, or None."""
    run = _Checks(kernel)
    run.run()
    return run.fault or run.unwritten_output()


# Of those who share a memory: the kind of fault, what one is called, and when they are at odds.
PARTIES: Mapping[str, tuple[Kind, str, str]] = {
    "block": ("blocks", "block", "at any time"),
    "any": ("iterations", "iteration", "in any order"),
    "thread": ("race", "thread", "since the last barrier"),
}


class _Touches:
    """Who of some parties touched each cell last, and when: parties are at odds at equal times."""

    def __init__(self, cells: int) -> None:
        self.wrote, self.wrote_when = (np.full(cells, NOBODY, np.int32) for _ in range(2))
        self.read, self.read_when = (np.full(cells, NOBODY, np.int32) for _ in range(2))

    def reading(self, cells: Array, who: Array, when: Array) -> tuple[Array, Array]:
        """Note reads; return which of them meet another party's write, and whose."""
        wrote = self.wrote[cells]
        wrong = (self.wrote_when[cells] == when) & (wrote != who)
        several = (self.read_when[cells] == when) & (self.read[cells] != who)
        now = np.where(several, MANY, who)
        self.read[cells], self.read_when[cells] = now, when
        at_once = self.read[cells] != now
        self.read[cells[at_once]] = MANY
        return wrong, wrote

    def writing(
        self, cells: Array, who: Array, when: Array
    ) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Note writes; return which of them meet another party's write, then which its read."""
        wrote, read = self.wrote[cells], self.read[cells]
        written = (self.wrote_when[cells] == when) & (wrote != who)
        was_read = (self.read_when[cells] == when) & (read != who)
        self.wrote[cells], self.wrote_when[cells] = who, when
        last = self.wrote[cells]
        return (written | (last != who), np.where(written, wrote, last)), (was_read, read)


class _Memory:
    """Some cells, as often as they exist: which element of which buffer lies in each."""

    def __init__(self, cells: int, of: Whose) -> None:
        self.cells, self.of = cells, of
        total = cells * of.copies
        self.owner, self.element = (np.full(total, NOBODY, np.int32) for _ in range(2))
        self.flying: Array | None = None  # the thread whose copy into a cell is under way
        self.group = np.zeros(0, np.int32)
        self.touches: dict[tuple[str, int], _Touches] = {}
        self.writer, self.written_by = (np.full(total, NOBODY, np.int64) for _ in range(2))

    def touched(self, kind: str, place: int) -> _Touches:
        if (kind, place) not in self.touches:
            self.touches[kind, place] = _Touches(len(self.owner))
        return self.touches[kind, place]


@dataclass(frozen=True)
class _Place:
    """Where a buffer lies, as it was declared: from ``first`` on, ``width`` cells an element."""

    buffer: Buffer
    memory: _Memory
    first: int
    width: int
    number: int


@dataclass(frozen=True, eq=False)
class _Spot:
    """The elements that a statement touches at its points.

    ``cells`` and ``elements`` are flat, one for each point that is kept; ``keep`` flattens another
    array over the points in the same way.
    """

    buffer: Buffer
    statement: Statement
    points: Points
    index: tuple[Array, ...]
    shape: Shape
    mask: Array | None
    place: _Place | None = None  # None: an input, which nobody writes
    cells: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    elements: Array = field(default_factory=lambda: np.zeros(0, np.int64))

    def keep(self, array: Array) -> Array:
        whole = np.broadcast_to(array, self.shape)
        if self.mask is None:
            return whole.reshape(-1)
        return np.asarray(whole[np.broadcast_to(self.mask, self.shape)])

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, eq=False)
class _Party:
    """Those of one lead axis who share a memory: who of them touches it at each point, and when."""

    axis: Lead
    touches: _Touches
    who: Array
    when: Array

    @property
    def kind(self) -> Kind:
        return PARTIES[self.axis.kind][0]

    def says(self, done: str, others: Array, which: int) -> str:
        _, name, when = PARTIES[self.axis.kind]
        other = int(others[which])
        number = f"{other}" if self.axis.kind == "thread" else f"{self.axis.name}={other}"
        return f"{done} by {f'{name} {number}' if other >= 0 else f'another {name}'}, {when}"


class _Checks(Walk):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.fault: Fault | None = None
        self.serial = 0  # of statements that were run
        self.products: set[object] = set()  # on a matrix unit, that were looked at
        blocks = max(1, kernel.blocks)
        self.epoch = np.zeros(blocks, np.int32)
        self.committed = np.zeros((blocks, max(1, kernel.threads)), np.int32)
        self.inputs = {each.name: each for each in kernel.inputs}
        self.places: dict[str, _Place] = {}
        for each in kernel.outputs:
            self.places[each.name] = self._own_place(each, Points((), {}))
        self._lay_out_shared()
        for inside in walk(kernel.body):
            if isinstance(inside, Threads) and inside.count > kernel.threads:
                says = f"there are {kernel.threads} threads"
                self._report("bounds", None, says, statement=inside)
        names = [each.name for each in (*kernel.inputs, *kernel.outputs, *kernel.shared)]
        for each in (*kernel.outputs, *kernel.shared):
            if names.count(each.name) > 1:
                self._report("layout", each, "is the name of two buffers")

    # ---- where buffers lie

    def _own_place(self, buffer: Buffer, points: Points) -> _Place:
        of = whose(buffer, self.kernel, points)
        return _Place(buffer, _Memory(buffer.size, of), 0, 1, 0)

    def _lay_out_shared(self) -> None:
        """By the plan, in units; without one, buffer after buffer, a cell for each element."""
        offsets, planned = dict(self.kernel.offsets), bool(self.kernel.offsets)
        end, found = self.kernel.shared_bytes // UNIT if planned else 0, []
        for each in self.kernel.shared:
            width = self.kernel.bytes_of(each.role) // UNIT if planned else 1
            if each.name in offsets:
                first, rest = divmod(offsets[each.name], UNIT)
                if rest or first % width:
                    self._report("layout", each, f"begins at byte {offsets[each.name]}, unaligned")
                if first + each.size * width > self.kernel.shared_bytes // UNIT:
                    says = f"lies beyond {self.kernel.shared_bytes} shared bytes"
                    self._report("bounds", each, says)
            else:
                first, end = end, end + each.size * width
            found.append((each, first, width))
        cells = max([end, *(first + each.size * width for each, first, width in found)], default=0)
        memory = _Memory(cells, Whose(tuple(extent for _, extent in self.kernel.grid)))
        for number, (each, first, width) in enumerate(found):
            self.places[each.name] = _Place(each, memory, first, width, number)

    # ---- faults

    def _report(
        self,
        kind: Kind,
        buffer: Buffer | None,
        says: str,
        spot: _Spot | None = None,
        which: int | tuple[int, ...] = (),
        statement: Statement | None = None,
    ) -> None:
        """Keep the first fault, and stop."""
        if self.fault:
            return
        self.stopped = True
        index: tuple[int, ...] = ()
        block: tuple[int, ...] = ()
        thread = None
        if spot:
            at = which if isinstance(which, tuple) else _position(spot, which)
            index = tuple(int(np.broadcast_to(each, spot.shape)[at]) for each in spot.index)
            numbers = list(zip(spot.points.lead, at, strict=False))
            block = tuple(int(n) for axis, n in numbers if axis.kind == "block")
            thread = next((int(n) for axis, n in numbers if axis.kind == "thread"), None)
            statement = spot.statement
        text = next(iter(body_lines((statement,))), "") if statement else ""
        name = buffer.name if buffer else ""
        self.fault = Fault(kind, text, name, index, block, thread, says)

    def _check(self, wrong: Array, kind: Kind, spot: _Spot, says: Callable[[int], str]) -> bool:
        """Report the first of the points at which something is wrong; tell whether there is one."""
        if not wrong.any():
            return False
        which = int(np.argmax(wrong))
        self._report(kind, spot.buffer, says(which), spot, which)
        return True

    def unwritten_output(self) -> Fault | None:
        """Return the fault of an output of which an element is not written, or None."""
        for each in self.kernel.outputs:
            index = tuple(np.indices(each.shape, sparse=True))
            flat = np.broadcast_to(_flat(each, index), each.shape)
            missing = self.places[each.name].memory.owner[flat] == NOBODY
            if missing.any():
                at = tuple(int(n) for n in np.argwhere(missing)[0])
                return Fault("undefined", "", each.name, at, (), None, "is never written")
        return None

    # ---- statements

    def _body(self, body: Body, points: Points) -> None:
        before = dict(self.places)
        super()._body(body, points)
        self.places = before

    def step(self, statement: Step, points: Points) -> None:
        self.serial += 1
        match statement:
            case Compute():
                self._compute(statement, points)
            case Copy():
                self._copy(statement, points)
            case Allocate(buffer):
                if buffer.name in self.inputs or buffer.name in self.places:
                    self._report("layout", buffer, "is there already", statement=statement)
                self.places[buffer.name] = self._own_place(buffer, points)
            case Barrier():
                self._barrier(statement, points)
            case CommitCopies():
                block, thread = self._movers(points)
                np.add.at(self.committed, (block, thread), 1)
            case AwaitCopies(pending):
                self._await(pending, points)

    def _barrier(self, statement: Barrier, points: Points) -> None:
        if points.in_threads:
            self._report("barrier", None, "not all threads are here", statement=statement)
        blocks = self._kept(points.flat(("block",), len(points.shape)), points)
        here = np.bincount(blocks, minlength=len(self.epoch))
        all_of_them = math.prod(axis.extent for axis in points.lead if axis.kind != "block")
        if ((here > 0) & (here < all_of_them)).any():
            self._report("barrier", None, "not all iterations are here", statement=statement)
        self.epoch[here > 0] += 1

    def _kept(self, array: Array, points: Points) -> Array:
        whole = np.broadcast_to(array, points.shape)
        if points.mask is None:
            return whole.reshape(-1)
        return np.asarray(whole[np.broadcast_to(points.mask, points.shape)])

    def _compute(self, s: Compute, points: Points) -> None:
        kept = kept_axes(s)
        names = {axis.name for axis in kept}
        reduced = [axis for axis in s.axes if axis.name not in names and axis.extent > 1]
        if reduced and not s.combine:
            says = f"is written at all {reduced[0].extent} points along {reduced[0].name}"
            self._report("overlap", s.target, says, statement=s)
            return
        read = [(each, self._spot(each.read, each.mask, s, points, s.axes)) for each in
                accesses(s.value, points, s.axes)]  # fmt: skip
        target = self._spot(Read(s.target, s.index), None, s, points, kept)
        if self.stopped or target is None:
            return
        for _, spot in read:
            if spot is None or not self._is_read(spot):
                return
        if s.fragments and not self._is_right_product(s, points, target):
            return
        if s.combine and not self._has_the_element(target):
            return
        if not self._is_written(target):
            return
        ids = np.arange(int(np.prod(target.shape))).reshape(target.shape)
        if not self._is_written_once(target, ids):
            return
        wide = tuple(axis.extent if axis in kept else 1 for axis in s.axes)
        numbers = ids.reshape(points.shape + wide) if ids.size else ids
        for _, spot in read:
            if spot and not self._is_apart(spot, target, numbers, bool(reduced)):
                return
        self._note_written(target)

    def _is_right_product(self, s: Compute, points: Points, target: _Spot) -> bool:
        """Tell whether a matrix unit computes what the statement says."""
        assert s.fragments
        threads = [n for n, axis in enumerate(points.lead) if axis.kind == "thread"]
        if [points.lead[n].name for n in threads] != [s.fragments.thread]:
            self._report("matrix", s.target, "is not computed by threads", statement=s)
            return False
        offsets, planned = dict(self.kernel.offsets), bool(self.kernel.offsets)
        for each in reads(s.value):
            if planned and self.kernel.storage_bytes != MATRIX_BYTES:
                says = f"has elements of {self.kernel.storage_bytes} bytes"
                self._report("matrix", each.buffer, says, statement=s)
                return False
            if offsets.get(each.buffer.name, 0) % MATRIX_ROW:
                says = f"begins at byte {offsets[each.buffer.name]}, not where a matrix's row can"
                self._report("matrix", each.buffer, says, statement=s)
                return False
        mask = np.ones(points.shape, bool)
        mask = mask if points.mask is None else mask & points.mask
        by_thread = np.moveaxis(mask, threads[0], -1).reshape(-1, mask.shape[threads[0]])
        used = frozenset[str]().union(
            *map(variables, s.index), *(variables(e) for r in reads(s.value) for e in r.index)
        )
        numbers = {name: n for name, n in points.numbers.items() if name in used}
        for here in np.unique(by_thread, axis=0):
            seen = s, tuple(sorted(numbers.items())), here.tobytes()
            if seen in self.products:
                continue
            self.products.add(seen)
            says = matrix_fault(s, numbers, len(here), here)
            if says:
                self._report("matrix", s.target, says, statement=s)
                return False
        return True

    def _spot(
        self,
        read: Read,
        mask: Array | None,
        statement: Statement,
        points: Points,
        axes: Sequence[Axis],
    ) -> _Spot | None:
        """Return the elements of an access; None, with a fault, where an index is outside."""
        buffer, rank = read.buffer, len(points.lead) + len(axes)
        if not self._is_as_declared(buffer, statement):
            return None
        values = points.variables(axes)
        index = tuple(points.among(each, values, rank) for each in read.index)
        if points.mask is not None:
            lead = points.mask[(..., *(None,) * len(axes))]
            mask = lead if mask is None else mask & lead
        is_input = buffer.name in self.inputs
        base = (1,) * rank if is_input else points.shape + (1,) * len(axes)
        if _is_target(statement, read):  # every point counts, also where an index repeats
            base = points.shape + _extents(axes)
        shape = np.broadcast_shapes(base, *(each.shape for each in index))
        if mask is not None:
            shape = np.broadcast_shapes(shape, mask.shape)
        spot = _Spot(buffer, statement, points, index, shape, mask)
        if len(index) != len(buffer.shape):
            self._report("bounds", buffer, f"has {len(buffer.shape)} axes", statement=statement)
            return None
        for axis, (each, extent) in enumerate(zip(index, buffer.shape, strict=True)):
            if each.size and int(each.min()) >= 0 and int(each.max()) < extent:
                continue
            wrong = (each < 0) | (each >= extent)
            wrong = np.broadcast_to(wrong if mask is None else wrong & mask, shape)
            if wrong.any():
                at = tuple(int(n) for n in np.argwhere(wrong)[0])
                says = f"is outside, along axis {axis} of extent {extent}"
                self._report("bounds", buffer, says, spot, at)
                return None
        return spot if is_input else self._located(spot)

    def _is_as_declared(self, buffer: Buffer, statement: Statement) -> bool:
        """Tell whether a buffer is there, and has the extents that it has elsewhere.

        Where it lies in other strides, a read of shared memory tells; an argument has to have its.
        """
        place = self.places.get(buffer.name)
        declared = place.buffer if place else self.inputs.get(buffer.name)
        if declared is None:
            self._report("undefined", buffer, "has no memory here", statement=statement)
        elif buffer != (declared if declared.scope == "global" else _laid_out(declared, buffer)):
            says = f"is used as {buffer}, and was declared as {declared}"
            self._report("layout", buffer, says, statement=statement)
        return not self.stopped

    def _located(self, spot: _Spot) -> _Spot | None:
        place, rank = self.places[spot.buffer.name], spot.rank
        flat = _flat(spot.buffer, spot.index)
        number = place.memory.of.number(spot.points, rank)
        cells = spot.keep(number * place.memory.cells + place.first + flat * place.width)
        flat = spot.keep(flat)
        beyond = (flat < 0) | (flat >= place.buffer.size)
        if self._check(beyond, "bounds", spot, lambda n: "lies outside of its memory"):
            return None
        elements = spot.keep(element_number(spot.buffer.shape, spot.index))
        return _Spot(
            spot.buffer, spot.statement, spot.points, spot.index, spot.shape, spot.mask,
            place, cells, elements,
        )  # fmt: skip

    # ---- one access

    def _is_read(self, spot: _Spot) -> bool:
        """Note a read; tell whether it is sound."""
        if not self._has_the_element(spot):
            return False
        for party in self._parties(spot):
            for cells in _cells(spot):
                wrong, others = party.touches.reading(cells, party.who, party.when)
                says = partial(party.says, "is read here, and written", others)
                if self._check(wrong, party.kind, spot, says):
                    return False
        return True

    def _has_the_element(self, spot: _Spot) -> bool:
        """Tell whether what lies there is this element, and has landed."""
        if spot.place is None:
            return True
        memory = spot.place.memory
        for cells in _cells(spot):
            if not self._has_landed(spot, cells, "is read"):
                return False
            owner = memory.owner[cells]
            if self._check(
                owner == NOBODY, "undefined", spot, lambda n: "is read, and nobody wrote it"
            ):
                return False
            if self._check(
                owner != spot.place.number,
                "layout",
                spot,
                lambda n: "is read where another buffer was written",
            ):
                return False
            there = memory.element[cells]
            if self._check(
                there != spot.elements, "layout", spot, partial(_element_says, spot, there)
            ):
                return False
        return True

    def _has_landed(self, spot: _Spot, cells: Array, done: str) -> bool:
        assert spot.place
        flying = spot.place.memory.flying
        return flying is None or not self._check(
            flying[cells] != NOBODY,
            "copy",
            spot,
            lambda n: f"{done} while a copy of thread {flying[cells][n]} into it is under way",
        )

    def _is_written(self, spot: _Spot) -> bool:
        """Note a write; tell whether it is at odds with nobody."""
        if spot.place is None:
            self._report("layout", spot.buffer, "is an input, and written", spot, 0)
            return False
        for cells in _cells(spot):
            if not self._has_landed(spot, cells, "is written"):
                return False
        for party in self._parties(spot):
            for cells in _cells(spot):
                met = party.touches.writing(cells, party.who, party.when)
                for (wrong, others), did in zip(met, ("written", "read"), strict=True):
                    says = partial(party.says, f"is written here, and {did}", others)
                    if self._check(wrong, party.kind, spot, says):
                        return False
        return True

    def _parties(self, spot: _Spot) -> Iterator[_Party]:
        """Yield who shares the memory: blocks, iterations, threads."""
        if spot.place is None:
            return
        memory, points = spot.place.memory, spot.points
        for place, axis in enumerate(points.lead):
            own = place < len(memory.of.prefix) or axis.kind == "thread" and memory.of.threads > 1
            if own or axis.extent == 1:
                continue
            who = spot.keep(points.number_along(place, spot.rank))
            if axis.kind == "thread":
                touches = memory.touched("thread", 0)
                when = self.epoch[spot.keep(points.flat(("block",), spot.rank))]
            else:
                touches = memory.touched(axis.kind, place)
                when = np.full(len(who), axis.instance, np.int32)
            yield _Party(axis, touches, who, when)

    # ---- the points of one statement

    def _is_written_once(self, target: _Spot, ids: Array) -> bool:
        """Note which point writes each cell; tell whether each is written by one."""
        assert target.place
        memory, own = target.place.memory, target.keep(ids)
        for cells in _cells(target):
            memory.writer[cells], memory.written_by[cells] = own, self.serial
        again = memory.writer[target.cells] != own
        return not self._check(
            again, "overlap", target, lambda n: "is written by two points of the statement"
        )

    def _is_apart(self, spot: _Spot, target: _Spot, ids: Array, reduces: bool) -> bool:
        """Tell whether no point reads what another one writes."""
        if spot.place is None or target.place is None:
            return True
        if spot.place.memory is not target.place.memory:
            return True
        memory = spot.place.memory
        whole = np.broadcast_shapes(spot.shape, ids.shape)
        wide = _Spot(spot.buffer, spot.statement, spot.points, spot.index, whole, spot.mask)
        numbers, places = np.arange(len(spot.cells)), np.zeros(0, np.int64)
        if whole == spot.shape:
            places = numbers
        elif spot.mask is None:
            places = wide.keep(numbers.reshape(spot.shape))
        else:
            full = np.zeros(spot.shape, np.int64)
            full[np.broadcast_to(spot.mask, spot.shape)] = numbers
            places = wide.keep(full)
        own = wide.keep(ids)
        for cells in _cells(spot):
            at = cells[places]
            written = memory.written_by[at] == self.serial
            if not reduces:
                written &= memory.writer[at] != own
            if self._check(
                written, "overlap", wide, lambda n: "is read by one point and written by another"
            ):
                return False
        return True

    def _note_written(self, spot: _Spot) -> None:
        assert spot.place
        memory = spot.place.memory
        for cells in _cells(spot):
            memory.owner[cells] = spot.place.number
            memory.element[cells] = spot.elements

    # ---- copies

    def _movers(self, points: Points) -> tuple[Array, Array]:
        """Return block and thread of each point."""
        rank = len(points.shape)
        block = self._kept(points.flat(("block",), rank), points)
        return block, self._kept(points.flat(("thread",), rank), points)

    def _copy(self, s: Copy, points: Points) -> None:
        if s.source.name not in self.inputs or s.target.scope != "shared":
            says = f"is copied to {s.target.name}, not from an input to shared memory"
            self._report("copy", s.source, says, statement=s)
            return
        moved = copied(s)
        (read,) = reads(moved.value)
        source = self._spot(read, None, s, points, moved.axes)
        target = self._spot(Read(s.target, moved.index), None, s, points, moved.axes)
        if self.stopped or source is None or target is None:
            return
        for each in (source, target):
            steps = np.diff(_flat(each.buffer, each.index), axis=-1)
            if (steps != 1).any():
                says = f"{s.width} neighbours are not side by side"
                self._report("layout", each.buffer, says, each, (0,) * each.rank)
                return
        if not self._is_read(source) or not self._is_written(target):
            return
        ids = np.arange(int(np.prod(target.shape))).reshape(target.shape)
        if not self._is_written_once(target, ids):
            return
        self._note_written(target)
        assert target.place
        memory = target.place.memory
        if memory.flying is None:
            memory.flying = np.full(len(memory.owner), NOBODY, np.int32)
            memory.group = np.zeros(len(memory.owner), np.int32)
        block = target.keep(points.flat(("block",), target.rank))
        thread = target.keep(points.flat(("thread",), target.rank))
        for cells in _cells(target):
            memory.flying[cells], memory.group[cells] = thread, self.committed[block, thread]

    def _await(self, pending: int, points: Points) -> None:
        """Let the groups land that were closed before the last ``pending``."""
        before = np.full(self.committed.shape, NOBODY, np.int32)
        waiting = self._movers(points)
        before[waiting] = self.committed[waiting] - pending
        for memory in {id(each.memory): each.memory for each in self.places.values()}.values():
            if memory.flying is None:
                continue
            cells = np.flatnonzero(memory.flying != NOBODY)
            thread, block = memory.flying[cells], cells // memory.cells
            if memory.of.prefix == ():
                block = np.zeros_like(block)
            landed = memory.group[cells] < before[block, thread]
            cells, thread, block = cells[landed], thread[landed], block[landed]
            memory.flying[cells] = NOBODY
            memory.touched("thread", 0).writing(cells, thread, self.epoch[block])


def _laid_out(buffer: Buffer, like: Buffer) -> Buffer:
    """Return a buffer in the layout of another one."""
    return replace(buffer, strides=like.strides, swizzle=like.swizzle)


def _is_target(statement: Statement, read: Read) -> bool:
    """Tell whether an access is to the element that its statement writes."""
    match statement:
        case Compute():
            return read.buffer.name == statement.target.name and read.index == statement.index
        case Copy():
            return read.buffer.name == statement.target.name
    return False


def _extents(axes: Sequence[Axis]) -> Shape:
    return tuple(axis.extent for axis in axes)


def _cells(spot: _Spot) -> Iterator[Array]:
    """Yield the first, then the second cell of every element."""
    if spot.place:
        for unit in range(spot.place.width):
            yield spot.cells + unit


def _flat(buffer: Buffer, index: Sequence[Array]) -> Array:
    """Return the place of elements in a buffer's memory, by its layout."""
    names = [f"axis {n}" for n in range(len(index))]
    place: Expr = buffer.flat([var(name) for name in names])
    return np.asarray(evaluate(place, dict(zip(names, index, strict=True))))


def _position(spot: _Spot, which: int) -> tuple[int, ...]:
    """Return the numbers along all axes of one of the points that are kept."""
    if spot.mask is None:
        return tuple(int(n) for n in np.unravel_index(which, spot.shape))
    return tuple(int(n) for n in np.argwhere(np.broadcast_to(spot.mask, spot.shape))[which])


def _element_says(spot: _Spot, there: Array, which: int) -> str:
    at = np.unravel_index(int(there[which]), spot.buffer.shape)
    index = ", ".join(str(int(n)) for n in at)
    return f"is read where {spot.buffer.name}[{index}] was written"
