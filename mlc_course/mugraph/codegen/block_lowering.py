"""From a block graph to a kernel program, as far as it is the same for all machines.

The tiles of each stage are gone through in the order of the equations: some are read where they
are, some get a place in memory, sums go on over the iterations of a loop. How the elements of a
tile, a sum and a product are computed is a machine's own (``cpu_lowering``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial

from mlc_course.mugraph.codegen.tile_graph import (
    CONCAT,
    ELEMENT,
    LOAD,
    ORDER,
    PRODUCT,
    REDUCE,
    STATE,
    VIEW,
    Carry,
    Node,
    TileGraph,
    at_index,
    live_nodes,
)
from mlc_course.mugraph.codegen.tilings import Tiling, load_tile, store_start
from mlc_course.mugraph.ir import AFTER, ALWAYS, LOOP, KernelGraph, Number, Shape
from mlc_course.mugraph.kernels import (
    LARGEST,
    ONE,
    ZERO,
    Apply,
    Body,
    Buffer,
    Combine,
    Constant,
    Expr,
    ExprLike,
    Guard,
    Kernel,
    KernelProgram,
    Loop,
    Read,
    Remark,
    Repeat,
    Role,
    Scope,
    Select,
    Statement,
    Value,
    const,
    expr,
    var,
    variables,
)

Formula = Callable[[Sequence[Expr]], Value]
Finish = Callable[[Sequence[Expr], Value], Value]
Indexed = Callable[[Sequence[Expr]], tuple[Expr, ...]]
# What adds nothing: a number below 2**128 is minus infinity in float32.
IDENTITY: Mapping[str, Number] = {
    "add": Number(Fraction(0)),
    "max": Number(Fraction(-2 * LARGEST)),
}


def value_name(graph: KernelGraph, number: int) -> str:
    """Return the name of a value of a kernel graph, or one made for it."""
    name, made = graph.names[number], f"value_{number}"
    while not name and made in graph.names:
        made += "_"
    return name or made


def global_buffer(graph: KernelGraph, number: int) -> Buffer:
    """Return the memory of a value of a kernel graph."""
    return Buffer(value_name(graph, number), graph.shapes[number], "global", "storage")


def program_of(graph: KernelGraph, kernels: Sequence[Kernel]) -> KernelProgram:
    """Return the program of the kernels of a graph that consists of block graphs."""
    buffers = {each.name: each for kernel in kernels for each in (*kernel.inputs, *kernel.outputs)}
    inputs = tuple(global_buffer(graph, n) for n in range(len(graph.inputs)))
    outputs = tuple(global_buffer(graph, n) for n in graph.outputs)
    given = {each.name for each in (*inputs, *outputs)}
    between = tuple(each for name, each in buffers.items() if name not in given)
    return KernelProgram(graph, inputs, outputs, between, tuple(kernels))


class KernelLowering:
    """All variants of a block: with full tiles, and with the short ones of the last steps."""

    def __init__(
        self, graph: KernelGraph, place: int, tiling: Tiling, variant: Callable[..., BlockLowering]
    ) -> None:
        self.graph, self.place, self.tiling, self.variant = graph, place, tiling, variant
        self.block = dict(graph.blocks)[place]
        self.grid = [(axis, tiling[axis].steps) for axis, _ in self.block.grid]
        self.loops = [(loop, tiling[loop].steps) for loop, _ in self.block.loops]
        operands = graph.equations[place].operands
        of = {n: self.memory(n) for n in operands}
        self.operands = [of[n] for n in operands]
        self.inputs = tuple(of.values())
        self.outputs = tuple(map(self.memory, graph.results(place)))
        self.shared: list[Buffer] = []
        self.taken = {each.name for each in (*self.inputs, *self.outputs)}

    def kernel(self) -> Kernel:
        numbers = {axis: var(axis) if steps > 1 else ZERO for axis, steps in self.grid}
        body = self.body(numbers)
        return Kernel(
            name=self.name,
            grid=tuple(self.grid),
            threads=1,
            inputs=self.inputs,
            outputs=self.outputs,
            shared=tuple(self.shared),
            body=body,
        )

    @property
    def name(self) -> str:
        return self.graph.name if len(self.graph.equations) == 1 else self.outputs[0].name

    def body(self, numbers: Mapping[str, Expr]) -> Body:
        """Return what a block with these numbers does."""
        full = self.tiles(numbers, ())
        bodies: list[tuple[Expr, Body]] = []
        short = [axis for axis, _ in self.grid if self.tiling[axis].short]
        # every combination of short last steps has a body of its own
        for which in range(2 ** len(short)):
            last = [axis for n, axis in enumerate(short) if which >> n & 1]
            condition = ONE
            for axis in short:
                before, at_end = self.ends(axis, numbers[axis])
                condition = condition.both(at_end if axis in last else before)
            bodies.append((condition, self.variant(self, numbers, last, full).body()))
        if len(bodies) == 1:
            return bodies[0][1]
        return tuple(Guard(condition, inside) for condition, inside in bodies)

    def tiles(
        self, numbers: Mapping[str, Expr], last: Sequence[str], like: TileGraph | None = None
    ) -> TileGraph:
        """Return the tile operators of a block whose axes ``last`` are at a short step."""
        numbers = {**{loop: ZERO for loop, _ in self.loops}, **numbers}
        shapes = [
            load_tile(buffer.shape, (*load.imap, *load.fmap), self.tiling, numbers, last)[0]
            for buffer, load in zip(self.operands, self.block.loads, strict=True)
        ]
        collected = {loop: 0 for loop, _ in self.loops}
        for loop, steps in self.loops:
            cut = self.tiling[loop]
            collected[loop] = (cut.steps - 1) * cut.tile + cut.rest if cut.tile else -steps
        stages = self.graph.tiles(self.place).stages
        return self.tile_graph(shapes, stages, collected, like)

    # ---- what differs where extents depend on sizes (``sized_lowering``)

    def memory(self, number: int) -> Buffer:
        """Return the memory of a value of the kernel graph."""
        return global_buffer(self.graph, number)

    def tile_graph(
        self,
        shapes: Sequence[Shape],
        stages: Sequence[str],
        collected: Mapping[str, int],
        like: TileGraph | None,
    ) -> TileGraph:
        return TileGraph(self.block, shapes, stages, self.graph.size_of, collected, like)

    def ends(self, axis: str, number: Expr) -> tuple[Expr, Expr]:
        """Return the conditions that a step is before the short last one, and that it is that."""
        end = self.tiling[axis].steps - 1
        return number < end, number.is_equal(end)

    def repeated(self, loop: str, body: Sequence[Statement]) -> Statement:
        """Return the loop over all full steps."""
        cut = self.tiling[loop]
        return Loop(loop, cut.steps - cut.short, tuple(body))

    def last_number(self, loop: str) -> Expr:
        """Return the number of a loop's short last step."""
        return const(self.tiling[loop].steps - 1)

    def at_last(self, loop: str, body: Sequence[Statement]) -> list[Statement]:
        """Return the statements of a loop's short last step."""
        return list(body)

    def loaded(
        self, load: int, place: tuple[Expr, ...], at: Sequence[Expr], last: Sequence[str]
    ) -> Value:
        """Return a loaded tile's element ``at`` an index, which is at a place of its operand."""
        return Read(self.operands[load], place)

    def rest(self, node: int, dim: int, last: Sequence[str]) -> Expr | None:
        """Return how much of a tile is there along a dimension; None where nothing is padding."""
        return None

    def buffer(
        self, name: str, shape: Shape, scope: Scope = "shared", role: Role = "sum"
    ) -> Buffer:
        made = Buffer(self.unused(name), tuple(shape), scope, role)
        if scope == "shared":
            self.shared.append(made)
        return made

    def unused(self, name: str) -> str:
        found, number = name, 1
        while found in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found)
        return found


class BlockLowering(ABC):
    """The body of one variant: what comes before the loop, in it, and after it."""

    def __init__(
        self,
        whole: KernelLowering,
        numbers: Mapping[str, Expr],
        last: Sequence[str],
        full: TileGraph,
    ) -> None:
        self.whole, self.last, self.full = whole, tuple(last), full
        self.numbers = dict(numbers)
        for loop, steps in whole.loops:
            self.numbers[loop] = var(loop) if steps > 1 else ZERO
        self.buffers: dict[Node, Buffer] = {}
        self.enclosing = {axis for axis, _ in (*whole.grid, *whole.loops)}
        self.after: list[Statement] = []  # what a loop leaves to be done when it is over
        self.apart: set[Node] = set()  # states of sums that are kept in parts over the loop
        self.is_last = False  # are these the short tiles of a loop's last step?
        self._use(whole.tiles(numbers, self.last, full))

    def _use(self, tiles: TileGraph) -> None:
        """Go on with these tiles: find who reads what."""
        self.t = tiles
        self.outputs = [node for _, node in tiles.outputs]
        self.live = live_nodes(tiles)
        self.users: dict[Node, list[Node]] = {}
        for node in tiles.nodes:
            if node in self.live:
                for each in node.args:
                    self.users.setdefault(each, []).append(node)
        self.carried = {n for c in tiles.carry_of.values() for n in (*c.first, *c.later)}
        self.in_carry: set[Node] = set()  # nodes that read a state and are made with it
        self.fused: set[Node] = set()  # nodes that are made in an accumulator
        for carry in dict.fromkeys(tiles.carry_of.values()):
            for state, first, later in zip(carry.states, carry.first, carry.later, strict=True):
                self.in_carry |= {n for n in self._formula(later) if _depends(n, carry.states)}
                if self.is_kept_apart(carry, state, first, later):
                    self.apart.add(state)
                if self._product_of(first, later, state) or state in self.apart:
                    self.fused.add(first)

    # ---- the whole body

    def body(self) -> Body:
        found: list[Statement] = [*self._stage(ALWAYS)]
        if self.whole.loops:
            found += self._nest(self.whole.loops)
        found += self.after
        found += self._stage(AFTER)
        found += self._stores()
        return tuple(found)

    def _nest(self, loops: Sequence[tuple[str, int]]) -> list[Statement]:
        """Return a nest of loops, outermost first; a short last step has a body of its own."""
        if not loops:
            return self._stage(LOOP)
        (loop, _), *inner = loops
        found = self._nest(inner)
        if self.numbers[loop] != ZERO:
            found = [self.whole.repeated(loop, found)]
        return found + (self._last_iteration(loop, inner) if self.whole.tiling[loop].short else [])

    def _last_iteration(self, loop: str, inner: Sequence[tuple[str, int]]) -> list[Statement]:
        """The loop's body once more, on the short tiles of its last step."""
        full, number, before = self.t, self.numbers[loop], (self.last, self.is_last)
        self.numbers[loop] = self.whole.last_number(loop)
        self.last, self.is_last = (*self.last, loop), True
        grid = {axis: self.numbers[axis] for axis, _ in self.whole.grid}
        short = self.whole.tiles(grid, self.last, full)
        for node, other in zip(full.nodes, short.nodes, strict=True):
            is_kept = node.stage != LOOP or node.kind == STATE
            if node.kind == LOAD and not self._rests(node):
                is_kept = True
            if node in self.buffers and is_kept:
                self.buffers[other] = self.buffers[node]
            if node in self.apart:
                self.apart.add(other)
        self._use(short)
        body = self._nest(inner)
        self.numbers[loop] = number
        self.last, self.is_last = before
        self._use(full)
        return self.whole.at_last(loop, body)

    def _stage(self, stage: str) -> list[Statement]:
        found: list[Statement] = []
        for step in self.t.steps:
            if isinstance(step, Carry):
                now = stage == (LOOP if self.whole.loops else ALWAYS)
                if now and any(each in self.live for each in step.states):
                    found += self._carry(step)
            elif self._is_made_here(step, stage):
                found += self._materialized(step)
        return found

    def _is_made_here(self, node: Node, stage: str) -> bool:
        return (
            node.stage == stage
            and node in self.live
            and node not in self.in_carry
            and node not in self.fused
            and node not in self.buffers
            and self._must(node)
            and not self._goes_straight_out(node)
        )

    def _materialized(self, node: Node) -> list[Statement]:
        target = self.place_of(node)
        match node.kind:
            case "product":
                made = self.product(node, None, target)
            case "reduce":
                made = self.reduced(node, target)
            case "concat":
                made = self._side_by_side(node, target)
            case "load":
                made = self._padded(node, target)
            case _:
                made = self.elements(node.shape, target, partial(self._at, node))
        self.buffers[node] = target
        return [Remark(node.remark), *made]

    def _padded(self, node: Node, target: Buffer) -> list[Statement]:
        """Copy a loaded tile, and repeat its last element in every row that is short."""
        dim = len(node.shape) - 1
        rest = self._rest(node, dim)
        if rest is None:
            return self.elements(node.shape, target, partial(self._at, node))
        load = self.whole.block.loads[node.what]
        along = {axis for axis, on in (*load.imap, *load.fmap) if on == dim}
        others = [axis for axis in self.last if axis not in along]

        def there(index: Sequence[Expr]) -> Value:
            return self.whole.loaded(node.what, self._place(node, index), index, others)

        def last(index: Sequence[Expr]) -> Value:
            return self.read(target, (*index[:-1], rest + -1))

        def after(index: Sequence[Expr]) -> tuple[Expr, ...]:
            return (*index[:-1], index[-1] + rest)

        padding = rest * -1 + node.shape[dim]
        return [
            *self._in_part(node.shape, {dim: rest}, target, there, tuple),
            *self._in_part(node.shape, {dim: padding}, target, last, after),
        ]

    def _in_part(
        self,
        shape: Shape,
        extents: Mapping[int, Expr],
        target: Buffer,
        value: Formula,
        where: Indexed,
    ) -> list[Statement]:
        """Return statements as ``elements`` does, of as many places as some dimensions have."""
        end = len(shape) - 1
        in_loops = [d for d in range(end + 1) if d in extents or d < end and shape[d] > 1]
        names = {dim: self._loop_name("i") for dim in in_loops}
        one_each = tuple(1 if dim in names else n for dim, n in enumerate(shape))

        def moved(index: Sequence[Expr]) -> tuple[Expr, ...]:
            return tuple(var(names[d]) if d in names else i for d, i in enumerate(index))

        made = self.elements(
            one_each, target, lambda i: value(moved(i)), lambda i: tuple(where(moved(i)))
        )
        for dim, name in reversed(names.items()):
            if dim in extents:
                made = [Repeat(name, extents[dim], tuple(made), "any")]
            else:
                made = [Loop(name, shape[dim], tuple(made), "any")]
            self.enclosing.discard(name)
        return made

    def _rest(self, node: Node, dim: int) -> Expr | None:
        return self.whole.rest(self.t.nodes.index(node), dim, self.last)

    def _rests(self, node: Node) -> dict[int, Expr]:
        """Return how much of a tile is there, along the dimensions that have padding."""
        found = ((dim, self._rest(node, dim)) for dim in range(len(node.shape)))
        return {dim: rest for dim, rest in found if rest is not None}

    def _side_by_side(self, node: Node, target: Buffer) -> list[Statement]:
        made, start = list[Statement](), 0
        for each in node.args:

            def where(index: Sequence[Expr], start: int = start) -> tuple[Expr, ...]:
                moved = list(index)
                moved[node.what] = index[node.what] + start
                return tuple(moved)

            made += self.elements(each.shape, target, partial(self._at, each), where)
            start += each.shape[node.what]
        return made

    # ---- which tiles have a place in memory

    def _must(self, node: Node) -> bool:
        users = self.users.get(node, [])
        if node.kind in (PRODUCT, REDUCE, CONCAT):
            return True
        if node.kind == LOAD:  # padded once, not wherever it is read
            rests = self._rests(node)
            is_short_row = len(node.shape) - 1 in rests
            return is_short_row or bool(rests) and any(user.kind == PRODUCT for user in users)
        if node.kind == VIEW:
            return any(self._is_right(node, user) and not self._in_line(node) for user in users)
        if node.kind != ELEMENT:
            return False
        return (
            len(users) > 1
            or any(user.kind == PRODUCT for user in users)
            or any(ORDER[user.stage] > ORDER[node.stage] for user in users)
            or any(
                user.kind == ELEMENT and math.prod(user.shape) > math.prod(node.shape)
                for user in users
            )
        )

    @staticmethod
    def _is_right(node: Node, user: Node) -> bool:
        return user.kind == PRODUCT and node in user.args[1::2]

    def _in_line(self, node: Node) -> bool:
        """Tell whether neighbours along the last axis are neighbours in memory."""
        index = [const(0)] * (len(node.shape) - 1) + [var("last")]
        while node.kind == VIEW and node not in self.buffers:
            index = list(node.what(tuple(index)))
            (node,) = node.args
        *before, last = index
        rest = last.args[0] if last.op == "+" else last
        return not any(variables(each) for each in before) and rest == var("last")

    # ---- elements

    def _at(self, node: Node, index: Sequence[ExprLike]) -> Value:
        """The value of one element of a tile."""
        at = at_index(node.shape, index)
        if node in self.buffers:
            return self.read(self.buffers[node], at)
        match node.kind:
            case "load":
                return self.whole.loaded(node.what, self._place(node, at), at, self.last)
            case "constant":
                return Constant(node.what) if isinstance(node.what, Number) else node.what
            case "element":
                return Apply(node.what, tuple(self._at(each, at) for each in node.args))
            case "view":
                return self._at(node.args[0], node.what(at))
            case "concat":
                return self._piece(node, at)
        raise AssertionError(f"{node.kind} {node.name} has no place in memory")

    def term(self, x: Node, axis: int, index: Sequence[ExprLike], combine: Combine) -> Value:
        """The value of one element as a term of a sum or a maximum along an axis.

        What is padding of a short tile adds nothing, whatever its value is.
        """
        value = self._at(x, index)
        rest = self._rest(x, axis)
        if rest is None:
            return value
        there = expr(index[axis]) < rest
        while isinstance(value, Select) and value.when == there:
            value = value.then
        return Select(there, value, Constant(IDENTITY[combine]))

    def _piece(self, node: Node, at: Sequence[Expr]) -> Value:
        """The element of a concatenation: of the piece in which the index lies."""
        axis, start, pieces = node.what, 0, list[tuple[int, Value]]()
        for each in node.args:
            moved = list(at)
            moved[axis] = at[axis] + -start
            start += each.shape[axis]
            pieces.append((start, self._at(each, moved)))
        *before, (_, value) = pieces
        for end, piece in reversed(before):
            value = Select(at[axis] < end, piece, value)
        return value

    def _place(self, node: Node, at: Sequence[Expr]) -> tuple[Expr, ...]:
        """The place of a loaded tile's element in the whole tensor."""
        load, shape = self.whole.block.loads[node.what], self.whole.operands[node.what].shape
        cuts = (*load.imap, *load.fmap)
        _, start = load_tile(shape, cuts, self.whole.tiling, self.numbers, self.last)
        return tuple(s + i for s, i in zip(start, at, strict=True))

    def _loop_name(self, wish: str) -> str:
        found = next(
            n for n in (wish, *(f"{wish}{k}" for k in range(2, 99))) if n not in self.enclosing
        )
        self.enclosing.add(found)
        return found

    # ---- accumulators

    def _carry(self, carry: Carry) -> list[Statement]:
        """Return the statements of one iteration of an accumulator."""
        begins: Expr | None = None
        for name in carry.loops:
            if self.numbers[name] != ZERO:
                zero = self.numbers[name].is_equal(0)
                begins = zero if begins is None else begins.both(zero)
        if begins == ZERO:  # a last iteration by itself
            begins = None
            always_later = True
        else:
            always_later = False
        for state in carry.states:
            if state not in self.buffers:
                self.buffers[state] = self.place_of_state(state, carry)
        made: list[Statement] = []
        combines = begins is not None or always_later
        for state, first, later in zip(carry.states, carry.first, carry.later, strict=True):
            made.append(Remark(state.remark))
            made += self._carried(carry, state, first, later, begins, combines=combines)
        return made

    def _whole_shape(self, state: Node, carry: Carry) -> Shape:
        shape = list(state.shape)
        for _, dim in carry.fmap:
            if shape[dim] < 0:  # equal parts: so many times the tile
                shape[dim] = -shape[dim] * carry.first[0].shape[dim]
        return tuple(shape)

    def _carried(
        self,
        carry: Carry,
        state: Node,
        first: Node,
        later: Node,
        begins: Expr | None,
        *,
        combines: bool,
    ) -> list[Statement]:
        target, tile = self.buffers[state], list(first.shape)
        for loop, dim in carry.fmap:
            tile[dim] = self.whole.tiling[loop].tile or tile[dim]
        begin = store_start(tuple(tile), carry.fmap, self.whole.tiling, self.numbers)

        def where(index: Sequence[Expr]) -> tuple[Expr, ...]:
            """The place of a tile's element in the state: tiles of an fmap lie side by side."""
            return tuple(i + b for i, b in zip(index, begin, strict=True))

        found = self._product_of(first, later, state)
        if found is not None:
            product, scale = found
            made: list[Statement] = []
            if (
                scale is not None
                and scale.kind == ELEMENT
                and scale not in self.buffers
                and combines
                and self.has_place(scale)
            ):
                remark, *scaled = self._materialized(scale)
                made += [remark, *self._unless(begins, scaled)]

            def start(index: Sequence[Expr]) -> Value:
                before = self.read(target, where(index))
                return before if scale is None else Apply("mul", (before, self._at(scale, index)))

            return made + self.product(
                product, start if combines else None, target, begins=begins, where=where
            )
        if self.is_kept_apart(carry, state, first, later):
            return self.kept_apart(state, first, begins, combines=combines)
        made = []
        begun = self.elements(first.shape, target, partial(self._at, first), where)
        if not combines:
            return begun
        inner = list[Statement]()
        for each in self._formula(later):
            if each is not later and each not in self.buffers and self._must(each):
                inner += self._materialized(each)

        def value(index: Sequence[Expr]) -> Value:
            return self._at_state(later, index, carry, where)

        more = [*inner, *self.elements(first.shape, target, value, where)]
        if begins is None or more == begun:
            return more
        return [Guard(begins, tuple(begun), tuple(more))]

    @staticmethod
    def _unless(begins: Expr | None, body: Sequence[Statement]) -> list[Statement]:
        return list(body) if begins is None else [Guard(begins, (), tuple(body))]

    def _at_state(self, node: Node, index: Sequence[Expr], carry: Carry, where: Indexed) -> Value:
        """An element of a formula in which states are read at their own place."""
        if node in carry.states:
            return self.read(self.buffers[node], where(index))
        if node.kind == ELEMENT and node not in self.buffers:
            inner = (self._at_state(a, at_index(a.shape, index), carry, where) for a in node.args)
            return Apply(node.what, tuple(inner))
        return self._at(node, index)

    def _formula(self, node: Node) -> list[Node]:
        """The nodes of a formula that have no place in memory, the deepest first."""
        found: dict[Node, None] = {}

        def go(x: Node) -> None:
            if x in self.buffers or x.kind in (LOAD, STATE) or x in found:
                return
            for each in x.args:
                go(each)
            found[x] = None

        go(node)
        return list(found)

    def _product_of(self, first: Node, later: Node, state: Node) -> tuple[Node, Node | None] | None:
        """(the product, what the state is multiplied by) of state * scale + product."""
        if first.kind != PRODUCT or first in self.buffers:
            return None
        if later is first:
            return first, None
        if later.kind != ELEMENT or later.what != "add" or first not in later.args:
            return None
        if set(self.users.get(first, [])) - {later}:
            return None
        other = later.args[0] if later.args[1] is first else later.args[1]
        if other is state:
            return first, None
        if other.kind == ELEMENT and other.what == "mul" and state in other.args:
            return first, other.args[1] if other.args[0] is state else other.args[0]
        return None

    # ---- what goes out

    def _stores(self) -> list[Statement]:
        found: list[Statement] = []
        for number, (store, node) in enumerate(self.t.outputs):
            target = self.whole.outputs[number]
            shape = self.full.outputs[number][1].shape
            begin = store_start(shape, store.omap, self.whole.tiling, self.numbers)

            def where(index: Sequence[Expr], begin: Sequence[Expr] = begin) -> tuple[Expr, ...]:
                return tuple(b + i for b, i in zip(begin, index, strict=True))

            found.append(Remark(f"{target.name} = store of {node.name}"))
            rests = self._rests(node)
            if rests:
                found += self._stored_in_part(node, target, where, rests)
            else:
                found += self._stored(node, target, where)
        return found

    def _stored_in_part(
        self, node: Node, target: Buffer, where: Indexed, rests: Mapping[int, Expr]
    ) -> list[Statement]:
        """Make the whole tile in a place of its own, and store the part of it that is there."""
        made = list[Statement]()
        tile = self.buffers.get(node)
        if tile is None:
            tile = self.place_of(node)
            made += self._stored(node, tile, tuple)

        def value(index: Sequence[Expr]) -> Value:
            return self.read(tile, index)

        return made + self._in_part(node.shape, rests, target, value, where)

    def _stored(self, node: Node, target: Buffer, where: Indexed) -> list[Statement]:
        if node.kind == PRODUCT and node not in self.buffers:
            return self.product(node, None, target, where=where)
        product = self._only_product(node)
        if product is None:
            return self.elements(node.shape, target, partial(self._at, node), where)
        made: list[Statement] = []
        for each in self._formula(node):
            if each is not node and each is not product and self._must(each):
                made += self._materialized(each)

        def finish(index: Sequence[Expr], done: Value) -> Value:
            return self._with_product(node, index, product, done)

        return made + self.product(product, None, target, where=where, finish=finish)

    def _goes_straight_out(self, node: Node) -> bool:
        """Tell whether a tile is stored as it is made, without a place of its own."""
        if node in self.outputs and not self.users.get(node) and self.outputs.count(node) == 1:
            return node.kind in (ELEMENT, PRODUCT)
        return any(self._only_product(each) is node for each in self.outputs)

    def _only_product(self, node: Node) -> Node | None:
        """The product that nothing but this output's elements reads, if there is one."""
        if node.kind != ELEMENT or node in self.buffers or self.users.get(node):
            return None
        products = [each for each in self._formula(node) if each.kind == PRODUCT]
        if len(products) != 1 or self.outputs.count(node) > 1:
            return None
        (product,) = products
        alone = product.shape == node.shape and len(self.users[product]) == 1
        return product if alone and self._elements_only(node, product) else None

    def _elements_only(self, node: Node, product: Node) -> bool:
        """Tell whether a product reaches a node through elements alone, each read once."""
        while node is not product:
            inner = [a for a in node.args if product in self._formula(a)]
            if node.kind != ELEMENT or len(inner) != 1:
                return False
            (node,) = inner
            if node is not product and len(self.users[node]) > 1:
                return False
        return True

    def _with_product(self, node: Node, index: Sequence[Expr], product: Node, done: Value) -> Value:
        if node is product:
            return done
        if node in self.buffers or node.kind != ELEMENT:
            return self._at(node, index)
        inner = (self._with_product(a, at_index(a.shape, index), product, done) for a in node.args)
        return Apply(node.what, tuple(inner))

    # ---- what each machine decides

    def place_of(self, node: Node) -> Buffer:
        """Return new memory for a tile."""
        return self.whole.buffer(node.name, node.shape)

    def place_of_state(self, state: Node, carry: Carry) -> Buffer:
        """Return new memory for what an accumulator keeps."""
        return self.whole.buffer(state.name, self._whole_shape(state, carry))

    def has_place(self, scale: Node) -> bool:
        """Tell whether what a sum is multiplied by is kept, not computed for each element."""
        return True

    def read(self, buffer: Buffer, index: Sequence[Expr]) -> Value:
        """Return the element of a tile that is in memory."""
        return Read(buffer, tuple(index))

    @abstractmethod
    def elements(
        self,
        shape: Shape,
        target: Buffer,
        value: Formula,
        where: Indexed = tuple,
        combine: Combine = "",
    ) -> list[Statement]:
        """Return statements for ``target[where(i)] = value(i)`` at every index of a tile."""

    @abstractmethod
    def reduced(self, node: Node, target: Buffer) -> list[Statement]:
        """Return statements that put a sum or a maximum along an axis into a buffer."""

    @abstractmethod
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
        """Return statements for ``target[where(i)] = finish(i, start(i) + (a @ b)[i])``.

        Without a ``start``, and where ``begins`` holds, the sum starts at zero.
        """

    def is_kept_apart(self, carry: Carry, state: Node, first: Node, later: Node) -> bool:
        """Tell whether a sum is kept in parts over the loop, and added up when it is over."""
        return False

    def kept_apart(
        self, state: Node, first: Node, begins: Expr | None, *, combines: bool
    ) -> list[Statement]:
        """Return one iteration of such a sum; what adds it up goes into ``self.after``."""
        raise NotImplementedError


def _depends(node: Node, states: Sequence[Node]) -> bool:
    return node in states or any(_depends(each, states) for each in node.args)
