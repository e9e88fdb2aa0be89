"""Statements for one element of a kernel, found from its result back to what it is made of.

A point is the places of a row and of a column in it. Each operator of the kernel becomes one
statement on a tile of neighbouring columns in registers, once for each place that it is needed at.
What a row's elements have in common is computed once for the row. Loops come later; statements name
the first column ``start`` and the ``lane`` of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlc_course.dynamic_shape.codegen.formulas import (
    COMPUTED,
    ELEMENTWISE,
    ROLES,
    check_types,
    constant,
    of_type,
)
from mlc_course.dynamic_shape.codegen.places import Atom, Dims, Place, Places, product
from mlc_course.dynamic_shape.fusion import Flow, Kernel
from mlc_course.dynamic_shape.ir import Equation
from mlc_course.mugraph.kernels import (
    ZERO,
    Allocate,
    Axis,
    Buffer,
    Compute,
    Count,
    Expr,
    Guard,
    Lookup,
    Read,
    SizedBuffer,
    Statement,
    Value,
    const,
    var,
    variables,
)

LANES = 16  # of a tile in a template; loops choose others
# What buffers of kernels are called, apart from inputs.
OWN_NAMES = re.compile(r"(v|t|row|parts|total)\d+(x\d+)?|meeting")


@dataclass
class Scope:
    """Statements that run together: those of a row, of a tile of columns, or under a condition."""

    names: Names
    around: Scope | None = None
    is_tile: bool = False
    is_guarded: bool = False
    statements: list[Any] = field(default_factory=list)
    known: dict[tuple[int, Place], Value] = field(default_factory=dict)

    def find(self, key: tuple[int, Place]) -> Value | None:
        """Return what has been computed already, here or around."""
        scope: Scope | None = self
        while scope:
            if key in scope.known:
                return scope.known[key]
            scope = scope.around
        return None

    @property
    def row(self) -> Scope:
        """The scope of what a row's elements have in common, unless a condition is in between."""
        return self.around if self.is_tile and not self.is_guarded and self.around else self


@dataclass(frozen=True)
class Names:
    """The variables of a kernel's loops, none of which is a size."""

    row: str
    inner: str
    step: str
    start: str
    lane: str
    depth: str  # of a column's reduction
    thread: str

    @classmethod
    def apart_from(cls, sizes: Mapping[str, Any]) -> Names:
        """Return names that no size has."""
        found = []
        for wish in ("r", "q", "step", "start", "lane", "k", "t"):
            while wish in sizes:
                wish += "_"
            found.append(wish)
        return cls(*found)

    @property
    def column(self) -> Expr:
        """The number of a column."""
        return var(self.start) + var(self.lane)

    @property
    def of_column(self) -> frozenset[str]:
        """The variables that are others for each element of a row."""
        return frozenset((self.start, self.lane, self.depth))


@dataclass(frozen=True)
class Piece:
    """Columns between two of the bounds at which a concatenation goes on with another operand."""

    number: int
    bounds: tuple[Expr, ...]


class Points:
    """Writes the statements of a kernel's values; ``totals`` are the results of its reductions."""

    def __init__(self, flow: Flow, kernel: Kernel, places: Places, names: Names) -> None:
        self.flow, self.kernel, self.places, self.names = flow, kernel, places, names
        self.sizes = places.knowledge.sizes
        self.inside = set(kernel.values)
        self.taken = {*self.places.knowledge.dims, *vars(names).values()}
        self.buffers: dict[int, SizedBuffer] = {}
        self.totals: dict[int, Value] = {}
        self.piece: Piece | None = None
        self.bounds: tuple[Expr, ...] = ()  # of the pieces that would leave no choice to make
        self.extents: tuple[Dims, ...] = ()  # of these pieces
        self.is_scalar = False  # a condition depends on the lane
        self.lookups: dict[tuple[int, int], None] = {}  # of indices, and the table
        self.kept: dict[tuple[int, Place], Value] = {}
        self.keeper: Callable[[tuple[int, Place]], Value | None] = lambda key: None
        self.count = 0
        for value in kernel.values:
            equation = flow.equations[value]
            types = [flow.function.types[each] for each in equation.operands]
            check_types(equation, types, flow.function.name_of(value))

    # ---- memory

    def buffer(self, value: int) -> SizedBuffer:
        """Return the memory of an input, or of what a kernel or call leaves behind."""
        value = self.flow.origin[value]
        if value not in self.buffers:
            name = self.flow.function.name_of(value).removeprefix("%")
            first = len(self.flow.function.inputs)
            name = f"v{name}" if value >= first else name
            known = {each.name for each in self.buffers.values()}
            while OWN_NAMES.fullmatch(name) and value < first or name in known | self.taken:
                name += "_"
            type_ = self.flow.function.types[value]
            self.buffers[value] = SizedBuffer.of(
                name,
                product(self.sizes[value]),
                scope="global",
                role=ROLES[type_.dtype],
            )
        return self.buffers[value]

    def tile(self, scope: Scope, value: int) -> tuple[Buffer, tuple[Expr, ...], tuple[Axis, ...]]:
        """Return new registers for a value in a scope, and the index and axes of its elements."""
        self.count += 1
        role = COMPUTED[self.flow.function.types[value].dtype]
        name = f"t{self.count}"
        if not scope.is_tile:
            return Buffer(name, (1,), "registers", role), (ZERO,), ()
        lane = self.names.lane
        tile = Buffer(name, (LANES,), "registers", role)
        return tile, (var(lane),), (Axis(lane, LANES, LANES),)

    # ---- values

    def equation(self, value: int) -> Equation | None:
        """Return what computes a value; nothing does for an input."""
        at = value - len(self.flow.function.inputs)
        return self.flow.function.equations[at] if at >= 0 else None

    def value(self, value: int, place: Place, scope: Scope) -> Value:
        """Return an element of a value, with statements for it in the scope."""
        while (equation := self.equation(value)) and equation.op.kind == "reshape":
            value = equation.operands[0]
            place = self.places.reshaped(place, self.sizes[value])
        if equation and equation.op.name == "constant":
            return self.filled(value, dict(equation.attributes)["value"], scope)
        is_iota = equation is not None and equation.op.name == "iota"
        if equation is None or value not in self.inside and not is_iota:
            return Read(self.buffer(value), (self.places.linear(place.atoms),))
        if value in self.totals:
            return self.totals[value]  # of this row, and of no other, as the plan has proved
        key = (value, place)
        found = scope.find(key) or self.kept.get(key)
        if found is None and self.depends_on_column(place):
            found = self.keeper(key)
        if found is None:
            if not self.depends_on_column(place):
                scope = scope.row
            found = self._computed(value, equation, place, scope)
            scope.known[key] = found
        return found

    def depends_on_column(self, place: Place) -> bool:
        """Tell whether a place is another one for each column."""
        return any(self.names.of_column & variables(atom.index) for atom in place.atoms)

    def _computed(self, value: int, equation: Equation, place: Place, scope: Scope) -> Value:
        given: dict[str, Any] = dict(equation.attributes)
        operands, places = equation.operands, self.places
        dims = [self.sizes[each] for each in operands]
        match equation.op.name:
            case "iota":
                atoms = places.part(place, given["axis"], given["axis"] + 1)
                formula = of_type(equation, Count(places.linear(atoms)))
                return self._stated(value, formula, scope)
            case "broadcast":
                return self.value(operands[0], self.narrowed(place, dims[0], given["dims"]), scope)
            case "transpose":
                return self.value(operands[0], self.turned(place, dims[0], given["perm"]), scope)
            case "slice":
                moved = self.shifted(place, dims[0], given["axis"], const(given["start"]))
                return self.value(operands[0], moved, scope)
            case "split":
                axis = given["axis"]
                by = product(place.dims[axis : axis + 1]) * given["part"]
                return self.value(operands[0], self.shifted(place, dims[0], axis, by), scope)
            case "concat":
                return self._concat(value, operands, place, given["axis"], scope)
            case "pad":
                return self._pad(value, operands[0], place, given, scope)
            case "gather":
                return self._gather(value, operands, place, scope)
        if equation.op.kind != "elementwise":
            raise AssertionError(f"{equation.op.name} in a kernel's statements")
        args = [
            self.value(each, places.renamed(place, sizes) if sizes else Place((), ()), scope)
            for each, sizes in zip(operands, dims, strict=True)
        ]
        formula = of_type(equation, ELEMENTWISE[equation.op.name](*args))
        return self._stated(value, formula, scope)

    def filled(self, value: int, number: Any, scope: Scope) -> Value:
        """Return a number as an element of a value."""
        found = constant(number, self.flow.function.types[value].dtype)
        return self._stated(value, found, scope) if isinstance(found, Count) else found

    def _stated(self, value: int, formula: Value, scope: Scope) -> Value:
        """Put a formula into registers, by a statement."""
        tile, index, axes = self.tile(scope, value)
        scope.statements += [Allocate(tile), Compute(tile, index, formula, axes)]
        return Read(tile, index)

    # ---- places of operands

    def narrowed(self, place: Place, dims: Dims, to: Sequence[int]) -> Place:
        """Return the element of a broadcast's operand; axes of size 1 have one element."""
        atoms: list[Atom] = []
        start = 0
        while start < len(dims):
            if dims[start] == 1:
                start += 1
                continue
            stop = start + 1  # neighbours that stay neighbours need no cut
            while stop < len(dims) and dims[stop] != 1 and to[stop] == to[stop - 1] + 1:
                stop += 1
            atoms += self.places.part(place, to[start], to[stop - 1] + 1)
            start = stop
        return Place(dims, tuple(atoms))

    def turned(self, place: Place, dims: Dims, perm: Sequence[int]) -> Place:
        """Return the element of a transpose's operand."""
        atoms: list[Atom] = []
        at = [list(perm).index(axis) for axis in range(len(dims))]
        start = 0
        while start < len(dims):
            stop = start + 1
            while stop < len(dims) and at[stop] == at[stop - 1] + 1:
                stop += 1
            atoms += self.places.part(place, at[start], at[stop - 1] + 1)
            start = stop
        return Place(dims, tuple(atoms))

    def shifted(self, place: Place, dims: Dims, axis: int, by: Expr) -> Place:
        """Return the place with an index moved along an axis, in a tensor of sizes ``dims``."""
        rank = len(dims)
        index = self.places.linear(self.places.part(place, axis, axis + 1))
        atoms = (
            *self.places.part(place, 0, axis),
            Atom(index + by, dims[axis : axis + 1], is_part=True),
            *self.places.part(place, axis + 1, rank),
        )
        return Place(dims, atoms)

    # ---- choices between operands

    def _concat(
        self, value: int, operands: Sequence[int], place: Place, axis: int, scope: Scope
    ) -> Value:
        bounds, total = [], ZERO
        for each in operands[:-1]:
            total = total + product(self.sizes[each][axis : axis + 1])
            bounds.append(total)
        branches = [(each, bound) for each, bound in zip(operands, (ZERO, *bounds), strict=True)]

        def branch(number: int, within: Scope) -> Value:
            operand, first = branches[number]
            dims = self.sizes[operand]
            moved = self.shifted(place, dims, axis, first * -1)
            return self.value(operand, moved, within)

        extents = [self.sizes[each][axis : axis + 1] for each in operands]
        return self._chosen(value, place, axis, bounds, extents, branch, scope)

    def _pad(
        self, value: int, operand: int, place: Place, given: Mapping[str, Any], scope: Scope
    ) -> Value:
        axis, low = given["axis"], const(given["low"])
        dims = self.sizes[operand]
        bounds = (low, low + product(dims[axis : axis + 1]))

        def branch(number: int, within: Scope) -> Value:
            if number != 1:
                return self.filled(value, given["value"], within)
            return self.value(operand, self.shifted(place, dims, axis, low * -1), within)

        extents = ((given["low"],), dims[axis : axis + 1], (given["high"],))
        return self._chosen(value, place, axis, bounds, extents, branch, scope)

    def _chosen(
        self,
        value: int,
        place: Place,
        axis: int,
        bounds: Sequence[Expr],
        extents: Sequence[Dims],
        branch: Callable[[int, Scope], Value],
        scope: Scope,
    ) -> Value:
        """Return the value of one branch, by the index along an axis and the ends of the others."""
        atoms = self.places.part(place, axis, axis + 1)
        index = self.places.linear(atoms)
        if index == self.names.column and not any(atom.is_part for atom in atoms):
            if self.piece and self.piece.bounds == tuple(bounds):
                return branch(self.piece.number, scope)
            if self.piece is None and not self.bounds:
                self.bounds, self.extents = tuple(bounds), tuple(extents)
        if self.names.lane in variables(index):
            self.is_scalar = True
        tile, at, axes = self.tile(scope, value)
        scope.statements.append(Allocate(tile))

        def stored(number: int) -> tuple[Statement, ...]:
            within = Scope(self.names, scope, is_tile=scope.is_tile, is_guarded=True)
            found = branch(number, within)
            return (*within.statements, Compute(tile, at, found, axes))

        body = stored(len(bounds))
        for number in range(len(bounds) - 1, -1, -1):
            body = (Guard(index < bounds[number], stored(number), body),)
        scope.statements += body
        return Read(tile, at)

    def _gather(self, value: int, operands: Sequence[int], place: Place, scope: Scope) -> Value:
        table, indices = operands
        rank, dims = len(self.sizes[indices]), self.sizes[table]
        which = Place(self.sizes[indices], self.places.part(place, 0, rank))
        rest = self.places.linear(self.places.part(place, rank, len(place.dims)))
        row_scope = scope if self.depends_on_column(which) else scope.row
        row = self._stated(indices, self.value(indices, which, row_scope), row_scope)
        if self.flow.origin[table] in self.inside:
            raise AssertionError("a table that is computed in the kernel that looks it up")
        self.lookups[indices, table] = None
        return Lookup(self.buffer(table), row, product(dims[1:]), rest)
