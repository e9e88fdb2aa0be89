"""A loop of TensorIR run on formulas: what each output is, over exact integers.

Each operation wraps at its type, as the processor's does. TVM tells LLVM that sums, differences and
products of 32 and 64 bits, signed or unsigned, never overflow (``add nsw``, ``mul nuw``), so that
compiled code may do anything where one does, and its own simplifier takes it that shifts to the
left do not: those that can overflow within the promised ranges are refused. Those of 8 and 16 bits
wrap in compiled code as they do here, but not inside a cast to 32 or 64 bits: of ``A + uint8(1)``
cast to ``int32`` the simplifier believes that it is above zero. There they are refused, too.

The simplifier also takes it that a cast keeps the value, as far as the type can hold it: of a
``uint8`` cast to ``int8`` it believes that it lies in 0..127, so that it drops the maximum in
``max(int8(A), 0)``. A cast inside a value that may change it, and whose operand has not all values
of its type, is refused, with the mask to write in its place. A mask is read as the cast that it is.

An accumulator is the exception: ``C + x`` that is stored in C wraps, in every type. What a loop
adds up to is its caller's matter, no range of C would make one more addition safe, and an
instruction that adds wraps, too. The proof is for all C, those that wrap among them, which is more
than LLVM promises of its own code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import (
    BOOL,
    Formula,
    IntType,
    bits_for,
    const,
    equals,
    greater,
    int_type,
    maximum,
    minimum,
    shift_right,
    where,
    wrap,
)
from mlc_course.tensor_program.tir import (
    IF_THEN_ELSE,
    Call,
    Expr,
    PrimFunc,
    SBlockRealize,
    TensorLoad,
    Var,
    name_of,
    operands,
    tirx,
)

Element: TypeAlias = tuple[int, ...]
Memory: TypeAlias = dict[str, dict[Element, Formula]]

REDUCTION = 2
MOST_STEPS = 1 << 20  # stores: a specification is an inner loop
_OVERFLOWS: dict[type, Callable[[Formula, Formula], Formula]] = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
}
_OTHERS: dict[type, Callable[[Formula, Formula], Formula]] = {
    tirx.Min: minimum,
    tirx.Max: maximum,
    tirx.BitwiseAnd: lambda a, b: a & b,
    tirx.BitwiseOr: lambda a, b: a | b,
    tirx.BitwiseXor: lambda a, b: a ^ b,
    tirx.GT: greater,
    tirx.LT: lambda a, b: greater(b, a),
    tirx.LE: lambda a, b: 1 - greater(a, b),
    tirx.GE: lambda a, b: 1 - greater(b, a),
    tirx.EQ: equals,
    tirx.NE: lambda a, b: 1 - equals(a, b),
    tirx.And: lambda a, b: a & b,
    tirx.Or: lambda a, b: a | b,
}
_OPPOSITE = {tirx.LE: tirx.GT, tirx.GE: tirx.LT, tirx.NE: tirx.EQ}
_DIVISIONS = (tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod)
_INDEX: dict[type, Callable[[int, int], int]] = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
    tirx.FloorDiv: lambda a, b: a // b,
    tirx.FloorMod: lambda a, b: a % b,
    tirx.Min: min,
    tirx.Max: max,
}


def run(function: PrimFunc, memory: Memory) -> Memory:
    """Run a loop on formulas; return the memory after it, by buffer and element.

    Raises:
        UsageError: the loop has floats, a division, an index that depends on data, a statement or
            an operation that no specification has, or 32- or 64-bit arithmetic that can overflow.
    """
    runner = _Runner({name: dict(held) for name, held in memory.items()})
    runner.statement(function.body)
    return runner.memory


def lane_type(dtype: object, expr: object = None) -> IntType:
    """Return the type of an expression's values; raises ``UsageError`` for floats and vectors."""
    text = str(dtype)
    if text == "bool":
        return BOOL
    try:
        return int_type(text)
    except UsageError:
        raise UsageError(
            "a specification computes on integers, one lane at a time",
            expected="values of 8 to 64 bits, signed or unsigned",
            got=text if expr is None else f"{expr}: {text}",
            hint="scale floats to fixed-point integers first" if "float" in text else None,
        ) from None


def index_value(expr: Expr, known: Mapping[Var, int]) -> int:
    """Return the value of an index; raises ``UsageError`` where it depends on data."""
    match expr:
        case tirx.IntImm():
            return int(expr.value)
        case tirx.Var() if expr in known:
            return known[expr]
        case tirx.Cast():
            return index_value(expr.value, known)
    if type(expr) in _INDEX:
        a, b = index_value(expr.a, known), index_value(expr.b, known)
        if b or not isinstance(expr, _DIVISIONS):
            return _INDEX[type(expr)](a, b)
    raise UsageError(
        "an index depends on data, or on more than loops",
        expected="sums, products by constants, quotients and remainders of loops",
        got=str(expr),
        hint="a table that is looked up by data has no vector instruction here",
    )


class _Runner:
    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.loops: dict[Any, int] = {}
        self.values: dict[Any, Formula] = {}
        self.steps = 0
        self.widened = False  # inside a cast to an integer of 32 or 64 bits, or what may be there

    def statement(self, stmt: Any) -> None:
        match stmt:
            case tirx.SeqStmt():
                for each in stmt.seq:
                    self.statement(each)
            case tirx.For():
                first, extent = (self.index(x) for x in (stmt.min, stmt.extent))
                for i in range(first, first + extent):
                    self.loops[stmt.loop_var] = i
                    self.statement(stmt.body)
            case SBlockRealize():
                self.block(stmt)
            case tirx.BufferStore():
                self.store(stmt)
            case tirx.Bind():
                self.values[stmt.var] = self.inside(stmt.value, widened=True)
            case tirx.AllocBuffer():
                self.memory.setdefault(str(stmt.buffer.name), {})
            case _:
                raise UsageError(
                    "a specification is loops around one store",
                    expected="loops, blocks, stores",
                    got=type(stmt).__name__,
                )

    def block(self, stmt: Any) -> None:
        block = stmt.block
        if not (isinstance(stmt.predicate, tirx.IntImm) and int(stmt.predicate.value) == 1):
            raise UsageError(
                f"block {block.name_hint}: only some of its outputs are computed",
                expected="a block without a condition",
                got=str(stmt.predicate),
                hint="split the loop by a divisor of its extent",
            )
        at = [self.index(each) for each in stmt.iter_values]
        for each, value in zip(block.iter_vars, at, strict=True):
            self.loops[each.var] = value
        for each in block.alloc_buffers:
            self.memory.setdefault(str(each.name), {})
        pairs = zip(block.iter_vars, at, strict=True)
        first = all(v == self.index(x.dom.min) for x, v in pairs if x.iter_type == REDUCTION)
        if block.init is not None and first:
            self.statement(block.init)
        self.statement(block.body)

    def store(self, stmt: Any) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise UsageError(
                "the loop is too long for an inner loop",
                expected=f"up to {MOST_STEPS:,} stores",
                got="more",
            )
        held = self.memory.setdefault(str(stmt.buffer.name), {})
        element = tuple(self.index(x) for x in stmt.indices)
        sums = frozenset(_sums(stmt.value, stmt.buffer))
        held[element] = self.value(stmt.value, sums, top=True)

    def index(self, expr: Expr) -> int:
        return index_value(expr, self.loops)

    def value(
        self, expr: Expr, wraps: frozenset[Any] = frozenset(), *, top: bool = False
    ) -> Formula:
        """Return the formula of a value; sums among ``wraps`` are an accumulator's.

        The value that is stored is at the ``top``.
        """
        of = lane_type(expr.ty.dtype, expr)
        kind = type(expr)
        extended = _extended(expr)
        if extended is not None:
            return wrap(of, wrap(extended[1], self.value(extended[0])))
        if kind in _OVERFLOWS:
            inner = wraps if kind is not tirx.Mul else frozenset()
            exact = _OVERFLOWS[kind](self.value(expr.a, inner), self.value(expr.b, inner))
            if (of.bits >= 32 and expr not in wraps) or self.widened:
                _check_fits(expr, exact, of)
            return wrap(of, exact)
        if kind in _OTHERS:
            widened = self.widened and of != BOOL  # it simplifies no comparison of narrow values
            a, b = (self.inside(x, widened=widened) for x in (expr.a, expr.b))
            return wrap(of, _OTHERS[kind](a, b))
        match expr:
            case tirx.IntImm():
                return const(int(expr.value))
            case TensorLoad():
                return self.load(expr)
            case tirx.Var() if expr in self.values:
                return self.values[expr]
            case tirx.Var() if expr in self.loops:
                return const(self.loops[expr])
            case tirx.Cast():
                widened = self.widened or (of.bits >= 32 and not top)
                cast = self.inside(expr.value, wraps, widened=widened)
                if not top:
                    _check_cast(expr, cast, of)
                return wrap(of, cast) if of != BOOL else 1 - equals(cast, 0)
            case tirx.Let():
                self.values[expr.var] = self.inside(expr.value, widened=True)
                return self.value(expr.body)
            case tirx.LShift() | tirx.RShift():
                return self.shift(expr, of)
            case tirx.BitwiseNot():
                return wrap(of, -1 - self.value(expr.a))
            case tirx.Not():
                return 1 - self.value(expr.a)
            case tirx.Select():
                return self.choice(expr.condition, expr.true_value, expr.false_value)
            case Call() if name_of(expr) == IF_THEN_ELSE:
                return self.choice(*expr.args)
            case Call() if name_of(expr) == "tirx.reinterpret":
                if lane_type(expr.args[0].ty.dtype).bits == of.bits:
                    return wrap(of, self.value(expr.args[0]))
        if isinstance(expr, _DIVISIONS):
            raise UsageError(
                "a division: no vector unit here divides integers",
                expected="sums, products, shifts, minima, comparisons, choices",
                got=str(expr),
                hint="shift by a power of two, or multiply by a reciprocal and shift: "
                "(x * 21846) >> 16 is x // 3 for x up to 765",
            )
        raise UsageError(
            "an operation that no specification has",
            expected="+ - * << >> & | ^ ~, comparisons, min, max, Select, casts",
            got=str(expr),
        )

    def inside(self, expr: Expr, wraps: frozenset[Any] = frozenset(), *, widened: bool) -> Formula:
        """Return the formula of a value that is inside a cast to 32 or 64 bits, or is not."""
        before, self.widened = self.widened, widened
        try:
            return self.value(expr, wraps)
        finally:
            self.widened = before

    def load(self, expr: Any) -> Formula:
        held = self.memory.get(str(expr.source.name), {})
        element = tuple(self.index(x) for x in expr.indices)
        if element not in held:
            raise UsageError(
                "the loop reads what nobody has written",
                expected=f"an element of {expr.source.name}",
                got=f"{expr.source.name}{list(element)}",
            )
        return held[element]

    def choice(self, condition: Expr, a: Expr, b: Expr) -> Formula:
        if type(condition) in _OPPOSITE:
            condition, a, b = _OPPOSITE[type(condition)](condition.a, condition.b), b, a
        elif isinstance(condition, tirx.Not):
            condition, a, b = condition.a, b, a
        return where(self.value(condition), self.value(a), self.value(b))

    def shift(self, expr: Any, of: IntType) -> Formula:
        amount = expr.b.value if isinstance(expr.b, tirx.Cast) else expr.b
        if not (isinstance(amount, tirx.IntImm) and 0 <= int(amount.value) < of.bits):
            raise UsageError(
                "a shift by something else than a constant of its type",
                expected=f"a constant from 0 to {of.bits - 1}",
                got=str(expr),
            )
        value, bits = self.value(expr.a), int(amount.value)
        if isinstance(expr, tirx.RShift):
            return shift_right(value, bits)
        if of.bits >= 32 or self.widened:
            _check_fits(expr, value << bits, of)
        return wrap(of, value << bits)


def _sums(value: Expr, buffer: Var) -> list[Any]:
    """Return the additions to the accumulator that a store ends in, such as C + x in C + x + y."""
    match value:
        case tirx.Add():
            sides = [value.a, value.b]
        case tirx.Sub():
            sides = [value.a]
        case tirx.Cast():
            return _sums(value.value, buffer)
        case _:
            return []
    inner = [each for side in sides for each in _sums(side, buffer)]
    return [value, *inner] if inner or any(_is_load(x, buffer) for x in sides) else []


def _is_load(value: Expr, buffer: Var) -> bool:
    while isinstance(value, tirx.Cast):
        value = value.value
    return isinstance(value, TensorLoad) and value.source.same_as(buffer)


def _extended(expr: Expr) -> tuple[Expr, IntType] | None:
    """Return x and a type where an expression is the low bits of x, as a value of that type.

    These are ``x & 255``, and ``((x & 255) ^ 128) - 128`` with a sign.
    """
    match expr:
        case tirx.BitwiseAnd(b=tirx.IntImm() as mask):
            for bits in (8, 16, 32):
                if int(mask.value) == (1 << bits) - 1:
                    return expr.a, IntType(signed=False, bits=bits)
        case tirx.Sub(a=tirx.BitwiseXor(b=tirx.IntImm() as flipped) as inner, b=tirx.IntImm()):
            found = _extended(inner.a)
            half = int(flipped.value)
            if found and half == int(expr.b.value) == 1 << (found[1].bits - 1):
                return found[0], IntType(signed=True, bits=found[1].bits)
    return None


def _check_cast(expr: Expr, value: Formula, to: IntType) -> None:
    whole = value.lo <= to.lo and to.hi <= value.hi
    if to == BOOL or to.holds(value.lo, value.hi) or whole:
        return
    mask = f"(x & {(1 << to.bits) - 1})"
    half = 1 << (to.bits - 1)
    raise UsageError(
        "a cast that may change the value: TVM's simplifier takes it that it does not",
        expected=f"values of {to}: {to.lo}..{to.hi}, or a mask",
        got=f"{expr} of {value.lo}..{value.hi}",
        hint=f"write ({mask} ^ {half}) - {half}" if to.signed else f"write {mask}",
    )


def _check_fits(expr: Expr, exact: Formula, of: IntType) -> None:
    if of.holds(exact.lo, exact.hi):
        return
    wider = of.bits == 32 and bits_for(exact.lo, exact.hi) <= 64
    if of.bits < 32:
        raise UsageError(
            "arithmetic that can overflow, in a cast: TVM's simplifier takes it that it does not",
            expected=f"values of {of}: {of.lo}..{of.hi}",
            got=f"{expr} in {exact.lo}..{exact.hi}",
            hint=f"cast what is read first, and mask the result: x & {(1 << of.bits) - 1}",
        )
    raise UsageError(
        "arithmetic that can overflow: TVM tells LLVM that it does not",
        expected=f"values of {of}: {of.lo}..{of.hi}",
        got=f"{expr} in {exact.lo}..{exact.hi}",
        hint="promise a range of what is read, such as A in 0..127"
        + (", or compute in int64: s64(A) * B" if wider else ""),
    )


def has_data(expr: Expr) -> bool:
    """Return whether an expression reads a buffer."""
    return isinstance(expr, TensorLoad) or any(map(has_data, operands(expr)))
