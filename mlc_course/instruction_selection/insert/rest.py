"""A loop that a tile does not divide, as two: one that the tile divides, and one for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlc_course.errors import SizeError
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import (
    Range,
    SBlock,
    SBlockRealize,
    Schedule,
    every_node,
    rewrite,
    tirx,
    tvm,
)

PARTS = ("reads", "writes", "name_hint", "body", "init", "alloc_buffers", "match_buffers")


def divide(sch: Schedule, block: str, loop: str, tile: int) -> None:
    """Do the last iterations of a loop, those that fill no tile, in a loop of their own.

    before  for i in range(100):    O[i] = f(A[i])
    after   for i in range(96):     O[i] = f(A[i])
            for i_rest in range(4): O[i_rest + 96] = f(A[i_rest + 96])
    needs   an iterator of the block that is just this loop; does nothing where the tile divides
    why     what is left over is computed by the specification itself, one output at a time
    tvm     ScheduleState.replace, which the trace does not record: Schedule.loop_partition leaves
            blocks that say they write the whole buffer, and tensorize refuses those

    Raises:
        SizeError: the loop is shorter than a tile, or is only a part of an iterator.
    """
    extent = lookup.length(sch, block, loop)
    if extent % tile == 0:
        return
    if extent < tile:
        raise SizeError(
            f"divide({block}, {loop}): the loop does not fill one tile",
            expected=f"at least {tile} iterations",
            got=extent,
            hint="narrower registers have smaller tiles",
        )
    target = sch.get(lookup.loop(sch, block, loop))
    realizes = _realizes(target)
    own = [
        at
        for at, (each, value) in enumerate(
            zip(realizes[0].block.iter_vars, realizes[0].iter_values, strict=True)
        )
        if value.same_as(target.loop_var) and int(each.dom.extent) == extent
    ]
    if len(realizes) != 1 or len(own) != 1:
        raise SizeError(
            f"divide({block}, {loop}): a tile of {tile} does not divide the loop, "
            "which is only a part of what it was split from",
            expected=f"a multiple of {tile}",
            got=extent,
            hint="select the instructions before the loop is split, or split it by such a multiple",
        )
    length = extent - extent % tile
    parts = [
        _part(target, realizes[0], own[0], first, count, suffix)
        for first, count, suffix in ((0, length, ""), (length, extent - length, "_rest"))
    ]
    root = sch.get(sch.get_sblock("root"))

    def both(loop: Any, mutator: Any) -> Any:
        same = loop.same_as(target)
        return tirx.SeqStmt(parts) if same else mutator.default_mutate(loop)

    body = rewrite(root.body, tirx.For, both)
    new = SBlock(root.iter_vars, *(_of(root, {"body": body})), root.annotations)
    sch.state.replace(sch.get_sref(sch.get_sblock("root")), new, {root: new})


def _realizes(stmt: Any) -> list[Any]:
    return [each for each in every_node(stmt) if isinstance(each, SBlockRealize)]


def _of(block: Any, changed: Mapping[str, Any]) -> list[Any]:
    return [changed.get(name, getattr(block, name)) for name in PARTS]


def _part(target: Any, realize: Any, own: int, first: int, count: int, suffix: str) -> Any:
    """Return the loop over ``count`` iterations from ``first`` on, with variables of its own."""
    old = realize.block
    fresh = {each.var: tirx.Var(each.var.name, each.var.ty) for each in old.iter_vars}
    iterators = [
        tirx.IterVar(Range(0, count) if at == own else each.dom, fresh[each.var], each.iter_type)
        for at, each in enumerate(old.iter_vars)
    ]
    moved = dict(fresh)
    shifted = old.iter_vars[own].var
    moved[shifted] = fresh[shifted] + first if first else fresh[shifted]
    changed = {
        name: tvm.substitute(getattr(old, name), moved) for name in ("reads", "writes", "body")
    }
    changed["name_hint"] = f"{old.name_hint}{suffix}"
    block = SBlock(iterators, *_of(old, changed), old.annotations)
    loops = _loops_inside(target)
    variables = {x.loop_var: tirx.Var(f"{x.loop_var.name}{suffix}", x.loop_var.ty) for x in loops}
    values = [tvm.substitute(value, variables) for value in realize.iter_values]
    body: Any = SBlockRealize(values, tvm.substitute(realize.predicate, variables), block)
    for each in reversed(loops):
        extent = count if each is loops[0] else each.extent
        body = tirx.For(
            variables[each.loop_var],
            each.min,
            extent,
            each.kind,
            body,
            each.thread_binding,
            each.annotations,
            each.step,
        )
    return body


def _loops_inside(target: Any) -> list[Any]:
    loops = [target]
    while isinstance(loops[-1].body, tirx.For):
        loops.append(loops[-1].body)
    return loops
