from __future__ import annotations

import pytest
from hypothesis import given, settings

from mlc_course.instruction_selection.integers import S16, U8, Formula, variable, wrap
from mlc_course.instruction_selection.prove import Proved, Refuted, prove_equal
from tests.helpers.cell_programs import known
from tests.helpers.formula_pairs import pairs
from tests.helpers.integer_formulas import value_by_python
from tests.helpers.solver_terms import solver_difference


@settings(max_examples=60)
@given(pairs())
def test_the_solver_and_the_prover_agree(pair: tuple[Formula, Formula]) -> None:
    answer = solver_difference(*pair, seconds=1.0)
    verdict = prove_equal(*([each] for each in pair))
    if answer is True:
        assert isinstance(verdict, Proved)
    elif answer is not None:
        assert isinstance(verdict, Refuted)
        row = {x: answer.get(x, x.lo) for x in answer}
        assert value_by_python(pair[0], row) != value_by_python(pair[1], row)


@pytest.mark.parametrize(
    "name", ["avg_floor_u8", "gauss_121_u8", "narrow_s32", "requant_q31", "dot4_u7s8", "sobel_x_u8"]
)
def test_the_solver_proves_what_was_proved_without_it(name: str) -> None:
    each = known(name)
    (found,) = each.program.lanes(each.cell.inputs, each.cell.result)
    assert solver_difference(each.cell.goal, found, seconds=1.0) in (True, None)


def test_the_solver_refutes() -> None:
    a, c = variable("a", U8), variable("c", S16)
    assert solver_difference(wrap(U8, a + 1), a + 1) == {a: 255}
    answer = solver_difference(c >> 1, (c + 1) >> 1)
    assert isinstance(answer, dict) and answer[c] % 2 == 1
