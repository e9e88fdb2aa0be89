"""Finding blocks, loops, axes and operands of a schedule by name, with errors that help."""

from __future__ import annotations

from typing import Any

from mlc_course.errors import AxisError, BlockError
from mlc_course.tensor_program.tvm_names import LoopRV, SBlockRV, Schedule, undefined_vars

ITERATOR_PREFIX = "v_"  # create_prim_func calls the block iterator of loop ``m`` ``v_m``


def blocks(sch: Schedule) -> list[str]:
    """Names of all blocks, in program order."""
    root = sch.get_sblock("root")
    return [str(sch.get(child).name_hint) for child in sch.get_child_blocks(root)]


def block(sch: Schedule, name: str) -> SBlockRV:
    """Raises ``BlockError`` when the program has no such block."""
    known = blocks(sch)
    if name not in known:
        raise BlockError(f"no block {name!r}", expected=f"one of {', '.join(known)}", got=name)
    return sch.get_sblock(name)


def loops(sch: Schedule, of_block: str) -> list[str]:
    """Names of the loops around a block, outermost first."""
    return [str(sch.get(rv).loop_var.name) for rv in sch.get_loops(block(sch, of_block))]


def loop(sch: Schedule, of_block: str, name: str) -> LoopRV:
    """Raises ``AxisError`` when the block has no such loop."""
    check_loops(sch, of_block, (name,))
    return sch.get_loops(block(sch, of_block))[loops(sch, of_block).index(name)]


def check_loops(sch: Schedule, of_block: str, names: tuple[str, ...]) -> None:
    """Raises ``AxisError`` for the first name that no loop around the block has."""
    known = loops(sch, of_block)
    for name in names:
        if name not in known:
            raise AxisError(
                f"block {of_block} has no loop {name!r}", expected=f"one of {known}", got=name
            )


def axes(sch: Schedule, of_block: str) -> dict[str, int]:
    """The block's own iterators and their extents, in order, without TVM's ``v_``."""
    found = sch.get(block(sch, of_block)).iter_vars
    return {i.var.name.removeprefix(ITERATOR_PREFIX): int(i.dom.extent) for i in found}


def check_spatial(sch: Schedule, of_block: str, name: str, verb: str) -> None:
    """Raises ``AxisError`` when a sum runs along this loop."""
    loop(sch, of_block, name)
    if name in reduction_loops(sch, of_block):
        raise AxisError(
            f"{verb}({of_block}, {name}): a sum runs along this loop",
            expected="a spatial loop: its iterations write different elements",
            got=f"{name}, a reduction loop",
            hint="choose another loop, or split the sum into several accumulators",
        )


def reduction_loops(sch: Schedule, of_block: str) -> set[str]:
    """Loops around the block that a sum runs along."""
    around = [sch.get(rv) for rv in sch.get_loops(block(sch, of_block))]
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
    """The place among the statements of an innermost loop where the block stands."""
    for statement in getattr(body, "seq", [body]):
        if getattr(getattr(statement, "block", None), "name_hint", None) == of_block:
            return statement
    raise AssertionError(f"{of_block} is not directly inside its innermost loop")


def output(sch: Schedule, of_block: str) -> str:
    """Name of the buffer that the block writes."""
    return str(sch.get(block(sch, of_block)).writes[0].source.name)


def read(sch: Schedule, of_block: str, operand: str) -> tuple[int, str]:
    """Place among the block's reads, and present name, of an operand or of its private copy.

    Raises ``BlockError`` when the block does not read it.
    """
    found = [str(region.source.name) for region in sch.get(block(sch, of_block)).reads]
    for index, name in enumerate(found):
        if name == operand or name.startswith(f"{operand}_"):
            return index, name
    raise BlockError(
        f"block {of_block} does not read {operand!r}", expected=f"one of {found}", got=operand
    )


def dimension(sch: Schedule, of_block: str, index: int, axis: str) -> int:
    """Which dimension of read number ``index`` the block's iterator ``axis`` indexes.

    Raises ``AxisError`` when it indexes none.
    """
    region = sch.get(block(sch, of_block)).reads[index]
    names = [{var.name for var in undefined_vars(at.min)} for at in region.region]
    for place, used in enumerate(names):
        if ITERATOR_PREFIX + axis in used:
            return place
    raise AxisError(
        f"{region.source.name} is not indexed by {axis!r} in block {of_block}",
        expected=f"one of {[n.removeprefix(ITERATOR_PREFIX) for used in names for n in used]}",
        got=axis,
    )


def late_producers(sch: Schedule, first: str, second: str) -> list[str]:
    """What ``second`` reads that is written after the loops of ``first`` are done."""
    order = blocks(sch)
    inside = sch.get(sch.get_loops(block(sch, first))[0])
    return [
        name
        for producer in sch.get_producers(block(sch, second))
        if order.index(name := str(sch.get(producer).name_hint)) > order.index(first)
        and not sch.get(sch.get_loops(producer)[0]).same_as(inside)
    ]


def between(sch: Schedule, first: str, last: str) -> list[str]:
    """The blocks that stand between two in the chain of consumers, in order."""
    chain: list[str] = []
    here = block(sch, first)
    while (consumers := sch.get_consumers(here)) and sch.get(consumers[0]).name_hint != last:
        here = consumers[0]
        chain.append(str(sch.get(here).name_hint))
    return chain


def divisor(extent: int, *, at_most: int) -> int:
    """The largest divisor of a loop's extent that is not above ``at_most``."""
    return next(d for d in range(min(extent, at_most), 0, -1) if extent % d == 0)
