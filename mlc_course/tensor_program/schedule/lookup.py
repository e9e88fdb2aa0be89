"""Look-ups of blocks, loops, axes and operands of a schedule by name, with errors that help."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from math import prod
from typing import Any

from mlc_course.errors import AxisError, BlockError, SizeError
from mlc_course.tensor_program.tir import (
    ITERATOR_PREFIX,
    LoopRV,
    SBlock,
    SBlockRealize,
    SBlockRV,
    Schedule,
    ScheduleError,
    TensorLoad,
    is_lazy,
    same_structure,
    tirx,
    undefined_vars,
)


def blocks(sch: Schedule) -> list[str]:
    """The names of all blocks, in program order; none for a program of bare loops."""
    try:
        root = sch.get(sch.get_sblock("root"))
    except ScheduleError:
        return []
    # Read from the program: `Schedule.get_child_blocks` leaves their number in the trace, which
    # does not fit any more where a step that it does not record has removed one.
    return [str(each.name_hint) for each in _inside(root.body)]


def _inside(stmt: Any) -> Iterator[SBlock]:
    """The blocks of a statement that are in no other block."""
    match stmt:
        case tirx.SeqStmt():
            for each in stmt.seq:
                yield from _inside(each)
        case SBlockRealize():
            yield stmt.block
        case tirx.IfThenElse():
            yield from _inside(stmt.then_case)
            yield from _inside(stmt.else_case)
        case None:
            return
        case _:
            yield from _inside(getattr(stmt, "body", None))


def block(sch: Schedule, name: str) -> SBlockRV:
    """The block of this name; raises ``BlockError`` when there is none."""
    known = blocks(sch)
    if name not in known:
        raise BlockError(
            f"no block {name!r}",
            expected=f"one of {', '.join(known)}" if known else "a program with blocks",
            got=name,
            hint=_hint(name, known),
        )
    return sch.get_sblock(name)


def loops(sch: Schedule, of_block: str) -> list[str]:
    """Names of the loops around a block, outermost first."""
    return [str(sch.get(rv).loop_var.name) for rv in sch.get_loops(block(sch, of_block))]


def loop(sch: Schedule, of_block: str, name: str) -> LoopRV:
    """The loop of this name around a block; raises ``AxisError`` when there is none."""
    around = sch.get_loops(block(sch, of_block))
    known = [str(sch.get(rv).loop_var.name) for rv in around]
    if name not in known:
        raise AxisError(
            f"block {of_block} has no loop {name!r}",
            expected=f"one of {', '.join(known)}",
            got=name,
            hint=_hint(name, known),
        )
    return around[known.index(name)]


def length(sch: Schedule, of_block: str, name: str) -> int:
    """The number of iterations of a loop; raises ``SizeError`` when it varies."""
    extent = sch.get(loop(sch, of_block, name)).extent
    if not isinstance(extent, tirx.IntImm):
        raise SizeError(
            f"block {of_block}: the length of loop {name} varies",
            expected="a constant",
            got=extent,
            hint="choose factors that divide the sizes, or pad the block first",
        )
    return int(extent)


def copies(sch: Schedule, of_block: str) -> int:
    """The number of times that the unrolled loops around a block write it out."""
    around = [sch.get(rv) for rv in sch.get_loops(block(sch, of_block))]
    unrolled = [each for each in around if each.kind == tirx.ForKind.UNROLLED]
    return prod(length(sch, of_block, str(each.loop_var.name)) for each in unrolled)


def _hint(name: str, known: Sequence[str]) -> str:
    """Similar names, first those that a split, a merge or ``hoist_init`` has made longer."""
    meant = [k for k in known if k.startswith(f"{name}_")] or get_close_matches(name, known)
    if meant:
        return f"did you mean {' or '.join(meant)}?"
    return "print(sch.mod.script()) shows the present program"


def check_multiples(sch: Schedule, of_block: str, multiples: Mapping[str, int]) -> None:
    """Raise ``AxisError`` for an axis that the block does not have, ``SizeError`` below one."""
    known = list(axes(sch, of_block))
    for axis, multiple in multiples.items():
        if axis not in known:
            similar = get_close_matches(axis, known)
            raise AxisError(
                f"block {of_block} has no axis {axis!r}",
                expected=f"one of {', '.join(known)}",
                got=axis,
                hint=f"did you mean {' or '.join(similar)}?"
                if similar
                else "a split cuts a loop, not the axes of its block",
            )
        if multiple < 1:
            raise SizeError(
                f"block {of_block}: no axis is padded to multiples of {multiple}",
                expected="a whole number >= 1",
                got=multiple,
                hint=f"1 leaves {axis} unchanged",
            )


def check_complete(sch: Schedule, of_block: str, at: str) -> None:
    """Raise ``AxisError`` when what the block writes is still being summed at loop ``at``."""
    loop(sch, of_block, at)
    inside = loops(sch, of_block)
    summed = [name for name in inside if name in reduction_loops(sch, of_block)]
    if summed and inside.index(summed[0]) <= inside.index(at):
        raise AxisError(
            f"block {of_block}: the sum is not complete at loop {at!r}",
            expected=f"a loop outside {summed[0]}, along which the sum runs",
            got=at,
            hint="reorder the sum's loop inside first",
        )


def check_consumer(sch: Schedule, consumer: str, producer: str) -> None:
    """Raise ``BlockError`` when ``consumer`` does not read what ``producer`` writes."""
    readers = [str(sch.get(c).name_hint) for c in sch.get_consumers(block(sch, producer))]
    block(sch, consumer)
    if consumer not in readers:
        raise BlockError(
            f"block {consumer} does not read what {producer} writes",
            expected=f"one of {', '.join(readers)}" if readers else "a block that reads it",
            got=consumer,
            hint=f"inline what is between {producer} and {consumer}"
            if readers
            else f"nobody reads {producer}, which is a result: is it the other way round?",
        )


def check_sums_products(sch: Schedule, of_block: str, padded: Collection[str]) -> None:
    """Raise ``BlockError`` for a reduction that zeros would change, such as a maximum.

    ``padded`` names the axes along which there will be zeros.
    """
    found = sch.get(block(sch, of_block))
    summed = [
        each.var
        for each in found.iter_vars
        if each.iter_type == each.CommReduce and plain(each.var) in padded
    ]
    value = getattr(found.body, "value", None)
    if value is not None and (found.init is None or _adds_products(value, summed)):
        return
    raise BlockError(
        f"block {of_block} is not a sum of products",
        expected="a body C[...] += A[...] * B[...], which zeros leave unchanged"
        + (f", indexed by {', '.join(map(plain, summed))}" if summed else ""),
        got=statement(sch, of_block),
        hint="choose factors that divide the sizes",
    )


def statement(sch: Schedule, of_block: str) -> str:
    """The statement of a block in TVMScript: ``D[v_m, v_l] = T.exp(C[v_m, v_l])``."""
    body = sch.get(block(sch, of_block)).body
    return str(body).splitlines()[-1].strip()  # above it, TVM declares the buffers


def _adds_products(value: Any, summed: Sequence[Any]) -> bool:
    """Tell whether it is ``sum + term``, with an element or a product of elements as the term.

    Each of the axes ``summed`` indexes one of these elements, so that the term is zero beyond it.
    """
    factors: list[Any] = []
    waiting = [value.b] if isinstance(value, tirx.Add) else []
    while waiting:
        term = waiting.pop()
        if isinstance(term, tirx.Mul):
            waiting += [term.a, term.b]
        else:
            factors.append(term)
    if not factors or not all(isinstance(each, TensorLoad) for each in factors):
        return False
    indexed = [var for each in factors for index in each.indices for var in undefined_vars(index)]
    return all(any(axis.same_as(var) for var in indexed) for axis in summed)


def axes(sch: Schedule, of_block: str) -> dict[str, int]:
    """The block's own iterators and their extents, in order, named without TVM's ``v_``.

    Raises ``SizeError`` when an extent varies.
    """
    found = sch.get(block(sch, of_block)).iter_vars
    for each in found:
        if not isinstance(each.dom.extent, tirx.IntImm):
            raise SizeError(
                f"block {of_block}: the extent of axis {plain(each.var)} varies",
                expected="a constant",
                got=each.dom.extent,
            )
    return {plain(each.var): int(each.dom.extent) for each in found}


def plain(axis: Any) -> str:
    """The name of an iterator without TVM's prefix."""
    return str(axis.name).removeprefix(ITERATOR_PREFIX)


def check_spatial(sch: Schedule, of_block: str, name: str, verb: str) -> None:
    """Raise ``AxisError`` when a sum runs along this loop."""
    loop(sch, of_block, name)
    if name in reduction_loops(sch, of_block):
        raise AxisError(
            f"{verb}({of_block}, {name}): a sum runs along this loop",
            expected="a spatial loop: its iterations write different elements",
            got=f"{name}, a reduction loop",
            hint="choose another loop, or split the sum into several accumulators",
        )


def reduction_loops(sch: Schedule, of_block: str) -> set[str]:
    """The names of the loops around the block that a sum runs along."""
    around = [sch.get(rv) for rv in sch.get_loops(block(sch, of_block))]
    if not around:
        return set()
    realize = _realize(around[-1].body, of_block)
    bound = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    reduced = {
        var.name
        for iterator, value in bound
        if iterator.iter_type == iterator.CommReduce
        for var in undefined_vars(value)
    }
    return {str(each.loop_var.name) for each in around} & reduced


def _realize(body: Any, of_block: str) -> Any:
    """The statement, among those of an innermost loop, that runs the block."""
    for statement in getattr(body, "seq", [body]):
        if getattr(getattr(statement, "block", None), "name_hint", None) == of_block:
            return statement
    raise BlockError(
        f"block {of_block} is not directly inside its innermost loop",
        expected="loops around a block, with nothing in between",
        got="a condition around it",
        hint="put the condition on the block, with T.where",
    )


def output(sch: Schedule, of_block: str) -> str:
    """Name of the buffer that the block writes."""
    return str(sch.get(block(sch, of_block)).writes[0].source.name)


def read(sch: Schedule, of_block: str, operand: str) -> tuple[int, str]:
    """The place of an operand, or of its private copy, among the block's reads, and its name.

    Raises ``BlockError`` when the block does not read it.
    """
    found = [str(region.source.name) for region in sch.get(block(sch, of_block)).reads]
    if operand in found:
        return found.index(operand), operand
    for index, name in enumerate(found):
        if name.startswith(f"{operand}_") and operand in _sources(sch, name):
            return index, name
    raise BlockError(
        f"block {of_block} does not read {operand!r}",
        expected=f"one of {', '.join(found)}",
        got=operand,
        hint=_hint(operand, found),
    )


def is_copied(sch: Schedule, of_block: str, operand: str) -> bool:
    """Tell whether a block reads a private copy of an operand, as ``pad`` and ``stage`` make it."""
    _, buffer = read(sch, of_block, operand)
    return buffer != operand and buffer in blocks(sch)


def is_padded(sch: Schedule, of_block: str, operand: str) -> bool:
    """Tell whether it alone reads a copy of an operand with zeros around, as ``pad`` makes it.

    Each element of the copy is the operand's of the same indices, or zero beyond its edge; and what
    the block writes is read inside the edge only.
    """
    index, buffer = read(sch, of_block, operand)
    if not is_copied(sch, of_block, operand):
        return False
    copy = sch.get(block(sch, buffer))
    store, readers = copy.body, sch.get_consumers(block(sch, buffer))
    if not isinstance(store, tirx.BufferStore) or not is_lazy(store.value) or len(readers) != 1:
        return False
    condition, load, zero = store.value.args
    own = [each.var for each in copy.iter_vars]
    indices = [*store.indices, *getattr(load, "indices", ())]
    if len(indices) != 2 * len(own) or not all(map(_is, indices, [*own, *own])):
        return False
    shapes = zip(own, load.source.shape, store.buffer.shape, strict=True)
    inside = [axis < extent for axis, extent, wide in shapes if int(extent) != int(wide)]
    plain = isinstance(zero, tirx.FloatImm) and float(zero) == 0 and inside
    return bool(plain) and _is_all(condition, inside) and _is_cropped(sch, of_block, index, load)


def _is(one: Any, other: Any) -> bool:
    return bool(one.same_as(other))


def _is_all(condition: Any, atoms: Sequence[Any]) -> bool:
    """Tell whether a condition is that all of these hold, in any order."""
    left, waiting = list(atoms), [condition]
    while waiting:
        here = waiting.pop()
        if isinstance(here, tirx.And):
            waiting += [here.a, here.b]
            continue
        same = [each for each in left if same_structure(each, here)]
        if not same:
            return False
        left = [each for each in left if each is not same[0]]
    return not left


def _is_cropped(sch: Schedule, of_block: str, index: int, load: Any) -> bool:
    """Tell whether what a block writes is read inside the edge of one of its operands only."""
    here = sch.get(block(sch, of_block))
    write, operand = here.writes[0], here.reads[index]
    readers = [sch.get(each) for each in sch.get_consumers(block(sch, of_block))]
    readers = [each for each in readers if each.name_hint != of_block]
    for place, part in enumerate(write.region):
        for axis, extent in enumerate(load.source.shape):
            same = part.min.same_as(operand.region[axis].min)
            if not same or int(write.source.shape[place]) == int(extent):
                continue
            for reader in readers:
                extents = {each.var: int(each.dom.extent) for each in reader.iter_vars}
                reads = [each for each in reader.reads if each.source.same_as(write.source)]
                at = [extents.get(each.region[place].min, int(extent) + 1) for each in reads]
                if any(each > int(extent) for each in at):
                    return False
    return bool(readers)


def _sources(sch: Schedule, buffer: str) -> set[str]:
    """The buffers from which the block that writes this one reads, directly or through others."""
    found: set[str] = set()
    waiting = [buffer]
    while waiting:
        name = waiting.pop()
        for writer in blocks(sch):
            here = sch.get(block(sch, writer))
            if name in [str(region.source.name) for region in here.writes]:
                new = {str(region.source.name) for region in here.reads} - found
                found |= new
                waiting += new
    return found


def dimension(region: Any, axis: str) -> int:
    """The dimension of a region, read or written by a block, that its iterator ``axis`` indexes.

    Raises ``AxisError`` when it indexes none.
    """
    names = [{plain(var) for var in undefined_vars(at.min)} for at in region.region]
    for place, used in enumerate(names):
        if axis in used:
            return place
    known = [name for used in names for name in sorted(used)]
    raise AxisError(
        f"{region.source.name} is not indexed by {axis!r}",
        expected=f"one of {', '.join(known)}",
        got=axis,
        hint=_hint(axis, known),
    )


def late_producers(sch: Schedule, first: str, second: str) -> list[str]:
    """The blocks that ``second`` reads and that run after the loops of ``first``."""
    order = blocks(sch)
    inside = sch.get(sch.get_loops(block(sch, first))[0])
    return [
        name
        for producer in sch.get_producers(block(sch, second))
        if order.index(name := str(sch.get(producer).name_hint)) > order.index(first)
        and not any(sch.get(each).same_as(inside) for each in sch.get_loops(producer)[:1])
    ]


def readers_outside(sch: Schedule, producer: str, at: LoopRV) -> list[str]:
    """Return the blocks that read what ``producer`` writes and are not inside the loop ``at``."""
    inside = sch.get(at)
    return [
        str(sch.get(reader).name_hint)
        for reader in sch.get_consumers(block(sch, producer))
        if not any(sch.get(each).same_as(inside) for each in sch.get_loops(reader))
    ]


def between(sch: Schedule, first: str, last: str) -> list[str]:
    """The blocks between two in the chain of consumers, in order."""
    chain: list[str] = []
    here = block(sch, first)
    while (consumers := sch.get_consumers(here)) and sch.get(consumers[0]).name_hint != last:
        here = consumers[0]
        chain.append(str(sch.get(here).name_hint))
    return chain


def divisor(extent: int, *, at_most: int) -> int:
    """The largest divisor of a loop's extent that is not above ``at_most``."""
    return next(d for d in range(min(extent, at_most), 0, -1) if extent % d == 0)


def power_of_two(extent: int, *, at_most: int) -> int:
    """The largest power of two that divides a loop's extent and is not above ``at_most``."""
    return min(extent & -extent, 1 << (at_most.bit_length() - 1))


def is_exp(sch: Schedule, of_block: str) -> bool:
    """Tell whether the block's whole body is one exp."""
    value = getattr(sch.get(block(sch, of_block)).body, "value", None)
    return getattr(getattr(value, "op", None), "name", None) == "tirx.exp"
