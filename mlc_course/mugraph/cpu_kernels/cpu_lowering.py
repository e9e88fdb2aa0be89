"""From a block graph to a kernel program for a CPU: a block is a core's task, and one thread.

Tiles stay in the caches, register tiles of products in vector registers. A skinny product's right
operand is read once, where it lies, a strip of columns at a time, with the next strip on its way.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from mlc_course.machine import Machine
from mlc_course.mugraph.codegen import (
    ELEMENT,
    LOAD,
    REDUCE,
    BlockLowering,
    Carry,
    Finish,
    Formula,
    Indexed,
    KernelLowering,
    Node,
    Sized,
    SizedLowering,
    TileGraph,
    Tiling,
    at_index,
)
from mlc_course.mugraph.ir import LOOP, KernelGraph, Number, Shape
from mlc_course.mugraph.kernels import (
    LINE,
    ONE,
    ZERO,
    Allocate,
    Apply,
    Axis,
    Body,
    Buffer,
    Combine,
    Compute,
    Constant,
    Expr,
    ExprLike,
    Fetch,
    Guard,
    Kernel,
    Loop,
    Read,
    Remark,
    SizedKernel,
    Statement,
    Value,
    var,
)

NAMES = "ijmnpq"
MOST_KEPT = 1024  # sums that are kept in lanes over a loop
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Cpu:
    """A machine as the lowering sees it.

    ``chains`` independent vectors are summed side by side; lines of the right operand are fetched
    ``ahead`` bytes before their use. A register tile has at most ``most_rows`` and
    ``most_vectors``.
    """

    lanes: int
    registers: int
    chains: int = 4
    ahead: int = 256
    most_rows: int = 14
    most_vectors: int = 4

    def register_tile(
        self, rows: int, columns: int, *, streamed: bool = False, clashing: bool = False
    ) -> tuple[int, int]:
        """Return rows and columns of the register tile for a product of this size.

        ``streamed``: the right operand comes from memory, strip by strip. ``clashing``: its rows
        share a set of the first cache.

        Of the tiles whose sums, vectors of the right operand and element of the left one fit the
        registers it is the one with the least time, where each step loads a row's elements and a
        column's vectors, and the first tile of a strip brings its lines.
        """

        def cycles(r: int, v: int) -> float:
            return max(r * v, ENOUGH_SUMS) / UNITS * (1 + LOAD_TIME * (r + v) / (r * v))

        def time(tile: tuple[int, int]) -> float:
            r, v = tile
            whole, rest = divmod(rows, r)
            strip = v * self.lanes * FLOAT_BYTES
            first = -(-strip // LINE) * CLASH_CYCLES if clashing else 0
            step = max(first, cycles(r, v)) + (whole - 1) * cycles(r, v)
            step += cycles(rest, v) if rest else 0
            wide = WIDE if streamed and strip > LINE_PAIR else 1
            return step * wide * -(-columns // (v * self.lanes))

        tiles = [
            (r, v)
            for v in range(1, self.most_vectors + 1)
            for r in range(1, self.most_rows + 1)
            if r * v + v + 1 <= self.registers and r <= max(1, rows)
        ]
        r, v = min(tiles, key=time)
        return r, v * self.lanes


ENOUGH_SUMS = 10  # multiply-adds under way that fill the units
UNITS = 2  # multiply-adds of vectors that a core begins in a cycle
LOAD_TIME = 0.05  # the time of a load, as a part of a multiply-add's: most are hidden behind it
CLASH_CYCLES = 7  # for each line, where one set of the first cache has to take them all
LINE_PAIR = 2 * LINE  # bytes: what caches fetch at a time
WIDE = 1.05  # the time of a strip of a streamed operand that is wider, beside that of one pair


def cpu_of(machine: Machine) -> Cpu:
    """Return a machine as the lowering sees it."""
    return Cpu(machine.lanes, machine.vector_registers)


NOTHING = Constant(Number(Fraction(0)))


def lower(graph: KernelGraph, place: int, tiling: Tiling, cpu: Cpu) -> Kernel:
    """Return the kernel of the block graph at ``place``."""
    return KernelLowering(graph, place, tiling, partial(CpuBlock, cpu)).kernel()


def lower_sized(
    graph: KernelGraph, place: int, tiling: Tiling, cpu: Cpu, sized: Sized
) -> SizedKernel:
    """Return the kernel of the block graph at ``place`` for all sizes."""
    return SizedLowering(graph, place, tiling, partial(CpuBlock, cpu), sized).kernel()


class CpuBlock(BlockLowering):
    """One block's work on a core."""

    def __init__(
        self,
        cpu: Cpu,
        whole: KernelLowering,
        numbers: Mapping[str, Expr],
        last: Sequence[str],
        full: TileGraph,
    ) -> None:
        self.cpu = cpu
        self.lanes: dict[Buffer, Buffer] = {}  # of sums that are kept in lanes, by their state
        super().__init__(whole, numbers, last, full)

    # ---- statements over the elements of a tile

    def _over(self, shape: Shape) -> tuple[tuple[Expr, ...], tuple[Axis, ...]]:
        """The index of an element, and the axes to go over: the last one in vectors."""
        names = self._names(NAMES)
        long = [place for place, extent in enumerate(shape) if extent > 1]
        index, axes = [ZERO] * len(shape), []
        for place in long:
            name = next(names)
            lanes = self._lanes(shape[place]) if place == long[-1] else 1
            index[place] = var(name)
            axes.append(Axis(name, shape[place], lanes))
        return tuple(index), tuple(axes)

    def _names(self, letters: str) -> Iterator[str]:
        """Yield names that nothing around has: letters, then the first of them with numbers."""
        numbered = (f"{letters[0]}{number}" for number in itertools.count(2))
        return (n for n in itertools.chain(letters, numbered) if n not in self.enclosing)

    def _lanes(self, extent: int) -> int:
        """As many as a register has, or as fit."""
        return min(self.cpu.lanes, 1 << (extent.bit_length() - 1))

    def elements(
        self,
        shape: Shape,
        target: Buffer,
        value: Formula,
        where: Indexed = tuple,
        combine: Combine = "",
    ) -> list[Statement]:
        index, axes = self._over(shape)
        return [Compute(target, tuple(where(index)), value(index), axes, combine)]

    # ---- sums and maxima

    def reduced(self, node: Node, target: Buffer) -> list[Statement]:
        (x,), (combine, axis) = node.args, node.what
        along = all(extent == 1 for extent in x.shape[axis + 1 :])
        if along and x.shape[axis] >= 2 * self.cpu.lanes:
            return self._reduced_in_lanes(x, axis, combine, target)
        begun = self.elements(node.shape, target, partial(self._at, x))
        if x.shape[axis] == 1:
            return begun
        index, axes = self._over(node.shape)
        taken = {each.name for each in axes}
        name = next(name for name in self._names("abcdefgh") if name not in taken)
        at = list(index)
        at[axis] = var(name) + 1
        reduced = Axis(name, x.shape[axis] - 1)
        where = (*axes[:-1], reduced, *axes[-1:]) if axes else (reduced,)
        return [*begun, Compute(target, index, self.term(x, axis, at, combine), where, combine)]

    def _reduced_in_lanes(
        self, x: Node, axis: int, combine: Combine, target: Buffer
    ) -> list[Statement]:
        """Reduce the last axis: vectors side by side, then their sum, then that of its lanes."""
        outer = [place for place, extent in enumerate(x.shape[:axis]) if extent > 1]
        names = [self._loop_name("i") for _ in outer]
        at = [ZERO] * len(x.shape)
        for place, name in zip(outer, names, strict=True):
            at[place] = var(name)
        lanes = self.whole.buffer(
            "lanes", (self._chains(x.shape[axis]), self.cpu.lanes), "registers"
        )
        done: list[Statement] = [
            Allocate(lanes),
            *self._into_lanes(x, axis, at, combine, lanes, (), first=True),
            *self._folded(lanes, (), combine),
        ]
        index = tuple(each if place != axis else ZERO for place, each in enumerate(at))
        done.append(Compute(target, at_index(target.shape, index), Read(lanes, (ZERO, ZERO))))
        for place, name in reversed(list(zip(outer, names, strict=True))):
            done = [Loop(name, x.shape[place], tuple(done), "any")]
            self.enclosing.discard(name)
        return done

    def _chains(self, extent: int) -> int:
        return max(1, min(self.cpu.chains, extent // self.cpu.lanes))

    def _into_lanes(
        self,
        x: Node,
        axis: int,
        at: Sequence[Expr],
        combine: Combine,
        lanes: Buffer,
        row: tuple[Expr, ...],
        *,
        first: bool,
    ) -> list[Statement]:
        """Add a row of x to the lanes, or begin them with it."""
        chains, width = lanes.shape[-2:]
        step, chain, lane = itertools.islice(self._names("abclmnpq"), 3)
        whole, rest = divmod(x.shape[axis], chains * width)
        inner = (Axis(chain, chains, 1, unrolled=True), Axis(lane, width, width))
        cell = (*row, var(chain), var(lane))

        def value(start: ExprLike) -> Value:
            moved = list(at)
            moved[axis] = var(chain) * width + var(lane) + start
            return self.term(x, axis, moved, combine)

        found: list[Statement] = []
        if first:
            found.append(Compute(lanes, cell, value(0), inner))
            if whole > 1:
                steps: tuple[Axis, ...] = (Axis(step, whole - 1), *inner)
                start = var(step) * (chains * width) + chains * width
                found.append(Compute(lanes, cell, value(start), steps, combine))
        elif whole:  # a short last step may have less than one vector of each chain
            steps = (Axis(step, whole), *inner) if whole > 1 else inner
            start = var(step) * (chains * width) if whole > 1 else ZERO
            found.append(Compute(lanes, cell, value(start), steps, combine))
        if rest:  # a few vectors, then a few elements
            moved = list(at)
            moved[axis] = var(lane) + whole * chains * width
            short = min(rest, width)
            tail: tuple[Axis, ...] = (Axis(lane, short, self._lanes(short)),)
            vectors, single = divmod(rest, width)
            if vectors:
                moved[axis] = moved[axis] + var(chain) * width
                tail = (Axis(chain, vectors), Axis(lane, width, width))
            cell = (*row, ZERO, var(lane))
            found.append(Compute(lanes, cell, self.term(x, axis, moved, combine), tail, combine))
            if vectors and single:
                moved[axis] = var(lane) + (whole * chains * width + vectors * width)
                tail = (Axis(lane, single, self._lanes(single)),)
                part = self.term(x, axis, moved, combine)
                found.append(Compute(lanes, cell, part, tail, combine))
        return found

    def _folded(self, lanes: Buffer, row: tuple[Expr, ...], combine: Combine) -> list[Statement]:
        """Combine all chains, then all lanes, by halves; the result is in the first place."""
        chains, width = lanes.shape[-2:]
        chain, lane = itertools.islice(self._names("cdlmnpq"), 2)
        found: list[Statement] = []
        while chains > 1:
            half = -(-chains // 2)
            one = chains - half == 1
            each = ZERO if one else var(chain)
            side = () if one else (Axis(chain, chains - half, 1, unrolled=True),)
            axes = (*side, Axis(lane, width, width))
            there = Read(lanes, (*row, each + half, var(lane)))
            found.append(Compute(lanes, (*row, each, var(lane)), there, axes, combine))
            chains = half
        while width > 1:
            width //= 2
            there = Read(lanes, (*row, ZERO, var(lane) + width))
            half_of: tuple[Axis, ...] = (Axis(lane, width, width),)
            if width == 1:
                there, half_of = Read(lanes, (*row, ZERO, ONE)), ()
            place = var(lane) if width > 1 else ZERO
            found.append(Compute(lanes, (*row, ZERO, place), there, half_of, combine))
        return found

    def is_kept_apart(self, carry: Carry, state: Node, first: Node, later: Node) -> bool:
        """Tell whether it is a sum over the last axis whose value nobody reads in the loop."""
        if carry.fmap or not self._iterates(carry):
            return False
        if state in self.apart or self.is_last:  # decided with the full tiles
            return state in self.apart
        if any(user is not later and user.stage == LOOP for user in self.users.get(state, [])):
            return False
        return (
            first.kind == REDUCE
            and first not in self.buffers
            and later.kind == ELEMENT
            and later.what == first.what[0]
            and set(later.args) == {state, first}
            and first.what[1] == len(first.shape) - 1
            and set(self.users.get(first, [])) <= {later}
            and first.args[0].shape[-1] >= 2 * self.cpu.lanes
            and math.prod(first.shape) <= MOST_KEPT
        )

    def _iterates(self, carry: Carry) -> bool:
        return any(self.whole.tiling[name].steps > 1 for name in carry.loops)

    def kept_apart(
        self, state: Node, first: Node, begins: Expr | None, *, combines: bool
    ) -> list[Statement]:
        (x,), (combine, axis) = first.args, first.what
        rows = first.shape[:-1]
        kept = self._lanes_of(state, (*rows, self._chains(x.shape[axis]), self.cpu.lanes))
        outer = [place for place, extent in enumerate(rows) if extent > 1]
        names = [self._loop_name("i") for _ in outer]
        at = [ZERO] * len(x.shape)
        for place, name in zip(outer, names, strict=True):
            at[place] = var(name)
        row = tuple(at[:-1])
        body: list[Statement]
        if begins is None:
            body = self._into_lanes(x, axis, at, combine, kept, row, first=not combines)
        else:
            body = [
                Guard(
                    begins,
                    tuple(self._into_lanes(x, axis, at, combine, kept, row, first=True)),
                    tuple(self._into_lanes(x, axis, at, combine, kept, row, first=False)),
                )
            ]
        end: list[Statement] = [
            *self._folded(kept, row, combine),
            Compute(self.buffers[state], (*row, ZERO), Read(kept, (*row, ZERO, ZERO))),
        ]
        for place, name in reversed(list(zip(outer, names, strict=True))):
            body = [Loop(name, rows[place], tuple(body), "any")]
            end = [Loop(name, rows[place], tuple(end), "any")]
            self.enclosing.discard(name)
        if not self.is_last:
            self.after += [Remark(f"{state.name}: the lanes together"), *end]
        return body

    def _lanes_of(self, state: Node, shape: Shape) -> Buffer:
        target = self.buffers[state]
        if target not in self.lanes:
            self.lanes[target] = self.whole.buffer(f"{state.name}_lanes", shape)
        return self.lanes[target]

    # ---- products

    def product(
        self,
        node: Node,
        start: Formula | None,
        target: Buffer,
        *,
        begins: Expr | None = None,
        where: Indexed = tuple,
        finish: Finish | None = None,
    ) -> list[Statement]:
        """target = start + a @ b, a register tile at a time, strip by strip of columns.

        Without a ``start``, and where ``begins`` holds, the sum starts at zero.
        """
        *lead, rows, columns = node.shape
        outer = [place for place, extent in enumerate(lead) if extent > 1]
        names = [self._loop_name("h") for _ in outer]
        at = [ZERO] * len(lead)
        for place, name in zip(outer, names, strict=True):
            at[place] = var(name)
        made: list[Statement] = []
        in_place = [b for b in node.args[1::2] if b.kind == LOAD and b not in self.buffers]
        panels = self.whole.tiling.panels
        clashing = [b for b in in_place if self.whole.operands[b.what].name in panels]
        high, wide = self.cpu.register_tile(
            rows, columns, streamed=bool(in_place), clashing=bool(clashing)
        )
        packed = clashing if rows > high else []
        for origin, count, width, lanes in self._strips(columns, wide):
            strip = self._loop_name("s")
            column = (var(strip) * width if count > 1 else ZERO) + origin
            body: list[Statement] = []
            kept = {b: self._panel(b, width) for b in packed}
            body += [Allocate(panel) for panel in kept.values()]
            lines = -(-width * FLOAT_BYTES // LINE) if count > 1 else 0
            for top, tiles, height, share in self._heights(rows, high, lines, bool(packed)):
                tile = self._loop_name("t")
                row = (var(tile) * height if tiles > 1 else ZERO) + top
                line = ((var(tile) if tiles > 1 else ZERO) + top // high) * share
                inside = self._register_tile(
                    node, (*at, row, column), (height, width, lanes), start, target, begins, where,
                    finish, lines=[line + n for n in range(share)], panels=kept,
                )  # fmt: skip
                body += [Loop(tile, tiles, inside, "any")] if tiles > 1 else inside
                self.enclosing.discard(tile)
            made += [Loop(strip, count, tuple(body), "any")] if count > 1 else body
            self.enclosing.discard(strip)
        for place, name in reversed(list(zip(outer, names, strict=True))):
            made = [Loop(name, lead[place], tuple(made), "any")]
            self.enclosing.discard(name)
        return made

    def _strips(self, columns: int, width: int) -> list[tuple[int, int, int, int]]:
        """(first column, number, width, lanes) of strips as wide as a tile, and of what is left."""
        count, rest = divmod(columns, width)
        found = [(0, count, width, self.cpu.lanes)] if count else []
        if rest:
            found.append((columns - rest, 1, rest, self._lanes(rest)))
        return found

    def _heights(
        self, rows: int, height: int, lines: int, alone: bool
    ) -> list[tuple[int, int, int, int]]:
        """(first row, number, height, lines to fetch) of register tiles.

        They share the lines of a strip, so that requests to memory come evenly. ``alone``: the
        first one is not like the others.
        """
        count, rest = divmod(rows, height)
        share = -(-lines // count)
        fetching = -(-lines // share) if share else 0
        found = [(0, fetching, height, share)] if fetching else []
        if count > fetching:
            found.append((fetching * height, count - fetching, height, 0))
        if alone and found[0][1] > 1:
            _, tiles, _, share = found[0]
            found[:1] = [(0, 1, height, share), (height, tiles - 1, height, share)]
        if rest:
            found.append((count * height, 1, rest, 0))
        return found

    def _register_tile(
        self,
        node: Node,
        corner: Sequence[Expr],
        extents: tuple[int, int, int],
        start: Formula | None,
        target: Buffer,
        begins: Expr | None,
        where: Indexed,
        finish: Finish | None,
        *,
        lines: Sequence[Expr],
        panels: Mapping[Node, Buffer],
    ) -> Body:
        height, width, lanes = extents
        r, c, inner = itertools.islice(self._names("rcluvw"), 3)
        sums = self.whole.buffer("sums", (height, width), "registers")
        *lead, row, column = corner
        cell = (var(r), var(c))
        at = (*lead, row + var(r), column + var(c))
        axes = (Axis(r, height, 1, unrolled=True), Axis(c, width, lanes, unrolled=True))
        zero = Compute(sums, cell, NOTHING, axes)
        begun: Body = (zero,)
        if start is not None:
            begun = (Compute(sums, cell, start(at), axes),)
            if begins is not None:
                begun = (Guard(begins, (zero,), begun),)
        steps: list[Statement] = []
        for a, b in zip(node.args[::2], node.args[1::2], strict=True):
            rank = len(a.shape)
            left = self.term(a, rank - 1, (*lead, row + var(r), var(inner)), "add")
            right = self.term(b, rank - 2, (*lead, var(inner), column + var(c)), "add")
            before = self._fetch(b, (*lead, var(inner), column), width, lines)
            if b in panels:
                kept = (var(inner), var(c))
                if row == ZERO:  # the first tile leaves its strip in the panel
                    columns = (Axis(c, width, lanes, unrolled=True),)
                    before.append(Compute(panels[b], kept, right, columns))
                right = Read(panels[b], kept)
            product = Apply("mul", (left, right))
            if before:
                step = Compute(sums, cell, product, axes, "add")
                steps.append(Loop(inner, a.shape[-1], (*before, step)))
            else:
                over = (Axis(inner, a.shape[-1]), *axes)
                steps.append(Compute(sums, cell, product, over, "add"))
        done: Value = Read(sums, cell)
        value = finish(at, done) if finish else done
        return (Allocate(sums), *begun, *steps, Compute(target, tuple(where(at)), value, axes))

    def _panel(self, b: Node, width: int) -> Buffer:
        """One place for a strip of columns, for all rows of register tiles to read."""
        return self.whole.buffer(f"{b.name}_panel", (b.shape[-2], width), "private")

    def _fetch(
        self, b: Node, at: Sequence[Expr], width: int, lines: Sequence[Expr]
    ) -> list[Statement]:
        """Some lines of a strip ahead, of an operand that is read where it lies."""
        if b.kind != LOAD or b in self.buffers or not (self.cpu.ahead and lines):
            return []
        *before, column = at
        step = LINE // FLOAT_BYTES
        ahead = max(1, self.cpu.ahead // (FLOAT_BYTES * width)) * width
        place = [(*before, column + each * step + ahead) for each in lines]
        operand = self.whole.operands[b.what]
        return [Fetch(tuple(Read(operand, self._place(b, each)) for each in place))]
