"""Quotients and remainders that TVM 0.27 may compile wrongly.

Of what falls as a loop goes on, ``(7 - i) // 4`` becomes ``i // -4 + 1``, which is -1 in place of 0
for i = 5. Of what may be negative, ``(22 + (i - 17) // 8) % 7`` is wrong for i below 2. Nothing in
TVM says so; a program that holds such an index must not be compiled. A test beside this module's
others tells when it is mended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mlc_course.tensor_program.tir.integers import MEANINGS, NO_LIMIT, Ends, kind_of
from mlc_course.tensor_program.tir.traversal import (
    Bound,
    Expr,
    Guard,
    Repeat,
    Step,
    Touch,
    Var,
    every_step,
    operands,
)
from mlc_course.tensor_program.tir.tvm import TensorLoad, tirx

Signs = frozenset[int]  # of a variable's coefficients: 1, -1, both or none

RISES, FALLS, CONSTANT = frozenset({1}), frozenset({-1}), frozenset[int]()
QUOTIENTS = (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod)


def doubtful_quotient(steps: Sequence[Step]) -> Expr | None:
    """The first quotient or remainder whose dividend falls or may be negative, or None."""
    every = list(every_step(steps))
    values = {step.var: step.value for step in every if isinstance(step, Bound)}
    loops = {
        step.var: (step.start, step.start + step.extent - 1)
        for step in every
        if isinstance(step, Repeat)
    }
    signs, ends = _Signs(values), _Ends(values, loops)
    quotients = (q for step in every for each in _expressions(step) for q in _quotients(each))
    doubtful = (q for q in quotients if signs.of(q.a) >= FALLS or ends.of(q.a)[0] < 0)
    return next(doubtful, None)


def _expressions(step: Step) -> Iterator[Expr]:
    match step:
        case Touch():
            yield from step.indices
            if step.value is not None:
                yield step.value
        case Bound():
            yield step.value
        case Guard():
            yield step.condition


def _quotients(expr: Expr) -> Iterator[Expr]:
    """The quotients and remainders of integers in an expression."""
    if type(expr) in QUOTIENTS and str(expr.ty.dtype).startswith(("int", "uint")):
        yield expr
    for each in operands(expr):
        yield from _quotients(each)


class _Signs:
    """With which signs variables occur in integers; data count as a variable."""

    def __init__(self, values: Mapping[Var, Expr]) -> None:
        self.values = values
        self.known: dict[Var, Signs] = {}

    def of(self, expr: Expr) -> Signs:
        match expr:
            case tirx.IntImm():
                return CONSTANT
            case tirx.Var():
                return self.of_variable(expr)
            case TensorLoad():
                return RISES
            case tirx.Let():
                return self.of(expr.body)
            case tirx.Sub():
                return self.of(expr.a) | _turned(self.of(expr.b))
            case tirx.Mul():
                return self.of_product(expr.a, expr.b)
        found = CONSTANT.union(*(self.of(each) for each in operands(expr)))
        return RISES & (found | _turned(found)) if type(expr) in QUOTIENTS else found

    def of_variable(self, var: Var) -> Signs:
        if var not in self.values:
            return RISES
        if var not in self.known:
            self.known[var] = self.of(self.values[var])
        return self.known[var]

    def of_product(self, a: Expr, b: Expr) -> Signs:
        for number, other in ((a, b), (b, a)):
            if isinstance(number, tirx.IntImm):
                signs = self.of(other)
                return _turned(signs) if int(number.value) < 0 else signs
        return RISES | FALLS


def _turned(signs: Signs) -> Signs:
    return frozenset(-sign for sign in signs)


class _Ends:
    """The smallest and the largest value of integers, as far as they are known."""

    def __init__(self, values: Mapping[Var, Expr], loops: Mapping[Var, Ends]) -> None:
        self.values = values
        self.known = dict(loops)

    def of(self, expr: Expr) -> Ends:
        match expr:
            case tirx.IntImm():
                return int(expr.value), int(expr.value)
            case tirx.Var():
                if expr not in self.known:
                    known = expr in self.values
                    self.known[expr] = self.of(self.values[expr]) if known else NO_LIMIT
                return self.known[expr]
            case tirx.Let():
                return self.of(expr.body)
        meaning = MEANINGS.get(kind_of(expr))
        return meaning.ends(*(self.of(x) for x in operands(expr))) if meaning else NO_LIMIT
