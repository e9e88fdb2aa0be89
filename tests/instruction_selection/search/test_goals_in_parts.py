from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given

from mlc_course.instruction_selection.integers import (
    U8,
    U16,
    Formula,
    evaluate,
    substituted,
    variables,
    walk,
    wrap,
)
from mlc_course.instruction_selection.search.parts import cuts, terms, tightened, total
from mlc_course.instruction_selection.search.rewriting import canonical, renamed
from mlc_course.instruction_selection.spec import CATALOGUE, Cell, CellOperand
from tests.helpers.integer_formulas import formulas, value_by_python

SINGLE = [name for name, each in CATALOGUE.items() if not each.specification.cell.reduces]


@pytest.mark.parametrize("name", SINGLE)
def test_the_parts_of_every_cut_make_the_goal_again(name: str) -> None:
    cell = CATALOGUE[name].specification.cell
    rng = np.random.default_rng(1)
    inputs = variables(cell.goal)
    values = {
        x: np.concatenate([rng.integers(x.lo, x.hi, 50, endpoint=True), [x.lo, x.hi]])
        for x in inputs
    }
    wanted = evaluate(cell.goal, values)
    for cut in cuts(cell):
        parts = {each.name: each for each in cut.parts}
        made = {
            operand.variables()[0]: parts[operand.name].goal
            for operand in cut.rest.operands
            if operand.name in parts
        }
        (goal,) = substituted([cut.rest.goal], made)
        assert (evaluate(goal, values) == wanted).all()
        for each in cut.parts:
            assert each.result.holds(each.goal.lo, each.goal.hi)


@given(formulas())
def test_a_sum_is_the_sum_of_its_terms(made: Formula) -> None:
    found, constant = terms(made)
    again = total(found, constant)
    for row in ({x: x.lo for x in walk(made) if x.op == "var"}, {x: x.hi for x in variables(made)}):
        assert value_by_python(made, row) == value_by_python(again, row)


def test_the_interval_of_a_blend_knows_that_its_factors_depend_on_each_other() -> None:
    a, b, m = (CellOperand(name, U8).variables()[0] for name in "ABM")
    blend = a * m + b * (255 - m)
    assert (blend.lo, blend.hi) == (0, 130050)
    assert (tightened(blend).lo, tightened(blend).hi) == (0, 65025)


@given(formulas(most=5))
def test_a_tightened_interval_holds_every_value(made: Formula) -> None:
    tight = tightened(made)
    inputs = variables(made)
    points = itertools.product(*([x.lo, (x.lo + x.hi) // 3, x.hi] for x in inputs))
    for point in points:
        row = dict(zip(inputs, point, strict=True))
        assert tight.lo <= value_by_python(made, row) == value_by_python(tight, row) <= tight.hi


def test_cells_that_differ_in_names_are_one_question() -> None:
    def average(first: str, second: str) -> Cell:
        operands = CellOperand(first, U16), CellOperand(second, U16)
        a, b = (each.variables()[0] for each in operands)
        return Cell("average", operands, U16, wrap(U16, (a + b) >> 1))

    one, names = canonical(average("A", "B"))
    other, _ = canonical(average("P", "Q"))
    assert one.goal is other.goal
    assert one.operands == other.operands
    assert names == {"x0": "A", "x1": "B"}


def test_operands_may_have_the_names_of_places() -> None:
    operands = CellOperand("x1", U8), CellOperand("x0", U8)
    a, b = (each.variables()[0] for each in operands)
    standard, names = canonical(Cell("odd", operands, U8, wrap(U8, a - b)))
    assert str(standard.goal) == "wrap((x0[0] - x1[0]), u8)"
    from mlc_course.instruction_selection.isa import AVX2, CellProgram, Equation, Input

    row = next(row for row in AVX2 if row.name == "psubb")
    program = CellProgram(
        (
            Equation(Input("x0"), (), U8, 1),
            Equation(Input("x1"), (), U8, 1),
            Equation(row, (0, 1), U8, 1),
        )
    )
    assert str(renamed(program, names)) == "psubb(x1, x0)"
