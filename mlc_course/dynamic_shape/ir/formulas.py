"""Constraints as they are typed: ``B*S == T``, ``H % 64 == 0``, ``K == P + S``, ``M < 2*N``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlc_course.dynamic_shape.ir.constraints import (
    AffineEq,
    AtMost,
    Constraint,
    Divisible,
    Eq,
    Less,
    MulEq,
    ProductEq,
)
from mlc_course.dynamic_shape.ir.dims import Dim
from mlc_course.errors import TextError

LONGEST = 1000  # characters of a formula
FORMS = "A == B*C | A*B == C*D | A == 2*B + C - 1 | A*B % 4 == 0 | A < B | A*B <= 4096"


def parse_constraint(text: str) -> Constraint:
    """Return the constraint that a formula states; ``said`` writes one.

    Raises ``TextError`` with the column for a formula of no known form.
    """
    if len(text) > LONGEST:
        raise TextError("a formula", expected=f"up to {LONGEST} characters", got=len(text))
    try:
        found = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        column = getattr(error, "offset", None) or len(text.strip()) + 1
        raise _no_formula(text, column + len(text) - len(text.lstrip())) from None
    if not isinstance(found, ast.Compare) or len(found.ops) != 1:
        raise _no_formula(text, 1)
    return _Reader(text).comparison(found.left, found.ops[0], found.comparators[0])


def _no_formula(text: str, column: int) -> TextError:
    return TextError(f"column {column} of a formula", expected=FORMS, got=text.strip())


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def comparison(self, left: ast.expr, how: ast.cmpop, right: ast.expr) -> Constraint:
        match how:
            case ast.Eq() if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
                if self.product(right) != (0,):
                    raise self.wrong(right)
                return Divisible(self.product(left.left), self.product(left.right))
            case ast.Eq():
                return self.equality(left, right)
            case ast.Lt():
                return Less(self.size(left), self.size(right))
            case ast.Gt():
                return Less(self.size(right), self.size(left))
            case ast.LtE():
                limit = self.size(right)
                if not isinstance(limit, int):
                    raise self.wrong(right)
                return AtMost(self.product(left), limit)
        raise self.wrong(left)

    def equality(self, left: ast.expr, right: ast.expr) -> Constraint:
        if _is_sum(left):
            left, right = right, left
        if _is_sum(right):
            terms, constant = [], 0
            for by, part in self.terms(right, 1):
                sizes = self.product(part)
                names = [dim for dim in sizes if isinstance(dim, str)]
                times = by
                for dim in sizes:
                    times *= dim if isinstance(dim, int) else 1
                if len(names) > 1:
                    raise self.wrong(part)
                if names:
                    terms.append((times, names[0]))
                else:
                    constant += times
            return AffineEq(self.size(left), tuple(terms), constant)
        above, below = self.product(left), self.product(right)
        if len(above) == len(below) == 1:
            return Eq(above[0], below[0])
        return MulEq(above[0], below) if len(above) == 1 else ProductEq(above, below)

    def terms(self, found: ast.expr, sign: int) -> Iterator[tuple[int, ast.expr]]:
        match found:
            case ast.BinOp(left, ast.Add(), right):
                yield from self.terms(left, sign)
                yield from self.terms(right, sign)
            case ast.BinOp(left, ast.Sub(), right):
                yield from self.terms(left, sign)
                yield from self.terms(right, -sign)
            case ast.UnaryOp(ast.USub(), operand):
                yield from self.terms(operand, -sign)
            case _:
                yield sign, found

    def product(self, found: ast.expr) -> tuple[Dim, ...]:
        match found:
            case ast.BinOp(left, ast.Mult(), right):
                return (*self.product(left), *self.product(right))
            case ast.Name(name):
                return (name,)
            case ast.Constant(int(value)) if not isinstance(value, bool):
                return (value,)
        raise self.wrong(found)

    def size(self, found: ast.expr) -> Dim:
        sizes = self.product(found)
        if len(sizes) != 1:
            raise self.wrong(found)
        return sizes[0]

    def wrong(self, found: ast.expr) -> TextError:
        own = self.text.strip().splitlines(keepends=True)
        before = own[found.lineno - 1].encode()[: found.col_offset].decode()
        column = sum(map(len, own[: found.lineno - 1])) + len(before) + 1
        return _no_formula(self.text, column + len(self.text) - len(self.text.lstrip()))


def _is_sum(found: ast.expr) -> bool:
    match found:
        case ast.BinOp(_, ast.Add() | ast.Sub(), _) | ast.UnaryOp(ast.USub(), _):
            return True
    return False
