"""From a block graph to tile operators: every operator's ``meaning`` is run on tiles to be made.

An operator's formula (``ir.ops``) is one more time evaluated, in an arithmetic whose tensors are
nodes: ``+ - * /``, exp and max of two make elements, ``@`` a product, sum and max along an axis
reductions, reshape, transpose and take views. So no operator is named here, and a new one lowers
without another line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import (
    AFTER,
    ALWAYS,
    LOOP,
    AxisMap,
    BlockGraph,
    Equation,
    Number,
    Op,
    Shape,
    ThreadGraph,
    resolved,
)
from mlc_course.mugraph.kernels import Apply, Expr, ExprLike, const, expr

ORDER = {ALWAYS: 0, LOOP: 1, AFTER: 2}
LOAD, CONSTANT, ELEMENT, PRODUCT, REDUCE, VIEW, CONCAT, STATE = (
    "load",
    "constant",
    "element",
    "product",
    "reduce",
    "view",
    "concat",
    "state",
)
Index = tuple[Expr, ...]


@dataclass(eq=False)
class Node:
    """A tile: what it is made of and how. ``what`` depends on the kind.

    The number of a load; a ``Number``, or a value that follows from sizes; the name of an element
    function; (function, axis) of a reduction; the map of indices of a view; the axis of a
    concatenation. ``stage`` says when it is made: before the loop, in it, or after it. ``remark``
    is the equation that it comes from.
    """

    tiles: TileGraph = field(repr=False)
    kind: str
    shape: Shape
    args: tuple[Node, ...] = ()
    what: Any = None
    name: str = ""
    stage: str = ALWAYS
    remark: str = ""

    def _with(self, name: str, other: Any, *, swapped: bool = False) -> Node:
        there = self.tiles.lifted(other)
        return self.tiles.element(name, *((there, self) if swapped else (self, there)))

    def __add__(self, other: Any) -> Node:
        return self._with("add", other)

    def __radd__(self, other: Any) -> Node:
        return self._with("add", other, swapped=True)

    def __sub__(self, other: Any) -> Node:
        return self._with("sub", other)

    def __rsub__(self, other: Any) -> Node:
        return self._with("sub", other, swapped=True)

    def __mul__(self, other: Any) -> Node:
        return self._with("mul", other)

    def __rmul__(self, other: Any) -> Node:
        return self._with("mul", other, swapped=True)

    def __truediv__(self, other: Any) -> Node:
        return self._with("div", other)

    def __rtruediv__(self, other: Any) -> Node:
        return self._with("div", other, swapped=True)

    def __neg__(self) -> Node:
        return self.tiles.lifted(0) - self

    def __matmul__(self, other: Node) -> Node:
        return self.tiles.product(self, other)


@dataclass(eq=False)
class Carry:
    """The state that an accumulator keeps from iteration to iteration.

    ``states`` are its buffers; ``first`` is what they hold after the first iteration, ``later``
    what a later one makes of them. ``loops`` are those that it combines over, ``fmap`` those along
    which it lays tiles side by side.
    """

    states: tuple[Node, ...]
    first: tuple[Node, ...]
    later: tuple[Node, ...]
    loops: tuple[str, ...]
    fmap: AxisMap
    result: Node


class TileGraph:
    """The tiles of one block graph, for load tiles of given shapes.

    ``collected`` is the extent of a dimension along which an accumulator lays tiles side by side,
    by its loop; ``sizes`` are the graph's, which constants name. A graph for other tiles has the
    same nodes, in the same order, as the one that it is ``like``.
    """

    def __init__(
        self,
        block: BlockGraph,
        shapes: Sequence[Shape],
        stages: Sequence[str],
        sizes: Mapping[str, int],
        collected: Mapping[str, int],
        like: TileGraph | None = None,
    ) -> None:
        self.block, self.collected = block, collected
        self.counted: list[tuple[Node, int]] = []  # dimensions whose extent a formula uses
        self.smaller: list[bool] = []  # which divisors are smaller than what they divide
        self._known = list(like.smaller) if like else []
        self.nodes: list[Node] = []
        self.steps: list[Node | Carry] = []  # in the order of the equations
        self.carry_of: dict[Node, Carry] = {}  # by each state
        self._stage, self._remark, self._prefix = ALWAYS, "", ""
        values: list[Node] = []
        for number, (load, shape) in enumerate(zip(block.loads, shapes, strict=True)):
            self._stage, self._remark = stages[number], f"{load.name} = load"
            self._prefix = load.name
            values.append(self._added(LOAD, tuple(shape), (), number, load.name))
        for place, equation in enumerate(block.equations):
            operands = [values[n] for n in equation.operands]
            self._stage, self._prefix = stages[len(values)], equation.names[0]
            operand_names = ", ".join(each.name for each in operands)
            self._remark = f"{equation} of {operand_names}"
            values.append(self._value(equation, operands, sizes))
            if values[-1].kind in (ELEMENT, PRODUCT, REDUCE):
                values[-1].name = equation.names[0] or f"value_{place}"
        self.values = values
        self.outputs = [(store, values[store.value]) for store in block.stores]

    def _value(
        self, equation: Equation, operands: Sequence[Node], sizes: Mapping[str, int]
    ) -> Node:
        op = equation.op
        if isinstance(op, ThreadGraph):
            values = list(operands)
            for inner in op.equations:
                self._prefix = inner.names[0] or self._prefix
                values.append(self._value(inner, [values[n] for n in inner.operands], sizes))
            return values[-1]
        assert isinstance(op, Op)
        if op.carried:
            return self._carried(equation, op, operands)
        try:
            made: Node = op.meaning(self, *operands, **self.attributes(equation, sizes))
        except (AttributeError, TypeError) as error:
            raise UsageError(
                f"operator {op.name}: its meaning is not lowered",
                expected="operations of ``Arithmetic`` alone",
                got=f"{type(error).__name__}: {error}",
            ) from error
        return made

    def attributes(self, equation: Equation, sizes: Mapping[str, int]) -> Mapping[str, Any]:
        """Return the attributes of an operator, with numbers in place of sizes."""
        return resolved(equation, sizes)

    def _carried(self, equation: Equation, op: Op, operands: Sequence[Node]) -> Node:
        """An accumulator's meaning with nothing before it, and with its state before it."""
        fmap: AxisMap = tuple(dict(equation.attributes).get("fmap", ()))
        after, self._stage = self._stage, LOOP if self.block.loops else ALWAYS
        first = op.meaning(self, None, *operands)
        several = isinstance(first, tuple)
        states = []
        for number, each in enumerate(first if several else (first,)):
            whole = list(each.shape)
            for loop, dim in fmap:
                extent = self.collected.get(loop, whole[dim])
                whole[dim] = extent if extent >= 0 else -extent * whole[dim]  # equal parts
            name = f"{equation.names[0] or 'sum'}{f'_{number}' if number else ''}"
            states.append(self._added(STATE, tuple(whole), (), None, name))
        before = tuple(states) if several else states[0]
        later = op.meaning(self, before, *operands) if self.block.loops else first
        result: Node = op.result(before)
        loops = tuple(name for name, _ in self.block.loops if name not in dict(fmap))
        carry = Carry(
            tuple(states),
            tuple(first) if several else (first,),
            tuple(later) if several else (later,),
            loops,
            fmap,
            result,
        )
        for each in states:
            self.carry_of[each] = carry
        self.steps.append(carry)
        self._stage = after
        if after == AFTER:
            result.stage = AFTER  # who reads it after the loop reads the state
        return result

    def _added(
        self, kind: str, shape: Shape, args: tuple[Node, ...], what: Any = None, name: str = ""
    ) -> Node:
        stage = max((a.stage for a in args), key=ORDER.__getitem__, default=self._stage)
        named = name or self._prefix or "value"
        node = Node(self, kind, shape, args, what, named, stage, self._remark)
        self.nodes.append(node)
        if kind != STATE:
            self.steps.append(node)
        return node

    def element(self, name: str, *args: Node) -> Node:
        """One formula for each element; operands of extent 1 are repeated."""
        is_constant = args[-1].kind == CONSTANT and isinstance(args[-1].what, Number)
        if name == "div" and is_constant and args[1].what.coefficient:
            return self.element("mul", args[0], self.lifted(_inverse(args[1].what)))
        if name == "div" and self._is_smaller(args[1], args[0]):
            # one division for each divisor, not for each element
            return self.element("mul", args[0], self.element("div", self.lifted(1), args[1]))
        rank = max(len(each.shape) for each in args)
        shapes = [(1,) * (rank - len(each.shape)) + each.shape for each in args]
        return self._added(ELEMENT, tuple(map(max, zip(*shapes, strict=True))), args, name)

    def _is_smaller(self, a: Node, b: Node) -> bool:
        known = self._known[len(self.smaller)] if self._known else None
        self.smaller.append(math.prod(a.shape) < math.prod(b.shape) if known is None else known)
        return self.smaller[-1]

    def product(self, a: Node, b: Node) -> Node:
        """A sum of products of matrices: of each piece of a with the piece of b below it."""
        lead = tuple(map(max, zip(a.shape[:-2], b.shape[:-2], strict=True)))
        args = tuple(each for pair in _pieces(a, b) for each in pair)
        return self._added(PRODUCT, (*lead, a.shape[-2], b.shape[-1]), args)

    def lifted(self, x: Any) -> Node:
        """Return a node for a number; a node is returned unchanged."""
        if isinstance(x, Node):
            return x
        number = x if isinstance(x, Number | Apply) else Number(Fraction(x))
        return self._added(CONSTANT, (), (), number)

    # ---- what ``ir.Arithmetic`` asks for

    def constant(self, number: Number) -> Node:
        return self.lifted(number)

    def exp(self, x: Node) -> Node:
        return self.element("exp", x)

    def function(self, name: str, x: Node) -> Node:
        return self.element(name, x)

    def maximum(self, x: Any, y: Any) -> Node:
        return self.element("max", self.lifted(x), self.lifted(y))

    def minimum(self, x: Any, y: Any) -> Node:
        return self.element("min", self.lifted(x), self.lifted(y))

    def sum(self, x: Node, axis: int) -> Node:
        return self._reduced("add", x, axis)

    def max(self, x: Node, axis: int) -> Node:
        return self._reduced("max", x, axis)

    def _reduced(self, name: str, x: Node, axis: int) -> Node:
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return self._added(REDUCE, shape, (x,), (name, axis))

    def count(self, x: Node, axis: int) -> int:
        self.counted.append((x, axis))
        return x.shape[axis]

    def reshape(self, x: Node, shape: Shape) -> Node:
        self.counted += ((x, axis) for axis in range(len(x.shape)))

        def back(index: Index) -> Index:
            flat: Expr = const(0)
            for each, extent in zip(index, shape, strict=True):
                flat = flat * extent + each
            found = list[Expr]()
            for extent in reversed(x.shape[1:]):
                found.append(flat % extent)
                flat = flat // extent
            return (flat, *reversed(found))

        return self._view(x, tuple(shape), back)

    def transpose(self, x: Node, axes: Sequence[int]) -> Node:
        def back(index: Index) -> Index:
            return tuple(index[list(axes).index(axis)] for axis in range(len(axes)))

        return self._view(x, tuple(x.shape[axis] for axis in axes), back)

    def take(self, x: Node, place: tuple[slice, ...]) -> Node:
        ranges = [range(*s.indices(n)) for s, n in zip(place, x.shape, strict=True)]

        def back(index: Index) -> Index:
            return tuple(i * r.step + r.start for i, r in zip(index, ranges, strict=True))

        return self._view(x, tuple(map(len, ranges)), back)

    def _view(self, x: Node, shape: Shape, back: Callable[[Index], Index]) -> Node:
        return self._added(VIEW, shape, (x,), back)

    def concatenate(self, xs: Sequence[Node], axis: int) -> Node:
        shape = list(xs[0].shape)
        shape[axis] = sum(each.shape[axis] for each in xs)
        return self._added(CONCAT, tuple(shape), tuple(xs), axis)

    def stored(self, x: Node) -> Node:
        return x


def _inverse(number: Number) -> Number:
    """Return 1 / number: the roots stay above the line."""
    return Number(1 / (number.coefficient * math.prod(number.roots)), number.roots)


def at_index(shape: Shape, index: Sequence[ExprLike]) -> Index:
    """Return the index of a repeated operand: its last axes, 0 where its extent is 1."""
    last = index[len(index) - len(shape) :]
    return tuple(const(0) if n == 1 else expr(i) for i, n in zip(last, shape, strict=True))


def _pieces(a: Node, b: Node) -> list[tuple[Node, Node]]:
    """[a1 | a2] @ [b1 above b2] is a1 @ b1 + a2 @ b2, and nothing has to be put side by side."""
    last = len(a.shape) - 1
    if a.kind == b.kind == CONCAT and a.what == last and b.what == last - 1:
        cuts = [each.shape[-1] for each in a.args], [each.shape[-2] for each in b.args]
        if cuts[0] == cuts[1]:
            pairs = zip(a.args, b.args, strict=True)
            return [piece for left, right in pairs for piece in _pieces(left, right)]
    return [(a, b)]


def live_nodes(tiles: TileGraph) -> set[Node]:
    """Return the nodes that something stored depends on."""
    found, stack = set[Node](), [node for _, node in tiles.outputs]
    while stack:
        node = stack.pop()
        if node in found:
            continue
        found.add(node)
        stack += node.args
        if node in tiles.carry_of:
            carry = tiles.carry_of[node]
            stack += (*carry.states, *carry.first, *carry.later)
    return found
