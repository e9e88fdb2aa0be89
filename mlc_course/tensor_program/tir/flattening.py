"""Indices that TVM 0.27 compiles wrongly when it makes buffers one-dimensional.

``FlattenBuffer`` simplifies each index with ``IterMapSimplify``, which is wrong for many quotients
and remainders: ``(7 - i) // 4`` becomes ``i // -4 + 1``, and ``(i % 8 + 2) // 4`` becomes
``(i + 2) % 8 // 4``. Nothing in TVM says so. So each index is compared before and after that pass,
over all iterations; a program that has one that differs must not be compiled. Tests of what TVM
does wrongly tell when it is mended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.tensor_program.tir import formulas
from mlc_course.tensor_program.tir.formulas import Fact, IntegerFormulas
from mlc_course.tensor_program.tir.traversal import Expr, Var, is_lazy, main_function, operands
from mlc_course.tensor_program.tir.tvm import (
    Analyzer,
    IRModule,
    TensorLoad,
    TensorProgram,
    before_and_after_flattening,
    same_structure,
    tirx,
)

LONGEST_TEXT = 200
Loops = tuple[Any, ...]  # TVM's, outermost first
Facts = tuple[Fact, ...]


@dataclass(frozen=True, eq=False)
class _Access:
    """One access to a buffer, with the loops and the conditions around it, outermost first."""

    buffer: Var
    indices: tuple[Expr, ...]
    loops: Loops
    facts: Facts


def check_flattening(program: TensorProgram) -> None:
    """Raises ``UsageError`` where TVM would compile an index wrongly, or fails on the program.

    An index that depends on data and that TVM changes counts as wrong, because nobody can tell.
    """
    function = main_function(program).with_attr("global_symbol", "main")
    try:
        lowered = before_and_after_flattening(IRModule({"main": function}))
    except Exception as error:  # only TVM runs here
        raise not_compiled(error) from None
    before, after = (_Lowered(main_function(each).body) for each in lowered)
    over = IntegerFormulas(before.values)
    for old, new in zip(before.accesses, after.accesses, strict=True):
        if not _same(old, new, over):
            raise UsageError(
                "TVM 0.27 would compile an index of this program wrongly",
                expected="quotients and remainders that it keeps",
                got=f"{old.buffer.name}[{_row_major(old)}]",
                hint="write the index in another way, for example with one more loop",
            )


def not_compiled(error: Exception) -> UsageError:
    """The error that tells of one that TVM has raised in one of its passes, in its last words."""
    *_, last = (str(error).strip() or type(error).__name__).splitlines()
    return UsageError(
        "TVM 0.27 does not compile this program",
        expected="loops and operations that it knows",
        got=last[:LONGEST_TEXT],
        hint="a vectorized loop may not be around another one, nor around a parallel one",
    )


class _Lowered:
    """The accesses of a lowered program in the order of its text, and values of its variables."""

    def __init__(self, body: Any) -> None:
        self.accesses: list[_Access] = []
        self.values: dict[Var, Expr] = {}
        self.statement(body, (), ())

    def statement(self, node: Any, loops: Loops, facts: Facts) -> None:
        match node:
            case tirx.SeqStmt():
                for each in node.seq:
                    self.statement(each, loops, facts)
            case tirx.For():
                self.statement(node.body, (*loops, node), facts)
            case tirx.While():
                self.loads(node.condition, loops, facts)
                self.statement(node.body, loops, facts)
            case tirx.IfThenElse():
                self.loads(node.condition, loops, facts)
                self.statement(node.then_case, loops, (*facts, (node.condition, True)))
                if node.else_case is not None:
                    self.statement(node.else_case, loops, (*facts, (node.condition, False)))
            case tirx.AttrStmt():
                self.statement(node.body, loops, facts)
            case tirx.BufferStore():
                for each in (node.value, *node.indices):
                    self.loads(each, loops, facts)
                self.accesses.append(_Access(node.buffer, tuple(node.indices), loops, facts))
            case tirx.Bind():
                self.loads(node.value, loops, facts)
                self.values[node.var] = node.value
            case tirx.Evaluate():
                self.loads(node.value, loops, facts)
            case tirx.AssertStmt():
                self.loads(node.condition, loops, facts)
            case tirx.AllocBuffer() | tirx.DeclBuffer():
                pass
            case _:
                raise UsageError(
                    "a statement whose indices are not followed",
                    expected="loops, conditions, stores, loads",
                    got=type(node).__name__,
                )

    def loads(self, expr: Expr, loops: Loops, facts: Facts) -> None:
        if is_lazy(expr):
            condition, then, otherwise = expr.args
            self.loads(condition, loops, facts)
            self.loads(then, loops, (*facts, (condition, True)))
            self.loads(otherwise, loops, (*facts, (condition, False)))
            return
        if isinstance(expr, tirx.Let):
            self.values[expr.var] = expr.value
        for each in operands(expr):
            self.loads(each, loops, facts)
        if isinstance(expr, TensorLoad):
            self.accesses.append(_Access(expr.source, tuple(expr.indices), loops, facts))


def _row_major(access: _Access) -> Expr:
    """The place of an element in its buffer, which after flattening is its only index."""
    shape, strides = access.buffer.shape, access.buffer.ty.strides
    place: Expr = 0
    for axis, (index, extent) in enumerate(zip(access.indices, shape, strict=True)):
        place = place + index * strides[axis] if len(strides) else place * extent + index
    return place


def _same(before: _Access, after: _Access, over: IntegerFormulas) -> bool:
    """Tell whether the two are the same place whenever the access happens."""
    old, new = _row_major(before), _row_major(after)
    if Analyzer().can_prove_equal(old, new):  # linear ones, without the work of sets
        return True
    try:
        starts = [int(loop.min) for loop in before.loops]
        points = formulas.box([int(loop.extent) for loop in before.loops], starts)
        at = formulas.dimensions(points)
        known = {loop.loop_var: here for loop, here in zip(before.loops, at, strict=True)}
        one, other = (over.integer(each, known, points) for each in (old, new))
        differ = points.intersect(one.ne_set(other))
        return bool(differ.is_empty() or over.holding(before.facts, known, differ).is_empty())
    except (UsageError, TypeError):  # of data, not linear, or in a loop of unknown length
        return _alike(old, new)


def _alike(old: Expr, new: Expr) -> bool:
    """Tell whether two expressions are the same but for the shapes of the buffers they load."""
    if isinstance(old, TensorLoad) and isinstance(new, TensorLoad):
        return str(old.source.name) == str(new.source.name)  # its index is compared by itself
    if not operands(old):
        return bool(same_structure(old, new))
    sides = operands(old), operands(new)
    return type(old) is type(new) and len(sides[0]) == len(sides[1]) and all(map(_alike, *sides))
