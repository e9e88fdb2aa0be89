"""An interpreter of kernels, over floats or over residues of a finite field.

It runs a kernel that is free of faults (``memory_faults``), so the layout of a buffer no longer
matters: each element has a place by its logical index, once for each block, thread or iteration
that has a buffer of its own. Each statement is evaluated at all its points at once, and a product
line as a product of matrices.

Residues have levels of which some may be holes, and maxima that are free (``verify.FreeMaxima``)
know what they are maxima of. Memory keeps both for each element.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mlc_course.errors import GraphError, UsageError
from mlc_course.mugraph.ir import Array, Floats, Number, Shape
from mlc_course.mugraph.kernel_checks.kernel_walk import (
    Points,
    Step,
    Walk,
    Whose,
    copied,
    element_number,
    kept_axes,
    whose,
)
from mlc_course.mugraph.kernel_checks.memory_faults import Fault, first_fault
from mlc_course.mugraph.kernels import LARGEST as INFINITE
from mlc_course.mugraph.kernels import (
    Allocate,
    Apply,
    Axis,
    Buffer,
    Compute,
    Constant,
    Copy,
    Count,
    Kernel,
    Lookup,
    Read,
    Select,
    Value,
    variables,
)
from mlc_course.mugraph.verify import Field, FreeMaxima, Residues

Tensor = Any
ON_FLOATS: dict[str, Callable[..., Tensor]] = {
    "pow": np.power,
    "less": lambda a, b: 1.0 * (a < b),
    "equal": lambda a, b: 1.0 * (a == b),
    "not": lambda a: 1.0 * (a == 0),
    "choose": lambda when, a, b: np.where(when, a, b),
}


@dataclass(frozen=True)
class Execution:
    """The outputs of a kernel, in its order, or the fault that it has instead."""

    outputs: tuple[Tensor, ...]
    fault: Fault | None = None


def execute(kernel: Kernel, inputs: Sequence[Tensor], m: Floats | Field) -> Execution:
    """Check a kernel for faults, and run it on tensors of the arithmetic ``m``.

    Raises ``UsageError`` for inputs of other shapes than the kernel has.
    """
    fault = first_fault(kernel)
    return Execution((), fault) if fault else Execution(values(kernel, inputs, m))


def values(kernel: Kernel, inputs: Sequence[Tensor], m: Floats | Field) -> tuple[Tensor, ...]:
    """Return the outputs of a kernel that has no fault, on tensors of the arithmetic ``m``."""
    expected = [each.shape for each in kernel.inputs]
    if [tuple(each.shape) for each in inputs] != expected:
        raise UsageError(
            f"{kernel.name}: inputs",
            expected=", ".join(f"{each.name} {each.shape}" for each in kernel.inputs),
            got=", ".join(str(tuple(each.shape)) for each in inputs),
        )
    run = _Values(kernel, inputs, m)
    with np.errstate(all="ignore"):
        run.run()
    return tuple(run.memories[each.name].whole() for each in kernel.outputs)


# ---- memory


class _Memory(ABC):
    """The elements of one buffer, as often as it exists."""

    def __init__(self, buffer: Buffer, of: Whose) -> None:
        self.buffer, self.of = buffer, of
        self.count = math.prod(buffer.shape) * of.copies

    @abstractmethod
    def read(self, places: Array) -> Tensor:
        """Return elements, as a tensor of the shape of their ``places``."""

    @abstractmethod
    def write(self, places: Array, value: Tensor, mask: Array | None) -> None:
        """Put a value, which is repeated along axes of extent 1, at ``places``, where ``mask``."""

    @abstractmethod
    def whole(self) -> Tensor:
        """Return all elements of a buffer that exists once."""


class _FloatMemory(_Memory):
    def __init__(self, buffer: Buffer, of: Whose, m: Floats) -> None:
        super().__init__(buffer, of)
        self.data = np.ones(self.count, m.computed)
        self.rounded = m.stored if buffer.role == "storage" else np.asarray

    def read(self, places: Array) -> Array:
        return np.asarray(self.data[places])

    def write(self, places: Array, value: Tensor, mask: Array | None) -> None:
        kept = _kept(mask, places.shape)
        rounded = self.rounded(np.asarray(value, self.data.dtype))
        self.data[places[kept]] = np.broadcast_to(rounded, places.shape)[kept]

    def whole(self) -> Array:
        return self.data.reshape(self.buffer.shape)


def _kept(mask: Array | None, shape: Shape) -> Any:
    return ... if mask is None else np.broadcast_to(mask, shape)


NOTHING = Number(Fraction(0))
NOT_LARGEST, LARGEST = 0, {"max": 1, "min": 2}


class _ResidueMemory(_Memory):
    """Residues of each level, which elements are holes there, and which are void.

    ``members`` are those of elements that are free maxima, or minima, as ``largest`` says.
    """

    def __init__(self, buffer: Buffer, of: Whose, m: Field) -> None:
        super().__init__(buffer, of)
        self.m = m
        # What nobody wrote is read at points that are left out; it should not be a zero there.
        self.levels: list[Array] = [np.array(each) for each in m.random((self.count,)).levels]
        self.holes = [np.zeros(self.count, bool) for _ in m.primes]
        self.void: Array | None = None
        self.members: _ResidueMemory | None = None
        self.largest = np.zeros(0, np.int8)

    def read(self, places: Array) -> Residues:
        levels = [
            None if holes[places].any() else level[:, places]
            for level, holes in zip(self.levels, self.holes, strict=True)
        ]
        void = None if self.void is None else self.void[:, places]
        found = Residues(self.m, levels, void)
        if self.members is not None and isinstance(self.m, FreeMaxima):
            self._tell_members(found, self.largest[places], self.members.read(places), self.m)
        return found

    def _tell_members(
        self, found: Residues, largest: Array, members: Residues, m: FreeMaxima
    ) -> None:
        """Say of what was read that it is a maximum; elements that are none have themselves."""
        for name, code in LARGEST.items():
            if (largest == code).any():
                if not (largest == code).all():
                    alone = m.function(f"{name} of", found)
                    members = _chosen(largest == code, members, alone)
                m.keep_members(found, name, members)
                return

    def write(self, places: Array, value: Residues, mask: Array | None) -> None:
        kept = _kept(mask, places.shape)
        flat = places[kept]
        for level, holes, given in zip(self.levels, self.holes, value.levels, strict=True):
            holes[flat] = given is None
            if given is not None:
                level[:, flat] = _over(given, places.shape)[:, kept].reshape(-1, *flat.shape)
        if value.void is not None and self.void is None:
            self.void = np.zeros((self.m.trials, self.count), bool)
        if self.void is not None:
            void = np.zeros((1, 1), bool) if value.void is None else value.void
            self.void[:, flat] = _over(void, places.shape)[:, kept].reshape(-1, *flat.shape)
        known = self.m.is_largest_of(value) if isinstance(self.m, FreeMaxima) else None
        if known and self.members is None:
            self.members = _ResidueMemory(self.buffer, self.of, self.m)
            self.largest = np.zeros(self.count, np.int8)
        if self.members is not None:
            self.largest[flat] = LARGEST[known[0]] if known else NOT_LARGEST
            if known:
                self.members.write(places, known[1], mask)

    def whole(self) -> Residues:
        return self.read(np.arange(self.count).reshape(self.buffer.shape))


def _over(level: Array, shape: Shape) -> Array:
    """Repeat a level to a shape, trials aside."""
    rank = len(shape)
    raised = level.reshape(len(level), *[1] * (rank - level.ndim + 1), *level.shape[1:])
    return np.broadcast_to(raised, (len(level), *shape))


def _chosen(when: Array, then: Residues, otherwise: Residues) -> Residues:
    """Return one of two tensors for each element; a level is a hole where one of them has none."""
    shape = np.broadcast_shapes(when.shape, then.shape, otherwise.shape)
    levels = [
        None if a is None or b is None else np.where(when, _over(a, shape), _over(b, shape))
        for a, b in zip(then.levels, otherwise.levels, strict=True)
    ]
    voids = [np.zeros((1, 1), bool) if x.void is None else x.void for x in (then, otherwise)]
    void = None
    if then.void is not None or otherwise.void is not None:
        void = np.where(when, _over(voids[0], shape), _over(voids[1], shape))
    return Residues(then.field, levels, void)


# ---- statements


class _Values(Walk):
    def __init__(self, kernel: Kernel, inputs: Sequence[Tensor], m: Floats | Field) -> None:
        super().__init__(kernel)
        self.m: Any = m
        self.memories: dict[str, _Memory] = {}
        nowhere = Points((), {})
        for each in (*kernel.inputs, *kernel.outputs, *kernel.shared):
            self._make(each, nowhere)
        for each, value in zip(kernel.inputs, inputs, strict=True):
            memory = self.memories[each.name]
            memory.write(np.arange(memory.count).reshape(each.shape), value, None)

    def _make(self, buffer: Buffer, points: Points) -> None:
        of = whose(buffer, self.kernel, points)
        made = _FloatMemory if isinstance(self.m, Floats) else _ResidueMemory
        self.memories[buffer.name] = made(buffer, of, self.m)

    def step(self, statement: Step, points: Points) -> None:
        match statement:
            case Compute():
                self._compute(statement, points)
            case Copy():
                self._compute(copied(statement), points)
            case Allocate(buffer):
                self._make(buffer, points)

    def _compute(self, s: Compute, points: Points) -> None:
        kept = kept_axes(s)
        value = self._product(s, kept, points)
        if value is None:
            value = self._value(s.value, points, s.axes)
            value = self._reduced(value, s, kept, points)
        memory = self.memories[s.target.name]
        places = self._places(memory, s.index, points, kept)
        shape = np.broadcast_shapes(places.shape, points.shape + tuple(a.extent for a in kept))
        places = np.broadcast_to(places, shape)
        if s.combine:
            value = self._combined(s.combine, memory.read(places), value)
        mask = None if points.mask is None else points.mask[(..., *(None,) * len(kept))]
        memory.write(places, value, mask)

    def _places(
        self, memory: _Memory, index: Sequence[Any], points: Points, axes: Sequence[Axis]
    ) -> Array:
        """Return the places of elements; those of points that are left out are some or other."""
        rank = len(points.lead) + len(axes)
        known = points.variables(axes)
        at = [points.among(each, known, rank) for each in index]
        inside = [each.clip(0, n - 1) for each, n in zip(at, memory.buffer.shape, strict=True)]
        element = element_number(memory.buffer.shape, inside) if inside else np.zeros(1, int)
        size = math.prod(memory.buffer.shape)
        return np.asarray(memory.of.number(points, rank) * size + element)

    def _value(self, value: Value, points: Points, axes: Sequence[Axis]) -> Tensor:
        m = self.m
        match value:
            case Constant(number):
                made = m.constant(number)
                if isinstance(self.m, FreeMaxima) and number.coefficient < -INFINITE:
                    self.m.keep_members(made, "max", m.constant(NOTHING))  # a maximum of no members
                return made
            case Read(buffer, index):
                memory = self.memories[buffer.name]
                return memory.read(self._places(memory, index, points, axes))
            case Select(when, then, otherwise):
                holds = np.asarray(points.at(when, axes), bool)
                if holds.all() or not holds.any():
                    return self._value(then if holds.all() else otherwise, points, axes)
                a, b = (self._value(each, points, axes) for each in (then, otherwise))
                return self._selected(holds, a, b)
            case Apply(name, args):
                return self._applied(name, [self._value(each, points, axes) for each in args])
            case Count(at):
                return points.at(at, axes).astype(self._floats().computed)
            case Lookup(table, row, width, rest):
                self._floats()
                memory = self.memories[table.name]
                which = np.asarray(self._value(row, points, axes)).astype(np.int64)
                place = which * points.at(width, axes) + points.at(rest, axes)
                return memory.read(place.clip(0, memory.count - 1))

    def _floats(self) -> Floats:
        """The arithmetic, where it has numbers of indices; a field has none."""
        if not isinstance(self.m, Floats):
            raise GraphError("a number of an index, or of data", expected="floats", got="a field")
        return self.m

    def _applied(self, name: str, args: Sequence[Tensor]) -> Tensor:
        m = self.m
        known: dict[str, Callable[..., Tensor]] = {
            "add": lambda a, b: a + b,
            "sub": lambda a, b: a - b,
            "mul": lambda a, b: a * b,
            "div": lambda a, b: a / b,
            "max": m.maximum,
            "min": m.minimum,
            "exp": m.exp,
            **(ON_FLOATS if isinstance(m, Floats) else {}),
        }
        return known[name](*args) if name in known else m.function(name, *args)

    def _selected(self, when: Array, then: Tensor, otherwise: Tensor) -> Tensor:
        if isinstance(self.m, Floats):
            return np.where(when, then, otherwise)
        found = _chosen(when, then, otherwise)
        if isinstance(self.m, FreeMaxima):
            parts = [self.m.is_largest_of(each) for each in (then, otherwise)]
            names = {part[0] for part in parts if part}
            if names:
                name = "max" if "max" in names else "min"  # padding is a maximum of no members
                a, b = (
                    part[1] if part and part[0] == name else self.m.function(f"{name} of", each)
                    for part, each in zip(parts, (then, otherwise), strict=True)
                )
                self.m.keep_members(found, name, _chosen(when, a, b))
        return found

    # ---- reductions

    def _reduced(self, value: Tensor, s: Compute, kept: Sequence[Axis], points: Points) -> Tensor:
        """Return a value at all points with the axes that the target lacks combined."""
        lead = len(points.lead)
        gone = [n for n, axis in enumerate(s.axes) if axis not in kept and axis.extent > 1]
        for place in gone:
            value = self._repeated(value, lead, s.axes, place)
            value = self._along(s.combine, value, lead + place)
        shape: Shape = getattr(value, "shape", ())  # a constant is a float
        if len(kept) == len(s.axes) or not shape:
            return value
        left = [shape[lead + n] for n, axis in enumerate(s.axes) if axis in kept]
        return self._reshaped(value, (*shape[:lead], *left))

    def _repeated(self, value: Tensor, lead: int, axes: Sequence[Axis], place: int) -> Tensor:
        """Return a value with its elements repeated along an axis that it does not depend on."""
        rank = lead + len(axes)
        own = tuple(value.shape) if hasattr(value, "shape") else ()
        shape = (1,) * (rank - len(own)) + own
        if shape[lead + place] > 1:
            return value
        array = np.asarray(value) if isinstance(self.m, Floats) else value
        one = self._reshaped(array, shape)
        times = axes[place].extent
        return self._moved(one, lambda x: self.m.concatenate([x] * times, lead + place))

    def _along(self, combine: str, value: Tensor, axis: int) -> Tensor:
        match combine:
            case "add":
                return self.m.sum(value, axis)
            case "max":
                return self.m.max(value, axis)
            case _:
                while value.shape[axis] > 1:
                    half = value.shape[axis] // 2
                    a, b, rest = (
                        self._cut(value, axis, start, stop)
                        for start, stop in ((0, half), (half, 2 * half), (2 * half, None))
                    )
                    value = self.m.minimum(a, b)
                    if rest.shape[axis]:
                        value = self.m.concatenate([value, rest], axis)
                return value

    def _cut(self, value: Tensor, axis: int, start: int, stop: int | None) -> Tensor:
        place = [slice(None)] * len(value.shape)
        place[axis] = slice(start, stop)
        return self._moved(value, lambda x: self.m.take(x, tuple(place)))

    def _reshaped(self, value: Tensor, shape: Shape) -> Tensor:
        return self._moved(value, lambda x: self.m.reshape(x, shape))

    def _moved(self, value: Tensor, action: Callable[[Tensor], Tensor]) -> Tensor:
        """Move elements; a free maximum is one of the same members afterwards."""
        found = action(value)
        known = self.m.is_largest_of(value) if isinstance(self.m, FreeMaxima) else None
        if known:
            self.m.keep_members(found, known[0], action(known[1]))
        return found

    def _combined(self, combine: str, before: Tensor, value: Tensor) -> Tensor:
        match combine:
            case "add":
                return before + value
            case "max":
                return self.m.maximum(before, value)
            case _:
                return self.m.minimum(before, value)

    # ---- products of matrices

    def _product(self, s: Compute, kept: Sequence[Axis], points: Points) -> Tensor | None:
        """Return a sum of products of two reads as a product of matrices; None for another line."""
        match s.value:
            case Apply("mul", (Read() as a, Read() as b)) if s.combine == "add":
                pass
            case _:
                return None
        names = [frozenset[str]().union(*map(variables, each.index)) for each in (a, b)]
        summed = [axis for axis in s.axes if axis not in kept]
        if not summed or any(axis.name not in own for axis in summed for own in names):
            return None
        both = [axis for axis in kept if all(axis.name in own for own in names)]
        rows = [axis for axis in kept if axis.name in names[0] - names[1]]
        columns = [axis for axis in kept if axis.name in names[1] - names[0]]
        if len(both) + len(rows) + len(columns) < len(kept):
            return None
        left = self._matrix(a, points, both, rows, summed)
        right = self._matrix(b, points, both, summed, columns)
        made = left @ right
        batch = made.shape[: len(points.lead) + len(both)]
        order = (*both, *rows, *columns)
        outer = (*batch, *(axis.extent for axis in (*rows, *columns)))
        lead = tuple(range(len(points.lead)))
        back = tuple(len(lead) + order.index(axis) for axis in kept)
        return self.m.transpose(self.m.reshape(made, outer), (*lead, *back))

    def _matrix(
        self,
        read: Read,
        points: Points,
        both: Sequence[Axis],
        rows: Sequence[Axis],
        columns: Sequence[Axis],
    ) -> Tensor:
        """Return what is read, as a matrix for each lead point and each point of ``both``."""
        memory = self.memories[read.buffer.name]
        places = self._places(memory, read.index, points, (*both, *rows, *columns))
        outer = places.shape[: len(points.lead) + len(both)]
        sizes = (math.prod(axis.extent for axis in each) for each in (rows, columns))
        return memory.read(places.reshape(*outer, *sizes))
