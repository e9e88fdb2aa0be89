from __future__ import annotations

from dataclasses import replace

import pytest

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import S16, U8, U16, evaluate, variable
from mlc_course.instruction_selection.isa import (
    LEVELS,
    CellProgram,
    Constant,
    Equation,
    Input,
    Instruction,
    level_of,
    program_of,
)

ROWS = list(dict.fromkeys(row for level in LEVELS.values() for row in level.rows))


def named(name: str) -> Instruction:
    return next(row for row in ROWS if row.name == name)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}-{row.signature}")
def test_the_meaning_of_every_row_stays_in_the_type_of_its_result(row: Instruction) -> None:
    for immediate in (1, 3, 7) if row.has_immediate else (None,):
        made = row.formula if immediate is None else row.with_immediate(immediate).formula
        assert row.result.holds(made.lo, made.hi)


@pytest.mark.parametrize("level", LEVELS.values(), ids=str)
def test_a_level_names_each_row_once_and_reaches_it_at_its_width(level: object) -> None:
    rows = level.rows  # type: ignore[attr-defined]
    names = [(row.name, row.reads) for row in rows]
    assert len(set(names)) == len(names)
    assert all(level.width in row.reach for row in rows)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "lack",
    [{"name": ""}, {"reads": ()}, {"reach": {}}, {"feature": ""}, {"cycles": 0}, {"weight": 0}],
)
def test_a_row_that_lacks_something_cannot_be_made(lack: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="lacks something"):
        replace(named("pavgb"), **lack)


def test_an_unknown_level_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match=r"did you mean avx512\?"):
        level_of("avx51")


def test_a_program_shares_equal_values_and_leaves_out_what_it_does_not_use() -> None:
    a, b = Equation(Input("A"), (), U8, 1), Equation(Input("B"), (), U8, 1)
    average = named("pavgb")
    made = program_of(
        [a, b, Equation(Constant((1,)), (), U8, 1), a, Equation(average, (0, 1), U8, 1)]
        + [Equation(average, (3, 1), U8, 1), Equation(average, (4, 5), U8, 1)]
    )
    assert str(made) == "pavgb(pavgb(A, B), pavgb(A, B))"
    assert len(made.equations) == 4


def test_a_program_reads_lanes_as_the_type_that_its_instruction_wants() -> None:
    made = CellProgram(
        (
            Equation(Input("A"), (), U8, 2),
            Equation(Constant((1,)), (), S16, 1),
            Equation(named("paddw"), (0, 1), U16, 1),
        )
    )
    low, high = variable("A[0]", U8), variable("A[1]", U8)
    (lane,) = made.lanes({"A": [low, high]}, U16)
    assert int(evaluate(lane, {low: 255, high: 1})) == 0x1FF + 1
    assert str(made) == "paddw(A, {1})"
    assert len(made.lanes({"A": [low, high]}, U8)) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"lanes": 3},
        {"type": U8},
        {"operands": (0,)},
        {"operands": (0, 5)},
        {"operands": (1, 1)},
        {"op": named("psllw")},
    ],
    ids=str,
)
def test_a_program_whose_lanes_do_not_fit_is_refused(change: dict[str, object]) -> None:
    bytes_of_a = Equation(Input("A"), (), U8, 2)
    one = Equation(Constant((1,)), (), S16, 2)
    added = Equation(named("paddw"), (0, 2), U16, 1)
    narrow = Equation(Constant((1,)), (), S16, 1)
    good = CellProgram((bytes_of_a, one, narrow, added))
    good.check({"A": (U8, 2)})
    with pytest.raises(UsageError, match="does not fit what it is computed from"):
        CellProgram((*good.equations[:-1], replace(added, **change))).check({"A": (U8, 2)})
    with pytest.raises(UsageError, match="does not fit"):
        good.check({"A": (U8, 4)})
    with pytest.raises(UsageError, match="does not fit"):
        good.check({"B": (U8, 2)})
