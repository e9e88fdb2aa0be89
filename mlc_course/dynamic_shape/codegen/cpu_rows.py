"""Kernels of all sizes for a CPU: rows side by side on the cores, columns in vectors.

The columns of a pass are visited vector by vector; what wide ones leave over follows in narrower
ones. Where it is known that nothing is left over, nothing follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
        _Rows(name, flow, kernel, places, rows, columns, width)
        for rows, columns in divisions_of(kernel, knowledge)
    ]
    return min(makers, key=lambda made: made.passes.effort).lowered()


class _Rows:
    """Loops over rows and columns, around the statements of ``Passes``."""

    def __init__(
        self,
        name: str,
        flow: Flow,
        kernel: Kernel,
        places: Places,
        rows: Dims,
        columns: Dims,
        width: int,
    ) -> None:
        self.name, self.places, self.width = name, places, width
        self.names = Names.apart_from(places.knowledge.dims)
        self.outer: Dims = rows
        self.inner: Dims = ()
        if kernel.form == "loop" and len(rows) > 1:
            self.outer, self.inner = rows[:-1], rows[-1:]
        self.row = var(self.names.row)
        if kernel.form != "loop":
            self.row = self.row * TOGETHER + var(self.names.inner)
        atoms = [Atom(self.row, self.outer)] if self.outer else []
        atoms += [Atom(var(self.names.inner), self.inner)] if self.inner else []
        self.passes = made = Passes(flow, kernel, places, self.names, atoms, columns)
        self.kept = placed_in_results(made.passes, made.row_buffers, places.knowledge)
        tiles = [tile for each in self.passes.passes for tile in each.tiles]
        self.is_chunked = kernel.form == "loop" and not rows and len(tiles) == 1

    def lowered(self) -> Lowered:
        """Return the kernel with its arguments."""
        names, count = self.names, product(self.outer)
        if self.is_chunked:
            columns = product(self.passes.columns)
            chunks = columns // CHUNK
            whole = self._body(var(names.row) * CHUNK, const(CHUNK))
            rest = self._body(chunks * CHUNK, columns % CHUNK)
            body: list[Statement] = [Guard(var(names.row) < chunks, tuple(whole), tuple(rest))]
            count = chunks + 1
        elif self.row != var(names.row) and self.outer:
            body = [Guard(self.row < count, tuple(self._body(ZERO, None)))]
            body = [loop(names.inner, const(TOGETHER), body)]
            count = (count + (TOGETHER - 1)) // TOGETHER
        else:
            body = self._body(ZERO, None)
        if self.inner:
            body = [loop(names.inner, product(self.inner), body)]
        widths: dict[str, int] = {}
        for each in self.passes.passes:
            for tile in each.tiles if not self.is_chunked else ():
                widths |= wished(self.places, tile.sizes, 1 if tile.is_scalar else self.width)
        return lowered_of(self.name, self.passes.points, self.kept, count, body, widths)

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
