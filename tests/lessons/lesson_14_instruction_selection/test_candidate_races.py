"""Races: what is recorded is so, and what their counts say."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import evaluate, lift, substituted
from mlc_course.instruction_selection.prove import Proved, prove_cell
from mlc_course.lessons.lesson_14_instruction_selection import (
    PROOF,
    RACED,
    STOPS,
    Race,
    race_for,
    run_race,
)
from mlc_course.lessons.lesson_14_instruction_selection.candidate_races import Candidate, Sample
from mlc_course.lessons.lesson_14_instruction_selection.survey import (
    DEPTHS,
    SEED,
    most_telling,
)


def value_at(candidate: Candidate, race: Race, sample: Sample) -> tuple[int, int]:
    """What is wanted and what a candidate gives, computed on exact integers."""
    cell = race.cell
    at = {x: lift(sample.inputs[str(x)]) for lanes in cell.inputs.values() for x in lanes}
    (lane,) = candidate.cell_program().lanes(cell.inputs, cell.result)
    wanted, found = substituted([cell.goal, lane], at)
    assert wanted.lo == wanted.hi and found.lo == found.hi
    return wanted.lo, found.lo


def test_pmulhrsw_stands_after_a_million_random_tests_and_the_proof_refutes_it() -> None:
    race = race_for("mul_q15_sat")
    first = race.listed[0]
    assert first.program == "pmulhrsw(A, B)"
    assert STOPS[-1] == 2**20 and first.fell is None
    assert first.stands(PROOF - 1) and not first.stands(PROOF)
    assert first.at == Sample({"A[0]": -32768, "B[0]": -32768}, 32767)
    assert first.found == -32768
    assert race.inputs == 2**32


def test_the_proof_leaves_one_program_of_five_that_a_million_tests_left() -> None:
    race = race_for("mul_q15_sat")
    assert (race.standing(PROOF - 1), race.standing(PROOF)) == (5, 1)
    (right,) = (each for each in race.listed if each.is_right)
    assert isinstance(prove_cell(race.cell, right.cell_program()), Proved)


def test_what_tvm_ships_is_refuted_by_a_random_test() -> None:
    race = race_for("dot4_u8s8")
    shipped = next(
        each for each in race.listed if each.program == "paddd(C, pmaddwd({1}, pmaddubsw(A, B)))"
    )
    assert shipped.fell is not None and shipped.fell < 100


@pytest.mark.parametrize("name", RACED)
def test_each_refutation_and_each_proof_is_true(name: str) -> None:
    race = race_for(name)
    for each in race.listed:
        assert str(each.cell_program()) == each.program
        if each.at is None:
            assert isinstance(prove_cell(race.cell, each.cell_program()), Proved)
            assert each.proof
        else:
            wanted, found = value_at(each, race, each.at)
            assert (wanted, found) == (each.at.wanted, each.found)
            assert wanted != found and not each.proof


@pytest.mark.parametrize("name", RACED)
def test_those_that_stand_are_right_on_the_tests_that_are_shown(name: str) -> None:
    race = race_for(name)
    for place, sample in enumerate(race.samples):
        for each in race.listed:
            if each.stands(place):
                assert value_at(each, race, sample) == (sample.wanted, sample.wanted)


@pytest.mark.parametrize("name", RACED)
def test_a_refuting_test_is_the_one_of_its_number(name: str) -> None:
    race = race_for(name)
    rng = np.random.default_rng(SEED)
    variables = [x for lanes in race.cell.inputs.values() for x in lanes]
    columns = {x: rng.integers(x.lo, x.hi, STOPS[-1], endpoint=True) for x in variables}
    for each in race.listed:
        if each.fell is not None and each.at is not None:
            drawn = {str(x): int(column[each.fell - 1]) for x, column in columns.items()}
            assert drawn == dict(each.at.inputs)
            (lane,) = each.cell_program().lanes(race.cell.inputs, race.cell.result)
            before = {x: column[: each.fell - 1] for x, column in columns.items()}
            assert (evaluate(lane, before) == evaluate(race.cell.goal, before)).all()


@pytest.mark.parametrize("name", RACED)
def test_counts_fall_and_end_with_what_is_proved(name: str) -> None:
    race = race_for(name)
    counts = [race.standing(place) for place in range(PROOF + 1)]
    assert counts[0] <= len(race.fell)
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 1
    assert all(fell is None or fell > STOPS[0] for fell in race.fell)
    listed = [each.fell for each in race.listed]
    assert listed.count(None) == race.fell.count(None)


def test_a_race_that_is_run_again_is_the_recorded_one() -> None:
    race = run_race("avg_floor_u8")
    assert race == race_for("avg_floor_u8")
    assert Race.from_json(json.loads(json.dumps(race.to_json()))) == race


def test_every_race_is_recorded() -> None:
    assert tuple(DEPTHS) == RACED


def test_of_candidates_that_fall_together_the_shortest_is_listed() -> None:
    def fallen(program: str, fell: int | None, rows: int) -> Candidate:
        sample = Sample({}, 0)
        return Candidate(program, fell, sample, 1, None, tuple({"row": "x"} for _ in range(rows)))

    short, long = fallen("f(A)", 100, 1), fallen("g(f(A))", 100, 2)
    kept = fallen("h(A)", None, 3)
    assert most_telling([long, short, kept]) == [kept, short]
    many = [fallen(f"f{n}(A)", n, 1) for n in range(5, 60)]
    listed = most_telling([*many, kept])
    assert len(listed) == 10 and listed[0] is kept
    assert [each.fell for each in listed[1:]] == sorted(
        (each.fell or 0 for each in listed[1:]), reverse=True
    )


@pytest.mark.parametrize("act", [race_for, run_race])
def test_what_no_race_is_known_for_is_refused(act: Callable[[str], Race]) -> None:
    with pytest.raises(UsageError, match="mul_q15_sat"):
        act("mul_q15_satt")
