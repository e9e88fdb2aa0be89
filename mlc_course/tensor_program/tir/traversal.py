"""The loops, conditions and memory accesses of a TensorIR program, in the order of execution.

Arithmetic on the data is left out: what remains says which element is touched when, and is the
same for every input unless an index or a condition reads data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.tensor_program.tir.tvm import (
    Call,
    IRModule,
    Op,
    PrimFunc,
    SBlock,
    SBlockRealize,
    Schedule,
    StringImm,
    TensorLoad,
    TensorProgram,
    tirx,
)

Expr = Any  # an expression of TensorIR
Var = Any  # its variables: a loop's, a block iterator, a let's, or a buffer

# Names of the operands of each kind of expression, in the order of evaluation; `operands` itself
# knows variables, constants, loads and lets.
OPERANDS: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod), ("a", "b")),
    **dict.fromkeys((tirx.FloorDiv, tirx.FloorMod, tirx.Min, tirx.Max), ("a", "b")),
    **dict.fromkeys((tirx.LShift, tirx.RShift), ("a", "b")),
    **dict.fromkeys((tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor), ("a", "b")),
    **dict.fromkeys((tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE), ("a", "b")),
    **dict.fromkeys((tirx.And, tirx.Or), ("a", "b")),
    **dict.fromkeys((tirx.Not, tirx.BitwiseNot), ("a",)),
    tirx.Cast: ("value",),
    tirx.Select: ("condition", "true_value", "false_value"),
}
KINDS = {
    tirx.ForKind.SERIAL: "serial",
    tirx.ForKind.PARALLEL: "parallel",
    tirx.ForKind.VECTORIZED: "vectorized",
    tirx.ForKind.UNROLLED: "unrolled",
}
IF_THEN_ELSE = "prim.if_then_else"
MOVES = (IF_THEN_ELSE, "prim.likely", "tirx.reinterpret")  # compute nothing
# Functions of floats that return a float of the same type, by their number of arguments.
MATHEMATICS = {
    1: "exp exp2 exp10 log log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh erf "
    "sigmoid floor trunc round nearbyint fabs",
    2: "pow atan2 hypot copysign",
    3: "fma",
}
FUNCTIONS = {f"tirx.{name}": n for n, names in MATHEMATICS.items() for name in names.split()}
FUNCTIONS |= {"prim.ceil": 1, "prim.log2": 1}
REDUCTION = 2  # IterVar.iter_type of a reduction


@dataclass(frozen=True, eq=False)
class Touch:
    """A read or a write of one element, by this block (``C_init`` for the init of block ``C``).

    ``value`` is what a write stores.
    """

    block: str
    buffer: Var
    indices: tuple[Expr, ...]
    writes: bool
    value: Expr | None = None


@dataclass(frozen=True, eq=False)
class Bound:
    """A binding: ``var`` means ``value`` from here on; a block iterator should be in [0, extent).

    ``block`` names the block that it is in; for an iterator, ``reduces`` says whether it is a
    reduction axis.
    """

    var: Var
    value: Expr
    extent: int | None = None
    block: str = ""
    reduces: bool = False


@dataclass(frozen=True, eq=False)
class Guard:
    """A condition: only one of two sides is executed."""

    condition: Expr
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...] = ()


@dataclass(frozen=True, eq=False)
class Repeat:
    """A loop over start, ..., start + extent - 1; ``kind`` as in ``KINDS``."""

    var: Var
    start: int
    extent: int
    kind: str
    body: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class Begin:
    """A run of a block begins here (of ``C_init``, for the init of block ``C``)."""

    block: str


Step = Touch | Bound | Guard | Repeat | Begin


def main_function(program: TensorProgram) -> PrimFunc:
    """The one function of a program; raises ``UsageError`` when there is no TensorIR ``main``."""
    module = program.mod if isinstance(program, Schedule) else program
    if isinstance(module, PrimFunc):
        return module
    if not isinstance(module, IRModule):
        raise UsageError(
            "not a tensor program",
            expected="a PrimFunc, an IRModule or a Schedule",
            got=type(module).__name__,
        )
    functions = {str(name.name_hint): function for name, function in module.functions.items()}
    if not isinstance(functions.get("main"), PrimFunc):
        raise UsageError("no TensorIR function main", expected="main", got=", ".join(functions))
    return functions["main"]


def walk(program: TensorProgram) -> tuple[Step, ...]:
    """List what the program does to memory, step by step.

    Raises ``UsageError`` for what the course's programs do not have: thread bindings, loops of
    unknown length, ``while``, matched buffers, assertions.
    """
    return _statement(main_function(program).body, "root")


def every_step(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps and those inside them, in program order, each loop before its body."""
    for step in steps:
        yield step
        match step:
            case Guard():
                yield from every_step((*step.then, *step.otherwise))
            case Repeat():
                yield from every_step(step.body)


def with_body(stmt: Any, body: Any) -> Any:
    """The same loop, or the same block, around another body."""
    if isinstance(stmt, tirx.For):
        return tirx.For(stmt.loop_var, stmt.min, stmt.extent, stmt.kind, body)
    block = stmt.block
    head = (block.iter_vars, block.reads, block.writes, block.name_hint)
    rest = (block.init, block.alloc_buffers, block.match_buffers, block.annotations)
    return SBlockRealize(stmt.iter_values, stmt.predicate, SBlock(*head, body, *rest))


def name_of(call: Call) -> str:
    """The name of the function that is called, such as ``tirx.exp``."""
    return str(call.op.name) if isinstance(call.op, Op) else str(call.op)


def is_lazy(expr: Expr) -> bool:
    """Tell whether only one side is evaluated: ``if_then_else`` (``Select`` evaluates both)."""
    return isinstance(expr, Call) and name_of(expr) == IF_THEN_ELSE


def operands(expr: Expr) -> Sequence[Expr]:
    """The direct operands of an expression: a load's indices, a let's value and body, ...

    Raises ``UsageError`` for kinds of expressions that the course does not use.
    """
    kind = type(expr)
    if kind in OPERANDS:
        return [getattr(expr, name) for name in OPERANDS[kind]]
    match expr:
        case tirx.IntImm() | tirx.FloatImm() | tirx.Var() | StringImm():
            return ()
        case TensorLoad():
            return tuple(expr.indices)
        case tirx.Let():
            return (expr.value, expr.body)
        case Call():
            return tuple(expr.args)
    raise UsageError("an unknown kind of expression", expected="scalar arithmetic", got=expr)


def variables(expr: Expr) -> Iterator[Var]:
    """The variables in an expression, each as often as it is there."""
    if isinstance(expr, tirx.Var):
        yield expr
    for operand in operands(expr):
        yield from variables(operand)


def reads(expr: Expr, block: str) -> tuple[Step, ...]:
    """The loads of an expression, in the order of evaluation."""
    if is_lazy(expr):
        condition, then, otherwise = expr.args
        sides = reads(then, block), reads(otherwise, block)
        return (*reads(condition, block), *([Guard(condition, *sides)] if any(sides) else []))
    if isinstance(expr, tirx.Let):
        bound = Bound(expr.var, expr.value, block=block)
        return (*reads(expr.value, block), bound, *reads(expr.body, block))
    if isinstance(expr, Call) and name_of(expr) not in (*FUNCTIONS, *MOVES):
        raise UsageError(
            f"block {block}: a call whose accesses are not known",
            expected="loads, arithmetic and mathematical functions",
            got=expr,
        )
    inner = tuple(step for operand in operands(expr) for step in reads(operand, block))
    if isinstance(expr, TensorLoad):
        return (*inner, Touch(block, expr.source, tuple(expr.indices), writes=False))
    return inner


def _statement(stmt: Any, block: str) -> tuple[Step, ...]:
    match stmt:
        case tirx.SeqStmt():
            return tuple(step for each in stmt.seq for step in _statement(each, block))
        case tirx.For():
            return (_loop(stmt, block),)
        case SBlockRealize():
            return _block(stmt)
        case tirx.BufferStore():
            parts = (stmt.value, *stmt.indices)
            loads = (step for part in parts for step in reads(part, block))
            write = Touch(block, stmt.buffer, tuple(stmt.indices), writes=True, value=stmt.value)
            return (*loads, write)
        case tirx.IfThenElse():
            sides = [_statement(s, block) if s else () for s in (stmt.then_case, stmt.else_case)]
            return (*reads(stmt.condition, block), Guard(stmt.condition, *sides))
        case tirx.Bind():
            return (*reads(stmt.value, block), Bound(stmt.var, stmt.value, block=block))
        case tirx.Evaluate():
            return reads(stmt.value, block)
        case tirx.AllocBuffer():
            return ()
    raise UsageError(
        f"block {block}: a statement whose accesses are not known",
        expected="loops, blocks, stores, if, bind",
        got=type(stmt).__name__,
    )


def _loop(stmt: tirx.For, block: str) -> Repeat:
    start, extent = (getattr(stmt, name) for name in ("min", "extent"))
    known = isinstance(start, tirx.IntImm) and isinstance(extent, tirx.IntImm)
    if stmt.kind not in KINDS or not known or stmt.step not in (None, 1):
        raise UsageError(
            f"loop {stmt.loop_var.name}: not a loop of known length, in steps of one",
            expected=" | ".join(KINDS.values()),
            got=f"kind {tirx.ForKind(stmt.kind).name}, extent {extent}, step {stmt.step}",
        )
    body = _statement(stmt.body, block)
    return Repeat(stmt.loop_var, int(start), int(extent), KINDS[stmt.kind], body)


def _block(stmt: Any) -> tuple[Step, ...]:
    block = stmt.block
    name = str(block.name_hint)
    if block.match_buffers:
        raise UsageError(f"block {name}: matched buffers are not followed")
    steps: list[Step] = [
        Bound(each.var, value, int(each.dom.extent), name, each.iter_type == REDUCTION)
        for each, value in zip(block.iter_vars, stmt.iter_values, strict=True)
    ]
    if block.init is not None:
        first: tuple[Step, ...] = (Begin(f"{name}_init"), *_statement(block.init, f"{name}_init"))
        for each in reversed(block.iter_vars):
            if each.iter_type == REDUCTION:
                first = (Guard(tirx.EQ(each.var, each.dom.min), first),)
        steps += first
    steps += [Begin(name), *_statement(block.body, name)]
    if isinstance(stmt.predicate, tirx.IntImm) and int(stmt.predicate.value) == 1:
        return tuple(steps)
    return (*reads(stmt.predicate, name), Guard(stmt.predicate, tuple(steps)))
