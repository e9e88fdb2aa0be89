"""Which inputs a row is tried on, and how its meaning is evaluated there."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.errors import SizeError
from mlc_course.instruction_selection.integers import S32, evaluate, saturate, variable
from mlc_course.instruction_selection.isa import Instruction
from mlc_course.instruction_selection.semantics import EVERY_ROW, immediates, trials, values_of
from mlc_course.instruction_selection.semantics.inputs import (
    Trials,
    all_trials,
    exact_values,
    variables_of,
)


def named(name: str) -> Instruction:
    return next(row for row in EVERY_ROW if row.name == name)


def test_two_lanes_of_8_bits_are_tried_in_every_pair() -> None:
    found = trials(named("psubsb"))
    pairs = set(zip(*(each.tolist() for each in found.values), strict=True))
    assert found.complete and len(pairs) == 65_536
    assert all(-128 <= x <= 127 for pair in pairs for x in pair)


def test_few_inputs_are_repeated_to_fill_whole_registers() -> None:
    found = trials(named("pabsb"))
    assert found.complete and found.distinct == 256 and len(found) == 65_536


def test_extremes_of_all_operands_are_tried_together() -> None:
    found = trials(named("paddsw"))
    pairs = set(zip(*(each.tolist() for each in found.values), strict=True))
    ends = (-32768, -1, 0, 1, 32767)
    assert {(a, b) for a in ends for b in ends} <= pairs
    assert not found.complete and len(found) == 65_536


def test_edges_of_the_result_are_tried_behind_the_shift() -> None:
    row = named("sqrshrn.32").with_immediate(5)
    (values,) = trials(row).values
    assert {(32767 << 5) + 15, (32767 << 5) + 16, (32767 << 5) + 17} <= set(values.tolist())


def test_the_same_seed_gives_the_same_inputs_and_another_one_others() -> None:
    row = named("pmulhw")
    first, again, other = trials(row), trials(row), trials(row, seed=1)
    assert all((a == b).all() for a, b in zip(first.values, again.values, strict=True))
    assert any((a != b).any() for a, b in zip(first.values, other.values, strict=True))


def test_more_than_24_bits_are_not_tried_one_by_one() -> None:
    assert all_trials(named("pmulhw")) is None
    assert len(all_trials(named("pabsw")) or ()) == 65_536


def test_immediates_are_those_that_keep_a_bit() -> None:
    assert list(immediates(named("psraw"))) == list(range(1, 16))
    assert list(immediates(named("sqrshrun"))) == list(range(1, 9))
    assert list(immediates(named("pavgb"))) == [None]
    assert list(immediates(named("psraw").with_immediate(3))) == [3]


def test_a_product_that_no_int64_holds_is_refused_where_numpy_would_be_silently_wrong() -> None:
    """The manual's form of sqrdmulh: 2ab of least values is 2^63, which int64 reads as -2^63."""
    a, b = variable("a", S32), variable("b", S32)
    manual = saturate(S32, (2 * a * b + (1 << 31)) >> 32)
    least = np.array([S32.lo])
    with pytest.raises(SizeError, match="fits in no NumPy integer"):
        evaluate(manual, {a: least, b: least})

    ends = np.array([S32.lo, S32.lo, S32.hi, -1, 0x40000000], dtype=np.int32)
    others = np.array([S32.lo, S32.hi, S32.hi, S32.lo, 2], dtype=np.int32)
    tried = Trials((ends, others), False, len(ends))
    exact = values_of(manual, (a, b), tried)
    wide = ends.astype(np.int64), others.astype(np.int64)
    silently = np.clip((2 * wide[0] * wide[1] + (1 << 31)) >> 32, S32.lo, S32.hi)
    assert exact.tolist() == [S32.hi, -S32.hi, S32.hi - 1, 1, 1]
    assert silently.tolist()[0] == S32.lo  # the sign is lost
    row = named("sqrdmulh.32")
    assert values_of(row.formula, variables_of(row), tried).tolist() == exact.tolist()


@pytest.mark.parametrize("row", EVERY_ROW, ids=lambda row: f"{row.name}-{row.signature}")
def test_numpy_and_exact_integers_give_the_same_values(row: Instruction) -> None:
    """NumPy's reading of each meaning, beside one in Python's integers of any size."""
    fixed = row if not row.has_immediate else row.with_immediate(list(immediates(row))[-1])
    tried = trials(fixed, count=256) if all_trials(fixed, most=16) is None else trials(fixed)
    some = Trials(tuple(each[:: max(1, len(tried) // 256)] for each in tried.values), False, 256)
    variables = variables_of(fixed)
    found = values_of(fixed.formula, variables, some)
    assert found.tolist() == exact_values(fixed.formula, variables, some).tolist()
