"""Iterations of statements as sets of integer points; what they touch and when, as relations.

They are exact for loops of any length, because nothing is enumerated (``tir.IntegerFormulas``).
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from mlc_course.tensor_program.legality.statements import TOGETHER, Statement, shared
from mlc_course.tensor_program.tir import (
    Expr,
    Fact,
    Formula,
    IntegerFormulas,
    Repeat,
    Var,
    formulas,
)

# --- sets without a program -----------------------------------------------------------------------


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


# --- one statement --------------------------------------------------------------------------------


class Expressions(IntegerFormulas):
    """Expressions of statements, over the loops around them or over the axes of their blocks."""

    def iterations(self, of: Statement, facts: Sequence[Fact]) -> isl.Set:
        """The values of the loops around a statement at which the facts hold."""
        loops = formulas.box([each.extent for each in of.loops], [each.start for each in of.loops])
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
        points = formulas.box(extents, [*(0 for _ in of.axes), *(each.start for each in inside)])
        variables = [*(axis.var for axis in of.axes), *(each.var for each in inside)]
        known = dict(zip(variables, formulas.dimensions(points), strict=True))
        points = self.holding(facts, known, points)
        return relation(points, [self.integer(each, known, points) for each in values])


def _known(loops: Sequence[Repeat], points: isl.Set) -> dict[Var, Formula]:
    return {each.var: at for each, at in zip(loops, formulas.dimensions(points), strict=True)}


# --- two statements -------------------------------------------------------------------------------


def prefix(loops: int, length: int) -> isl.Map:
    """From the values of so many loops to those of the outermost ones."""
    points = isl.Set.universe(isl.Space.set_alloc(formulas.CONTEXT, 0, loops))
    return relation(points, formulas.dimensions(points)[:length])


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
    pairs = isl.Map.universe(isl.Space.alloc(formulas.CONTEXT, 0, len(a.loops), len(b.loops)))
    for place in range(on):
        pairs = pairs.equate(isl.dim_type.in_, place, isl.dim_type.out, place)
    return pairs
