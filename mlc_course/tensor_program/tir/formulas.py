"""Integer expressions of a program as functions on sets of integer points, exact at any size.

The sets are isl's (S. Verdoolaege, isl: An Integer Set Library for the Polyhedral Model, ICMS
2010). An expression must be linear in the loops, with quotients and remainders by constants;
minima and maxima are allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl

from mlc_course.errors import UsageError
from mlc_course.tensor_program.tir.integers import LIMITS
from mlc_course.tensor_program.tir.traversal import Expr, Var, is_lazy, name_of
from mlc_course.tensor_program.tir.tvm import Call, tirx

CONTEXT = isl.DEFAULT_CONTEXT

Formula = Any  # isl.PwAff: an integer, as a function of a set's dimensions
Formulas = Mapping[Var, Formula]
Fact = tuple[Expr, bool]  # a condition, and whether it holds

NUMBERS: dict[type, Callable[[Formula, Formula], Formula]] = {
    tirx.Add: isl.PwAff.add,
    tirx.Sub: isl.PwAff.sub,
    tirx.Mul: isl.PwAff.mul,
    tirx.Min: isl.PwAff.min,
    tirx.Max: isl.PwAff.max,
    tirx.FloorDiv: lambda a, b: a.div(b).floor(),
    tirx.FloorMod: lambda a, b: a.sub(a.div(b).floor().mul(b)),
}
CONDITIONS: dict[type, Callable[[Formula, Formula], isl.Set]] = {
    tirx.EQ: isl.PwAff.eq_set,
    tirx.NE: isl.PwAff.ne_set,
    tirx.LT: isl.PwAff.lt_set,
    tirx.LE: isl.PwAff.le_set,
    tirx.GT: isl.PwAff.gt_set,
    tirx.GE: isl.PwAff.ge_set,
}


def box(extents: Sequence[int], starts: Sequence[int] | None = None) -> isl.Set:
    """The points from ``starts``, by default 0, with so many values in each dimension."""
    points = isl.Set.universe(isl.Space.set_alloc(CONTEXT, 0, len(extents)))
    for place, extent in enumerate(extents):
        first = starts[place] if starts else 0
        points = points.lower_bound_val(isl.dim_type.set, place, isl.Val(first))
        points = points.upper_bound_val(isl.dim_type.set, place, isl.Val(first + extent - 1))
    return points


def dimensions(points: isl.Set) -> list[Formula]:
    """The dimensions of a set, as formulas over it."""
    space = isl.LocalSpace.from_space(points.get_space())
    count = points.dim(isl.dim_type.set)
    return [
        isl.PwAff.from_aff(isl.Aff.var_on_domain(space, isl.dim_type.set, i)) for i in range(count)
    ]


@dataclass(frozen=True)
class IntegerFormulas:
    """Integers and conditions as formulas; ``values`` are those of bound variables."""

    values: Mapping[Var, Expr]

    def integer(self, expr: Expr, known: Formulas, over: isl.Set) -> Formula:
        """An integer, with formulas for its variables.

        Raises ``UsageError`` where it depends on data, or is not linear.
        """
        match expr:
            case tirx.IntImm():
                space = isl.LocalSpace.from_space(over.get_space())
                number = isl.Aff.val_on_domain(space, isl.Val(int(expr.value)))
                return isl.PwAff.from_aff(number)
            case tirx.Var() if expr in known:
                return known[expr]
            case tirx.Var() if expr in self.values:
                return self.integer(self.values[expr], known, over)
            case tirx.Let():
                return self.integer(expr.body, known, over)
            case tirx.Cast() if str(expr.value.ty.dtype) == "bool":
                numbers = [tirx.const(number, "int32") for number in (1, 0)]
                return self.choice(expr.value, numbers, known, over)
            case tirx.Cast() if str(expr.value.ty.dtype) in LIMITS:
                found = self.integer(expr.value, known, over)
                self._check_fits(expr, found, over)
                return found
            case Call() if name_of(expr) == "prim.likely":
                return self.integer(expr.args[0], known, over)
            case tirx.Select():
                condition, *sides = expr.condition, expr.true_value, expr.false_value
                return self.choice(condition, sides, known, over)
            case Call() if is_lazy(expr):
                condition, *sides = expr.args
                return self.choice(condition, sides, known, over)
        if type(expr) not in NUMBERS or not _is_linear(expr):
            raise UsageError(
                "an index or a condition depends on data, or is not linear",
                expected="sums of loop variables, with quotients and remainders by constants",
                got=expr,
            )
        return NUMBERS[type(expr)](*(self.integer(x, known, over) for x in (expr.a, expr.b)))

    def choice(
        self, condition: Expr, sides: Sequence[Expr], known: Formulas, over: isl.Set
    ) -> Formula:
        """The first of two integers where a condition holds, the second elsewhere."""
        holds = self.where(condition, known, over)
        pieces = (holds, over.subtract(holds))
        then, otherwise = (
            self.integer(side, known, piece).intersect_domain(piece)
            for side, piece in zip(sides, pieces, strict=True)
        )
        return then.union_add(otherwise)

    def _check_fits(self, cast: Expr, value: Formula, over: isl.Set) -> None:
        """Raise ``UsageError`` for a cast that does not keep the value at all points."""
        limits, source = (LIMITS.get(str(each.ty.dtype)) for each in (cast, cast.value))
        if limits and source and limits[0] <= source[0] and source[1] <= limits[1]:
            return
        if limits:
            low, high = (self.integer(tirx.const(end, "int64"), {}, over) for end in limits)
            if over.is_subset(value.ge_set(low).intersect(value.le_set(high))):
                return
        raise UsageError(
            "an index or a condition casts an integer to a type that it may not fit",
            expected=f"values of {cast.ty.dtype}",
            got=cast,
        )

    def where(self, expr: Expr, known: Formulas, over: isl.Set) -> isl.Set:
        """The points at which a condition holds; raises what ``integer`` raises."""
        match expr:
            case tirx.IntImm():
                return over if int(expr.value) else over.subtract(over)
            case tirx.Not():
                return over.subtract(self.where(expr.a, known, over))
            case tirx.And():
                return self.where(expr.b, known, self.where(expr.a, known, over))
            case tirx.Or():
                return self.where(expr.a, known, over).union(self.where(expr.b, known, over))
            case tirx.Var() if expr in self.values:
                return self.where(self.values[expr], known, over)
            case Call() if name_of(expr) == "prim.likely":
                return self.where(expr.args[0], known, over)
        if type(expr) not in CONDITIONS:
            raise UsageError("a condition depends on data", expected="loop variables", got=expr)
        sides = (self.integer(each, known, over) for each in (expr.a, expr.b))
        return over.intersect(CONDITIONS[type(expr)](*sides))

    def holding(self, facts: Iterable[Fact], known: Formulas, over: isl.Set) -> isl.Set:
        """The points at which all these facts hold."""
        for expr, holds in facts:
            found = self.where(expr, known, over)
            over = found if holds else over.subtract(found)
        return over


def _is_linear(expr: Expr) -> bool:
    match expr:
        case tirx.Mul():
            return isinstance(expr.a, tirx.IntImm) or isinstance(expr.b, tirx.IntImm)
        case tirx.FloorDiv() | tirx.FloorMod():
            return isinstance(expr.b, tirx.IntImm) and int(expr.b.value) != 0
    return True
