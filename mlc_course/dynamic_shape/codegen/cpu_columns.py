"""Kernels of all sizes that reduce columns: for some columns at a time, all that is reduced."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from mlc_course.dynamic_shape.codegen.formulas import COMBINES, of_type
from mlc_course.dynamic_shape.codegen.places import Atom, Dims, Place, Places, product
from mlc_course.dynamic_shape.codegen.points import LANES, Names, Points, Scope
from mlc_course.dynamic_shape.codegen.templates import Lowered, at_width, loop, lowered_of
from mlc_course.dynamic_shape.codegen.vectors import ladder, wished
from mlc_course.dynamic_shape.fusion import Flow, Kernel, Knowledge
from mlc_course.mugraph.kernels import (
    ZERO,
    Allocate,
    Apply,
    Axis,
    Buffer,
    Compute,
    Count,
    Expr,
    Guard,
    Read,
    Statement,
    Value,
    var,
)


def is_of_columns(flow: Flow, kernel: Kernel, knowledge: Knowledge) -> bool:
    """Tell whether a kernel's reductions are over other axes than the last ones."""
    for value in kernel.values:
        equation = flow.equations[value]
        if equation.op.kind == "reduction":
            given: dict[str, Any] = dict(equation.attributes)
            rank = len(knowledge.sizes[equation.operands[0]])
            axes = sorted(given["axes"])
            return axes != list(range(rank - len(axes), rank))
    return False


def column_kernel(name: str, flow: Flow, kernel: Kernel, places: Places, widest: int) -> Lowered:
    """Return a kernel of column reductions of one size, and of what else has that size."""
    made = Columns(flow, kernel, places)
    names, rows = made.names, product(made.kept)
    if not made.columns:
        body = made.tile(var(names.row), 1, ZERO)
        return lowered_of(name, made.points, (), rows, body, {})
    wide, *narrow = ladder(places, made.columns, widest)
    count = wide.count + (1 if narrow else 0)
    row, tile = var(names.row) // count, var(names.row) % count
    body = made.tile(row, wide.width, tile * wide.width)
    if narrow:
        rest: list[Statement] = []
        for each in narrow:
            rest += each.visited(names.step, made.tile(row, each.width, each.start(names.step)))
        body = [Guard(tile < wide.count, tuple(body), tuple(rest))]
    if made.points.is_scalar and widest > 1:  # a condition that vectors cannot have
        return column_kernel(name, flow, kernel, places, 1)
    wish = wished(places, made.columns, widest)
    return lowered_of(name, made.points, (), rows * count, body, wish)


class Columns:
    """Sizes that are kept in front of what is reduced, those that are reduced, and the columns."""

    def __init__(self, flow: Flow, kernel: Kernel, places: Places) -> None:
        self.flow, self.kernel, self.places = flow, kernel, places
        self.names = Names.apart_from(places.knowledge.dims)
        self.points = Points(flow, kernel, places, self.names)
        self.reductions = [v for v in kernel.values if flow.equations[v].op.kind == "reduction"]
        first = flow.equations[self.reductions[0]]
        given: dict[str, Any] = dict(first.attributes)
        self.axes = frozenset(given["axes"])
        self.dims = places.knowledge.sizes[first.operands[0]]
        self.ahead = range(max(self.axes) + 1)
        self.kept: Dims = tuple(self.dims[at] for at in self.ahead if at not in self.axes)
        self.reduced: Dims = tuple(self.dims[at] for at in sorted(self.axes))
        self.columns: Dims = self.dims[len(self.ahead) :]

    def tile(self, row: Expr, width: int, start: Expr) -> list[Statement]:
        """Return the statements for some columns of a row, from ``start`` on."""
        names, points = self.names, self.points
        column = (Atom(names.column, self.columns),) if self.columns else ()
        atoms, sizes = self._atoms(row, column), self.places.knowledge.sizes
        scope = Scope(names, is_tile=True)
        axes = (Axis(names.lane, LANES, LANES),)
        index = (var(names.lane),)
        before: list[Any] = []
        after: list[Any] = []
        for number, value in enumerate(self.reductions):
            equation = self.flow.equations[value]
            combine, begin = COMBINES[equation.op.name]
            total = Buffer(f"total{number}", (LANES,), "registers")
            before += [Allocate(total), Compute(total, index, begin, axes)]
            operand = equation.operands[0]
            found = points.value(operand, Place(sizes[operand], atoms), scope)
            scope.statements.append(Compute(total, index, found, axes, combine))
            result: Value = Read(total, index)
            if equation.op.name == "reduce_mean":
                result = Apply("div", (result, Count(product(self.reduced))))
            result = of_type(equation, result)
            if value in self.kernel.outputs:
                where = (self.places.linear((Atom(row, self.kept), *column)),)
                after.append(Compute(points.buffer(value), where, result, axes))
        for value in self.kernel.outputs:
            if value not in self.reductions:
                found = points.value(value, Place(sizes[value], atoms), scope)
                where = (self.places.linear(atoms),)
                scope.statements.append(Compute(points.buffer(value), where, found, axes))
        inside = loop(names.depth, product(self.reduced), scope.statements)
        return at_width([*before, inside, *after], names, width, start)

    def _atoms(self, row: Expr, column: Sequence[Atom]) -> tuple[Atom, ...]:
        """An element of what is reduced: runs of kept and of reduced axes in turn."""
        left = {True: (var(self.names.depth), self.reduced), False: (row, self.kept)}
        atoms: list[Atom] = []
        for is_reduced, run in groupby(self.ahead, key=self.axes.__contains__):
            sizes = tuple(self.dims[at] for at in run)
            index, rest = left[is_reduced]
            after = rest[len(sizes) :]
            atoms.append(Atom(index // product(after) if after else index, sizes))
            left[is_reduced] = (index % product(after) if after else ZERO, after)
        return (*atoms, *column)
