"""Kernels of all sizes for a GPU: a block for each row, and its threads side by side on columns.

A thread takes one column at a time, or four neighbours where a row is a multiple of four, and a
mask leaves out what lies behind the end. What threads have combined is combined by halves in shared
memory. Nothing is kept for a row: it is computed again, or read back from a result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlc_course.dynamic_shape.codegen.cpu_columns import Columns, is_of_columns
from mlc_course.dynamic_shape.codegen.passes import Pass, Passes, Reduction, Tile, divisions_of
from mlc_course.dynamic_shape.codegen.places import Atom, Dims, Places, product
from mlc_course.dynamic_shape.codegen.points import Names
from mlc_course.dynamic_shape.codegen.templates import (
    Lowered,
    at_width,
    lanes,
    loop,
    lowered_of,
    tile_of,
)
from mlc_course.dynamic_shape.codegen.vectors import wished
from mlc_course.dynamic_shape.fusion import Flow, Kernel, Knowledge
from mlc_course.mugraph.kernels import (
    ZERO,
    Allocate,
    Barrier,
    Buffer,
    Compute,
    Expr,
    Guard,
    Read,
    Statement,
    Threads,
    var,
)

THREADS = 128  # of a block
WIDE = 4  # floats that a thread loads at once, 16 bytes


def gpu_kernel(
    name: str, flow: Flow, kernel: Kernel, knowledge: Knowledge, multiples: Mapping[str, int]
) -> Lowered:
    """Return a kernel of a plan as blocks of threads; ``multiples`` are assumed.

    Raises ``GraphError`` for element types that kernels do not compute with.
    """
    places = Places(knowledge, multiples=multiples)
    if is_of_columns(flow, kernel, knowledge):
        return _column_kernel(name, flow, kernel, places)
    makers = [
        _Blocks(name, flow, kernel, places, rows, columns)
        for rows, columns in divisions_of(kernel, knowledge)
    ]
    return min(makers, key=lambda made: made.passes.effort).lowered()


def _column_kernel(name: str, flow: Flow, kernel: Kernel, places: Places) -> Lowered:
    """A thread for each column, or for each row where there are none."""
    made = Columns(flow, kernel, places)
    names, rows = made.names, product(made.kept)
    thread, block = var(names.thread), var(names.row)
    extent = product(made.columns) if made.columns else rows
    tiles = (extent + (THREADS - 1)) // THREADS
    at = block % tiles * THREADS + thread
    row = block // tiles if made.columns else at
    inside = Guard(at < extent, tuple(made.tile(row, 1, at)))
    body = [Threads(names.thread, THREADS, (inside,))]
    count = rows * tiles if made.columns else tiles
    return lowered_of(name, made.points, (), count, body, {}, THREADS)


class _Blocks:
    """Blocks of threads around the statements of ``Passes``."""

    def __init__(
        self, name: str, flow: Flow, kernel: Kernel, places: Places, rows: Dims, columns: Dims
    ) -> None:
        self.name, self.places = name, places
        self.names = Names.apart_from(places.knowledge.dims)
        self.outer: Dims = rows
        self.is_flat = kernel.form == "loop" and not rows
        atoms = [Atom(var(self.names.row), rows)] if rows else []
        self.passes = Passes(flow, kernel, places, self.names, atoms, columns, keeps=False)
        self.meeting = Buffer("meeting", (THREADS,), "shared")
        self.meets = False

    def lowered(self) -> Lowered:
        """Return the kernel with its arguments."""
        count, body = product(self.outer), list[Statement]()
        for each in self.passes.body:
            if isinstance(each, Pass):
                body += self._loops(each)
            elif isinstance(each, Compute) and each.target.scope == "global":
                first = Guard(var(self.names.thread) < 1, (each,))
                body.append(Threads(self.names.thread, THREADS, (first,)))
            else:
                body.append(each)
        if self.is_flat and len(self.passes.passes) == 1:
            (tile,) = self.passes.passes[0].tiles[:1]
            width = self._width(tile)
            steps = THREADS * width
            if len(self.passes.passes[0].tiles) == 1:
                count = (product(tile.sizes) + (steps - 1)) // steps
        shared = [self.meeting] if self.meets else []
        widths: dict[str, int] = {}
        for visit in self.passes.passes:
            for tile in visit.tiles:
                widths |= wished(self.places, tile.sizes, 1 if tile.is_scalar else WIDE)
        return lowered_of(self.name, self.passes.points, shared, count, body, widths, THREADS)

    def _width(self, tile: Tile) -> int:
        is_wide = self.places.divides(tile.sizes, WIDE) and not tile.is_scalar
        return WIDE if is_wide else 1

    def _loops(self, visit: Pass) -> list[Statement]:
        names, thread = self.names, var(self.names.thread)
        found: list[Statement] = []
        widths = sorted({self._width(tile) for tile in visit.tiles})
        for reduction in visit.reductions:
            for width in widths:
                parts = tile_of(reduction.parts, width)
                index, axes = lanes(names, width)
                found += [Allocate(parts), Compute(parts, index, reduction.start, axes)]
        for tile in visit.tiles:
            width = self._width(tile)
            extent = product(tile.sizes)
            number: Expr = var(names.step) * THREADS + thread
            steps = (extent + (THREADS * width - 1)) // (THREADS * width)
            if self.is_flat and len(visit.tiles) == 1:
                number = var(names.row) * THREADS + thread
            at = number * width
            statements = at_width(tile.scope.statements, names, width, tile.first + at)
            guarded: list[Statement] = [Guard(at < extent, tuple(statements))]
            if not (self.is_flat and len(visit.tiles) == 1):
                guarded = [loop(names.step, steps, guarded)]
            found.append(Threads(names.thread, THREADS, tuple(guarded)))
        for reduction in visit.reductions:
            found += self._met(reduction, widths)
        return found

    def _met(self, reduction: Reduction, widths: list[int]) -> list[Statement]:
        """Combine what the threads have, by halves; then every thread has the total."""
        names, thread = self.names, var(self.names.thread)
        self.meets = True
        meeting, combine = self.meeting, reduction.combine
        own: list[Statement] = []
        first = True
        for width in widths:
            parts = tile_of(reduction.parts, width)
            for lane in range(width):
                value = Read(parts, (ZERO + lane,))
                own.append(Compute(meeting, (thread,), value, (), "" if first else combine))
                first = False
        found: list[Statement] = [Threads(names.thread, THREADS, tuple(own)), Barrier()]
        half = THREADS // 2
        while half:
            other: Any = Read(meeting, (thread + half,))
            step = Guard(thread < half, (Compute(meeting, (thread,), other, (), combine),))
            found += [Threads(names.thread, THREADS, (step,)), Barrier()]
            half //= 2
        total = Compute(reduction.total, (ZERO,), Read(meeting, (ZERO,)))
        return [*found, Allocate(reduction.total), total, Barrier()]
