"""Indices that TVM 0.27 compiles wrongly when it makes buffers one-dimensional.

``FlattenBuffer`` simplifies each index with ``IterMapSimplify``, which is wrong for many quotients
and remainders: ``(7 - i) // 4`` becomes ``i // -4 + 1``, and ``(i % 8 + 2) // 4`` becomes
``(i + 2) % 8 // 4``. Nothing in TVM says so. So each index is compared before and after that pass,
over all iterations; a program that has one that differs must not be compiled. Where
``IterMapSimplify`` fails, ``CompactBufferAllocation`` may end the process, so it is tried first.
Quotients by negative numbers, of which a later pass makes truncated ones, are refused. Tests of
what TVM does wrongly tell when it is mended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import CourseError, UsageError
from mlc_course.tensor_program.tir import formulas
from mlc_course.tensor_program.tir.formulas import Fact, IntegerFormulas
from mlc_course.tensor_program.tir.index_sets import split_index_sets
from mlc_course.tensor_program.tir.traversal import (
    OPERANDS,
    Expr,
    Var,
    is_lazy,
    main_function,
    operands,
)
from mlc_course.tensor_program.tir.tvm import (
    Analyzer,
    IRModule,
    PrimFunc,
    Range,
    SBlockRealize,
    TensorLoad,
    TensorProgram,
    flattened,
    iter_map_simplify,
    lowered,
    opaque_blocks,
    same_structure,
    tirx,
)

LONGEST_TEXT = 200
QUOTIENTS = (tirx.FloorDiv, tirx.FloorMod)
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
    checked_lowering(main_function(program))


def checked_lowering(function: PrimFunc) -> PrimFunc:
    """The program as loops and stores, its guarded nests split, with indices that TVM keeps.

    It is to be compiled without making its buffers smaller once more. Raises what
    ``check_flattening`` raises.
    """
    name = str(function.attrs["global_symbol"]) if "global_symbol" in function.attrs else "main"
    module = IRModule({name: function.with_attr("global_symbol", name)})
    try:
        for access in _Lowered(opaque_blocks(module)[name]).accesses:
            _simplified(access)  # may fail, which later would end the process, not raise an error
        # TVM lowers it again as it compiles it. Buffers have their sizes by then: those of loops
        # that were split would be thought too large.
        split = lowered(split_index_sets(lowered(module)), compact=False)
        flat = flattened(split)
    except CourseError:
        raise
    except Exception as error:  # only TVM runs here
        raise not_compiled(error) from None
    before, after = _Lowered(split[name]), _Lowered(flat[name])
    if before.negative:
        raise UsageError(
            "TVM 0.27 compiles some quotients by negative numbers wrongly",
            expected="positive divisors, also once TVM has simplified the program",
            got=before.negative[0],
            hint="negate what is divided, and divide it by the positive number",
        )
    over = IntegerFormulas(before.values)
    for old, new in zip(before.accesses, after.accesses, strict=True):
        if not _same(old, new, over):
            raise UsageError(
                "TVM 0.27 would compile an index of this program wrongly",
                expected="quotients and remainders that it keeps",
                got=f"{old.buffer.name}[{_row_major(old)}]",
                hint="write the index in another way, for example with one more loop",
            )
    return split[name]


def not_compiled(error: Exception) -> BaseException:
    """The error that tells of one that TVM has raised in one of its passes, in its last words.

    TVM's own errors have words. One without is Ctrl-C, which came while a pass of TVM's in Python
    ran.
    """
    if type(error) is RuntimeError and not str(error):
        return KeyboardInterrupt()
    *_, last = (str(error).strip() or type(error).__name__).splitlines()
    return UsageError(
        "TVM 0.27 does not compile this program",
        expected="loops and operations that it knows",
        got=last[:LONGEST_TEXT],
        hint="among others, it compiles no parallel or vectorized loop inside a vectorized one",
    )


class _Lowered:
    """The accesses of a lowered program in the order of its text, and values of its variables."""

    def __init__(self, function: PrimFunc) -> None:
        self.accesses: list[_Access] = []
        self.values: dict[Var, Expr] = {}
        self.negative: list[Expr] = []  # quotients and remainders by negative numbers
        self.statement(function.body, (), ())

    def statement(self, node: Any, loops: Loops, facts: Facts) -> None:
        match node:
            case tirx.SeqStmt():
                for each in node.seq:
                    self.statement(each, loops, facts)
            case tirx.For():
                self.statement(node.body, (*loops, node), facts)
            case SBlockRealize():
                self.loads(node.predicate, loops, facts)
                self.statement(node.block.body, loops, (*facts, (node.predicate, True)))
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
        if _divides_by_less_than_zero(expr):
            self.negative.append(expr)
        if isinstance(expr, tirx.Let):
            self.values[expr.var] = expr.value
        for each in operands(expr):
            self.loads(each, loops, facts)
        if isinstance(expr, TensorLoad):
            self.accesses.append(_Access(expr.source, tuple(expr.indices), loops, facts))


def _divides_by_less_than_zero(expr: Expr) -> bool:
    divisor = expr.b if isinstance(expr, QUOTIENTS) else None
    return isinstance(divisor, tirx.IntImm) and int(divisor.value) < 0


def _parts(exprs: Sequence[Expr]) -> Iterator[Expr]:
    """The expressions and all that is in them."""
    for each in exprs:
        yield each
        yield from _parts(operands(each))


def _simplified(access: _Access) -> None:
    """Do to an index what TVM's passes do, for the error that it may raise."""
    ranges = {loop.loop_var: Range.from_min_extent(loop.min, loop.extent) for loop in access.loops}
    iter_map_simplify(access.indices, ranges, True)


def _row_major(access: _Access) -> Expr:
    """The place of an element in its buffer, which after flattening is its only index."""
    shape, strides = access.buffer.shape, access.buffer.ty.strides
    place: Expr = 0
    for axis, (index, extent) in enumerate(zip(access.indices, shape, strict=True)):
        place = place + index * strides[axis] if len(strides) else place * extent + index
    return place + access.buffer.ty.elem_offset


def _same(before: _Access, after: _Access, over: IntegerFormulas) -> bool:
    """Tell whether the two are the same place whenever the access happens, as machine code too."""
    if any(map(_divides_by_less_than_zero, _parts(after.indices))):
        return False
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
    """Tell whether two expressions are equal whatever they load, each load from the same buffer."""
    loads = [[x for x in _parts([each]) if isinstance(x, TensorLoad)] for each in (old, new)]
    names = [[str(x.source.name) for x in each] for each in loads]
    if names[0] != names[1]:
        return False
    # The index of a load is an access of its own, and compared as such.
    data = [tirx.Var(name, x.ty.dtype) for name, x in zip(names[0], loads[0], strict=True)]
    one, other = (_with_data(each, iter(data)) for each in (old, new))
    return same_structure(one, other) or bool(Analyzer().can_prove_equal(one, other))


def _with_data(expr: Expr, data: Iterator[Var]) -> Expr:
    """The expression with a variable in place of each load, in order."""
    if isinstance(expr, TensorLoad):
        found = next(data)
        for _ in range(sum(isinstance(x, TensorLoad) for x in _parts(expr.indices))):
            next(data)
        return found
    parts = [_with_data(each, data) for each in operands(expr)]
    match expr:
        case tirx.Cast():
            return tirx.Cast(expr.ty.dtype, *parts)
        case _ if type(expr) in OPERANDS:
            return type(expr)(*parts)
    return expr
