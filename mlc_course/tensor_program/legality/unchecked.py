"""Changes to loops that may be illegal: programs for ``legality`` to judge.

TVM's own ``reorder``, ``parallel`` and ``vectorize`` need blocks, and trust what these declare.
"""

from __future__ import annotations

from typing import Any

from mlc_course.errors import AxisError, check_known
from mlc_course.tensor_program.tir import (
    KINDS,
    PrimFunc,
    SBlockRealize,
    TensorProgram,
    main_function,
    tirx,
    with_body,
)


def reordered(program: TensorProgram, *loops: str) -> PrimFunc:
    """Put these loops of one perfect nest in this order; the others keep their places.

    before  for i: for j: body
    after   for j: for i: body      reordered(program, "j", "i")

    Raises ``AxisError`` for loops that are not directly inside each other.
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
        inner = with_body(loop, inner)
    return function.with_body(_replaced(function.body, nest[0], inner))


def run_as(program: TensorProgram, loop: str, kind: str) -> PrimFunc:
    """Make one loop "parallel", "vectorized", "unrolled" or "serial".

    Raises ``AxisError`` when there is no such loop, or more than one, and ``UsageError`` for
    another kind.
    """
    kinds = {name: each for each, name in KINDS.items()}
    check_known(f"run_as({loop}): no such kind", kind, kinds)
    function = main_function(program)
    found = [each for each in _loops(function.body) if str(each.loop_var.name) == loop]
    if len(found) != 1:
        known = ", ".join(str(each.loop_var.name) for each in _loops(function.body))
        raise AxisError(f"run_as({loop}): {len(found)} such loops", expected=f"one of {known}")
    (old,) = found
    new = tirx.For(old.loop_var, old.min, old.extent, kinds[kind], old.body)
    return function.with_body(_replaced(function.body, old, new))


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
            return with_body(stmt, _replaced(stmt.body, old, new))
        case tirx.IfThenElse():
            otherwise = _replaced(stmt.else_case, old, new) if stmt.else_case else None
            return tirx.IfThenElse(stmt.condition, _replaced(stmt.then_case, old, new), otherwise)
        case SBlockRealize():
            return with_body(stmt, _replaced(stmt.block.body, old, new))
    return stmt
