"""A kernel as passes over the columns of a row, each with the reductions and stores that it is for.

What a reduction has found is there from the next pass on. A value that two passes need is kept in
memory for a row, or read back from a result, unless it is as quick to compute again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mlc_course.dynamic_shape.codegen.formulas import COMBINES, COMPUTED, of_type
from mlc_course.dynamic_shape.codegen.places import Atom, Dims, Place, Places, product
from mlc_course.dynamic_shape.codegen.points import LANES, Names, Piece, Points, Scope
from mlc_course.dynamic_shape.codegen.templates import divisions_in
from mlc_course.dynamic_shape.fusion import Flow, Kernel, Knowledge
from mlc_course.mugraph.kernels import (
    ZERO,
    Apply,
    Axis,
    Buffer,
    Combine,
    Compute,
    Count,
    Expr,
    Read,
    SizedBuffer,
    Value,
    var,
)

QUICK = ("add", "sub", "mul", "neg", "square", "max", "min", "abs")
MOST_QUICK = 3  # operators that are computed again rather than kept


@dataclass
class Reduction:
    """Elements of a pass that are combined in ``total``, the register of a row."""

    value: int
    combine: Combine
    start: Value
    total: Buffer
    parts: Buffer  # LANES of them in the template
    count: Expr | None  # what a mean divides by


@dataclass
class Tile:
    """The statements of a pass for neighbouring columns: from ``first`` on, a product of sizes."""

    scope: Scope
    first: Expr
    sizes: Dims
    is_scalar: bool


@dataclass
class Pass:
    """One visit of all columns: tiles that follow each other, and what is reduced."""

    columns: Dims
    tiles: list[Tile]
    reductions: list[Reduction]
    stored: dict[tuple[int, Place], tuple[SizedBuffer, Expr]] = field(default_factory=dict)


def divisions_of(kernel: Kernel, knowledge: Knowledge) -> list[tuple[Dims, Dims]]:
    """Return rows and columns that a kernel can be divided into; a loop kernel has a choice."""
    if kernel.form != "loop":
        return [(kernel.rows, kernel.columns)]
    dims = knowledge.sizes[kernel.outputs[0]]
    return [(dims[:at], dims[at:]) for at in range(max(len(dims), 1))]


class Passes:
    """Divides a loop, input or stitch kernel into passes; ``body`` has them among row statements.

    ``rows`` are the atoms of a row, and ``columns`` those that a loop kernel visits for each.
    """

    def __init__(
        self,
        flow: Flow,
        kernel: Kernel,
        places: Places,
        names: Names,
        rows: Sequence[Atom],
        columns: Dims,
        *,
        keeps: bool = True,
    ) -> None:
        self.flow, self.kernel, self.places, self.names = flow, kernel, places, names
        self.rows, self.columns, self.keeps = tuple(rows), columns, keeps
        self.points = Points(flow, kernel, places, names)
        self.points.keeper = self._kept
        self.now: Dims = columns
        self.scope = Scope(names)
        self.passes: list[Pass] = []
        self.row_buffers: list[SizedBuffer] = []
        self.level: dict[int, int] = {}
        for value in kernel.values:
            below = [self.level[who] for who, _ in flow.reads[value] if who in self.level]
            is_reduction = flow.equations[value].op.kind == "reduction"
            self.level[value] = max(below, default=0) + is_reduction
        self._run()

    @property
    def body(self) -> list[Any]:
        """Statements of a row, and ``Pass`` where its columns are visited."""
        return self.scope.statements

    @property
    def effort(self) -> int:
        """A rank by the divisions that are made, and by statements that vectors cannot do."""
        total, inner = 0, frozenset({self.names.inner})
        for each in self.body:
            if isinstance(each, Pass):
                for tile in each.tiles:
                    total += 1000 * divisions_in(tile.scope.statements, self.names.of_column)
                    total += 10 * divisions_in(tile.scope.statements, inner)
                    total += 5000 * tile.is_scalar
            else:
                total += 10 * divisions_in(each, inner)
                total += divisions_in(each)
        return total

    # ---- which passes there are

    def _run(self) -> None:
        flow, known = self.flow, self.places.knowledge
        for level in range(max(self.level.values()) + 1):
            roots: dict[Any, tuple[Dims, list[int]]] = {}
            for value in self.kernel.values:
                equation = flow.equations[value]
                is_reduction = equation.op.kind == "reduction"
                if is_reduction and self.level[value] == level + 1:
                    columns = self._columns_of(known.sizes[equation.operands[0]])
                elif value in self.kernel.outputs and self.level[value] == level:
                    columns = () if is_reduction else self._columns_of(known.sizes[value])
                    if not columns:
                        self._store_row(value)
                        continue
                else:
                    continue
                roots.setdefault(known.key(columns), (columns, []))[1].append(value)
            for columns, values in roots.values():
                self._pass(level, columns, values)

    def _columns_of(self, dims: Dims) -> Dims:
        """The sizes of a tensor without those that count rows; none for one element a row."""
        known, rows = self.places.knowledge, self._rows
        if self.kernel.form == "loop":
            return self.columns
        for at in range(len(dims) + 1):
            if known.are_equal(dims[:at], rows):
                columns = dims[at:]
                return () if known.are_equal(columns, ()) else columns
        return self.kernel.columns

    @property
    def _rows(self) -> Dims:
        return tuple(dim for atom in self.rows for dim in atom.sizes)

    def _place(self, dims: Dims, columns: Dims) -> Place:
        column = (Atom(self.names.column, columns),) if columns else ()
        return Place(dims, (*self.rows, *column))

    def _store_row(self, value: int) -> None:
        """Store a result that has one element a row."""
        place = self._place(self.places.knowledge.sizes[value], ())
        found = self.points.value(value, place, self.scope)
        buffer = self.points.buffer(value)
        index = (self.places.linear(self.rows),)
        self.scope.statements.append(Compute(buffer, index, found))

    def _pass(self, level: int, columns: Dims, values: Sequence[int]) -> None:
        made = Pass(columns, [], [])
        before = len(self.scope.statements), dict(self.scope.known)
        whole = self._tile(made, level, values, None)
        if bounds := self.points.bounds:  # once more, in pieces
            del self.scope.statements[before[0] :]
            self.scope.known = before[1]
            made = Pass(columns, [], [])
            pieces = zip((ZERO, *bounds), self.points.extents, strict=True)
            for number, (first, sizes) in enumerate(pieces):
                if 0 in sizes:
                    continue
                tile = self._tile(made, level, values, Piece(number, bounds))
                tile.first, tile.sizes = first, sizes
                made.tiles.append(tile)
        else:
            made.tiles.append(whole)
        self.points.piece, self.points.bounds = None, ()
        for reduction in made.reductions:
            total: Value = Read(reduction.total, (ZERO,))
            if reduction.count is not None:
                total = Apply("div", (total, Count(reduction.count)))
            self.points.totals[reduction.value] = of_type(
                self.flow.equations[reduction.value], total
            )
        self.passes.append(made)
        self.scope.statements.append(made)

    def _tile(self, made: Pass, level: int, values: Sequence[int], piece: Piece | None) -> Tile:
        """The statements of one piece of a pass."""
        points, sizes = self.points, self.places.knowledge.sizes
        points.piece, points.is_scalar = piece, False
        self.now = made.columns
        scope = Scope(self.names, self.scope, is_tile=True)
        lane = self.names.lane
        axes = (Axis(lane, LANES, LANES),)
        for value in values:
            equation = self.flow.equations[value]
            is_reduction = equation.op.kind == "reduction" and self.level[value] == level + 1
            root = equation.operands[0] if is_reduction else value
            place = self._place(sizes[root], made.columns)
            found = points.value(root, place, scope)
            if is_reduction:
                reduction = self._reduction(made, value)
                scope.statements.append(
                    Compute(reduction.parts, (var(lane),), found, axes, reduction.combine)
                )
            else:
                buffer, index = points.buffer(value), self.places.linear(place.atoms)
                scope.statements.append(Compute(buffer, (index,), found, axes))
                made.stored[value, place] = buffer, index
        return Tile(scope, ZERO, made.columns, points.is_scalar)

    def _reduction(self, made: Pass, value: int) -> Reduction:
        for known in made.reductions:
            if known.value == value:
                return known
        equation = self.flow.equations[value]
        name = equation.op.name
        combine, start = COMBINES[name]
        number = len(self.points.totals) + len(made.reductions)
        given: dict[str, Any] = dict(equation.attributes)
        dims = self.places.knowledge.sizes[equation.operands[0]]
        count = product([dims[axis] for axis in given["axes"]])
        reduction = Reduction(
            value,
            combine,
            start,
            Buffer(f"total{number}", (1,), "registers"),
            Buffer(f"parts{number}", (LANES,), "registers"),
            count if name == "reduce_mean" else None,
        )
        made.reductions.append(reduction)
        return reduction

    # ---- what is kept for a later pass

    def _kept(self, key: tuple[int, Place]) -> Value | None:
        """Return what an earlier pass has computed, if that is better than to compute it again."""
        value, place = key
        kept = self.points.kept
        columns = self.places.knowledge.key(self.now)
        for earlier in self.passes if self.keeps else ():
            if self.places.knowledge.key(earlier.columns) != columns:
                continue
            if not all(key in tile.scope.known for tile in earlier.tiles):
                continue
            operators, loads = self._effort(value, place)
            if operators <= MOST_QUICK and loads <= 1:
                return None
            kept[key] = self._stored(key, earlier)
            return kept[key]
        return None

    def _stored(self, key: tuple[int, Place], earlier: Pass) -> Read:
        """Return the memory of a value of an earlier pass: a result's, or one for the row."""
        value = key[0]
        role = COMPUTED[self.flow.function.types[value].dtype]
        known = earlier.stored.get(key)
        if known and known[0].role == role:
            return Read(known[0], (known[1],))
        length = product(earlier.columns)
        buffer = SizedBuffer.of(f"row{len(self.row_buffers)}", length, role=role)
        self.row_buffers.append(buffer)
        read = Read(buffer, (self.names.column,))
        axes = (Axis(self.names.lane, LANES, LANES),)
        for tile in earlier.tiles:
            tile.scope.statements.append(Compute(buffer, read.index, tile.scope.known[key], axes))
        return read

    def _effort(self, value: int, place: Place) -> tuple[int, int]:
        """Return how many operators compute an element of a tile again, and from how many loads."""
        flow, sizes = self.flow, self.places.knowledge.sizes
        first = len(flow.function.inputs)
        while value >= first and flow.function.equations[value - first].op.kind == "reshape":
            value = flow.function.equations[value - first].operands[0]
            place = self.places.reshaped(place, sizes[value])
        if not self.points.depends_on_column(place):
            return 0, 0
        if value not in self.points.inside or (value, place) in self.points.kept:
            return 0, 1
        equation = flow.equations[value]
        if equation.op.name == "broadcast":
            given: dict[str, Any] = dict(equation.attributes)
            operand = equation.operands[0]
            place = self.points.narrowed(place, sizes[operand], given["dims"])
            return self._effort(operand, place)
        if equation.op.name not in QUICK:
            return MOST_QUICK + 1, 0
        operators, loads = 1, 0
        for each in set(equation.operands):
            where = self.places.renamed(place, sizes[each]) if sizes[each] else Place((), ())
            more = self._effort(each, where) if operators <= MOST_QUICK else (0, 0)
            operators, loads = operators + more[0], loads + more[1]
        return operators, loads
