"""Formulas over exact integers, each node with the interval that its values lie in.

The meaning of an instruction, of a program and of a specification is built once, as a formula.
Values are mathematical integers, so overflow exists only where somebody wrote ``wrap`` or
``saturate``. NumPy arrays, a solver's terms and printed text are readings of the formula.

Nodes are shared: the same operator on the same operands is the same object, so that ``is`` compares
formulas and a walk visits each node once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias
from weakref import WeakValueDictionary

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers.types import IntType

Op = Literal[
    "var", "const", "add", "sub", "mul", "shr", "and", "or", "xor", "min", "max", "eq", "gt",
    "where", "wrap", "concat", "slice",
]  # fmt: skip
Param: TypeAlias = "str | int | IntType"
Operand: TypeAlias = "Formula | int"

_SERIALS = itertools.count()
_NODES: WeakValueDictionary[tuple[object, ...], Formula] = WeakValueDictionary()


class Formula:
    """One node: an operator, its operands, its parameters, and the interval of its values.

    ==========  ========================  ========================================================
    op          params                    value
    ==========  ========================  ========================================================
    var         name                      any integer of the interval
    const       value                     the value
    shr         amount                    floor(a / 2**amount)
    wrap        type                      the value of the type that has a's low bits
    eq, gt                                1 or 0
    where                                 b where a is not 0, else c
    concat      type                      unsigned operands side by side, the first lowest, as type
    slice       index, bits               bits [index * bits, (index + 1) * bits) of a, unsigned
    ==========  ========================  ========================================================

    The others are Python's operators and ``min`` and ``max``; ``and``, ``or`` and ``xor`` work on
    two's complement of any width. Make nodes with Python's operators and this module's functions.
    """

    __slots__ = ("__weakref__", "hi", "lo", "op", "operands", "params", "serial")
    op: Op
    operands: tuple[Formula, ...]
    params: tuple[Param, ...]
    lo: int
    hi: int
    serial: int

    def __add__(self, other: Operand) -> Formula:
        return add(self, other)

    def __radd__(self, other: int) -> Formula:
        return add(other, self)

    def __sub__(self, other: Operand) -> Formula:
        return subtract(self, other)

    def __rsub__(self, other: int) -> Formula:
        return subtract(other, self)

    def __mul__(self, other: Operand) -> Formula:
        return multiply(self, other)

    def __rmul__(self, other: int) -> Formula:
        return multiply(other, self)

    def __neg__(self) -> Formula:
        return subtract(0, self)

    def __rshift__(self, amount: int) -> Formula:
        return shift_right(self, amount)

    def __lshift__(self, amount: int) -> Formula:
        return multiply(self, 1 << amount)

    def __and__(self, other: Operand) -> Formula:
        return bitwise("and", self, other)

    def __or__(self, other: Operand) -> Formula:
        return bitwise("or", self, other)

    def __xor__(self, other: Operand) -> Formula:
        return bitwise("xor", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    @property
    def value(self) -> int | None:
        """The value of a constant; ``None`` for other nodes."""
        return self.lo if self.op == "const" else None

    def __repr__(self) -> str:
        from_text = _TEXTS.get(self.op)
        texts = [repr(each) for each in self.operands]
        if from_text is not None:
            return f"({texts[0]} {from_text} {texts[1]})"
        match self.op:
            case "var" | "const":
                return str(self.params[0])
            case "shr":
                return f"({texts[0]} >> {self.params[0]})"
            case _:
                return f"{self.op}({', '.join([*texts, *map(str, self.params)])})"


_TEXTS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"} | {
    "eq": "==",
    "gt": ">",
}


def node(
    op: Op, operands: tuple[Formula, ...], params: tuple[Param, ...], lo: int, hi: int
) -> Formula:
    """Return the node with these parts, or the constant where only one value is possible."""
    if lo == hi and op not in ("var", "const"):
        return const(lo)
    key = (op, tuple(each.serial for each in operands), params, lo, hi)
    found = _NODES.get(key)
    if found is None:
        found = object.__new__(Formula)
        found.op, found.operands, found.params, found.lo, found.hi = op, operands, params, lo, hi
        found.serial = next(_SERIALS)
        _NODES[key] = found
    return found


def var(name: str, lo: int, hi: int) -> Formula:
    """Return the variable of that name, with values from ``lo`` to ``hi``.

    Raises:
        UsageError: there is no value from ``lo`` to ``hi``.
    """
    if lo > hi:
        raise UsageError(f"the variable {name} has no value", got=f"the range {lo} to {hi}")
    return node("var", (), (name,), lo, hi)


def variable(name: str, of: IntType) -> Formula:
    """Return the variable of that name that has every value of a type."""
    return var(name, of.lo, of.hi)


def const(value: int) -> Formula:
    """Return the node of a number."""
    return node("const", (), (int(value),), int(value), int(value))


def lift(value: Operand) -> Formula:
    """Return the formula of an integer, and a formula unchanged."""
    return value if isinstance(value, Formula) else const(value)


def add(a: Operand, b: Operand) -> Formula:
    """Return a + b."""
    a, b = lift(a), lift(b)
    if a.op == b.op == "const":
        return const(a.lo + b.lo)
    if a.lo == a.hi == 0:
        return b
    if b.lo == b.hi == 0:
        return a
    return node("add", (a, b), (), a.lo + b.lo, a.hi + b.hi)


def subtract(a: Operand, b: Operand) -> Formula:
    """Return a - b."""
    a, b = lift(a), lift(b)
    if a.op == b.op == "const":
        return const(a.lo - b.lo)
    if b.lo == b.hi == 0:
        return a
    return node("sub", (a, b), (), a.lo - b.hi, a.hi - b.lo)


def multiply(a: Operand, b: Operand) -> Formula:
    """Return a * b."""
    a, b = lift(a), lift(b)
    if a.op == b.op == "const":
        return const(a.lo * b.lo)
    for x, y in ((a, b), (b, a)):
        if x.lo == x.hi == 0:
            return const(0)
        if x.lo == x.hi == 1:
            return y
    ends = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return node("mul", (a, b), (), min(ends), max(ends))


def shift_right(a: Operand, amount: int) -> Formula:
    """Return floor(a / 2**amount), the arithmetic shift."""
    a = lift(a)
    if a.op == "const":
        return const(a.lo >> amount)
    return a if amount == 0 else node("shr", (a,), (amount,), a.lo >> amount, a.hi >> amount)


_BITWISE: dict[str, Callable[[int, int], int]] = {
    "and": int.__and__,
    "or": int.__or__,
    "xor": int.__xor__,
}


def bitwise(op: Literal["and", "or", "xor"], a: Operand, b: Operand) -> Formula:
    """Return the and, or, or exclusive or of two numbers in two's complement."""
    a, b = lift(a), lift(b)
    if a.op == b.op == "const":
        return const(_BITWISE[op](a.lo, b.lo))
    if op == "xor":  # flipping the top bit adds half of the range
        for x, c in ((a, b), (b, a)):
            if c.op == "const" and _is_power(c.lo) and x.lo >= 0 and x.hi < 2 * c.lo:
                return wrap(IntType(signed=False, bits=c.lo.bit_length()), x + c)
    bits = max(bits_of(x) for x in (a, b))
    if op == "and" and (a.lo >= 0 or b.lo >= 0):
        return node(op, (a, b), (), 0, min(x.hi for x in (a, b) if x.lo >= 0))
    lo = -(1 << bits) if a.lo < 0 or b.lo < 0 else 0
    return node(op, (a, b), (), lo, (1 << bits) - 1)


def bits_of(a: Formula) -> int:
    """Return the bits of the values of a node without a bit for the sign."""
    return max(x.bit_length() if x >= 0 else (~x).bit_length() for x in (a.lo, a.hi))


def _is_power(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def wrap(to: IntType, a: Operand) -> Formula:
    """Return the value of the type that has the low bits of ``a``."""
    a = lift(a)
    if to.holds(a.lo, a.hi):
        return a
    if a.op == "const":
        return const(to.wrapped(a.lo))
    if a.op == "wrap" and _type(a).bits >= to.bits:
        return wrap(to, a.operands[0])
    return node("wrap", (a,), (to,), to.lo, to.hi)


def _type(a: Formula) -> IntType:
    of = a.params[0]
    assert isinstance(of, IntType)
    return of


def minimum(a: Operand, b: Operand) -> Formula:
    """Return the smaller of two values."""
    a, b = lift(a), lift(b)
    if a.hi <= b.lo:
        return a
    if b.hi <= a.lo:
        return b
    return node("min", (a, b), (), min(a.lo, b.lo), min(a.hi, b.hi))


def maximum(a: Operand, b: Operand) -> Formula:
    """Return the greater of two values."""
    a, b = lift(a), lift(b)
    if a.lo >= b.hi:
        return a
    if b.lo >= a.hi:
        return b
    least = 0 if _opposite(a, b) or _opposite(b, a) else a.lo
    return node("max", (a, b), (), max(a.lo, b.lo, least), max(a.hi, b.hi))


def _opposite(a: Formula, b: Formula) -> bool:
    """Return whether ``b`` is written as the negative of ``a``: 0 - a, or y - x for x - y."""
    if b.op != "sub":
        return False
    x, y = b.operands
    return (y is a and x.lo == x.hi == 0) or (a.op == "sub" and a.operands == (y, x))


def saturate(to: IntType, a: Operand) -> Formula:
    """Return the value of the type that is nearest to ``a``."""
    return minimum(maximum(a, to.lo), to.hi)


def absolute(a: Operand) -> Formula:
    """Return the value without its sign."""
    return maximum(a, subtract(0, a))


def equals(a: Operand, b: Operand) -> Formula:
    """Return 1 where a = b, otherwise 0."""
    a, b = lift(a), lift(b)
    if a is b:
        return const(1)
    if a.hi < b.lo or b.hi < a.lo:
        return const(0)
    return const(a.lo == b.lo) if a.op == b.op == "const" else node("eq", (a, b), (), 0, 1)


def greater(a: Operand, b: Operand) -> Formula:
    """Return 1 where a > b, otherwise 0."""
    a, b = lift(a), lift(b)
    if a.lo > b.hi:
        return const(1)
    return const(0) if a.hi <= b.lo else node("gt", (a, b), (), 0, 1)


def where(condition: Operand, a: Operand, b: Operand) -> Formula:
    """Return a where the condition is not 0, otherwise b."""
    condition, a, b = lift(condition), lift(a), lift(b)
    if condition.op == "const":
        return a if condition.lo else b
    if a is b:
        return a
    return node("where", (condition, a, b), (), min(a.lo, b.lo), max(a.hi, b.hi))


def concat(lanes: Sequence[Operand], to: IntType) -> Formula:
    """Return lanes of ``to.bits / len(lanes)`` bits side by side, the first lowest, as one value.

    Lanes must be formulas of unsigned values that fit in their bits.
    """
    parts = tuple(map(lift, lanes))
    bits = to.bits // len(parts)
    if all(x.op == "const" for x in parts):
        return const(to.wrapped(sum(x.lo << (bits * i) for i, x in enumerate(parts))))
    if all(x.lo == x.hi == 0 for x in parts[1:]):  # an extension by zeros
        return wrap(to, parts[0])
    first = parts[0]
    if all(
        x.op == "slice" and x.operands[0] is first.operands[0] and x.params == (i, bits)
        for i, x in enumerate(parts)
    ):
        return wrap(to, first.operands[0])
    return node("concat", parts, (to,), to.lo, to.hi)


def piece(a: Operand, index: int, of: IntType) -> Formula:
    """Return bits [index * of.bits, (index + 1) * of.bits) of ``a``, as a value of the type."""
    a = lift(a)
    if a.op == "const":
        return const(of.wrapped(a.lo >> (index * of.bits)))
    joined, known = a, (index + 1) * of.bits
    if a.op == "wrap" and bits_in(a) >= known:  # the bits above copy the sign
        joined = a.operands[0]
    if joined.op == "concat" and known <= bits_in(joined) == len(joined.operands) * of.bits:
        return wrap(of, joined.operands[index])
    if index and a.lo >= 0 and a.hi < 1 << (index * of.bits):
        return const(0)
    if index == 0 and of.holds(a.lo, a.hi):
        return a
    return wrap(of, node("slice", (a,), (index, of.bits), 0, (1 << of.bits) - 1))


def bits_in(a: Formula) -> int:
    """Return the bits of the type that a ``wrap`` or a ``concat`` names."""
    return _type(a).bits


def reread(lanes: Sequence[Operand], old: IntType, new: IntType) -> list[Formula]:
    """Return the lanes of a register that held lanes of ``old``, read as lanes of ``new``."""
    if old.bits == new.bits:
        return [wrap(new, x) for x in lanes]
    if old.bits > new.bits:
        return [piece(x, i, new) for x in lanes for i in range(old.bits // new.bits)]
    count = new.bits // old.bits
    unsigned = IntType(signed=False, bits=old.bits)
    parts = [wrap(unsigned, x) for x in lanes]
    return [concat(parts[i : i + count], new) for i in range(0, len(parts), count)]


def rebuilt(a: Formula, operands: Sequence[Formula]) -> Formula:
    """Return the same operator on other operands, with its interval found anew."""
    match a.op:
        case "var" | "const":
            return a
        case "add":
            return add(*operands)
        case "sub":
            return subtract(*operands)
        case "mul":
            return multiply(*operands)
        case "shr":
            return shift_right(operands[0], _number(a.params[0]))
        case "and" | "or" | "xor":
            return bitwise(a.op, *operands)
        case "min":
            return minimum(*operands)
        case "max":
            return maximum(*operands)
        case "eq":
            return equals(*operands)
        case "gt":
            return greater(*operands)
        case "where":
            return where(*operands)
        case "wrap":
            return wrap(_type(a), operands[0])
        case "concat":
            return concat(operands, _type(a))
        case "slice":
            index, bits = map(_number, a.params)
            return piece(operands[0], index, IntType(signed=False, bits=bits))


def _number(param: Param) -> int:
    assert isinstance(param, int)
    return param


def substituted(roots: Sequence[Formula], changed: dict[Formula, Formula]) -> list[Formula]:
    """Return the formulas with some nodes replaced by others."""
    new = dict(changed)
    for each in walk(*roots):
        if each not in new:
            new[each] = rebuilt(each, [new[x] for x in each.operands])
    return [new[root] for root in roots]


def walk(*roots: Formula) -> Iterator[Formula]:
    """Yield each node below the roots once, operands before the nodes that use them."""
    seen: set[Formula] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        each, done = stack.pop()
        if each in seen:
            continue
        if done:
            seen.add(each)
            yield each
        else:
            stack.append((each, True))
            stack.extend((x, False) for x in reversed(each.operands) if x not in seen)


def variables(*roots: Formula) -> list[Formula]:
    """Return the variables of formulas in the order in which they are first read."""
    return [each for each in walk(*roots) if each.op == "var"]
