"""Index expressions: a small language of whole numbers that says where an element is.

Their variables are blocks, threads, iterations and axes of a statement, never data. So bounds,
races and layouts of a kernel program are decided without values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

CONST, VAR = "const", "var"
UNBOUNDED = 1 << 62  # greater than any index
# How tightly an operator binds in the text form.
BINDS = {"&": 1, "<": 2, "==": 2, "^": 3, "+": 4, "*": 5, "//": 5, "%": 5, CONST: 9, VAR: 9}
ACTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
    "&": lambda a, b: a & b,
    "^": lambda a, b: a ^ b,
}


@dataclass(frozen=True)
class Expr:
    """``op`` is ``const``, ``var``, or one of ``+ * // % ^`` and of the conditions ``< == &``."""

    op: str
    args: tuple[Any, ...]

    def __add__(self, other: ExprLike) -> Expr:
        return _made("+", self, other)

    def __radd__(self, other: int) -> Expr:
        return _made("+", self, other)

    def __mul__(self, other: ExprLike) -> Expr:
        return _made("*", self, other)

    def __rmul__(self, other: int) -> Expr:
        return _made("*", self, other)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return _made("//", self, other)

    def __mod__(self, other: ExprLike) -> Expr:
        return _made("%", self, other)

    def __xor__(self, other: ExprLike) -> Expr:
        return _made("^", self, other)

    def __lt__(self, other: ExprLike) -> Expr:
        return _made("<", self, other)

    def is_equal(self, other: ExprLike) -> Expr:
        """Return the condition that both have the same value."""
        return _made("==", self, other)

    def both(self, other: Expr) -> Expr:
        """Return the condition that two conditions hold."""
        return _made("&", self, other)

    def __str__(self) -> str:
        if self.op in (CONST, VAR):
            return str(self.args[0])
        a, b = self.args
        if self.op == "*" and b.op == CONST:  # 16*k reads better than k*16
            a, b = b, a
        left = f"({a})" if BINDS[a.op] < BINDS[self.op] else str(a)
        tight = BINDS[b.op] < BINDS[self.op] or BINDS[b.op] == BINDS[self.op] and self.op != "+"
        right = f"({b})" if tight else str(b)
        sign = self.op if self.op == "*" else f" {'and' if self.op == '&' else self.op} "
        if self.op == "+" and b.op == CONST and b.args[0] < 0:
            return f"{left} - {-b.args[0]}"
        return f"{left}{sign}{right}"


ExprLike: TypeAlias = Expr | int


def const(value: int) -> Expr:
    """Return a number as an expression."""
    return Expr(CONST, (int(value),))


def var(name: str) -> Expr:
    """Return a variable."""
    return Expr(VAR, (name,))


def expr(value: ExprLike) -> Expr:
    """Return a number as an expression; an expression is returned unchanged."""
    return value if isinstance(value, Expr) else const(value)


ZERO, ONE = const(0), const(1)


def _made(op: str, left: ExprLike, right: ExprLike) -> Expr:
    """Return ``left op right``, without operations that change nothing."""
    a, b = expr(left), expr(right)
    if a.op == b.op == CONST:
        return const(ACTIONS[op](a.args[0], b.args[0]))
    match op:
        case "+" if b == ZERO:
            return a
        case "+" if a == ZERO:
            return b
        case "+" if a.op == CONST:
            return _made("+", b, a)
        case "+" if b.op == CONST and a.op == "+" and a.args[1].op == CONST:
            return _made("+", a.args[0], a.args[1].args[0] + b.args[0])
        case "*" if ZERO in (a, b):
            return ZERO
        case "*" if a == ONE:
            return b
        case "*" if a.op == CONST:
            return _made("*", b, a)
        case "*" | "//" if b == ONE:
            return a
        case "*" if b.op == CONST and a.op == "*" and a.args[1].op == CONST:
            return _made("*", a.args[0], a.args[1].args[0] * b.args[0])
        case "*" if a.op == "*" and a.args[1].op == CONST:  # numbers stand last
            return _made("*", _made("*", a.args[0], b), a.args[1])
        case "*" if b.op == "*" and b.args[1].op == CONST:
            return _made("*", _made("*", a, b.args[0]), b.args[1])
        case "//" | "%" if a == ZERO:
            return ZERO
        case "%" if b == ONE:
            return ZERO
        case "//" | "%" if b.op == CONST and b.args[0] > 0:
            return _divided(op, a, b.args[0])
        case "&" if a.op == CONST:
            return b if a.args[0] else a
        case "&" if b.op == CONST:
            return a if b.args[0] else b
    return Expr(op, (a, b))


def _divided(op: str, e: Expr, by: int) -> Expr:
    """Return ``e // by`` or ``e % by``, with multiples of ``by`` taken out of a sum.

    What stays under the division has no part below zero, since C rounds such quotients otherwise.
    """
    whole, rest = ZERO, ZERO
    for term in _terms(e):
        if _factor(term) % by == 0:
            whole = whole + _over(term, by)
        elif _factor(term) < 0:
            return Expr(op, (e, const(by)))
        else:
            rest = rest + term
    if rest == ZERO:
        return whole if op == "//" else ZERO
    return (whole if op == "//" else ZERO) + _of_rest(op, rest, by)


def _of_rest(op: str, e: Expr, by: int) -> Expr:
    if e.op == CONST:
        return const(ACTIONS[op](e.args[0], by))
    factor = _factor(e)
    if e.op == "*" and factor != 1 and by % factor == 0:
        # 4*x // 32 is x // 8, and 4*x % 32 is 4*(x % 8)
        found = _made(op, _over(e, factor), by // factor)
        return found if op == "//" else found * factor
    if e.op == "%" and e.args[1].op == CONST:
        inner, under = e.args[0], e.args[1].args[0]
        if under <= by:
            return ZERO if op == "//" else e
        if op == "%" and under % by == 0:
            return _made("%", inner, by)
    if e.op == "//" == op and e.args[1].op == CONST and e.args[1].args[0] > 0:
        return _made("//", e.args[0], e.args[1].args[0] * by)
    return Expr(op, (e, const(by)))


def _terms(e: Expr) -> tuple[Expr, ...]:
    return (*_terms(e.args[0]), *_terms(e.args[1])) if e.op == "+" else (e,)


def _factor(e: Expr) -> int:
    """The number that a term is a multiple of, by its form."""
    if e.op == CONST:
        return int(e.args[0])
    return int(e.args[1].args[0]) if e.op == "*" and e.args[1].op == CONST else 1


def _over(e: Expr, by: int) -> Expr:
    """A term of which a factor is a multiple of ``by``, without it."""
    if e.op == CONST:
        return const(e.args[0] // by)
    return e.args[0] * (e.args[1].args[0] // by) if e.op == "*" else e


def evaluate(e: Expr, values: Mapping[str, Any]) -> Any:
    """Return the value of an expression with whole numbers, or arrays of them, for variables."""
    if e.op == CONST:
        return e.args[0]
    if e.op == VAR:
        return values[e.args[0]]
    return ACTIONS[e.op](evaluate(e.args[0], values), evaluate(e.args[1], values))


def variables(e: Expr) -> frozenset[str]:
    """Return the names that an expression uses."""
    if e.op == CONST:
        return frozenset()
    if e.op == VAR:
        return frozenset(e.args)
    return variables(e.args[0]) | variables(e.args[1])


def linear_form(e: Expr) -> dict[Expr, int]:
    """Return an index as a sum of multiples; what is no sum and no multiple stays whole.

    The number in it is a multiple of ``ONE``.
    """
    if e.op == CONST:
        return {ONE: int(e.args[0])}
    if e.op == "+":
        found = linear_form(e.args[0])
        for term, factor in linear_form(e.args[1]).items():
            found[term] = found.get(term, 0) + factor
        return found
    if e.op == "*" and e.args[1].op == CONST:
        factor = int(e.args[1].args[0])
        return {term: each * factor for term, each in linear_form(e.args[0]).items()}
    return {e: 1}


def substituted(e: Expr, values: Mapping[str, ExprLike]) -> Expr:
    """Return an expression with others in place of variables."""
    if e.op == CONST:
        return e
    if e.op == VAR:
        return expr(values.get(e.args[0], e))
    return _made(e.op, substituted(e.args[0], values), substituted(e.args[1], values))


def interval(e: Expr, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """Return bounds of an expression, given the least and the greatest value of each variable.

    They are exact where no variable occurs twice.
    """
    if e.op == CONST:
        return e.args[0], e.args[0]
    if e.op == VAR:
        return ranges[e.args[0]]
    (a, b), (c, d) = (interval(each, ranges) for each in e.args)
    match e.op:
        case "+":
            return a + c, b + d
        case "*":
            ends = (a * c, a * d, b * c, b * d)
            return min(ends), max(ends)
        case "//" if c > 0:
            ends = (a // c, a // d, b // c, b // d)
            return min(ends), max(ends)
        case "%" if c > 0:
            return (a % c, b % c) if c == d and a // c == b // c else (0, d - 1)
        case "^" if a >= 0 and c >= 0:
            return 0, (1 << max(b, d).bit_length()) - 1
        case "<" | "==" | "&":
            return 0, 1
    return -UNBOUNDED, UNBOUNDED  # divided by what may be 0 or less, or bits of a negative number
