"""Runs of a program on paper, and the matching of their instances: is every instance run once?

A run is the instances of a program in order, with what each does to which element.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.tensor_program.legality import verdicts
from mlc_course.tensor_program.legality.instances import NOT_READ, OUTSIDE, Ints, executed
from mlc_course.tensor_program.legality.statements import (
    block_buffers,
    check_lanes,
    own_loops,
)
from mlc_course.tensor_program.legality.verdicts import Illegal, Iteration, Kind
from mlc_course.tensor_program.tir import (
    BufferType,
    Repeat,
    TensorProgram,
    Var,
    main_function,
)

# What an instance does to an element. The families of updates follow from UPDATE on.
READ, WRITE, BOTH, UPDATE = range(4)
FAMILIES = ("sum", "product", "maximum", "minimum")


def does(mode: int) -> str:
    """The verb for what an instance does, as an ``Iteration`` has it."""
    return ("reads", "writes", "reads and writes", "updates")[min(mode, UPDATE)]


@dataclass(frozen=True, eq=False)
class Touches:
    """Touches of elements by instances, sorted by element and then by time.

    ``instances`` are places in the order of execution.
    """

    elements: Ints
    instances: Ints
    modes: Ints

    @property
    def starts(self) -> NDArray[np.bool_]:
        """True where the touches of another element begin."""
        starts = np.ones(self.elements.size, np.bool_)
        starts[1:] = np.diff(self.elements) != 0
        return starts


class Run:
    """The instances of a program in the order in which they run.

    Instance i is row ``row[i]`` of ``parts[part[i]]``. Elements have one number each over all
    buffers, in the order of the buffers' names. Raises what ``instances.executed`` raises.
    """

    def __init__(self, program: TensorProgram) -> None:
        self.parts = executed(program)
        self.placed = block_buffers(main_function(program).body)
        sizes = [each.times.size for each in self.parts]
        order = np.argsort(_joined([each.times for each in self.parts]), kind="stable")
        self.part = np.repeat(np.arange(len(sizes)), sizes)[order]
        self.row = _joined([np.arange(size) for size in sizes])[order]
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        self.places = np.split(place, np.cumsum(sizes)[:-1]) if sizes else []
        self.parameters = [_declared(each) for each in main_function(program).params]
        self.buffers = self._buffers()
        self.shapes = {n: tuple(int(x) for x in b.shape) for n, b in self.buffers.items()}
        self.base, start = {}, 0
        for name in sorted(self.shapes):
            self.base[name] = start
            start += int(np.prod(self.shapes[name]))
        self.own = self._own()

    def __len__(self) -> int:
        return int(self.part.size)

    def _buffers(self) -> dict[str, Var]:
        buffers = {touch.buffer: None for each in self.parts for touch in each.touches}
        names = [str(buffer.name) for buffer in buffers]
        if len(set(names)) < len(names):
            raise UsageError("two buffers have the same name", got=", ".join(sorted(names)))
        return dict(zip(names, buffers, strict=True))

    def check_same_buffers(self, other: Run) -> None:
        """Raise ``UsageError`` unless both have the same parameters and use the same buffers."""
        if self.parameters != other.parameters:
            raise UsageError(
                "the two programs have other parameters",
                expected=", ".join(self.parameters),
                got=", ".join(other.parameters),
            )
        ours, theirs = (
            {name: _declared(buffer) for name, buffer in run.buffers.items()}
            for run in (self, other)
        )
        odd = [n for n in sorted({*ours, *theirs}) if ours.get(n) != theirs.get(n)]
        if odd:
            raise UsageError(
                f"the two programs do not use the same buffers: {', '.join(odd)}",
                expected="the same names, types and shapes",
                hint="compare before and after a step that only moves iterations",
            )

    # --- instances ------------------------------------------------------------------------------

    def keys(self, signatures: dict[str, int], width: int, without: Collection[str] = ()) -> Ints:
        """A row for each instance, equal for the same instances; adds to ``signatures``.

        ``without`` names buffers of which any element is as good as another.
        """
        rows = np.full((len(self), 1 + width), -1, np.int64)
        for each, places in zip(self.parts, self.places, strict=True):
            buffers = [str(touch.buffer.name) for touch in each.touches]
            text = f"{' '.join(buffers)}: {each.form}"
            rows[places, 0] = signatures.setdefault(text, len(signatures))
            hidden = np.array([name in without for name in buffers])
            columns = np.hstack([np.where(hidden, NOT_READ, each.elements), each.scalars])
            rows[places, 1 : 1 + columns.shape[1]] = columns
        return rows

    @property
    def width(self) -> int:
        """The largest number of columns that an instance needs in ``keys``."""
        return max((e.elements.shape[1] + e.scalars.shape[1] for e in self.parts), default=0)

    @property
    def depth(self) -> int:
        """The largest number of loops or axes around a statement."""
        return max((each.tags.shape[1] for each in self.parts), default=0)

    def tags(self, depth: int) -> Ints:
        """A row for each instance: the values of its block's axes or its loops."""
        rows = np.full((len(self), depth), -1, np.int64)
        for each, places in zip(self.parts, self.places, strict=True):
            rows[places, : each.tags.shape[1]] = each.tags[:, :depth]
        return rows

    def iteration(self, instance: int, mode: int, *, axes: bool = False) -> Iteration:
        """An instance, described by the values of its loops, or of its block's ``axes``."""
        each, row = self.parts[self.part[instance]], self.row[instance]
        statement = each.statement
        names = [str(a.var.name) for a in (statement.axes if axes else statement.loops)]
        values = (each.axes if axes else each.points)[row]
        at = verdicts.values_of(names, values)
        names = [each.statement.block or f"statement {i}" for i, each in enumerate(self.parts, 1)]
        own = names[self.part[instance]] if len(set(names)) > 1 else ""
        return Iteration(at, does(mode), own)

    # --- elements -------------------------------------------------------------------------------

    def element(self, number: int) -> tuple[str, tuple[int, ...]]:
        """The buffer of an element, and the place in it."""
        name = max((n for n in self.base if self.base[n] <= number), key=lambda n: self.base[n])
        place = np.unravel_index(number - self.base[name], self.shapes[name])
        return name, tuple(int(index) for index in place)

    def leaving(self) -> tuple[int, int] | None:
        """The first instance that leaves a buffer, and the column of that access."""
        found = []
        for each, places in zip(self.parts, self.places, strict=True):
            rows, columns = np.nonzero(each.elements == OUTSIDE)
            found += list(zip(places[rows].tolist(), columns.tolist(), strict=True))[:1]
        return min(found, default=None)

    def private_to(self, loop: Repeat) -> set[str]:
        """Buffers of which TVM makes one for each iteration of a loop."""
        return {name for name, loops in self.own.items() if loop in loops}

    def _own(self) -> dict[str, tuple[Repeat, ...]]:
        """The loops each iteration of which has a buffer of its own, by the buffer's name."""
        found = [each.statement for each in self.parts]
        buffers = {touch.buffer: None for each in found for touch in each.touches}
        return {
            str(buffer.name): own_loops(found, buffer)
            for buffer in buffers
            if str(buffer.name) in self.placed
        }

    def check_own_buffers(self) -> None:
        """Raise ``UsageError`` where TVM's placement of buffers changes what a program does.

        Lanes of a vectorized loop share a buffer that is used inside the loop only; of any other
        loop, an iteration does not see what an earlier one left in it.
        """
        for name, loops in self.own.items():
            check_lanes(name, loops)
            keys, times, reads = [], [], []
            for part, each in enumerate(self.parts):
                for rows, numbers, modes in self.touches_of(part, self.shapes.keys() - {name}):
                    keys.append(np.column_stack([each.points[rows, : len(loops)], numbers]))
                    times.append(self.places[part][rows])
                    reads.append((modes != WRITE) & (numbers >= 0))
            if not loops or not keys:
                continue
            group = np.unique(np.concatenate(keys), axis=0, return_inverse=True)[1].reshape(-1)
            time, read = np.concatenate(times), np.concatenate(reads)
            order = np.lexsort((time, group))
            first = np.ones(order.size, np.bool_)
            first[1:] = np.diff(group[order]) != 0
            if read[order][first].any():
                around = ", ".join(str(loop.var.name) for loop in loops)
                raise UsageError(
                    f"{name} is read where its iteration of {around} has not written it, and TVM "
                    "gives each iteration one of its own",
                    hint=f"use {name} outside of the loop, too, or make it a parameter",
                )

    def touches_of(
        self, part: int, without: Collection[str] = ()
    ) -> Iterator[tuple[Ints, Ints, Ints]]:
        """(rows, elements, modes) for the store and each load of a statement."""
        each = self.parts[part]
        names = [str(touch.buffer.name) for touch in each.touches]
        base = [self.base[name] for name in names]
        numbers = np.where(each.elements < 0, -1, each.elements + np.array(base))
        store, loads = numbers[:, 0], numbers[:, 1:]
        family, updates = each.updates()
        modes = np.where((loads == store[:, None]).any(axis=1), BOTH, WRITE)
        if family:
            modes[updates] = UPDATE + FAMILIES.index(family)
        rows = np.arange(store.size)
        if names[0] not in without:
            yield rows, store, modes
        for name, load in zip(names[1:], loads.T, strict=True):
            if name in without:
                continue
            kept = (load >= 0) & (load != store)
            yield rows[kept], load[kept], np.full(int(kept.sum()), READ)

    def store(self, instance: int) -> tuple[int, int]:
        """The element that an instance writes, and its mode."""
        part, row = int(self.part[instance]), int(self.row[instance])
        _, elements, modes = next(self.touches_of(part))
        return int(elements[row]), int(modes[row])

    def touches(self) -> Touches:
        """Every touch of the whole run."""
        found = [
            (elements, self.places[part][rows], modes)
            for part in range(len(self.parts))
            for rows, elements, modes in self.touches_of(part)
        ]
        elements, instances, modes = (_joined([each[i] for each in found]) for i in range(3))
        order = np.lexsort((instances, elements))
        return Touches(elements[order], instances[order], modes[order])


def _declared(buffer: Var) -> str:
    """A buffer's name, type and shape, such as ``A: float32 [64, 64]``."""
    if not isinstance(buffer.ty, BufferType):
        return str(buffer)
    return f"{buffer.name}: {buffer.ty.dtype} [{', '.join(map(str, buffer.shape))}]"


def _joined(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *arrays])


# --- coverage -------------------------------------------------------------------------------------

Flags = NDArray[np.bool_]


def outside(run: Run) -> Illegal | None:
    """The first access that leaves its buffer, as a verdict."""
    found = run.leaving()
    if found is None:
        return None
    instance, column = found
    part = run.parts[run.part[instance]]
    buffer, element = str(part.touches[column].buffer.name), part.indices(run.row[instance], column)
    iteration = run.iteration(instance, READ if column else WRITE)
    return verdicts.coverage("outside", buffer, element, (iteration,))


def match(old: Run, new: Run) -> Ints | Illegal:
    """The place in ``new`` of each instance of ``old``, or the verdict on one that has none.

    What ``new`` computes again, with the same result, is matched where it is first computed.
    Raises ``UsageError`` where nothing can be said.
    """
    before, after = _identities(old, new, tagged=True)
    if np.array_equal(np.sort(before), np.sort(after)):
        return _places(before, after)
    _check_layouts(old, new)
    before, after = _identities(old, new, tagged=False)
    kinds = max(before.max(initial=-1), after.max(initial=-1)) + 1
    more = np.bincount(after, minlength=kinds) - np.bincount(before, minlength=kinds)
    if len(old) and not np.isin(before, after).any():
        raise UsageError(
            "the two programs have no statement in common",
            expected="the same arithmetic on the same elements",
            got=f"{old.parts[0].form} before and {new.parts[0].form} after"
            if new.parts
            else "none",
        )
    known = np.bincount(before, minlength=kinds) > 0
    doubled = (more > 0) & known & ~_harmless(new, after, kinds)
    _check_not_from_init_on(new, doubled[after])
    if doubled.any():
        return _uncovered("twice", new, doubled[after], after)
    if (more < 0).any():
        _check_same_arithmetic(old, new, (more < 0)[before])
        return _uncovered("missing", old, (more < 0)[before])
    if (~known).any():
        return _uncovered("extra", new, ~known[after])
    return _places(before, after)


def _check_same_arithmetic(old: Run, new: Run, missing: Flags) -> None:
    """Raise ``UsageError`` where what is missing may be computed in another way."""
    part = old.parts[old.part[int(missing.argmax())]]
    ours, theirs = ({each.form for each in run.parts} for run in (old, new))
    name = str(part.statement.write.buffer.name)
    others = [
        each.form
        for each in new.parts
        if str(each.statement.write.buffer.name) == name and each.form not in ours
    ]
    if part.form not in theirs and others:
        raise UsageError(
            f"{name} is computed in another way",
            expected="the same arithmetic on the same elements",
            got=f"{part.form} before and {others[0]} after",
        )


def _check_layouts(old: Run, new: Run) -> None:
    """Raise ``UsageError`` where only the places of a buffer's elements in memory differ."""
    for name in sorted(old.placed & new.placed):
        before, after = _identities(old, new, tagged=True, without={name})
        if np.array_equal(np.sort(before), np.sort(after)):
            raise UsageError(
                f"the elements of {name} are in other places than before",
                expected="the same layout of all buffers",
                hint="compare before and after a step that only moves iterations",
            )


def _identities(
    old: Run, new: Run, *, tagged: bool, without: Collection[str] = ()
) -> tuple[Ints, Ints]:
    """A number for each instance of both runs, equal for the same instances.

    With ``tagged``, instances that do the same are told apart by their loops or axes. ``without``
    names buffers whose elements are not compared.
    """
    signatures: dict[str, int] = {}
    width = max(old.width, new.width)
    depth = max(old.depth, new.depth) if tagged else 0
    tables = [
        np.hstack([run.keys(signatures, width, without), run.tags(depth)]) for run in (old, new)
    ]
    _, numbers = np.unique(np.concatenate(tables), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1).astype(np.int64)
    return numbers[: len(old)], numbers[len(old) :]


def _places(before: Ints, after: Ints) -> Ints:
    """Match the nth instance of each kind with the nth of the other run."""
    old_order, new_order = (np.argsort(each, kind="stable") for each in (before, after))
    kinds = before[old_order]
    nth = np.arange(before.size) - np.searchsorted(kinds, kinds)
    places = np.empty_like(before)
    places[old_order] = new_order[np.searchsorted(after[new_order], kinds) + nth]
    return places


def _harmless(run: Run, numbers: Ints, kinds: int) -> Flags:
    """Tell which kinds of instances may be run again, because they store the same value again.

    They do not read what they write, no other kind writes it, and what they read is not written
    after they first ran.
    """
    touches = run.touches()
    kind, writes = numbers[touches.instances], touches.modes != READ
    size = int(touches.elements.max(initial=-1)) + 1
    lowest, highest, last = np.full(size, kinds), np.full(size, -1), np.full(size, -1)
    np.minimum.at(lowest, touches.elements[writes], kind[writes])
    np.maximum.at(highest, touches.elements[writes], kind[writes])
    np.maximum.at(last, touches.elements[writes], touches.instances[writes])
    first = np.full(kinds, len(run))
    np.minimum.at(first, numbers, np.arange(len(run)))
    shared = (lowest != highest)[touches.elements]
    rewrites = writes & (shared | (touches.modes != WRITE))
    stale = ~writes & (last[touches.elements] > first[kind])
    harmless = np.ones(kinds, np.bool_)
    harmless[kind[rewrites | stale]] = False
    return harmless


def _check_not_from_init_on(run: Run, doubled: Flags) -> None:
    """Raise ``UsageError`` for a sum that is computed again with its init, which may be right."""
    touches = run.touches()
    again = doubled[touches.instances]
    begun, updated = (
        np.unique(touches.elements[again & mode])
        for mode in (touches.modes == WRITE, touches.modes >= UPDATE)
    )
    both = np.intersect1d(begun, updated)
    if both.size:
        raise UsageError(
            f"{verdicts.place(*run.element(int(both[0])))} is computed again from its init on",
            expected="each sum computed once",
            hint="move the loop that its reader has more of inside",
        )


def _uncovered(kind: Kind, run: Run, odd: Flags, same: Ints | None = None) -> Illegal:
    """The verdict on the first odd instance; with ``same``, on its first copy as well."""
    first = int(odd.argmax())
    found = [first] if same is None else np.nonzero(same == same[first])[0][:2].tolist()
    number, mode = run.store(first)
    buffer, element = run.element(number)
    return verdicts.coverage(
        kind, buffer, element, tuple(run.iteration(each, mode) for each in found)
    )
