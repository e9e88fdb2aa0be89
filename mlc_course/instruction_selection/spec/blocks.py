"""A specification from a block of a schedule: its indices say what it reads and writes.

The innermost spatial loop are the outputs. The innermost loop, where it is a reduction, are the
lanes that each output adds over. Each distinct access is an operand: nine of one image, in a 3 x 3
filter. How far its address moves says what it is:

=====================  ================  =========================================
for the next output    for the next lane  operand
=====================  ================  =========================================
1                      0                  one lane for each output
lanes                  1                  neighbouring lanes for each output
0                      1, or 0            shared: all outputs read the same lanes
=====================  ================  =========================================

All others are refused, because no vector load reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from mlc_course.errors import AxisError, BlockError, UsageError
from mlc_course.instruction_selection.spec.cell import CellOperand
from mlc_course.instruction_selection.spec.line import with_range
from mlc_course.instruction_selection.spec.loop import Specification, made
from mlc_course.instruction_selection.spec.reading import REDUCTION, has_data, lane_type
from mlc_course.instruction_selection.spec.tile import Place, Tile, TileBuffer
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import (
    Affine,
    Expr,
    IRModule,
    PrimFunc,
    Repeat,
    SBlockRealize,
    Schedule,
    TensorLoad,
    Var,
    affine,
    every_node,
    main_function,
    operands,
    rewrite,
    tirx,
)

LANES = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class _Axis:
    """The steps of one index of an access: with the outputs, the lanes, and outer loops.

    Loops are told apart by themselves: two may have one name.
    """

    constant: int
    output: int
    lane: int
    outer: frozenset[tuple[object, int]]


@dataclass(frozen=True)
class _Access:
    """A buffer, and how each of its indices moves."""

    buffer: str
    axes: tuple[_Axis, ...]

    @property
    def constants(self) -> tuple[int, ...]:
        return tuple(each.constant for each in self.axes)

    @property
    def motion(self) -> tuple[tuple[int, int], ...]:
        return tuple((each.output, each.lane) for each in self.axes)

    @property
    def outer(self) -> tuple[frozenset[tuple[object, int]], ...]:
        return tuple(each.outer for each in self.axes)


def prim_func_specification(
    function: PrimFunc,
    *,
    name: str | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    sentence: str = "",
) -> Specification:
    """Return the specification of a function with one block; see ``block_specification``.

    Raises:
        BlockError: it has no block, or more than one.
        UsageError, AxisError: what ``block_specification`` raises.
    """
    sch = Schedule(IRModule({"main": function}))
    found = lookup.blocks(sch)
    if len(found) != 1:
        raise BlockError(
            "a specification has one output, which one block computes",
            expected="a function with one block",
            got=", ".join(found) or "none",
            hint="name the block: block_specification(sch, block)" if found else None,
        )
    return block_specification(
        sch, found[0], name=name or str(found[0]), ranges=ranges, sentence=sentence
    )


def block_specification(
    sch: Schedule,
    block: str,
    *,
    name: str | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    sentence: str = "",
) -> Specification:
    """Return the specification of a block of a schedule, whose name it has unless one is given.

    Its operands have the names of the buffers that the block reads; several accesses of one buffer
    have their place in it behind that, as in ``A_0_1``. ``ranges`` promises values of buffers.

    Raises:
        BlockError: no such block, an init that is not decomposed, a condition, or more than one
            store.
        AxisError: the loops around the block are not as above.
        UsageError: floats, a division, an index that depends on data, an access that is no vector
            load, arithmetic that can overflow, or a range outside its type.
    """
    realize = _realize(sch, block)
    store = _store(realize, block)
    loops = [sch.get(each) for each in sch.get_loops(lookup.block(sch, block))]
    return _Block(realize, store, loops, name or block, ranges or {}).specification(sentence)


def _realize(sch: Schedule, block: str) -> Any:
    found = sch.get(lookup.block(sch, block))
    nodes = every_node(main_function(sch).body)
    return next(x for x in nodes if isinstance(x, SBlockRealize) and x.block.same_as(found))


def _store(realize: Any, name: str) -> Any:
    block = realize.block
    if block.init is not None:
        raise BlockError(
            f"block {name}: its sum begins inside it, with its init",
            expected="a block that only adds: the output is an accumulator",
            got="an init",
            hint="sch.decompose_reduction(block, loop) first, then the block's update",
        )
    if not (isinstance(realize.predicate, tirx.IntImm) and int(realize.predicate.value) == 1):
        raise BlockError(
            f"block {name}: only some of its outputs are computed",
            expected="a block without a condition",
            got=str(realize.predicate),
            hint="split the loop by a divisor of its extent, or pad",
        )
    body = block.body
    if not isinstance(body, tirx.BufferStore):
        stores = {str(x.buffer.name) for x in every_node(body) if isinstance(x, tirx.BufferStore)}
        raise BlockError(
            f"block {name}: a specification has one output, which one statement stores",
            expected="one store",
            got=f"stores to {', '.join(sorted(stores))}" if stores else type(body).__name__,
            hint="a block for each output" if len(stores) > 1 else None,
        )
    return body


class _Block:
    """The block that is read: what its parts have in common."""

    def __init__(
        self,
        realize: Any,
        store: Any,
        loops: Sequence[Any],
        name: str,
        ranges: Mapping[str, tuple[int, int]],
    ) -> None:
        self.block, self.store, self.name, self.ranges = realize.block, store, name, ranges
        self.repeats = [
            Repeat(each.loop_var, self.number(each.min), self.number(each.extent), "", ())
            for each in loops
        ]
        self.scope: dict[Var, Affine | None] = {
            each.var: Affine(terms={each: 1}) for each in self.repeats
        }
        self.held: dict[str, Any] = {}
        pairs = list(zip(self.block.iter_vars, realize.iter_values, strict=True))
        for each, value in pairs:
            self.scope[each.var] = self.affine(value)
        self.sums = {
            loop
            for each, _ in pairs
            if each.iter_type == REDUCTION
            for loop in (self.scope[each.var] or Affine()).loops
        }
        self.output, self.lane = self.innermost()

    def affine(self, expr: Expr) -> Affine | None:
        for each in every_node(expr):
            if isinstance(each, tirx.Var) and each not in self.scope:  # of a block around this one
                self.scope[each] = Affine(terms={Repeat(each, 0, 1, "", ()): 1})
        return affine(expr, self.scope)

    def innermost(self) -> tuple[Repeat, Repeat | None]:
        """Return the loop over the outputs, and the one over the lanes."""
        loops = list(self.repeats)
        lane = loops.pop() if loops and loops[-1] in self.sums else None
        if not loops or loops[-1] in self.sums:
            raise AxisError(
                f"block {self.name}: its loops do not fit a cell",
                expected="a spatial loop innermost, or one reduction loop inside it",
                got=", ".join(
                    f"{x.var.name} ({'reduction' if x in self.sums else 'spatial'})"
                    for x in self.repeats
                )
                or "no loops",
                hint="reorder, and split the reduction so that 2, 4 or 8 lanes are innermost",
            )
        if lane is not None and lane.extent not in LANES:
            raise AxisError(
                f"block {self.name}: too many lanes for one output, or an odd number",
                expected=f"an innermost reduction loop of {', '.join(map(str, LANES))}",
                got=f"{lane.var.name} of {lane.extent}",
                hint="split the reduction, with its rest outside the loop over outputs",
            )
        if any(loop is not None and loop.start for loop in (loops[-1], lane)):
            raise AxisError(f"block {self.name}: a loop that does not start at 0")
        return loops[-1], lane

    @property
    def lanes(self) -> int:
        return self.lane.extent if self.lane else 1

    def access(self, buffer: Var, indices: Sequence[Expr]) -> _Access:
        self.check_buffer(buffer)
        return _Access(str(buffer.name), tuple(self.axis(buffer, x) for x in indices))

    def check_buffer(self, buffer: Any) -> None:
        """Check that a buffer is the only one of its name, and that its shape is known."""
        name = str(buffer.name)
        same = [x for x in self.held if _clean(x) == _clean(name) and x != name]
        if same or not self.held.setdefault(name, buffer).same_as(buffer):
            raise UsageError(
                f"block {self.name}: two buffers with one name",
                expected="a name for each buffer, of letters and digits",
                got=", ".join([*same, name]) if same else f"{name} twice",
                hint="operands of a cell are known by the names of their buffers",
            )
        for each in (*buffer.shape, *buffer.strides):
            self.number(each)

    def number(self, expr: Any) -> int:
        """Return a number of iterations or elements, which must be known before the loop runs."""
        if not isinstance(expr, tirx.IntImm):
            raise UsageError(
                f"block {self.name}: a size that is not known before the loop runs",
                expected="loops and buffers of constant sizes",
                got=str(expr),
                hint="specialize the function for one size",
            )
        return int(expr.value)

    def axis(self, buffer: Var, index: Expr) -> _Axis:
        if has_data(index):
            raise UsageError(
                f"block {self.name}: an index of {buffer.name} depends on data",
                expected="sums, products by constants, quotients and remainders of loops",
                got=str(index),
                hint="no vector load of neighbours reads a table",
            )
        found = self.affine(index)
        assert found is not None
        rough = [x for x in (self.output, self.lane) if x in found.rough]
        if rough:
            raise UsageError(
                f"block {self.name}: an index of {buffer.name} does not move in equal steps",
                expected=f"equal steps along {', '.join(str(x.var.name) for x in rough if x)}",
                got=str(index),
                hint="split the loop so that a quotient or a remainder is a loop of its own",
            )
        moves = (self.output, self.lane)
        outer: dict[object, int] = {x: c for x, c in found.terms.items() if x not in moves and c}
        if found.rough:
            read = tuple(x for x in every_node(index) if isinstance(x, tirx.Var))
            outer[(str(index), *read)] = 1
        return _Axis(
            found.constant,
            found.stride(self.output) or 0,
            (found.stride(self.lane) or 0) if self.lane else 0,
            frozenset(outer.items()),
        )

    def step(self, access: _Access, axis: str) -> int:
        """Return how far an address moves, in elements, for the next output or the next lane."""
        buffer = self.held[access.buffer]
        strides = [int(x) for x in buffer.strides] if len(buffer.strides) else []
        if not strides:
            size = 1
            for extent in reversed(list(buffer.shape)):
                strides.insert(0, size)
                size *= int(extent)
        return sum(s * getattr(x, axis) for s, x in zip(strides, access.axes, strict=True))

    def lanes_of(self, access: _Access) -> tuple[int, bool]:
        """Return how many lanes an output reads, and whether all outputs read the same ones."""
        output, lane = self.step(access, "output"), self.step(access, "lane")
        plain = all(
            sum(map(bool, steps)) <= 1 and min(steps) >= 0
            for steps in zip(*((x.output, x.lane) for x in access.axes), strict=True)
        )
        if plain and lane == 0 and output in (0, 1):
            return 1, output == 0
        if plain and lane == 1 and output in (0, self.lanes):
            return self.lanes, output == 0
        if not plain:
            reason, hint = "it moves along two axes, or backwards", None
        elif lane == 0:
            reason = f"neighbouring outputs read elements {output} apart"
            hint = "reorder the loops, or store the buffer the other way round"
        elif lane == output == 1:
            reason = "lanes of neighbouring outputs overlap"
            hint = "write the sum out: A[i] * W[0] + A[i + 1] * W[1] + ..."
        else:
            reason = f"lanes are {lane} apart, and neighbouring outputs {output} apart"
            hint = f"pack the buffer so that the {self.lanes} lanes of an output are neighbours"
        raise UsageError(
            f"block {self.name}: {access.buffer} cannot be read with a vector load: {reason}",
            expected=f"outputs 1 apart, or {self.lanes} lanes 1 apart and outputs {self.lanes}, "
            "or the same for all outputs"
            if self.lanes > 1
            else "outputs 1 apart, or the same for all",
            got=f"{access.buffer}: {output} to the next output, {lane} to the next lane",
            hint=hint,
        )

    def specification(self, sentence: str) -> Specification:
        stored = self.access(self.store.buffer, self.store.indices)
        if (self.step(stored, "output"), self.step(stored, "lane")) != (1, 0):
            raise UsageError(
                f"block {self.name}: its outputs are no neighbours in memory",
                expected="outputs 1 apart",
                got=f"{stored.buffer}: {self.step(stored, 'output')} to the next output",
                hint="reorder the loops so that the last axis of the output is innermost",
            )
        found = list(dict.fromkeys(self.access(x.source, x.indices) for x in self.loads()))
        self.check_loops(found, stored)
        order = dict.fromkeys([*(each.buffer for each in found), stored.buffer])
        buffers = {each: self.tile_buffer(each, found, stored) for each in order}
        names = self.names(found, buffers)
        for promised in set(self.ranges) - {each.buffer for each in found}:
            raise UsageError(
                "a range is promised for what the block does not read",
                expected=" | ".join(dict.fromkeys(each.buffer for each in found)),
                got=promised,
            )
        cell_operands = []
        for access, operand in names.items():
            lanes, shared = self.lanes_of(access)
            of = lane_type(self.held[access.buffer].dtype)
            made_operand = CellOperand(operand, of, lanes, shared=shared)
            cell_operands.append(with_range(made_operand, self.ranges.get(access.buffer)))

        def value(load: Any) -> Expr:
            def loaded(node: Any, _: Any) -> Expr:
                return load(names[self.access(node.source, node.indices)])

            return rewrite(self.store.value, TensorLoad, loaded)

        tile = Tile(
            buffers=tuple(kept for kept, _ in buffers.values()),
            reads=tuple(
                each
                for each in dict.fromkeys(str(x.source.name) for x in self.block.reads)
                if any(each == access.buffer for access in found)
            ),
            places={names[each]: _place(each, *buffers[each.buffer]) for each in found},
            result=_place(stored, *buffers[stored.buffer]),
            lanes=self.lanes,
            value=value,
        )
        result = lane_type(self.store.buffer.dtype)
        return made(self.name, tuple(cell_operands), result, tile, sentence=sentence)

    def loads(self) -> Iterator[Any]:
        """Yield the loads of the stored value, in the order of evaluation."""
        iterators = {each.var for each in self.block.iter_vars}

        def visit(expr: Expr) -> Iterator[Any]:
            if isinstance(expr, TensorLoad):
                yield expr
                return
            if isinstance(expr, tirx.Var) and (expr in iterators or expr in self.scope):
                raise UsageError(
                    f"block {self.name}: a value depends on where it is computed",
                    expected="values that are read from buffers, and constants",
                    got=f"{expr.name} in {self.store.value}",
                    hint="read it from a buffer",
                )
            for each in operands(expr):
                yield from visit(each)

        return visit(self.store.value)

    def check_loops(self, found: Sequence[_Access], stored: _Access) -> None:
        if self.lanes > 1 and stored not in found:
            raise UsageError(
                f"block {self.name}: a sum over lanes that does not read its output",
                expected=f"{stored.buffer}[...] = {stored.buffer}[...] + ...",
                got=str(self.store.value),
            )
        for each in found:
            if each.buffer == stored.buffer and each != stored:
                raise UsageError(
                    f"block {self.name}: an output is computed from other outputs",
                    expected=f"{stored.buffer} read where it is written, or not at all",
                    got=f"{each.buffer} at another place",
                    hint="outputs of a vector are computed together",
                )
        for a, b in combinations(found, 2):
            if a.buffer == b.buffer and (a.outer != b.outer or a.motion != b.motion):
                raise UsageError(
                    f"block {self.name}: {a.buffer} is read in two ways that move apart",
                    expected="places in a buffer that are always equally far from each other",
                    got=f"two accesses of {a.buffer}",
                    hint="copy one of them to a buffer of its own (cache_read)",
                )
            if a.buffer == b.buffer and self.lanes_of(a)[0] > 1:
                first = self.address(b) - self.address(a)
                if abs(first) < self.lanes:
                    raise UsageError(
                        f"block {self.name}: two operands of one output overlap in {a.buffer}",
                        expected=f"accesses at least {self.lanes} apart",
                        got=f"accesses {abs(first)} apart",
                    )

    def address(self, access: _Access) -> int:
        return self.step(access, "constant")

    def tile_buffer(
        self, name: str, found: Sequence[_Access], stored: _Access
    ) -> tuple[TileBuffer, tuple[int, ...]]:
        """Return the part of a buffer that a tile uses, and where it begins.

        Its leading axes that do not move are left out, so that its part begins with an axis that
        does.
        """
        mine = [each for each in (*found, stored) if each.buffer == name]
        first = tuple(map(min, zip(*(each.constants for each in mine), strict=True)))
        base = tuple(
            max(x.axes[d].constant + x.axes[d].lane * (self.lanes - 1) for x in mine) - low + 1
            for d, low in enumerate(first)
        )
        growth = tuple(axis.output for axis in mine[0].axes)
        moving = (d for d, (b, g) in enumerate(zip(base, growth, strict=True)) if b > 1 or g)
        kept = min(next(moving, len(base) - 1), len(base) - 1)
        source = self.held[name]
        of = lane_type(source.dtype)
        shape = [int(x) for x in source.shape]
        inner = range(kept + 1, len(base))
        strided = any(growth[d] or base[d] != shape[d] for d in inner) or len(source.strides) > 0
        made_buffer = TileBuffer(
            _clean(name), of, base[kept:], growth[kept:], strided and len(inner) > 0
        )
        return made_buffer, first

    def names(
        self, found: Sequence[_Access], buffers: Mapping[str, tuple[TileBuffer, tuple[int, ...]]]
    ) -> dict[_Access, str]:
        names: dict[_Access, str] = {}
        for each in found:
            buffer, first = buffers[each.buffer]
            place = _place(each, buffer, first)
            alone = sum(x.buffer == each.buffer for x in found) == 1
            name = buffer.name if alone else "_".join([buffer.name, *map(str, place.indices)])
            while name in names.values():
                name += "_"
            names[each] = name
        return names


def _clean(name: str) -> str:
    """Return the name of a buffer as one that text in TVMScript can have."""
    return re.sub(r"\W", "_", name)


def _place(access: _Access, buffer: TileBuffer, first: tuple[int, ...]) -> Place:
    kept = len(first) - len(buffer.base)
    axes = access.axes[kept:]
    return Place(
        buffer.name,
        tuple(x.constant - low for x, low in zip(axes, first[kept:], strict=True)),
        tuple(x.output for x in axes),
        tuple(x.lane for x in axes),
    )
