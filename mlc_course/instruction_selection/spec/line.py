"""One line of text that says what a loop computes, such as ``u8 A, u8 B -> u8 O: min(A + B, 255)``.

==========================  ======================================================================
``s16 A``                   each output reads one lane of A
``u8*4 A``                  each output reads four neighbouring lanes and the loop adds over them
``u8*4 A!``                 all outputs read the same four lanes: A is shared
``u8 A in 0..127``          a promise: every lane of A is from 0 to 127
``s32 C, ... -> s32 C:``    an accumulator: the output is read before it is written
==========================  ======================================================================

The expression has the operators ``+ - * << >> & | ^ ~``, comparisons, ``min``, ``max``, ``clamp(x,
lo, hi)``, ``abs``, ``select(condition, a, b)``, integers, and casts such as ``u16(x)``, which wrap.
As in C, arithmetic is in int32 whatever the types of the operands, or in int64 where an operand or
the result has values that int32 does not hold, or where a cast asks for it: ``s64(A) * B``. The
result wraps to its type.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import index
from typing import NoReturn

from mlc_course.errors import CourseError, TextError, UsageError
from mlc_course.instruction_selection.integers import S32, S64, IntType, int_type
from mlc_course.instruction_selection.spec.cell import CellOperand
from mlc_course.tensor_program.tir import Expr, tirx

LONGEST = 4096  # characters of a line
DEEPEST = 100  # levels of an expression
FORM = "TYPE NAME, TYPE*LANES NAME, ... -> TYPE NAME: EXPRESSION"
_OPERAND = re.compile(
    r"\s*(?P<type>\w+)\s*(?:\*\s*(?P<lanes>\d+))?\s+(?P<name>[A-Za-z]\w*)\s*(?P<shared>!)?\s*"
    r"(?:in\s+(?P<lo>-?\d+)\s*\.\.\s*(?P<hi>-?\d+))?\s*"
)
_BINARY: dict[type[ast.operator], type] = {
    ast.Add: tirx.Add,
    ast.Sub: tirx.Sub,
    ast.Mult: tirx.Mul,
    ast.BitAnd: tirx.BitwiseAnd,
    ast.BitOr: tirx.BitwiseOr,
    ast.BitXor: tirx.BitwiseXor,
    ast.LShift: tirx.LShift,
    ast.RShift: tirx.RShift,
}
_COMPARISONS: dict[type[ast.cmpop], type] = {
    ast.Lt: tirx.LT,
    ast.LtE: tirx.LE,
    ast.Gt: tirx.GT,
    ast.GtE: tirx.GE,
    ast.Eq: tirx.EQ,
    ast.NotEq: tirx.NE,
}
_ARGUMENTS = {"min": 2, "max": 2, "clamp": 3, "abs": 1, "select": 3}
_CASTS = ("u8", "s8", "u16", "s16", "u32", "s32", "s64")
_KNOWN = (
    f"+ - * << >> & | ^ ~, comparisons, {', '.join(_ARGUMENTS)}, casts such as u16(x), integers"
)


@dataclass(frozen=True)
class Line:
    """A line that was read: its operands in order, its result, and its expression."""

    text: str
    operands: tuple[CellOperand, ...]
    result: str
    type: IntType
    arithmetic: IntType
    tree: ast.expr = field(compare=False, repr=False)
    column: int = field(compare=False, repr=False)

    @property
    def lanes(self) -> int:
        """The number of lanes that the loop adds over for one output."""
        return max((each.lanes for each in self.operands), default=1)

    @property
    def accumulates(self) -> bool:
        return any(each.name == self.result for each in self.operands)

    @property
    def reads(self) -> tuple[str, ...]:
        """The operands in the order in which the expression reads them."""
        types = {each.name: each.type for each in self.operands}
        found: dict[str, Expr] = {}
        self.value(lambda name: found.setdefault(name, tirx.Var(name, types[name].dtype)))
        return tuple(found)

    def value(self, load: Callable[[str], Expr]) -> Expr:
        """Return the expression in TensorIR, with the value of an operand from ``load``."""
        return _cast(_Translation(self, load).number(self.tree, 0), self.type)


def read_line(
    text: str,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    arithmetic: IntType | None = None,
) -> Line:
    """Return what a line says; ``ranges`` replace those that it promises.

    ``arithmetic`` is the type to compute in, if it is not the one of C. Types of 8 and 16 bits
    wrap.

    Raises:
        TextError: the line has no such form; the message names the column.
        UsageError: operands do not fit together, or a range or a constant does not fit its type.
    """
    text = " ".join(text.split())
    if len(text) > LONGEST or not text.isascii():
        raise TextError(
            "a specification of one line",
            expected=f"up to {LONGEST} ASCII characters",
            got=f"{len(text)} characters" if text.isascii() else text[:80],
        )
    if "#" in text:  # Python would skip the rest of the line, which was several lines before
        _wrong(text, text.index("#"), "a line without comments", text[text.index("#") :][:80])
    arrow = text.find("->")
    colon = text.find(":", arrow)
    if arrow < 0 or colon < 0:
        _wrong(text, len(text), FORM, "the line ends")
    operands = tuple(_operands(text[:arrow], text))
    result = _operand(text[arrow + 2 : colon], arrow + 2, text)
    if result.lanes > 1 or result.shared or result.lo is not None:
        _wrong(text, arrow + 2, "TYPE NAME as result", text[arrow + 2 : colon].strip())
    operands = tuple(with_range(each, (ranges or {}).get(each.name)) for each in operands)
    unknown = set(ranges or {}) - {each.name for each in operands}
    if unknown:
        raise UsageError(
            "a range is promised for what the line does not read",
            expected=" | ".join(each.name for each in operands),
            got=", ".join(sorted(unknown)),
        )
    _check_operands(operands, result)
    body = text[colon + 1 :]
    start = colon + 1 + len(body) - len(body.lstrip())
    line = Line(
        text=text,
        operands=operands,
        result=result.name,
        type=result.type,
        arithmetic=arithmetic or _arithmetic((*operands, result)),
        tree=_parsed(body.strip(), start, text),
        column=start,
    )
    _check_names(line)
    return line


def with_range(operand: CellOperand, promised: tuple[int, int] | None) -> CellOperand:
    """Return an operand with another range.

    Raises:
        UsageError: the range is not two integers, is empty, or is outside the operand's type.
    """
    if promised is None:
        return operand
    try:
        lo, hi = map(index, promised)
    except (TypeError, ValueError):
        raise UsageError(
            f"the range of {operand.name}", expected="(lo, hi), two integers", got=repr(promised)
        ) from None
    of = operand.type
    if lo > hi or not of.holds(lo, hi):
        raise UsageError(
            f"{operand.name} in {lo}..{hi}: "
            + ("the range is empty" if lo > hi else f"the range is outside the type {of}"),
            expected=f"lo..hi with {of.lo} <= lo <= hi <= {of.hi}",
            got=f"{lo}..{hi}",
            hint=f"{operand.name} in {hi}..{lo}" if lo > hi and of.holds(hi, lo) else None,
        )
    return replace(operand, lo=lo, hi=hi)


def _operands(head: str, text: str) -> list[CellOperand]:
    found: list[CellOperand] = []
    at = 0
    for part in head.split(","):
        found.append(_operand(part, at, text))
        if any(each.name == found[-1].name for each in found[:-1]):
            _wrong(text, at, "each operand once", f"{found[-1].name} again")
        at += len(part) + 1
    return found


def _operand(part: str, at: int, text: str) -> CellOperand:
    at += len(part) - len(part.lstrip())
    found = _OPERAND.fullmatch(part)
    if found is None:
        _wrong(text, at, "TYPE NAME, TYPE*LANES NAME, NAME! or NAME in LO..HI", part.strip())
    name, lanes = found["name"], int(found["lanes"] or 1)
    if name in (*_ARGUMENTS, *_CASTS) or keyword.iskeyword(name):
        _wrong(text, at, "a name that means nothing else in a line", name)
    if lanes not in (1, 2, 4, 8, 16):
        _wrong(text, at, "1, 2, 4, 8 or 16 lanes for one output", f"{lanes} lanes")
    try:
        made = CellOperand(name, int_type(found["type"]), lanes, shared=bool(found["shared"]))
    except CourseError as error:
        error.add_note(f"in column {at + 1} of: {text}")
        raise
    return with_range(made, (int(found["lo"]), int(found["hi"])) if found["lo"] else None)


def _check_operands(operands: tuple[CellOperand, ...], result: CellOperand) -> None:
    counts = {each.name: each.lanes for each in operands if each.lanes > 1}
    if len(set(counts.values())) > 1:
        raise UsageError(
            "a loop adds over the lanes of its operands together",
            expected="operands with the same number of lanes, or with one",
            got=", ".join(f"{name} has {lanes}" for name, lanes in counts.items()),
        )
    own = next((each for each in operands if each.name == result.name), None)
    if own is not None and (own.type != result.type or own.lanes > 1 or own.shared):
        raise UsageError(
            f"{result.name} is read and written: it is an accumulator, of one type and one lane",
            expected=f"{result.type} {result.name} on both sides",
            got=f"{own.type}{f'*{own.lanes}' if own.lanes > 1 else ''} {own.name}"
            f"{'!' if own.shared else ''}",
        )
    if counts and own is None:
        raise UsageError(
            "a sum over lanes needs an accumulator",
            expected=f"the output {result.name} among the operands",
            got=", ".join(each.name for each in operands),
            hint=f"{result.type} {result.name}, ... -> {result.type} {result.name}: "
            f"{result.name} + ...",
        )


def _arithmetic(operands: tuple[CellOperand, ...]) -> IntType:
    for of in (S32, S64):
        if all(of.holds(each.type.lo, each.type.hi) for each in operands):
            return of
    raise UsageError(
        "arithmetic of a line is in int32 or int64, and u64 fits in neither",
        expected="operands of up to 32 bits, or s64",
        got=", ".join(f"{each.type} {each.name}" for each in operands),
    )


def _parsed(body: str, start: int, text: str) -> ast.expr:
    try:
        tree = ast.parse(body, mode="eval").body
    except SyntaxError as error:
        _wrong(text, start + (error.offset or 1) - 1, f"an expression of {_KNOWN}", error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        _wrong(text, start, f"an expression of {_KNOWN}", type(error).__name__)
    return tree


def _check_names(line: Line) -> None:
    """Check that exactly the operands are used."""
    used = line.reads
    unused = [each.name for each in line.operands if each.name not in used]
    if unused:
        raise UsageError(
            "an operand is named and not used",
            expected=f"{', '.join(unused)} in the expression",
            got=line.text[line.column :],
            hint="leave it out before the arrow",
        )


def _wrong(text: str, at: int, expected: str, got: object) -> NoReturn:
    raise TextError(f"column {at + 1} of the line {text!r}", expected=expected, got=got)


def _cast(value: Expr, to: IntType) -> Expr:
    if isinstance(value, tirx.IntImm):  # TVM cannot simplify the cast of -1 to uint8
        return tirx.const(to.wrapped(int(value.value)), to.dtype)
    return value if str(value.ty.dtype) == to.dtype else tirx.Cast(to.dtype, value)


def _zero(like: Expr) -> Expr:
    return tirx.const(0, str(like.ty.dtype))


@dataclass(frozen=True)
class _Translation:
    """Expressions of a line as TensorIR; each is of the type of its arithmetic, or a bool."""

    line: Line
    load: Callable[[str], Expr]

    def number(self, tree: ast.expr, depth: int) -> Expr:
        """Return a value in the type of the arithmetic, or in int64 where that does not hold it."""
        value, of = self.value(tree, depth), self.line.arithmetic
        kind = str(value.ty.dtype)
        if of == S32 and kind != "bool" and not of.holds(int_type(kind).lo, int_type(kind).hi):
            return _cast(value, S64)
        return _cast(value, of)

    def numbers(self, *trees: ast.expr, depth: int) -> list[Expr]:
        """Return values in their common type."""
        found = [self.number(each, depth + 1) for each in trees]
        if len({str(each.ty.dtype) for each in found}) > 1:
            return [_cast(each, S64) for each in found]
        return found

    def value(self, tree: ast.expr, depth: int) -> Expr:
        if depth > DEEPEST:
            self.wrong(tree, f"up to {DEEPEST} levels")
        match tree:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                return self.constant(tree, number)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
                return self.constant(tree, -number)
            case ast.UnaryOp(op=ast.USub()):
                inner = self.number(tree.operand, depth + 1)
                return tirx.Sub(_zero(inner), inner)
            case ast.UnaryOp(op=ast.Invert()):
                return tirx.BitwiseNot(self.number(tree.operand, depth + 1))
            case ast.Name():
                return self.operand(tree)
            case ast.BinOp() if type(tree.op) in _BINARY:
                return self.binary(tree, depth)
            case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod()):
                self.wrong(
                    tree,
                    "no division: no vector unit divides integers",
                    "shift by a power of two, or multiply by a reciprocal and shift: "
                    "(x * 21846) >> 16 is x // 3 for x up to 765",
                )
            case ast.Compare(ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                return _COMPARISONS[type(op)](*self.numbers(tree.left, right, depth=depth))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.call(tree, name, args, depth)
        self.wrong(tree, _KNOWN)

    def constant(self, tree: ast.expr, number: int) -> Expr:
        of = self.line.arithmetic
        if not of.holds(number, number):
            raise UsageError(
                f"column {self.column(tree)}: the constant is outside its type",
                expected=f"{of.lo}..{of.hi}: the arithmetic of this line is in {of}",
                got=number,
                hint="an operand or a result of 64 bits makes it s64" if of == S32 else None,
            )
        return tirx.const(number, of.dtype)

    def operand(self, tree: ast.Name) -> Expr:
        names = [each.name for each in self.line.operands]
        if tree.id not in names:
            hint = f"name it before the arrow: TYPE {tree.id}"
            if tree.id == self.line.result:
                hint = f"an accumulator is named on both sides: {self.line.type} {tree.id}, ... ->"
            raise UsageError(
                f"column {self.column(tree)}: {tree.id} is used and not named",
                expected=" | ".join(names),
                got=tree.id,
                hint=hint,
            )
        return self.load(tree.id)

    def binary(self, tree: ast.BinOp, depth: int) -> Expr:
        if not isinstance(tree.op, (ast.LShift, ast.RShift)):
            return _BINARY[type(tree.op)](*self.numbers(tree.left, tree.right, depth=depth))
        left, right = self.number(tree.left, depth + 1), self.number(tree.right, depth + 1)
        bits = int_type(str(left.ty.dtype)).bits
        if not (isinstance(right, tirx.IntImm) and 0 <= int(right.value) < bits):
            self.wrong(tree.right, f"a shift by a constant from 0 to {bits - 1}")
        amount = tirx.const(int(right.value), str(left.ty.dtype))
        return _BINARY[type(tree.op)](left, amount)

    def call(self, tree: ast.Call, name: str, args: list[ast.expr], depth: int) -> Expr:
        if name in _CASTS and len(args) == 1:
            return self.cast(self.number(args[0], depth + 1), int_type(name))
        if name not in _ARGUMENTS:
            self.wrong(tree, _KNOWN)
        wanted = _ARGUMENTS[name]
        if len(args) != wanted and not (name in ("min", "max") and len(args) > wanted):
            self.wrong(tree, f"{name} with {wanted} arguments")
        if name == "select":
            condition = self.value(args[0], depth + 1)
            if str(condition.ty.dtype) != "bool":
                condition = tirx.NE(condition, _zero(condition))
            return tirx.Select(condition, *self.numbers(*args[1:], depth=depth))
        values = self.numbers(*args, depth=depth)
        if name == "abs":
            return tirx.Max(values[0], tirx.Sub(_zero(values[0]), values[0]))
        if name == "clamp":
            return tirx.Min(tirx.Max(values[0], values[1]), values[2])
        value = values[0]
        for each in values[1:]:
            value = (tirx.Min if name == "min" else tirx.Max)(value, each)
        return value

    def cast(self, value: Expr, to: IntType) -> Expr:
        """Return the value of a type that has the same low bits, with masks where it may wrap.

        TVM's simplifier takes it that a cast keeps the value: it compiles ``max(s8(A), 0)`` for A
        of 0 to 255 to A. So ``u8(x)`` is ``x & 255``, and ``s8(x)`` is ``((x & 255) ^ 128) - 128``.
        """
        source = int_type(str(value.ty.dtype))
        if isinstance(value, tirx.IntImm):
            number = to.wrapped(int(value.value))
            wide = source == S32 and (to == S64 or not source.holds(number, number))
            of = S64 if wide else source
            return tirx.const(of.wrapped(number), of.dtype)
        inner = value.value if isinstance(value, tirx.Cast) else value
        kind = str(inner.ty.dtype)
        if kind == "bool" or to.holds(int_type(kind).lo, int_type(kind).hi):
            return _cast(value, S64) if to == S64 and source == S32 else value
        if source == S32 and to.bits >= 32 and not to.signed:
            value, source = _cast(value, S64), S64
        if to.bits >= source.bits:
            return value
        dtype = source.dtype
        low = tirx.BitwiseAnd(value, tirx.const((1 << to.bits) - 1, dtype))
        if not to.signed:
            return low
        half = tirx.const(1 << (to.bits - 1), dtype)
        value = tirx.Sub(tirx.BitwiseXor(low, half), half)
        return _cast(value, S32) if to == S32 else value

    def column(self, tree: ast.expr) -> int:
        return self.line.column + tree.col_offset + 1

    def wrong(self, tree: ast.expr, expected: str, hint: str | None = None) -> NoReturn:
        raise TextError(
            f"column {self.column(tree)} of the line {self.line.text!r}",
            expected=expected,
            got=self.line.text[
                self.column(tree) - 1 : self.line.column + (tree.end_col_offset or 0)
            ],
            hint=hint,
        )
