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
    name_of,
    operands,
    tirx,
)

# What compiles in some ten seconds, measured with TVM 0.27. TVM copies what is in an unrolled loop,
# and the value of a variable to each of its places.
NODES = 30_000  # expressions and statements
INTEGER_NODES = 1_000  # of one integer: TVM's simplifier takes the square of that
QUOTIENTS = 8  # of integers, inside each other: each of them doubles the simplifier's work
# Nodes that LLVM makes of one: it unrolls and vectorizes loops, takes accesses of vectors apart,
# calls a function for each lane, and takes the square of their number to do so.
LOOP = 100
ACCESS, CALL, OTHER = 1 / 32, 1 / 16, 1 / 4096  # times the square of the lanes
CALLED = set(FUNCTIONS) - {  # the others are instructions
    *("tirx.floor", "tirx.trunc", "tirx.round", "tirx.nearbyint", "tirx.fabs", "tirx.sqrt"),
    *("tirx.copysign", "tirx.fma"),
}
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


def _divides_integers(expr: Expr) -> bool:
    return type(expr) in DIVISIONS and str(getattr(expr.ty, "dtype", "")) in INTEGERS


class Types:
    """The types of the variables and buffers in scope, and what was counted so far."""

    def __init__(self) -> None:
        self.variables: dict[Var, str] = {}
        self.buffers: dict[Var, tuple[str, int]] = {}  # type and number of axes
        self.sizes: dict[Var, int] = {}  # nodes of a variable's value
        self.nested: dict[Var, int] = {}  # quotients inside each other in a variable's value
        self.block = "root"
        self.seen: set[str] = set()
        self.copies = self.lanes = 1
        self.nodes = self.size = self.depth = 0
        self.quotients = self.most_quotients = 0  # around the place under view; inside each other

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
        """Count a node, and keep programs from being too large or too deep for TVM and LLVM."""
        self.count(1, self._made_by_llvm(node))
        self.depth += 1
        self.require(self.depth <= DEPTH, "nested too deeply", expected=DEPTH, got="more")
        yield
        self.depth -= 1

    def count(self, size: int, more: int = 0) -> None:
        """Count nodes, once per copy in unrolled loops; raises ``UnsafeProgram`` for too many."""
        self.size += size
        self.nodes += (size + more) * self.copies
        if self.nodes > NODES:
            self.refuse(
                "the program is too large to be compiled",
                expected=f"at most {NODES:,} expressions and statements",
                got="more, with unrolled and vectorized loops written out, and variables replaced "
                "by their values",
                hint="unroll and vectorize only short loops",
            )

    def _made_by_llvm(self, node: object) -> int:
        """Nodes to count besides the node itself."""
        match node:
            case tirx.For():
                return LOOP
            case TensorLoad() | tirx.BufferStore():
                share = ACCESS
            case Call() if name_of(node) in CALLED:
                share = CALL
            case _:
                share = OTHER
        return int(self.lanes**2 * share)

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

    def bound(self, var: Var, value: Expr) -> dict[Var, str]:
        """A variable with the type of its value, whose size it has wherever it is used."""
        size, around, most = self.size, self.quotients, self.most_quotients
        self.quotients = self.most_quotients = 0
        dtype = self.of(value)
        self.sizes[var], self.nested[var] = self.size - size, self.most_quotients
        self.quotients, self.most_quotients = around, max(most, self.most_quotients)
        return {var: dtype}

    def nest(self, quotients: int) -> None:
        """Count quotients inside those around; raises ``UnsafeProgram`` for too many."""
        found = self.quotients + quotients
        self.most_quotients = max(self.most_quotients, found)
        self.require(
            found <= QUOTIENTS, "quotients inside quotients", expected=QUOTIENTS, got=found
        )

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
        before, around = self.size, self.quotients
        if _divides_integers(expr):
            self.quotients += 1
            self.nest(0)
        with self.inside(expr):
            dtype = self.claims(expr, self._of(expr))
        self.quotients = around
        if dtype in INTEGERS and self.size - before > INTEGER_NODES:
            self.refuse(
                "an integer is too large an expression",
                expected=f"at most {INTEGER_NODES:,} nodes",
                got=f"{self.size - before:,}, with variables replaced by their values",
            )
        return dtype

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
                self.count(self.sizes.get(expr, 1) - 1)
                self.nest(self.nested.get(expr, 0))
                return self.variables[expr]
            case TensorLoad():
                return self.element(expr.source, expr.indices)
            case tirx.Let():
                with self.defined(self.bound(expr.var, expr.value)):
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
        if dtype.startswith("uint") and kind not in (*SHIFTS, *BITWISE, tirx.Select):
            self.refuse(
                "arithmetic of unsigned integers, with which TVM may end the process",
                expected="int32 | int64",
                got=expr,
                hint="cast to int32 before",
            )
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
