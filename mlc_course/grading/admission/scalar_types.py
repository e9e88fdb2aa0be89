"""The closed list of expressions that a program from elsewhere may contain, with their types.

A program that arrives as data was never checked by TVM: its nodes may claim any type. So every
node's type is worked out again from its operands and must be the one that it claims.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from mlc_course.errors import UnsafeProgram, UsageError
from mlc_course.tensor_program.tir import (
    FUNCTIONS,
    LIMITS,
    MOVES,
    OPERANDS,
    Call,
    Expr,
    Node,
    Op,
    PrimType,
    TensorLoad,
    Var,
    operands,
    tirx,
)

NODES = 100_000  # expressions and statements; one under an unrolled loop counts once per copy
DEPTH = 100  # of nesting
LONGEST_TEXT = 300

FLOATS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}
INTEGERS = {name: 8 if name == "bool" else int(name.lstrip("uint")) for name in LIMITS}
BITS = {**FLOATS, **INTEGERS}

SHIFTS = (tirx.LShift, tirx.RShift)
BITWISE = (tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor, tirx.BitwiseNot)
COMPARISONS = (tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE)
LOGIC = (tirx.And, tirx.Or, tirx.Not)
DIVISIONS = (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod)


def shown(value: object) -> str:
    """One short line for a message. A large expression, which may share parts, by its kind only."""
    if isinstance(value, str | int | tirx.Var) or (isinstance(value, Node) and _is_small(value)):
        text = " ".join(str(value).split())
        return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} ..."
    return type(value).__name__


def _is_small(expr: Expr) -> bool:
    waiting = [expr]
    for _ in range(LONGEST_TEXT):
        if not waiting:
            return True
        try:
            waiting += operands(waiting.pop())
        except UsageError:
            return False
    return False


class Types:
    """The types of the variables and buffers in scope, and what was counted so far."""

    def __init__(self) -> None:
        self.variables: dict[Var, str] = {}
        self.buffers: dict[Var, tuple[str, int]] = {}  # type and number of axes
        self.block = "root"
        self.seen: set[str] = set()
        self.copies = 1
        self.nodes = self.depth = 0

    def refuse(self, what: str, *, expected: object, got: object, hint: str | None = None) -> None:
        """Raises ``UnsafeProgram``, naming the block."""
        text = ", ".join(map(shown, got)) if isinstance(got, list) else shown(got)
        raise UnsafeProgram(f"block {self.block}: {what}", expected=expected, got=text, hint=hint)

    def require(self, condition: object, what: str, *, expected: object, got: object) -> None:
        """Raises ``UnsafeProgram`` unless the condition holds."""
        if not condition:
            self.refuse(what, expected=expected, got=got)

    @contextlib.contextmanager
    def inside(self, node: object) -> Iterator[None]:
        """Count a node, and keep programs from being too large or too deep."""
        self.nodes += self.copies
        self.depth += 1
        self.require(self.nodes <= NODES, "the program is too large", expected=NODES, got="more")
        self.require(self.depth <= DEPTH, "nested too deeply", expected=DEPTH, got="more")
        yield
        self.depth -= 1

    @contextlib.contextmanager
    def defined(self, variables: Mapping[Var, str]) -> Iterator[None]:
        """Variables that exist only inside. None may hide another of the same node."""
        for var, dtype in variables.items():
            self.require(
                isinstance(var, tirx.Var) and var not in self.variables | self.buffers,
                "a variable is defined inside its own scope",
                expected="a new variable",
                got=var,
            )
            self.claims(var, dtype)
            self.variables[var] = dtype
        yield
        for var in variables:
            del self.variables[var]

    def claims(self, expr: Expr, dtype: str) -> str:
        """The type, if the node claims the same one."""
        claimed = str(expr.ty.dtype) if isinstance(expr.ty, PrimType) else str(expr.ty)
        self.require(dtype in BITS, "an unknown type", expected=" | ".join(BITS), got=dtype)
        if claimed != dtype:
            self.refuse(f"{shown(expr)} claims a wrong type", expected=dtype, got=claimed)
        self.seen.add(dtype)
        return dtype

    def of(self, expr: Expr) -> str:
        """The type of a scalar expression; raises ``UnsafeProgram`` for one not on the list."""
        with self.inside(expr):
            return self.claims(expr, self._of(expr))

    def _of(self, expr: Expr) -> str:
        if type(expr) in OPERANDS:
            return self._operator(expr, [self.of(each) for each in operands(expr)])
        match expr:
            case tirx.IntImm() | tirx.FloatImm():
                return self._constant(expr)
            case tirx.Var():
                self.require(
                    expr in self.variables,
                    "a variable without a value",
                    expected="a loop's, a block's or a let's variable in scope",
                    got=expr,
                )
                return self.variables[expr]
            case TensorLoad():
                return self.element(expr.source, expr.indices)
            case tirx.Let():
                with self.defined({expr.var: self.of(expr.value)}):
                    return self.of(expr.body)
            case Call():
                return self._call(expr)
        self.refuse(
            "a kind of expression that is not allowed",
            expected="arithmetic, comparisons, loads, mathematics",
            got=type(expr).__name__,
        )
        raise AssertionError

    def element(self, buffer: Var, indices: Any) -> str:
        """The type of a buffer's elements, its indices checked too."""
        self.require(
            isinstance(buffer, tirx.Var) and buffer in self.buffers,
            "a buffer that is neither a parameter nor allocated by an enclosing block",
            expected=", ".join(str(each.name) for each in self.buffers),
            got=buffer,
        )
        dtype, axes = self.buffers[buffer]
        self.require(
            len(indices) == axes, f"indices of {buffer.name}", expected=axes, got=len(indices)
        )
        for index in indices:
            self.integer(index)
        return dtype

    def integer(self, expr: Expr) -> None:
        """An index, or part of one."""
        dtype = self.of(expr)
        self.require(dtype in ("int32", "int64"), "an index", expected="int32 | int64", got=dtype)

    def boolean(self, expr: Expr) -> None:
        """A condition."""
        dtype = self.of(expr)
        self.require(dtype == "bool", "a condition", expected="bool", got=dtype)

    def _constant(self, expr: Expr) -> str:
        dtype = str(expr.ty.dtype) if isinstance(expr.ty, PrimType) else str(expr.ty)
        if isinstance(expr, tirx.IntImm):
            low, high = LIMITS.get(dtype, (1, 0))
            self.require(low <= int(expr.value) <= high, "a constant", expected=dtype, got=expr)
        else:
            self.require(dtype in FLOATS, "a constant", expected=" | ".join(FLOATS), got=dtype)
        return dtype

    def _operator(self, expr: Expr, types: list[str]) -> str:
        kind = type(expr)
        if kind is tirx.Cast:
            return str(expr.ty.dtype) if isinstance(expr.ty, PrimType) else str(expr.ty)
        if kind is tirx.Select:
            self.require(types.pop(0) == "bool", "a condition", expected="bool", got=expr)
        self.require(len(set(types)) == 1, "operands differ in type", expected=types[0], got=expr)
        dtype = types[0]
        if kind in LOGIC:
            self.require(dtype == "bool", "a condition", expected="bool", got=expr)
        if kind in SHIFTS or kind in BITWISE:
            self.require(dtype in INTEGERS, "bits", expected="an integer type", got=expr)
        if kind in SHIFTS or (kind in DIVISIONS and dtype in INTEGERS):
            self._check_constant_operand(expr, dtype)
        return "bool" if kind in COMPARISONS else dtype

    def _check_constant_operand(self, expr: Expr, dtype: str) -> None:
        """Machines do what they like when they divide by zero or shift by more than all bits."""
        low, high = (0, BITS[dtype] - 1) if type(expr) in SHIFTS else (1, LIMITS[dtype][1])
        self.require(
            isinstance(expr.b, tirx.IntImm) and low <= int(expr.b.value) <= high,
            "an integer is divided or shifted",
            expected=f"by a constant from {low} to {high}",
            got=expr,
        )

    def _call(self, expr: Expr) -> str:
        name = str(expr.op.name) if isinstance(expr.op, Op) else str(expr.op)
        known = isinstance(expr.op, Op) and (name in FUNCTIONS or name in MOVES)
        if not known or expr.attrs is not None or len(expr.ty_args):
            self.refuse(
                f"a call of {name}",
                expected="if_then_else, exp, sqrt and other mathematics",
                got=expr,
                hint="spell the computation out in TensorIR",
            )
        types = [self.of(each) for each in expr.args]
        if name == "prim.if_then_else":
            good = len(types) == 3 and types[0] == "bool" and types[1] == types[2]
        elif name == "prim.likely":
            good = types == ["bool"]
        elif name == "tirx.reinterpret":
            claimed = str(expr.ty.dtype) if isinstance(expr.ty, PrimType) else ""
            good = len(types) == 1 and BITS.get(claimed) == BITS[types[0]] and "bool" not in types
            good = good and claimed != "bool"
            types.append(claimed)
        else:
            good = (
                len(types) == FUNCTIONS[name] and set(types) < set(FLOATS) and len(set(types)) == 1
            )
        self.require(good, f"arguments of {name}", expected="arguments of fitting types", got=expr)
        return types[-1]
