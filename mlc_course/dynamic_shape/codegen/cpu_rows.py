"""Kernels of all sizes for a CPU: rows side by side on the cores, columns in vectors.

Rows go by one number, or by two, such that no row divides to find out where it is: that of the last
axis runs within a block.
The columns of a pass are visited vector by vector; what wide ones leave over follows in narrower
ones. Where it is known that nothing is left over, nothing follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlc_course.dynamic_shape.codegen.cpu_columns import column_kernel, is_of_columns
from mlc_course.dynamic_shape.codegen.passes import Pass, Passes, Reduction, divisions_of
from mlc_course.dynamic_shape.codegen.places import Atom, Dims, Places, product
from mlc_course.dynamic_shape.codegen.points import Names
from mlc_course.dynamic_shape.codegen.row_memory import placed_in_results
from mlc_course.dynamic_shape.codegen.templates import (
    Lowered,
    at_width,
    lanes,
    loop,
    lowered_of,
    tile_of,
)
from mlc_course.dynamic_shape.codegen.vectors import ladder, wished
from mlc_course.dynamic_shape.fusion import Flow, Kernel, Knowledge
from mlc_course.mugraph.kernels import (
    ZERO,
    Allocate,
    Compute,
    Expr,
    Guard,
    Read,
    Statement,
    const,
    var,
)

CHUNK = 4096  # elements of a block where a kernel has no rows
TOGETHER = 4  # rows of a block that share memory for what is kept
NEIGHBOURS = 16  # rows of a block that share what is found by divisions


def cpu_kernel(
    name: str,
    flow: Flow,
    kernel: Kernel,
    knowledge: Knowledge,
    width: int,
    multiples: Mapping[str, int],
    *,
    folds: bool = True,
) -> Lowered:
    """Return a kernel of a plan for vectors of ``width`` floats; ``multiples`` are assumed.

    Raises ``GraphError`` for element types that kernels do not compute with.
    """
    places = Places(knowledge, folds=folds, multiples=multiples)
    if is_of_columns(flow, kernel, knowledge):
        return column_kernel(name, flow, kernel, places, width)
    makers = [
        _Rows(name, flow, kernel, places, nest, width)
        for nest in dict.fromkeys(_nests(flow, kernel, knowledge))
    ]
    return min(makers, key=lambda made: made.passes.effort).lowered()


@dataclass(frozen=True)
class _Nest:
    """Loops over rows, and a row's columns.

    A block has a row of ``outer`` and some neighbours along ``inner``; so what is found by
    divisions of ``outer``'s number is found once for all of them.
    """

    outer: Dims
    inner: Dims
    columns: Dims


def _nests(flow: Flow, kernel: Kernel, knowledge: Knowledge) -> Iterator[_Nest]:
    """Yield the loops that a kernel can have."""
    if kernel.form == "loop":
        for rows, columns in divisions_of(kernel, knowledge):
            at = len(rows) - 1 if len(rows) > 1 else len(rows)
            yield _Nest(rows[:at], rows[at:], columns)
        return
    yield _Nest((), kernel.rows, kernel.columns)
    rows_key = knowledge.key(kernel.rows)
    for value in kernel.values:
        for each in (value, *flow.equations[value].operands):
            dims = knowledge.sizes[each]
            for at in range(2, len(dims) + 1):
                if knowledge.key(dims[:at]) == rows_key:
                    yield _Nest(dims[: at - 1], dims[at - 1 : at], kernel.columns)


class _Rows:
    """Loops over rows and columns, around the statements of ``Passes``."""

    def __init__(
        self, name: str, flow: Flow, kernel: Kernel, places: Places, nest: _Nest, width: int
    ) -> None:
        self.name, self.places, self.nest, self.width = name, places, nest, width
        self.names = Names.apart_from(places.knowledge.dims)
        block, self.count = var(self.names.row), product(nest.outer)
        atoms: list[Atom] = [Atom(block, nest.outer)] if nest.outer else []
        if nest.inner:
            self.together = NEIGHBOURS if nest.outer else TOGETHER
            chunks = (product(nest.inner) + (self.together - 1)) // self.together
            self.count = self.count * chunks
            atoms = [Atom(block // chunks, nest.outer)] if nest.outer else []
            first = (block % chunks if nest.outer else block) * self.together
            self.row = first + var(self.names.inner)
            atoms.append(Atom(self.row, nest.inner))
        self.passes = made = Passes(flow, kernel, places, self.names, atoms, nest.columns)
        self.kept = placed_in_results(made.passes, made.row_buffers, places.knowledge)
        tiles = [tile for each in made.passes for tile in each.tiles]
        self.is_chunked = kernel.form == "loop" and not atoms and len(tiles) == 1

    def lowered(self) -> Lowered:
        """Return the kernel with its arguments."""
        names = self.names
        body = self._body(ZERO, None)
        if self.is_chunked:
            columns = product(self.passes.columns)
            chunks = columns // CHUNK
            whole = self._body(var(names.row) * CHUNK, const(CHUNK))
            rest = self._body(chunks * CHUNK, columns % CHUNK)
            body = [Guard(var(names.row) < chunks, tuple(whole), tuple(rest))]
            self.count = chunks + 1
        elif self.nest.inner:
            if not self.places.divides(self.nest.inner, self.together):
                body = [Guard(self.row < product(self.nest.inner), tuple(body))]
            body = [loop(names.inner, const(self.together), body)]
        widths: dict[str, int] = {}
        for each in self.passes.passes:
            for tile in each.tiles if not self.is_chunked else ():
                widths |= wished(self.places, tile.sizes, 1 if tile.is_scalar else self.width)
        return lowered_of(self.name, self.passes.points, self.kept, self.count, body, widths)

    def _body(self, first: Expr, extent: Expr | None) -> list[Statement]:
        """The statements of a row; of so many columns from ``first`` on, where they are a chunk."""
        found: list[Statement] = []
        for each in self.passes.body:
            found += self._loops(each, first, extent) if isinstance(each, Pass) else [each]
        return found

    def _loops(self, visit: Pass, first: Expr, extent: Expr | None) -> list[Statement]:
        loops: list[Statement] = []
        widths: list[int] = []
        names = self.names
        for tile in visit.tiles:
            widest = 1 if tile.is_scalar else self.width
            for each in ladder(self.places, tile.sizes, widest, extent):
                at = tile.first + first + each.start(names.step)
                body = at_width(tile.scope.statements, names, each.width, at)
                loops += each.visited(names.step, body)
                widths += [each.width] if each.width not in widths else []
        before: list[Statement] = []
        after: list[Statement] = []
        for reduction in visit.reductions:
            before += self._started(reduction, widths)
            after += self._folded(reduction, widths)
        return [*before, *loops, *after]

    def _started(self, reduction: Reduction, widths: Sequence[int]) -> list[Statement]:
        found: list[Statement] = []
        for width in widths:
            parts = tile_of(reduction.parts, width)
            index, axes = lanes(self.names, width)
            found += [Allocate(parts), Compute(parts, index, reduction.start, axes)]
        return found

    def _folded(self, reduction: Reduction, widths: Sequence[int]) -> list[Statement]:
        """Combine the lanes of the widest vector by halves, with narrower ones as it gets to them.

        What is left is the total.
        """
        found: list[Statement] = []
        parts = tile_of(reduction.parts, width := max(widths))
        while True:
            index, axes = lanes(self.names, width)
            if width in widths and parts.shape != (width,):
                other = Read(tile_of(reduction.parts, width), index)
                found.append(Compute(parts, index, other, axes, reduction.combine))
            if width == 1:
                break
            width //= 2
            index, axes = lanes(self.names, width)
            half = Read(parts, (index[0] + width,))
            found.append(Compute(parts, index, half, axes, reduction.combine))
        total = Compute(reduction.total, (ZERO,), Read(parts, (ZERO,)))
        return [*found, Allocate(reduction.total), total]
