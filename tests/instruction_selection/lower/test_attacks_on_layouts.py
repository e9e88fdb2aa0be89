"""Register programs that no processor can run as they are written are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hand_written_cells import CASES, Case

from mlc_course.errors import WrongResult
from mlc_course.instruction_selection.integers import S8, S16, U8, U16, IntType, lift
from mlc_course.instruction_selection.isa import CellProgram, Constant, Equation, Input, level_of
from mlc_course.instruction_selection.lower import (
    Load,
    OnHalf,
    RegisterProgram,
    Shuffle,
    Splat,
    Step,
    check_layout,
    lower,
)
from mlc_course.instruction_selection.spec import Cell, CellOperand

ROWS = {row.name: row for row in level_of("avx2").rows}
WIDENED = Cell("widened", (CellOperand("A", U8),), U16, CellOperand("A", U8).variables()[0])
AVERAGE = Cell("average", (CellOperand("A", U8), CellOperand("B", U8)), U8, lift(0))
READ = Equation(Input("A"), (), U8, 1)
WIDENING = CellProgram((READ, Equation(ROWS["punpck0b"], (0,), U16, 1)))
AVERAGING = CellProgram(
    (READ, Equation(Input("B"), (), U8, 1), Equation(ROWS["pavgb"], (0, 1), U8, 1))
)


def of(
    steps: list[Step], results: tuple[int, ...], outputs: int, to: IntType = U8
) -> RegisterProgram:
    return RegisterProgram("attacked", tuple(steps), results, to, outputs, 128)


def average(*operands: int, **change: object) -> Step:
    return replace(Step(ROWS["pavgb"], operands, U8), **change)  # type: ignore[arg-type]


LOADS = [Step(Load("A", 0), (), U8), Step(Load("B", 0), (), U8)]


def test_the_program_that_the_attacks_change_is_right() -> None:
    check_layout(AVERAGE, AVERAGING, of([*LOADS, average(0, 1)], (2,), 16))


@pytest.mark.parametrize(
    ("cell", "program", "lowered"),
    [
        # A load that claims another type would extend 8 bytes to 16.
        (WIDENED, WIDENING, of([Step(Load("A", 0), (), U16)], (0,), 8, U16)),
        # One instruction that fills two registers.
        (
            WIDENED,
            WIDENING,
            of([LOADS[0], Step(ROWS["punpck0b"], (0,), U16)], (1,), 16, U16),
        ),
        # Half registers, one after the other.
        (
            AVERAGE,
            AVERAGING,
            of(
                [*LOADS, *(Step(OnHalf(ROWS["pavgb"], upper), (0, 1), U8) for upper in (0, 1))],
                (2, 3),
                16,
            ),
        ),
        # A splat of what outputs do not share.
        (AVERAGE, AVERAGING, of([Step(Splat("A"), (), U8), LOADS[1], average(0, 1)], (2,), 16)),
        # Registers counted from the end, or not filled yet.
        (AVERAGE, AVERAGING, of([*LOADS, average(-2, -1)], (2,), 16)),
        (AVERAGE, AVERAGING, of([*LOADS, average(0, 1)], (-1,), 16)),
        (AVERAGE, AVERAGING, of([*LOADS, average(0, 3)], (2,), 16)),
        (AVERAGE, AVERAGING, of([*LOADS, average(0, 1)], (3,), 16)),
        # Lanes counted from the end, or beyond the end.
        (
            AVERAGE,
            AVERAGING,
            of([*LOADS, average(0, 1), Step(Shuffle(tuple(range(-16, 0))), (2,), U8)], (3,), 16),
        ),
        (
            AVERAGE,
            AVERAGING,
            of([*LOADS, average(0, 1), Step(Shuffle(tuple(range(1, 17))), (2,), U8)], (3,), 16),
        ),
        # No output, and no tile.
        (AVERAGE, AVERAGING, of([*LOADS, average(0, 1)], (), 0)),
        # Another type of the result, an instruction's lanes by another name.
        (AVERAGE, AVERAGING, of([*LOADS, average(0, 1)], (2,), 16, S8)),
        (AVERAGE, AVERAGING, of([*LOADS, average(0, 1, type=U16)], (2,), 16)),
        # Too many and too few operands.
        (AVERAGE, AVERAGING, of([*LOADS, average(0, 1, 1)], (2,), 16)),
        (AVERAGE, AVERAGING, of([*LOADS, average(0)], (2,), 16)),
        # A load that reads registers, and one of no operand.
        (
            AVERAGE,
            AVERAGING,
            of([LOADS[0], replace(LOADS[1], operands=(0,)), average(0, 1)], (2,), 16),
        ),
        (AVERAGE, AVERAGING, of([LOADS[0], Step(Load("Z", 0), (), U8), average(0, 1)], (2,), 16)),
        # A load beyond the tile.
        (AVERAGE, AVERAGING, of([LOADS[0], Step(Load("B", 1), (), U8), average(0, 1)], (2,), 16)),
        (AVERAGE, AVERAGING, of([LOADS[0], Step(Load("B", -1), (), U8), average(0, 1)], (2,), 16)),
    ],
)  # fmt: skip
def test_a_register_program_that_cannot_run_is_refused(
    cell: Cell, program: CellProgram, lowered: RegisterProgram
) -> None:
    with pytest.raises(WrongResult):
        check_layout(cell, program, lowered)


def test_a_width_that_an_instruction_has_not_is_refused() -> None:
    signs = CellProgram(
        (
            Equation(Input("A"), (), S16, 1),
            Equation(Input("B"), (), S16, 1),
            Equation(ROWS["psignw"], (0, 1), S16, 1),
        )
    )
    words = Cell("words", (CellOperand("A", S16), CellOperand("B", S16)), S16, lift(0))
    steps = [Step(Load(name, 0), (), S16) for name in "AB"]
    steps.append(Step(ROWS["psignw"], (0, 1), S16))
    check_layout(words, signs, RegisterProgram("words", tuple(steps), (2,), S16, 16, 256))
    with pytest.raises(WrongResult, match="step 2"):
        check_layout(words, signs, RegisterProgram("words", tuple(steps), (2,), S16, 32, 512))


def test_a_constant_that_fills_no_register_is_refused() -> None:
    added = CellProgram(
        (READ, Equation(Constant((1,)), (), U8, 1), Equation(ROWS["paddb"], (0, 1), U8, 1))
    )
    three = Step(Constant((1, 1, 1)), (), U8)
    lowered = of([LOADS[0], three, Step(ROWS["paddb"], (0, 1), U8)], (2,), 16)
    with pytest.raises(WrongResult):
        check_layout(AVERAGE, added, lowered)


CHANGES: dict[str, Callable[[Step], Step]] = {
    "u8": lambda step: replace(step, type=U8),
    "u16": lambda step: replace(step, type=U16),
    "s16": lambda step: replace(step, type=S16),
    "fewer operands": lambda step: replace(step, operands=step.operands[1:]),
    "one operand more": lambda step: replace(step, operands=(*step.operands, 0)),
    "itself": lambda step: replace(step, operands=tuple(-1 for _ in step.operands)),
}


@pytest.mark.parametrize("case", [each for each in CASES if each.level != "avx512"], ids=str)
def test_a_change_of_what_a_step_says_of_itself_is_refused(case: Case) -> None:
    lowered = lower(case.cell, case.program, 128)
    for number, step in enumerate(lowered.steps):
        if isinstance(step.op, Constant | Shuffle):  # bits, whatever their type is called
            continue
        for change in CHANGES.values():
            changed = change(step)
            steps = (*lowered.steps[:number], changed, *lowered.steps[number + 1 :])
            if changed != step:
                with pytest.raises(WrongResult):
                    check_layout(case.cell, case.program, replace(lowered, steps=steps))
