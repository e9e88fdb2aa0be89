"""The loop in the narrowest right types: what a careful programmer would write for the compiler.

A compiler keeps to the types that a program is written in: the same sum in 32 bits and in 16 bits
becomes different instructions. So a specification is also measured in a second wording, in which
every intermediate value has the narrowest type that holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import Formula, IntType, narrow_types, walk
from mlc_course.instruction_selection.spec import Specification, run
from mlc_course.tensor_program.tir import Expr, tirx

_BINARY: Mapping[str, type] = {
    "add": tirx.Add,
    "sub": tirx.Sub,
    "mul": tirx.Mul,
    "min": tirx.Min,
    "max": tirx.Max,
    "and": tirx.BitwiseAnd,
    "or": tirx.BitwiseOr,
    "xor": tirx.BitwiseXor,
    "eq": tirx.EQ,
    "gt": tirx.GT,
}


def narrowed(spec: Specification) -> Specification:
    """Return the specification in other words: each value in the narrowest type that holds it.

    Raises:
        SizeError: no integer type holds every intermediate value.
        UsageError: the loop takes values apart or puts them together.
    """
    one_lane = replace(spec.tile, lanes=1)
    memory = spec.memory(1)
    goal = run(one_lane.prim_func(1), memory)[spec.result.buffer][spec.result.at()]
    names = {memory[place.buffer][place.at()]: name for name, place in spec.places.items()}
    narrow_expression(goal, lambda each: tirx.Var("x", _type_of(spec, names[each]).dtype))
    value = lambda load: _cast(  # noqa: E731
        narrow_expression(goal, lambda each: load(names[each])), spec.cell.result
    )
    return replace(spec, tile=replace(spec.tile, value=value), line=None)


def _type_of(spec: Specification, name: str) -> IntType:
    return next(each.type for each in spec.cell.operands if each.name == name)


def narrow_expression(goal: Formula, load: Callable[[Formula], Expr]) -> Expr:
    """Return a formula in TensorIR, with the value of each variable from ``load``.

    Raises:
        SizeError: no integer type holds every intermediate value.
        UsageError: the formula takes values apart or puts them together, which no loop does.
    """
    types = narrow_types(goal)
    made: dict[Formula, tuple[Expr, IntType]] = {}  # each node, and the type that it has

    def use(each: Formula, at: IntType) -> Expr:
        if each.op == "const":
            return tirx.const(at.wrapped(each.lo), at.dtype)
        expr, has = made[each]
        return expr if has == at else tirx.Cast(at.dtype, expr)

    for each in walk(goal):
        kept, at = types[each]
        match each.op:
            case "const":
                continue
            case "var":
                made[each] = _cast(load(each), kept), kept
            case "eq" | "gt":
                compared = _BINARY[each.op](*(use(x, at) for x in each.operands))
                made[each] = tirx.Cast(kept.dtype, compared), kept
            case "where":
                condition, *chosen = each.operands
                given, has = made[condition]
                test = tirx.NE(given, tirx.const(0, has.dtype))
                made[each] = tirx.Select(test, *(use(x, at) for x in chosen)), at
            case "shr":
                shift = tirx.const(min(int(str(each.params[0])), at.bits - 1), at.dtype)
                made[each] = use(each.operands[0], at) >> shift, at
            case "wrap":
                to = _wrapped_to(each)
                made[each] = use(each.operands[0], to), to
            case "concat" | "slice":
                raise UsageError(
                    "this formula is no expression of a loop",
                    expected="sums, products, shifts, minima, maxima and choices",
                    got=each.op,
                )
            case _:
                at = _computed_in(each, at, [made[x][1] for x in each.operands if x in made])
                made[each] = _BINARY[each.op](*(use(x, at) for x in each.operands)), at
    return use(goal, types[goal][0])


def _cast(expr: Expr, to: IntType) -> Expr:
    return expr if str(expr.ty.dtype) == to.dtype else tirx.Cast(to.dtype, expr)


def _wrapped_to(each: Formula) -> IntType:
    (to,) = each.params
    if not isinstance(to, IntType) or to.bits not in (8, 16, 32, 64):
        raise UsageError(
            "no type of a loop has that many bits", expected="8, 16, 32 or 64 bits", got=to
        )
    return to


def _computed_in(each: Formula, at: IntType, present: list[IntType]) -> IntType:
    """Return the type to compute in: one that an operand has already, if it is as wide.

    ``max(x, 0)`` of an s16 fits u16; a programmer computes the next minimum in s16 all the same.
    A sum of which only the low 32 or 64 bits are read is an accumulator's: it is in a signed type,
    because TVM tells LLVM that no unsigned sum of that width overflows.
    """
    lo = min(each.lo, *(x.lo for x in each.operands))
    hi = max(each.hi, *(x.hi for x in each.operands))
    if not at.holds(each.lo, each.hi):
        return IntType(signed=True, bits=at.bits) if at.bits >= 32 else at
    return next((of for of in present if of.bits == at.bits and of.holds(lo, hi)), at)
