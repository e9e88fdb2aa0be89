"""A kernel program spelled in TensorIR: for LLVM, in float32, with float32 or float16 storage.

Blocks are the iterations of one parallel loop. Nothing is decided here: each statement has one
spelling. A kernel of all sizes takes them as numbers after its buffers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mlc_course.errors import GraphError, check_known
from mlc_course.mugraph.kernels import (
    CONST,
    VAR,
    Allocate,
    Apply,
    Axis,
    Barrier,
    Body,
    Buffer,
    Compute,
    Constant,
    Count,
    Expr,
    Fetch,
    Guard,
    Kernel,
    Lookup,
    Loop,
    Read,
    Remark,
    Repeat,
    Select,
    SizedBuffer,
    SizedKernel,
    Statement,
    Value,
    walk,
)
from mlc_course.tensor_program.tir import ALIGNMENT, STACK_BYTES, PrimFunc, tirx

FLOAT_BYTES = 4
# LLVM finds out more about addresses that are computed in 64 bits.
INDEX = "int64"
SERIAL, UNROLLED = tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED
VECTOR, PARALLEL = tirx.ForKind.VECTORIZED, tirx.ForKind.PARALLEL
ACTIONS = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": tirx.floordiv,
    "%": tirx.floormod,
    "<": lambda a, b: a < b,
    "==": tirx.EQ,
    "&": tirx.And,
    "^": tirx.bitwise_xor,
}
FUNCTIONS = {
    "add": lambda a, b: wrapping(tirx.Add, a, b),
    "sub": lambda a, b: minus(a, b),
    "mul": lambda a, b: wrapping(tirx.Mul, a, b),
    "div": tirx.Div,
    # not Select(a > b, a, b): nested, its operands double at each level
    "max": tirx.max,
    "min": tirx.min,
    "exp": lambda x: exp(x),
    "sqrt": tirx.sqrt,
    "log": tirx.log,
    "erf": lambda x: erf(x),
    "tanh": lambda x: tanh(x),
    "sin": tirx.sin,
    "cos": tirx.cos,
    "abs": tirx.abs,
    "round": tirx.nearbyint,
    "pow": tirx.power,
    "less": lambda a, b: number(a < b),
    # not EQ(a, b), which TVM takes to hold for a NaN and itself, and as NE(a, b) not to
    "equal": lambda a, b: number(tirx.And(a <= b, b <= a)),
    "not": lambda a: number(is_zero(a)),
    "choose": lambda when, a, b: tirx.Select(is_zero(when), b, a),
}


def prim_func(kernel: Kernel, storage: str = "float32") -> PrimFunc:
    """Return a kernel as a TensorIR function of its inputs, then its outputs, then sizes if any.

    Raises ``GraphError`` for a function of elements that has no spelling here.
    """
    if isinstance(kernel, SizedKernel):
        return _SizedWriter(kernel, storage).function()
    return _Writer(kernel, storage).function()


class _Writer:
    def __init__(self, kernel: Kernel, storage: str) -> None:
        self.kernel, self.storage = kernel, storage
        self.buffers: dict[str, Any] = {}
        self.values: dict[str, Any] = {}  # of the variables of index expressions

    def function(self) -> PrimFunc:
        kernel = self.kernel
        arguments = (*kernel.inputs, *kernel.outputs)
        parameters = [made for each in arguments for made in self.declared(each)]
        block = tirx.Var("block", INDEX)
        left: Any = block
        for number, (name, extent) in reversed(list(enumerate(kernel.grid))):
            self.values[name] = tirx.floormod(left, extent) if number else left
            left = tirx.floordiv(left, extent)
        made = [each.buffer for each in walk(kernel.body) if isinstance(each, Allocate)]
        # a block runs loops "in any order" one iteration after the other
        kept = (*kernel.shared, *(each for each in made if each.scope == "private"))
        body = [tirx.AllocBuffer(made) for each in kept for made in self.declared(each)]
        body += self.statements(kernel.body)
        whole = tirx.For(block, 0, kernel.blocks, PARALLEL, _sequence(body))
        function = PrimFunc(parameters, whole)
        return function.with_attr({"tirx.noalias": True, "global_symbol": "main"})

    def declared(self, buffer: Buffer) -> list[Any]:
        """Return new TensorIR buffers: one, or one for each row of many registers.

        TVM puts small buffers on the stack, where LLVM makes registers of them, and larger ones
        into a workspace.
        """
        shape = self.shape(buffer)
        count = 1
        if buffer.scope == "registers" and FLOAT_BYTES * buffer.size >= STACK_BYTES:
            shape, count = buffer.shape[-1:], math.prod(buffer.shape[:-1])
        made = [
            tirx.decl_buffer(
                shape,
                self.dtype(buffer),
                f"{buffer.name}_{n}" if count > 1 else buffer.name,
                data_alignment=ALIGNMENT,
                layout=None,
            )
            for n in range(count)
        ]
        self.buffers[buffer.name] = made if count > 1 else made[0]
        return made

    def shape(self, buffer: Buffer) -> tuple[Any, ...]:
        return buffer.shape if buffer.scope == "global" else (buffer.size,)

    def dtype(self, buffer: Buffer) -> str:
        own: dict[str, str] = {"storage": self.storage, "sum": "float32"}
        return own.get(buffer.role, buffer.role)

    # ---- indices and values

    def index(self, e: Expr) -> Any:
        if e.op == CONST:
            return tirx.const(e.args[0], INDEX)
        if e.op == VAR:
            return self.values[e.args[0]]
        return ACTIONS[e.op](*map(self.index, e.args))

    def place(self, buffer: Buffer, index: Sequence[Expr]) -> tuple[Any, list[Any]]:
        """Return the memory that an element lies in, and where."""
        made = self.buffers[buffer.name]
        if buffer.scope == "global":
            return made, [self.index(each) for each in index]
        if isinstance(made, list):  # rows of registers
            *row, last = index
            flat = self.index(replace(buffer, shape=buffer.shape[:-1]).flat(row))
            return made[int(flat)], [self.index(last)]
        return made, [self.index(buffer.flat(index))]

    def value(self, value: Value) -> Any:
        match value:
            case Constant(number):
                return tirx.const(_rounded(float(number)), "float32")
            case Read(buffer, index):
                read = tirx.BufferLoad(*self.place(buffer, index))
                return tirx.Cast("float32", read) if self.is_narrow(buffer) else read
            case Apply("max" | "min" as name, (a, b)):
                return self.extreme(name, a, b)
            case Apply(name, args):
                check_known("no spelling in TensorIR for", name, FUNCTIONS, GraphError)
                return FUNCTIONS[name](*map(self.operand, args))
            case Select(when, then, otherwise):
                there = self.value(then), self.value(otherwise)
                return tirx.if_then_else(self.index(when), *there)
            case Count(at):
                return tirx.Cast("float32", self.index(at))
            case Lookup(table, row, width, rest):
                place = tirx.Cast(INDEX, self.value(row)) * self.index(width) + self.index(rest)
                read = tirx.BufferLoad(self.buffers[table.name], [place])
                return tirx.Cast("float32", read) if self.is_narrow(table) else read

    def operand(self, value: Value) -> Any:
        """Return a value; a zero in a way that TVM does not see, which has NaN * 0 == 0."""
        is_zero = isinstance(value, Constant) and _rounded(float(value.number)) == 0
        return hidden_zero() if is_zero else self.value(value)

    def extreme(self, name: str, a: Value, b: Value) -> Any:
        """Return the larger or the smaller of two, and NaN where one of them is.

        TVM's max(a, b) is a if a > b, else b: a NaN comes out if it is the second. The first is
        spelled three times, so it is the one that is only read, if there is one.
        """
        if isinstance(b, Constant) or isinstance(b, Read) and not isinstance(a, Constant):
            a, b = b, a
        first = self.value(a)
        found = FUNCTIONS[name](first, self.value(b))
        is_number = first <= tirx.const(math.inf, "float32")
        return found if isinstance(a, Constant) else tirx.Select(is_number, found, first)

    def is_narrow(self, buffer: Buffer) -> bool:
        """Tell whether elements are computed with as another type."""
        return self.dtype(buffer) in ("float16", "bool")

    # ---- statements

    def statements(self, body: Body) -> list[Any]:
        return [made for each in body for made in self.statement(each)]

    def statement(self, statement: Statement) -> list[Any]:
        match statement:
            case Remark() | Barrier():  # with one thread, all threads are here
                return []
            case Allocate(buffer) if buffer.scope == "private":
                return []  # it is there all the time
            case Allocate(buffer):
                return [tirx.AllocBuffer(made) for made in self.declared(buffer)]
            case Compute():
                return self.compute(statement, statement.axes)
            case Fetch(ahead):
                return [self.fetch(each) for each in ahead]
            case Loop(name, extent, body, order):
                kind = UNROLLED if order == "unrolled" else SERIAL
                return [self.loop(name, extent, kind, lambda: self.statements(body))]
            case Guard(when, body, otherwise):
                there = _sequence(self.statements(otherwise)) if otherwise else None
                here = _sequence(self.statements(body))
                return [tirx.IfThenElse(self.index(when), here, there)]
        raise GraphError(
            "a statement that TensorIR for a CPU does not have",
            expected="a kernel program with one thread a block",
            got=type(statement).__name__,
        )

    def loop(self, name: str, extent: int, kind: Any, body: Any) -> Any:
        variable = self.values[name] = tirx.Var(name, INDEX)
        made = tirx.For(variable, 0, extent, kind, _sequence(body()))
        del self.values[name]
        return made

    def compute(self, compute: Compute, axes: Sequence[Axis]) -> list[Any]:
        """The loops of the axes, outermost first, then the store."""
        if not axes:
            return [self.store(compute)]
        axis, *inner = axes
        whole, rest = divmod(axis.extent, axis.lanes)
        body = partial(self.compute, compute, inner)
        made = self.vectors(axis, 0, whole, axis.lanes, body)
        return [*made, *self.vectors(axis, axis.extent - rest, rest, 1, body)]

    def vectors(
        self, axis: Axis, start: int, count: int, lanes: int, body: Callable[[], list[Any]]
    ) -> list[Any]:
        """So many vectors of an axis, one after the other, in a loop or written out."""
        lane = tirx.Var(f"{axis.name}_lane", INDEX)
        step = tirx.Var(axis.name, INDEX)
        in_loop = count > 1 and not axis.unrolled
        made: list[Any] = []
        for at in [step] if in_loop else range(count):
            first = at * lanes + start
            if lanes > 1:
                self.values[axis.name] = lane + first
                made.append(tirx.For(lane, 0, lanes, VECTOR, _sequence(body())))
            else:
                self.values[axis.name] = first if in_loop else tirx.const(first, INDEX)
                made += body()
            self.values.pop(axis.name)
        return [tirx.For(step, 0, count, SERIAL, _sequence(made))] if in_loop else made

    def store(self, compute: Compute) -> Any:
        target, formula = compute.target, compute.value
        if compute.combine:
            formula = Apply(compute.combine, (Read(target, compute.index), formula))
        dtype = self.dtype(target)
        if isinstance(formula, Count) and dtype.startswith("int"):
            value = self.index(formula.at)
        elif isinstance(formula, Constant):
            value = tirx.const(_rounded(float(formula.number), dtype), dtype)
        else:
            value = self.value(formula)
        if dtype != str(value.ty):
            value = tirx.Not(is_zero(value)) if dtype == "bool" else tirx.Cast(dtype, value)
        made, place = self.place(target, compute.index)
        return tirx.BufferStore(made, value, place)

    def fetch(self, read: Read) -> Any:
        place = tirx.BufferLoad(*self.place(read.buffer, read.index))
        for_reading, into_l2, data = (tirx.const(n, "int32") for n in (0, 2, 1))
        call = tirx.call_llvm_intrin(
            "void", "llvm.prefetch", tirx.address_of(place), for_reading, into_l2, data
        )
        return tirx.Evaluate(call)


class _SizedWriter(_Writer):
    """Writes a kernel of all sizes. Its indices are not negative, so that C's division does."""

    kernel: SizedKernel

    def function(self) -> PrimFunc:
        kernel = self.kernel
        arguments = (*kernel.inputs, *kernel.outputs)
        parameters = [made for each in arguments for made in self.declared(each)]
        for name in kernel.sizes:
            self.values[name] = tirx.Var(name, INDEX)
        block = tirx.Var("block", INDEX)
        ((own, _),) = kernel.grid
        self.values[own] = block
        body = [tirx.AllocBuffer(made) for each in kernel.shared for made in self.declared(each)]
        body += self.statements(kernel.body)
        whole = tirx.For(block, 0, self.index(kernel.count), PARALLEL, _sequence(body))
        function = PrimFunc([*parameters, *map(self.values.get, kernel.sizes)], whole)
        return function.with_attr({"tirx.noalias": True, "global_symbol": "main"})

    def shape(self, buffer: Buffer) -> tuple[Any, ...]:
        if not isinstance(buffer, SizedBuffer):
            return super().shape(buffer)
        if buffer.scope == "global":  # an argument brings its length
            return (tirx.Var(f"length_of_{buffer.name}", INDEX),)
        return (self.index(buffer.length),)

    def place(self, buffer: Buffer, index: Sequence[Expr]) -> tuple[Any, list[Any]]:
        if isinstance(buffer, SizedBuffer):
            return self.buffers[buffer.name], [self.index(buffer.flat(index))]
        return super().place(buffer, index)

    def value(self, value: Value) -> Any:
        match value:
            case Select(when, then, Constant() as otherwise) if self.is_at_hand(then):
                # in vectors: if_then_else would go element by element
                return tirx.Select(self.index(when), self.value(then), self.value(otherwise))
        return super().value(value)

    @staticmethod
    def is_at_hand(value: Value) -> bool:
        """Tell whether it is an element of a tile of known extents: padding of it may be read."""
        return (
            isinstance(value, Read)
            and value.buffer.scope != "global"
            and not isinstance(value.buffer, SizedBuffer)
        )

    def index(self, e: Expr) -> Any:
        if e.op in ("//", "%"):
            a, b = map(self.index, e.args)
            return tirx.truncdiv(a, b) if e.op == "//" else tirx.truncmod(a, b)
        return super().index(e)

    def statement(self, statement: Statement) -> list[Any]:
        match statement:
            case Repeat(name, extent, body):
                turns = self.index(extent)
                variable = self.values[name] = tirx.Var(name, INDEX)
                made = tirx.For(variable, 0, turns, SERIAL, _sequence(self.statements(body)))
                del self.values[name]
                return [made]
        return super().statement(statement)


def _rounded(number: float, dtype: str = "float32") -> Any:
    """Return a number as NumPy has it in a type: a float is infinite beyond its range."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.float32(number).astype(dtype).item()


def _sequence(statements: Sequence[Any]) -> Any:
    """One statement of several: TVM has no sequence of one, and none of none."""
    if not statements:
        return tirx.Evaluate(tirx.const(0, "int32"))
    return statements[0] if len(statements) == 1 else tirx.SeqStmt(list(statements))


# Cephes' expf (S. Moshier): a polynomial on half an octave, then a power of two.
EXP_TERMS = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.693359375, -2.12194440e-4
LOWEST, HIGHEST = -104.0, 89.0  # exp is 0 below, and infinite above, in float32


def exp(value: Any) -> Any:
    """Return exp of a float32 in vector instructions: 0, infinity and NaN where C has them."""

    def number(constant: float) -> Any:
        return tirx.const(constant, "float32")

    x, n, f = (tirx.Var(name, "float32") for name in "xnf")
    total = number(EXP_TERMS[0])
    for term in EXP_TERMS[1:]:
        total = total * f + number(term)
    # In two factors, since 2**n itself may be too large or too small.
    half = tirx.Var("half", "int32")
    rest = tirx.Cast("int32", n) - half
    result = (total * f * f + f + number(1.0)) * _power_of_two(half) * _power_of_two(rest)
    halved = tirx.Let(half, tirx.shift_right(tirx.Cast("int32", n), tirx.const(1, "int32")), result)
    reduced = tirx.Let(f, x - n * number(LN2_HIGH) - n * number(LN2_LOW), halved)
    rounded = tirx.Let(n, tirx.floor(x * number(LOG2_E) + number(0.5)), reduced)
    # In this order NaN stays NaN: TVM's min(a, b) is a if a < b, else b.
    limited = tirx.max(number(LOWEST), tirx.min(number(HIGHEST), value))
    return tirx.Let(x, limited, rounded)


# A quotient of odd and even polynomials on [-4, 4], as in Eigen's and TVM's fast erf.
ERF_ABOVE = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
ERF_BELOW = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)


def erf(value: Any) -> Any:
    """Return the error function of a float32 in vector instructions; NaN stays NaN."""
    return _odd_ratio(value, ERF_ABOVE, ERF_BELOW, 4.0)


# The same on [-7.9, 7.9], where tanh reaches 1 in float32, as in Eigen's fast tanh.
TANH_ABOVE = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
    1.48572235717979e-05,
    6.37261928875436e-04,
    4.89352455891786e-03,
)
TANH_BELOW = (
    1.19825839466702e-06,
    1.18534705686654e-04,
    2.26843463243900e-03,
    4.89352518554385e-03,
)
TANH_ENDS, TANH_IS_X = 7.90531110763549805, 4e-4  # below, x itself is as near as can be


def tanh(value: Any) -> Any:
    """Return tanh of a float32 in vector instructions; NaN stays NaN, and -0 stays -0."""
    x = tirx.Var("x", "float32")
    is_small = tirx.abs(x) < tirx.const(TANH_IS_X, "float32")
    ratio = _odd_ratio(x, TANH_ABOVE, TANH_BELOW, TANH_ENDS)
    return tirx.Let(x, value, tirx.Select(is_small, x, ratio))


def _odd_ratio(value: Any, above: Sequence[float], below: Sequence[float], ends: float) -> Any:
    """Return x times a quotient of polynomials in x * x, where x is cut off at both ends."""

    def polynomial(terms: Sequence[float], at: Any) -> Any:
        total = tirx.const(terms[0], "float32")
        for each in terms[1:]:
            total = total * at + tirx.const(each, "float32")
        return total

    x, square = tirx.Var("x", "float32"), tirx.Var("square", "float32")
    ratio = tirx.Div(x * polynomial(above, square), polynomial(below, square))
    low, high = (tirx.const(each, "float32") for each in (-ends, ends))
    limited = tirx.max(low, tirx.min(high, value))
    return tirx.Let(x, limited, tirx.Let(square, x * x, ratio))


def wrapping(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return a sum, a difference or a product; whole numbers of 32 bits wrap around, as in NumPy.

    TVM has LLVM take all others for numbers that stay in their range, so those of 64 bits must.
    """
    if str(a.ty) == str(b.ty) == "int32":
        return tirx.Cast("int32", operation(*(tirx.Cast("int64", each) for each in (a, b))))
    return operation(a, b)


def minus(a: Any, b: Any) -> Any:
    """Return a difference; for floats as x + -y, since TVM has x - x == 0 for infinity too."""
    if str(a.ty).startswith("int"):
        return wrapping(tirx.Sub, a, b)
    return a + b * tirx.const(-1.0, "float32")


def hidden_zero() -> Any:
    """Return 0 as a float32, such that TVM does not simplify what is done with it; LLVM does."""
    negative = tirx.reinterpret("float32", tirx.const(-(1 << 31), "int32"))
    return negative * tirx.const(-1.0, "float32")


def is_zero(value: Any) -> Any:
    """Return the condition that a number is 0; a NaN is not."""
    return tirx.EQ(value, tirx.const(0, str(value.ty)))


def number(condition: Any) -> Any:
    """Return 1 where a condition holds, and 0 elsewhere."""
    return tirx.Select(condition, tirx.const(1.0, "float32"), tirx.const(0.0, "float32"))


def _power_of_two(exponent: Any) -> Any:
    """A float32's exponent field holds exponent + 127, above 23 bits of mantissa."""
    bits = tirx.shift_left(exponent + 127, tirx.const(23, "int32"))
    return tirx.reinterpret("float32", bits)
