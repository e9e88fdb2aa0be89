"""Constraints as they are typed: ``B*S == T``, ``H % 64 == 0``, ``K == P + S``, ``M < 2*N``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import gcd, prod

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
        if _is_sum(left) and not _is_sum(right):
            left, right = right, left
        if _is_sum(right):
            own = () if _is_sum(left) else self.product(left)
            if len(own) == 1 and own != (0,):
                return AffineEq(own[0], *self.sum(right))
            return self.balanced(left, right)
        above, below = self.product(left), self.product(right)
        if len(above) == len(below) == 1:
            return Eq(above[0], below[0])
        return MulEq(above[0], below) if len(above) == 1 else ProductEq(above, below)

    def balanced(self, left: ast.expr, right: ast.expr) -> Constraint:
        """Return ``A + B == C + D``, which no predicate states, as the sum that one size is."""
        terms, constant = self.sum(ast.BinOp(left, ast.Sub(), right))
        total: dict[Dim, int] = {}
        for by, dim in terms:
            total[dim] = total.get(dim, 0) + by
        if common := gcd(constant, *total.values()):
            total = {dim: by // common for dim, by in total.items()}
            constant //= common
        size = next((dim for dim, by in total.items() if abs(by) == 1), None)
        if size is None:
            if any(total.values()) or not total:
                raise _no_formula(self.text, 1)
            size = next(iter(total))  # all sizes cancel
            return AffineEq(size, ((1, size),), constant) if constant else Eq(size, size)
        sign = -total.pop(size)
        rest = tuple((sign * by, dim) for dim, by in total.items() if by)
        if len(rest) == 1 and rest[0][0] == 1 and not constant:
            return Eq(size, rest[0][1])
        return AffineEq(size, rest, sign * constant) if rest else Eq(size, sign * constant)

    def sum(self, found: ast.expr) -> tuple[tuple[tuple[int, Dim], ...], int]:
        """Return the multiples of sizes that are added up, and the constant."""
        terms, constant = list[tuple[int, Dim]](), 0
        for by, part in self.terms(found, 1):
            sizes = self.product(part)
            names = [dim for dim in sizes if isinstance(dim, str)]
            times = by * prod(dim for dim in sizes if isinstance(dim, int))
            if len(names) > 1:
                raise self.wrong(part)
            if names:
                terms.append((times, names[0]))
            else:
                constant += times
        return tuple(terms), constant

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
