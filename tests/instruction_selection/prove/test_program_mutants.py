from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from cases import Tried

from mlc_course.instruction_selection.integers import Formula, evaluate, variables
from mlc_course.instruction_selection.isa import CellProgram
from mlc_course.instruction_selection.prove import Proved, Refuted, Unknown, prove_cell
from tests.helpers.cell_programs import KNOWN, Known, known, program
from tests.helpers.integer_formulas import value_by_python
from tests.helpers.program_mutants import mutants
from tests.helpers.solver_terms import solver_difference

COUNT = 300
SECONDS = 10.0
EVERY_INPUT = 1 << 20  # for the oracle: more are left to the solver


def drawn(count: int, seed: int) -> list[tuple[Known, str, CellProgram]]:
    """Mutants of all known programs, as many of each as there are."""
    random_ = random.Random(seed)
    made = []
    for each in KNOWN:
        own = [(each, text, mutant) for text, mutant in mutants(each.program)]
        made += random_.sample(own, min(len(own), -(-count // len(KNOWN))))
    random_.shuffle(made)
    return made


def oracle(wanted: Formula, found: Formula) -> bool | None:
    """Whether two formulas are equal: on every input, else by the solver, else on random inputs.

    Random inputs only say that they are not.
    """
    inputs = variables(wanted, found)
    if math.prod(each.hi - each.lo + 1 for each in inputs) <= EVERY_INPUT:
        grid = np.meshgrid(*(np.arange(x.lo, x.hi + 1) for x in inputs), indexing="ij")
        values = dict(zip(inputs, grid, strict=True))
        return bool(np.all(evaluate(wanted, values) == evaluate(found, values)))
    answer = solver_difference(wanted, found, seconds=1.0)
    if answer is None:
        rng = np.random.default_rng(3)
        values = {x: rng.integers(x.lo, x.hi, 1 << 16, endpoint=True) for x in inputs}
        return None if np.all(evaluate(wanted, values) == evaluate(found, values)) else False
    return answer is True


def judged(mutant: tuple[Known, str, CellProgram]) -> str:
    """Check the verdict on a mutant; return its kind."""
    each, text, made = mutant
    (found,) = made.lanes(each.cell.inputs, each.cell.result)
    verdict = prove_cell(each.cell, made, seconds=SECONDS)
    match verdict:
        case Refuted(model, _, wanted, value):
            row = {x: model.get(str(x), x.lo) for x in variables(each.cell.goal, found)}
            assert value_by_python(each.cell.goal, row) == wanted, (each.cell.name, text)
            assert value_by_python(found, row) == value != wanted, (each.cell.name, text)
        case Proved():
            assert oracle(each.cell.goal, found) is not False, (each.cell.name, text)
        case Unknown():
            assert oracle(each.cell.goal, found) is None, (each.cell.name, text)
    return type(verdict).__name__


def test_mutants_of_known_programs_are_judged_rightly_and_none_is_left_undecided(
    tried: Tried,
) -> None:
    made = drawn(COUNT, seed=0)
    kinds = Counter(map(judged, made))
    tried("mutants of cell programs", len(made))
    assert len(made) >= COUNT
    assert kinds["Unknown"] == 0 and kinds["Proved"] > 0


@pytest.mark.slow
def test_a_thousand_other_mutants_are_decided(tried: Tried) -> None:
    made = drawn(1000, seed=1)
    kinds = Counter(type(prove_cell(each.cell, mutant)).__name__ for each, _, mutant in made)
    tried("mutants of cell programs", len(made))
    assert kinds["Unknown"] == 0


def test_the_oracle_refuses_a_wrong_program() -> None:
    each = known("avg_floor_u8")
    wrong = program("pavgb(A, B)", each.cell)
    (found,) = wrong.lanes(each.cell.inputs, each.cell.result)
    assert oracle(each.cell.goal, found) is False
