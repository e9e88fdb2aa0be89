"""Iterations of statements as sets of integer points; what they touch and when, as relations.

The sets are isl's (S. Verdoolaege, isl: An Integer Set Library for the Polyhedral Model, ICMS
2010): exact for loops of any length, because nothing is enumerated. An index, a condition or a
binding must be linear in the loops, with quotients and remainders by constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl

from mlc_course.errors import UsageError
from mlc_course.tensor_program.legality.statements import TOGETHER, Fact, Statement, shared
from mlc_course.tensor_program.tir import Call, Expr, Repeat, Var, name_of, tirx

CONTEXT = isl.DEFAULT_CONTEXT

Formula = Any  # isl.PwAff: an integer, as a function of a set's dimensions
Formulas = Mapping[Var, Formula]

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


# --- sets without a program -----------------------------------------------------------------------


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


def relation(points: isl.Set, values: Sequence[Formula]) -> isl.Map:
    """From each point to the values of these formulas."""
    made = isl.Map.from_domain(points)
    for value in values:
        made = made.flat_range_product(isl.Map.from_pw_aff(value))
    return made


def coordinates(points: isl.Set) -> list[int]:
    """The first of these points."""
    first = points.lexmin().sample_point()
    count = points.dim(isl.dim_type.set)
    return [int(first.get_coordinate_val(isl.dim_type.set, i).to_python()) for i in range(count)]


def example(pairs: isl.Map) -> tuple[list[int], list[int]] | None:
    """The first of these pairs."""
    if pairs.is_empty():
        return None
    found = coordinates(pairs.wrap().flatten())
    left = pairs.dim(isl.dim_type.in_)
    return found[:left], found[left:]


# --- expressions of a program ---------------------------------------------------------------------


@dataclass(frozen=True)
class Expressions:
    """Expressions of a program as formulas; ``values`` are those of its bound variables."""

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
            case tirx.Cast() if str(expr.value.ty.dtype).startswith("int"):
                return self.integer(expr.value, known, over)
            case Call() if name_of(expr) == "prim.likely":
                return self.integer(expr.args[0], known, over)
        if type(expr) not in NUMBERS or not _is_linear(expr):
            raise UsageError(
                "an index or a condition depends on data, or is not linear",
                expected="sums of loop variables, with quotients and remainders by constants",
                got=expr,
            )
        return NUMBERS[type(expr)](*(self.integer(x, known, over) for x in (expr.a, expr.b)))

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

    # --- of one statement -------------------------------------------------------------------------

    def iterations(self, of: Statement, facts: Sequence[Fact]) -> isl.Set:
        """The values of the loops around a statement at which the facts hold."""
        loops = box([each.extent for each in of.loops], [each.start for each in of.loops])
        return self.holding(facts, _known(of.loops, loops), loops)

    def over_loops(self, of: Statement, values: Sequence[Expr], facts: Sequence[Fact]) -> isl.Map:
        """From the iterations at which the facts hold to the values of these expressions."""
        points = self.iterations(of, facts)
        known = _known(of.loops, points)
        return relation(points, [self.integer(each, known, points) for each in values])

    def over_axes(self, of: Statement, values: Sequence[Expr], facts: Sequence[Fact]) -> isl.Map:
        """From the axes of a block, and the loops inside it, to the values of expressions."""
        inside = of.loops[of.outside[0] :]
        extents = [*(axis.extent or 0 for axis in of.axes), *(each.extent for each in inside)]
        points = box(extents, [*(0 for _ in of.axes), *(each.start for each in inside)])
        variables = [*(axis.var for axis in of.axes), *(each.var for each in inside)]
        known = dict(zip(variables, dimensions(points), strict=True))
        points = self.holding(facts, known, points)
        return relation(points, [self.integer(each, known, points) for each in values])


def _known(loops: Sequence[Repeat], points: isl.Set) -> dict[Var, Formula]:
    return {each.var: at for each, at in zip(loops, dimensions(points), strict=True)}


def _is_linear(expr: Expr) -> bool:
    match expr:
        case tirx.Mul():
            return isinstance(expr.a, tirx.IntImm) or isinstance(expr.b, tirx.IntImm)
        case tirx.FloorDiv() | tirx.FloorMod():
            return isinstance(expr.b, tirx.IntImm) and int(expr.b.value) > 0
    return True


# --- two statements -------------------------------------------------------------------------------


def prefix(loops: int, length: int) -> isl.Map:
    """From the values of so many loops to those of the outermost ones."""
    points = isl.Set.universe(isl.Space.set_alloc(CONTEXT, 0, loops))
    return relation(points, dimensions(points)[:length])


def ordered(a: Statement, b: Statement, *, before: bool) -> isl.Map:
    """The pairs of iterations of which the first surely runs before the second, or all others.

    Iterations of a parallel or vectorized loop have no order among themselves.
    """
    common = shared(a, b)
    found = agreeing(a, b, common)
    if before != (a.start < b.start):
        found = found.subtract(found)
    for place in range(common):
        together = a.loops[place].kind in TOGETHER
        here = agreeing(a, b, place)
        if together and not before:
            found = found.union(here.subtract(agreeing(a, b, place + 1)))
        elif not together:
            sides = isl.dim_type.in_, place, isl.dim_type.out, place
            found = found.union(here.order_lt(*sides) if before else here.order_gt(*sides))
    return found


def unordered(a: Statement, b: Statement, *, inside: int = 0) -> isl.Map:
    """The pairs of iterations, of those that agree on ``inside`` loops, that run at one time."""
    found = agreeing(a, b, 0)
    found = found.subtract(found)
    for place in range(inside, shared(a, b)):
        if a.loops[place].kind in TOGETHER:
            here = agreeing(a, b, place)
            found = found.union(here.subtract(agreeing(a, b, place + 1)))
    return found


def agreeing(a: Statement, b: Statement, on: int) -> isl.Map:
    """The pairs of iterations that have the same values of the outermost loops."""
    pairs = isl.Map.universe(isl.Space.alloc(CONTEXT, 0, len(a.loops), len(b.loops)))
    for place in range(on):
        pairs = pairs.equate(isl.dim_type.in_, place, isl.dim_type.out, place)
    return pairs
