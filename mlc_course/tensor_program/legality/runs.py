"""A program executed on paper: its instances in order, and what each does to which element."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.tensor_program.legality.instances import OUTSIDE, Ints, executed
from mlc_course.tensor_program.legality.verdicts import Iteration
from mlc_course.tensor_program.reading.walk import Repeat, main_function
from mlc_course.tensor_program.tvm_names import IRModule, PrimFunc, Schedule

# What an instance does to an element. The families of updates follow from UPDATE on.
READ, WRITE, BOTH, UPDATE = range(4)
FAMILIES = ("sum", "product", "maximum", "minimum")


def does(mode: int) -> str:
    """The verb of an ``Iteration``."""
    return ("reads", "writes", "reads and writes", "updates")[min(mode, UPDATE)]


@dataclass(frozen=True, eq=False)
class Touches:
    """One row for each element that an instance touches, sorted by element and then by time.

    ``instances`` are places in the order of execution.
    """

    elements: Ints
    instances: Ints
    modes: Ints

    @property
    def starts(self) -> NDArray[np.bool_]:
        """Where another element begins."""
        starts = np.ones(self.elements.size, np.bool_)
        starts[1:] = np.diff(self.elements) != 0
        return starts


class Run:
    """The instances of a program in the order in which they run.

    Instance i is row ``row[i]`` of ``parts[part[i]]``. Elements have one number each over all
    buffers, in the order of the buffers' names. Raises what ``instances.executed`` raises.
    """

    def __init__(self, program: IRModule | PrimFunc | Schedule) -> None:
        self.parts = executed(program)
        self.parameters = {str(each.name) for each in main_function(program).params}
        sizes = [each.times.size for each in self.parts]
        order = np.argsort(_joined([each.times for each in self.parts]), kind="stable")
        self.part = np.repeat(np.arange(len(sizes)), sizes)[order]
        self.row = _joined([np.arange(size) for size in sizes])[order]
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        self.places = np.split(place, np.cumsum(sizes)[:-1]) if sizes else []
        self.shapes = self._shapes()
        self.base, start = {}, 0
        for name in sorted(self.shapes):
            self.base[name] = start
            start += int(np.prod(self.shapes[name]))

    def __len__(self) -> int:
        return int(self.part.size)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        buffers = {touch.buffer for each in self.parts for touch in each.touches}
        names = [str(buffer.name) for buffer in buffers]
        if len(set(names)) < len(names):
            raise UsageError("two buffers have the same name", got=", ".join(sorted(names)))
        return {str(b.name): tuple(int(extent) for extent in b.shape) for b in buffers}

    def check_same_buffers(self, other: Run) -> None:
        """Raises ``UsageError`` unless both use the same names and shapes."""
        ours, theirs = self.shapes, other.shapes
        odd = [n for n in sorted({*ours, *theirs}) if ours.get(n) != theirs.get(n)]
        if odd:
            raise UsageError(
                f"the two programs do not use the same buffers: {', '.join(odd)}",
                expected="the same names and shapes",
                hint="compare before and after a step that only moves iterations",
            )

    # --- instances ------------------------------------------------------------------------------

    def keys(self, signatures: dict[str, int], width: int) -> Ints:
        """A row for each instance, equal for the same instances; ``signatures`` grows."""
        rows = np.full((len(self), 1 + width), -1, np.int64)
        for each, places in zip(self.parts, self.places, strict=True):
            buffers = [str(touch.buffer.name) for touch in each.touches]
            text = f"{' '.join(buffers)}: {each.form}"
            rows[places, 0] = signatures.setdefault(text, len(signatures))
            columns = np.hstack([each.elements, each.scalars])
            rows[places, 1 : 1 + columns.shape[1]] = columns
        return rows

    @property
    def width(self) -> int:
        """The most columns that an instance needs in ``keys``."""
        return max((e.elements.shape[1] + e.scalars.shape[1] for e in self.parts), default=0)

    @property
    def depth(self) -> int:
        """The most loops or axes around a statement."""
        return max((each.tags.shape[1] for each in self.parts), default=0)

    def tags(self, depth: int) -> Ints:
        """A row for each instance: where it is in its loops or its block's axes."""
        rows = np.full((len(self), depth), -1, np.int64)
        for each, places in zip(self.parts, self.places, strict=True):
            rows[places, : each.tags.shape[1]] = each.tags[:, :depth]
        return rows

    def iteration(self, instance: int, mode: int, *, axes: bool = False) -> Iteration:
        """An instance by the values of its loops, or of its block's ``axes``."""
        each, row = self.parts[self.part[instance]], self.row[instance]
        statement = each.statement
        names = [str(a.var.name) for a in (statement.axes if axes else statement.loops)]
        values = (each.axes if axes else each.points)[row]
        at: dict[str, int] = {}
        for name, value in zip(names, values, strict=True):
            at[name if name not in at else f"{name}'"] = int(value)
        names = [each.statement.block or f"statement {i}" for i, each in enumerate(self.parts, 1)]
        own = names[self.part[instance]] if len(set(names)) > 1 else ""
        return Iteration(at, does(mode), own)

    # --- elements -------------------------------------------------------------------------------

    def element(self, number: int) -> tuple[str, tuple[int, ...]]:
        """The buffer, and the place in it."""
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
        """Buffers of which TVM makes one for each iteration: all that use them is inside."""
        used: dict[str, bool] = {}
        for each in self.parts:
            for touch in each.touches:
                name, inside = str(touch.buffer.name), loop in each.statement.loops
                used[name] = used.get(name, True) and inside
        return {name for name, inside in used.items() if inside} - self.parameters

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
            kept = (load >= 0) & (load != store) & (name not in without)
            yield rows[kept], load[kept], np.full(int(kept.sum()), READ)

    def store(self, instance: int) -> tuple[int, int]:
        """The element that an instance writes, and how."""
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


def _joined(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *arrays])
