"""Loops changed without asking whether that is legal: something for ``legality`` to judge.

TVM's own ``reorder``, ``parallel`` and ``vectorize`` need blocks, and believe what these declare.
"""

from __future__ import annotations

from typing import Any

from mlc_course.errors import AxisError, UsageError
from mlc_course.tensor_program.reading.walk import KINDS, main_function
from mlc_course.tensor_program.tvm_names import (
    IRModule,
    PrimFunc,
    SBlock,
    SBlockRealize,
    Schedule,
    tirx,
)


def reordered(program: IRModule | PrimFunc | Schedule, *loops: str) -> PrimFunc:
    """The program with these loops of one perfect nest in this order, the others where they are.

    before  for i: for j: body
    after   for j: for i: body      reordered(program, "j", "i")

    Raises ``AxisError`` for loops that do not stand directly inside each other.
    """
    function = main_function(program)
    nest = _nest(function.body, set(loops))
    names = [str(each.loop_var.name) for each in nest]
    if sorted(loops) != sorted(set(loops) & set(names)) or len(loops) < 2:
        raise AxisError(
            f"reordered({', '.join(loops)}): not loops of one nest",
            expected="two loops or more, each directly inside the one before",
            got=f"the nest {', '.join(names)}" if names else "none of these names",
        )
    wanted = iter(loops)
    order = [nest[names.index(next(wanted) if name in loops else name)] for name in names]
    inner = nest[-1].body
    for loop in reversed(order):
        inner = _with(loop, body=inner)
    return function.with_body(_replaced(function.body, nest[0], inner))


def run_as(program: IRModule | PrimFunc | Schedule, loop: str, kind: str) -> PrimFunc:
    """The program with one loop "parallel", "vectorized", "unrolled" or "serial".

    Raises ``AxisError`` when there is no such loop, or more than one, and ``UsageError`` for
    another kind.
    """
    kinds = {name: each for each, name in KINDS.items()}
    if kind not in kinds:
        raise UsageError(f"run_as({loop}): no such kind", expected=" | ".join(kinds), got=kind)
    function = main_function(program)
    found = [each for each in _loops(function.body) if str(each.loop_var.name) == loop]
    if len(found) != 1:
        known = ", ".join(str(each.loop_var.name) for each in _loops(function.body))
        raise AxisError(f"run_as({loop}): {len(found)} such loops", expected=f"one of {known}")
    return function.with_body(_replaced(function.body, found[0], _with(found[0], kind=kinds[kind])))


def _with(loop: Any, **changed: Any) -> Any:
    parts = {"kind": loop.kind, "body": loop.body, **changed}
    return tirx.For(loop.loop_var, loop.min, loop.extent, parts["kind"], parts["body"])


def _inside(stmt: Any) -> list[Any]:
    """The statements directly inside one."""
    match stmt:
        case tirx.SeqStmt():
            return list(stmt.seq)
        case tirx.For():
            return [stmt.body]
        case SBlockRealize():
            return [stmt.block.body]
        case tirx.IfThenElse():
            return [each for each in (stmt.then_case, stmt.else_case) if each]
    return []


def _loops(stmt: Any) -> list[Any]:
    """All loops, outer ones first."""
    own = [stmt] if isinstance(stmt, tirx.For) else []
    return own + [each for part in _inside(stmt) for each in _loops(part)]


def _nest(stmt: Any, wanted: set[str]) -> list[Any]:
    """The loops directly inside each other, from the first of the wanted ones on."""
    for loop in _loops(stmt):
        if str(loop.loop_var.name) in wanted:
            nest = [loop]
            while isinstance(nest[-1].body, tirx.For):
                nest.append(nest[-1].body)
            return nest
    return []


def _replaced(stmt: Any, old: Any, new: Any) -> Any:
    """The statement with one part of it replaced."""
    if stmt.same_as(old):
        return new
    match stmt:
        case tirx.SeqStmt():
            return tirx.SeqStmt([_replaced(each, old, new) for each in stmt.seq])
        case tirx.For():
            return _with(stmt, body=_replaced(stmt.body, old, new))
        case tirx.IfThenElse():
            otherwise = _replaced(stmt.else_case, old, new) if stmt.else_case else None
            return tirx.IfThenElse(stmt.condition, _replaced(stmt.then_case, old, new), otherwise)
        case SBlockRealize():
            block = stmt.block
            parts = (block.init, block.alloc_buffers, block.match_buffers, block.annotations)
            body = _replaced(block.body, old, new)
            head = (block.iter_vars, block.reads, block.writes, block.name_hint)
            return SBlockRealize(stmt.iter_values, stmt.predicate, SBlock(*head, body, *parts))
    return stmt
