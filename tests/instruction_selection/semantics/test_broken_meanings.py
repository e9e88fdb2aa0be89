"""The inputs of a check tell wrong meanings from right ones."""

from __future__ import annotations

import pytest

from mlc_course.instruction_selection.integers import saturate, wrap
from mlc_course.instruction_selection.isa import Instruction
from mlc_course.instruction_selection.semantics import (
    EVERY_ROW,
    Broken,
    broken_meanings,
    check_rows,
    differs,
)
from mlc_course.instruction_selection.semantics.inputs import trials
from mlc_course.instruction_selection.semantics.mutants import caught

pytestmark = pytest.mark.spread

SAMPLE = (
    *("paddusb", "pavgw", "pmulhrsw", "pmaddwd", "psadbw"),
    *("vpdpbusds", "packuswb", "sqrdmulh.32", "usubl.8"),
)
GROUPS = 8


def named(name: str) -> Instruction:
    return next(row for row in EVERY_ROW if row.name == name)


def test_six_kinds_or_more_are_made_of_most_meanings() -> None:
    rows = [row.with_immediate(3) if row.has_immediate else row for row in EVERY_ROW]
    counts = [len(list(broken_meanings(row))) for row in rows if row.kind != "interleave"]
    assert min(counts) >= 6 and max(counts) >= 8


@pytest.mark.parametrize("name", SAMPLE)
def test_every_wrong_meaning_of_a_sample_that_differs_is_refused(name: str) -> None:
    (found,) = check_rows([named(name)], sources=(), broken=True, progress=False)
    assert found.broken is not None
    assert found.broken.accepted == ()
    assert found.broken.refused + found.broken.same == found.broken.made > 5


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_wrong_meaning_that_differs_is_refused(group: int) -> None:
    for found in check_rows(EVERY_ROW[group::GROUPS], sources=(), broken=True, progress=False):
        assert found.broken is not None and found.broken.accepted == (), found.row


def test_an_exchange_of_operands_that_commute_changes_nothing() -> None:
    row = named("pavgb")
    (exchanged,) = (each for each in broken_meanings(row) if each.what == "operands exchanged")
    assert not differs(row, exchanged)
    (exchanged,) = (
        each for each in broken_meanings(named("psubb")) if each.what == "operands exchanged"
    )
    assert differs(named("psubb"), exchanged)


def test_one_input_in_18_million_million_million_is_among_those_tried() -> None:
    """pmaddwd wraps where all four lanes are -32768, and nowhere else."""
    row = named("pmaddwd")
    broken = Broken("saturated", saturate(row.result, row.formula.operands[0]))
    assert caught(row, broken, trials(row))


def test_a_check_with_few_inputs_accepts_what_is_wrong() -> None:
    """The counter-proof: inputs without extremes do not tell a saturating product apart."""
    row = named("pmulhrsw")
    saturating = Broken("saturated", saturate(row.result, row.formula.operands[0]))
    assert wrap(row.result, row.formula.operands[0]) is row.formula
    assert caught(row, saturating, trials(row))
    few = trials(row, count=30, seed=1)
    inner = tuple(each[20:] for each in few.values)
    assert not caught(row, saturating, type(few)(inner, False, len(inner[0])))
