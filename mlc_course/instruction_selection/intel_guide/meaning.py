"""Pseudocode run on formulas: what the result's register holds, for all inputs at once.

The guide does not define its language. It is read so:

- Arithmetic is that of integers without bounds; what is assigned to bits keeps the low ones.
- A lane of an operand is signed or not as the guide's ``etype`` of that operand says. Any other
  bits of it are unsigned. Bits that were assigned have the number that was assigned, if they hold
  it.
- ``SignExtend``, ``ZeroExtend``, ``Signed`` and ``Unsigned`` read bits as they say; a shift to the
  right below them is arithmetic or logical accordingly.
- Both branches of an ``IF`` on data are run, and its condition chooses between what they leave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import assert_never

from mlc_course.deadline import check_time
from mlc_course.errors import TextError
from mlc_course.instruction_selection.integers import (
    Formula,
    IntType,
    absolute,
    bits_for,
    const,
    equals,
    greater,
    maximum,
    minimum,
    saturate,
    wrap,
)
from mlc_course.instruction_selection.intel_guide.bit_strings import (
    Bits,
    Value,
    either,
    number,
    part_by_part,
)
from mlc_course.instruction_selection.intel_guide.pseudocode import (
    COMPARISONS,
    Assign,
    Binary,
    Block,
    Call,
    Choice,
    Define,
    Expr,
    For,
    If,
    Name,
    Number,
    Slice,
    Statement,
    Unary,
    parsed,
)

MAX = 1023  # the highest bit of the widest register that there might be
MOST_TURNS = 512  # of one loop: the bits of the widest register
MOST_STEPS = 20_000
MOST_DEPTH = 100  # of statements, expressions and calls within each other
MOST_BITS = 2048  # of a number

_SIZED = re.compile(r"(SaturateU?|SignExtend|ZeroExtend|Truncate)(8|16|32|64)")
_BITWISE: dict[str, Callable[[Formula, Formula], Formula]] = {
    "AND": lambda a, b: a & b,
    "OR": lambda a, b: a | b,
    "XOR": lambda a, b: a ^ b,
}
_ON_NUMBERS: dict[str, Callable[[Formula, Formula], Formula]] = _BITWISE | {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "==": equals,
    "!=": lambda a, b: 1 - equals(a, b),
    ">": greater,
    "<": lambda a, b: greater(b, a),
    "<=": lambda a, b: 1 - greater(a, b),
    ">=": lambda a, b: 1 - greater(b, a),
}
_FUNCTIONS: dict[tuple[str, int], Callable[..., Formula]] = {
    ("ABS", 1): absolute,
    ("MIN", 2): minimum,
    ("MAX", 2): maximum,
}


def result_of(text: str, operands: Mapping[str, Bits], result: str, bits: int) -> Bits:
    """Return the low bits of the variable ``result`` after pseudocode was run on operands.

    Raises:
        TextError: the text cannot be read, takes too many steps, or leaves bits without a value.
        OutOfTime: the deadline of the thread has passed.
    """
    run = _Run(operands)
    try:
        run.block(parsed(text))
        value = run.values.get(result)
        if not isinstance(value, Bits):
            raise TextError("nothing is assigned to the result", expected=result, got=value)
        return value.cut(0, bits)
    except TextError as error:
        if run.line:
            error.add_note(f"in line {run.line} of the operation")
        raise


class _Run:
    """Variables while a text is run; numbers of loops and indices are constants."""

    def __init__(self, operands: Mapping[str, Bits]) -> None:
        self.values: dict[str, Value] = dict(operands)
        self.functions: dict[str, Define] = {}
        self.line = self.steps = self.depth = 0

    def step(self) -> None:
        check_time()
        self.steps += 1
        if self.steps > MOST_STEPS or self.depth > MOST_DEPTH:
            raise TextError(
                "the pseudocode does not come to an end soon",
                expected=f"at most {MOST_STEPS:,} steps, {MOST_DEPTH} within each other",
                got="more",
            )

    # ---- statements

    def block(self, statements: Block) -> None:
        self.depth += 1
        for each in statements:
            self.line = each.line
            self.step()
            self.statement(each)
        self.depth -= 1

    def statement(self, each: Statement) -> None:
        match each:
            case Assign(_, Name(name), value):
                self.values[name] = self.value(value)
            case Assign(_, Slice(Name(name)) as to, value):
                low, bits = self.place(to)
                before = self.values.get(name, Bits())
                if not isinstance(before, Bits):
                    raise TextError("bits of a number are assigned", expected="bits", got=name)
                self.values[name] = before.put(low, bits, self.value(value))
            case For():
                self.loop(each)
            case If():
                self.branches(each)
            case Define():
                self.functions[each.name] = each
            case Assign():
                raise AssertionError(each)
            case _:
                assert_never(each)

    def loop(self, each: For) -> None:
        first, last = self.constant(each.first), self.constant(each.last)
        if last - first >= MOST_TURNS:
            raise TextError(
                "a loop of the pseudocode is too long",
                expected=f"at most {MOST_TURNS} turns",
                got=f"FOR {each.name} := {first} to {last}",
            )
        for i in range(first, last + 1):
            self.values[each.name] = const(i)
            self.block(each.body)

    def branches(self, each: If) -> None:
        condition = self.number(each.condition)
        if condition.value is not None:
            self.block(each.yes if condition.value else each.no)
            return
        before = dict(self.values)
        self.block(each.yes)
        yes, self.values = self.values, before
        self.block(each.no)
        no = self.values
        self.values = {
            name: either(condition, value, no[name]) for name, value in yes.items() if name in no
        }

    # ---- expressions

    def value(self, each: Expr) -> Value:
        self.depth += 1
        self.step()
        found = self.any_value(each)
        self.depth -= 1
        if isinstance(found, Formula) and bits_for(found.lo, found.hi) > MOST_BITS:
            raise TextError("a number grows without bounds", expected=f"{MOST_BITS} bits")
        return found

    def any_value(self, each: Expr) -> Value:
        match each:
            case Number(value):
                return const(value)
            case Name("MAX"):
                return const(MAX)
            case Name(name):
                if name not in self.values:
                    raise TextError("a name has no value", expected="a variable", got=name)
                return self.values[name]
            case Slice(of):
                whole = self.value(of)
                low, bits = self.place(each)
                if not isinstance(whole, Bits):
                    raise TextError("bits of a number are read", expected="bits", got="a number")
                return whole.cut(low, bits)
            case Unary("NOT", Binary(operator)) if operator in COMPARISONS:
                return 1 - self.number(each.of)
            case Unary(operator, of):
                return self.unary(operator, self.value(of))
            case Binary():
                return self.binary(each)
            case Choice(condition, yes, no):
                asked = self.number(condition)
                if asked.value is not None:
                    return self.value(yes if asked.value else no)
                return either(asked, self.number(yes), self.number(no))
            case Call():
                return self.call(each)
            case _:
                assert_never(each)

    def number(self, each: Expr) -> Formula:
        return number(self.value(each))

    def constant(self, each: Expr) -> int:
        value = self.number(each).value
        if value is None:
            raise TextError(
                "a number of the pseudocode depends on data",
                expected="a constant for the bounds of a loop, an index, an amount of a shift",
                got="a value of an operand",
            )
        return value

    def place(self, each: Slice) -> tuple[int, int]:
        """Return the lowest bit and the number of bits of a slice."""
        low, high = self.constant(each.low), self.constant(each.high)
        if not 0 <= low <= high <= MAX:
            raise TextError(
                "there are no such bits",
                expected=f"{MAX} >= high >= low >= 0",
                got=f"[{high}:{low}]",
            )
        return low, high - low + 1

    def unary(self, operator: str, of: Value) -> Value:
        if operator == "-":
            return -number(of)
        ones = const(-1)
        if isinstance(of, Bits):
            return part_by_part(of, of, lambda x, _: ones - x, unsigned=False)
        return ones - of

    def binary(self, each: Binary) -> Value:
        left, right = self.value(each.left), self.value(each.right)
        if each.operator in ("<<", ">>"):
            return _shifted(each.operator, number(left), self.amount(right))
        if isinstance(left, Bits) and isinstance(right, Bits) and each.operator in _BITWISE:
            if left.bits != right.bits:
                raise TextError("bits of two lengths", expected=left.bits, got=right.bits)
            return part_by_part(left, right, _BITWISE[each.operator], unsigned=True)
        return _ON_NUMBERS[each.operator](number(left), number(right))

    def amount(self, value: Value) -> int:
        found = number(value).value
        if found is None or not 0 <= found <= MAX:
            raise TextError(
                "bits are shifted by data", expected=f"a constant from 0 to {MAX}", got=found
            )
        return found

    def call(self, each: Call) -> Value:
        if each.name in self.functions:
            return self.own(self.functions[each.name], [self.value(x) for x in each.arguments])
        function = _FUNCTIONS.get((each.name, len(each.arguments)))
        if function is not None:
            return function(*map(self.number, each.arguments))
        sized = _SIZED.fullmatch(each.name)
        name, bits = (sized[1], int(sized[2])) if sized else (each.name, None)
        if len(each.arguments) == 1:
            (of,) = each.arguments
            match name:
                case "SignExtend" | "Signed":
                    return _low(IntType(True, bits) if bits else None, self.read_as(of, True))
                case "ZeroExtend" | "Unsigned":
                    return _low(IntType(False, bits) if bits else None, self.read_as(of, False))
                case "Saturate" | "SaturateU" if bits:
                    return saturate(IntType(name == "Saturate", bits), self.number(of))
                case "Truncate" if bits:
                    return wrap(IntType(False, bits), self.number(of))
                case _:
                    pass
        raise TextError(
            "a function of the pseudocode is not known",
            expected="ABS, MIN, MAX, Saturate8, SaturateU8, SignExtend16, ZeroExtend16, Truncate8,"
            " Signed, Unsigned, or one that the text defines",
            got=f"{each.name} of {len(each.arguments)}",
        )

    def read_as(self, each: Expr, signed: bool) -> Formula:
        """Return a number of bits as one with a sign, or without; a shift is one of such bits."""
        if isinstance(each, Binary) and each.operator == ">>":
            self.depth += 1
            self.step()
            left, amount = self.read_as(each.left, signed), self.amount(self.value(each.right))
            self.depth -= 1
            return _shifted(">>", left, amount)
        value = self.value(each)
        return value.read(signed=signed) if isinstance(value, Bits) else value

    def own(self, function: Define, arguments: list[Value]) -> Value:
        """Return what a function of the text returns; it sees its parameters alone."""
        if len(function.parameters) != len(arguments):
            raise TextError(
                f"{function.name} is called otherwise than it is defined",
                expected=f"{len(function.parameters)} arguments",
                got=len(arguments),
            )
        given: dict[str, Value] = {}
        for parameter, value in zip(function.parameters, arguments, strict=True):
            match parameter:
                case Name(name):
                    given[name] = value
                case Slice(Name(name)):
                    low, bits = self.place(parameter)
                    given[name] = Bits().put(low, bits, value)
                case _:
                    raise AssertionError(parameter)
        outside, self.values = self.values, given
        self.block(function.body)
        found = self.value(function.value)
        self.values = outside
        return found


def _shifted(operator: str, left: Formula, amount: int) -> Formula:
    return left >> amount if operator == ">>" else left << amount


def _low(to: IntType | None, value: Formula) -> Formula:
    return value if to is None else wrap(to, value)
