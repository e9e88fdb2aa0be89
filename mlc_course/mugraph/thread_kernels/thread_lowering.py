"""From a block graph to a kernel program for many threads a block, with shared memory: a GPU.

Tiles of operands come into shared memory by asynchronous copies, those of a loop into a ring of
slots, so that the copies of later iterations are under way while this one is computed. Every tile
has one spread over the threads (``spreads``): a thread keeps what only it needs in registers. Of a
sum over a row each thread adds up its share; every thread that needs the whole sum adds up the
shares by itself. That takes one barrier; one thread that writes the sum for the others takes two.

``lower_for_threads`` then orders the statements, places barriers (``barriers``), chooses layouts
(``shared_layouts``) and plans the memory (``memory_plan``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

from mlc_course.errors import SizeError
from mlc_course.mugraph.codegen import (
    CONCAT,
    ELEMENT,
    LOAD,
    PRODUCT,
    REDUCE,
    STATE,
    VIEW,
    BlockLowering,
    Carry,
    Finish,
    Formula,
    Indexed,
    KernelLowering,
    Node,
    TileGraph,
    Tiling,
    at_index,
    load_tile,
)
from mlc_course.mugraph.ir import ALWAYS, LOOP, KernelGraph, Number, Shape
from mlc_course.mugraph.kernels import (
    CONST,
    DEPTH,
    ONE,
    ROW,
    SUM_BYTES,
    ZERO,
    Allocate,
    Apply,
    AwaitCopies,
    Axis,
    Body,
    Buffer,
    Combine,
    CommitCopies,
    Compute,
    Constant,
    Copy,
    Expr,
    ExprLike,
    Fragments,
    Guard,
    Kernel,
    Loop,
    Read,
    Remark,
    Role,
    Statement,
    Threads,
    Value,
    const,
    loads_whole_rows,
    substituted,
    var,
    variables,
    with_indices,
)
from mlc_course.mugraph.thread_kernels.barriers import inward, merged, ordered, with_barriers
from mlc_course.mugraph.thread_kernels.memory_plan import least_memory, needs
from mlc_course.mugraph.thread_kernels.shared_layouts import with_layouts
from mlc_course.mugraph.thread_kernels.spreads import (
    WIDEST,
    Spread,
    copying,
    matrix_spread,
    narrowed,
    of_rows,
    spread_of,
)

NOTHING = Constant(Number(Fraction(0)))
MOST_HELD = 64  # elements of one tile that a thread keeps in registers
MOST_SHARES = 32  # shares of a sum that every reader adds up; of more, sums of some are made first
NARROWEST_COPY = 4  # bytes


@dataclass(frozen=True)
class Gpu:
    """A machine as the lowering sees it.

    A block has ``threads`` threads and at most ``shared_bytes`` of shared memory, so that several
    fit a multiprocessor; where a tile needs more, it gets up to ``most_shared_bytes``. An
    asynchronous copy moves up to ``copy_bytes``; with 0, operands are read in place. A pipeline has
    up to ``stages`` slots. ``storage_bytes`` is the size of an element in storage; sums have four.
    With a ``matrix_unit`` products whose operands have two bytes are computed on it, where their
    tiles have the extents for it. With a ``narrow_range``, that of float16, operands are left out
    that grow as exp does. Blocks are run by so many ``multiprocessors``. A thread has up to
    ``widest`` neighbours at once. Where shared memory has banks (``is_banked``), layouts keep
    threads out of each other's.
    """

    threads: int = 128
    shared_bytes: int = 96 * 1024
    most_shared_bytes: int = 0
    stages: int = 3
    copy_bytes: int = 16
    storage_bytes: int = 2
    matrix_unit: bool = False
    narrow_range: bool = False
    multiprocessors: int = 132
    widest: int = WIDEST
    is_banked: bool = True

    @property
    def limit(self) -> int:
        """The most shared memory that a block can have, in bytes."""
        return max(self.shared_bytes, self.most_shared_bytes)

    def bytes_of(self, role: Role) -> int:
        """Return the size of an element."""
        return self.storage_bytes if role == "storage" else SUM_BYTES

    def size_of(self, buffer: Buffer) -> int:
        """Return the size of a buffer in bytes, gaps included."""
        return buffer.size * self.bytes_of(buffer.role)


def lower_for_threads(graph: KernelGraph, place: int, tiling: Tiling, gpu: Gpu) -> Kernel:
    """Return the kernel of the block graph at ``place``, with as many stages as its memory allows.

    Raises ``SizeError`` if its tiles do not fit the shared memory even with one stage.
    """
    made = list[Kernel]()
    for stages in range(gpu.stages, 0, -1):
        whole = KernelLowering(graph, place, tiling, partial(ThreadBlock, gpu, stages))
        kernel = finished(replace(whole.kernel(), threads=gpu.threads), gpu)
        if kernel.shared_bytes <= gpu.shared_bytes:
            return kernel
        made.append(kernel)
    for kernel in made:
        if kernel.shared_bytes <= gpu.limit:
            return kernel
    raise SizeError(
        f"{graph.name}, block graph {place}: shared memory of a block, in bytes",
        expected=f"at most {gpu.limit}",
        got=kernel.shared_bytes,
        hint="cut the tiles smaller (tilings.retiled)",
    )


def finished(kernel: Kernel, gpu: Gpu) -> Kernel:
    """Return a kernel with barriers, layouts, and a place for every buffer."""
    body = each_variant(kernel.body, lambda body: merged(with_barriers(ordered(inward(body)))))
    kernel, reasons = replace(kernel, body=body), kernel.reasons
    if gpu.is_banked:
        kernel, reasons = with_layouts(kernel, gpu.bytes_of)
    offsets: dict[str, int] = {}
    total = 0
    for each in variants(kernel.body):  # a block runs one, so they use the same memory
        plan = least_memory(needs(each, kernel.shared, gpu.size_of))
        offsets.update(plan.offsets)
        total = max(total, plan.total)
    return replace(
        kernel,
        shared=tuple(each for each in kernel.shared if each.name in offsets),
        offsets=tuple(offsets.items()),
        shared_bytes=total,
        storage_bytes=gpu.storage_bytes,
        reasons=reasons,
    )


def each_variant(body: Body, change: Callable[[Body], Body]) -> Body:
    """Return a body with each variant changed by itself, if it has one for every last step."""
    guards = [each for each in body if isinstance(each, Guard)]
    if len(body) > 1 and len(guards) == len(body):
        return tuple(replace(each, body=change(each.body)) for each in guards)
    return change(body)


def variants(body: Body) -> list[Body]:
    """Return the bodies of which a block runs one."""
    found: list[Body] = []

    def seen(each: Body) -> Body:
        found.append(each)
        return each

    each_variant(body, seen)
    return found


@dataclass
class Point:
    """Where a statement is for which a formula is wanted: an element of a tile, by its owner.

    ``cell`` is its place among those of the thread. ``axes`` are the statement's; ``loops`` stand
    around it where some turns are not full, and the element is there only ``when`` a condition
    holds. ``before`` collects what has to be computed first.
    """

    spread: Spread
    index: tuple[Expr, ...]
    cell: tuple[Expr, ...]
    axes: tuple[Axis, ...]
    loops: tuple[tuple[str, int], ...]
    when: Expr
    known: frozenset[str]
    lane: Expr
    group: Expr
    names: tuple[str, str, str]
    before: list[Statement] = field(default_factory=list)
    made: dict[object, Value] = field(default_factory=dict)

    def axes_in(self, index: Sequence[Expr]) -> tuple[Axis, ...]:
        """Return the axes that an index uses."""
        used = frozenset[str]().union(*map(variables, index))
        return tuple(axis for axis in self.axes if axis.name in used)


class ThreadBlock(BlockLowering):
    """One block's work, shared by its threads."""

    def __init__(
        self,
        gpu: Gpu,
        stages: int,
        whole: KernelLowering,
        numbers: Mapping[str, Expr],
        last: Sequence[str],
        full: TileGraph,
    ) -> None:
        self.gpu = gpu
        self.held: dict[Buffer, Spread] = {}  # tiles in registers
        self.shares: dict[Buffer, tuple[int, int, Combine]] = {}  # axis, number, how to combine
        self.summed: dict[Buffer, Buffer] = {}  # by the shares that they are sums of
        self.lasting: list[Buffer] = []  # registers for the whole body
        self.kept_shares: dict[Buffer, tuple[Buffer, Spread]] = {}
        self.ring: set[Buffer] = set()
        self.copied: list[Node] = []  # loads of the loop that are copied
        self.point: Point | None = None
        self.made: Node | None = None  # the tile whose elements are being made
        self.short: TileGraph | None = None  # the tiles of a loop's last step
        self.of_matrices: dict[Shape, Spread] = {}  # the spreads of products on a matrix unit
        self.seen: set[Shape] = set()  # shapes whose spread is decided
        self.on_unit: set[Node] = set()  # products for it, where their spread is one of its own
        self.is_short = bool(whole.loops) and whole.tiling[whole.loops[-1][0]].short
        super().__init__(whole, numbers, last, full)
        self.thread = self._loop_name("t")
        self.iterations = math.prod(steps for _, steps in whole.loops)
        self.stages = min(stages, self.iterations)
        if len(whole.loops) > 1 and self.is_short:
            self.stages = 1

    def body(self) -> Body:
        found = super().body()
        return (*map(Allocate, self.lasting), *found)

    # ---- a statement by all threads

    def _spread(self, shape: Shape) -> Spread:
        if shape in self.of_rows:
            return self.of_rows[shape]
        return self.of_matrices.get(shape) or spread_of(
            tuple(shape), self.gpu.threads, self.gpu.widest
        )

    def _use(self, tiles: TileGraph) -> None:
        self.of_rows: dict[Shape, Spread] = {}
        super()._use(tiles)
        products = [node for node in tiles.nodes if node.kind == PRODUCT and node in self.live]
        self.on_unit = {node for node in products if self._suits_matrices(node)}
        for node in self.on_unit:
            made = matrix_spread(node.shape, self.gpu.threads)
            if made and node.shape not in self.seen:
                self.of_matrices[node.shape] = made
        self.seen |= {node.shape for node in tiles.nodes}  # a shape's spread stays as it is
        if self.is_short:
            return  # rows of short tiles might be those of other threads
        for node in self.t.nodes:
            if node in self.live and node.kind == ELEMENT:
                for each in node.args:
                    if each.shape == (*node.shape[:-1], 1) != node.shape:
                        self.of_rows.setdefault(each.shape, of_rows(self._spread(node.shape)))

    @contextmanager
    def _at_point(self, spread: Spread) -> Iterator[Point]:
        """The point of a statement over a tile's elements, while its formulas are made."""
        names = self._loop_name("i"), self._loop_name("j"), self._loop_name("c")
        row_name, turn_name, name = names
        t = var(self.thread)
        group, lane = spread.group(t), spread.lane(t)
        row, rows, turns = group, spread.row_turns, spread.column_turns
        turn = var(turn_name) if turns > 1 else ZERO
        if rows > 1:
            row = row + var(row_name) * spread.groups
        when, loops, axes = ONE, [], []
        if rows * spread.groups > spread.rows:
            when = (row if rows > 1 else group) < spread.rows
            if rows > 1:
                loops.append((row_name, rows))
        elif rows > 1:
            axes.append(Axis(row_name, rows, unrolled=True))
        if turns * spread.lanes > spread.columns // spread.width:
            when = when.both(spread.is_within(t, turn))
            if turns > 1:
                loops.append((turn_name, turns))
        elif turns > 1:
            axes.append(Axis(turn_name, turns, unrolled=True))
        column = spread.column(t, turn, var(name) if spread.width > 1 else ZERO)
        if spread.width > 1:
            together = 1 if spread.lies_apart else spread.width
            axes.append(Axis(name, spread.width, together, unrolled=True))
        cell = [var(n) for n, extent in zip(names, (rows, turns, spread.width), strict=True)
                if extent > 1]  # fmt: skip
        known = frozenset((*self.enclosing, *names))
        before = self.point
        self.point = Point(
            spread, (*_unflattened(row, spread.shape[:-1]), column), tuple(cell) or (ZERO,),
            tuple(axes), tuple(loops), when, known, lane, group, names,
        )  # fmt: skip
        yield self.point
        self.point = before
        self.enclosing -= {*names}

    def _threads(self, point: Point, body: Sequence[Statement]) -> Threads:
        """All threads at a point: what its formulas need, then the statements."""
        if point.spread.copies > 1:  # one of those who have an element writes it
            first = point.spread.copy(var(self.thread)).is_equal(0)
            body = [
                Guard(first, (each,))
                if isinstance(each, Compute) and each.target.scope != "registers"
                else each
                for each in body
            ]
        inside: Body = (*point.before, *body)
        if point.when != ONE:
            inside = (Guard(point.when, inside),)
        for name, extent in reversed(point.loops):
            inside = (Loop(name, extent, inside, "unrolled"),)
        return Threads(self.thread, self.gpu.threads, inside)

    def _cells(self, spread: Spread) -> Shape:
        extents = (spread.row_turns, spread.column_turns, spread.width)
        return tuple(each for each in extents if each > 1) or (1,)

    def _registers(self, name: str, shape: Shape, *, lasting: bool = False) -> Buffer:
        made = self.whole.buffer(name, shape, "registers")
        if lasting:
            self.lasting.append(made)
        return made

    def elements(
        self,
        shape: Shape,
        target: Buffer,
        value: Formula,
        where: Indexed = tuple,
        combine: Combine = "",
    ) -> list[Statement]:
        with self._at_point(self._spread(shape)) as point:
            made = value(point.index)
            index = point.cell if target in self.held else tuple(where(point.index))
            if made == Read(target, index) and not combine:
                return []
            return [self._threads(point, [Compute(target, index, made, point.axes, combine)])]

    # ---- where tiles are kept

    def _must(self, node: Node) -> bool:
        users = self.users.get(node, [])
        if node.kind != ELEMENT:
            return super()._must(node)
        if any(user.kind == PRODUCT for user in users):
            return True
        if any(math.prod(user.shape) > math.prod(node.shape) for user in users):
            return False  # each thread computes it once for its rows or columns
        return super()._must(node)

    def has_place(self, scale: Node) -> bool:
        return False

    def _stays_with_thread(self, node: Node, stage: str = "") -> bool:
        """Tell whether every element is read only by the thread that makes it.

        With a ``stage``, by statements of that stage.
        """
        for user in self.users.get(node, []):
            if stage and user.stage != stage:
                continue
            match user.kind:
                case "element" if self._are_together(node.shape, user.shape):
                    if not self._must(user) and not self._stays_with_thread(user):
                        return False
                case "reduce" if self._style(user) is not None:
                    if self.is_last and user in self.fused:
                        return False  # its threads are those of the full tiles
                case _:
                    return False
        return True

    def _are_together(self, shape: Shape, larger: Shape) -> bool:
        """Tell whether a thread that has an element of the larger tile has that of the other."""
        own, other = self._spread(shape), self._spread(larger)
        return own == other or own == of_rows(other)

    def _suits_matrices(self, product: Node) -> bool:
        """Tell whether a product's operands can come to a matrix unit, as far as is known now."""
        if not self.gpu.matrix_unit or self.gpu.storage_bytes != 2:
            return False
        return all(
            (a.shape[-1] % DEPTH == 0)
            and all(x.kind != LOAD or self._copy_width(x) == ROW for x in (a, b))
            and not (self.gpu.narrow_range and any(grows_as_exp(x, self.t) for x in (a, b)))
            for a, b in zip(product.args[::2], product.args[1::2], strict=True)
        )

    def _role(self, node: Node) -> Role:
        """Return the role of a tile in shared memory: a matrix unit takes operands of storage."""
        users = self.users.get(node, [])
        feeds = any(each in self.on_unit and each.shape in self.of_matrices for each in users)
        return "storage" if feeds else "sum"

    def place_of(self, node: Node) -> Buffer:
        if node.kind == REDUCE:
            return self._place_of_shares(node)
        spread = self._spread(node.shape)
        if (
            node.kind in (ELEMENT, PRODUCT)
            and spread.elements <= MOST_HELD
            and self._stays_with_thread(node)
        ):
            return self._held(node.name, spread)
        return self.whole.buffer(node.name, node.shape, role=self._role(node))

    def _held(self, name: str, spread: Spread) -> Buffer:
        made = self._registers(name, self._cells(spread), lasting=True)
        self.held[made] = spread
        return made

    def place_of_state(self, state: Node, carry: Carry) -> Buffer:
        first = dict(zip(carry.states, carry.first, strict=True))[state]
        if state in self.apart:
            return self._place_of_shares(first, state.name)
        spread = self._spread(first.shape)
        if (
            not carry.fmap
            and spread.elements <= MOST_HELD
            and self._stays_with_thread(state, LOOP if self.whole.loops else ALWAYS)
            and (first.kind == PRODUCT or self._stays_with_thread(state))
        ):
            return self._held(state.name, spread)
        return super().place_of_state(state, carry)

    def _spilled(self) -> list[Statement]:
        """Put accumulators into shared memory after the loop, where other threads read them."""
        found: list[Statement] = []
        for state in self.t.carry_of:
            place = self.buffers.get(state)
            if place in self.held and not self._stays_with_thread(state):
                assert place is not None
                target = self.whole.buffer(state.name, state.shape, role=self._role(state))
                found.append(Remark(f"{state.name}: for all threads"))
                found += self.elements(state.shape, target, partial(self.read, place))
                self.buffers[state] = target
        return found

    def read(self, buffer: Buffer, index: Sequence[Expr]) -> Value:
        at = tuple(index)
        if buffer in self.held:
            point, spread = self.point, self.held[buffer]
            assert point
            if spread == point.spread and at == point.index:
                return Read(buffer, point.cell)
            assert spread == of_rows(point.spread) and at == (*point.index[:-1], ZERO), (buffer, at)
            return Read(buffer, point.cell[:1] if spread.row_turns > 1 else (ZERO,))
        if buffer in self.shares:
            return self._added_up(buffer, at)
        if buffer in self.ring:
            return Read(buffer, (self._slot(self._iteration()), *at))
        return Read(buffer, at)

    # ---- values that a thread computes once for several elements

    def _at(self, node: Node, index: Sequence[ExprLike]) -> Value:
        is_formula = node.kind == ELEMENT and node not in self.buffers and node is not self.made
        if is_formula and self.point:
            at = at_index(node.shape, index)
            few = len(self.point.axes_in(at)) < len(self.point.axes)
            if self._is_known(at) and (few or len(self.users.get(node, [])) > 1):
                inner = super()._at
                return self._once((node, at), node.name, at, lambda: inner(node, at))
        return super()._at(node, index)

    def _is_known(self, at: Sequence[Expr]) -> bool:
        """Tell whether an index is one of the point, and not of an axis inside the statement."""
        used = frozenset[str]().union(*map(variables, at))
        return self.point is not None and used <= self.point.known

    def _once(
        self, key: object, name: str, at: Sequence[Expr], formula: Callable[[], Value]
    ) -> Value:
        """A register with a value, computed before the statement, for each index of its own."""
        point = self.point
        assert point
        if key not in point.made:
            value = formula()
            axes = point.axes_in(at)
            kept = self._registers(name, tuple(axis.extent for axis in axes) or (1,))
            cell = tuple(var(axis.name) for axis in axes) or (ZERO,)
            point.before += [Allocate(kept), Compute(kept, cell, value, axes)]
            point.made[key] = Read(kept, cell)
        return point.made[key]

    # ---- sums and maxima: shares of threads, and the whole

    def _style(self, node: Node) -> tuple[int, int] | None:
        """The axis of x that threads share, and in how many shares; None: one thread has it all."""
        (x,), (_, axis) = node.args, node.what
        spread = self._spread(x.shape)
        rank = len(x.shape)
        if axis == rank - 1:
            return axis, spread.lanes_at_work
        if axis == rank - 2 and math.prod(x.shape[:-2]) == 1 and spread.is_even:
            return axis, spread.groups_at_work
        return None

    def _place_of_shares(self, node: Node, name: str = "") -> Buffer:
        style = self._style(node)
        (x,) = node.args
        axis, number = style or (node.what[1], 1)
        shape = (*x.shape[:axis], number, *x.shape[axis + 1 :])
        made = self.whole.buffer(name or node.name, shape)
        if number > 1:
            self.shares[made] = axis, number, node.what[0]
        return made

    def _added_up(self, buffer: Buffer, at: tuple[Expr, ...]) -> Value:
        """An element of a sum of which the shares are in memory."""
        axis, number, combine = self.shares[buffer]

        def share(n: ExprLike) -> Read:
            return Read(buffer, (*at[:axis], ZERO + n, *at[axis + 1 :]))

        if not self._is_known(at):  # inside a loop of its own
            value: Value = share(0)
            for n in range(1, number):
                value = Apply(combine, (value, share(n)))
            return value
        point = self.point
        assert point
        key = buffer, at
        if key not in point.made:
            axes = point.axes_in(at)
            kept = self._registers(buffer.name, tuple(a.extent for a in axes) or (1,))
            cell = tuple(var(a.name) for a in axes) or (ZERO,)
            q = self._loop_name("q")
            point.before += [
                Allocate(kept),
                Compute(kept, cell, share(0), axes),
                Compute(
                    kept, cell, share(var(q) + 1), (Axis(q, number - 1, unrolled=True), *axes),
                    combine,
                ),
            ]  # fmt: skip
            self.enclosing.discard(q)
            point.made[key] = Read(kept, cell)
        return point.made[key]

    def reduced(self, node: Node, target: Buffer) -> list[Statement]:
        (x,), (combine, axis) = node.args, node.what
        if self._style(node) is None:
            return self._by_one_thread(node, target)
        spread = self._spread(x.shape)
        share = self._registers(f"{node.name}_share", self._share_cells(spread, axis))
        with self._at_point(spread) as point:
            body = [
                Allocate(share),
                *self._shares(x, axis, combine, share, point, first=True),
                self._given(point, axis, share, target),
            ]
            made: list[Statement] = [self._threads(point, body)]
        return made + self._fewer_shares(node, target)

    def _share_cells(self, spread: Spread, axis: int) -> Shape:
        if axis == len(spread.shape) - 1:
            return (spread.row_turns,)
        return (spread.column_turns, spread.width)

    def _share_cell(self, point: Point, axis: int) -> tuple[tuple[Expr, ...], tuple[Axis, ...]]:
        """The place of a share in registers, and the axes over all shares of a thread."""
        spread, last = point.spread, axis == len(point.index) - 1
        names = point.names
        if last:
            row = var(names[0]) if spread.row_turns > 1 else ZERO
            return (row,), tuple(a for a in point.axes if a.name == names[0])
        turn = var(names[1]) if spread.column_turns > 1 else ZERO
        neighbour = var(names[2]) if spread.width > 1 else ZERO
        return (turn, neighbour), tuple(a for a in point.axes if a.name in names[1:])

    def _shares(
        self,
        x: Node,
        axis: int,
        combine: Combine,
        share: Buffer,
        point: Point,
        *,
        first: bool,
    ) -> list[Statement]:
        """Add a thread's elements to its shares, or begin the shares with them."""
        cell, kept = self._share_cell(point, axis)
        value = self._at(x, point.index)
        reduced = tuple(a for a in point.axes if a not in kept)
        if not reduced:
            return [Compute(share, cell, value, kept, "" if first else combine)]
        if not first:
            return [Compute(share, cell, value, point.axes, combine)]
        if combine == "add":
            zero = Compute(share, cell, NOTHING, kept)
            return [zero, Compute(share, cell, value, point.axes, combine)]
        return self._largest(value, kept, reduced, share, cell, combine)

    def _largest(
        self,
        value: Value,
        kept: tuple[Axis, ...],
        reduced: tuple[Axis, ...],
        share: Buffer,
        cell: tuple[Expr, ...],
        combine: Combine,
    ) -> list[Statement]:
        """Begin with the first element, and combine each of the others once.

        A maximum may see an element twice. Once is right for the checks over a finite field, where
        nothing is known of max but that order does not matter.
        """

        def at(numbers: Mapping[str, Expr]) -> Value:
            found: Value = with_indices(value, lambda e: substituted(e, numbers))
            return found

        zeros = {axis.name: ZERO for axis in reduced}
        found: list[Statement] = [Compute(share, cell, at(zeros), kept)]
        for place, axis in enumerate(reduced):  # all elements of which this is the last above zero
            later = {each.name: ZERO for each in reduced[place + 1 :]}
            rest = replace(axis, extent=axis.extent - 1, lanes=1)
            axes = (*reduced[:place], rest, *kept)
            moved = at({**later, axis.name: var(axis.name) + 1})
            found.append(Compute(share, cell, moved, axes, combine))
        return found

    def _given(self, point: Point, axis: int, share: Buffer, target: Buffer) -> Statement:
        """Write a thread's shares for the others."""
        cell, axes = self._share_cell(point, axis)
        index = list(point.index)
        single = target.shape[axis] == 1
        number = point.lane if axis == len(index) - 1 else point.group
        index[axis] = ZERO if single else number
        return Compute(target, tuple(index), Read(share, cell), axes)

    def _fewer_shares(self, node: Node, target: Buffer) -> list[Statement]:
        """Add up some shares each, where there are too many for every reader to add up."""
        if target not in self.shares or self.shares[target][1] <= MOST_SHARES:
            return []
        axis, number, combine = self.shares[target]
        some = next((n for n in range(2, number) if number % n == 0 and n * n >= number), number)
        if some == number:
            return []
        fewer = number // some
        shape = (*target.shape[:axis], fewer, *target.shape[axis + 1 :])
        sums = self.whole.buffer(target.name, shape)
        with self._at_point(self._spread(shape)) as point:
            q = self._loop_name("q")
            kept = self._registers(target.name, self._cells(point.spread))
            at = list(point.index)

            def share(n: ExprLike) -> Read:
                at[axis] = point.index[axis] + (ZERO + n) * fewer
                return Read(target, tuple(at))

            body: list[Statement] = [
                Allocate(kept),
                Compute(kept, point.cell, share(0), point.axes),
                Compute(
                    kept, point.cell, share(var(q) + 1), (Axis(q, some - 1), *point.axes), combine
                ),
                Compute(sums, point.index, Read(kept, point.cell), point.axes),
            ]
            self.enclosing.discard(q)
            made = self._threads(point, body)
        self.shares[sums] = axis, fewer, combine
        self.summed[target] = sums
        return [Remark(f"{node.name}: {some} shares each"), made]

    def _by_one_thread(self, node: Node, target: Buffer) -> list[Statement]:
        """A sum along an axis that no two threads share."""
        (x,), (combine, axis) = node.args, node.what
        with self._at_point(self._spread(node.shape)) as point:
            q = self._loop_name("q")
            at = list(point.index)
            kept = self._registers(node.name, self._cells(point.spread))
            body: list[Statement] = [
                Allocate(kept),
                Compute(kept, point.cell, self._at(x, at), point.axes),
            ]
            if x.shape[axis] > 1:
                at[axis] = var(q) + 1
                rest = (Axis(q, x.shape[axis] - 1), *point.axes)
                body.append(Compute(kept, point.cell, self._at(x, at), rest, combine))
            self.enclosing.discard(q)
            body.append(Compute(target, point.index, Read(kept, point.cell), point.axes))
            return [self._threads(point, body)]

    def _materialized(self, node: Node) -> list[Statement]:
        self.made = node
        made = super()._materialized(node)
        self.made = None
        self._follow(node)
        return made

    def _follow(self, node: Node) -> None:
        """Read the sums of some shares where there are any, and not the shares."""
        place = self.buffers[node]
        self.buffers[node] = self.summed.get(place, place)

    def is_kept_apart(self, carry: Carry, state: Node, first: Node, later: Node) -> bool:
        """Tell whether it is a sum whose value nobody reads in the loop."""
        if carry.fmap or not any(self.whole.tiling[name].steps > 1 for name in carry.loops):
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
            and self._keeps_lanes(first.args[0])
        )

    def _keeps_lanes(self, x: Node) -> bool:
        """Tell whether no lane has elements of the last step's tile and none of the others."""
        if not self.is_short:
            return True
        if self.short is None:
            grid = {axis: self.numbers[axis] for axis, _ in self.whole.grid}
            last = (*self.last, self.whole.loops[-1][0])
            self.short = self.whole.tiles(grid, last, self.t)
        shape = self.short.nodes[self.t.nodes.index(x)].shape
        spread = self._spread(x.shape)
        return narrowed(spread, shape).lanes_at_work <= spread.lanes_at_work

    def kept_apart(
        self, state: Node, first: Node, begins: Expr | None, *, combines: bool
    ) -> list[Statement]:
        (x,), (combine, axis) = first.args, first.what
        place = self.buffers[state]
        if place not in self.kept_shares:
            spread = self._spread(x.shape)
            cells = self._share_cells(spread, axis)
            share = self._registers(f"{state.name}_share", cells, lasting=True)
            self.kept_shares[place] = share, spread
        share, spread = self.kept_shares[place]
        with self._at_point(narrowed(spread, x.shape)) as point:
            body = self._shares(x, axis, combine, share, point, first=not combines)
            if begins is not None:
                begun = self._shares(x, axis, combine, share, point, first=True)
                body = [Guard(begins, tuple(begun), tuple(body))]
            made = self._threads(point, body)
        if not self.is_last:
            with self._at_point(spread) as point:
                given = self._threads(point, [self._given(point, axis, share, place)])
            self.after += [Remark(f"{state.name}: the shares of all threads"), given]
            self.after += self._fewer_shares(state, place)
            self._follow(state)
            self.kept_shares[self.buffers[state]] = share, spread
        return [made]

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
        """Each thread has the elements of its rows and columns: a register tile."""
        in_place = target in self.held
        with self._at_point(self._spread(node.shape)) as point:
            sums = target if in_place else self._registers(node.name, self._cells(point.spread))
            body: list[Statement] = [] if in_place else [Allocate(sums)]
            zero: Body = (Compute(sums, point.cell, NOTHING, point.axes),)
            if start is None:
                body += zero
            else:
                made = start(point.index)
                begun: Body = (*point.before, Compute(sums, point.cell, made, point.axes))
                point.before.clear()
                point.made.clear()
                if made == Read(sums, point.cell):
                    begun = ()
                if begins is not None:
                    begun = (Guard(begins, zero, begun),)
                body += begun
            body += self._multiply_adds(node, sums, point)
            if not in_place:
                value: Value = Read(sums, point.cell)
                if finish:
                    before, point.before = point.before, []
                    value = finish(point.index, value)
                    body += point.before
                    point.before = before
                body.append(Compute(target, tuple(where(point.index)), value, point.axes))
            return [self._threads(point, body)]

    def _multiply_adds(self, node: Node, sums: Buffer, point: Point) -> list[Statement]:
        found: list[Statement] = []
        *lead, row, column = point.index
        inner = self._loop_name("l")
        for a, b in zip(node.args[::2], node.args[1::2], strict=True):
            left = self._at(a, (*lead, row, var(inner)))
            right = self._at(b, (*lead, var(inner), column))
            axes = (Axis(inner, a.shape[-1]), *point.axes)
            product = Compute(sums, point.cell, Apply("mul", (left, right)), axes, "add")
            if point.spread.matrix and node in self.on_unit:
                product = self._on_matrix_unit(product, point)
            found.append(product)
        self.enclosing.discard(inner)
        return found

    def _on_matrix_unit(self, product: Compute, point: Point) -> Compute:
        """Return a product for the matrix unit, if its operands lie as the unit loads them."""
        side = point.spread.matrix
        inner, *_ = product.axes
        names = {axis.name for axis in product.axes}
        rows, columns, neighbour = (name if name in names else "" for name in point.names)
        if not side or inner.extent % DEPTH:
            return product
        fragments = Fragments(side, self.thread, inner.name, rows, columns, neighbour)
        made = replace(product, fragments=fragments)
        return made if loads_whole_rows(made, self.gpu.threads) else product

    # ---- operands on their way into shared memory

    def _stage(self, stage: str) -> list[Statement]:
        if stage == ALWAYS:
            return [*self._first_copies(), *super()._stage(stage)]
        if stage == LOOP:
            return [*self._next_copies(), *super()._stage(stage)]
        return [*self._spilled(), *super()._stage(stage)]

    def _iteration(self) -> Expr:
        """The number of this iteration, of all loops together."""
        total = ZERO
        for loop, steps in self.whole.loops:
            total = total * steps + self.numbers[loop]
        return total

    def _numbers_of(self, iteration: Expr) -> dict[str, Expr]:
        numbers = dict(self.numbers)
        loops = self.whole.loops
        for place, (loop, steps) in reversed(list(enumerate(loops))):
            numbers[loop] = iteration % steps if place else iteration
            iteration = iteration // steps
        return numbers

    def _slot(self, iteration: Expr) -> Expr:
        return iteration % self.stages

    def _first_copies(self) -> list[Statement]:
        """Choose what is copied, and start the copies that are under way when the loop begins."""
        once: list[Node] = []
        for node in self.t.nodes:
            if node.kind != LOAD or node not in self.live or not self._copy_width(node):
                continue
            if node.stage == LOOP:
                self.buffers[node] = self._shared_load(node, (self.stages, *node.shape))
                self.ring.add(self.buffers[node])
                self.copied.append(node)
            elif self._is_shared_once(node):
                self.buffers[node] = self._shared_load(node, node.shape)
                once.append(node)
        found: list[Statement] = []
        if once:
            copies = [self._copies(n, self.numbers, None, self.last) for n in once]
            found.append(self._all_threads([*copies, CommitCopies()]))
        ahead = self.stages - 1 if self.copied else 0
        for number in range(ahead):
            copies = self._copies_of_iteration(const(number), self.last)
            found.append(self._all_threads([*copies, CommitCopies()]))
        needed_now = any(
            user.stage == ALWAYS or not self.whole.loops or not self.copied
            for node in once
            for user in self.users.get(node, [])
        )
        if needed_now:
            found.append(self._all_threads([AwaitCopies(ahead)]))
        return [Remark("operands set out"), *found] if found else []

    def _next_copies(self) -> list[Statement]:
        """Wait for this iteration's operands; send a later one's on their way."""
        if not self.copied:
            return []
        now = self._iteration()
        if self.stages == 1:
            copies = self._copies_of_iteration(now, self.last)
            copying = self._all_threads([*copies, CommitCopies(), AwaitCopies(0)])
            return [Remark("operands of this iteration"), copying]
        if self.is_last:
            return [Remark("operands have landed"), self._all_threads([AwaitCopies(0)])]
        ahead = now + (self.stages - 1)
        full = self.iterations - 1 if self.is_short else self.iterations
        copies = [Guard(ahead < full, tuple(self._copies_of_iteration(ahead, self.last)))]
        if self.is_short:
            last = (*self.last, self.whole.loops[-1][0])
            short = self._copies_of_iteration(const(full), last, self._slot(const(full)))
            copies.append(Guard(ahead.is_equal(full), tuple(short)))
        return [
            Remark("operands have landed; later ones set out"),
            self._all_threads([AwaitCopies(self.stages - 2)]),
            self._all_threads([*copies, CommitCopies()]),
        ]

    def _all_threads(self, body: Sequence[Statement]) -> Threads:
        return Threads(self.thread, self.gpu.threads, tuple(body))

    def _shared_load(self, node: Node, shape: Shape) -> Buffer:
        made = Buffer(self.whole.unused(node.name), tuple(shape), "shared", "storage")
        self.whole.shared.append(made)
        return made

    def _is_shared_once(self, node: Node) -> bool:
        """Tell whether an operand that is loaded once is read by several threads, or again."""
        users = list(self.users.get(node, []))
        while users:
            user = users.pop()
            if user.kind == PRODUCT or user.stage != node.stage and self.whole.loops:
                return True
            if user.kind in (VIEW, CONCAT):
                users += self.users.get(user, [])
        return False

    def _copies_of_iteration(
        self, iteration: Expr, last: Sequence[str], slot: Expr | None = None
    ) -> list[Statement]:
        numbers = self._numbers_of(iteration)
        slot = self._slot(iteration) if slot is None else slot
        return [self._copies(node, numbers, slot, last) for node in self.copied]

    def _tile(
        self, node: Node, numbers: Mapping[str, Expr], last: Sequence[str]
    ) -> tuple[Shape, tuple[Expr, ...]]:
        load, shape = self.whole.block.loads[node.what], self.whole.operands[node.what].shape
        return load_tile(shape, (*load.imap, *load.fmap), self.whole.tiling, numbers, last)

    def _copies(
        self, node: Node, numbers: Mapping[str, Expr], slot: Expr | None, last: Sequence[str]
    ) -> Statement:
        """Copy a tile of an operand, each thread a few parts of rows."""
        shape, start = self._tile(node, numbers, last)
        width = self._copy_width(node)
        with self._at_point(copying(shape, width, self.gpu.threads)) as point:
            names = point.names
            index = tuple(substituted(each, {names[2]: ZERO}) for each in point.index)
            source = tuple(s + i for s, i in zip(start, index, strict=True))
            target = index if slot is None else (slot, *index)
            operand = self.whole.operands[node.what]
            inside: Body = (Copy(self.buffers[node], target, operand, source, width),)
            if point.when != ONE:
                inside = (Guard(point.when, inside),)
            loops = [*point.loops, *((a.name, a.extent) for a in point.axes if a.name != names[2])]
            for name, extent in reversed(loops):
                inside = (Loop(name, extent, inside, "unrolled"),)
            (found,) = inside
            return found

    def _copy_width(self, node: Node) -> int:
        """Elements that a copy moves at once, in all of an operand's tiles; 0: not at all."""
        role = self.gpu.storage_bytes
        width = self.gpu.copy_bytes // role
        if not width:
            return 0
        operand = self.whole.operands[node.what]
        rows = [step for n, step in zip(operand.shape[:-1], operand.steps, strict=False) if n > 1]
        for last in self._lasts():
            shape, start = self._tile(node, self.numbers, last)
            width = math.gcd(width, shape[-1], _divisor(start[-1]), *rows)
        return width if width * role >= NARROWEST_COPY else 0

    def _lasts(self) -> list[tuple[str, ...]]:
        """The short last steps that this variant meets."""
        found = [tuple(self.last)]
        if self.whole.loops and self.is_short:
            found.append((*self.last, self.whole.loops[-1][0]))
        return found


def grows_as_exp(node: Node, tiles: TileGraph) -> bool:
    """Tell whether a tile's elements may be exp of anything; less a maximum they are at most 1."""
    match node.kind, node.what:
        case ("element", "exp"):
            return not _is_below_maximum(node.args[0], tiles)
        case ("element", "div"):
            return grows_as_exp(node.args[0], tiles)
        case ("element" | "view" | "concat", _):
            return any(grows_as_exp(each, tiles) for each in node.args)
    return False


def _is_below_maximum(node: Node, tiles: TileGraph) -> bool:
    """Tell whether a tile is a difference to a maximum along an axis, or to the one so far."""
    if node.kind != ELEMENT or node.what != "sub":
        return False
    _, least = node.args
    while least.kind == VIEW:
        (least,) = least.args
    if least.kind == STATE:
        carry = tiles.carry_of[least]
        least = carry.later[carry.states.index(least)]
    return bool(least.kind == REDUCE and least.what[0] == "max" or least.what == "max")


def _unflattened(number: Expr, shape: Shape) -> tuple[Expr, ...]:
    """The index of an element, by its number."""
    found = list[Expr]()
    for place, extent in reversed(list(enumerate(shape))):
        outermost = all(each == 1 for each in shape[:place])
        found.append(ZERO if extent == 1 else number if outermost else number % extent)
        number = number if extent == 1 else number // extent
    return tuple(reversed(found))


def _divisor(e: Expr) -> int:
    """A number that divides an expression, whatever its variables are."""
    if e.op == CONST:
        return abs(int(e.args[0]))
    if e.op == "+":
        return math.gcd(_divisor(e.args[0]), _divisor(e.args[1]))
    if e.op == "*":
        return _divisor(e.args[0]) * _divisor(e.args[1])
    return 1
